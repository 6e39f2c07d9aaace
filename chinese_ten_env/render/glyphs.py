"""Outlines of letters, digits and suits, so that a drawing needs no font.

Letters are strokes of a pen, in units of a tenth of the height of a capital: y = 0 is its top and
y = 10 the line that it stands on. Suits are areas of 10 by 10.
"""

from __future__ import annotations

import re
from functools import lru_cache

HEIGHT = 10.0
GAP = 2.6
"""Between letters."""

_BOWL = "A2.7 3.3 0 1 1 {right} 6.7A2.7 3.3 0 1 1 {left} 6.7"
_LEFT_BOWL = "M0 6.7" + _BOWL.format(right=5.4, left=0)
_RIGHT_BOWL = "M5.4 6.7" + _BOWL.format(right=0, left=5.4)

_GLYPHS: dict[str, tuple[float, str]] = {
    " ": (1.6, ""),
    "0": (6, "M0 5A3 5 0 1 1 6 5A3 5 0 1 1 0 5"),
    "1": (3.4, "M0 2.4L3 0V10"),
    "2": (6, "M.2 2.8A2.9 2.8 0 0 1 6 2.9C6 5.2 2 7.4 0 10H6"),
    "3": (6, "M.4 1.6A2.6 2.4 0 1 1 3 4.7A3 2.65 0 1 1 .1 8.1"),
    "4": (6.2, "M4.5 10V0L0 7H6.2"),
    "5": (6, "M5.4 0H1L.5 4.6A3 3.1 0 1 1 .1 8.4"),
    "6": (6, "M5 .2C2 1 0 3.5 0 6.8A3 3.2 0 1 0 3 3.6A3 3.2 0 0 0 0 6.8"),
    "7": (6, "M0 0H6L2.2 10"),
    "8": (6, "M3 4.6A2.6 2.3 0 1 1 3 0A2.6 2.3 0 1 1 3 4.6A3 2.7 0 1 0 3 10A3 2.7 0 1 0 3 4.6"),
    "9": (6, "M1 9.8C4 9 6 6.5 6 3.2A3 3.2 0 1 0 3 6.4A3 3.2 0 0 0 6 3.2"),
    "A": (7, "M0 10L3.5 0L7 10M1.2 6.6H5.8"),
    "B": (6, "M0 0V10H3.2A2.75 2.75 0 0 0 3.2 4.5H0M0 0H3A2.25 2.25 0 0 1 3 4.5"),
    "C": (6.6, "M6.4 2.2A3.7 5 0 1 0 6.4 7.8"),
    "D": (6.4, "M0 0V10H2.4A4 5 0 0 0 2.4 0Z"),
    "E": (5, "M5 0H0V10H5M0 4.8H4.4"),
    "F": (5, "M5 0H0V10M0 4.8H4.4"),
    "G": (6.9, "M6.4 2.2A3.7 5 0 1 0 6.9 6V5.4H4"),
    "H": (6, "M0 0V10M6 0V10M0 4.8H6"),
    "I": (0.2, "M.1 0V10"),
    "J": (4.6, "M4.6 0V7A2.3 3 0 0 1 0 7"),
    "K": (6.2, "M0 0V10M5.8 0L0 6.2M2.2 4L6.2 10"),
    "L": (4.8, "M0 0V10H4.8"),
    "M": (8, "M0 10V0L4 6.5L8 0V10"),
    "N": (6, "M0 10V0L6 10V0"),
    "O": (7.4, "M0 5A3.7 5 0 1 1 7.4 5A3.7 5 0 1 1 0 5"),
    "P": (5.9, "M0 10V0H3.1A2.8 2.8 0 0 1 3.1 5.6H0"),
    "Q": (7.4, "M0 5A3.7 5 0 1 1 7.4 5A3.7 5 0 1 1 0 5M4.6 7.2L7.4 10.4"),
    "R": (6, "M0 10V0H3.1A2.8 2.8 0 0 1 3.1 5.6H0M3 5.6L6 10"),
    "S": (
        5.6,
        "M5.4 1.9C5 .6 4 0 2.8 0C1.3 0 .3 1 .3 2.4C.3 5.6 5.6 4.2 5.6 7.4"
        "C5.6 9 4.4 10 2.8 10C1.3 10 .3 9.2 0 7.9",
    ),
    "T": (6.4, "M0 0H6.4M3.2 0V10"),
    "U": (6, "M0 0V6.8A3 3.2 0 0 0 6 6.8V0"),
    "V": (6.8, "M0 0L3.4 10L6.8 0"),
    "W": (9.6, "M0 0L2.4 10L4.8 2L7.2 10L9.6 0"),
    "X": (6, "M0 0L6 10M6 0L0 10"),
    "Y": (6.4, "M0 0L3.2 5L6.4 0M3.2 5V10"),
    "Z": (6, "M0 0H6L0 10H6"),
    "a": (5.4, "M5.4 3.4V10" + _RIGHT_BOWL),
    "b": (5.4, "M0 0V10" + _LEFT_BOWL),
    "c": (5, "M4.9 4.8A2.8 3.3 0 1 0 4.9 8.6"),
    "d": (5.4, "M5.4 0V10" + _RIGHT_BOWL),
    "e": (5.3, "M.1 6.6H5.3A2.65 3.2 0 1 0 4.7 8.8"),
    "f": (3.4, "M3.8 .1C2.2 -.3 1.4 .6 1.4 2.2V10M0 3.6H3.4"),
    "g": (5.4, "M5.4 3.4V10.6A2.7 2.6 0 0 1 .4 11.8" + _RIGHT_BOWL),
    "h": (5, "M0 0V10M0 6.2A2.5 2.8 0 0 1 5 6.2V10"),
    "i": (0.2, "M.1 3.4V10M.1 .8V1"),
    "j": (1.2, "M1.2 3.4V11.2A1.6 1.8 0 0 1 -.4 12.8M1.2 .8V1"),
    "k": (5, "M0 0V10M4.6 3.4L0 7.4M1.7 6L5 10"),
    "l": (1.4, "M0 0V8.4A1.4 1.6 0 0 0 1.4 10"),
    "m": (8.4, "M0 3.4V10M0 5.8A2.1 2.4 0 0 1 4.2 5.8V10M4.2 5.8A2.1 2.4 0 0 1 8.4 5.8V10"),
    "n": (5, "M0 3.4V10M0 6.2A2.5 2.8 0 0 1 5 6.2V10"),
    "o": (5.6, "M0 6.7A2.8 3.3 0 1 1 5.6 6.7A2.8 3.3 0 1 1 0 6.7"),
    "p": (5.4, "M0 3.4V13" + _LEFT_BOWL),
    "q": (5.4, "M5.4 3.4V13" + _RIGHT_BOWL),
    "r": (3, "M0 3.4V10M0 6.4A2.6 2.9 0 0 1 3 3.6"),
    "s": (
        4.4,
        "M4 4.7C3.6 3.8 3 3.4 2.2 3.4C1.1 3.4 .3 4 .3 5C.3 7.2 4.4 6.2 4.4 8.3"
        "C4.4 9.4 3.4 10 2.2 10C1.2 10 .3 9.5 0 8.6",
    ),
    "t": (3.4, "M1.4 1.2V8.2C1.4 9.6 2.2 10.2 3.5 9.8M0 3.6H3.4"),
    "u": (5, "M0 3.4V7.2A2.5 2.8 0 0 0 5 7.2M5 3.4V10"),
    "v": (5.2, "M0 3.4L2.6 10L5.2 3.4"),
    "w": (7.6, "M0 3.4L1.9 10L3.8 4.4L5.7 10L7.6 3.4"),
    "x": (4.8, "M0 3.4L4.8 10M4.8 3.4L0 10"),
    "y": (5.4, "M0 3.4L2.7 10M5.4 3.4L2.2 11.4A1.8 1.8 0 0 1 .2 12.8"),
    "z": (4.8, "M0 3.4H4.8L0 10H4.8"),
    "+": (5, "M0 6H5M2.5 3.5V8.5"),
    "-": (4, "M0 6H4"),
    ".": (0.2, "M.1 9.8V10"),
    ",": (0.8, "M.7 9.8L0 11.6"),
    ":": (0.2, "M.1 4.4V4.6M.1 9.8V10"),
    "/": (4, "M0 11.4L4 -1"),
    "_": (4.6, "M0 11.2H4.6"),
    "(": (1.6, "M1.6 -1A7 7 0 0 0 1.6 11.6"),
    ")": (1.6, "M0 -1A7 7 0 0 1 0 11.6"),
    "'": (0.2, "M.1 0V2.4"),
    "!": (0.2, "M.1 0V6.8M.1 9.8V10"),
    "?": (4.6, "M0 2.3A2.3 2.3 0 1 1 3.4 4.4C2.6 5 2.3 5.6 2.3 6.8M2.3 9.8V10"),
}
_BOX = (5.0, "M0 0H5V10H0Z")
"""Stands for every other character."""

