"""Compiled code is cached, never stale, and does what the Python source does."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numba
import pytest

import chinese_ten_env as ct
from chinese_ten_env import jit

ROOT = Path(ct.__file__).resolve().parents[1]
LIBRARY = ROOT / "chinese_ten_env"


def run_python(*arguments: str, folder: Path, **environment: str) -> str:
    """Return what Python prints in another process, with `folder` first on the path."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("NUMBA_", "PYTEST_", "XDG_"))
    }
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
        env={**inherited, "PYTHONPATH": str(folder), **environment},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def copy_library(folder: Path) -> Path:
    """Return a fresh copy of the package, without what has been compiled."""
    return Path(
        shutil.copytree(
            LIBRARY, folder / "chinese_ten_env", ignore=shutil.ignore_patterns("__pycache__")
        )
    )


# --- the cache ------------------------------------------------------------------------------

# `ask_for_play` of one file calls `capturing` of another, and little else has to be compiled.
ASK = """
import chinese_ten_env as ct
from chinese_ten_env import engine, jit

games = engine.blank_games(ct.make_rules("mainland", 2, capture="hand"), 1)
games["hands"][0, 0] = ct.bitboard("3H KS")
games["table"] = ct.bitboard("7D")
engine.ask_for_play(games[0], 0)
stats = engine.ask_for_play.stats
print(ct.card_names(games["legal"][0]))
print(sum(stats.cache_hits.values()), sum(stats.cache_misses.values()))
print(jit.cache_folder())
"""


def test_editing_an_imported_helper_recompiles_its_callers(tmp_path: Path) -> None:
    package = copy_library(tmp_path)
    first = run_python("-c", ASK, folder=tmp_path).splitlines()
    assert first[:2] == ["3H", "0 1"]
    folder = Path(first[2])
    assert folder.is_relative_to(package)
    compiled = {path: path.stat().st_mtime_ns for path in folder.iterdir()}
    assert any(path.suffix == ".nbc" for path in compiled)

    # The same again: loaded, not compiled, and nothing is written.
    second = run_python("-c", ASK, folder=tmp_path).splitlines()
    assert second == ["3H", "1 0", str(folder)]
    assert {path: path.stat().st_mtime_ns for path in folder.iterdir()} == compiled

    with (package / "bits.py").open("a") as helper:
        helper.write("\n\n@kernel\ndef capturing(cards):\n    return EMPTY\n")
    third = run_python("-c", ASK, folder=tmp_path).splitlines()
    assert third[:2] == ["3H KS", "0 1"]
    assert Path(third[2]) != folder


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that the cache takes for the package; the user's own folder lies beside it."""
    folder = tmp_path / "package"
    folder.mkdir()
    (folder / "a.py").write_text("A = 1\n")
    monkeypatch.setattr(jit, "_PACKAGE", folder)
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(tmp_path / "user"))
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    jit.cache_folder.cache_clear()
    return folder


@pytest.fixture(autouse=True)
def _fresh_folder() -> Any:
    """Let no test see the folder that another one found."""
    yield
    jit.cache_folder.cache_clear()


def test_the_cache_lies_beside_pythons_own(package: Path) -> None:
    folder = jit.cache_folder()
    assert folder is not None
    assert folder.is_dir()
    assert folder.parent == package / "__pycache__"


def test_an_unwritable_package_has_its_cache_at_the_users(package: Path, tmp_path: Path) -> None:
    # A file in the place of the folder keeps even an administrator from writing there.
    (package / "__pycache__").write_text("")
    folder = jit.cache_folder()
    assert folder is not None
    assert folder.is_dir()
    assert folder.parent == tmp_path / "user" / "chinese_ten_env"


def test_the_last_resort_is_a_folder_of_this_user(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (package / "__pycache__").write_text("")
    (tmp_path / "user").write_text("")
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    folder = jit.cache_folder()
    assert folder is not None
    assert folder.parent.parent == tmp_path / "temporary"
    assert folder.parent.name.startswith("chinese_ten_env-")


def test_numbas_setting_comes_first(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "numba"))
    folder = jit.cache_folder()
    assert folder is not None
    assert folder.is_relative_to(tmp_path / "numba")
    assert not (package / "__pycache__").exists()


def double(number: int) -> int:
    """Return twice a number; compiled by the tests below."""
    return 2 * number


def test_without_any_writable_place_kernels_work_uncached(
    package: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for place in (package / "__pycache__", tmp_path / "user", tmp_path / "temporary"):
        place.write_text("")
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    assert jit.cache_folder() is None
    compiled: Any = jit.kernel(double)
    assert compiled(21) == 42
    assert compiled.stats.cache_path is None


def test_another_choice_of_locators_cannot_make_the_cache_stale(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(numba.config, "CACHE_LOCATOR_CLASSES", "InTreeCacheLocator")
    compiled: Any = jit.kernel(double)
    assert compiled.stats.cache_path == str(jit.cache_folder())
    assert numba.config.CACHE_LOCATOR_CLASSES == "InTreeCacheLocator"


def test_every_edit_and_setting_has_a_place_of_its_own(
    package: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    digests = [jit._digest()]
    (package / "a.py").write_text("A = 2\n")
    digests.append(jit._digest())
    (package / "inner").mkdir()
    (package / "inner" / "b.py").write_text("")
    digests.append(jit._digest())
    (package / "inner" / "b.py").rename(package / "inner" / "c.py")
    digests.append(jit._digest())
    monkeypatch.setattr(numba.config, "BOUNDSCHECK", 1)
    digests.append(jit._digest())
    monkeypatch.setattr(numba, "__version__", "0.0.0")
    digests.append(jit._digest())
    assert len(set(digests)) == len(digests)
    (package / "notes.txt").write_text("no source")
    assert jit._digest() == digests[-1]


# --- other ways to run ----------------------------------------------------------------------


def test_rules_hold_with_checked_indices() -> None:
    run_python(
        *("-m", "pytest", "tests/test_rules.py", "-q", "-x", "-p", "no:cacheprovider"),
        folder=ROOT,
        NUMBA_BOUNDSCHECK="1",
    )


def transcript() -> str:
    """Return whole games as text: positions, legal actions, observations, ends."""
    lines = []
    for variant, players, switches in (
        ("mainland", 2, {"capture": "hand"}),
        ("taiwan", 4, {"peek": "last", "red_five_trigger": "pile"}),
        ("gob_dum_gob_dang", 3, {"match": "net", "target": 10}),
    ):
        rules = ct.make_rules(variant, players, **switches)
        game, rng = ct.Game(rules, seed=5), random.Random(5)
        while not game.is_over:
            lines.append(f"{game.text} {game.legal} {game.points}")
            lines.append(ct.observe(game.games, packed=True)[0].tobytes().hex())
            game.play(rng.choice(game.legal))
        lines.append(f"{game.text} {game.points} {game.net} {game.scores}")
        lines.append(ct.observe(game.games)[0].tobytes().hex())
    return "\n".join(lines)


def test_games_without_compilation_are_the_same() -> None:
    script = "from tests.test_jit import transcript; print(transcript())"
    assert run_python("-c", script, folder=ROOT, NUMBA_DISABLE_JIT="1").strip() == transcript()
