"""The standing leaderboard: what is added plays what is missing, and what is there stays."""

from __future__ import annotations

import json
import shutil
import sqlite3
from pathlib import Path

import pytest

import chinese_ten_env as ct
from chinese_ten_env.arena import leaderboard
from chinese_ten_env.arena.leaderboard import BOARD, Leaderboard
from chinese_ten_env.arena.tournament import JOURNAL
from chinese_ten_env.cli import main
from tests.test_onnx import VERSION, write


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let new boards begin with what is quick."""
    monkeypatch.setattr(leaderboard, "FIRST", ("random", "greedy"))


def played(folder: Path) -> dict[tuple[str, int, int], bytes]:
    """Return the parts that a folder holds, with the times that they took: whether it is they."""
    base = sqlite3.connect(folder / JOURNAL)
    rows = base.execute("SELECT lineup, start, stop, seconds FROM parts").fetchall()
    base.close()
    return {(lineup, start, stop): seconds for lineup, start, stop, seconds in rows}


def test_adding_plays_what_is_missing_and_nothing_twice(tmp_path: Path) -> None:
    board = Leaderboard(tmp_path / "board", deals=40)
    assert board.result() is None
    first = board.play()
    assert first.names == ("greedy", "random")
    before = played(tmp_path / "board")
    board = Leaderboard(tmp_path / "board")
    assert board.is_complete
    board.add("pimc:1")
    assert not board.is_complete
    second = board.play()
    after = played(tmp_path / "board")
    assert before.items() < after.items()
    assert second.names == ("greedy", "pimc:1", "random")
    fresh = ct.arena.cross_play(["random", "greedy", "pimc:1"], deals=40)
    assert second.to_dict() == fresh.to_dict()
    shown = Leaderboard(tmp_path / "board").result()
    assert shown is not None
    assert shown.to_dict() == second.to_dict()
    assert (tmp_path / "board" / "report.html").exists()


def test_files_are_copied_so_that_it_goes_on_without_them(tmp_path: Path) -> None:
    path = write(tmp_path / "mine.onnx")
    board = Leaderboard(tmp_path / "board", deals=20)
    entry = board.add(path)
    assert entry.name == "mine"
    assert board.add(path) == entry
    path.unlink()
    moved = tmp_path / "elsewhere"
    shutil.move(tmp_path / "board", moved)
    result = Leaderboard(moved).play()
    assert result.ranked == ("greedy", "mine", "random")
    other = write(tmp_path / "mine.onnx", VERSION | {"agent": "another"})
    with pytest.raises(ValueError, match="another policy named 'mine' is on the leaderboard"):
        Leaderboard(moved).add(other)
    assert Leaderboard(moved).add(other, name="mine 2").name == "mine 2"


def test_what_cannot_play_is_refused_and_nothing_changes(tmp_path: Path) -> None:
    board = Leaderboard(tmp_path / "board", "mainland", 2, deals=8)
    before = (tmp_path / "board" / BOARD).read_bytes()
    with pytest.raises(ValueError, match=r"unknown policy 'gredy'.*Did you mean 'greedy'"):
        board.add("gredy")
    (tmp_path / "bad.onnx").write_bytes(b"no network")
    with pytest.raises(ValueError, match=r"bad\.onnx"):
        board.add(tmp_path / "bad.onnx")
    with pytest.raises(KeyError, match="no policy 'x' on the leaderboard: random, greedy"):
        board.withdraw("x")
    assert (tmp_path / "board" / BOARD).read_bytes() == before
    assert not (tmp_path / "board" / "policies").exists()


def test_a_folder_is_for_one_set_of_rules_and_of_one_version(tmp_path: Path) -> None:
    Leaderboard(tmp_path / "board", "mainland", 2, deals=8, seed=3)
    with pytest.raises(ValueError, match="a leaderboard with variant 'mainland', not 'taiwan'"):
        Leaderboard(tmp_path / "board", "taiwan")
    with pytest.raises(ValueError, match="a leaderboard with seed 3, not 4"):
        Leaderboard(tmp_path / "board", seed=4)
    assert Leaderboard(tmp_path / "board").deals == 8
    assert Leaderboard(tmp_path / "board", deals=16).deals == 16
    path = tmp_path / "board" / BOARD
    path.write_text(json.dumps(json.loads(path.read_text()) | {"schema": 9}))
    with pytest.raises(ValueError, match="has version 9, and this library reads 1"):
        Leaderboard(tmp_path / "board")
    path.write_text("{")
    with pytest.raises(ValueError, match="is damaged"):
        Leaderboard(tmp_path / "board")


def test_a_withdrawn_policy_keeps_its_games(tmp_path: Path) -> None:
    board = Leaderboard(tmp_path / "board", deals=8)
    board.add("pimc:1")
    whole = board.play()
    board.withdraw("pimc:1")
    assert board.play().names == ("greedy", "random")
    before = played(tmp_path / "board")
    board.add("pimc:1")
    assert board.play().to_dict() == whole.to_dict()
    assert played(tmp_path / "board") == before


def test_the_command_prints_the_table_and_plays_only_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["leaderboard", "--folder", str(tmp_path), "--players", "3", "--workers", "0"]
    assert main([*words, "--deals", "12"]) == 0
    assert "mainland, 3 players" in capsys.readouterr().out
    before = played(tmp_path / "mainland-3")
    assert main(words) == 0
    shown = capsys.readouterr().out
    assert shown.index("greedy") < shown.index("random")
    assert played(tmp_path / "mainland-3") == before
    assert main([*words, "--add", "pimc:1"]) == 0
    assert "pimc:1" in capsys.readouterr().out
    assert before.items() < played(tmp_path / "mainland-3").items()
    assert main([*words, "--add", "greedy", "random", "--name", "x"]) == 2
    assert "--name is for one policy" in capsys.readouterr().err
    assert main([*words, "--withdraw", "nobody"]) == 2
    assert "no policy 'nobody' on the leaderboard" in capsys.readouterr().err
