"""Pixels of a drawing, by pygame-ce (extra ``render``)."""

from __future__ import annotations

import io
import os
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from chinese_ten_env.files import whole
from chinese_ten_env.render.board import Board
from chinese_ten_env.render.layout import SIZE, layout
from chinese_ten_env.render.shapes import paint_of

if TYPE_CHECKING:
    from pygame import Surface


def load_pygame() -> Any:
    """Return pygame, without its greeting; ImportError names the extra."""
    os.environ.setdefault("PYGAME_HIDE_SUPPORT_PROMPT", "1")
    try:
        import pygame
    except ImportError:
        raise ImportError(
            "pictures need pygame-ce: pip install 'chinese_ten_env[render]'"
        ) from None
    return pygame


def rgb(
    picture: str | Board,
    size: tuple[int, int] = SIZE,
    *,
    theme: str = "light",
    four_colours: bool = False,
) -> npt.NDArray[np.uint8]:
    """Return the pixels of a drawing, uint8 [height, width, 3].

    A board is drawn at `size`, (width, height), in which its pieces are kept for the next picture;
    of SVG any drawing is scaled to it. ImportError names the extra that it needs.
    """
    pygame = load_pygame()
    surface = surface_of(picture, size, theme=theme, four_colours=four_colours)
    pixels = np.frombuffer(pygame.image.tobytes(surface, "RGB"), dtype=np.uint8)
    return pixels.reshape(size[1], size[0], 3).copy()


def surface_of(
    picture: str | Board,
    size: tuple[int, int] = SIZE,
    *,
    theme: str = "light",
    four_colours: bool = False,
) -> Surface:
    """Return the same as pygame's surface."""
    pygame = load_pygame()
    if isinstance(picture, str):
        whole: Surface = pygame.image.load_sized_svg(io.BytesIO(picture.encode()), size)
        return whole
    paint = paint_of(theme, four_colours)
    felt, *pieces = layout(picture, paint, size)
    # A copy of the lowest piece, since blending between surfaces of one format is by far faster.
    surface: Surface = _sprite(felt.body, felt.width, felt.height).copy()
    sprites = [(_sprite(p.body, p.width, p.height), (p.x, p.y)) for p in pieces]
    surface.fblits(sprites, pygame.BLEND_PREMULTIPLIED)
    return surface


def write_png(path: Path, board: Board, size: tuple[int, int] = SIZE, *, theme: str) -> None:
    """Write a picture of a board as PNG."""
    written = io.BytesIO()
    load_pygame().image.save(surface_of(board, size, theme=theme), written, "picture.png")
    with whole(path) as unfinished:
        unfinished.write_bytes(written.getvalue())


@lru_cache(maxsize=2048)
def _sprite(body: str, width: int, height: int) -> Any:
    """Return a piece as a surface. Most pieces of a picture were in the one before."""
    pygame = load_pygame()
    svg = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}">{body}</svg>'
    )
    return pygame.image.load(io.BytesIO(svg.encode()), "piece.svg").premul_alpha()
