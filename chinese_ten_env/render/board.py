"""What there is to see of a game: the model of every drawing and text."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from chinese_ten_env.cards import PARTNERS, SUITS, card_list, partner_rank
from chinese_ten_env.engine import (
    NO_CARD,
    NOBODY,
    OVER,
    PHASES,
    PLAY,
    Games,
    copy_games,
    levy_taker,
    play_before_flip,
    points,
)
from chinese_ten_env.observation import known_bottom, stock_size, view
from chinese_ten_env.rules import Rules


@dataclass(frozen=True)
class Seat:
    """A player, as far as the viewer sees."""

    player: int
    name: str
    hand: tuple[int, ...]
    """The cards of the hand that are known, in ascending order."""
    hidden: int
    """The number of the others."""
    pile: tuple[int, ...]
    points: int
    """Of this deal so far; levies count once the game is over."""
    net: Fraction
    """Points less par."""
    on_turn: bool
    dealer: bool
    levy: int
    """What the red-five levy pays the player as things stand, negative for those who owe it."""
    score: int
    """The points of all finished deals together."""
    total: Fraction
    """What counts towards the target of a match, over the finished deals; 0 in a single deal."""

    @property
    def cards(self) -> int:
        """The number of cards of the hand."""
        return len(self.hand) + self.hidden


@dataclass(frozen=True)
class Move:
    """A legal action."""

    card: int
    """The card to play, or in a phase of taking the table card to take."""
    targets: tuple[int, ...]
    """The table cards that it captures, or from which one must be chosen; none: it is laid."""
    choice: bool
    """Whether one of the targets is to be chosen, else all of them are taken."""


@dataclass(frozen=True)
class Board:
    """A game as its viewer sees it. Cards are numbers, players are seats."""

    rules: Rules
    viewer: int | None
    """The seat whose view this is; None: every hand is open."""
    seats: tuple[Seat, ...]
    """In seat order, from seat 0."""
    table: tuple[int, ...]
    """In ascending order; `groups` has them by what captures what."""
    stock: int
    """The number of cards left."""
    bottom: int | None
    """The bottom card of the stock, where the rules let the viewer see it."""
    phase: str
    """One of `PHASES`."""
    moves: tuple[Move, ...]
    """The legal actions of the player on turn, where the viewer knows them; none at the end."""
    pending: int | None
    """The card that waits for the choice of what it takes."""
    last_played: int | None
    last_flipped: int | None
    player: int
    """The seat on turn; at the end, the one that moved last."""
    direction: int
    """1, or -1 while play goes against the seat order."""
    turn: int
    """Finished turns of this deal."""
    deals: int
    """Finished deals."""

    @property
    def is_over(self) -> bool:
        """Whether the game, and in match play the match, has ended."""
        return self.phase == PHASES[OVER]

    @property
    def groups(self) -> tuple[tuple[int, ...], ...]:
        """The table cards divided by what captures what: A with 9, .., 4 with 6, 5, T, J, Q, K."""
        groups: dict[int, list[int]] = {}
        for card in self.table:
            rank = card // len(SUITS)
            groups.setdefault(min(rank, partner_rank(rank)), []).append(card)
        return tuple(tuple(groups[rank]) for rank in sorted(groups))

    @property
    def targets(self) -> tuple[int, ...]:
        """The table cards of which the pending card takes one."""
        if self.pending is None:
            return ()
        return tuple(card for card in self.table if int(PARTNERS[self.pending]) >> card & 1)

    @property
    def last(self) -> tuple[int, ...]:
        """The cards of the last move: played from the hand, and flipped."""
        cards = (self.last_played, self.last_flipped)
        return tuple(card for card in cards if card is not None)


def board(games: Games, rules: Rules, viewer: int | None = None) -> Board:
    """Return what there is to see of ``games[0]``, a game or a view, by the rules it is played by.

    With `viewer`, a seat, it is made from what that seat sees, and can hold nothing else; a view
    is always its own viewer's. ValueError if the rules do not fit or there is no such seat.
    """
    games = games[:1]
    if viewer is None and games["viewer"][0] != NOBODY:
        viewer = int(games["viewer"][0])
    if viewer is not None:
        viewer = int(viewer)
        games = view(games, viewer)
    game = games[0]
    return Board(
        rules=rules,
        viewer=viewer,
        seats=_seats(games, rules),
        table=tuple(card_list(game["table"])),
        stock=int(stock_size(game)),
        bottom=_only(int(_bottom(games))),
        phase=PHASES[game["phase"]],
        moves=tuple(_move(games, card) for card in card_list(game["legal"])),
        pending=_only(int(game["pending"])),
        last_played=_card(int(game["last_played"])),
        last_flipped=_card(int(game["last_flipped"])),
        player=int(game["player"]),
        direction=int(game["direction"]),
        turn=int(game["turn"]),
        deals=int(game["deals"]),
    )


def _seats(games: Games, rules: Rules) -> tuple[Seat, ...]:
    game, scores = games[0], points(games, rules)[0].tolist()
    taker = int(levy_taker(game))
    seats = []
    for player, score in enumerate(scores):
        hand = card_list(game["hands"][player])
        levy = 0
        if taker != NOBODY:
            levy = rules.red_five_levy * (rules.num_players - 1 if player == taker else -1)
        before = int(game["scores"][player])
        seats.append(
            Seat(
                player=player,
                name=f"player_{player}",
                hand=tuple(hand),
                hidden=int(game["hand_sizes"][player]) - len(hand),
                pile=tuple(card_list(game["captured"][player])),
                points=score,
                net=score - rules.exact_par,
                on_turn=bool(player == game["player"] and game["phase"] != OVER),
                dealer=bool(player == game["dealer"]),
                levy=levy,
                score=before,
                total=_total(before, int(game["deals"]), rules),
            )
        )
    return tuple(seats)


def _total(score: int, deals: int, rules: Rules) -> Fraction:
    if rules.match == "deal":
        return Fraction(0)
    return Fraction(score) if rules.match == "raw" else score - deals * rules.exact_par


def _bottom(games: Games) -> Any:
    """Return the bottom card as a bitboard, as the one sees it who may; spectators see with him."""
    game = games[0]
    if game["peeker"] == NOBODY:
        return 0
    if game["viewer"] == NOBODY:
        game = view(games, int(game["peeker"]))[0]
    return known_bottom(game)


def _move(games: Games, card: int) -> Move:
    """Return what a legal action does before the next card is flipped."""
    game = games[0]
    if game["phase"] != PLAY:
        return Move(card, (card,), False)
    after = copy_games(games)
    play_before_flip(after, card)
    if after["pending"][0]:
        return Move(card, tuple(card_list(after["legal"][0])), True)
    taken = game["table"] & ~after["table"][0]
    return Move(card, tuple(card_list(taken)), False)


def _only(bits: int) -> int | None:
    return card_list(np.uint64(bits))[0] if bits else None


def _card(number: int) -> int | None:
    return None if number == NO_CARD else number
