"""Lessons: what every card of a decision would have led to in the very deal at hand.

Deals are played, and at a part of the decisions each card that differs is tried in turn: the deal
goes on from there with the same stock and the same other hands, all players going on by one rule,
until the player has been on turn a few times more; what he may still win then, a network of values
says. The other hands are those that play has led to, so that what play tells of them is learned
too, and all cards meet the same luck.

How often the player is on turn is drawn anew for each decision, so that on average it is the
lambda-return of temporal-difference learning (Sutton 1988).

In self-play all seats make lessons. Against a rival one seat does, drawn for each deal, and the
rival plays the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from chinese_ten_env.bits import EMPTY, GAMMA, ONE, U64, draw, mix
from chinese_ten_env.cards import NUM_CARDS
from chinese_ten_env.engine import (
    DEAL,
    NOBODY,
    OVER,
    PLAY,
    begin,
    levy_taker,
    new_games,
    pile_points,
    play_card,
)
from chinese_ten_env.jit import inlined_kernel, kernel
from chinese_ten_env.machine import lowest, nth, popcount
from chinese_ten_env.ntuple.features import MOST, PARTNER_RANK, write_features
from chinese_ten_env.ntuple.network import FIRST, Network, best_card, make_desk, still_to_win
from chinese_ten_env.policies.greedy import best_card as greedy_card
from chinese_ten_env.policies.playout import PLAYOUTS, quick_card
from chinese_ten_env.policies.values import empty_values, without_twins, write_values
from chinese_ten_env.rules import HAND_CARDS

RULES = (*PLAYOUTS, "network")
"""Those by whom a trial goes on; the last is the network that learns, as it plays now."""
_NETWORK = RULES.index("network")
_QUICK = PLAYOUTS.index("quick")
_GREEDY = PLAYOUTS.index("greedy")
_NO_RULE = -1

MOST_CARDS = 12
"""Cards of a decision: a hand of two players."""
_MOST_DECISIONS = 3 * HAND_CARDS
"""Decisions of a deal: in each turn a card to play, one to take with it and one with the flip."""
_CHANCE = 1 << 30


class Lessons(NamedTuple):
    """Decisions to learn from, and positions to learn the value of.

    Features are padded with -1.
    """

    features: npt.NDArray[np.int16]
    """[N, MOST] the features of what the player saw."""
    starts: npt.NDArray[np.int64]
    """[N + 1] where the cards of each decision begin in what follows."""
    cards: npt.NDArray[np.int16]
    """[M, 3] of each card: its number, and the features of its own rank and its partner's."""
    worth: npt.NDArray[np.float32]
    """[M] the net points that it led to."""
    seen: npt.NDArray[np.int16]
    """[V, MOST] the same of a player who is to play a card."""
    won: npt.NDArray[np.float32]
    """[V] the net points that he still won: points more than a share of all that was left."""


@dataclass(frozen=True)
class Settings:
    """How lessons are made."""

    rule: str = "quick"
    """Who goes on, one of `RULES`."""
    part: float = 0.5
    """The share of decisions at which all cards are tried."""
    stray: float = 0.1
    """The share of cards that are played at random, so that the way out of trouble is learned."""
    horizon: float = 0.6
    """The chance, at each own turn, of going on to the next; with 1 to the end of the deal."""
    decay: float = 0.7
    """Lambda of the returns from which values are learned."""

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise ValueError(f"rule must be one of {', '.join(RULES)}, not {self.rule!r}")
        if not 0 < self.part <= 1:
            raise ValueError(f"part must be a share above 0, not {self.part}")
        for name in ("stray", "horizon", "decay"):
            if not 0 <= getattr(self, name) <= 1:
                raise ValueError(f"{name} must be a share, 0 to 1, not {getattr(self, name)}")


