"""Cross-play: many policies, every combination of them, the same decks for all.

With two players each plays each. With more, each pair of policies meets in every mixture of both at
a table, and then tables of different policies, one for each seat, in every combination. Each lineup
plays each deck in all its seatings.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import cache
from itertools import combinations
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import numpy.typing as npt

import chinese_ten_env
from chinese_ten_env.arena.call import call_text
from chinese_ten_env.arena.crews import PROCESSES, crew_of
from chinese_ten_env.arena.curves import is_run
from chinese_ten_env.arena.duplicate import WIN, check_count, choose_rules, scaled_nets, win_shares
from chinese_ten_env.arena.export import require_pyarrow, write_games, write_regrets
from chinese_ten_env.arena.journal import Journal
from chinese_ten_env.arena.lineup import MOST_DEALS, Outcome, distinct_names, parts_of, seatings
from chinese_ten_env.arena.regret import (
    Judging,
    Regrets,
    RegretScore,
    check_judged,
    judgings,
    score_regrets,
)
from chinese_ten_env.arena.report import require_extra, write_report
from chinese_ten_env.arena.statistics import Moments
from chinese_ten_env.arena.workers import Crew, Field, Job, Part, do_here, do_with
from chinese_ten_env.files import write_whole
from chinese_ten_env.rules import SWITCHES, Rules, make_rules


def all_lineups(num_policies: int, num_players: int) -> tuple[tuple[int, ...], ...]:
    """Return the lineups of so many policies: pairs, then tables with as many as there are seats.

    With more than two players and fewer policies than seats, the last is the table of all.
    """
    sizes = sorted({2, min(num_players, num_policies)})
    return tuple(lineup for size in sizes for lineup in combinations(range(num_policies), size))


# --- what came out --------------------------------------------------------------------------


@dataclass(frozen=True)
class LineupScore:
    """How the K policies of a lineup did, over all its deals, seatings and P seats."""

    names: tuple[str, ...]
    net: Moments
    """Of each policy's net points a deal, the mean over its seatings and seats, K numbers."""
    win_rate: npt.NDArray[np.float64]
    """[K] the share of games that it won in a seat of its own, ties shared."""
    tie_rate: npt.NDArray[np.float64]
    """[K] the share of games in which a seat of its own was one of several that were best."""
    by_seat: npt.NDArray[np.float64]
    """[K, P] each policy's mean net points in each seat, whoever deals."""
    seconds: npt.NDArray[np.float64]
    """[K] the mean time of a decision."""
    first: npt.NDArray[np.float64]
    """[D, S, K] each policy's mean net points over its seats in the S seatings of the first deals,
    as many as make some `SAMPLE` games of all lineups together."""


@dataclass(frozen=True, eq=False)  # its arrays cannot be compared as a whole
class CrossPlay:
    """How policies did in cross-play."""

    rules: Rules
    seed: int
    deals: int
    """Different decks; in match play, matches."""
    names: tuple[str, ...]
    """Of the N policies."""
    lineups: tuple[LineupScore, ...]
    """Those of which all deals were played."""
    net: Moments
    """Of each policy's net points a deal, the mean over its lineups, N numbers; without those that
    failed."""
    ranked: tuple[str, ...]
    """The names of these N."""
    failures: tuple[dict[str, Any], ...]
    """What went wrong: lineup, start, stop, policy, message, deal and decision."""
    regrets: tuple[RegretScore, ...] = ()
    """What the decisions of each policy cost in those deals that were judged."""

    def to_dict(self) -> dict[str, Any]:
        """Return all but times as plain values, ready for JSON; intervals of one deal are None."""
        return {
            "schema": SUMMARY_SCHEMA,
            "variant": self.rules.variant,
            "num_players": self.rules.num_players,
            "switches": {name: getattr(self.rules, name) for name in SWITCHES},
            "seed": self.seed,
            "deals": self.deals,
            "version": chinese_ten_env.__version__,
            "policies": list(self.names),
            "ranking": _nets(self.ranked, self.net),
            "lineups": [
                {
                    "policies": _nets(score.names, score.net),
                    "win_rate": score.win_rate.tolist(),
                    "tie_rate": score.tie_rate.tolist(),
                    "by_seat": score.by_seat.tolist(),
                }
                for score in self.lineups
            ],
            "regrets": [score.to_dict() for score in self.regrets],
            "failures": list(self.failures),
        }


