"""A film of a game: a picture of each position, as a GIF or a video (extra ``render``)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from chinese_ten_env.files import whole
from chinese_ten_env.game import Game
from chinese_ten_env.render.layout import SIZE
from chinese_ten_env.render.modes import FPS
from chinese_ten_env.render.raster import rgb

SUFFIXES = (".gif", ".mp4")
"""What `write_film` writes, by the end of the file's name."""

_LAST = 3
"""Seconds for which the last picture stays."""


def pictures(
    game: Game,
    player: int | None = None,
    *,
    size: tuple[int, int] = SIZE,
    theme: str = "light",
    four_colours: bool = False,
) -> Iterator[npt.NDArray[np.uint8]]:
    """Yield a picture of each position of a game, uint8 [height, width, 3].

    With all hands, or as `player` sees them. ImportError names the extra.
    """
    again = game.replay()
    for card in (*game.history, None):
        yield rgb(again.board(player), size, theme=theme, four_colours=four_colours)
        if card is not None:
            again.play(card)


def write_film(
    path: str | Path,
    frames: Sequence[npt.NDArray[np.uint8]],
    fps: float = FPS,
) -> None:
    """Write pictures as a film; what `path` held stays as it was until the film is whole.

    ValueError if the name ends in none of `SUFFIXES` or sizes differ; ImportError names the extra.
    """
    path = Path(path)
    if path.suffix not in SUFFIXES:
        raise ValueError(f"{path}: the name of a film ends in {' or '.join(SUFFIXES)}")
    if len({frame.shape for frame in frames}) != 1:
        raise ValueError("a film needs pictures, all of one size")
    try:
        from moviepy import ImageSequenceClip
    except ImportError:
        raise ImportError("films need moviepy: pip install 'chinese_ten_env[render]'") from None
    shown = [*frames, *[frames[-1]] * round(_LAST * fps)]
    clip = ImageSequenceClip(shown, fps=fps)
    with whole(path) as unfinished:
        if path.suffix == ".gif":
            clip.write_gif(str(unfinished), fps=fps, logger=None)
        else:
            clip.write_videofile(str(unfinished), codec="libx264", audio=False, logger=None)
