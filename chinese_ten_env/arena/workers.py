"""Doing the jobs of an arena: in this process, or by a crew of others.

Whoever does a job, what comes out is the same; so one whose process died is done again.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple, Protocol

from chinese_ten_env.arena.fingerprint import fingerprint
from chinese_ten_env.arena.lineup import Lineup
from chinese_ten_env.arena.trace import Trace
from chinese_ten_env.policies import PolicyError
from chinese_ten_env.rules import Rules

TRIES = 3
"""How often a job is given to a process, if the processes die of it."""


class Job(Protocol):
    """Something to do with a lineup, whose result depends on nothing else."""

    @property
    def lineup(self) -> int:
        """The number of the lineup."""

    @property
    def start(self) -> int:
        """The first deal that is looked at."""

    @property
    def stop(self) -> int:
        """Behind the last deal that is looked at."""

    def do(self, lineup: Lineup) -> Any:
        """Return what comes out; PolicyError if a policy fails."""


class Part(NamedTuple):
    """The job to play a part of a lineup: deals from `start` to `stop`."""

    lineup: int
    start: int
    stop: int

    def do(self, lineup: Lineup) -> Any:
        """Return the `Outcome`."""
        return lineup.play(self.start, self.stop)


class Done(NamedTuple):
    """A job that has been done, with what came out or with what went wrong."""

    job: Any
    outcome: Any
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

    def lineup(self, number: int, trace: Trace | None = None) -> Lineup:
        """Return a lineup, ready to play; ValueError for a policy that there is not.

        What it asks its policies is noted in the `trace`, if there is one.
        """
        members = self.lineups[number]
        policies = [self.policies[member] for member in members]
        names = [self.names[member] for member in members]
        return Lineup(policies, self.rules, self.seed, names, self.limit, trace)

    def names_of(self, number: int) -> tuple[str, ...]:
        """Return the names of the policies of a lineup."""
        return tuple(self.names[member] for member in self.lineups[number])

    def fingerprints(self) -> dict[str, str]:
        """Return for each policy's name what tells whether another one bears it elsewhere."""
        return {
            name: fingerprint(policy, self.rules)
            for name, policy in zip(self.names, self.policies, strict=True)
        }


def do_job(lineup: Lineup, job: Job) -> Done:
    """Do a job, and catch the failure of a policy."""
    try:
        return Done(job, job.do(lineup), None)
    except PolicyError as error:
        return Done(job, None, error)


def do_here(field: Field, jobs: Iterable[Job]) -> Iterator[Done]:
    """Do jobs in this process, in their order."""
    lineups = cache(field.lineup)
    for job in jobs:
        yield do_job(lineups(job.lineup), job)


class Died(Exception):
    """The process that did a job died.

    It says how, and carries what the policy is accused of, if that is known; then it is no use to
    try again if it `is_certain`.
    """

    def __init__(self, how: str, error: PolicyError | None = None, is_certain: bool = False):
        super().__init__(how)
        self.error, self.is_certain = error, is_certain


class Crew(Protocol):
    """Processes that do jobs, here or elsewhere."""

    @property
    def at_once(self) -> int:
        """How many jobs to give them before the first is done."""

    def give(self, job: Job, tries: int) -> Hashable:
        """Have a job done that has been tried so often, and return what it goes by."""

    def wait(self, given: Iterable[Any]) -> Iterable[Any]:
        """Return those of what was given that are done, at least one."""

    def take(self, given: Any, job: Job) -> Done:
        """Return what came out of a job that is done; Died if its process died."""

    def close(self) -> None:
        """Stop all that is still being done."""


def do_with(crew: Crew, field: Field, jobs: Iterable[Job]) -> Iterator[Done]:
    """Let a crew do jobs, and yield each when it is done; jobs are taken as needed.

    A job whose process dies is given to another one; if that happens three times, it is done with
    an error.
    """
    running: dict[Hashable, tuple[Job, int]] = {}
    jobs = iter(jobs)
    while True:
        while len(running) < crew.at_once and (job := next(jobs, None)) is not None:
            running[crew.give(job, 0)] = (job, 1)
        if not running:
            return
        for given in crew.wait(running):
            job, tried = running.pop(given)
            try:
                done = crew.take(given, job)
            except Died as death:
                if tried < TRIES and not death.is_certain:
                    running[crew.give(job, tried)] = (job, tried + 1)
                    continue
                done = Done(job, None, _fatal(field, job, death))
            yield done


def _fatal(field: Field, job: Job, death: Died) -> PolicyError:
    """Return the error for a job of which processes die."""
    if death.error is not None:
        return death.error
    names = " or ".join(field.names_of(job.lineup))
    return died_error(names, f"ended the process that asked it, {TRIES} times: {death}", job)


def died_error(policy: str, what: str, job: Job, decision: int | None = None) -> PolicyError:
    """Return an error of a policy that left no more behind than the job that was being done."""
    error = PolicyError(policy, what)
    place = f"one of the deals {job.start} to {job.stop - 1}"
    error.where = place if decision is None else f"decision {decision} of {place}"
    error.decision = decision
    return error
