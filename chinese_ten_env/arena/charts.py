"""Charts as SVG that stands inside a page: in its colours, in its font, for any width of it.

Matplotlib draws with colours and labels that stand for others, which are put in afterwards. So the
page chooses the colours, light or dark, and no name, whatever is in it, is ever read as markup or
as a formula, or looked up in Matplotlib's font. The same numbers give the same bytes.
"""

from __future__ import annotations

import io
import math
import re
import unicodedata
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from html import escape
from typing import TYPE_CHECKING, Any

from chinese_ten_env.arena.curves import Curve
from chinese_ten_env.arena.report import printable
from chinese_ten_env.arena.rows import duration

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

WIDTH, FONT = 400, 12
"""Of a chart and of its letters, in its own units: on a narrow telephone about 0.8 pixels each."""

LONGEST = 24
"""Characters of a name in a chart; of a longer one the end, which is where paths differ."""

MARKERS = {"o": "●", "s": "■", "^": "▲", "D": "◆", "v": "▼", "P": "✚"}
"""Of the lines of a chart, and how a legend shows them."""

_DASHES: tuple[Any, ...] = ("-", (0, (5, 2)), (0, (1, 1.5)), (0, (5, 2, 1, 2)), "-", (0, (5, 2)))

_COLOURS = {
    "ink": "#010101",
    "muted": "#020202",
    "line": "#030303",
    "accent": "#040404",
    **{f"series-{index}": f"#0505{index:02x}" for index in range(len(MARKERS))},
}
"""What stands in a drawing for each colour of the page."""


def shortened(names: Sequence[str]) -> list[str]:
    """Return the ends of long names; numbered where these do not differ."""
    whole = [printable(name).replace("\n", " ") for name in names]
    short = [name if len(name) <= LONGEST else f"…{name[1 - LONGEST :]}" for name in whole]
    return [
        f"{place + 1} {text}" if short.count(text) > 1 else text for place, text in enumerate(short)
    ]


def draw_intervals(
    key: str,
    description: str,
    names: Sequence[str],
    middles: Sequence[float],
    half_widths: Sequence[float],
    axis: str,
    *,
    zero: bool,
) -> str:
    """Return a chart with a row for each name: a dot, and the interval around it.

    `half_widths` may be NaN, `axis` says what is measured, with `zero` there is a line at 0. `key`
    must differ between the charts of a page.
    """
    with _drawing(key):
        figure, axes = _rows(names)
        if zero:
            axes.axvline(0, color=_COLOURS["muted"], linewidth=1)
        places = range(len(names))
        known = [0.0 if math.isnan(half) else half for half in half_widths]
        axes.errorbar(
            middles,
            places,
            xerr=known,
            fmt="o",
            color=_COLOURS["accent"],
            markersize=6,
            elinewidth=2,
            capsize=3,
        )
        axes.set_xlabel(axis)
        axes.margins(x=0.08)
        axes.locator_params(axis="x", nbins=5)
        return _finished(figure, key, description, names)


def draw_durations(
    key: str, description: str, names: Sequence[str], seconds: Sequence[float], axis: str
) -> str:
    """Return a chart with a row for each name and a dot at its time, on a logarithmic scale."""
    with _drawing(key):
        figure, axes = _rows(names)
        low = math.floor(math.log10(min(seconds)))
        high = max(math.ceil(math.log10(max(seconds))), low + 1)
        axes.set_xscale("log")
        axes.hlines(
            range(len(names)), 10.0**low, seconds, color=_COLOURS["line"], linewidth=2, zorder=1
        )
        axes.scatter(seconds, range(len(names)), color=_COLOURS["accent"], s=36, zorder=2)
        axes.set_xlim(10.0**low, 10.0**high * 1.2)
        every = math.ceil((high - low) / 4)  # so that the labels do not touch
        ticks = [10.0**power for power in range(low, high + 1, every)]
        axes.set_xticks(ticks, [duration(tick * 1.0000001) for tick in ticks])
        axes.minorticks_off()
        axes.set_xlabel(axis)
        return _finished(figure, key, description, names)


