"""The wheel holds the library and nothing else, and works where nothing else is installed."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from email.parser import Parser
from pathlib import Path

import pytest

import chinese_ten_env as ct

ROOT = Path(ct.__file__).resolve().parents[1]


def run(*command: str | Path, folder: Path) -> str:
    """Return what a command prints; fail with its output if it fails."""
    done = subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
        timeout=900,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    build = (sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder)
    run(*build, ROOT, folder=folder)
    (built,) = folder.glob("*.whl")
    return built


def test_the_wheel_holds_the_library_only(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    tops = {name.split("/")[0] for name in names}
    assert tops == {"chinese_ten_env", f"chinese_ten_env-{ct.__version__}.dist-info"}
    packed = {name for name in names if name.startswith("chinese_ten_env/")}
    sources = (ROOT / "chinese_ten_env").rglob("*.py")
    assert {path.relative_to(ROOT).as_posix() for path in sources} <= packed
    for folder in ("arena/templates", "web/page"):
        files = list((ROOT / "chinese_ten_env" / folder).iterdir())
        assert files
        assert {path.relative_to(ROOT).as_posix() for path in files} <= packed
    assert "chinese_ten_env/py.typed" in packed
    assert not [name for name in packed if "__pycache__" in name or name.endswith((".nbc", ".nbi"))]


def test_the_metadata_are_complete(wheel: Path) -> None:
    info = f"chinese_ten_env-{ct.__version__}.dist-info"
    with zipfile.ZipFile(wheel) as archive:
        metadata = Parser().parsestr(archive.read(f"{info}/METADATA").decode())
        scripts = archive.read(f"{info}/entry_points.txt").decode()
        names = archive.namelist()
    assert metadata["Name"].replace("-", "_") == "chinese_ten_env"
    assert metadata["Version"] == ct.__version__
    assert metadata["License-Expression"] == "MIT"
    assert any(name.endswith("LICENSE") for name in names)
    assert metadata["Requires-Python"] == ">=3.11"
    assert "Chinese Ten" in str(metadata.get_payload()), "the README is the long description"
    needed = {
        line.split(";")[0].rstrip("0123456789.,<>=!~ ")
        for line in metadata.get_all("Requires-Dist", [])
        if "extra ==" not in line
    }
    assert needed == {"gymnasium", "numba", "numpy", "pettingzoo"}
    assert "chinese-ten = chinese_ten_env.cli:main" in scripts


PLAY = """
import sys
import chinese_ten_env as ct

game = ct.Game(ct.make_rules("taiwan"), seed=7)
while not game.is_over:
    game.play(game.legal[0])
print(ct.__file__)
print(ct.__version__)
print(game.text, game.net)
"""


def test_the_wheel_works_in_an_environment_of_its_own(wheel: Path, tmp_path: Path) -> None:
    run(sys.executable, "-m", "venv", "venv", folder=tmp_path)
    scripts = tmp_path / "venv" / ("Scripts" if sys.platform == "win32" else "bin")
    python = scripts / "python"
    pip = (python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check")
    run(*pip, "-c", ROOT / "constraints.txt", wheel, folder=tmp_path)
    place, version, end = run(python, "-I", "-c", PLAY, folder=tmp_path).splitlines()
    assert Path(place).is_relative_to(tmp_path / "venv")
    assert version == ct.__version__
    game = ct.Game(ct.make_rules("taiwan"), seed=7)
    while not game.is_over:
        game.play(game.legal[0])
    assert end == f"{game.text} {game.net}"
    help_text = run(scripts / "chinese-ten", "--help", folder=tmp_path)
    assert "usage" in help_text.lower()
