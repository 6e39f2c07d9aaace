"""`chinese-ten arena`: what it prints, and that neither Ctrl-C nor kill -9 loses anything."""

from __future__ import annotations

import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from chinese_ten_env.arena.tournament import JOURNAL
from chinese_ten_env.cli import main


def test_it_prints_a_ranking_and_how_each_did_against_each(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["arena", "--policies", "random", "greedy", "--players", "3", "--deals", "60"]
    words += ["--workers", "0", "--out", str(tmp_path)]
    assert main(words) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "mainland, 3 players, seed 0" in shown
    assert shown.index("greedy") < shown.index("random")
    assert "net points of the row's policy against the column's" in shown
    assert {path.name for path in tmp_path.iterdir()} == {
        *("games.parquet", "games.sqlite", "report.html", "report.md", "summary.json")
    }


def test_policies_that_are_not_told_apart_are_said_to_be(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert main(["arena", "--policies", "greedy", "pimc:1", "--deals", "40", "--workers", "0"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "1 to 2" in shown
    assert "pimc:1 and greedy are not told apart" in shown
    assert "deals show such a difference 80 % of the time" in shown


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["greedy"], "needs two policies or more"),
        (["greedy", "gredy"], "Did you mean 'greedy'"),
        (["greedy", "random", "--players", "7"], "2 or 3 or 4 players"),
        (["greedy", "random", "--until", "-1"], "until must be a positive number"),
    ],
)
def test_wrong_arguments_are_named(
    words: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["arena", "--workers", "0", "--policies", *words]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_run_that_was_stopped_goes_on(
    how: signal.Signals, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["arena", "--policies", "greedy", "pimc:8", "random", "--deals", "400"]
    command = [sys.executable, "-m", "chinese_ten_env.cli", *words, "--workers", "2"]
    stopped = subprocess.Popen([*command, "--out", str(tmp_path / "one")], stderr=subprocess.PIPE)
    journal = tmp_path / "one" / JOURNAL
    deadline = time.monotonic() + 300
    while _parts(journal) < 3:
        assert time.monotonic() < deadline
        assert stopped.poll() is None, "it ended before it could be stopped"
        time.sleep(0.02)
    os.kill(stopped.pid, how)
    _, said = stopped.communicate(timeout=60)
    if how == signal.SIGINT:
        assert stopped.returncode == 130
        assert b"the same command goes on in" in said
    before = _parts(journal)
    assert before < 14 + 13 + 1  # a part is 32 deals with a search, 400 without
    assert main([*words, "--workers", "0", "--out", str(tmp_path / "one")]) == 0
    assert main([*words, "--workers", "0", "--out", str(tmp_path / "other")]) == 0
    capsys.readouterr()
    for name in ("games.parquet", "summary.json"):
        one, other = (tmp_path / place / name for place in ("one", "other"))
        assert one.read_bytes() == other.read_bytes()


def _parts(journal: Path) -> int:
    """Return how many parts a journal holds, which another process writes."""
    if not journal.exists():
        return 0
    base = sqlite3.connect(journal)
    try:
        return int(base.execute("SELECT count(*) FROM parts").fetchone()[0])
    except sqlite3.OperationalError:  # its tables are not there yet
        return 0
    finally:
        base.close()
