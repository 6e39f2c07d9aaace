"""Playing the parts of lineups: in this process, or in others beside it.

Whoever plays a part, what comes out is the same; so a part whose process died is played again.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Generator, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from dataclasses import dataclass
from functools import cache
from multiprocessing import get_context
from typing import Any, NamedTuple

from chinese_ten_env.arena.lineup import Lineup, Outcome
from chinese_ten_env.policies import PolicyError
from chinese_ten_env.rules import Rules

TRIES = 3
"""How often a part is given to a process, if the processes die of it."""


class Job(NamedTuple):
    """A part of a lineup to play: deals from `start` to `stop`."""

    lineup: int
    start: int
    stop: int


class Done(NamedTuple):
    """A job that has been done, with what came out or with what went wrong."""

    job: Job
    outcome: Outcome | None
    error: PolicyError | None


@dataclass(frozen=True)
class Field:
    """All that is needed to play any part: who takes part, who sits with whom, and the deals."""

    rules: Rules
    seed: int
    policies: tuple[Any, ...]
    names: tuple[str, ...]
    lineups: tuple[tuple[int, ...], ...]
    """Numbers of the policies that share a table."""
    limit: float | None = None
    """Seconds that a policy may take for an answer."""

    def lineup(self, number: int) -> Lineup:
        """Return a lineup, ready to play; ValueError for a policy that there is not."""
        members = self.lineups[number]
        policies = [self.policies[member] for member in members]
        names = [self.names[member] for member in members]
        return Lineup(policies, self.rules, self.seed, names, self.limit)

    def names_of(self, number: int) -> tuple[str, ...]:
        """Return the names of the policies of a lineup."""
        return tuple(self.names[member] for member in self.lineups[number])


def _play(lineup: Lineup, job: Job) -> Done:
    try:
        return Done(job, lineup.play(job.start, job.stop), None)
    except PolicyError as error:
        return Done(job, None, error)


def play_here(field: Field, jobs: Iterable[Job]) -> Iterator[Done]:
    """Do jobs in this process, in their order."""
    lineups = cache(field.lineup)
    for job in jobs:
        yield _play(lineups(job.lineup), job)


# --- processes ------------------------------------------------------------------------------


def play_in_processes(
    field: Field, jobs: Iterable[Job], workers: int
) -> Generator[Done, None, None]:
    """Do jobs in so many processes, and yield each when it is done; jobs are taken as needed.

    A job whose process dies is given to another one; if that happens three times, it is done with
    an error. ImportError names the extra that it needs.
    """
    pebble = _require_pebble()
    import cloudpickle

    # Processes that begin anew: a fork would take threads of numba and torch with it, half alive.
    # Policies may be functions of a notebook, which pickle alone cannot send.
    packed = cloudpickle.dumps(field)
    pool = pebble.ProcessPool(
        workers, context=get_context("spawn"), initializer=_begin, initargs=(packed,)
    )
    running: dict[Future[Done], tuple[Job, int]] = {}

    def give(job: Job, tried: int) -> None:
        running[pool.schedule(_play_job, args=(job,))] = (job, tried + 1)

    jobs = iter(jobs)
    try:
        while True:
            # One more each than they can do, so that none waits for the next.
            while len(running) < 2 * workers and (job := next(jobs, None)) is not None:
                give(job, 0)
            if not running:
                break
            finished, _ = wait(running, return_when=FIRST_COMPLETED)
            for future in finished:
                job, tried = running.pop(future)
                try:
                    done = future.result()
                except pebble.ProcessExpired as error:
                    if tried < TRIES:
                        give(job, tried)
                        continue
                    done = Done(job, None, _fatal(field, job, error))
                yield done
    finally:
        pool.stop()
        pool.join()


def _require_pebble() -> Any:
    try:
        import pebble
    except ImportError:
        raise ImportError(
            "several processes need pebble: pip install 'chinese_ten_env[arena]', or play with "
            "workers=0"
        ) from None
    return pebble


def _fatal(field: Field, job: Job, error: Exception) -> PolicyError:
    """Return the error for a job of which processes die."""
    names = " or ".join(field.names_of(job.lineup))
    fatal = PolicyError(names, f"ended the process that asked it, {TRIES} times: {error}")
    fatal.where = f"one of the deals {job.start} to {job.stop - 1}"
    return fatal


_lineup_of: Any = None
"""In a process that plays: what returns the lineup of a number."""


def _begin(packed: bytes) -> None:
    """Make a process ready: it plays on one core, and leaves Ctrl-C to the one that started it."""
    import cloudpickle

    global _lineup_of
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    for library in ("OMP", "MKL", "OPENBLAS"):
        os.environ.setdefault(f"{library}_NUM_THREADS", "1")
    field: Field = cloudpickle.loads(packed)
    _lineup_of = cache(field.lineup)


def _play_job(job: Job) -> Done:
    return _play(_lineup_of(job.lineup), job)
