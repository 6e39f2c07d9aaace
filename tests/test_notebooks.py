"""The notebooks run from top to bottom, and the README explains what training leaves behind."""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import nbformat
import pytest
from nbclient import NotebookClient

import chinese_ten_env as ct

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
TRAINING_NOTEBOOK = ROOT / "notebooks" / "2_train.ipynb"
README = (ROOT / "README.md").read_text(encoding="utf-8")

TRAINING = (
    "--total-steps 2048 --num-envs 64 --num-steps 16 --minibatch 1024 --epochs 1 "
    "--imitate 0 --improve 0.001 --lesson-deals 8 --evaluation-deals 20 --deals 20"
)
"""Of the notebook that trains when the tests run it: long enough to see that everything works."""

EVERY_NOTEBOOK = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)


def read_notebook(path: Path) -> Any:
    """Return a notebook."""
    return nbformat.read(path, as_version=4)


def run_notebook(notebook: Any, folder: Path) -> None:
    """Run a notebook from a folder; an error in it is an error here."""
    resources = {"metadata": {"path": str(folder)}}
    NotebookClient(notebook, timeout=300, kernel_name="python3", resources=resources).execute()


@pytest.mark.parametrize(
    "path",
    [path for path in NOTEBOOKS if path != TRAINING_NOTEBOOK],
    ids=lambda path: path.stem,
)
def test_it_runs(path: Path) -> None:
    notebook = read_notebook(path)
    run_notebook(notebook, path.parent)
    # Pictures are no outputs where Matplotlib draws for no screen.
    assert sum(bool(cell.get("outputs")) for cell in notebook.cells) >= 2


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of the run that the notebook makes when it is run in its own folder."""
    runs = tmp_path_factory.mktemp("runs")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("NOTEBOOK_TRAINING", TRAINING)
        patch.setenv("NOTEBOOK_RUNS", str(runs))
        run_notebook(read_notebook(TRAINING_NOTEBOOK), TRAINING_NOTEBOOK.parent)
    (folder,) = runs.iterdir()
    return folder


def test_the_one_that_trains_runs(run_folder: Path) -> None:
    policy = ct.make_policy(run_folder)
    games = ct.new_games(ct.make_rules("mainland"), 2, seed=0)
    ct.play(games, policy(ct.views(games), None))  # type: ignore[arg-type]  # it draws nothing
    assert json.loads((run_folder / "status.json").read_text())["state"] == "complete"


def test_the_readme_tells_what_a_run_folder_holds(run_folder: Path) -> None:
    files = [path.name for path in run_folder.iterdir()]
    assert len(files) >= 8
    for name in files:
        shown = "events.out.tfevents..." if name.startswith("events.out.tfevents") else name
        assert f"`{shown}`" in README, f"{name} is not in the README"


def test_the_readme_explains_the_logged_numbers(run_folder: Path) -> None:
    lines = (run_folder / "metrics.jsonl").read_text().splitlines()
    names = {name for line in lines for name in json.loads(line)}
    assert "net_greedy" in names
    assert not [name for name in sorted(names) if f"`{name}`" not in README]


def test_the_one_that_trains_finds_the_repository_from_its_root() -> None:
    notebook = read_notebook(TRAINING_NOTEBOOK)
    training = next(i for i, cell in enumerate(notebook.cells) if "train.main" in cell.source)
    notebook.cells = [*notebook.cells[:training], nbformat.v4.new_code_cell("import train")]
    run_notebook(notebook, ROOT)


@EVERY_NOTEBOOK
def test_it_is_kept_without_outputs(path: Path) -> None:
    notebook = read_notebook(path)
    nbformat.validate(notebook)
    for cell in notebook.cells:
        if cell.cell_type == "code":
            assert not cell.outputs
            assert cell.execution_count is None


@EVERY_NOTEBOOK
def test_it_uses_public_names_only(path: Path) -> None:
    for cell in read_notebook(path).cells:
        if cell.cell_type == "code":
            nodes = ast.walk(ast.parse(cell.source))
            names = [node.attr for node in nodes if isinstance(node, ast.Attribute)]
            assert not [name for name in names if re.match("_(?!_)", name)]
            for name in re.findall(r"\bct\.(\w+)", cell.source):
                assert name in ct.__all__, name


@EVERY_NOTEBOOK
def test_the_readme_names_it(path: Path) -> None:
    assert f"(notebooks/{path.name})" in README
