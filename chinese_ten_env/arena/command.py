"""`chinese-ten arena`: its options, and the run."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from chinese_ten_env.arena.crews import BACKENDS, PROCESSES, RAY
from chinese_ten_env.rules import VARIANTS, make_rules

if TYPE_CHECKING:
    from chinese_ten_env.arena.tournament import CrossPlay

SUMMARY = "let policies play each other on the same deals, and say who is better and how surely"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command."""
    add_rules(parser)
    parser.add_argument(
        "--policies",
        nargs="+",
        required=True,
        metavar="POLICY",
        help="two or more: a name, a search such as pimc:64, the folder of a run, an ONNX file",
    )
    parser.add_argument(
        "--deals", type=int, default=1000, metavar="N", help="decks, the same for all (1000)"
    )
    parser.add_argument("--seed", type=int, default=0, metavar="S", help="of the decks (0)")
    parser.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help="keep every game there; the same command goes on where it was stopped",
    )
    parser.add_argument(
        "--until",
        type=float,
        metavar="W",
        help="end before --deals when all intervals of the ranking are at most W net points wide",
    )
    parser.add_argument(
        "--regret",
        type=int,
        default=0,
        metavar="N",
        help="let the solver judge each decision of N deals, some seconds a game; two players (0)",
    )
    add_crew(parser)


def add_rules(parser: argparse.ArgumentParser) -> None:
    """Add the options that say what is played."""
    parser.add_argument(
        "--variant", default="mainland", choices=VARIANTS, help="what is played (mainland)"
    )
    parser.add_argument(
        "--players", type=int, metavar="P", help="seats; the smallest number unless given"
    )


def add_crew(parser: argparse.ArgumentParser) -> None:
    """Add the options that say who plays, and how long an answer may take."""
    parser.add_argument(
        "--workers",
        type=int,
        metavar="W",
        help="processes; 0 plays in this one (one for each core, or CPU of the cluster)",
    )
    parser.add_argument(
        "--backend",
        default=PROCESSES,
        choices=BACKENDS,
        help=f"whose processes: of this machine, or of a Ray cluster ({PROCESSES})",
    )
    parser.add_argument(
        "--address", metavar="A", help="of the Ray cluster; a new one on this machine unless given"
    )
    parser.add_argument(
        "--limit",
        type=float,
        metavar="S",
        help="seconds that a policy may take for an answer, however many views it is asked for",
    )


def crew_arguments(options: argparse.Namespace) -> dict[str, Any]:
    """Return the arguments of `cross_play` that these options give, and the command line."""
    workers = options.workers
    if workers is None:
        workers = 0 if options.backend == RAY else os.cpu_count() or 1
    return {
        "workers": workers,
        "backend": options.backend,
        "address": options.address,
        "limit": options.limit,
        "command": options.command_line,
    }


def run(options: argparse.Namespace) -> int:
    """Play, print and return the exit status: 1 if a policy failed, 2 if an argument is wrong."""
    if not has_extra():
        return 2
    from chinese_ten_env.arena.tournament import cross_play

    return play(
        lambda progress: cross_play(
            options.policies,
            rules=make_rules(options.variant, options.players),
            deals=options.deals,
            seed=options.seed,
            folder=options.out,
            until=options.until,
            regret=options.regret,
            progress=progress,
            **crew_arguments(options),
        ),
        options.out,
    )


def has_extra() -> bool:
    """Return whether what draws tables and bars is there; if not, print what to install."""
    missing = [name for name in ("rich", "tqdm") if find_spec(name) is None]
    if missing:
        print(
            f"error: {' and '.join(missing)} not found: pip install 'chinese_ten_env[arena]'",
            file=sys.stderr,
        )
        return False
    return True


def play(how: Callable[[Callable[[int, int], None]], CrossPlay], folder: Path | None) -> int:
    """Let something play that tells its progress, print what came out, return the exit status."""
    from tqdm import tqdm

    with tqdm(desc="arena", unit=" parts", disable=not sys.stderr.isatty()) as bar:

        def progress(finished: int, total: int) -> None:
            bar.total = total
            bar.update(finished - bar.n)

        try:
            result = how(progress)
        except (ValueError, ImportError, ConnectionError) as error:
            bar.close()
            print(f"error: {error}", file=sys.stderr)
            return 2
        except KeyboardInterrupt:
            bar.close()
            if folder is not None:
                print(f"stopped; the same command goes on in {folder}", file=sys.stderr)
            raise
    return show(result, folder)


def show(result: CrossPlay, folder: Path | None) -> int:
    """Print the tables of a result, and where its report is; return the exit status."""
    from rich.console import Console

    from chinese_ten_env.arena import tables
    from chinese_ten_env.arena.report import HTML

    console = Console()
    if result.ranked:
        console.print(tables.ranking(result))
        console.print(tables.matrix(result))
        if result.regrets:
            console.print(tables.regrets(result))
        for sentence in tables.doubts(result):
            console.print(sentence, markup=False, highlight=False)
    for failure in result.failures:
        console.print(failure["message"], style="bold red", markup=False, soft_wrap=True)
    if folder is not None:
        console.print(f"report: {folder / HTML}", markup=False, soft_wrap=True)
    return 1 if result.failures else 0
