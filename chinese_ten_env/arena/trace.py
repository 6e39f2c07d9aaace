"""What a process asks of whom just now, kept where it can be read when the process is dead."""

from __future__ import annotations

import faulthandler
import mmap
import os
import struct
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

_RECORD = struct.Struct("<qqd")
_GRACE = 1.0
"""Seconds beyond the limit after which only the end of the process helps."""


class Question(NamedTuple):
    """A policy, by its number in the lineup, the decision and when it was asked for it."""

    policy: int
    decision: int
    asked: float
    """By the clock of `time.monotonic`, which the processes of a machine share."""


class Trace:
    """Notes each question to a policy before it is asked, in a file if there is a `path`.

    With a `limit` of seconds it ends the process that is not done a second after it. This works
    without Python, so also for a call that lets no other thread run, as a loop in compiled code.
    """

    def __init__(self, path: Path | None, limit: float | None = None) -> None:
        self.limit = limit
        if path is None:
            self._memory = mmap.mmap(-1, _RECORD.size)
        else:
            path.write_bytes(bytes(_RECORD.size))
            with path.open("r+b") as file:
                self._memory = mmap.mmap(file.fileno(), _RECORD.size)
        # The stacks of a process that is ended go nowhere: they say less than the question.
        self._nowhere = open(os.devnull, "w")  # noqa: SIM115  # open as long as the process lives

    @contextmanager
    def asking(self, policy: int, decision: int) -> Iterator[None]:
        """Note a question for as long as it is being answered."""
        _RECORD.pack_into(self._memory, 0, policy + 1, decision, time.monotonic())
        if self.limit is not None:
            faulthandler.dump_traceback_later(self.limit + _GRACE, file=self._nowhere, exit=True)
        try:
            yield
        finally:
            if self.limit is not None:
                faulthandler.cancel_dump_traceback_later()
            _RECORD.pack_into(self._memory, 0, 0, 0, 0.0)


def last_question(path: Path) -> Question | None:
    """Return the question that a process had not been answered; None if there was none."""
    try:
        number, decision, asked = _RECORD.unpack(path.read_bytes())
    except (FileNotFoundError, struct.error):  # it died before it was ready
        return None
    return Question(number - 1, decision, asked) if number else None
