"""The two forms of the results: one flat object, and a table of at most 100 columns."""

from __future__ import annotations

import datetime
import math
import os
import platform
import textwrap
from collections.abc import Sequence

import numba
import numpy as np

import chinese_ten_env
from chinese_ten_env.arena.host import processor
from chinese_ten_env.bench.measure import Case, Results, Settings

WIDTH = 100

Flat = dict[str, str | int | float]


def facts(settings: Settings) -> Flat:
    """Return what else one must know to read the figures."""
    return {
        "version": chinese_ten_env.__version__,
        "numba": numba.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "cpu": processor(),
        "cores": os.cpu_count() or 1,
        "threads": settings.threads,
        "load": round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else "unknown",
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "seconds": settings.seconds,
        "repeats": settings.repeats,
    }


def flat(results: Results, about: Flat) -> Flat:
    """Return one object of numbers and strings; what is missing is named in ``left_out``."""
    missing = {key: why for key, why in results.left_out.items() if key not in results.values}
    left_out = "; ".join(f"{key}: {reason}" for key, reason in missing.items())
    numbers = {key: _rounded(value) for key, value in results.values.items()}
    return numbers | about | {"left_out": left_out}


def _rounded(value: float) -> int | float:
    four = float(f"{value:.4g}")
    return int(four) if four >= 1000 else four


def table(cases: Sequence[Case], results: Results, about: Flat) -> str:
    """Return the results as text, a line for each figure, with its ratios or why it is missing."""
    heads = ("what", "value", "ratio, or why it is missing")
    rows = [row for case in cases for row in _rows(case, results)]
    widths = [max(len(row[column]) for row in (heads, *rows)) for column in (0, 1)]
    notes = WIDTH - sum(widths) - 4
    lines = [
        *textwrap.wrap(
            "chinese_ten_env {version} with Python {python}, NumPy {numpy} and Numba {numba} on "
            "{cpu}, {cores} cores, {date}".format_map(about),
            WIDTH,
        ),
        f"Medians of {about['repeats']} repeats of {about['seconds']} s, wall time, ratios side by "
        f"side; load at the start {about['load']}",
        "",
        *_lines(heads, widths, notes),
        *_lines(("-" * widths[0], "-" * widths[1], "-" * len(heads[2])), widths, notes),
    ]
    for row in rows:
        lines += _lines(row, widths, notes)
    lines += ["", *textwrap.wrap(_legend(results), WIDTH)]
    if results.interrupted:
        lines.append("Interrupted: the figures are of the repeats before.")
    return "\n".join(lines)


def _lines(row: tuple[str, str, str], widths: Sequence[int], notes: int) -> list[str]:
    pieces = textwrap.wrap(row[2], notes) or [""]
    first = f"{row[0]:<{widths[0]}}  {row[1]:>{widths[1]}}  {pieces[0]}".rstrip()
    indent = " " * (sum(widths) + 4)
    return [first, *(indent + piece for piece in pieces[1:])]


def _rows(case: Case, results: Results) -> list[tuple[str, str, str]]:
    rows = []
    for number, figure in enumerate(case.figures):
        if figure.key not in results.values:
            rows.append((figure.what, "-", results.left_out.get(figure.key, "")))
            continue
        notes = []
        for ratio in case.ratios if number == 0 else ():
            if ratio.key in results.values:
                notes.append(f"{results.values[ratio.key]:.2f} {ratio.words}")
            elif results.left_out.get(ratio.over) is None:
                notes.append(f"no ratio: {results.left_out[ratio.key]}")
        rows.append(
            (figure.what, value_words(results.values[figure.key], figure.unit), "; ".join(notes))
        )
    return rows


def value_words(value: float, unit: str) -> str:
    """Write a figure with its unit, such as ``9.61 k/s``."""
    for size, prefix in ((1e9, "G"), (1e6, "M"), (1e3, "k"), (1.0, "")):
        if value >= size and unit == "/s":
            digits = max(0, 2 - int(math.log10(value / size)))
            return f"{value / size:.{digits}f} {prefix}{unit}"
    return f"{value:.3f} {unit}"


def _legend(results: Results) -> str:
    sizes = ""
    if "vector_bytes_per_step" in results.values:
        sizes = f" ({results.values['vector_bytes_per_step']:.0f} bytes"
        if "limit_bytes_per_step" in results.values:
            sizes += f"; C limit: {results.values['limit_bytes_per_step']:.0f}"
        sizes += ")"
    return (
        "/s: decisions a second of Chinese Ten, mainland, two players. A vector step writes int8 "
        f"observations and masks{sizes} to arrays that it reuses, in one thread, and the learner "
        "plays every seat, unless the line says otherwise. Each loop includes the random choice of "
        "a legal card, from the masks where there are any, which is always made in one thread."
    )