@inlined_kernel
def _held(game: Any, seat: int) -> float:
    """Return a seat's points with a share of all that is left; the levy counts already."""
    own, left = 0.0, float(game.total)
    for other in range(game.num_players):
        points = pile_points(game, other)
        left -= points
        if other == seat:
            own = points
    taker = levy_taker(game)
    if taker == seat:
        own += game.levy * (game.num_players - 1)
    elif taker != NOBODY:
        own -= game.levy
    return own + left / game.num_players


@inlined_kernel
def _card_by(game: Any, rule: int, values: Any, tables: Any, desk: Any) -> int:
    """Return the card by which one of `RULES` goes on."""
    if rule == _QUICK:
        return quick_card(game, values)
    if rule == _GREEDY:
        return greedy_card(game, values)
    return best_card(game, tables, desk)


@inlined_kernel
def _keep(features: Any, count: int, out: Any) -> None:
    """Copy so many features to a row of lessons."""
    for place in range(MOST):
        out[place] = features[place] if place < count else -1


@kernel
def _write_lessons(
    games: Any,
    states: Any,
    rule: int,
    rival_rule: int,
    part: float,
    stray: float,
    horizon: float,
    decay: float,
    tables: Any,
    rival: Any,
    value_tables: Any,
    desk: Any,
    values: Any,
    out_features: Any,
    out_starts: Any,
    out_cards: Any,
    worth: Any,
    seen: Any,
    won: Any,
    notes: Any,
) -> tuple[int, int, int]:
    """Play deals while another one is sure to fit; return how much of each was written.

    `games` [2] and `notes` [V, 3] are scratch: seat, points held, value.
    """
    state = states[0]
    features = desk.features
    decisions = rows = positions = 0
    game, trial = games[0], games[1]
    while decisions + _MOST_DECISIONS <= len(out_features) and positions + HAND_CARDS <= len(won):
        state, dealer = draw(state, game.num_players)
        state += GAMMA
        game.rng = mix(state)
        begin(game, int(dealer))
        begun = positions
        everybody, learner = rival_rule == _NO_RULE, NOBODY
        if not everybody:
            state, chosen = draw(state, game.num_players)
            learner = int(chosen)
        while game.phase != OVER:
            cards = without_twins(game.legal, values)
            many = cards & (cards - ONE) != EMPTY
            me = game.player
            game.viewer = me
            state, word = draw(state, _CHANCE)
            learns = everybody or learner == me
            try_all = learns and many and word < part * _CHANCE
            is_seen = learns and game.phase == PLAY
            if try_all or is_seen:
                count = write_features(game, tables.codes, tables.plan[FIRST], features)
            if try_all:
                _keep(features, count, out_features[decisions])
                begin_row = rows
                rest = cards
                while rest != EMPTY:
                    card = lowest(rest)
                    rest &= rest - ONE
                    out_cards[rows, 0] = NUM_CARDS * game.phase + card
                    out_cards[rows, 1] = features[card >> 2]
                    out_cards[rows, 2] = features[PARTNER_RANK[card >> 2]]
                    rows += 1
                decisions += 1
                out_starts[decisions] = rows
            if is_seen:
                _keep(features, count, seen[positions])
                notes[positions, 0], notes[positions, 1] = me, _held(game, me)
                notes[positions, 2] = still_to_win(game, value_tables, desk)
                positions += 1
            if try_all:
                turns = 1
                state, word = draw(state, _CHANCE)
                while word < horizon * _CHANCE and turns < NUM_CARDS:
                    turns += 1
                    state, word = draw(state, _CHANCE)
                for place in range(begin_row, rows):
                    games[1] = games[0]
                    play_card(trial, out_cards[place, 0] - NUM_CARDS * game.phase)
                    left = turns
                    while trial.phase != OVER:
                        trial.viewer = trial.player
                        if trial.player == me and trial.phase == PLAY and trial.turn > game.turn:
                            left -= 1
                            if left == 0:
                                break
                        own = everybody or learner == trial.player
                        card = _card_by(
                            trial,
                            rule if own else rival_rule,
                            values,
                            tables if own else rival,
                            desk,
                        )
                        play_card(trial, card)
                    if trial.phase == OVER:
                        worth[place] = trial.settled[me]
                    else:
                        worth[place] = _held(trial, me) + still_to_win(trial, value_tables, desk)
            card = _card_by(
                game, rule if learns else rival_rule, values, tables if learns else rival, desk
            )
            state, word = draw(state, _CHANCE)
            if learns and many and word < stray * _CHANCE:
                state, word = draw(state, popcount(cards))
                card = nth(cards, word)
            play_card(game, card)
            game.viewer = NOBODY
        for seat in range(game.num_players):
            ahead, value, held = 0.0, 0.0, float(game.settled[seat])
            for place in range(positions - 1, begun - 1, -1):
                if notes[place, 0] == seat:
                    ahead = held - notes[place, 1] + decay * ahead + (1.0 - decay) * value
                    won[place] = ahead
                    held, value = notes[place, 1], notes[place, 2]
    states[0] = state
    return decisions, rows, positions


