"""OpenSpiel: importing this module registers the game ``python_chinese_ten``.

``pyspiel.load_game("python_chinese_ten(variant=taiwan)")`` is a single deal of four players. Every
card that is dealt or flipped is a chance node of its own, and a stock card is drawn when it is
flipped, not before, so that no state knows more than has happened. The rules are those of the
engine, whose kernels play; `returns` are net points.

`MINI` is a game with eight cards that OpenSpiel's exact algorithms can take apart.
"""

from __future__ import annotations

from functools import lru_cache
from math import comb
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

try:
    import pyspiel
    from open_spiel.python import policy as openspiel_policy
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "chinese_ten_env.adapters.openspiel needs OpenSpiel: pip install "
        "'chinese_ten_env[openspiel]'"
    ) from error

from chinese_ten_env.bits import U64
from chinese_ten_env.cards import (
    CARD_NAMES,
    DECK,
    NUM_CARDS,
    RANKS,
    SUITS,
    card_list,
    card_names,
    partner_rank,
)
from chinese_ten_env.engine import (
    HIDDEN,
    OVER,
    PLAY,
    TAKE_WITH_STOCK,
    Games,
    blank_games,
    copy_games,
    deal_late,
    flip_next,
    play_before_flip,
)
from chinese_ten_env.observation import (
    Feature,
    known_bottom,
    observe,
    unpack,
    view,
)
from chinese_ten_env.policies import checked_cards, make_policy, policy_name
from chinese_ten_env.rules import (
    CHOICES,
    HAND_CARDS,
    LAYOUT_CARDS,
    MAX_PLAYERS,
    Rules,
    make_rules,
    unknown_choice,
)
from chinese_ten_env.text import format_game

NAME = "python_chinese_ten"
MINI = f"{NAME}(ranks=TJ,hand_size=2,dealing=hands)"
"""A game small enough to be solved: tens and jacks, two cards a hand, an empty table, four to flip.
"""

DEALINGS = ("cards", "hands")
"""The choices of the parameter `dealing`."""

PARAMETERS: dict[str, Any] = {
    "variant": "mainland",
    "num_players": 0,
    "capture": CHOICES["capture"][0],
    "dealer": -1,
    "ranks": RANKS,
    "hand_size": 0,
    "dealing": DEALINGS[0],
}
"""The parameters of the game and their defaults.

- ``variant``, ``num_players``, ``capture``: as `make_rules`; 0 players are the smallest number that
  the variant allows.
- ``dealer``: a seat, or -1 for the one with whom player 0 leads.
- ``ranks``: the ranks of the deck, all four suits of each, for two or three players; no card may
  lack the rank that it captures.
- ``hand_size``: cards of each hand; the stock has as many as all hands together and what is left of
  the deck, at most four cards, is the layout. 0: as many as leave a layout of four.
- ``dealing``: ``cards``: from the top of a shuffled deck, round from the leader, so that every
  order is a history of its own. ``hands``: one hand after another and then the layout, the cards of
  each in ascending order, with the odds that this leaves them: the same game, for it does not
  matter in which order a hand was dealt, in a much smaller tree.
"""

_EVENTS = 4
"""What may happen in a turn: a hand card, what it takes, a flip, what it takes."""
_HAND, _TAKE, _FLIP, _TAKE_AGAIN = range(_EVENTS)
_EVENT_TEXT = tuple(mark + name for mark in ("", "x", "+", "x") for name in CARD_NAMES)
_CHANCE = int(pyspiel.PlayerId.CHANCE)
_TERMINAL = int(pyspiel.PlayerId.TERMINAL)
_BOTTOM = NUM_CARDS - 1
_STOCK = HAND_CARDS + LAYOUT_CARDS
_PRIVATE_ROWS = (Feature.HAND, Feature.CAPTURING, Feature.UNSEEN, Feature.BOTTOM)


# --- the table ------------------------------------------------------------------------------


