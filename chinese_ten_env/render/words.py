"""What a drawing says in words."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from chinese_ten_env.cards import RANKS, SUITS
from chinese_ten_env.render.board import Board, Move
from chinese_ten_env.rules import HAND_CARDS

_COURT_WORDS = {"A": "ace", "T": "10", "J": "jack", "Q": "queen", "K": "king"}
_SUIT_WORDS = dict(zip(SUITS, ("clubs", "diamonds", "hearts", "spades"), strict=True))


def card_words(card: int) -> str:
    """Return a card in words: ace of spades, 9 of hearts."""
    rank, suit = RANKS[card // len(SUITS)], SUITS[card % len(SUITS)]
    return f"{_COURT_WORDS.get(rank, rank)} of {_SUIT_WORDS[suit]}"


def listed(words: Sequence[str], last: str) -> str:
    """Return a list in words, with `last` before the last of them."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {last} {words[-1]}"


def move_words(move: Move, pending: int | None) -> str:
    """Return a legal action in words: what is played or taken, and what comes of it."""
    card = card_words(move.card)
    if pending is not None:
        return f"{card}, taken with the {card_words(pending)}"
    if not move.targets:
        return f"{card}, laid on the table"
    targets = [card_words(target) for target in move.targets]
    return f"{card}, captures {listed(targets, 'or' if move.choice else 'and')}"


def amount(value: Fraction, *, sign: bool = False) -> str:
    """Return points exactly: 105, 72 2/3, with `sign` +12 or -7 1/3."""
    whole, rest = divmod(abs(value), 1)
    text = f"{whole} {rest}" if whole and rest else str(rest or whole)
    mark = "-" if value < 0 else "+" if sign and value > 0 else ""
    return mark + text


def title_words(board: Board) -> str:
    """Return what game is shown."""
    return f"Chinese Ten, {board.rules.variant}, {board.rules.num_players} players"


def describe(board: Board, names: Sequence[str] | None = None) -> str:
    """Return the position in a sentence, for those who do not see the drawing."""
    called = player_names(board, names)
    points = ", ".join(f"{called[seat.player]} {seat.points} points" for seat in board.seats)
    state = "over" if board.is_over else f"{called[board.player]} to {board.phase}"
    return f"{title_words(board)}, {turn_words(board)}: {points}; {state}"


def turn_words(board: Board) -> str:
    """Return how far the deal is."""
    return f"turn {min(board.turn + 1, HAND_CARDS)} of {HAND_CARDS}"


def player_names(board: Board, names: Sequence[str] | None) -> tuple[str, ...]:
    """Return the names [P] given, or those of the seats; ValueError if they are too few or many."""
    if names is None:
        return tuple(seat.name for seat in board.seats)
    if len(names) != len(board.seats):
        raise ValueError(f"names: one for each of {len(board.seats)} players, not {len(names)}")
    return tuple(names)