class Teacher:
    """Makes lessons from deals of its own, one after the other from a seed.

    `rival`: whom to learn against, instead of from all seats: one of `PLAYOUTS` or a network of the
    same width for the same points. ValueError for networks that do not go together.
    """

    def __init__(
        self, network: Network, values: Network, seed: int, rival: str | Network | None = None
    ) -> None:
        if network.width != values.width:
            raise ValueError(
                f"the networks must have one width, not {network.width} and {values.width}"
            )
        self.network, self.values = network, values
        self.rival_rule, self.rival = _rival(network, rival)
        self.games = new_games(network.rules, 2, seed=0)
        self.games["match"] = DEAL
        self.state = np.array([mix(U64(seed))], dtype=np.uint64)
        self.points = empty_values()
        write_values(self.games[0], self.points)

    def teach(self, decisions: int, settings: Settings) -> Lessons:
        """Return at least so many decisions, with the weights that the networks have now.

        They are fewer where hardly a decision leaves a choice.
        """
        size = decisions + _MOST_DECISIONS - 1
        positions = int(2 * size / settings.part) + HAND_CARDS
        arrays: tuple[Any, Any, Any, Any, Any, Any] = (
            np.empty((size, MOST), dtype=np.int16),
            np.zeros(size + 1, dtype=np.int64),
            np.empty((size * MOST_CARDS, 3), dtype=np.int16),
            np.empty(size * MOST_CARDS, dtype=np.float32),
            np.empty((positions, MOST), dtype=np.int16),
            np.empty(positions, dtype=np.float32),
        )
        count, rows, seen = _write_lessons(
            self.games,
            self.state,
            RULES.index(settings.rule),
            self.rival_rule,
            settings.part,
            settings.stray,
            settings.horizon,
            settings.decay,
            self.network.tables,
            self.rival.tables,
            self.values.tables,
            make_desk(self.network.width),
            self.points,
            *arrays,
            np.empty((positions, 3), dtype=np.float64),
        )
        features, starts, cards, worth, positions_seen, won = arrays
        return Lessons(
            features[:count],
            starts[: count + 1],
            cards[:rows],
            worth[:rows],
            positions_seen[:seen],
            won[:seen],
        )


def _rival(network: Network, rival: str | Network | None) -> tuple[int, Network]:
    """Return the number of a rival's rule and its network, the learner's if it has none."""
    if rival is None:
        return _NO_RULE, network
    if isinstance(rival, Network):
        if rival.width != network.width or not np.array_equal(rival.codes, network.codes):
            raise ValueError(
                f"a rival network must have width {network.width} and have learned the points of "
                f"{network.rules.variant} with {network.rules.num_players} players"
            )
        return _NETWORK, rival
    if rival not in PLAYOUTS:
        raise ValueError(f"a rival is a network or one of {', '.join(PLAYOUTS)}, not {rival!r}")
    return PLAYOUTS.index(rival), network
