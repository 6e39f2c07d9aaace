"""Reports of cross-play: complete, safe whatever policies are called, and in need of nothing."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Callable, Sequence
from html.parser import HTMLParser
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import matplotlib
import numpy as np
import numpy.typing as npt
import pytest
from markdown_it import MarkdownIt

import chinese_ten_env as ct
from chinese_ten_env.arena import charts, report, rows, sections
from chinese_ten_env.arena.call import call_text
from chinese_ten_env.arena.curves import read_curves
from chinese_ten_env.arena.regret import RegretScore
from chinese_ten_env.arena.statistics import Moments
from chinese_ten_env.arena.tournament import CrossPlay, LineupScore
from chinese_ten_env.cli import main
from chinese_ten_env.engine import Games

HOSTILE = (
    "<script>alert(1)</script>",
    "a|b `c` *d* _e_ [f](g) \\| $x^2$ # &amp;",
    "name.0. \"quoted\" 'twice' {{ 7 * 7 }} {% x %}",
    "撿紅點 policy",
    "runs/" + "very-long-" * 20 + "path",
    "two\nlines\x1b[31m\u202e\x00",
    "- not a list",
    "1. nor this",
)
"""Names that mean something to a page, a table, a formula or a template."""


def lowest(views: Games, _rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Choose the lowest legal card."""
    return np.asarray(ct.action_masks(views).argmax(axis=1))


def made(
    names: Sequence[str],
    num_players: int = 2,
    deals: int = 40,
    failures: tuple[dict[str, Any], ...] = (),
    sizes: Sequence[int] = (2,),
    **switches: Any,
) -> CrossPlay:
    """Return a result of made-up numbers; policies later in the list are stronger."""
    rng = np.random.default_rng(len(names))
    failed = {failure["policy"] for failure in failures}
    ranked = [name for name in names if name not in failed]
    scores, totals = [], np.zeros((deals, len(ranked)))
    for size in sizes:
        for lineup in combinations(ranked, size):
            strength = np.array([ranked.index(name) for name in lineup], dtype=float)
            nets = strength - strength.mean() + rng.normal(0, 3, (deals, size))
            nets -= nets.mean(axis=1, keepdims=True)
            net = Moments(size)
            net.add(nets)
            offsets = np.linspace(-1, 1, num_players)
            scores.append(
                LineupScore(
                    lineup,
                    net,
                    rng.uniform(0, 1, size),
                    rng.uniform(0, 0.1, size),
                    net.mean[:, None] + offsets,
                    rng.uniform(1e-6, 1e-1, size),
                    nets[:5, None, :],
                )
            )
            totals[:, [ranked.index(name) for name in lineup]] += nets
    net = Moments(len(ranked))
    net.add(totals / max(1, len(ranked) - 1))
    rules = ct.make_rules("mainland", num_players, **switches)
    return CrossPlay(
        rules, 3, deals, tuple(names), tuple(scores), net, tuple(ranked), tuple(failures)
    )


