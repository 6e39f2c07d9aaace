"""The `chinese-ten` command, and how `bench` measures."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import chinese_ten_env
from chinese_ten_env.bench import library, processes, report
from chinese_ten_env.bench.aec import Floor
from chinese_ten_env.bench.cases import CASES
from chinese_ten_env.bench.measure import (
    Case,
    Figure,
    LeftOut,
    Ratio,
    Results,
    Sample,
    Settings,
    measure,
    select,
)
from chinese_ten_env.chinese_ten_v0 import raw_env
from chinese_ten_env.cli import main

SETTINGS = Settings(seconds=0.01, repeats=3, threads=2)

SHORT = ("--quick", "--json", "--seconds", "0.01", "--repeats", "1")

MEASURED = [
    "engine_hand_plays_per_s",
    "engine_decisions_per_s",
    "limit_solo_hand_plays_per_s",
    "engine_limit_ratio",
    "vector_64_steps_per_s",
    "vector_1024_steps_per_s",
    "vector_4096_steps_per_s",
    "vector_16384_steps_per_s",
    "vector_4096_copy_steps_per_s",
    "vector_4096_packed_steps_per_s",
    "vector_4096_greedy_steps_per_s",
    "vector_bytes_per_step",
    "limit_api_simd_steps_per_s",
    "limit_bytes_per_step",
    "vector_limit_ratio_per_byte",
    "vector_16384_all_threads_steps_per_s",
    "vector_16384_all_threads_ratio",
    "game_decisions_per_s",
    "aec_raw_per_s",
    "aec_floor_per_s",
    "aec_raw_floor_ratio",
    "aec_wrapped_per_s",
    "leduc_aec_per_s",
    "aec_raw_leduc_ratio",
    "gym_single_per_s",
    "sb3_vec_256_steps_per_s",
    "import_s",
    "import_dependencies_s",
    "import_ratio",
    "first_reset_cold_s",
    "first_reset_warm_s",
]
FACTS = ["threads", "version", "numba", "numpy", "python", "cpu", "cores", "date", "left_out"]

# What the C yardstick prints, for its modes, without the work.
STAND_IN = """
#include <stdio.h>
#include <string.h>
int main(int argc, char **argv) {
    if (argc != 5) return 1;
    printf("{\\"wall_med\\": %d}\\n", strcmp(argv[1], "solo") ? 2000 : 1000);
    return 0;
}
"""


def output(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Run a command line that must succeed and return its standard output."""
    assert main(arguments) == 0
    return capsys.readouterr().out


def error(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    """Run a command line that argparse must refuse and return the message."""
    with pytest.raises(SystemExit) as stop:
        main(arguments)
    assert stop.value.code == 2
    return capsys.readouterr().err


def case(key: str, values: list[float | Exception | KeyboardInterrupt], *ratios: Ratio) -> Case:
    """Return a case that measures the values given, one after the other, or raises them."""

    @contextmanager
    def prepare(_: Settings) -> Iterator[Sample]:
        left = iter(values)

        def sample(seconds: float) -> tuple[float]:
            value = next(left)
            if isinstance(value, BaseException):
                raise value
            return (value,)

        yield sample

    return Case("group", (Figure(key, key),), prepare, ratios)


# --- the command line -----------------------------------------------------------------------


def test_help_lists_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["--help"])
    assert stop.value.code == 0
    assert "bench" in capsys.readouterr().out


def test_help_of_bench_names_its_options(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["bench", "--help"])
    text = capsys.readouterr().out
    for option in ("--limit", "--json", "--quick", "--seconds", "--repeats", "--only"):
        assert option in text


def test_version() -> None:
    command = (sys.executable, "-m", "chinese_ten_env.cli", "--version")
    root = Path(chinese_ten_env.__file__).parents[1]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
    assert done.stdout == f"chinese-ten {chinese_ten_env.__version__}\n"


def test_unknown_command_names_the_choices(capsys: pytest.CaptureFixture[str]) -> None:
    message = error(capsys, "bnech")
    assert "bnech" in message
    assert "'bench'" in message


def test_a_command_is_required(capsys: pytest.CaptureFixture[str]) -> None:
    assert "COMMAND" in error(capsys)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--seconds", "0"), "seconds must be above 0"),
        (("--seconds", "soon"), "a number is needed, not 'soon'"),
        (("--repeats", "1.5"), "repeats must be an integer"),
        (("--repeats", "inf"), "repeats must be an integer"),
        (("--only", "aec_raw_per_se"), "Did you mean 'aec_raw_per_s'?"),
        (("--limit", "no/such/limit.c"), "there is no file 'no/such/limit.c'"),
    ],
)
def test_bad_options_are_explained(
    capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], words: str
) -> None:
    assert words in error(capsys, "bench", *arguments)


# --- bench ----------------------------------------------------------------------------------


def test_the_promised_keys_exist_once() -> None:
    figures = [key for case in CASES for key in case.keys if key not in case.facts]
    facts = {key for case in CASES for key in case.facts}
    assert sorted([*figures, *facts]) == sorted(MEASURED)
    assert set(FACTS) <= set(report.flat(Results(), report.facts(SETTINGS)))


