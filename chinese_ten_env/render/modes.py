"""The render modes of the environments, in one place."""

from __future__ import annotations

from typing import Any

import gymnasium

from chinese_ten_env.render.board import Board
from chinese_ten_env.rules import unknown_choice

PICTURE_MODES = ("rgb_array", "svg", "ansi")
"""What `render` returns: uint8 [600, 800, 3], SVG as a string, or text."""

MODES = ("human", *PICTURE_MODES)
"""With ``"human"`` the environment shows every position in a window by itself."""

FPS = 2
"""Positions a second, in a window and in videos."""


class Screen:
    """Shows boards in a render mode; ValueError names the modes, ImportError the extra."""

    def __init__(self, mode: str | None, modes: tuple[str, ...] = MODES) -> None:
        if mode is not None and mode not in modes:
            raise unknown_choice("render_mode", mode, ("None", *modes))
        self.mode = mode
        self._window: Any = None
        if mode in ("human", "rgb_array"):
            from chinese_ten_env.render.raster import load_pygame

            load_pygame()  # says at once that it is missing
        if mode == "human":
            from chinese_ten_env.render.window import Window

            self._window = Window("Chinese Ten", FPS)

    def show(self, board: Board) -> Any:
        """Return what `render` returns: a picture, SVG, text, or None where a window shows it."""
        if self.mode == "human":
            return self._window.show(board)
        if self.mode == "rgb_array":
            from chinese_ten_env.render.raster import rgb

            return rgb(board)
        if self.mode == "svg":
            from chinese_ten_env.render.svg import draw

            return draw(board)
        from chinese_ten_env.render.ansi import text

        return text(board)

    def close(self) -> None:
        """Close the window; a second time does nothing."""
        if self._window is not None:
            self._window.close()


def warn_of_no_mode(maker: str) -> None:
    """Say that `render` was called without a render mode; `maker` is what takes it."""
    gymnasium.logger.warn(
        f"render() has nothing to do: give render_mode='ansi' (or {_others()}) to {maker}"
    )


def _others() -> str:
    return ", ".join(repr(mode) for mode in MODES if mode != "ansi")