class Page(HTMLParser):
    """What a page holds; AssertionError if an element does not end where it should."""

    VOID = frozenset({"link", "meta", "br", "hr", "img"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.tables: list[list[list[str]]] = []
        """Of each, the rows of their cells; of a shortened one, what its title says."""
        self.texts: dict[str, list[str]] = {}
        """All texts within elements of a kind."""
        self._cell: str | None = None
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag in self.VOID:
            return
        self.open.append(tag)
        self.texts.setdefault(tag, []).append("")
        if tag == "table":
            self.tables.append([])
        elif tag == "tr":
            self.tables[-1].append([])
        elif tag in ("td", "th"):
            self.tables[-1][-1].append("")
            self._cell = dict(attrs).get("title")

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag
        if tag in ("td", "th"):
            text = self.tables[-1][-1][-1] if self._cell is None else self._cell
            self.tables[-1][-1][-1] = " ".join(text.split())

    def handle_data(self, data: str) -> None:
        for tag in set(self.open):
            self.texts[tag][-1] += data
        if self.open and self.open[-1] in ("td", "th"):
            self.tables[-1][-1][-1] += data

    def attributes(self, name: str) -> list[str]:
        """Return all values of an attribute."""
        return [attrs[name] or "" for _, attrs in self.elements if name in attrs]

    def row(self, *start: str) -> list[str]:
        """Return the one row that begins with these cells."""
        found = [row for table in self.tables for row in table if row[: len(start)] == list(start)]
        assert len(found) == 1, (start, found)
        return found[0]


def written(result: CrossPlay, folder: Path, **options: Any) -> tuple[Page, str, str]:
    """Write the reports; return the page, its text and the text in Markdown."""
    path = ct.arena.write_report(result, folder, **options)
    text = path.read_text(encoding="utf-8")
    return Page(text), text, (folder / "report.md").read_text(encoding="utf-8")


def signed(net: float) -> str:
    """Return net points as a report should write them."""
    return f"{net:+.2f}".replace("-0.00", "+0.00")


FAILURE = {
    "lineup": ["b", "bad"],
    "start": 0,
    "stop": 40,
    "policy": "bad",
    "message": "policy 'bad' raised RuntimeError: <b>no</b> small talk | at all\nnever",
    "deal": 3,
    "decision": 5,
}

RESULTS: dict[str, Callable[[], CrossPlay]] = {
    "two policies": lambda: made(["greedy", "random"]),
    "five policies": lambda: made(["a", "b", "c", "d", "e"]),
    "four players": lambda: made(["a", "b", "c", "d", "e"], 4, sizes=(2, 4)),
    "a single deal": lambda: made(["a", "b", "c"], deals=1),
    "matches": lambda: made(["a", "b"], match="net"),
    "a failure": lambda: made(["a", "b", "bad"], failures=(FAILURE,)),
    "hostile names": lambda: made(sorted(HOSTILE)),
    "thirty policies": lambda: made([f"runs/{'x' * (n % 30)}-{n:02}" for n in range(30)]),
}


class Written(NamedTuple):
    """A kind of result, and its reports."""

    kind: str
    result: CrossPlay
    page: Page
    text: str
    markdown: str


@pytest.fixture(scope="module", params=RESULTS)
def report_of(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Written:
    """The reports of each kind of result."""
    result = RESULTS[request.param]()
    return Written(request.param, result, *written(result, tmp_path_factory.mktemp("report")))


def test_every_number_of_the_summary_is_there(report_of: Written) -> None:
    kind, result, page, _, markdown = report_of
    summary = result.to_dict()

    def net(row: dict[str, Any]) -> str:
        half = row["half_width"]
        return signed(row["net"]) + ("" if half is None else f" ± {half:.2f}")

    def shown(name: str) -> str:
        return " ".join(report.printable(name).split())

    unit = "match" if kind == "matches" else "deal"
    heads = [table[0] for table in page.tables]
    assert f"net points a {unit}" in heads[0]
    ranking = {row[1]: row for row in page.tables[0][1:]}
    assert list(ranking) == [
        shown(row["policy"]) for row in sorted(summary["ranking"], key=lambda row: -row["net"])
    ]
    for row in summary["ranking"]:
        assert ranking[shown(row["policy"])][2] == net(row)
    for lineup in summary["lineups"]:
        title = " | ".join(shown(row["policy"]) for row in lineup["policies"])
        for index, row in enumerate(lineup["policies"]):
            assert page.row(title, shown(row["policy"]))[2:] == [
                net(row),
                f"{100 * lineup['win_rate'][index]:.1f} %",
                f"{100 * lineup['tie_rate'][index]:.1f} %",
                *map(signed, lineup["by_seat"][index]),
            ]
            if len(lineup["policies"]) == 2:
                other = shown(lineup["policies"][1 - index]["policy"])
                matrix = next(table for table in page.tables if table[0][0] == "policy")
                line = next(one for one in matrix if one[0] == shown(row["policy"]))
                assert line[matrix[0].index(other)] == net(row)
    for failure in summary["failures"]:
        message = " ".join(failure["message"].split())
        deals = f"{failure['start']} to {failure['stop'] - 1}"
        assert page.row(failure["policy"], message)[2:] == [" | ".join(failure["lineup"]), deals]
    answer = sections.make_report(result, Path("nowhere"), None, {}).answer
    assert page.texts["p"][0].split() == report.printable(" ".join(answer)).split()
    facts = {row[0]: row[1] for row in page.tables[-1]}
    assert facts["seed"] == "3"
    assert facts["matches" if unit == "match" else "deals"] == str(result.deals)
    assert facts["variant"] == "mainland"
    assert facts["chinese_ten_env"] == ct.__version__
    assert {"Python", "NumPy", "Numba", "processor", "capture", "match"} <= set(facts)
    # Markdown has the same tables, cell by cell.
    again = Page(MarkdownIt("commonmark", {"html": False}).enable("table").render(markdown))
    assert again.tables == page.tables
    assert again.texts["h1"] == page.texts["h1"]
    assert again.texts["h2"] == page.texts["h2"]


def test_the_page_needs_nothing_else_and_runs_nothing(report_of: Written) -> None:
    page, text = report_of.page, report_of.text
    targets = page.attributes("href") + page.attributes("xlink:href")
    anchors = {target for target in targets if target != "data:,"}
    ids = page.attributes("id")
    assert len(set(ids)) == len(ids)
    assert anchors <= {f"#{one}" for one in ids}
    assert not page.attributes("src")
    assert not [name for name, _ in page.elements if name in ("script", "img", "iframe", "object")]
    assert not [name for _, attrs in page.elements for name in attrs if name.startswith("on")]
    clips = re.findall(r"url\(([^)]*)\)", text)
    assert set(clips) <= {f"#{one}" for one in ids}
    assert "@import" not in text
    namespaces = {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xlink"}
    assert set(re.findall(r"https?://[^\"'\s<]+", text)) <= namespaces
    # Rounded away, or not known: neither is a number.
    assert not re.search(r"\bnan\b|-0\.00\b", text)


def test_it_can_be_read_without_seeing_it(report_of: Written) -> None:
    page = report_of.page
    assert len(page.texts["h1"]) == 1
    for name, attrs in page.elements:
        if name == "svg":
            assert attrs["role"] == "img"
            assert attrs["aria-label"]
        if name == "th":
            assert attrs["scope"] in ("col", "row")
        if name == "html":
            assert attrs["lang"] == "en"
    assert len(page.texts["caption"]) == len(page.tables)
    assert all(page.texts["caption"])


def luminance(colour: str) -> float:
    """Return the relative luminance of a colour such as ``#1b1f24``, by WCAG 2."""
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [one / 12.92 if one <= 0.04045 else ((one + 0.055) / 1.055) ** 2.4 for one in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    """Return how much two colours differ in luminance, from 1 to 21."""
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_colours_differ_enough_by_day_and_by_night(tmp_path: Path) -> None:
    _, text, _ = written(made(["a", "b"]), tmp_path)
    style = text[text.index("<style>") : text.index("</style>")]
    day, night = style.split("prefers-color-scheme: dark", 1)
    for part in (day, night):
        colours = dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", part))
        levels = [name for name in colours if re.fullmatch(r"(up|down)-\d|level-0", name)]
        assert len(levels) == 2 * report.LEVELS + 1
        for name in ("page", "card", *levels):
            assert contrast(colours["ink"], colours[name]) >= 4.5, name
        for name in ("muted", "accent"):
            assert contrast(colours[name], colours["page"]) >= 4.5, name
        series = [name for name in colours if name.startswith("series-")]
        assert len(series) == len(charts.MARKERS)
        for name in series:
            assert contrast(colours[name], colours["page"]) >= 3, name
    # All that charts are drawn in comes from there.
    used = set(re.findall(r"var\(--([\w-]+)\)", text[text.index("</style>") :]))
    assert used
    assert used <= set(dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", day)))
    assert not re.findall(r"#[0-9a-f]{6}\b", text[text.index("</style>") :])


def test_the_answer_says_who_leads_and_what_is_told_apart() -> None:
    def answer(result: CrossPlay) -> str:
        made_of = sections.make_report(result, Path("nowhere"), None, {})
        return " ".join(made_of.answer)

    clear = made(["a", "b", "c"], deals=2000)
    net = f"{clear.net.mean[2]:+.2f} ± {clear.net.half_widths[2]:.2f}"
    assert answer(clear) == (
        f"c leads with {net} net points a deal. It is told apart from all others beyond doubt. "
        "Of 3 pairs of policies 3 are told apart."
    )
    assert answer(made(["a", "b"], deals=2000)).endswith("It is told apart from a beyond doubt.")
    assert answer(made(["a", "b"], deals=3)).endswith("It is not told apart from b.")
    single = answer(made(["a", "b"], deals=1, match="net"))
    assert single.endswith("After a single match nothing is told apart from anything.")
    assert answer(made(["a", "b", "bad"], failures=(FAILURE,))).endswith(
        "bad failed and is not ranked."
    )
    alone = made(["b", "bad"], failures=(FAILURE, FAILURE | {"policy": "b"}))
    assert answer(alone) == (
        "b and bad failed and are not ranked. Nothing is ranked, as no lineup without a failure "
        "played all deals."
    )
    names = [f"{number}" for number in range(9)]
    none = made(names, failures=tuple(FAILURE | {"policy": name} for name in names))
    assert answer(none).startswith("0, 1, 2, 3 and 5 others failed and are not ranked.")
    equal = made(["a", "b"])
    equal.net.mean[:] = 0
    assert answer(equal).startswith("a and b lead together with +0.00 ± ")


def test_pairs_tell_how_many_deals_are_needed(tmp_path: Path) -> None:
    result = made(["a", "b", "c"], deals=6)
    page, _, _ = written(result, tmp_path)
    doubtful = [pair for pair in rows.pairs(result) if not pair.told_apart]
    assert doubtful
    for pair in doubtful:
        assert pair.deals is not None
        assert pair.deals > 6
        assert page.row(pair.better, pair.worse) == [
            *(pair.better, pair.worse),
            f"{pair.difference:+.2f} ± {pair.half_width:.2f}",
            f"{pair.adjusted:.4f}",
            rows.count(pair.deals),
        ]
    single, _, _ = written(made(["a", "b"], deals=1), tmp_path)
    assert single.row("a", "b")[-1] == "unknown" or single.row("b", "a")[-1] == "unknown"


def test_the_same_numbers_give_the_same_bytes_whatever_a_notebook_has_set(tmp_path: Path) -> None:
    for place in ("one", "other"):
        with matplotlib.rc_context({} if place == "one" else {"font.size": 20, "axes.grid": True}):
            written(made(sorted(HOSTILE)), tmp_path / place)
    for name in ("report.html", "report.md"):
        one, other = (tmp_path / place / name for place in ("one", "other"))
        assert one.read_bytes() == other.read_bytes()


def test_charts_show_the_numbers() -> None:
    svg = charts.draw_intervals(
        "k", "what", ["x", "y", "z"], [3.0, 1.0, -2.0], [0.5, 0.25, float("nan")], "net", zero=True
    )
    uses = re.findall(r'<use href="#k-(\w+)" x="([\d.]+)" y="([\d.]+)"', svg)
    by_kind: dict[str, list[tuple[float, float]]] = {}
    for kind, x, y in uses:
        by_kind.setdefault(kind, []).append((float(x), float(y)))
    (dots,) = [at for at in by_kind.values() if len(at) == 3 and len({y for _, y in at}) == 3]
    assert [y for _, y in dots] == sorted(y for _, y in dots)  # the first on top
    xs = [x for x, _ in dots]
    assert (xs[0] - xs[1]) / (xs[1] - xs[2]) == pytest.approx(2 / 3, rel=1e-3)
    assert re.findall(r">(\w)<title>\1</title>", svg) == ["x", "y", "z"]
    times = charts.draw_durations("t", "what", ["x", "y"], [2e-6, 0.3], "time")
    for tick in ("1 µs", "100 µs", "10 ms", "1 s"):
        assert f">{tick}</text>" in times


def test_long_names_are_told_apart_by_their_ends_or_by_numbers() -> None:
    long = "x" * 40
    assert charts.shortened(["a", f"{long}-1", f"{long}-2"]) == [
        *("a", "…" + "x" * 21 + "-1", "…" + "x" * 21 + "-2")
    ]
    assert charts.shortened([long, "y" + long]) == ["1 …" + "x" * 23, "2 …" + "x" * 23]


def run_folder(place: Path, opponents: Sequence[str] = ("greedy",)) -> Path:
    """Make what of a run folder is read, with a last line that a crash cut short."""
    place.mkdir(parents=True)
    lines = []
    for step in range(4):
        line: dict[str, float] = {"steps": step, "seconds": 90.0 * step}
        for opponent in opponents:
            line |= {f"net_{opponent}": step - 30.0 * (step == 0), f"half_width_{opponent}": 0.5}
        lines += [json.dumps(line), json.dumps({"steps": step, "seconds": 90.0 * step + 1})]
    (place / "metrics.jsonl").write_text("\n".join(lines) + '\n{"seconds": 400, "net_gre')
    return place


def test_learning_curves_come_from_run_folders(tmp_path: Path) -> None:
    folder = run_folder(tmp_path / "runs" / "one", ("greedy", "random"))
    curves = read_curves("one", folder)
    assert [curve.opponent for curve in curves] == ["greedy", "random"]
    assert curves[0].minutes.tolist() == [0, 1.5, 3, 4.5]
    assert curves[0].net.tolist() == [-30, 1, 2, 3]
    assert curves[0].learned.net.tolist() == [1, 2, 3]
    name = str(folder)
    page, text, _ = written(made(["greedy", name]), tmp_path / "out")
    row = page.row(name, "random")
    assert row[2:] == ["4.5", "4", "-30.00 ± 0.50", "+3.00 ± 0.50"]
    assert sum("minutes of training" in one for one in page.texts["svg"]) == 2
    assert f"</span> {name}</li>" in text
    # Without such folders there is nothing to say.
    page, _, _ = written(made(["greedy", name]), tmp_path / "out", runs={})
    assert "learning" not in page.attributes("id")
    # A chart holds as many lines as can be told apart.
    runs = {str(number): run_folder(tmp_path / str(number)) for number in range(7)}
    page, _, _ = written(made(sorted(runs)), tmp_path / "out", runs=runs)
    assert sum("minutes of training" in one for one in page.texts["svg"]) == 2


def test_regrets_are_told_when_there_are_some(tmp_path: Path) -> None:
    result = made(["a", "b"])
    by_turn = np.full(24, np.nan)
    by_turn[5] = 0.625
    scores = (
        RegretScore("a", 4, 96, 0.5, 0.125, 0.25, by_turn),
        RegretScore("b", 4, 96, 0.25, float("nan"), 0.2, by_turn / 2),
    )
    object.__setattr__(result, "regrets", scores)
    page, _, _ = written(result, tmp_path)
    assert page.row("a", "0.500 ± 0.125") == ["a", "0.500 ± 0.125", "25.0 %", "96"]
    assert page.row("b", "0.250") == ["b", "0.250", "20.0 %", "96"]
    turns = next(table for table in page.tables if table[0][1:3] == ["0", "1"])
    assert turns[1] == ["b", *[""] * 5, "0.312", *[""] * 18]


def test_many_policies_are_folded_and_too_many_lineups_left_to_a_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = made([f"{number}" for number in range(12)])
    page, _, _ = written(result, tmp_path)
    assert page.texts["summary"][0] == "Each pair in detail: 132 rows"
    assert len(page.texts["details"]) >= 2
    monkeypatch.setattr(sections, "MOST_ROWS", 131)
    page, text, _ = written(result, tmp_path)
    assert "too many lineups to list them all here; summary.json has them" in text
    assert "Each pair in detail" not in text


def test_what_was_typed_stands_in_the_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["arena", "--policies", "random", "greedy", "--deals", "20", "--workers", "0"]
    words += ["--out", str(tmp_path / "it's here")]
    assert main(words) == 0
    shown = capsys.readouterr().out
    page_path = tmp_path / "it's here" / "report.html"
    assert f"report: {page_path}" in shown
    page = Page(page_path.read_text(encoding="utf-8"))
    assert shlex.split(page.texts["code"][0]) == ["chinese-ten", *words]
    assert page.texts["code"][1] == 'games = pandas.read_parquet("games.parquet")'
    assert page.texts["code"][2] == 'games = polars.read_parquet("games.parquet")'
    markdown = (tmp_path / "it's here" / "report.md").read_text(encoding="utf-8")
    assert f"```sh\n{shlex.join(['chinese-ten', *words])}\n```" in markdown


def test_calls_from_python_are_told_as_commands_where_they_can_be() -> None:
    rules = ct.make_rules("taiwan", 4)
    options = {"until": None, "limit": 2.5, "workers": 0, "folder": Path("a b")}
    assert call_text(["greedy", Path("runs/x")], None, rules, 10, 1, options) == (
        "chinese-ten arena --variant taiwan --players 4 --policies greedy runs/x --deals 10 "
        "--seed 1 --limit 2.5 --out 'a b' --workers 0"
    )
    assert call_text(["greedy", lowest], None, rules, 10, 1, options) == (
        "ct.arena.cross_play(['greedy', lowest], 'taiwan', 4, deals=10, seed=1, limit=2.5, "
        "folder='a b')"
    )
    rules = ct.make_rules("mainland", match="net")
    text = call_text(["greedy", "random"], ["g", "r"], rules, 10, 1, {"workers": 3})
    assert "names=['g', 'r'], " in text
    assert "match='net'" in text
    assert text.endswith("workers=3)")


def test_a_call_from_python_is_in_the_report_of_its_folder(tmp_path: Path) -> None:
    run = run_folder(tmp_path / "run")
    result = ct.arena.cross_play(
        [lowest, "greedy"], deals=10, names=["low", "run"], folder=tmp_path / "out"
    )
    page = Page((tmp_path / "out" / "report.html").read_text(encoding="utf-8"))
    assert page.texts["code"][0].startswith("ct.arena.cross_play([lowest, 'greedy'], 'mainland', 2")
    assert "learning" not in page.attributes("id")
    # Written anew, with what only the caller knows.
    page, _, _ = written(result, tmp_path / "out", command="make arena", runs={"run": run})
    assert page.texts["code"][0] == "make arena"
    assert page.row("run", "greedy")[3] == "4"
    # Elsewhere there are no games to read.
    page, _, _ = written(result, tmp_path / "elsewhere")
    assert "code" not in page.texts


@pytest.mark.parametrize("missing", ["jinja2", "matplotlib", "openskill"])
def test_the_extra_is_named_before_anything_is_played(
    missing: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        report, "find_spec", lambda name: None if name == missing else find_spec(name)
    )
    with pytest.raises(ImportError, match=rf"reports need {missing}: pip install .*\[arena\]"):
        ct.arena.cross_play(["greedy", "random"], deals=2, folder=tmp_path / "out")
    assert not (tmp_path / "out").exists()
