"""A window that shows boards, by pygame-ce (extra ``render``)."""

from __future__ import annotations

from typing import Any

from chinese_ten_env.render.board import Board
from chinese_ten_env.render.layout import SIZE
from chinese_ten_env.render.raster import load_pygame, surface_of

_open: dict[int, Window] = {}
"""The windows of this process by number, since they share one queue of events."""


class Window:
    """A window that opens when there is first something to show.

    Closed by the user or by `close`, it stays closed, and what it is given to show is not shown. A
    copy of it, as of an environment that is copied, opens a window of its own.
    """

    def __init__(self, title: str, fps: int) -> None:
        self.title, self.fps = title, fps
        self.closed = False
        self._window: Any = None
        self._clock: Any = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_window": None, "_clock": None}

    def show(self, board: Board) -> None:
        """Show a board, and wait as long as a picture is to stand at `fps` pictures a second."""
        if self._window is not None:
            _answer_events()
        if self.closed:
            return
        pygame = load_pygame()
        if self._window is None:
            pygame.display.init()
            self._window = pygame.Window(self.title, SIZE)
            self._clock = pygame.time.Clock()
            _open[self._window.id] = self
        self._window.get_surface().blit(surface_of(board), (0, 0))
        self._window.flip()
        _answer_events()
        self._clock.tick(self.fps)

    def close(self) -> None:
        """Close the window for good; a second time does nothing."""
        self.closed = True
        if self._window is not None:
            _open.pop(self._window.id, None)
            self._window.destroy()
            self._window = self._clock = None


def _answer_events() -> None:
    """Close the windows that the user has closed."""
    pygame = load_pygame()
    for event in pygame.event.get():
        if event.type == pygame.QUIT:  # sent when the last window is closed
            closing = list(_open.values())
        elif event.type == pygame.WINDOWCLOSE:
            window = getattr(event, "window", None)
            closing = [_open[window.id]] if window is not None and window.id in _open else []
        else:
            continue
        for window in closing:
            window.close()
