"""Threads that share out the games of a batch."""

from __future__ import annotations

import os
from collections.abc import Callable
from queue import SimpleQueue
from threading import Thread
from typing import Any
from weakref import finalize

import numpy as np

Kernel = Callable[..., None]
Outcome = BaseException | None
Order = tuple[Kernel, tuple[Any, ...], "SimpleQueue[Outcome]"]


class Crew:
    """The calling thread and, where there is enough to do, others at its side.

    `scratch()` makes the arrays that each thread has for itself. Threads start when first needed,
    and again after a fork or a copy, neither of which takes them along.

    They wait at a plain queue: an executor and its futures cost a twentieth of a step of 16,384
    games.
    """

    def __init__(self, size: int, scratch: Callable[[], Any]) -> None:
        if isinstance(size, bool) or not isinstance(size, int) or size < 1:
            raise ValueError(f"num_threads must be a positive integer, not {size!r}")
        self.scratch = [scratch() for _ in range(size)]
        self._orders: SimpleQueue[Order | None] | None = None
        self._process = 0
        self._end: Callable[[], Any] | None = None

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_orders": None, "_end": None}

    def run(self, kernel: Kernel, blocks: int, *arguments: Any) -> None:
        """Run a kernel that claims its blocks until none is left, once in each thread."""
        cursor = np.zeros(1, dtype=np.int64)
        helpers = self.scratch[1 : max(blocks, 1)]
        done: SimpleQueue[Outcome] = SimpleQueue()
        if helpers:
            orders = self._waiting_threads()
            for scratch in helpers:
                orders.put((kernel, (*arguments, scratch, cursor), done))
        try:
            kernel(*arguments, self.scratch[0], cursor)
        finally:
            outcomes = [done.get() for _ in helpers]
        for error in outcomes:
            if error is not None:
                raise error

    def _waiting_threads(self) -> SimpleQueue[Order | None]:
        """Return the queue at which the threads wait for orders."""
        if self._orders is None or self._process != os.getpid():
            count = len(self.scratch) - 1
            orders: SimpleQueue[Order | None] = SimpleQueue()
            for number in range(count):
                name = f"chinese_ten_env-{number}"
                Thread(target=_serve, args=(orders,), name=name, daemon=True).start()
            self._orders, self._process = orders, os.getpid()
            self._end = finalize(self, _dismiss, orders, count)
        return self._orders

    def close(self) -> None:
        """Stop the threads."""
        if self._end is not None:
            self._end()
        self._orders = self._end = None


def _serve(orders: SimpleQueue[Order | None]) -> None:
    while (order := orders.get()) is not None:
        kernel, arguments, done = order
        try:
            kernel(*arguments)
        except BaseException as error:
            done.put(error)  # the caller raises it
        else:
            done.put(None)
        del order, kernel, arguments, done  # a waiting thread keeps no environment alive


def _dismiss(orders: SimpleQueue[Order | None], count: int) -> None:
    for _ in range(count):
        orders.put(None)
