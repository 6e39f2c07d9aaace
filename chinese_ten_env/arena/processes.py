"""Jobs in processes beside this one."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Hashable, Iterable
from concurrent.futures import FIRST_COMPLETED, Future, wait
from functools import cache
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from chinese_ten_env.arena.lineup import Lineup, too_late
from chinese_ten_env.arena.trace import Trace, last_question
from chinese_ten_env.arena.workers import TRIES, Died, Done, Field, Job, died_error, do_job


class Processes:
    """A crew of processes on this machine, by pebble. ImportError names the extra it needs."""

    def __init__(self, field: Field, workers: int) -> None:
        pebble = _require_pebble()
        import cloudpickle

        self.field = field
        self.at_once = 2 * workers  # one more each than it can do, so that none waits for the next
        self._expired = pebble.ProcessExpired
        self._traces = TemporaryDirectory(prefix="chinese-ten-")
        # Processes that begin anew: a fork would take threads of numba and torch with it, half
        # alive. Policies may be functions of a notebook, which pickle alone cannot send.
        self._pool = pebble.ProcessPool(
            workers,
            context=get_context("spawn"),
            initializer=_begin,
            initargs=(cloudpickle.dumps(field), self._traces.name),
        )

    def give(self, job: Job, tries: int) -> Hashable:
        """Schedule a job and return its future."""
        future: Future[Done] = self._pool.schedule(_do_job, args=(job,))
        return future

    def wait(self, given: Iterable[Any]) -> Iterable[Any]:
        """Return the futures that are done, at least one."""
        return wait(given, return_when=FIRST_COMPLETED).done

    def take(self, given: Any, job: Job) -> Done:
        """Return a future's result; Died if the process died."""
        try:
            done: Done = given.result()
        except self._expired as error:
            raise self._accuse(error, job) from error
        return done

    def close(self) -> None:
        """Stop the processes."""
        self._pool.stop()
        self._pool.join()
        self._traces.cleanup()

    def _accuse(self, error: Any, job: Job) -> Died:
        """Return what is known of a death: the question that was being answered is to blame."""
        question = last_question(Path(self._traces.name, str(error.pid)))
        how = f"{error}, exit status {error.exitcode}"
        if question is None:
            return Died(how)
        name = self.field.names_of(job.lineup)[question.policy]
        limit = self.field.limit
        is_late = limit is not None and time.monotonic() - question.asked > limit
        what = too_late(limit) if is_late else f"ended the process that asked it, {TRIES} times"
        if not is_late:
            what += f": {how}"
        return Died(how, died_error(name, what, job, question.decision), is_certain=is_late)


def _require_pebble() -> Any:
    try:
        import pebble
    except ImportError:
        raise ImportError(
            "several processes need pebble: pip install 'chinese_ten_env[arena]', or play with "
            "workers=0"
        ) from None
    return pebble


# --- in such a process ----------------------------------------------------------------------


_lineup_of: Any = None
"""What returns the lineup of a number."""


def _begin(packed: bytes, traces: str) -> None:
    """Make a process ready: it plays on one core, and leaves Ctrl-C to the one that started it."""
    import cloudpickle

    global _lineup_of
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for library in ("OMP", "MKL", "OPENBLAS"):
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")
    field: Field = cloudpickle.loads(packed)
    trace = Trace(Path(traces, str(os.getpid())), field.limit)

    def lineup(number: int) -> Lineup:
        made = field.lineup(number)
        made.trace = trace
        return made

    _lineup_of = cache(lineup)


def _do_job(job: Job) -> Done:
    return do_job(_lineup_of(job.lineup), job)
