"""Where everything goes in a drawing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fractions import Fraction

from chinese_ten_env.cards import CARD_NAMES
from chinese_ten_env.render.board import Board, Seat
from chinese_ten_env.render.shapes import (
    CARD_RATIO,
    RIM,
    Paint,
    Piece,
    bar,
    card_back,
    card_face,
    card_height,
    label,
    plate,
    text_width,
)
from chinese_ten_env.render.words import (
    amount,
    card_words,
    listed,
    move_words,
    player_names,
    turn_words,
)

SIZE = (800, 600)
SMALLEST = {"narrow": (320, 600), "wide": (600, 480)}
"""A drawing below this has no room for its cards; a narrow one has the other seats in rows."""

_MARGIN = 10
_HEADER = 30
_LINE = 26
"""The height of a seat's line of name and points."""


def layout(
    board: Board,
    paint: Paint,
    size: tuple[int, int] = SIZE,
    *,
    clickable: bool = False,
    names: Sequence[str] | None = None,
) -> list[Piece]:
    """Return the pieces of the drawing, from the back to the front."""
    return _Layout(board, paint, size, clickable, names).pieces


class _Layout:
    """Puts the pieces of a board in their places."""

    def __init__(
        self,
        board: Board,
        paint: Paint,
        size: tuple[int, int],
        clickable: bool,
        names: Sequence[str] | None,
    ) -> None:
        width, height = size
        narrow = width < max(height, SMALLEST["wide"][0])
        least = SMALLEST["narrow" if narrow else "wide"]
        if width < least[0] or height < least[1]:
            raise ValueError(f"size: at least {least[0]} x {least[1]}, not {size!r}")
        self.board, self.paint, self.clickable = board, paint, clickable
        self.names = player_names(board, names)
        self.moves = {move.card: move for move in board.moves}
        self.best = _best(board)
        self.pieces = [
            Piece(0, 0, width, height, plate(width, height, paint.felt, paint.felt, 0, 0))
        ]
        self._header(width)
        own, others = self._order()
        inner = width - 2 * _MARGIN
        top = self._others(others, inner, narrow)
        stacked = narrow or board.rules.hand_size * 66 > inner * 0.68
        low = (174 if narrow else 190) if stacked else 136
        self.own_card = 52 if narrow else 62
        self._seat(own, _MARGIN, height - low - _MARGIN, inner, low, own=True, beside=not stacked)
        self._middle(_MARGIN, top, inner, height - low - 2 * _MARGIN - top)

    def _order(self) -> tuple[Seat, list[Seat]]:
        """Return who sits at the bottom, and the others in seat order after that seat."""
        board = self.board
        first = board.viewer or 0
        seats = board.seats[first:] + board.seats[:first]
        return seats[0], list(seats[1:])

    # --- parts of the table -----------------------------------------------------------------

    def _header(self, width: int) -> None:
        board, rules = self.board, self.board.rules
        parts = [rules.variant, turn_words(board)]
        if rules.match != "deal":
            deal = board.deals + (0 if board.is_over else 1)
            parts.append(f"deal {deal}, {rules.match} match to {rules.target}")
        if rules.sweep_reverses:
            parts.append("seat order" if board.direction > 0 else "reversed")
        right = f"par {amount(rules.exact_par)}"
        room = width - 2 * _MARGIN - text_width(right, 10) - 12
        left = parts.pop(0)
        for part in parts:  # as much as there is room for
            if text_width(f"{left}   {part}", 10) < room:
                left += "   " + part
        self._label(left, _MARGIN, 10, 10, self.paint.faint)
        self._label(right, width - _MARGIN, 10, 10, self.paint.faint, align=1.0)

    def _others(self, seats: list[Seat], inner: int, narrow: bool) -> int:
        """Place the other seats at the top; return where the table begins."""
        y = _HEADER
        if narrow:
            room = 84 if len(seats) < 3 else 80
            for seat in seats:
                self._seat(seat, _MARGIN, y, inner, room, own=False, beside=True)
                y += room + 6
            return y + 2
        room = 96 if len(seats) == 1 else 142
        width = (inner - _MARGIN * (len(seats) - 1)) // len(seats)
        for place, seat in enumerate(seats):
            x = _MARGIN + place * (width + _MARGIN)
            self._seat(seat, x, y, width, room, own=False, beside=len(seats) == 1)
        return y + room + 8

    def _seat(
        self, seat: Seat, x: int, y: int, width: int, height: int, *, own: bool, beside: bool
    ) -> None:
        """Place a player's plate: a line of name and points, the hand, and the pile."""
        paint = self.paint
        lit = seat.on_turn or seat.player in self.best
        edge, thickness = (paint.turn, 2.0) if lit else (paint.line, 1.0)
        body = plate(width, height, paint.plate, edge, thickness, 8)
        self.pieces.append(Piece(x, y, width, height, body))
        self._seat_line(seat, x + 8, y + 7, width - 16)
        left, top, inner, room = x + 8, y + _LINE + 2, width - 16, height - _LINE - 8
        if beside:
            hand = min(inner * 11 // 20, inner - 130)
            if own:
                hand = min(hand, self.board.rules.hand_size * 67)
            card = min(self.own_card if own else 46, int((room - 2) / CARD_RATIO))
            self._hand(seat, left, top + (room - card_height(card)) // 2, hand, card)
            held = int(_step(seat.cards, card, hand, 5) * (seat.cards - 1)) + card + 12
            spare = hand + 12 - (held if seat.cards else 0)
            self._pile(seat, left + hand + 12, top, inner - hand - 12, room, spare=spare)
            return
        chips = room * 54 // 100
        card = self.own_card if own else min(46, int((room - chips - 6) / CARD_RATIO))
        tall = card_height(card)
        if own:
            self._pile(seat, left, top, inner, room - tall - 8)
            self._hand(seat, left, y + height - 7 - tall, inner, card, centred=True)
        else:
            self._hand(seat, left, top, inner, card)
            self._pile(seat, left, top + tall + 6, inner, room - tall - 6)

    def _seat_line(self, seat: Seat, x: int, y: int, width: int) -> None:
        paint, rules = self.paint, self.board.rules
        ink = paint.turn if seat.on_turn else paint.ink
        points = str(seat.points)
        right = x + width
        if self.board.is_over:
            right -= self._label(amount(seat.net, sign=True), right, y, 12, paint.turn, True, 1.0)
            right -= 8
        right -= self._label(points, right, y, 12, paint.ink, True, 1.0) + 8
        name, room = self.names[seat.player], right - x
        marks = self._marks(seat)
        if text_width(name, 11) + 12 + _marks_width(marks) > room:
            marks = self._marks(seat, short=True)
        # The bar of points comes last, where there is room for it.
        long = min(140, int(room - text_width(name, 11) - 22 - _marks_width(marks)))
        if long >= 40:
            share = float((seat.points / rules.exact_par) / 2)
            self._piece(right - long, y + 3, long, 10, bar(long, 10, round(share, 3), paint))
        room -= _marks_width(marks) + 12
        size = next((size for size in (11, 10, 9) if text_width(name, size) <= room), 8)
        while name and text_width(name, size) > room:
            name = name[:-1]
        x += self._label(name, x, y + 1 + (11 - size) // 2, size, ink, seat.on_turn) + 6
        for mark in marks:
            wide, tall, body = label(mark, _MARK, paint.felt, True)
            pill = plate(wide + 8, 17, paint.faint, paint.faint, 0, 8)
            self._piece(x, y, wide + 8, 17, pill)
            self._piece(x + 4, y + 2, wide, tall, body)
            x += wide + 8 + _MARK_GAP

    def _marks(self, seat: Seat, *, short: bool = False) -> list[str]:
        """Return what is noted beside a name: who deals, a match's total, a levy."""
        rules = self.board.rules
        marks = []
        if seat.dealer:
            marks.append("D" if short else "dealer")
        if rules.match != "deal" and (self.board.deals):
            total = amount(seat.total, sign=rules.match == "net")
            marks.append(total if short else f"match {total}")
        if seat.levy:
            levy = amount(Fraction(seat.levy), sign=True)
            marks.append(f"5 {levy}" if short else f"levy {levy}")
        return marks

    def _hand(
        self, seat: Seat, x: int, y: int, width: int, card: int, *, centred: bool = False
    ) -> None:
        count = seat.cards
        step = _step(count, card, width, 5)
        if centred:
            x += int(width - card - step * (count - 1)) // 2
        for place, number in enumerate(seat.hand):
            self._card(number, x + int(place * step), y, card, mine=seat.on_turn)
        back = card_back(card, self.paint)
        for place in range(len(seat.hand), count):
            self._piece(
                x + int(place * step) - RIM, y - RIM, card + 2 * RIM, card_height(card) + 6, back
            )

    def _pile(self, seat: Seat, x: int, y: int, width: int, height: int, *, spare: int = 0) -> None:
        """Place the cards that score in one row, and the others below.

        A long pile begins further to the left, where the hand leaves `spare` pixels.
        """
        worth = self.board.rules.points
        scoring = sorted((c for c in seat.pile if worth[c]), key=lambda c: (-worth[c], c))
        rest = [card for card in seat.pile if not worth[card]]
        card = max(14, min(24, int((height - 3) / 2 / CARD_RATIO)))
        tall = card_height(card)
        y += max(0, (height - 2 * tall - 3) // 2)
        lacking = max(len(scoring), len(rest)) * (card + 2) - 2 - width
        shift = max(0, min(spare, lacking))
        x, width = x - shift, width + shift
        for row, cards in enumerate((scoring, rest)):
            step = _step(len(cards), card, width, 2)
            for place, number in enumerate(cards):
                self._card(number, x + int(place * step), y + row * (tall + 3), card, pile=True)

    def _middle(self, x: int, y: int, width: int, height: int) -> None:
        board, paint = self.board, self.paint
        line = 22
        card = max(34, min(62, int((height - line - 30) / CARD_RATIO / 1.35)))
        if width < 500:
            card = min(card, 48)
        tall = card_height(card)
        low = 0 if board.bottom is None else card_height(24) + 4
        top = y + max(0, (height - line - tall - low) // 2)
        self._stock(x + 6, top, card)
        left = x + card + 26
        if board.pending is not None:
            middle = y + (height - line - tall) // 2
            self._card(board.pending, left, middle, card, frame=paint.turn)
            arrow = plate(4, tall, paint.turn, paint.turn, 0, 2)
            self._piece(left + card + 10, middle, 4, tall, arrow)
            left += card + 24
        self._table(left, y, x + width - left, height - line)
        text, colour = self._prompt()
        place, large = (y + height // 2 - 10, 16) if board.is_over else (y + height - 18, 11)
        self._label(text, x + width // 2, place, large, colour, True, align=0.5)

    def _prompt(self) -> tuple[str, str]:
        board = self.board
        if not board.is_over:
            return f"{self.names[board.player]} to {board.phase}", self.paint.turn
        if len(self.best) == len(board.seats):
            return "over: a tie", self.paint.ink
        winners = listed([self.names[player] for player in self.best], "and")
        return f"over: {winners} won", self.paint.ink

    def _stock(self, x: int, y: int, card: int) -> None:
        board, paint = self.board, self.paint
        tall = card_height(card)
        if board.stock:
            for lift in (4, 2, 0)[-min(board.stock, 3) :]:
                back = card_back(card, paint)
                self._piece(x + lift - RIM, y + lift - RIM, card + 6, tall + 6, back)
        else:
            self._piece(x, y, card, tall, plate(card, tall, "none", paint.line, 1.5, 5))
        wide, high = 30, 22
        left, top = x + (card - wide) // 2, y + (tall - high) // 2
        self._piece(left, top, wide, high, plate(wide, high, paint.plate, paint.line, 1, 8))
        self._label(str(board.stock), x + card // 2, top + 4, 11, paint.ink, True, align=0.5)
        if board.bottom is not None:
            self._card(board.bottom, x + card - 24, y + tall + 8, 24)
            if card > 56:
                self._label("bottom", x - 2, y + tall + 20, 8, paint.faint)

    def _table(self, x: int, y: int, width: int, height: int) -> None:
        groups = self.board.groups
        captured_by: dict[int, list[int]] = {}
        for move in self.board.moves:
            for target in move.targets:
                captured_by.setdefault(target, []).append(move.card)
        for card in range(self.own_card, 25, -2):
            rows = _rows(groups, card, width)
            tall = card_height(card) + 2 * _pad(card)
            if len(rows) * (tall + _LEAST_GAP) - _LEAST_GAP <= height:
                break
        step = tall + _GAP
        if len(rows) > 1:  # a table so full that rows lie over one another
            step = min(step, (height - tall) // (len(rows) - 1))
        top = y + max(0, (height - tall - step * (len(rows) - 1)) // 2)
        for row in rows:
            long = sum(_group_width(group, card) + _GAP for group in row) - _GAP
            left = x + max(0, (width - long) // 2)
            for group in row:
                wide = _group_width(group, card)
                body = plate(wide, tall, self.paint.plate, self.paint.line, 1, 7)
                self._piece(left, top, wide, tall, body)
                for place, number in enumerate(group):
                    self._card(
                        number,
                        left + _pad(card) + place * (card + _NEAR),
                        top + _pad(card),
                        card,
                        by=captured_by.get(number, ()),
                    )
                left += wide + _GAP
            top += step

    # --- pieces -----------------------------------------------------------------------------

    def _piece(self, x: int, y: int, width: int, height: int, body: str) -> None:
        self.pieces.append(Piece(x, y, width, height, body, ' aria-hidden="true"'))

    def _label(
        self,
        text: str,
        x: int,
        y: int,
        size: int,
        colour: str,
        bold: bool = False,
        align: float = 0.0,
    ) -> int:
        """Write a line of text, whose left end, middle or right end is at x; return its width."""
        width, height, body = label(text, size, colour, bold)
        self._piece(x - round(width * align), y, width, height, body)
        return width

    def _card(
        self,
        card: int,
        x: int,
        y: int,
        width: int,
        *,
        frame: str = "",
        mine: bool = False,
        pile: bool = False,
        by: Iterable[int] = (),
    ) -> None:
        """Place a card that is seen. `mine`: of the hand on turn; `by`: what can capture it."""
        board, paint, move = self.board, self.paint, self.moves.get(card)
        taking = board.pending is not None
        by = tuple(by)
        dot = not taking and bool(by or (move is not None and move.targets))
        if card in board.last:
            frame = paint.last
        if taking and card in board.targets:
            frame = paint.turn
        body = card_face(card, width, paint, frame, dot)
        tall = card_height(width) + 2 * RIM
        kind = "card pile" if pile else "card"
        words = card_words(card)
        role = 'role="img"'
        extra = ""
        if self.clickable and move is not None:
            kind, role = kind + " legal", 'role="button" tabindex="0"'
            words = move_words(move, board.pending)
        if self.clickable and by and not taking:
            extra = f' data-captured-by="{_card_names(by)}"'
        attributes = (
            f' class="{kind}" data-card="{_card_names((card,))}" {role} aria-label="{words}"{extra}'
        )
        self.pieces.append(Piece(x - RIM, y - RIM, width + 2 * RIM, tall, body, attributes))


_GAP = 12
"""Between groups of table cards."""
_NEAR = 4
"""Between the cards of a group."""
_LEAST_GAP = 4
"""Between rows, where there is little room."""


def _pad(card: int) -> int:
    """Return the room between a group and its edge."""
    return 6 if card > 40 else 3


def _group_width(group: tuple[int, ...], card: int) -> int:
    return len(group) * (card + _NEAR) - _NEAR + 2 * _pad(card)


def _rows(
    groups: tuple[tuple[int, ...], ...], card: int, width: int
) -> list[list[tuple[int, ...]]]:
    """Return the groups in rows that are no longer than `width`, as equally long as that allows."""
    total = sum(_group_width(group, card) + _GAP for group in groups)
    fewest = max(1, -(-total // max(1, width)))
    for count in range(fewest, len(groups) + 1):
        target = total / count
        rows: list[list[tuple[int, ...]]] = [[]]
        long = 0
        for group in groups:
            wide = _group_width(group, card) + _GAP
            full = long + wide - _GAP > width or long + wide / 2 > target
            if rows[-1] and full and len(rows) < count:
                rows.append([])
                long = 0
            rows[-1].append(group)
            long += wide
        longest = max(sum(_group_width(g, card) + _GAP for g in row) - _GAP for row in rows)
        if longest <= width:
            return rows
    return [[group] for group in groups] if groups else []


def _step(count: int, card: int, width: int, gap: int) -> float:
    """Return the distance from card to card of a row that is no longer than `width`."""
    return min(card + gap, (width - card) / max(1, count - 1))


_MARK = 8
"""The height of the letters of what is noted beside a name."""
_MARK_GAP = 5


def _marks_width(marks: Sequence[str]) -> int:
    return sum(label(mark, _MARK, "", True)[0] + 8 + _MARK_GAP for mark in marks)


def _best(board: Board) -> tuple[int, ...]:
    """Return who has won: most net points, or in match play most of what counts; none before."""
    if not board.is_over:
        return ()
    worth = [seat.net if board.rules.match == "deal" else seat.total for seat in board.seats]
    return tuple(player for player, value in enumerate(worth) if value == max(worth))


def _card_names(cards: Iterable[int]) -> str:
    return " ".join(CARD_NAMES[card] for card in cards)
