"""`chinese-ten bench`: its options, and the run."""

from __future__ import annotations

import argparse
import dataclasses
import difflib
import json
import os
import sys
import tempfile
import textwrap
import time
from pathlib import Path

from chinese_ten_env.bench import report
from chinese_ten_env.bench.cases import CASES
from chinese_ten_env.bench.measure import LeftOut, Settings, measure, select
from chinese_ten_env.bench.processes import compile_limit

SUMMARY = "measure decisions a second, start-up times, and what they are multiples of"

_DEFAULT = (0.5, 5)  # seconds and repeats: somewhat over a minute in all
_QUICK = (0.1, 3)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    parser.add_argument(
        "--limit",
        type=_file,
        metavar="PATH_TO_LIMIT_C",
        help="a C program to compile, run in turn with ours, and compare with: "
        "`limit MODE SECONDS 1 GAMES` prints a JSON object with wall_med, decisions a second, "
        "for the modes solo and api-simd",
    )
    parser.add_argument("--json", action="store_true", help="print one flat JSON object")
    parser.add_argument(
        "--quick", action="store_true", help=f"{_QUICK[1]} repeats of {_QUICK[0]} s: rough figures"
    )
    parser.add_argument(
        "--seconds", type=_seconds, metavar="S", help=f"of each repeat (default: {_DEFAULT[0]})"
    )
    parser.add_argument(
        "--repeats", type=_repeats, metavar="N", help=f"of each case (default: {_DEFAULT[1]})"
    )
    parser.add_argument(
        "--only",
        type=_name,
        nargs="+",
        metavar="NAME",
        help=f"measure only these: keys of the JSON object, or {', '.join(_groups())}",
    )


def run(options: argparse.Namespace) -> int:
    """Measure, print and return the exit status: 1 if something failed that should work here."""
    seconds, repeats = _QUICK if options.quick else _DEFAULT
    settings = Settings(
        seconds=options.seconds or seconds,
        repeats=options.repeats or repeats,
        threads=_usable_cores(),
    )
    cases = select(CASES, options.only) if options.only else list(CASES)
    about = report.facts(settings)
    start = time.perf_counter()

    def tell(line: str) -> None:
        text = textwrap.shorten(line, report.WIDTH - 9, placeholder=" ...")
        print(f"{time.perf_counter() - start:5.0f} s  {text}", file=sys.stderr)

    with tempfile.TemporaryDirectory() as folder:
        if options.limit:
            tell(f"compiling {options.limit}")
            try:
                program = compile_limit(options.limit, Path(folder))
            except LeftOut as error:
                sys.exit(f"chinese-ten bench: error: {error}")
            settings = dataclasses.replace(settings, limit=program)
        results = measure(cases, settings, tell)
    tell("done" if not results.interrupted else "interrupted")
    if options.json:
        print(json.dumps(report.flat(results, about)))
    else:
        print(report.table(cases, results, about))
    if results.interrupted:
        raise KeyboardInterrupt  # the report is out; the caller ends as after any Ctrl-C
    return int(results.failed)


def _usable_cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _groups() -> list[str]:
    return list(dict.fromkeys(case.group for case in CASES))


def _file(text: str) -> Path:
    path = Path(text)
    if not path.is_file():
        raise argparse.ArgumentTypeError(f"there is no file {text!r}")
    return path


def _seconds(text: str) -> float:
    value = _number(text)
    if not 0 < value < 3600:
        raise argparse.ArgumentTypeError(f"seconds must be above 0 and below 3600, not {text!r}")
    return value


def _repeats(text: str) -> int:
    value = _number(text)
    if value != int(value) or not 1 <= value <= 1000:
        raise argparse.ArgumentTypeError(f"repeats must be an integer from 1 to 1000, not {text!r}")
    return int(value)


def _number(text: str) -> float:
    try:
        return float(text) if float(text) < float("inf") else 0.0
    except ValueError:
        raise argparse.ArgumentTypeError(f"a number is needed, not {text!r}") from None


def _name(text: str) -> str:
    keys = {key for case in CASES for key in case.keys}
    if text not in keys and text not in _groups():
        close = difflib.get_close_matches(text, keys, n=1)
        hint = f" Did you mean {close[0]!r}?" if close else ""
        known = f"{', '.join(_groups())}, and the keys of the JSON object"
        raise argparse.ArgumentTypeError(f"unknown {text!r}; known: {known}.{hint}")
    return text
