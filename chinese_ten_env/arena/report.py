"""Reports of cross-play: one page for a browser and one in Markdown, from the same model.

The model is what `Report` holds: sections of text, tables, charts and code, in which every number
is text already. `sections.py` says what they hold; here they are written.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar
from unicodedata import category

from chinese_ten_env.files import write_whole

if TYPE_CHECKING:
    from jinja2 import Environment

    from chinese_ten_env.arena.tournament import CrossPlay

HTML, MARKDOWN = "report.html", "report.md"
"""What is written."""

# --- the model ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cell:
    """A cell of a table, or the head of a column."""

    text: str
    whole: str = ""
    """The whole text, if `text` is the end of it."""
    level: int | None = None
    """Of the colour of a heat map, from -`LEVELS` to `LEVELS`; None for no colour."""
    is_words: bool = False
    """Whether it is words and no number: it may break, and stands at the left."""


LEVELS = 5
"""Steps of the colours of a heat map, on each side of 0."""


@dataclass(frozen=True)
class Table:
    """Numbers as text, in rows."""

    kind: ClassVar = "table"
    caption: str
    head: tuple[Cell, ...]
    rows: tuple[tuple[Cell, ...], ...]
    key: int = 0
    """The column that says what a row is about."""
    folds: bool = False
    """Whether it is so long that a page shows it only when asked to."""
    full: str = ""
    """In a heat map, the number that has the full colour."""


@dataclass(frozen=True)
class Chart:
    """A drawing, for those who see it; its numbers are in tables too."""

    kind: ClassVar = "chart"
    svg: str
    caption: str
    legend: tuple[tuple[str, str], ...] = ()
    """What stands for a line, and its name, in the order of the page's colours."""


@dataclass(frozen=True)
class Code:
    """What can be typed."""

    kind: ClassVar = "code"
    language: str
    text: str


Block = str | Table | Chart | Code


@dataclass(frozen=True)
class Section:
    """A part of a report under a heading."""

    anchor: str
    title: str
    blocks: tuple[Block, ...]
    """Paragraphs and what stands between them."""


@dataclass(frozen=True)
class Report:
    """All that a report says."""

    title: str
    facts: tuple[str, ...]
    """What was played."""
    answer: tuple[str, ...]
    """Who leads, and what is told apart from what, in sentences."""
    sections: tuple[Section, ...]


# --- writing --------------------------------------------------------------------------------


def write_report(
    result: CrossPlay,
    folder: str | Path,
    *,
    command: str | None = None,
    runs: Mapping[str, str | Path] | None = None,
) -> Path:
    """Write ``report.html`` and ``report.md`` of cross-play in a folder; return the first's path.

    The page needs no other file and no network. `command` is what to type to play the same again.
    `runs` are the folders of the policies that come from training runs, by the names of the
    policies; unless given, names that are such folders themselves. `cross_play` writes the same in
    its folder. ImportError names the extra that it needs.
    """
    from chinese_ten_env.arena.curves import is_run
    from chinese_ten_env.arena.sections import make_report

    require_extra()
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    if runs is None:
        runs = {name: name for name in result.names if is_run(name)}
    report = make_report(result, place, command, runs)
    write_whole(place / HTML, to_html(report))
    write_whole(place / MARKDOWN, to_markdown(report))
    return place / HTML


def require_extra() -> None:
    """Raise ImportError if reports cannot be written; it names the extra."""
    for name in ("jinja2", "matplotlib", "openskill"):
        if find_spec(name) is None:
            raise ImportError(f"reports need {name}: pip install 'chinese_ten_env[arena]'")


def to_html(report: Report) -> str:
    """Return a report as a page."""
    template = _environment(_printed).get_template("report.html")
    return template.render(report=report, levels=LEVELS)


def to_markdown(report: Report) -> str:
    """Return a report in Markdown, without its charts."""
    text = _environment(_markdown).get_template("report.md").render(report=report)
    return re.sub(r"\n{3,}", "\n\n", text)


def _environment(finalize: Callable[[object], object]) -> Environment:
    """Return what fills the templates; `finalize` is done to whatever is put into them."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("chinese_ten_env.arena", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=finalize,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters.update(line=_line, rule=_rule, fenced=_fenced)
    return environment


def _printed(value: object) -> object:
    return value if hasattr(value, "__html__") else printable(str(value))


def printable(text: str) -> str:
    """Return a text with what cannot be seen, or turns what follows around, as an escape of it.

    Lines and spaces of all widths stay.
    """
    return "".join(
        one
        if one.isprintable() or one == "\n" or category(one) == "Zs"
        else one.encode("unicode_escape").decode("ascii")
        for one in text
    )


# --- Markdown -------------------------------------------------------------------------------


def _markdown(value: object) -> object:
    """Return a text that Markdown shows as it is, within a line."""
    from markupsafe import Markup

    if isinstance(value, Markup):
        return value
    text = printable(" ".join(str(value).split()))
    text = re.sub(r"([\\`*_\[\]|~$#])", r"\\\1", text)
    # What would begin a list, if it is the first in a line.
    text = re.sub(r"^(\d+)([.)])(?=\s|$)", r"\1\\\2", text)
    text = re.sub(r"^([-+])(?=\s|$)", r"\\\1", text)
    text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return Markup(text)


def _line(cells: Sequence[Cell]) -> object:
    """Return a line of a table."""
    from markupsafe import Markup

    texts = [str(_markdown(cell.whole or cell.text)) for cell in cells]
    return Markup("| " + " | ".join(texts) + " |")


def _rule(cells: Sequence[Cell]) -> object:
    """Return the line under the head of a table: words at the left, numbers at the right."""
    from markupsafe import Markup

    return Markup("| " + " | ".join("---" if cell.is_words else "---:" for cell in cells) + " |")


def _fenced(code: Code) -> object:
    """Return a block of code, between fences that are longer than any in it."""
    from markupsafe import Markup

    ticks = max((len(run) for run in re.findall("`+", code.text)), default=0)
    fence = "`" * max(3, ticks + 1)
    return Markup(f"{fence}{code.language}\n{printable(code.text)}\n{fence}")