class Table(NamedTuple):
    """What is constant in a game: who sits there, under which rules, with which cards."""

    rules: Rules
    dealer: int
    hand_cards: int
    """Cards of all hands together, and of the stock: the turns of the deal."""
    layout_cards: int
    cards: int
    """All cards in play, a bitboard."""
    dealing: str
    places: tuple[int, ...]
    """The places of the deck that are dealt before the first turn, in the order of dealing."""
    left: tuple[int, ...]
    """How many cards of the same hand or layout are dealt after each, in the same order."""
    par: float
    """An even share of the points in play."""
    levy: int
    """What a levy costs each other player; 0 if the red fives are not in play."""

    @property
    def max_utility(self) -> float:
        """No player wins more net points: all cards, and the levy of all others."""
        return (self.par + self.levy) * (self.rules.num_players - 1)

    @property
    def min_utility(self) -> float:
        """No player loses more: no points, and a levy to pay."""
        return -self.par - self.levy


@lru_cache(maxsize=64)
def make_table(
    variant: str,
    num_players: int,
    capture: str,
    dealer: int,
    ranks: str,
    hand_size: int,
    dealing: str,
) -> Table:
    """Return the table of a game's parameters (see `PARAMETERS`); ValueError says what is wrong."""
    rules = make_rules(variant, num_players or None, capture=capture)
    players = rules.num_players
    if dealer == -1:
        dealer = 0 if rules.leader == "dealer" else players - 1
    if not 0 <= dealer < players:
        raise ValueError(f"dealer must be a seat from 0 to {players - 1}, or -1, not {dealer}")
    if dealing not in DEALINGS:
        raise unknown_choice("dealing", dealing, DEALINGS)
    numbers = _ranks(ranks)
    if len(numbers) < len(RANKS) and players == MAX_PLAYERS:
        raise ValueError(f"ranks: a smaller deck is for 2 or 3 players, not {players}")
    deck = len(numbers) * len(SUITS)
    hand_cards = players * (hand_size or (deck - LAYOUT_CARDS) // (2 * players))
    layout_cards = deck - 2 * hand_cards
    fits = players <= hand_cards <= HAND_CARDS and 0 <= layout_cards <= LAYOUT_CARDS
    if not fits:
        raise ValueError(
            f"hand_size={hand_size}: {players} players must hold at most {HAND_CARDS} cards "
            f"together, and as many for the stock must leave 0 to {LAYOUT_CARDS} of {deck} for "
            f"the layout, not {layout_cards}"
        )
    cards = sum(0b1111 << len(SUITS) * rank for rank in numbers)
    first = NUM_CARDS - deck
    table = list(range(first + hand_cards, first + hand_cards + layout_cards))
    if dealing == "cards":
        groups = [[place] for place in range(first, first + hand_cards)]
        groups += [[place] for place in table]
    else:
        groups = [list(range(first + n, first + hand_cards, players)) for n in range(players)]
        groups.append(table)
    if rules.peek != "none":
        groups.append([_BOTTOM])
    return Table(
        rules=rules,
        dealer=dealer,
        hand_cards=hand_cards,
        layout_cards=layout_cards,
        cards=cards,
        dealing=dealing,
        places=tuple(place for group in groups for place in group),
        left=tuple(left for group in groups for left in reversed(range(len(group)))),
        par=sum(rules.points[card] for card in card_list(cards)) / players,
        levy=rules.red_five_levy if "5" in ranks else 0,
    )


def _ranks(text: str) -> set[int]:
    numbers = {RANKS.find(rank) for rank in text}
    if not text or -1 in numbers or len(numbers) < len(text):
        raise ValueError(f"ranks: some of {RANKS}, each once, not {text!r}")
    for number in numbers:
        if partner_rank(number) not in numbers:
            raise ValueError(
                f"ranks: {RANKS[number]} without {RANKS[partner_rank(number)]}, which it captures"
            )
    return numbers


# --- positions ------------------------------------------------------------------------------


class Position(NamedTuple):
    """All that a state holds. It never changes, so clones of a state share it."""

    table: Table
    games: Games
    """A GAME record [1]; cards that chance has not drawn yet are HIDDEN in its deck."""
    rest: int
    """The cards that chance has not drawn yet, a bitboard."""
    dealt: int = 0
    """How many places of the deal are filled."""
    flips: bool = False
    """Whether the next stock card is to be drawn."""
    hands: tuple[int, ...] = ()
    """The hands as they were dealt, bitboards [P]."""
    layout: int = 0
    events: tuple[int, ...] = ()
    """All that was played, taken and flipped: places in an array [turns, 4, 52]."""
    legal: tuple[int, ...] = ()
    player: int = _CHANCE
    """Who acts: a seat, or pyspiel's number of chance or of the end."""

    def __deepcopy__(self, memo: dict[int, Any]) -> Position:
        """Return the position itself."""
        return self

    @property
    def is_dealt(self) -> bool:
        """Whether all is dealt."""
        return self.dealt == len(self.table.places)

    def event(self, kind: int, card: int, turn: int) -> int:
        """Return the place of an event in an array [turns, 4, 52]."""
        begun = HAND_CARDS - self.table.hand_cards
        return ((turn - begun) * _EVENTS + kind) * NUM_CARDS + card

    def deal(self, card: int) -> Position:
        """Return the position after a card is dealt, and after the last one, that of the start."""
        table, games = self.table, copy_games(self.games)
        games["deck"][0, table.places[self.dealt]] = card
        after = self._replace(games=games, rest=self.rest & ~(1 << card), dealt=self.dealt + 1)
        if not after.is_dealt:
            return after
        layout_at = _STOCK - table.layout_cards + HAND_CARDS - table.hand_cards
        layout = games["deck"][0, layout_at : layout_at + table.layout_cards]
        deal_late(games, table.hand_cards, table.layout_cards, DECK & ~U64(table.cards))
        return after._replace(
            hands=tuple(games["hands"][0, : table.rules.num_players].tolist()),
            layout=sum(1 << number for number in layout.tolist()),
            legal=_legal(games),
            player=_on_turn(games),
        )

    def flip(self, card: int) -> Position:
        """Return the position after the next stock card is flipped."""
        games = copy_games(self.games)
        event = self.event(_FLIP, card, int(games["turn"][0]))
        flip_next(games, card)
        return self._replace(
            games=games,
            rest=self.rest & ~(1 << card),
            flips=False,
            events=(*self.events, event),
            legal=_legal(games),
            player=_on_turn(games),
        )

    def play(self, card: int) -> Position:
        """Return the position after an action of the player on turn."""
        games = copy_games(self.games)
        phase, turn = int(games["phase"][0]), int(games["turn"][0])
        kind = _HAND if phase == PLAY else _TAKE_AGAIN if phase == TAKE_WITH_STOCK else _TAKE
        flips = bool(play_before_flip(games, card))
        after = self._replace(
            games=games,
            flips=flips,
            events=(*self.events, self.event(kind, card, turn)),
            legal=() if flips else _legal(games),
            player=_CHANCE if flips else _on_turn(games),
        )
        if flips:
            known = int(games["deck"][0, _STOCK + turn])
            if known != HIDDEN:  # chance drew the bottom card when somebody peeked at it
                return after.flip(known)
        return after

    def chances(self) -> list[tuple[int, float]]:
        """Return the cards that chance may draw now, and the odds of each."""
        cards = card_list(self.rest)
        left = 0 if self.is_dealt else self.table.left[self.dealt]
        if not self.is_dealt and self.dealt and left + 1 == self.table.left[self.dealt - 1]:
            last = int(self.games["deck"][0, self.table.places[self.dealt - 1]])
            cards = [card for card in cards if card > last]
        # Of all hands of left + 1 cards, those whose lowest card it is; one in each if left is 0.
        all_hands = comb(len(cards), left + 1)
        return [
            (card, comb(above, left) / all_hands)
            for above, card in zip(reversed(range(len(cards))), cards, strict=True)
            if above >= left
        ]


def _legal(games: Games) -> tuple[int, ...]:
    return tuple(card_list(int(games["legal"][0])))


def _on_turn(games: Games) -> int:
    return _TERMINAL if games["phase"][0] == OVER else int(games["player"][0])


def _first_position(table: Table) -> Position:
    games = blank_games(table.rules, 1)
    games["deck"] = HIDDEN
    games["dealer"] = table.dealer
    games["total"] = sum(table.rules.points[card] for card in card_list(table.cards))
    return Position(table, games, table.cards)


# --- the game and its states ----------------------------------------------------------------

GAME_TYPE = pyspiel.GameType(
    short_name=NAME,
    long_name="Chinese Ten",
    dynamics=pyspiel.GameType.Dynamics.SEQUENTIAL,
    chance_mode=pyspiel.GameType.ChanceMode.EXPLICIT_STOCHASTIC,
    information=pyspiel.GameType.Information.IMPERFECT_INFORMATION,
    utility=pyspiel.GameType.Utility.ZERO_SUM,
    reward_model=pyspiel.GameType.RewardModel.TERMINAL,
    max_num_players=MAX_PLAYERS,
    min_num_players=2,
    provides_information_state_string=True,
    provides_information_state_tensor=True,
    provides_observation_string=True,
    provides_observation_tensor=True,
    provides_factored_observation_string=True,
    parameter_specification=PARAMETERS,
)


class ChineseTenGame(pyspiel.Game):
    """A deal of Chinese Ten for OpenSpiel; its parameters are those of `PARAMETERS`.

    Actions are cards, 0 to 51, also those of chance. ValueError says what is wrong with a
    parameter.
    """

    def __init__(self, params: dict[str, Any] | None = None) -> None:
        given = {**PARAMETERS, **(params or {})}
        self.table = make_table(**given)
        """What is constant in the game."""
        self.start = _first_position(self.table)
        """Where every state begins: nothing is dealt yet."""
        super().__init__(
            GAME_TYPE,
            pyspiel.GameInfo(
                num_distinct_actions=NUM_CARDS,
                max_chance_outcomes=NUM_CARDS,
                num_players=self.table.rules.num_players,
                min_utility=self.table.min_utility,
                max_utility=self.table.max_utility,
                utility_sum=0.0,
                max_game_length=3
                * self.table.hand_cards,  # a hand card, what it takes, what the flip takes
            ),
            params or {},
        )

    def new_initial_state(self) -> ChineseTenState:
        """Return the state before the first card is dealt."""
        return ChineseTenState(self)

    def max_chance_nodes_in_history(self) -> int:
        """Return how many cards chance draws: each once."""
        return self.table.cards.bit_count()

    def make_py_observer(self, iig_obs_type: Any = None, params: Any = None) -> ChineseTenObserver:
        """Return an observer; without a type, one that sees what a player sees, without memory."""
        return ChineseTenObserver(
            self.table, iig_obs_type or pyspiel.IIGObservationType(perfect_recall=False), params
        )


class ChineseTenState(pyspiel.State):
    """A state of `ChineseTenGame`: `position` is all that it holds."""

    def __init__(self, game: ChineseTenGame) -> None:
        super().__init__(game)
        self.position = game.start

    @property
    def games(self) -> Games:
        """The record [1] of the game so far, a copy; undrawn cards are HIDDEN in its deck."""
        return copy_games(self.position.games)

    def current_player(self) -> int:
        """Return the seat on turn, or pyspiel's number of chance or of the end."""
        return self.position.player

    def chance_outcomes(self) -> list[tuple[int, float]]:
        """Return the cards that may be dealt or flipped now, and the odds of each."""
        return self.position.chances()

    def is_terminal(self) -> bool:
        """Tell whether the deal is over."""
        return self.position.player == _TERMINAL

    def returns(self) -> list[float]:
        """Return the net points [P] at the end, and zeros before it."""
        table = self.position.table
        players = table.rules.num_players
        if not self.is_terminal():
            return [0.0] * players
        settled = self.position.games["settled"][0, :players]
        return [points - table.par for points in settled.tolist()]

    def _legal_actions(self, player: int) -> list[int]:
        return list(self.position.legal)

    def _apply_action(self, action: int) -> None:
        if not self.position.is_dealt:
            self.position = self.position.deal(action)
        elif self.position.flips:
            self.position = self.position.flip(action)
        else:
            self.position = self.position.play(action)

    def _action_to_string(self, player: int, action: int) -> str:
        if player == _CHANCE:
            return f"{'flip' if self.position.is_dealt else 'deal'} {CARD_NAMES[action]}"
        return CARD_NAMES[action]

    def __str__(self) -> str:
        """Return the position with all cards, those that chance has not drawn as ``?``."""
        position = self.position
        if not position.is_dealt:
            dealt = position.games["deck"][0, list(position.table.places[: position.dealt])]
            names = " ".join(CARD_NAMES[card] for card in dealt.tolist())
            return f"dealt {names or '-'}"
        return format_game(position.games) + (" | flip" if position.flips else "")


# --- observations ---------------------------------------------------------------------------


class ChineseTenObserver:
    """What a player sees: `tensor`, float32 [N], its named parts in `dict`, and `string_from`.

    With perfect recall it is the hand as dealt, a bottom card that the player peeked at, the
    layout, and all that was played, taken and flipped since, in order. Without, it is the
    library's observation (`Feature`), and as text the view. Hands and layout are sets: the order in
    which they were dealt is not seen. Nobody looks at anything before all is dealt.

    `iig_obs_type` chooses public information, private information of the player, or both; that of
    all players together raises ValueError, and so do parameters.
    """

    def __init__(self, table: Table, iig_obs_type: Any, params: Any = None) -> None:
        if params:
            raise ValueError(f"observers take no parameters, not {params!r}")
        if iig_obs_type.private_info == pyspiel.PrivateInfoType.ALL_PLAYERS:
            raise ValueError("private information is that of a single player, or none")
        self._table = table
        self._recalls = iig_obs_type.perfect_recall
        self._public = iig_obs_type.public_info
        self._private = iig_obs_type.private_info == pyspiel.PrivateInfoType.SINGLE_PLAYER
        parts: dict[str, tuple[int, ...]] = {}
        if self._private:
            parts["player"] = (table.rules.num_players,)
        self._rows = tuple(
            feature
            for feature in Feature
            if (self._private if feature in _PRIVATE_ROWS else self._public)
        )
        if not self._recalls:
            parts["observation"] = (len(self._rows), NUM_CARDS)
        else:
            if self._private:
                parts |= {"dealt": (NUM_CARDS,), "bottom": (NUM_CARDS,)}
            if self._public:
                parts["layout"] = (NUM_CARDS,)
                parts["events"] = (table.hand_cards, _EVENTS, NUM_CARDS)
        sizes = [int(np.prod(shape)) for shape in parts.values()]
        self.tensor: npt.NDArray[np.float32] = np.zeros(sum(sizes), dtype=np.float32)
        ends = np.cumsum(sizes)
        self.dict = {
            name: self.tensor[end - size : end].reshape(shape)
            for (name, shape), size, end in zip(parts.items(), sizes, ends, strict=True)
        }

    def set_from(self, state: ChineseTenState, player: int) -> None:
        """Write what a player sees of a state to `tensor`."""
        self.tensor.fill(0.0)
        if self._private:
            self.dict["player"][player] = 1.0
        position = state.position
        if not position.is_dealt:
            return
        if not self._recalls:
            self.dict["observation"][:] = self._observation(position, player)
            return
        if self._private:
            self.dict["dealt"][:] = unpack(U64(position.hands[player]))
            self.dict["bottom"][:] = unpack(U64(_peeked(position, player)))
        if self._public:
            self.dict["layout"][:] = unpack(U64(position.layout))
            self.dict["events"].reshape(-1)[list(position.events)] = 1.0

    def string_from(self, state: ChineseTenState, player: int) -> str:
        """Return what a player sees of a state as text."""
        position = state.position
        texts = [f"player {player}"] if self._private else []
        if not position.is_dealt:
            return " | ".join([*texts, "dealing"])
        if self._recalls:
            if self._private:
                texts.append(f"dealt {card_names(position.hands[player])}")
                peeked = _peeked(position, player)
                if peeked:
                    texts.append(f"bottom {card_names(peeked)}")
            if self._public:
                texts.append(f"layout {card_names(position.layout) or '-'}")
                size = _EVENTS * NUM_CARDS
                texts.append(" ".join(_EVENT_TEXT[event % size] for event in position.events))
            return " | ".join(texts)
        if self._public:
            seen = view(position.games, player) if self._private else _public_view(position)
            texts.append(format_game(seen))
        elif self._private:
            seen = view(position.games, player)
            texts.append(f"hand {card_names(seen['hands'][0, player]) or '-'}")
            if known_bottom(seen[0]):
                texts.append(f"bottom {card_names(known_bottom(seen[0]))}")
        if self._public and position.flips:
            texts.append("flip")
        return " | ".join(texts)

    def _observation(self, position: Position, player: int) -> npt.NDArray[np.int8]:
        # What is public is told from the first seat, the same for all players.
        seat = player if self._private else 0
        rows = observe(position.games, seat)[0, list(self._rows)]
        return np.asarray(rows, dtype=np.int8)


def _peeked(position: Position, player: int) -> int:
    """Return the bottom card as a set, if the player has peeked at it."""
    game = position.games[0]
    return 1 << int(game["deck"][_BOTTOM]) if game["peeker"] == player else 0


def _public_view(position: Position) -> Games:
    """Return what all see: a view without a hand and without the bottom card."""
    seen = view(position.games, 0)
    seen["hands"] = 0
    seen["deck"] = HIDDEN
    return seen


# --- policies of the library ----------------------------------------------------------------


class LibraryPolicy(openspiel_policy.Policy):
    """A policy of the library, such as ``"greedy"``, as one of OpenSpiel's.

    It is asked once for each information state and keeps to its answer, so one that draws random
    numbers, from `seed`, becomes a pure strategy that it might play. Random play itself is
    OpenSpiel's ``UniformRandomPolicy``. ValueError if `policy` is none.
    """

    def __init__(self, game: Any, policy: Any, seed: int = 0) -> None:
        super().__init__(game, list(range(game.num_players())))
        self._policy = make_policy(policy)
        self._name = policy_name(policy)
        self._rng = np.random.default_rng(seed)
        self._answers: dict[str, int] = {}

    def action_probabilities(self, state: Any, player_id: int | None = None) -> dict[int, float]:
        """Return 1 for the card that the policy plays in a state of `ChineseTenGame`, else 0.

        PolicyError if it answers with what is no legal card.
        """
        player = state.current_player() if player_id is None else player_id
        key = state.information_state_string(player)
        if key not in self._answers:
            seen = view(state.games, player)
            answer = self._policy(seen, self._rng)
            self._answers[key] = int(checked_cards(answer, seen["legal"], self._name)[0])
        return {card: float(card == self._answers[key]) for card in state.legal_actions(player)}


pyspiel.register_game(GAME_TYPE, ChineseTenGame)