def test_ratios_are_of_cases_measured_in_turn() -> None:
    groups = {figure.key: case.group for case in CASES for figure in case.figures}
    for case in CASES:
        for ratio in case.ratios:
            assert groups[ratio.over] == case.group


def test_json_is_one_flat_object_of_what_was_asked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    names = ("engine", "game", "gym", "aec", "vector_4096_steps_per_s", "vector_64_steps_per_s")
    data = json.loads(output(capsys, "bench", *SHORT, "--only", *names))
    assert all(isinstance(value, (str, int, float)) for value in data.values())
    assert set(FACTS) <= set(data)
    # The yardstick was not given, and PettingZoo's card games need not be installed.
    missing = {part.split(": ")[0] for part in data["left_out"].split("; ")}
    assert {"limit_solo_hand_plays_per_s", "engine_limit_ratio"} <= missing
    assert missing <= {
        "limit_solo_hand_plays_per_s",
        "engine_limit_ratio",
        "vector_limit_ratio_per_byte",
        "leduc_aec_per_s",
        "aec_raw_leduc_ratio",
    }
    measured = {key for key in MEASURED if key.startswith(("engine", "game", "gym", "aec"))}
    measured |= {"vector_4096_steps_per_s", "vector_64_steps_per_s", "vector_bytes_per_step"}
    for key in measured - missing:
        assert data[key] > 0
    assert not {"import_s", "sb3_vec_256_steps_per_s", "vector_1024_steps_per_s"} & set(data)
    assert data["engine_decisions_per_s"] > data["engine_hand_plays_per_s"]


def test_all_forms_of_the_vector_environment_run(capsys: pytest.CaptureFixture[str]) -> None:
    data = json.loads(output(capsys, "bench", *SHORT, "--only", "vector"))
    for key in MEASURED:
        if key.startswith("vector") and key != "vector_limit_ratio_per_byte":
            assert data[key] > 0


def test_table_fits_100_columns(capsys: pytest.CaptureFixture[str]) -> None:
    text = output(capsys, "bench", *SHORT[2:], "--only", "engine", "game")
    assert "engine, random play: hand plays" in text
    assert "needs --limit PATH_TO_LIMIT_C" in text
    assert max(map(len, text.splitlines())) <= report.WIDTH

    reason = "a reason that goes on for a long time, " * 5
    missing = Results(left_out={key: reason for case in CASES for key in case.keys})
    widest = Results(values={key: 123456789.0 for case in CASES for key in case.keys})
    for results in (missing, widest):
        text = report.table(CASES, results, report.facts(SETTINGS))
        assert max(map(len, text.splitlines())) <= report.WIDTH
        for case in CASES:
            assert all(figure.what in text for figure in case.figures)


def test_table_says_the_value_the_unit_and_the_ratio() -> None:
    results = Results(values={"a": 1_234_567.0, "r": 0.456})
    cases = [case("a", [], Ratio("r", "b", "of b"))]
    lines = report.table(cases, results, report.facts(SETTINGS)).splitlines()
    assert "a     1.23 M/s  0.46 of b" in lines


# --- the yardstick --------------------------------------------------------------------------


