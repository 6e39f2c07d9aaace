"""What a report of cross-play says: a function for each section, which returns it or None.

A further section is one more function in `SECTIONS`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from chinese_ten_env.arena import charts, rows
from chinese_ten_env.arena.curves import Curve, read_curves
from chinese_ten_env.arena.host import host
from chinese_ten_env.arena.lineup import seatings
from chinese_ten_env.arena.report import LEVELS, Block, Cell, Chart, Code, Report, Section, Table
from chinese_ten_env.arena.result import changed_switches, plural
from chinese_ten_env.arena.rows import Pair, Ranked, points
from chinese_ten_env.arena.statistics import LEVEL
from chinese_ten_env.arena.tournament import (
    GAMES,
    JOURNAL,
    REGRETS,
    SUMMARY,
    CrossPlay,
    LineupScore,
)
from chinese_ten_env.rules import SWITCHES

FOLD = 12
"""Rows from which on a table is folded, unless it is one that everybody wants to see."""

MOST_ROWS = 1500
"""Rows of a table of lineups at most; more would make a page slow, and are in a file anyway."""

CLOSE = 4
"""How many times the spread of the first policies that of all must be, to draw these alone too."""

FEW = 4
"""Names in a sentence at most."""


@dataclass(frozen=True)
class Source:
    """What the sections are made from; what several of them need is computed once."""

    result: CrossPlay
    folder: Path
    command: str | None
    runs: Mapping[str, str | Path]
    """The folders of the policies that come from training runs."""

    @cached_property
    def ranking(self) -> tuple[Ranked, ...]:
        """The policies, the best first."""
        return rows.ranking(self.result)

    @cached_property
    def pairs(self) -> list[Pair]:
        """Every two policies, in the order of the ranking."""
        return rows.pairs(self.result)

    @property
    def names(self) -> list[str]:
        """Of the ranked policies, the best first."""
        return [row.name for row in self.ranking]

    @property
    def unit(self) -> str:
        """Over what net points are counted: deal or match."""
        return rows.unit(self.result)

    @property
    def units(self) -> str:
        """The same of several."""
        return plural(self.unit)

    @property
    def seats(self) -> int:
        """At a table."""
        return self.result.rules.num_players


def make_report(
    result: CrossPlay, folder: Path, command: str | None, runs: Mapping[str, str | Path]
) -> Report:
    """Return what the report of cross-play says; the arguments are those of `write_report`."""
    source = Source(result, folder, command, runs)
    made = [make(source) for make in SECTIONS]
    return Report(
        title=f"Cross-play: {result.rules.variant}, {result.rules.num_players} players",
        facts=_facts(source),
        answer=tuple(_answer(source)),
        sections=tuple(section for section in made if section is not None),
    )


def _facts(source: Source) -> tuple[str, ...]:
    result = source.result
    games = sum(result.deals * _seatings(source, score) for score in result.lineups)
    switches = [f"{name}={value}" for name, value in changed_switches(result.rules).items()]
    return (
        f"{len(result.names)} policies",
        f"{result.deals:,} {source.unit if result.deals == 1 else source.units}",
        f"{games:,} games",
        f"seed {result.seed}",
        *(switches or ["usual switches"]),
    )


def _seatings(source: Source, score: LineupScore) -> int:
    return len(seatings(len(score.names), source.seats))


# --- the answer -----------------------------------------------------------------------------


def _answer(source: Source) -> list[str]:
    """Return in sentences who leads, what is told apart from what, and who failed."""
    sentences = _leaders(source) if source.ranking else []
    failed = sorted({failure["policy"] for failure in source.result.failures})
    if failed:
        verb = "is" if len(failed) == 1 else "are"
        sentences.append(f"{_listed(failed)} failed and {verb} not ranked.")
    if not source.ranking:
        sentences.append("Nothing is ranked, as no lineup without a failure played all deals.")
    return sentences


def _leaders(source: Source) -> list[str]:
    first = source.ranking[0]
    leaders = [row.name for row in source.ranking if row.net == first.net]
    net = points(first.net, first.half_width)
    verb = "leads" if len(leaders) == 1 else "lead together"
    sentences = [f"{_listed(leaders)} {verb} with {net} net points a {source.unit}."]
    if source.result.deals == 1:
        return [*sentences, f"After a single {source.unit} nothing is told apart from anything."]
    others = [name for name in source.names if name not in leaders]
    close = {
        pair.worse
        for pair in source.pairs
        if pair.better in leaders and pair.worse in others and not pair.told_apart
    }
    doubtful = [name for name in others if name in close]
    who = "It is" if len(leaders) == 1 else "They are"
    if doubtful:
        sentences.append(f"{who} not told apart from {_listed(doubtful)}.")
    elif len(others) == 1:
        sentences.append(f"{who} told apart from {others[0]} beyond doubt.")
    elif others:
        sentences.append(f"{who} told apart from all others beyond doubt.")
    if len(source.names) > 2:
        told = sum(pair.told_apart for pair in source.pairs)
        sentences.append(f"Of {len(source.pairs)} pairs of policies {told} are told apart.")
    return sentences


def _listed(names: Sequence[str]) -> str:
    """Return names as part of a sentence, the first few if there are many."""
    if len(names) > FEW + 1:
        return f"{', '.join(names[:FEW])} and {len(names) - FEW} others"
    return " and ".join(part for part in (", ".join(names[:-1]), names[-1]) if part)


# --- cells ----------------------------------------------------------------------------------


def _words(*texts: str) -> tuple[Cell, ...]:
    return tuple(Cell(text, is_words=True) for text in texts)


def _numbers(*texts: str) -> tuple[Cell, ...]:
    return tuple(Cell(text) for text in texts)


def _heads(names: Sequence[str], *, is_words: bool = False) -> tuple[Cell, ...]:
    """Return the heads of columns, or of rows, that are about policies and must be narrow."""
    return tuple(
        Cell(short, whole="" if short == name else name, is_words=is_words)
        for name, short in zip(names, charts.shortened(names), strict=True)
    )


def _shaded(text: str, net: float, most: float) -> Cell:
    """Return a cell of a heat map in which the largest number, up or down, is `most`."""
    # By the root: one weak policy would leave all other differences without a colour.
    share = math.sqrt(abs(net) / most) if most > 0 else 0.0
    return Cell(text, level=math.floor(share * LEVELS + 0.5) * (1 if net > 0 else -1))


# --- sections -------------------------------------------------------------------------------


def _ranking(source: Source) -> Section | None:
    if not source.ranking:
        return None
    head = rows.ranking_head(source.result)
    words = ("policy",)
    table = Table(
        "Ranking, the best first",
        tuple(Cell(text, is_words=text in words) for text in head),
        tuple(
            tuple(
                Cell(text, is_words=name in words)
                for text, name in zip(row.cells, head, strict=True)
            )
            for row in source.ranking
        ),
        key=head.index("policy"),
    )
    return Section(
        "ranking",
        "Ranking",
        (
            "Net points are what a policy won above an even share of all points, the mean over its "
            "lineups. The rank is the range that is beyond doubt, for all policies at once.",
            table,
            _forest(source, "net", source.ranking),
            *([_forest(source, "leaders", leaders)] if (leaders := _leading(source)) else []),
        ),
    )


def _forest(source: Source, key: str, ranking: Sequence[Ranked]) -> Chart:
    """Return a chart of the net points of some policies."""
    which = "" if len(ranking) == len(source.ranking) else f"The first {len(ranking)}: "
    caption = f"{which}net points a {source.unit} with 95 % intervals".capitalize()
    svg = charts.draw_intervals(
        key,
        f"{caption}, the best on top",
        [row.name for row in ranking],
        [row.net for row in ranking],
        [row.half_width for row in ranking],
        f"net points a {source.unit}",
        zero=not which,
    )
    return Chart(svg, caption)


def _leading(source: Source) -> Sequence[Ranked]:
    """Return the first policies, if the last are so far behind that these seem to be alike."""

    def spread(ranking: Sequence[Ranked]) -> float:
        return ranking[0].net - ranking[-1].net

    whole = spread(source.ranking)
    for last in range(len(source.ranking) - 1, 1, -1):
        if spread(source.ranking[:last]) < whole / CLOSE:
            return source.ranking[:last]
    return ()


def _cross_play(source: Source) -> Section | None:
    if not source.ranking:
        return None
    names, nets = source.names, rows.against(source.result)
    nets = {pair: net for pair, net in nets.items() if set(pair) <= set(names)}
    most = max((abs(net) for net, _ in nets.values()), default=0.0)

    def cell(name: str, other: str) -> Cell:
        if name == other:
            return Cell("")
        if (name, other) not in nets:
            return Cell("not played")
        net, half = nets[name, other]
        return _shaded(points(net, half), net, most)

    matrix = Table(
        "Net points of the row’s policy against the column’s",
        (*_words("policy"), *_heads(names)),
        tuple(
            (head, *(cell(name, other) for other in names))
            for head, name in zip(_heads(names, is_words=True), names, strict=True)
        ),
        full=points(most),
    )
    text = [f"Net points a {source.unit} with half the width of their 95 % intervals."]
    if source.seats > 2:
        text.append("A pair shares a table in every mixture in which both sit there.")
    tables, left_out = [matrix], False
    for size in sorted({len(score.names) for score in source.result.lineups}):
        scores = [score for score in source.result.lineups if len(score.names) == size]
        if size * len(scores) > MOST_ROWS:
            left_out = True
            continue
        tables.append(_lineups(source, scores, size))
    if left_out:
        text.append(f"There are too many lineups to list them all here; {SUMMARY} has them.")
    return Section("cross-play", "Cross-play", (*text, *tables))


def _lineups(source: Source, scores: Sequence[LineupScore], size: int) -> Table:
    """Return how each policy did in each lineup of so many policies."""
    found = []
    for score in scores:
        halves = score.net.half_widths
        lineup = " | ".join(score.names)
        for index in sorted(range(size), key=lambda index: -score.net.mean[index]):
            found.append(
                (
                    *_words(lineup, score.names[index]),
                    *_numbers(
                        points(float(score.net.mean[index]), float(halves[index])),
                        rows.percent(float(score.win_rate[index])),
                        rows.percent(float(score.tie_rate[index])),
                        *(points(float(net)) for net in score.by_seat[index]),
                    ),
                )
            )
    seats = [f"in seat {seat}" for seat in range(source.seats)]
    heads = (f"net points a {source.unit}", "win rate", "tie rate", *seats)
    return Table(
        "Each pair in detail" if size == 2 else f"Tables of {size} different policies",
        (*_words("lineup", "policy"), *_numbers(*heads)),
        tuple(found),
        key=1,
        folds=len(found) > FOLD,
    )


def _differences(source: Source) -> Section | None:
    if not source.ranking:
        return None
    apart = [pair for pair in source.pairs if pair.told_apart]
    doubtful = [pair for pair in source.pairs if not pair.told_apart]
    tables = []
    if doubtful:
        found = tuple((*_pair(pair), *_numbers(_deals(pair))) for pair in doubtful)
        head = (*_pair_head(source), Cell(f"{source.units} needed"))
        tables.append(Table("Not told apart", head, found, folds=len(found) > FOLD))
    if apart:
        found = tuple(_pair(pair) for pair in apart)
        tables.append(Table("Told apart", _pair_head(source), found, folds=len(found) > FOLD))
    return Section(
        "differences",
        "Which differences are beyond doubt",
        (
            f"Two policies are compared in the same {source.units}, over all their lineups, so "
            "that what the cards do to both cancels. The p-values are adjusted by Holm’s method: "
            "in all of these comparisons together, an error has a probability of at most "
            f"{rows.whole_percent(LEVEL)}. The {source.units} needed would show such a difference "
            f"{rows.whole_percent(rows.POWER)} of the time, if it is as large as it seems and "
            "these two alone are compared.",
            *tables,
        ),
    )


def _pair_head(source: Source) -> tuple[Cell, ...]:
    numbers = (f"difference a {source.unit}", "adjusted p-value")
    return (*_words("better", "worse"), *_numbers(*numbers))


def _pair(pair: Pair) -> tuple[Cell, ...]:
    difference = points(pair.difference, pair.half_width)
    return (
        *_words(pair.better, pair.worse),
        *_numbers(difference, rows.probability(pair.adjusted)),
    )


def _deals(pair: Pair) -> str:
    if pair.deals is not None:
        return rows.count(pair.deals)
    return "no difference" if pair.difference == 0 else "unknown"


def _ratings(source: Source) -> Section | None:
    if not source.ranking:
        return None
    rated = sorted(source.ranking, key=lambda row: -row.rating.mean)
    chart = charts.draw_intervals(
        "rating",
        "Rating of each policy with its 95 % interval, the highest on top",
        [row.name for row in rated],
        [row.rating.mean for row in rated],
        [row.rating_half_width for row in rated],
        "rating",
        zero=False,
    )
    return Section(
        "ratings",
        "Ratings",
        (
            "Plackett-Luce ratings by openskill, from who came out before whom in the first games "
            "of every lineup, 25 before the first game, with 95 % intervals of what is thought of "
            "each. The ranking by net points is the finer measure: it uses all games, and by how "
            "much they were won. The numbers are in the ranking.",
            Chart(chart, "Ratings with 95 % intervals"),
        ),
    )


def _seats(source: Source) -> Section | None:
    if not source.ranking:
        return None
    most = max(float(abs(row.by_seat).max()) for row in source.ranking)
    return Section(
        "seats",
        "Points by seat",
        (
            "Turns go round in the order of the seats; who deals is drawn with the deck.",
            Table(
                f"Mean net points a {source.unit} in each seat, whoever deals",
                (*_words("policy"), *(Cell(f"seat {seat}") for seat in range(source.seats))),
                tuple(
                    (
                        *_words(row.name),
                        *(_shaded(points(float(net)), float(net), most) for net in row.by_seat),
                    )
                    for row in source.ranking
                ),
                full=points(most),
            ),
        ),
    )


def _regrets(source: Source) -> Section | None:
    scores = rows.regrets(source.result)
    if not scores:
        return None
    deals = max(score.deals for score in scores)
    chart = charts.draw_intervals(
        "regret",
        "Regret of a decision of each policy with its 95 % interval, the lowest on top",
        [score.name for score in scores],
        [score.mean for score in scores],
        [score.half_width for score in scores],
        "net points a decision",
        zero=False,
    )
    costs = [cost for score in scores for cost in score.by_turn.tolist() if not math.isnan(cost)]
    most = max(costs, default=0.0)

    def cell(cost: float) -> Cell:
        # Down, as it is what was lost.
        return Cell("") if math.isnan(cost) else _shaded(rows.cost(cost), -cost, most)

    return Section(
        "regret",
        "Solver regret",
        (
            f"What the decisions of {deals:,} deals cost, against perfect play of both from there "
            "on, by players who know every card. Even the best player who sees no more than he "
            "should has some.",
            Table(
                "Regret, the lowest first",
                (*_words("policy"), *_numbers(*rows.REGRET_HEAD[1:])),
                tuple(
                    (*_words(name), *_numbers(*numbers))
                    for name, *numbers in map(rows.regret_cells, scores)
                ),
            ),
            Chart(chart, "Net points a decision with 95 % intervals"),
            Table(
                "Net points a decision in each turn of the deal",
                (*_words("policy"), *_numbers(*map(str, range(len(scores[0].by_turn))))),
                tuple((*_words(score.name), *map(cell, score.by_turn)) for score in scores),
                folds=True,
            ),
        ),
    )


def _learning(source: Source) -> Section | None:
    found = [curve for name, folder in source.runs.items() for curve in read_curves(name, folder)]
    if not found:
        return None
    drawn: list[Chart] = []
    table = []
    for opponent in sorted({curve.opponent for curve in found}):
        own = [curve for curve in found if curve.opponent == opponent]
        most = len(charts.MARKERS)
        for start in range(0, len(own), most):
            drawn.append(_curves(f"curve-{len(drawn)}", opponent, own[start : start + most], start))
        table += [_learned(curve) for curve in own]
    words = ("policy", "against")
    numbers = ("minutes", "measurements", "before learning", "at the end")
    return Section(
        "learning",
        "Learning curves",
        (
            "What the policies from training runs won while they learned, against fixed opponents, "
            "in net points a deal with 95 % intervals, as their run folders tell it. Where they "
            "began is in the table only, as it would hide what came later.",
            *drawn,
            Table(
                "Training runs",
                (*_words(*words), *_numbers(*numbers)),
                tuple(table),
                folds=len(table) > FOLD,
            ),
        ),
    )


def _curves(key: str, opponent: str, group: Sequence[Curve], start: int) -> Chart:
    more = ", more policies" if start else ""
    svg = charts.draw_curves(
        key,
        f"Net points a deal against {opponent} over minutes of training, a line for each policy",
        group,
        f"net points against {charts.shortened([opponent])[0]}",
    )
    legend = tuple(zip(charts.MARKERS.values(), [curve.name for curve in group], strict=False))
    return Chart(svg, f"Against {opponent}{more}", legend)


def _learned(curve: Curve) -> tuple[Cell, ...]:
    def at(index: int) -> str:
        return points(float(curve.net[index]), float(curve.half_width[index]))

    size = len(curve.minutes)
    numbers = (f"{curve.minutes[-1]:.1f}", str(size), at(0) if size > 1 else "", at(-1))
    return (*_words(curve.name, curve.opponent), *_numbers(*numbers))


def _durations(source: Source) -> Section | None:
    timed = sorted((row for row in source.ranking if row.seconds > 0), key=lambda row: row.seconds)
    if not timed:
        return None
    chart = charts.draw_durations(
        "time",
        "Mean time of a decision of each policy on a logarithmic scale, the fastest on top",
        [row.name for row in timed],
        [row.seconds for row in timed],
        "time of a decision",
    )
    return Section(
        "time",
        "Time of a decision",
        (
            "Wall time, while the other workers play too. A policy is asked about many games at "
            "once; this is its share for one of them. The numbers are in the ranking.",
            Chart(chart, "Mean time of a decision, on a logarithmic scale"),
        ),
    )


def _failures(source: Source) -> Section | None:
    failures = source.result.failures
    if not failures:
        return None
    found = tuple(
        _words(
            failure["policy"],
            failure["message"],
            " | ".join(failure["lineup"]),
            f"{failure['start']} to {failure['stop'] - 1}",
        )
        for failure in failures
    )
    return Section(
        "failures",
        "Failures",
        (
            "These policies are not in the ranking. The same call tries them again, and plays only "
            "what is missing.",
            Table(
                "What went wrong",
                _words("policy", "message", "lineup", source.units),
                found,
                folds=len(found) > FOLD,
            ),
        ),
    )


def _reproduction(source: Source) -> Section:
    result = source.result
    facts = {
        "variant": result.rules.variant,
        "players": str(result.rules.num_players),
        **{name: str(getattr(result.rules, name)) for name in SWITCHES},
        "seed": str(result.seed),
        source.units: str(result.deals),
        "policies": ", ".join(result.names),
        **host(),
    }
    blocks: list[Block] = []
    if source.command is not None:
        is_python = source.command.startswith("ct.")
        blocks.append("The same is played again by")
        blocks.append(Code("python" if is_python else "sh", source.command))
    if (source.folder / GAMES).exists():
        blocks.append(
            f"Beside this report, {GAMES} holds a row for each game, {SUMMARY} the numbers of all "
            f"lineups, and {JOURNAL} what more deals or policies are added to. To read the games:"
        )
        blocks.append(Code("python", f'games = pandas.read_parquet("{GAMES}")'))
        blocks.append(Code("python", f'games = polars.read_parquet("{GAMES}")'))
        if source.result.regrets:
            blocks.append(f"In the same way {REGRETS} holds a row for each judged decision.")
    blocks.append(
        "Intervals are those of means, from the normal distribution over different "
        f"{source.units}: each is played in every seating, so that neither cards nor seats decide, "
        "and counts once. An interval holds in 95 % of samples by itself; the ranges of ranks and "
        "the adjusted p-values hold for all at once. Versions and the processor are those with "
        "which this report was written."
    )
    blocks.append(
        Table(
            "What was played, and on what",
            _words("what", "value"),
            tuple(_words(*fact) for fact in facts.items()),
        )
    )
    title = "How to play it again, and what the numbers mean"
    return Section("reproduction", title, tuple(blocks))


SECTIONS: tuple[Callable[[Source], Section | None], ...] = (
    _ranking,
    _cross_play,
    _differences,
    _ratings,
    _seats,
    _regrets,
    _learning,
    _durations,
    _failures,
    _reproduction,
)
"""In the order of a report; those that return None have nothing to say of it."""
