"""A game drawn: `board` is what there is to see of it, and everything that shows a game shows that.

`ansi` writes a board as text, `svg` draws it, `raster` makes pixels of the drawing, and `window`
shows them. Only the last two need more than the library itself: the extra ``render``.
"""

from __future__ import annotations

from chinese_ten_env.render.board import Board, Move, Seat, board
from chinese_ten_env.render.svg import draw

__all__ = ["Board", "Move", "Seat", "board", "draw"]
