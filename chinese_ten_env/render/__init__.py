"""A game drawn: `board` is what there is to see of it, and everything that shows a game shows that.

`ansi` writes a board as text; `svg` draws it, from the pieces that `layout` puts in their places;
`raster` makes pixels of the same pieces, and `window` shows them. `modes` are the render modes of
the environments. Only pixels and windows need more than the library: the extra ``render``.
"""

from __future__ import annotations

from chinese_ten_env.render.board import Board, Move, Seat, board
from chinese_ten_env.render.svg import draw

__all__ = ["Board", "Move", "Seat", "board", "draw"]