SUMMARY_SCHEMA = 1
"""The version of what `to_dict` returns."""


def _nets(names: tuple[str, ...], net: Moments) -> list[dict[str, Any]]:
    rows = zip(names, net.mean.tolist(), net.half_widths.tolist(), strict=True)
    return [
        {"policy": name, "net": mean, "half_width": None if math.isnan(half) else half}
        for name, mean, half in rows
    ]


SAMPLE = 5000
"""Games that are kept one by one."""


class _Tally:
    """Adds up what a lineup brings, and keeps its first so many deals."""

    def __init__(self, field: Field, number: int, first: int) -> None:
        self.names, self.rules = field.names_of(number), field.rules
        count = len(self.names)
        seats = seatings(count, self.rules.num_players)
        self.mine = [seats == index for index in range(count)]
        self.of_each = int(self.mine[0].sum())
        self.first = np.empty((first, len(seats), count))
        self.net = Moments(count)
        self.games = 0
        self.wins, self.ties = np.zeros(count, np.int64), np.zeros(count, np.int64)
        self.decisions, self.seconds = np.zeros(count, np.int64), np.zeros(count)
        self.by_seat = np.zeros((count, seats.shape[1]), dtype=np.int64)

    def add(self, outcome: Outcome) -> npt.NDArray[np.float64]:
        """Take in a part, and return each policy's net in each deal, [D, K]."""
        nets, shares = scaled_nets(outcome, self.rules), win_shares(outcome)
        rows = np.empty((len(nets), len(self.mine)))
        for index, mine in enumerate(self.mine):
            own = np.where(mine, nets, 0)
            kept = own[: max(0, len(self.first) - self.games)]
            into = self.first[self.games : self.games + len(kept), :, index]
            into[:] = kept.sum(axis=2) / (self.rules.num_players * mine.sum(axis=1))
            rows[:, index] = own.sum(axis=(1, 2)) / (self.rules.num_players * self.of_each)
            self.by_seat[index] += own.sum(axis=(0, 1))
            won = np.where(mine, shares, 0)
            self.wins[index] += won.sum()
            self.ties[index] += ((won > 0) & (won < WIN)).sum()
        self.decisions += outcome.decisions
        self.seconds += outcome.seconds
        self.net.add(rows)
        self.games += len(nets)
        return rows

    def score(self) -> LineupScore:
        """Return the rates of what was added up."""
        own_games = max(1, self.games) * self.of_each
        seats = np.stack([mine.sum(axis=0) for mine in self.mine])
        return LineupScore(
            self.names,
            self.net,
            self.wins / (WIN * own_games),
            self.ties / own_games,
            self.by_seat / (self.rules.num_players * seats * max(1, self.games)),
            self.seconds / np.maximum(1, self.decisions),
            self.first,
        )


def add_up(field: Field, journal: Journal, plan: Plan, deals: int) -> CrossPlay:
    """Return what the first so many deals of a plan show; only parts of them are in memory."""
    failures = journal.failures()
    failed = {failure["policy"] for failure in failures}
    whole = [
        number
        for number, parts in enumerate(plan)
        if not _missing(field, journal, number, parts, deals)
    ]
    counted = [number for number in whole if not failed & set(field.names_of(number))]
    ranked = sorted({index for number in counted for index in field.lineups[number]})
    games = sum(
        len(seatings(len(field.lineups[number]), field.rules.num_players)) for number in whole
    )
    first = min(deals, math.ceil(SAMPLE / max(1, games)))
    tallies = {number: _Tally(field, number, first) for number in whole}
    net = Moments(len(ranked))
    for start in range(0, deals, MOST_DEALS):
        stop = min(start + MOST_DEALS, deals)
        rows = np.zeros((stop - start, len(field.names)))
        tables = np.zeros(len(field.names))
        for number, tally in tallies.items():
            names, seats = field.names_of(number), field.rules.num_players
            brought = [
                tally.add(journal.read(names, seats, *part))
                for part in plan[number]
                if start <= part[0] < stop
            ]
            if number in counted:
                members = list(field.lineups[number])
                rows[:, members] += np.concatenate(brought)
                tables[members] += 1
        net.add(rows[:, ranked] / tables[ranked])
    return CrossPlay(
        field.rules,
        field.seed,
        deals,
        field.names,
        tuple(tally.score() for tally in tallies.values()),
        net,
        tuple(field.names[index] for index in ranked),
        tuple(failures),
    )