_COMMAND = re.compile(r"([MLHVACZ])([^MLHVACZ]*)")
_NUMBER = re.compile(r"-?(?:\d+\.?\d*|\.\d+)")
_ABSCISSAE = {"M": (2, (0,)), "L": (2, (0,)), "H": (1, (0,)), "V": (1, ())}
_ABSCISSAE |= {"A": (7, (5,)), "C": (6, (0, 2, 4)), "Z": (1, ())}
"""How many numbers each command takes, and which of them are abscissae."""

SUIT_PATHS = {
    "C": "M5 .2A2.25 2.25 0 0 1 6.6 4.1A2.25 2.25 0 1 1 5.6 7.1C5.7 8.5 6.1 9.3 6.9 9.8H3.1"
    "C3.9 9.3 4.3 8.5 4.4 7.1A2.25 2.25 0 1 1 3.4 4.1A2.25 2.25 0 0 1 5 .2Z",
    "D": "M5 .1C6.2 2 7.6 3.6 9 5C7.6 6.4 6.2 8 5 9.9C3.8 8 2.4 6.4 1 5C2.4 3.6 3.8 2 5 .1Z",
    "H": "M5 9.7C1.4 6.9 .2 5 .2 3.2A2.5 2.6 0 0 1 5 2.2A2.5 2.6 0 0 1 9.8 3.2"
    "C9.8 5 8.6 6.9 5 9.7Z",
    "S": "M5 .2C8.2 3.2 9.6 4.7 9.6 6.3A2.2 2.2 0 0 1 5.6 7.3C5.7 8.6 6.1 9.3 6.9 9.8H3.1"
    "C3.9 9.3 4.3 8.6 4.4 7.3A2.2 2.2 0 0 1 .4 6.3C.4 4.7 1.8 3.2 5 .2Z",
}


@lru_cache(maxsize=4096)
def outline(text: str) -> tuple[float, str]:
    """Return the width of a line of text and its path, to be stroked, not filled."""
    x, parts = 0.0, []
    for letter in text:
        width, path = _GLYPHS.get(letter, _BOX)
        parts.append(_shifted(path, x))
        x += width + GAP
    return max(x - GAP, 0.0), "".join(parts)


def _shifted(path: str, offset: float) -> str:
    """Return a path moved to the right."""
    parts = []
    for command, rest in _COMMAND.findall(path):
        count, abscissae = _ABSCISSAE[command]
        numbers = [float(number) for number in _NUMBER.findall(rest)]
        moved = [
            number + offset if place % count in abscissae else number
            for place, number in enumerate(numbers)
        ]
        parts.append(command + " ".join(f"{number:.4g}" for number in moved))
    return "".join(parts)
