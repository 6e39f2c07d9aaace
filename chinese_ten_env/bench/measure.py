"""Side-by-side measuring: cases whose repeats alternate, and the ratios between them."""

from __future__ import annotations

import gc
import statistics
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path

Sample = Callable[[float], tuple[float, ...]]
"""Measures for about so many seconds and returns a value for each figure of its case."""


class LeftOut(Exception):
    """Why a case cannot be measured here."""


@dataclass(frozen=True)
class Settings:
    """How long, how often and with what to measure."""

    seconds: float
    """of each repeat of a case that measures decisions a second"""
    repeats: int
    threads: int
    """the cores that this process may use"""
    limit: Path | None = None
    """the compiled yardstick, where one was given"""


@dataclass(frozen=True)
class Figure:
    """A measured number."""

    key: str
    what: str
    unit: str = "/s"


@dataclass(frozen=True)
class Ratio:
    """A figure of this case divided, repeat by repeat, by one of the same group."""

    key: str
    over: str
    words: str
    """what it is a multiple of, for the table"""
    weight: float = 1.0
    """times this, as where a decision of one means more work than one of the other"""


@dataclass(frozen=True)
class Case:
    """Something to measure; cases of the same group are measured in turn, repeat by repeat."""

    group: str
    figures: tuple[Figure, ...]
    prepare: Callable[[Settings], AbstractContextManager[Sample]]
    ratios: tuple[Ratio, ...] = ()
    """of the first figure"""
    facts: dict[str, int] = field(default_factory=dict)
    """constants that belong to the figures"""
    most_repeats: int = 1000

    @property
    def keys(self) -> tuple[str, ...]:
        """The names of all that the case yields."""
        figures = (figure.key for figure in self.figures)
        return (*figures, *(ratio.key for ratio in self.ratios), *self.facts)


@dataclass
class Results:
    """What was measured: medians by key, and for what is missing the reason."""

    values: dict[str, float] = field(default_factory=dict)
    spreads: dict[str, tuple[float, float]] = field(default_factory=dict)
    """the least and the most of the repeats, by key"""
    left_out: dict[str, str] = field(default_factory=dict)
    failed: bool = False
    interrupted: bool = False

    def take(self, key: str, repeats: Sequence[float]) -> None:
        """Keep the median and the spread of the repeats of a figure or ratio."""
        self.values[key] = statistics.median(repeats)
        self.spreads[key] = min(repeats), max(repeats)


def select(cases: Sequence[Case], names: Iterable[str]) -> list[Case]:
    """Return the cases of the groups and keys named, with those that their ratios need."""
    wanted = set(names)
    for case in cases:
        wanted |= {ratio.over for ratio in case.ratios if ratio.key in wanted}
    return [case for case in cases if case.group in wanted or wanted.intersection(case.keys)]


def measure(
    cases: Sequence[Case], settings: Settings, tell: Callable[[str], None] = lambda line: None
) -> Results:
    """Measure all cases, group after group; a KeyboardInterrupt ends it with what there is."""
    results = Results()
    for group, members in groupby(cases, key=lambda case: case.group):
        together = list(members)
        repeats: dict[str, list[float]] = {}
        if not results.interrupted:
            names = ", ".join(case.figures[0].key for case in together)
            tell(f"{group}: {names}")
            try:
                with ExitStack() as stack:
                    _measure_group(together, settings, stack, repeats, results)
            except KeyboardInterrupt:
                results.interrupted = True
        _summarise(together, repeats, results)
    return results


def _measure_group(
    cases: Sequence[Case],
    settings: Settings,
    stack: ExitStack,
    repeats: dict[str, list[float]],
    results: Results,
) -> None:
    # Other libraries' warnings are about other libraries.
    stack.enter_context(warnings.catch_warnings())
    warnings.simplefilter("ignore")
    samples: list[tuple[Case, Sample]] = []
    for case in cases:
        try:
            samples.append((case, stack.enter_context(case.prepare(settings))))
        except Exception as error:
            _leave_out(case, error, results)
    for repeat in range(settings.repeats):
        for case, sample in samples:
            if repeat >= case.most_repeats or case.figures[0].key in results.left_out:
                continue
            gc.collect()
            try:
                values = sample(settings.seconds)
            except Exception as error:
                _leave_out(case, error, results)
                continue
            for figure, value in zip(case.figures, values, strict=True):
                repeats.setdefault(figure.key, []).append(value)


def _leave_out(case: Case, error: Exception, results: Results) -> None:
    expected = isinstance(error, (LeftOut, ImportError))
    results.failed |= not expected
    reason = str(error) if expected else f"failed: {type(error).__name__}: {error}"
    results.left_out |= dict.fromkeys(case.keys, " ".join(reason.split()))


def _summarise(cases: Sequence[Case], repeats: dict[str, list[float]], results: Results) -> None:
    """Take the medians; a case that failed half-way counts as not measured."""
    for case in cases:
        for figure in case.figures:
            if figure.key in results.left_out:
                continue
            if figure.key in repeats:
                results.take(figure.key, repeats[figure.key])
                results.values |= case.facts
            else:
                results.left_out |= dict.fromkeys(case.keys, "interrupted")
    for case in cases:
        for ratio in case.ratios:
            above, below = case.figures[0].key, ratio.over
            if above in results.values and below in results.values:
                # An interrupted round leaves one list a repeat longer than the other.
                pairs = zip(repeats[above], repeats[below], strict=False)
                each = [first / second * ratio.weight for first, second in pairs]
                results.take(ratio.key, each)
            elif ratio.key not in results.left_out:
                reason = results.left_out.get(below, "not asked for")
                results.left_out[ratio.key] = f"no {below}: {reason}"


def repeat_for(seconds: float, chunk: Callable[[], int]) -> tuple[int, int, float]:
    """Call `chunk` for so many seconds; return the calls, the sum of its answers, and the time."""
    calls = total = 0
    start = time.perf_counter()
    while True:
        total += chunk()
        calls += 1
        elapsed = time.perf_counter() - start
        if elapsed >= seconds:
            return calls, total, elapsed


def rate(chunk: Callable[[], int]) -> Sample:
    """Return the sample of a chunk that returns how many decisions it made; runs it once before."""
    chunk()

    def sample(seconds: float) -> tuple[float]:
        _, total, elapsed = repeat_for(seconds, chunk)
        return (total / elapsed,)

    return sample