def score_all(field: Field, journal: Journal, plan: Plan, deals: int) -> tuple[RegretScore, ...]:
    """Return what the decisions of each policy cost in the first so many deals of its lineups."""
    rows: dict[str, list[Regrets]] = {}
    for number, parts in enumerate(plan):
        names = field.names_of(number)
        seats = seatings(len(names), field.rules.num_players)
        for job in judgings(number, parts, deals):
            judged = journal.regrets(names, job.start, job.stop)
            if judged is not None:  # None: a policy failed
                who = seats[judged["seating"], judged["seat"]]
                for index, name in enumerate(names):
                    rows.setdefault(name, []).append(judged[who == index])
    return tuple(score_regrets(name, np.concatenate(rows[name])) for name in sorted(rows))


# --- playing --------------------------------------------------------------------------------


def cross_play(
    policies: Sequence[Any],
    variant: str = "mainland",
    num_players: int | None = None,
    deals: int = 1000,
    seed: int | np.integer[Any] = 0,
    *,
    names: Sequence[str] | None = None,
    rules: Rules | None = None,
    folder: str | Path | None = None,
    workers: int = 0,
    backend: str = PROCESSES,
    address: str | None = None,
    until: float | None = None,
    limit: float | None = None,
    regret: int = 0,
    progress: Callable[[int, int], None] | None = None,
    command: str | None = None,
    **switches: Any,
) -> CrossPlay:
    """Let every combination of policies play the same duplicate deals and return how they did.

    `policies`, `names`, `rules` and `switches` are those of `play`. In a `folder` every deal is
    kept; the same call goes on there where one was interrupted, more deals and more policies may
    be asked for, and only what is missing is played. At the end ``games.parquet``,
    ``summary.json``, ``report.html`` and ``report.md`` are written there; the reports tell the
    `command` that plays the same again, which is this call unless given. `workers` is a number of
    processes; with 0 all is played in this one. With the `backend` ``"ray"`` they are those of a
    Ray cluster, of the one at `address` or else of one on this machine, and 0 means as many as it
    has CPUs.

    With `until`, it ends before `deals` when every interval of the ranking is at most so wide.
    `limit` is how many seconds a policy may take for an answer; one that takes longer, raises an
    exception or plays an illegal card is named among the `failures`, and plays no further. `regret`
    is how many of the deals the solver judges decision by decision, which takes seconds a game:
    single deals of two players only. `progress` is called with the jobs that are finished and their
    number.

    The same arguments give the same result, whoever plays, and however often it was interrupted.
    ValueError says what is wrong with the arguments, or does not fit what is there.
    """
    rules = choose_rules(rules, variant, num_players, switches)
    labels = distinct_names(policies, names)
    if len(labels) < 2:
        raise ValueError(f"cross-play needs two policies or more, not {len(labels)}")
    check_count("deals", deals, 1)
    check_count("seed", seed, 0)
    check_count("workers", workers, 0)
    check_count("regret", regret, 0)
    if regret:
        check_judged(rules)
    make_crew = crew_of(backend, int(workers), address)
    if until is not None and not until > 0:
        raise ValueError(f"until must be a positive number of net points, not {until}")
    # In the order of their names, so that it makes no difference in which they are given.
    order = sorted(range(len(labels)), key=labels.__getitem__)
    field = Field(
        rules,
        int(seed),
        tuple(policies[index] for index in order),
        tuple(labels[index] for index in order),
        all_lineups(len(labels), rules.num_players),
        limit,
    )
    if folder is not None:
        require_pyarrow()  # before anything is played
        require_extra()
    with ExitStack() as stack:
        place = Path(folder or stack.enter_context(TemporaryDirectory()))
        place.mkdir(parents=True, exist_ok=True)
        journal = stack.enter_context(closing(Journal(place / JOURNAL)))
        _compare(journal, field)
        journal.forgive()
        plan = [list(field.lineup(index).parts(int(deals))) for index in range(len(field.lineups))]
        with ExitStack() as crews:  # who has played is gone before the files are written
            start = None
            if make_crew is not None:
                start = cache(lambda: crews.enter_context(closing(make_crew(field))))
            result = _play(field, journal, plan, int(deals), until, int(regret), start, progress)
        if folder is not None:
            _write_files(field, journal, plan, result, int(regret), place)
            options = {
                **{"until": until, "limit": limit, "regret": regret, "folder": folder},
                **{"workers": workers, "address": address},
                "backend": None if backend == PROCESSES else backend,
            }
            call = call_text(policies, names, rules, int(deals), int(seed), options)
            known = zip(labels, policies, strict=True)
            runs = {label: policy for label, policy in known if is_run(policy)}
            write_report(result, place, command=command or call, runs=runs)
            sizes = [field.lineup(index).part_size for index in range(len(field.lineups))]
            finished = {"names": field.names, "deals": result.deals, "regret": int(regret)}
            journal.note({SHOWN: finished | {"sizes": sizes}})
        return result


