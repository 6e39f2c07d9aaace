"""Whoever plays the parts, the outcome is the same; a process that dies loses nothing."""

from __future__ import annotations

import ctypes
import os
import signal
import time
from collections.abc import Generator, Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

import chinese_ten_env as ct
from chinese_ten_env.arena.processes import Processes
from chinese_ten_env.arena.workers import Done, Field, Job, Part, do_here, do_with
from chinese_ten_env.engine import Games

RULES = ct.make_rules("mainland", 2)
JOBS = [Part(number, start, start + 16) for start in range(0, 64, 16) for number in range(3)]


def field(*policies: Any, limit: float | None = None) -> Field:
    """Return a field of three policies, in pairs."""
    names = tuple(ct.policies.policy_name(policy) for policy in policies)
    return Field(RULES, 7, policies, names, ((0, 1), (0, 2), (1, 2)), limit)


def in_processes(who: Field, jobs: Iterable[Job], workers: int) -> Generator[Done, None, None]:
    """Do jobs in so many processes."""
    with closing(Processes(who, workers)) as crew:
        yield from do_with(crew, who, jobs)


def by_job(done: list[Done]) -> dict[Job, Done]:
    """Return what is done by job; each job must be there once."""
    found = {one.job: one for one in done}
    assert len(found) == len(done)
    return found


class DiesOnce:
    """Plays at random, but its process dies when it is first asked about some deal."""

    def __init__(self, marker: Path) -> None:
        self.marker, self.name = marker, "dies once"

    def __call__(self, views: Games, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        try:
            self.marker.touch(exist_ok=False)
        except FileExistsError:
            return np.asarray(ct.make_policy("random")(views, rng))
        os.kill(os.getpid(), signal.SIGKILL)
        raise AssertionError("killed")


def test_processes_bring_out_what_this_one_does_though_one_of_them_is_killed(
    tmp_path: Path,
) -> None:
    marker = tmp_path / "died"
    marker.touch()
    who = field("greedy", "pimc:2", DiesOnce(marker))
    here = by_job(list(do_here(who, JOBS)))
    marker.unlink()
    there = by_job(list(in_processes(who, JOBS, 2)))
    assert marker.exists()
    assert set(here) == set(there) == set(JOBS)
    for job, done in here.items():
        assert done.outcome is not None
        other = there[job].outcome
        assert other is not None
        assert np.array_equal(done.outcome.scores, other.scores)


def test_failures_are_named_and_the_rest_goes_on() -> None:
    def fails(views: Games, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        if (views["turn"] == 5).any():
            raise RuntimeError("five is too much")
        return np.asarray(ct.action_masks(views).argmax(axis=1))

    def deadly(views: Games, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        os._exit(3)

    done = by_job(list(in_processes(field("greedy", fails, deadly), JOBS[:6], 2)))
    assert set(done) == set(JOBS[:6])
    for job, one in done.items():
        assert one.outcome is None
        if job.lineup == 0:
            assert "policy 'fails' raised RuntimeError: five is too much" in str(one.error)
            assert one.error is not None
            assert one.error.deal is not None
            assert job.start <= one.error.deal < job.stop
        else:
            assert one.error is not None
            assert one.error.policy == "deadly"
            assert "ended the process that asked it, 3 times" in str(one.error)
            assert "exit status 3" in str(one.error)
            decision = one.error.decision
            place = f"decision {decision} of one of the deals {job.start} to {job.stop - 1}"
            assert place in str(one.error)


def test_jobs_are_taken_as_they_are_needed() -> None:
    taken: list[Job] = []

    def jobs() -> Any:
        for job in JOBS:
            taken.append(job)
            yield job

    rest = in_processes(field("greedy", "random", "greedy"), jobs(), workers=1)
    next(rest)
    assert len(taken) <= 3
    rest.close()


def test_a_call_that_lets_nothing_else_run_ends_with_its_process() -> None:
    def hangs(views: Games, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        if (views["turn"] == 5).any():
            # A call of C that holds Python's lock: no other thread of the process gets to run.
            ctypes.PyDLL(None).sleep(600)
        return np.asarray(ct.action_masks(views).argmax(axis=1))

    who = field("greedy", hangs, "random", limit=0.5)
    began = time.monotonic()
    done = by_job(list(in_processes(who, [JOBS[0], JOBS[1]], 2)))
    assert time.monotonic() - began < 300  # the call would take 600
    error = done[JOBS[0]].error
    assert error is not None
    assert error.policy == "hangs"
    assert error.decision in (5, 6)  # a decision may be between two cards of a turn
    assert "took longer than the limit of 0.5 s for an answer" in str(error)
    assert done[JOBS[1]].outcome is not None