def draw_curves(key: str, description: str, curves: Sequence[Curve], axis: str) -> str:
    """Return a chart of net points over minutes of training, with intervals, a line for each.

    There may be as many as there are `MARKERS`; the legend is left to the page.
    """
    with _drawing(key):
        from matplotlib.figure import Figure

        height = 260
        figure = Figure(figsize=(WIDTH / 72, height / 72), dpi=72)
        axes = figure.add_axes(
            (60 / WIDTH, 44 / height, (WIDTH - 70) / WIDTH, (height - 56) / height)
        )
        axes.axhline(0, color=_COLOURS["muted"], linewidth=1)
        for index, (curve, marker) in enumerate(zip(curves, MARKERS, strict=False)):
            learned = curve.learned
            colour = _COLOURS[f"series-{index}"]
            axes.fill_between(
                learned.minutes,
                learned.net - learned.half_width,
                learned.net + learned.half_width,
                color=colour,
                alpha=0.18,
                linewidth=0,
            )
            axes.plot(
                learned.minutes,
                learned.net,
                color=colour,
                linestyle=_DASHES[index],
                marker=marker,
                markersize=5,
            )
        axes.set_xlabel("minutes of training")
        axes.set_ylabel(axis)
        axes.grid(color=_COLOURS["line"], linewidth=0.8)
        axes.set_axisbelow(True)
        axes.locator_params(nbins=6)
        return _finished(figure, key, description, ())


@contextmanager
def _drawing(key: str) -> Iterator[None]:
    """Let Matplotlib draw by its own defaults, whatever a notebook has set, and the same again."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(
            {
                "axes.edgecolor": _COLOURS["muted"],
                "axes.labelcolor": _COLOURS["ink"],
                "axes.spines.right": False,
                "axes.spines.top": False,
                "font.size": FONT,
                "svg.fonttype": "none",
                "svg.hashsalt": key,
                "text.color": _COLOURS["ink"],
                "text.parse_math": False,
                "xtick.color": _COLOURS["muted"],
                "xtick.labelcolor": _COLOURS["ink"],
                "ytick.color": _COLOURS["muted"],
                "ytick.labelcolor": _COLOURS["ink"],
            }
        )
        yield


def _rows(names: Sequence[str]) -> tuple[Figure, Axes]:
    """Return axes with a row for each name, the first on top, beside room for the longest."""
    from matplotlib.figure import Figure

    left = 14 + FONT * max(map(_ems, shortened(names)))
    row, above, below = 26, 6, 42
    height = row * len(names) + above + below
    figure = Figure(figsize=(WIDTH / 72, height / 72), dpi=72)
    axes = figure.add_axes(
        (left / WIDTH, below / height, (WIDTH - left - 24) / WIDTH, row * len(names) / height)
    )
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_yticks(range(len(names)), [_label(place) for place in range(len(names))])
    axes.tick_params(axis="y", length=0)
    axes.spines["left"].set_visible(False)
    axes.grid(axis="x", color=_COLOURS["line"], linewidth=0.8)
    axes.set_axisbelow(True)
    return figure, axes


def _ems(text: str) -> float:
    """Return about how wide a text is, in heights of its letters."""
    return sum(1.0 if unicodedata.east_asian_width(one) in "WF" else 0.6 for one in text)


def _label(place: int) -> str:
    """Return what stands in a drawing for a name."""
    return f"name.{place}."


def _finished(figure: Figure, key: str, description: str, names: Sequence[str]) -> str:
    """Return a figure as an `svg` element for a page."""
    file = io.StringIO()
    nothing = dict.fromkeys(("Creator", "Date", "Format", "Type"))
    figure.savefig(file, format="svg", transparent=True, metadata=nothing)
    text = file.getvalue()
    text = text[text.index("<svg") :]
    # The page sets the size, and how lines end and meet; a style sheet in here would be its too.
    text = re.sub(r"<style.*?</style>", "", text, count=1, flags=re.DOTALL)
    box = re.search(r'viewBox="[^"]*"', text)
    assert box is not None
    opening = (
        f'<svg class="chart" role="img" aria-label="{escape(printable(description))}" {box[0]}>'
    )
    # Names of elements must differ between all charts of a page.
    body = text[text.index(">") + 1 :]
    body = re.sub(r'\bid="', f'id="{key}-', body)
    body = re.sub(r"url\(#", f"url(#{key}-", body)
    body = re.sub(r'xlink:href="#', f'href="#{key}-', body)
    for name, colour in _COLOURS.items():
        body = body.replace(colour, f"var(--{name})")
    labels = [
        f"{escape(short)}<title>{escape(printable(name))}</title>"
        for name, short in zip(names, shortened(names), strict=True)
    ]
    # In one go: a name may look like what stands for another one.
    body = re.sub(r"name\.(\d+)\.", lambda match: labels[int(match[1])], body)
    return opening + body.strip()
