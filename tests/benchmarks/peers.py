"""Random play of this library and of its peers, measured in one run, and the README's table of it.

``python -m tests.benchmarks.peers`` makes a virtual environment for each library where there is
none yet, and measures in processes that are kept to one core, in turn: ours beside each peer. What
it prints are medians, and of the ratios the least and the most of the repeats too. ``--readme``
keeps them in ``peers.json`` beside this file, from which the README's table is made.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from chinese_ten_env.bench.measure import (
    Case,
    Figure,
    LeftOut,
    Ratio,
    Results,
    Sample,
    Settings,
    measure,
)
from chinese_ten_env.bench.report import facts, value_words
from chinese_ten_env.files import write_whole
from tests.benchmarks.features import LIBRARIES, QUESTIONS

ROOT = Path(__file__).resolve().parents[2]
RECORD = Path(__file__).with_name("peers.json")
PROGRAM = Path(__file__).with_name("loops.py")

OURS = "chinese_ten_env"

REQUIREMENTS: dict[str, tuple[str, ...]] = {
    OURS: ("-c", "constraints.txt", "-e", ".[bench]"),
    "RLCard": ("rlcard==1.2.0",),
    "OpenSpiel": ("open_spiel==2.0.2",),
    "Pgx": ("pgx==2.6.0", "jax==0.10.2", "jaxlib==0.10.2"),
    "EnvPool": ("envpool==1.2.5",),
    # Newer versions have no wheel, and fetch files from elsewhere when they are built.
    "PufferLib": ("--only-binary", "pufferlib", "pufferlib==2.0.2"),
}
"""What pip is given for each virtual environment, in the root of the checkout. PettingZoo is in
ours."""

HEAD = ("library", "game", "interface", "decisions/s", "observation", "packed", "int8", "AEC")
"""Of the table: the last three are ratios of ours to the peer."""


# --- what is measured -----------------------------------------------------------------------


class Loop(NamedTuple):
    """A loop of `loops.py` with its arguments, and the words for it."""

    library: str
    game: str
    interface: str
    column: str
    """Of ours: where its ratios stand in the table. Empty for a peer."""
    name: str
    arguments: str

    def __str__(self) -> str:
        return f"{self.library}, {self.game}, {self.interface}"


def _ours(column: str, interface: str, name: str, /, **arguments: Any) -> Loop:
    return Loop(OURS, "Chinese Ten", interface, column, name, json.dumps(arguments))


def _peer(library: str, game: str, interface: str, /, **arguments: Any) -> Loop:
    return Loop(library, game, interface, "", library.lower(), json.dumps(arguments))


_BATCH = 4096
_RAW, _WRAPPED = "AEC, `raw_env`", "AEC, `env`"

PACKED = _ours(
    "packed", f"{_BATCH:,} games, packed", "chinese_ten_batch", num_envs=_BATCH, packed=True
)
INT8 = _ours("int8", f"{_BATCH:,} games, int8", "chinese_ten_batch", num_envs=_BATCH, packed=False)
RAW = _ours("AEC", _RAW, "chinese_ten_aec", wrapped=False)
WRAPPED = _ours("AEC", _WRAPPED, "chinese_ten_aec", wrapped=True)


def _pettingzoo(wrapped: bool) -> list[Loop]:
    return [
        _peer("PettingZoo", game, _WRAPPED if wrapped else _RAW, game=game, wrapped=wrapped)
        for game in ("leduc_holdem_v4", "texas_holdem_v4", "hanabi_v5")
    ]


def _singles(library: str, *games: str) -> list[Loop]:
    return [_peer(library, game, "one game", game=game) for game in games]


def _batches(library: str, *games: tuple[str, int]) -> list[Loop]:
    return [
        _peer(library, game, f"{num_envs:,} games", game=game, num_envs=num_envs)
        for game, num_envs in games
    ]


class Group(NamedTuple):
    """Loops that are measured in turn: ours, and the peers that they are compared with."""

    ours: tuple[Loop, ...]
    peers: list[Loop]


GROUPS = (
    Group((RAW,), _pettingzoo(wrapped=False)),
    Group((WRAPPED,), _pettingzoo(wrapped=True)),
    Group((PACKED, INT8, RAW), _singles("RLCard", "uno", "leduc-holdem", "gin-rummy")),
    Group(
        (PACKED, INT8, RAW),
        _singles("OpenSpiel", "go_fish", "crazy_eights", "spades", "hearts", "gin_rummy"),
    ),
    Group(
        (PACKED, INT8),
        _batches(
            "Pgx",
            ("bridge_bidding", 256),
            ("bridge_bidding", 4096),
            ("sparrow_mahjong", 256),
            ("sparrow_mahjong", 4096),
        ),
    ),
    Group(
        (PACKED, INT8),
        _batches(
            "EnvPool", ("Blackjack-v1", 4096), ("KuhnPoker-v1", 256), ("SparrowMahjong-v1", 256)
        ),
    ),
    Group(
        (PACKED, INT8),
        [
            _peer("PufferLib", "triple triad", f"{num_envs:,} games, no masks", num_envs=num_envs)
            for num_envs in (256, 1024, 4096)
        ],
    ),
)


# --- environments and processes -------------------------------------------------------------


def interpreter(folder: Path, library: str) -> Path:
    """Return a Python that has the library; install it in `folder` if it is not as it should be."""
    environment = library if library in REQUIREMENTS else OURS
    place = folder / environment
    python = place / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    stamp = place / "installed.json"
    wanted = json.dumps([sys.version, str(ROOT), *REQUIREMENTS[environment]])
    if stamp.is_file() and stamp.read_text(encoding="utf-8") == wanted:
        return python
    shutil.rmtree(place, ignore_errors=True)
    _run(sys.executable, "-m", "venv", str(place))
    _run(str(python), "-m", "pip", "install", "-q", *REQUIREMENTS[environment])
    stamp.write_text(wanted, encoding="utf-8")  # last, so that half an installation does not count
    return python


def _run(*command: str) -> None:
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if done.returncode:
        errors = [line for line in done.stderr.splitlines() if line.startswith("ERROR")]
        reason = (errors or [f"exit status {done.returncode}"])[0]
        raise LeftOut(f"{' '.join(command[1:])} failed: {reason}")


@contextmanager
def process(python: Path, loop: Loop) -> Iterator[tuple[dict[str, Any], Sample]]:
    """Yield what a loop says of itself, in a process of its own, and a sample of its rate."""
    command = (str(python), str(PROGRAM), loop.name, loop.arguments)
    pipe = subprocess.PIPE
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as errors,
        subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=errors, text=True) as child,
    ):
        assert child.stdin is not None
        assert child.stdout is not None
        questions, answers = child.stdin, child.stdout

        def read() -> dict[str, Any]:
            line = answers.readline()
            if not line:
                status = child.wait()
                errors.seek(0)
                named = re.findall(r"^[\w.]+(?:Error|Exception)\b.*$", errors.read(), re.MULTILINE)
                raise RuntimeError(named[-1] if named else f"exit status {status}")
            answer: dict[str, Any] = json.loads(line)
            return answer

        def sample(seconds: float) -> tuple[float]:
            print(seconds, file=questions, flush=True)
            return (float(read()["rate"]),)

        try:
            yield read(), sample
        finally:
            child.kill()


def features(folder: Path) -> dict[str, dict[str, str]]:
    """Return what each library answers of `features.QUESTIONS`."""
    program = str(Path(__file__).with_name("features.py"))
    answers = {}
    for library in LIBRARIES:
        command = (str(interpreter(folder, library)), program, library)
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        answers[library] = json.loads(done.stdout)
    return answers


# --- measuring ------------------------------------------------------------------------------


Facts = dict[Loop, dict[str, Any]]
"""What each loop says of itself."""


def cases(groups: Sequence[Group], folder: Path, found: Facts) -> list[Case]:
    """Return what is measured; `found` is filled when the loops begin."""
    listed = []
    for number, group in enumerate(groups):
        for loop in (*group.ours, *group.peers):
            peers = group.peers if loop in group.ours else []
            listed.append(
                Case(
                    f"{number}: {group.peers[0].library}",
                    (Figure(_key(number, loop), str(loop)),),
                    partial(_sample, folder=folder, loop=loop, found=found),
                    tuple(
                        Ratio(_key(number, peer, over=loop), _key(number, peer), "times")
                        for peer in peers
                    ),
                )
            )
    return listed


def _key(group: int, loop: Loop, over: Loop | None = None) -> str:
    # Ours are measured again in each group.
    return f"{group}: {f'{over} / ' if over else ''}{loop}"


@contextmanager
def _sample(_: Settings, folder: Path, loop: Loop, found: Facts) -> Iterator[Sample]:
    with process(interpreter(folder, loop.library), loop) as (facts_of_loop, sample):
        found[loop] = facts_of_loop
        yield sample


def rows(groups: Sequence[Group], results: Results, found: Facts) -> list[dict[str, Any]]:
    """Return a row for each loop: ours, each over all groups, then the peers with the ratios."""
    rates: dict[Loop, list[float]] = {}
    ratios: dict[Loop, dict[str, list[float]]] = {}
    for number, group in enumerate(groups):
        for loop in (*group.ours, *group.peers):
            if (rate := results.values.get(_key(number, loop))) is not None:
                rates.setdefault(loop, []).append(rate)
        for peer in group.peers:
            for loop in group.ours:
                key = _key(number, peer, over=loop)
                if key in results.values:
                    three = [results.values[key], *results.spreads[key]]
                    ratios.setdefault(peer, {})[loop.column] = [float(f"{x:.3g}") for x in three]
    return [
        {
            "library": loop.library,
            "version": found[loop]["version"],
            "game": loop.game,
            "interface": loop.interface,
            "observation": found[loop]["observation"],
            "pinned": found[loop]["pinned"],
            "rate": float(f"{statistics.median(rates[loop]):.4g}"),
            "ratios": ratios.get(loop, {}),
        }
        for loop in sorted(rates, key=lambda loop: loop.library != OURS)
    ]


def read() -> dict[str, Any]:
    """Return what ``--readme`` kept."""
    record: dict[str, Any] = json.loads(RECORD.read_text(encoding="utf-8"))
    return record


def table(record: dict[str, Any]) -> list[tuple[str, ...]]:
    """Return the cells of the table, without its head."""
    return [
        (
            f"{row['library']} {row['version']}",
            row["game"],
            row["interface"],
            value_words(row["rate"], "/s").removesuffix("/s"),
            row["observation"],
            *(_ratio(row["ratios"].get(column)) for column in HEAD[-3:]),
        )
        for row in record["rows"]
    ]


def feature_table(record: dict[str, Any]) -> list[tuple[str, ...]]:
    """Return the cells of the table of features, with its head: a column for each library."""
    answers = record["features"]
    lines = [(question, *(answers[name][question] for name in answers)) for question in QUESTIONS]
    return [("what", *answers), *lines]


def _ratio(three: Sequence[float] | None) -> str:
    if three is None:
        return "-"
    middle, least, most = (f"{x:.2f}" if x < 10 else f"{x:.0f}" for x in three)
    return f"{middle} ({least}-{most})"


# --- the command ----------------------------------------------------------------------------


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, print the table, and keep it if asked; return the exit status."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.peers", description=__doc__)
    libraries = list(dict.fromkeys(group.peers[0].library for group in GROUPS))
    parser.add_argument(
        "--environments",
        type=Path,
        default=ROOT / "build" / "peers",
        metavar="FOLDER",
        help="where the virtual environments are made (default: build/peers)",
    )
    parser.add_argument("--only", nargs="+", choices=libraries, help="these peers alone")
    parser.add_argument("--seconds", type=float, default=0.5, help="of each repeat (default: 0.5)")
    parser.add_argument("--repeats", type=int, default=15, help="of each loop (default: 15)")
    parser.add_argument(
        "--readme", action="store_true", help="keep the result, for the table of the README"
    )
    options = parser.parse_args(arguments)
    if options.seconds <= 0 or options.repeats < 1:
        parser.error("--seconds must be above 0, and --repeats 1 or more")
    if options.readme and options.only:
        parser.error("--readme keeps all peers of one run, so it does not go with --only")
    groups = [group for group in GROUPS if group.peers[0].library in (options.only or libraries)]
    settings = Settings(seconds=options.seconds, repeats=options.repeats, threads=1)
    about, found, start = facts(settings), Facts(), time.perf_counter()

    def tell(line: str) -> None:
        library = line.split(":")[1]
        print(f"{time.perf_counter() - start:5.0f} s {library}", file=sys.stderr)

    results = measure(cases(groups, options.environments, found), settings, tell)
    measured = {"about": about, "rows": rows(groups, results, found)}
    print("\t".join(HEAD))
    for row in table(measured):
        print("\t".join(row))
    missing = {key: why for key, why in results.left_out.items() if " / " not in key}
    for key, why in missing.items():
        print(f"{key}: left out: {why}", file=sys.stderr)
    if results.interrupted:
        return 130
    if missing:
        return 1
    if options.readme:
        measured["features"] = features(options.environments)
        write_whole(RECORD, json.dumps(measured, indent=1) + "\n")
        print(f"kept in {RECORD}; python -m tests.test_docs writes the README", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main())
