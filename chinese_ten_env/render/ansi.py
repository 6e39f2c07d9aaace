"""A board as text for a terminal."""

from __future__ import annotations

from collections.abc import Iterable

from chinese_ten_env.cards import CARD_NAMES, is_red
from chinese_ten_env.render.board import Board, Seat
from chinese_ten_env.rules import HAND_CARDS

RED, BOLD, PLAIN = "\x1b[31m", "\x1b[1m", "\x1b[0m"


def text(board: Board, *, colour: bool = False) -> str:
    """Return a board for people to read, in several lines, hidden cards as ``?``.

    ``colour=True`` writes red cards red and the others bold, by ANSI escapes; without them the
    text is the same.
    """
    rules = board.rules
    arrow = "seat order" if board.direction > 0 else "reversed"
    head = f"{rules.variant}, {rules.num_players} players"
    if rules.match != "deal":
        head += f"; {rules.match} match to {rules.target}, deal {board.deals + 1}"
    lines = [
        f"{head}; turn {min(board.turn + 1, HAND_CARDS)} of {HAND_CARDS}; {arrow}",
        f"  table  {_cards(board.table, colour)}",
        f"  stock  {board.stock} card{'s' * (board.stock != 1)}",
    ]
    if board.bottom is not None:
        lines[-1] += f", {_card(board.bottom, colour)} at the bottom"
    if board.pending is not None:
        pending, targets = _card(board.pending, colour), _cards(board.targets, colour)
        lines.append(f"  {pending} takes one of {targets}")
    lines += [_seat(seat, board, colour) for seat in board.seats]
    if board.is_over:
        lines.append("  over")
    else:
        lines.append(f"  {board.seats[board.player].name} to {board.phase}")
    return "\n".join(lines)


def _seat(seat: Seat, board: Board, colour: bool) -> str:
    mark = ">" if seat.on_turn else " "
    dealer = " (dealer)" if seat.dealer else ""
    total = f", {seat.score} before" if board.rules.match != "deal" and board.deals else ""
    hand = [_card(card, colour) for card in seat.hand] + ["?"] * seat.hidden
    return (
        f"{mark} {seat.name}{dealer}: {seat.points} points{total}\n"
        f"    hand {' '.join(hand) or '-'}\n"
        f"    pile {_cards(seat.pile, colour)}"
    )


def _cards(cards: Iterable[int], colour: bool) -> str:
    return " ".join(_card(card, colour) for card in cards) or "-"


def _card(card: int, colour: bool) -> str:
    name = CARD_NAMES[card]
    return f"{RED if is_red(card) else BOLD}{name}{PLAIN}" if colour else name
