"""Jobs in processes beside this one.

Each process has a pipe of its own, so that it is known which job is lost when one dies, and the
others go on. (The pool of the standard library ends when one of its processes does.)
"""

from __future__ import annotations

import os
import pickle
import signal
import time
import traceback
from collections import deque
from collections.abc import Hashable, Iterable
from contextlib import suppress
from functools import cache, partial
from itertools import count
from multiprocessing import get_context
from multiprocessing.connection import Connection, wait
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from chinese_ten_env.arena.lineup import too_late
from chinese_ten_env.arena.trace import Trace, last_question
from chinese_ten_env.arena.workers import TRIES, Died, Done, Field, Job, died_error, do_job

_AHEAD = 2
"""Jobs that a process is given: one more than it can do, so that it need not wait for the next."""


class Processes:
    """A crew of so many processes on this machine. ImportError names the extra that it needs."""

    def __init__(self, field: Field, workers: int) -> None:
        cloudpickle = _require_cloudpickle()
        self.field = field
        self.at_once = _AHEAD * workers
        self._traces = TemporaryDirectory(prefix="chinese-ten-")
        # Policies may be functions of a notebook, which pickle alone cannot send.
        self._packed = cloudpickle.dumps(field)
        self._numbers = count()
        self._waiting: deque[tuple[int, Job]] = deque()
        self._ended: dict[int, Done | BaseException] = {}
        self._workers = [self._start() for _ in range(workers)]

    def give(self, job: Job, tries: int) -> Hashable:
        """Have a job done by the next process that is free, and return its number."""
        number = next(self._numbers)
        self._waiting.append((number, job))
        self._hand_out()
        return number

    def wait(self, given: Iterable[Any]) -> Iterable[Any]:
        """Return the numbers of jobs that have ended, at least one."""
        while not self._ended:
            ready = wait([worker.pipe for worker in self._workers])
            for place, worker in enumerate(self._workers):
                if worker.pipe not in ready:
                    continue
                try:
                    ended = worker.pipe.recv()
                except (EOFError, OSError):
                    self._bury(worker)
                    self._workers[place] = self._start()
                else:
                    number, _ = worker.jobs.popleft()
                    self._ended[number] = ended
            self._hand_out()
        return list(self._ended)

    def take(self, given: Any, job: Job) -> Done:
        """Return what came out of a job; Died if its process died."""
        ended = self._ended.pop(given)
        if isinstance(ended, BaseException):
            raise ended
        return ended

    def close(self) -> None:
        """End the processes, whatever they do."""
        for worker in self._workers:
            worker.process.kill()
        for worker in self._workers:
            worker.process.join()
            worker.pipe.close()
        self._traces.cleanup()

    def _start(self) -> _Worker:
        """Start a process that begins anew.

        A fork would take threads of numba and torch with it, half alive.
        """
        context = get_context("spawn")
        ours, theirs = context.Pipe()
        process = context.Process(
            target=_serve, args=(theirs, self._packed, self._traces.name), daemon=True
        )
        process.start()
        theirs.close()  # so that the pipe ends with the process
        return _Worker(process, ours)

    def _hand_out(self) -> None:
        """Give the jobs that wait to the processes that have fewest."""
        while self._waiting:
            worker = min(self._workers, key=lambda worker: len(worker.jobs))
            if len(worker.jobs) == _AHEAD:
                return
            worker.jobs.append(self._waiting.popleft())
            # If it is dead, `wait` will see it.
            with suppress(OSError):
                worker.pipe.send(worker.jobs[-1][1])

    def _bury(self, worker: _Worker) -> None:
        """Take note of a death; what the process had not begun is left to others."""
        worker.process.join()
        worker.pipe.close()
        if worker.jobs:
            number, job = worker.jobs.popleft()
            self._ended[number] = self._accuse(worker.process, job)
            self._waiting.extendleft(reversed(worker.jobs))

    def _accuse(self, process: Any, job: Job) -> Died:
        """Return what is known of a death: the question that was being answered is to blame."""
        question = last_question(Path(self._traces.name, str(process.pid)))
        how = f"exit status {process.exitcode}"
        if question is None:
            return Died(how)
        name = self.field.names_of(job.lineup)[question.policy]
        limit = self.field.limit
        is_late = limit is not None and time.monotonic() - question.asked > limit
        what = too_late(limit) if is_late else f"ended the process that asked it, {TRIES} times"
        if not is_late:
            what += f": {how}"
        return Died(how, died_error(name, what, job, question.decision), is_certain=is_late)


class _Worker:
    """A process, our end of its pipe, and the jobs that it has, numbered; it does the first."""

    def __init__(self, process: Any, pipe: Connection[Any, Any]) -> None:
        self.process, self.pipe = process, pipe
        self.jobs: deque[tuple[int, Job]] = deque()


def _require_cloudpickle() -> Any:
    try:
        import cloudpickle
    except ImportError:
        raise ImportError(
            "several processes need cloudpickle: pip install 'chinese_ten_env[arena]', or play "
            "with workers=0"
        ) from None
    return cloudpickle


# --- in such a process ----------------------------------------------------------------------


def _serve(pipe: Connection[Any, Any], packed: bytes, traces: str) -> None:
    """Do jobs until the other end of the pipe is closed, be it that its process died."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the one that started this one
    for library in ("OMP", "MKL", "OPENBLAS"):  # each process plays on one core
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")
    lineup_of = None
    while True:
        try:
            job = pipe.recv()
        except EOFError:
            return
        ended: Any
        try:
            if lineup_of is None:
                lineup_of = _lineups(packed, Path(traces, str(os.getpid())))
            ended = do_job(lineup_of(job.lineup), job)
        except Exception as error:
            ended = _sendable(error)
        try:
            pipe.send(ended)
        except BrokenPipeError:
            return


def _lineups(packed: bytes, path: Path) -> Any:
    """Return what returns the lineup of a number."""
    field: Field = pickle.loads(packed)
    return cache(partial(field.lineup, trace=Trace(path, field.limit)))


def _sendable(error: Exception) -> Exception:
    """Return an error that can be sent, with a note of where it was raised."""
    error.add_note("".join(traceback.format_exception(error)))
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:  # some cannot be made again from what they say
        return RuntimeError("\n".join(error.__notes__))
    return error