GAMES, REGRETS, SUMMARY = "games.parquet", "regrets.parquet", "summary.json"
"""What is written in the folder of an arena at the end."""

JOURNAL = "games.sqlite"
"""The file in the folder of an arena that keeps what was played."""

Plan = list[list[tuple[int, int]]]
"""For each lineup, where its parts begin and end."""


def _play(
    field: Field,
    journal: Journal,
    plan: Plan,
    deals: int,
    until: float | None,
    regret: int,
    start: Callable[[], Crew] | None,
    progress: Callable[[int, int], None] | None,
) -> CrossPlay:
    """Play what is missing and return what all of it shows; `start` starts the crew, once."""
    judged = list(_unjudged(field, journal, plan, regret))
    for end in _ends(deals, until):
        missing = _unplayed(field, journal, plan, end)
        total = sum(part[0] < end for parts in plan for part in parts)
        shown = _shifted(progress, total - len(missing), total + len(judged))
        _do_missing(field, journal, missing, start, shown)
        result = add_up(field, journal, plan, end)
        if until is not None and (2 * result.net.half_widths <= until).all():
            break
    if not regret:
        return result
    shown = _shifted(progress, total, total + len(judged))
    _do_missing(field, journal, judged, start, shown)
    regrets = score_all(field, journal, plan, regret)
    return replace(result, failures=tuple(journal.failures()), regrets=regrets)


def _write_files(
    field: Field, journal: Journal, plan: Plan, result: CrossPlay, regret: int, place: Path
) -> None:
    """Write every game, every judged decision, and the result."""
    kept = [[part for part in parts if part[0] < result.deals] for parts in plan]
    write_games(field, journal, kept, place / GAMES)
    if regret:
        write_regrets(field, journal, plan, regret, place / REGRETS)
    text = json.dumps(result.to_dict(), indent=1, ensure_ascii=False)
    write_whole(place / SUMMARY, text + "\n")


SHOWN = "shown"
"""The fact of a journal that says what of it the files in its folder show."""


def load(folder: str | Path) -> CrossPlay | None:
    """Return what the last finished cross-play in a folder brought; None if there is none.

    Only what was kept is read: the policies may be gone. ValueError if it is damaged, or by another
    version of the library.
    """
    path = Path(folder) / JOURNAL
    if not path.exists():
        return None
    with closing(Journal(path)) as journal:
        facts = journal.facts()
        shown = facts.get(SHOWN)
        if shown is None:
            return None
        rules = make_rules(facts["variant"], facts["num_players"], **facts["switches"])
        names = tuple(shown["names"])
        lineups = all_lineups(len(names), rules.num_players)
        field = Field(rules, facts["seed"], names, names, lineups)
        plan = [list(parts_of(size, shown["deals"])) for size in shown["sizes"]]
        result = add_up(field, journal, plan, shown["deals"])
        regrets = score_all(field, journal, plan, shown["regret"]) if shown["regret"] else ()
        return replace(result, regrets=regrets)


