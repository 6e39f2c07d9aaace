"""The measurements beside other libraries: their loops, and what is kept of them for the README.

The other libraries themselves are only in environments that ``python -m tests.benchmarks.peers``
makes. OpenSpiel is here too, so it stands for them all.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import chinese_ten_env as ct
from chinese_ten_env.bench.measure import LeftOut, Results
from tests.benchmarks import features, peers
from tests.benchmarks.peers import INT8, OURS, PACKED, RAW, WRAPPED, Group, Loop

GO_FISH = next(loop for group in peers.GROUPS for loop in group.peers if loop.game == "go_fish")


def here(folder: Path, library: str) -> Path:
    """Stand in for the environments: all that is asked for is in this one."""
    return Path(sys.executable)


@pytest.mark.parametrize("loop", [RAW, WRAPPED, PACKED, INT8, GO_FISH], ids=str)
def test_a_loop_runs_and_says_what_it_observes(loop: Loop) -> None:
    with peers.process(Path(sys.executable), loop) as (facts, sample):
        rates = [sample(0.05) for _ in range(2)]
    assert all(rate > 100 for (rate,) in rates)
    rows = peers.read()["rows"]
    (row,) = (row for row in rows if (row["game"], row["interface"]) == (loop.game, loop.interface))
    assert (facts["observation"], facts["pinned"]) == (row["observation"], row["pinned"])
    if loop.library == OURS:
        assert facts["version"] == ct.__version__


def test_a_loop_that_fails_is_told_of_with_its_last_line() -> None:
    loop = GO_FISH._replace(arguments=json.dumps({"game": "no_such_game"}))
    with (
        pytest.raises(RuntimeError, match="no_such_game"),
        peers.process(Path(sys.executable), loop),
    ):
        raise AssertionError("it began")


def test_the_command_prints_rates_and_ratios(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(peers, "GROUPS", (Group((PACKED, RAW), [GO_FISH]),))
    monkeypatch.setattr(peers, "interpreter", here)
    assert peers.main(["--seconds", "0.05", "--repeats", "3"]) == 0
    head, *lines = (tuple(line.split("\t")) for line in capsys.readouterr().out.splitlines())
    assert head == peers.HEAD
    assert [line[0].split()[0] for line in lines] == [OURS, OURS, "OpenSpiel"]
    assert lines[0][5:] == ("-", "-", "-")
    packed, int8, aec = lines[2][5:]
    assert re.fullmatch(r"[\d.]+ \([\d.]+-[\d.]+\)", packed)
    assert re.fullmatch(r"[\d.]+ \([\d.]+-[\d.]+\)", aec)
    assert int8 == "-"


def test_what_is_incomplete_is_not_kept(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    def no_peer(folder: Path, library: str) -> Path:
        if library == OURS:
            return Path(sys.executable)
        raise LeftOut("pip install failed: no such version")

    record = tmp_path / "peers.json"
    record.write_text("of before", encoding="utf-8")
    monkeypatch.setattr(peers, "RECORD", record)
    monkeypatch.setattr(peers, "GROUPS", (Group((RAW,), [GO_FISH]),))
    monkeypatch.setattr(peers, "interpreter", no_peer)
    assert peers.main(["--seconds", "0.05", "--repeats", "1", "--readme"]) == 1
    assert "OpenSpiel, go_fish, one game: left out: pip install" in capsys.readouterr().err
    assert record.read_text(encoding="utf-8") == "of before"


def test_a_part_is_not_kept(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        peers.main(["--only", "Pgx", "--readme"])
    assert "does not go with --only" in capsys.readouterr().err


def test_an_environment_is_made_once_and_again_when_its_requirements_change(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    ran: list[tuple[str, ...]] = []

    def run(*command: str) -> None:
        ran.append(command)
        if command[1:3] == ("-m", "venv"):
            Path(command[3]).mkdir(parents=True)
        elif "rlcard==broken" in command:
            raise LeftOut("no such version")

    monkeypatch.setattr(peers, "_run", run)
    python = peers.interpreter(tmp_path, "RLCard")
    assert [command[2] for command in ran] == ["venv", "pip"]
    assert ran[1][0] == str(python)
    assert peers.interpreter(tmp_path, "RLCard") == python
    assert len(ran) == 2
    monkeypatch.setitem(peers.REQUIREMENTS, "RLCard", ("rlcard==broken",))
    for _ in range(2):  # an installation that failed is tried again
        with pytest.raises(LeftOut):
            peers.interpreter(tmp_path, "RLCard")
    assert len(ran) == 6


def test_pettingzoo_is_measured_where_we_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(peers, "_run", lambda *command: (tmp_path / OURS).mkdir(exist_ok=True))
    assert peers.interpreter(tmp_path, "PettingZoo") == peers.interpreter(tmp_path, OURS)


# --- what is kept ---------------------------------------------------------------------------


def test_the_record_is_of_all_that_is_measured_and_of_the_versions_named() -> None:
    rows = peers.read()["rows"]
    loops = {loop for group in peers.GROUPS for loop in (*group.ours, *group.peers)}
    measured = {(row["library"], row["game"], row["interface"]) for row in rows}
    assert measured == {(loop.library, loop.game, loop.interface) for loop in loops}
    assert len(rows) == len(measured)
    for row in rows:
        pins = peers.REQUIREMENTS.get(row["library"], ())
        if row["library"] != OURS and pins:
            assert row["version"] in {pin.partition("==")[2] for pin in pins}
    constraints = (peers.ROOT / "constraints.txt").read_text(encoding="utf-8")
    (pettingzoo,) = {row["version"] for row in rows if row["library"] == "PettingZoo"}
    assert f"pettingzoo=={pettingzoo}\n" in constraints


def test_ours_is_as_many_times_as_fast_as_it_is_meant_to_be() -> None:
    # Of the fastest card game of each library: the medians kept, not a measurement of this test.
    least = {
        ("PettingZoo", RAW.interface, "AEC"): 1.3,
        ("PettingZoo", WRAPPED.interface, "AEC"): 1.2,
        ("RLCard", "one game", "packed"): 50,
        ("OpenSpiel", "one game", "packed"): 10,
        ("Pgx", " games", "packed"): 50,
        ("EnvPool", " games", "packed"): 5,
        ("PufferLib", " games", "packed"): 1.2,
    }
    rows = peers.read()["rows"]
    for (library, interface, column), times in least.items():
        ratios = [
            row["ratios"][column][0]
            for row in rows
            if row["library"] == library and interface in row["interface"]
        ]
        assert ratios, library
        assert min(ratios) >= times, (library, interface, ratios)


def test_features_answer_every_question_and_are_those_of_now() -> None:
    kept = peers.read()["features"]
    assert list(kept) == list(features.LIBRARIES)
    for library, answers in kept.items():
        assert tuple(answers) == features.QUESTIONS, library
        assert all(answers.values())
    program = str(Path(str(features.__file__)))
    for library in (OURS, "OpenSpiel"):
        command = (sys.executable, program, library)
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert json.loads(done.stdout) == kept[library]


def test_the_readme_says_when_and_where_it_was_measured() -> None:
    about = peers.read()["about"]
    text = " ".join((peers.ROOT / "README.md").read_text(encoding="utf-8").split())
    assert (
        f"medians of {about['repeats']} repeats of {about['seconds']} s, on one core of an "
        f"{about['cpu']}, {about['date'][:10]}" in text
    )


def test_ratios_of_results_carry_their_spread() -> None:
    results = Results()
    results.take("a", [3.0, 1.0, 2.0])
    assert (results.values["a"], results.spreads["a"]) == (2.0, (1.0, 3.0))
