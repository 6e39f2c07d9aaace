"""The pieces of a drawing: cards, plates and labels, as SVG, each at its own origin."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

from chinese_ten_env.cards import RANKS, SUITS
from chinese_ten_env.render.glyphs import HEIGHT, SUIT_PATHS, outline
from chinese_ten_env.rules import unknown_choice


class Paint(NamedTuple):
    """The colours of a drawing."""

    felt: str
    plate: str
    line: str
    ink: str
    faint: str
    card: str
    edge: str
    back: str
    weave: str
    turn: str
    """Whose turn it is, and what can be captured."""
    last: str
    """The last move."""
    clubs: str
    diamonds: str
    hearts: str
    spades: str


LIGHT = Paint(
    felt="#2f7d5b",
    plate="#276a4d",
    line="#3d8f6b",
    ink="#ffffff",
    faint="#b9dccb",
    card="#fffdf8",
    edge="#c9c4b8",
    back="#28518c",
    weave="#4b78b8",
    turn="#ffd34d",
    last="#5cc8ff",
    clubs="#1c1f24",
    diamonds="#c8202f",
    hearts="#c8202f",
    spades="#1c1f24",
)
DARK = LIGHT._replace(
    felt="#14231d",
    plate="#1c3028",
    line="#2c4a3e",
    ink="#e8efe9",
    faint="#86a396",
    card="#e6e1d6",
    edge="#8f8a7e",
    back="#233a5e",
    weave="#3d5c8c",
    turn="#e0b13c",
    last="#3fa9e0",
)
FOUR_COLOURS = {"clubs": "#17803d", "diamonds": "#1f5fd0"}
"""What differs where every suit has a colour of its own."""

THEMES = ("light", "dark", "auto")


def paint_of(theme: str, four_colours: bool) -> Paint:
    """Return the colours of a theme, ``"auto"`` in its light form; ValueError names the themes."""
    if theme not in THEMES:
        raise unknown_choice("theme", theme, THEMES)
    paint = DARK if theme == "dark" else LIGHT
    return paint._replace(**FOUR_COLOURS) if four_colours else paint


CARD_RATIO = 1.4
"""The height of a card of width 1."""

RIM = 3
"""Around a card's piece, for the frame of a card that is marked."""


class Piece(NamedTuple):
    """A part of a drawing, in whole pixels, so that it looks the same wherever it lies."""

    x: int
    y: int
    width: int
    height: int
    body: str
    attributes: str = ""
    """Of the group that holds it, each with a blank before it."""


def number(value: float) -> str:
    """Return a number as short as it can be written."""
    return f"{value:.2f}".rstrip("0").rstrip(".")


