"""Asking a policy with a time limit, and how long its answers took."""

from __future__ import annotations

import time
from collections.abc import Callable
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any

Answer = tuple[Any, BaseException | None]


class TooLate(Exception):
    """A call was not done in time; its thread may go on for ever, and is left to itself."""


class Clock:
    """Makes calls, with or without a limit of seconds for each.

    With a limit, calls are made in a thread at the side: only so can the caller go on when one
    never comes back. It stays for all of them, as a new thread would cost more than a quick answer.
    A call that does not let other threads run, as a loop in compiled code, cannot be left.
    """

    def __init__(self, limit: float | None = None) -> None:
        if limit is not None and not limit > 0:
            raise ValueError(f"limit must be a positive number of seconds, not {limit}")
        self.limit = limit
        self._calls: SimpleQueue[tuple[Callable[..., Any], tuple[Any, ...]] | None] | None = None
        self._answers: SimpleQueue[Answer] = SimpleQueue()

    def call(self, function: Callable[..., Any], *arguments: Any) -> tuple[Any, float]:
        """Return what a function returns and the seconds it took; raise what it raises, TooLate."""
        start = time.perf_counter()
        if self.limit is None:
            answer = function(*arguments)
            return answer, time.perf_counter() - start
        if self._calls is None:
            self._calls, self._answers = SimpleQueue(), SimpleQueue()
            queues = (self._calls, self._answers)
            Thread(target=_serve, args=queues, name="policy", daemon=True).start()
        self._calls.put((function, arguments))
        try:
            answer, error = self._answers.get(timeout=self.limit)
        except Empty:
            self.close()
            raise TooLate from None
        except BaseException:  # Ctrl-C: what still comes from that call answers no other one
            self.close()
            raise
        if error is not None:
            raise error
        return answer, time.perf_counter() - start

    def close(self) -> None:
        """Let the thread end, when it is done with what it does."""
        if self._calls is not None:
            self._calls.put(None)
        self._calls = None


def _serve(
    calls: SimpleQueue[tuple[Callable[..., Any], tuple[Any, ...]] | None],
    answers: SimpleQueue[Answer],
) -> None:
    while (order := calls.get()) is not None:
        function, arguments = order
        try:
            answers.put((function(*arguments), None))
        except BaseException as error:
            answers.put((None, error))
