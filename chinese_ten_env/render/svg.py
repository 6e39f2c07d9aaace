"""The drawing of a board, as SVG."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from xml.sax.saxutils import escape, quoteattr

from chinese_ten_env.render.board import Board
from chinese_ten_env.render.layout import SIZE, layout
from chinese_ten_env.render.shapes import Paint, paint_of
from chinese_ten_env.render.words import describe, title_words


def draw(
    board: Board,
    *,
    theme: str = "light",
    four_colours: bool = False,
    clickable: bool = False,
    size: tuple[int, int] = SIZE,
    names: Sequence[str] | None = None,
) -> str:
    """Return the drawing of a board as SVG, which needs nothing else: no font, no script.

    The viewer sits at the bottom, without one seat 0; the others sit above, in seat order from the
    left. `theme` is ``"light"``, ``"dark"``, or ``"auto"``, which follows a browser by style sheet.
    `four_colours` gives each suit its own. `size` is width and height in pixels, from 320 x 600 or
    600 x 480 on; cards do not grow with it, a picture that is to be larger is scaled. `names` [P]
    are written instead of ``player_0`` and so on. ValueError says what is wrong with an option.

    A card is a ``<g class="card" data-card="AS">``; the cards of piles have the class ``pile`` too.
    With ``clickable=True`` a legal one has the class ``legal`` and the role of a button, and a
    table card tells in ``data-captured-by`` which legal cards can capture it.
    """
    paint = _VARIABLES if theme == "auto" else paint_of(theme, four_colours)
    pieces = layout(board, paint, size, clickable=clickable, names=names)
    width, height = size
    seen = quoteattr(describe(board, names))
    role = "group" if clickable else "img"  # a picture has no buttons
    style = _style(four_colours) if theme == "auto" else ""
    body = "".join(
        f'<g transform="translate({piece.x} {piece.y})"{piece.attributes}>{piece.body}</g>'
        for piece in pieces
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        f'height="{height}" class="chinese-ten" role="{role}" aria-label={seen}>'
        f"<title>{escape(title_words(board))}</title>{style}{body}</svg>"
    )


_VARIABLES = Paint(*(f"var(--ct-{name.replace('_', '-')})" for name in Paint._fields))


@lru_cache(maxsize=2)
def _style(four_colours: bool) -> str:
    def block(theme: str) -> str:
        paint = paint_of(theme, four_colours)
        pairs = zip(_VARIABLES, paint, strict=True)
        return ".chinese-ten{" + ";".join(f"{name[4:-1]}:{value}" for name, value in pairs) + "}"

    dark = f"@media (prefers-color-scheme: dark){{{block('dark')}}}"
    return f"<style>{block('light')}{dark}</style>"