def rank_label(card: int) -> str:
    """Return what stands on a card."""
    rank = RANKS[card // len(SUITS)]
    return "10" if rank == "T" else rank


def text_width(text: str, size: float) -> float:
    """Return the width of a line of text whose capitals are `size` high, pen included."""
    return (outline(text)[0] + _pen(False)) * size / HEIGHT


def _pen(bold: bool) -> float:
    return 1.7 if bold else 1.3


def _stroke(text: str, x: float, y: float, size: float, colour: str, bold: bool, fit: float) -> str:
    width, path = outline(text)
    scale = size / HEIGHT
    across = scale * min(1.0, fit / (width * scale)) if width else scale
    return (
        f'<path transform="translate({number(x)} {number(y)}) '
        f'scale({across:.3g} {scale:.3g})" d="{path}" fill="none" stroke="{colour}" '
        f'stroke-width="{_pen(bold)}" stroke-linecap="round" stroke-linejoin="round"/>'
    )


@lru_cache(maxsize=4096)
def label(text: str, size: int, colour: str, bold: bool = False) -> tuple[int, int, str]:
    """Return width, height and body of a line of text whose capitals are `size` high."""
    room = size / HEIGHT  # for the pen above and beside the letters
    width = int(text_width(text, size) + 2 * room) + 2
    body = _stroke(text, room + 1, room + 1, size, colour, bold, 1e9)
    return width, round(size * 1.3 + 2 * room) + 2, body


def _suit(card: int, x: float, y: float, size: float, colour: str) -> str:
    return (
        f'<path transform="translate({number(x)} {number(y)}) scale({number(size / 10)})" '
        f'd="{SUIT_PATHS[SUITS[card % len(SUITS)]]}" fill="{colour}"/>'
    )


@lru_cache(maxsize=4096)
def card_face(card: int, width: int, paint: Paint, frame: str = "", dot: bool = False) -> str:
    """Return a card of this width, with a frame in a colour if given, and a dot if it captures."""
    height = card_height(width)
    colour = (paint.clubs, paint.diamonds, paint.hearts, paint.spades)[card % len(SUITS)]
    parts = [_outer(width, frame, paint), _sheet(width, height, paint.card, paint.edge)]
    rank = rank_label(card)
    if width < _SMALL:
        size, suit = width * 0.42, width * 0.46
        across = min(outline(rank)[0] * size / HEIGHT, width * 0.62)
        left = RIM + (width - across) / 2
        parts.append(_stroke(rank, left, RIM + width * 0.2, size, colour, True, width * 0.62))
        parts.append(_suit(card, RIM + (width - suit) / 2, RIM + width * 0.77, suit, colour))
    else:
        size, small, large = width * 0.34, width * 0.25, width * 0.52
        across = min(outline(rank)[0] * size / HEIGHT, width * 0.3)
        centre = RIM + width * 0.24
        top = RIM + width * 0.13
        parts.append(_stroke(rank, centre - across / 2, top, size, colour, True, width * 0.3))
        parts.append(_suit(card, centre - small / 2, top + size + width * 0.1, small, colour))
        right, bottom = RIM + width * 0.93 - large, RIM + height - width * 0.1 - large
        parts.append(_suit(card, right, bottom, large, colour))
    if dot:
        # In the corner that neither a pip nor the next card of a full hand covers.
        radius = max(3.0, width * 0.075)
        parts.append(
            f'<circle cx="{number(RIM + radius * 1.8)}" '
            f'cy="{number(RIM + height - radius * 1.8)}" '
            f'r="{number(radius)}" fill="{paint.turn}" stroke="{paint.edge}"/>'
        )
    return "".join(parts)


_SMALL = 34
"""Cards below this width show rank and suit once, as large as they can."""


def card_height(width: int) -> int:
    """Return the height of a card."""
    return round(width * CARD_RATIO)


def _sheet(width: int, height: int, fill: str, edge: str) -> str:
    corner = number(width * 0.1)
    return (
        f'<rect x="{RIM + 0.5}" y="{RIM + 0.5}" width="{width - 1}" height="{height - 1}" '
        f'rx="{corner}" fill="{fill}" stroke="{edge}"/>'
    )


def _outer(width: int, frame: str, paint: Paint) -> str:
    if not frame:
        return ""
    return (
        f'<rect x="0" y="0" width="{width + 2 * RIM}" height="{card_height(width) + 2 * RIM}" '
        f'rx="{number(width * 0.1 + RIM)}" fill="{frame}"/>'
    )


@lru_cache(maxsize=256)
def card_back(width: int, paint: Paint) -> str:
    """Return the back of a card of this width."""
    height = card_height(width)
    inset = max(2, round(width * 0.09))
    inner_width, inner_height = width - 2 * inset, height - 2 * inset
    left, top = RIM + inset, RIM + inset
    across, down = inner_width / 2, inner_height / 2
    return (
        _sheet(width, height, paint.card, paint.edge)
        + f'<rect x="{left}" y="{top}" width="{inner_width}" height="{inner_height}" '
        f'rx="{number(width * 0.05)}" fill="{paint.back}"/>'
        f'<path d="M{left + across} {top + 2}L{left + inner_width - 2} {top + down}'
        f"L{left + across} {top + inner_height - 2}L{left + 2} {top + down}Z"
        f"M{left + across} {number(top + down * 0.5)}L{number(left + across * 1.5)} {top + down}"
        f'L{left + across} {number(top + down * 1.5)}L{number(left + across * 0.5)} {top + down}Z" '
        f'fill="none" stroke="{paint.weave}" stroke-width="1.2"/>'
    )


@lru_cache(maxsize=256)
def plate(width: int, height: int, fill: str, edge: str, thickness: float, corner: int) -> str:
    """Return a rectangle with round corners."""
    half = thickness / 2
    return (
        f'<rect x="{number(half)}" y="{number(half)}" width="{number(width - thickness)}" '
        f'height="{number(height - thickness)}" rx="{corner}" fill="{fill}" stroke="{edge}" '
        f'stroke-width="{number(thickness)}"/>'
    )


@lru_cache(maxsize=4096)
def bar(width: int, height: int, share: float, paint: Paint) -> str:
    """Return a bar filled up to `share` of its width, which is par in the middle."""
    filled = number(max(0.0, min(1.0, share)) * width)
    middle = number(width / 2)
    inner = height - 4
    return (
        f'<rect x="0" y="2" width="{width}" height="{inner}" rx="{inner / 2}" fill="{paint.line}"/>'
        f'<rect x="0" y="2" width="{filled}" height="{inner}" rx="{inner / 2}" '
        f'fill="{paint.ink}"/>'
        f'<path d="M{middle} 0V{height}" stroke="{paint.turn}" stroke-width="2"/>'
    )