def test_limit_is_compiled_and_compared_with(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    source = tmp_path / "limit.c"
    source.write_text(STAND_IN)
    names = ("engine_limit_ratio", "vector_limit_ratio_per_byte")
    arguments = ("bench", *SHORT, "--limit", str(source), "--only", *names)
    if not any(map(shutil.which, ("gcc", "cc"))):
        with pytest.raises(SystemExit, match="needs a C compiler"):
            main(arguments)
        return
    data = json.loads(output(capsys, *arguments))
    assert data["limit_solo_hand_plays_per_s"] == 1000
    assert data["limit_api_simd_steps_per_s"] == 2000
    # The bytes of one step: our rows and theirs of 52, and each time the mask.
    ours, theirs = data["vector_bytes_per_step"], data["limit_bytes_per_step"]
    space: Any = raw_env().observation_space("player_0")
    assert ours == sum(np.prod(part.shape) for part in space.spaces.values())
    assert theirs == 9 * 52
    assert data["engine_limit_ratio"] == pytest.approx(
        data["engine_hand_plays_per_s"] / 1000, rel=1e-3
    )
    assert data["vector_limit_ratio_per_byte"] == pytest.approx(
        data["vector_4096_steps_per_s"] * ours / (2000 * theirs), rel=1e-3
    )
    assert data["left_out"] == ""


def test_missing_compiler_is_explained(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    source = tmp_path / "limit.c"
    source.write_text(STAND_IN)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(SystemExit, match="needs a C compiler on the path: gcc or cc"):
        main(["bench", "--limit", str(source), "--only", "engine"])


def test_output_that_is_no_json_leaves_the_yardstick_out(tmp_path: Path) -> None:
    settings = Settings(0.01, 1, 1, limit=Path(shutil.which("true") or sys.executable))
    with (
        processes.limit(settings, mode="solo") as sample,
        pytest.raises(LeftOut, match="limit solo must print a JSON object with wall_med"),
    ):
        sample(0.01)


# --- measuring ------------------------------------------------------------------------------


def test_repeats_alternate_and_ratios_are_medians_of_ratios() -> None:
    order = []

    def noted(key: str, values: list[float], *ratios: Ratio) -> Case:
        inner = case(key, list(values), *ratios)

        @contextmanager
        def prepare(settings: Settings) -> Iterator[Sample]:
            with inner.prepare(settings) as sample:

                def noting(seconds: float) -> tuple[float, ...]:
                    order.append(key)
                    return sample(seconds)

                yield noting

        return Case("group", inner.figures, prepare, ratios)

    cases = [
        noted("a", [1.0, 20.0, 300.0], Ratio("r", "b", "of b", weight=2.0)),
        noted("b", [1.0, 10.0, 600.0]),
    ]
    results = measure(cases, SETTINGS)
    assert order == ["a", "b"] * 3
    # The ratios of the repeats are 1, 2 and 0.5; that of the medians would be 2.
    assert results.values == {"a": 20.0, "b": 10.0, "r": 2.0}
    assert not results.left_out


def test_a_case_that_cannot_run_is_named_with_the_reason() -> None:
    cases = [
        case("a", [1.0, 2.0, 3.0], Ratio("r", "b", "of b")),
        case("b", [1.0, LeftOut("no such thing here")]),
    ]
    results = measure(cases, SETTINGS)
    assert results.values == {"a": 2.0}
    assert results.left_out == {"b": "no such thing here", "r": "no b: no such thing here"}
    assert not results.failed


def test_a_failure_ends_its_case_only_and_is_reported() -> None:
    results = measure([case("a", [KeyError("x")]), case("b", [1.0, 2.0, 3.0])], SETTINGS)
    assert results.values == {"b": 2.0}
    assert results.left_out == {"a": "failed: KeyError: 'x'"}
    assert results.failed


def test_interrupt_keeps_what_is_measured() -> None:
    cases = [
        case("a", [1.0, 3.0], Ratio("r", "b", "of b")),
        case("b", [2.0, KeyboardInterrupt()]),
        Case("later", (Figure("c", "c"),), case("c", [1.0]).prepare),
    ]
    results = measure(cases, SETTINGS)
    assert results.interrupted
    assert results.values == {"a": 2.0, "b": 2.0, "r": 0.5}
    assert results.left_out == {"c": "interrupted"}


def test_select_takes_groups_keys_and_what_ratios_need() -> None:
    def keys(*names: str) -> list[str]:
        return [case.figures[0].key for case in select(CASES, names)]

    assert keys("game") == ["game_decisions_per_s"]
    assert keys("import") == ["import_s", "import_dependencies_s"]
    assert keys("aec_raw_floor_ratio") == ["aec_raw_per_s", "aec_floor_per_s"]
    assert keys("engine_decisions_per_s") == ["engine_hand_plays_per_s"]


def test_without_stable_baselines3_the_row_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "chinese_ten_env.adapters.sb3", raising=False)
    for name in ("stable_baselines3", "stable_baselines3.common.vec_env"):
        monkeypatch.setitem(sys.modules, name, None)
    results = measure(select(CASES, ["sb3"]), SETTINGS)
    assert "pip install 'chinese_ten_env[train]'" in results.left_out["sb3_vec_256_steps_per_s"]
    assert not results.failed


def test_choose_draws_every_legal_card_equally_often_and_no_other() -> None:
    legal = [0, 3, 4, 31, 32, 47, 48, 51]
    masks = np.zeros((8001, 52), dtype=np.int8)
    masks[:-1, legal] = 1  # the last game is over: nothing is legal
    state, cards = np.zeros(1, dtype=np.uint64), np.full(8001, -1)
    library.choose(masks, state, cards)
    assert cards[-1] == 0
    counts = np.bincount(cards[:-1], minlength=52)
    assert set(np.flatnonzero(counts)) == set(legal)
    assert np.all(abs(counts[legal] - 1000) < 5 * 30)  # five standard deviations
    before = cards.copy()
    library.choose(masks, state, cards)
    assert not np.array_equal(before, cards)


def test_floor_is_an_environment_of_the_same_shapes() -> None:
    floor: Any = Floor()
    floor.reset()
    space, order = raw_env().observation_space("player_0"), []
    for agent in floor.agent_iter():
        observation, _, terminated, _, _ = floor.last()
        floor.step(None if terminated else 0)
        if not terminated:
            order.append(agent)
        observation["action_mask"] = observation["action_mask"].astype(np.int8)
        assert space.contains(observation)
    assert order == ["player_0", "player_1"] * 15


def test_whole_processes_are_timed() -> None:
    with processes.importing(SETTINGS, modules="json") as sample:
        assert sample(0.01)[0] > 0
    with (
        pytest.raises(RuntimeError, match="no_such_module"),
        processes.importing(SETTINGS, modules="no_such_module"),
    ):
        pass


def test_first_reset_is_faster_with_kernels_cached() -> None:
    with processes.first_reset(Settings(0.01, 1, 1)) as sample:
        cold, warm = sample(0.01)
    assert 0 < warm < cold