def _compare(journal: Journal, field: Field) -> None:
    """Note what is played in a journal; ValueError if it is not what was played there before."""
    rules = field.rules
    facts = {
        "variant": rules.variant,
        "num_players": rules.num_players,
        "switches": {name: getattr(rules, name) for name in SWITCHES},
        "seed": field.seed,
        "version": chinese_ten_env.__version__,
    }
    facts = json.loads(json.dumps(facts))
    policies = field.fingerprints()
    known = journal.facts()
    before = known.get("policies", {})
    wrong = [name for name, value in facts.items() if known.get(name, value) != value]
    if wrong:
        name = wrong[0]
        raise ValueError(
            f"{journal.path} was played with {name} {known[name]!r}, not {facts[name]!r}; choose "
            "another folder"
        )
    for name, value in policies.items():
        if before.get(name, value) != value:
            raise ValueError(
                f"{journal.path} was played with another policy {name!r}; choose another folder, "
                "or another name"
            )
    journal.note(facts | {"policies": before | policies})


def _ends(deals: int, until: float | None) -> Iterator[int]:
    """Yield after how many deals to look whether it is enough; the last are all."""
    end = MOST_DEALS
    while until is not None and end < deals:
        yield end
        end = MOST_DEALS * math.ceil(1.25 * end / MOST_DEALS)
    yield deals


def _missing(
    field: Field, journal: Journal, number: int, parts: list[tuple[int, int]], end: int
) -> list[tuple[int, int]]:
    """Return those parts of a lineup that begin before a deal and are still to be played."""
    played = journal.parts(field.names_of(number))
    return [part for part in parts if part[0] < end and part not in played]


def _unplayed(field: Field, journal: Journal, plan: Plan, end: int) -> list[Part]:
    """Return the jobs that play what is missing of all lineups before a deal."""
    return [
        Part(number, *part)
        for number, parts in enumerate(plan)
        for part in _missing(field, journal, number, parts, end)
    ]


def _shifted(
    progress: Callable[[int, int], None] | None, before: int, total: int
) -> Callable[[int], None]:
    """Return what tells `progress` of so many more jobs, `before` of `total` being done."""

    def tell(finished: int) -> None:
        if progress is not None:
            progress(before + finished, total)

    return tell


def _unjudged(field: Field, journal: Journal, plan: Plan, deals: int) -> Iterator[Judging]:
    """Yield the jobs that judge so many deals of all lineups, as far as that is not done."""
    for number, parts in enumerate(plan):
        for job in judgings(number, parts, deals):
            if journal.regrets(field.names_of(number), job.start, job.stop) is None:
                yield job


def _do_missing(
    field: Field,
    journal: Journal,
    jobs: Sequence[Job],
    crew: Callable[[], Crew] | None,
    progress: Callable[[int], None],
) -> None:
    """Do jobs and keep what comes out; after a failure, no more of that policy or lineup."""
    failures = journal.failures()
    failed = {failure["policy"] for failure in failures}
    given_up = {tuple(failure["lineup"]) for failure in failures}

    def wanted() -> Iterator[Job]:
        for job in sorted(jobs, key=lambda job: (job.start, job.lineup)):
            names = field.names_of(job.lineup)
            # Who ended a process is not always known; then it is the lineup that is given up.
            if not failed & set(names) and names not in given_up:
                yield job

    if not jobs:
        return  # no processes are started for nothing
    doing = do_here(field, wanted()) if crew is None else do_with(crew(), field, wanted())
    for finished, (job, outcome, error) in enumerate(doing, start=1):
        names = field.names_of(job.lineup)
        if error is not None:
            failed.add(error.policy)
            given_up.add(names)
            journal.add_failure(names, job.start, job.stop, error)
        elif isinstance(job, Judging):
            journal.add_regrets(names, job.start, job.stop, outcome)
        else:
            journal.add(names, job.start, job.stop, outcome)
        progress(finished)
