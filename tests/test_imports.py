"""Dependence points one way, and importing the library loads nothing heavy."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import chinese_ten_env as ct

ROOT = Path(ct.__file__).resolve().parents[1]
LIBRARY = ROOT / "chinese_ten_env"

EXTRAS = {
    "anyio",
    "fastapi",
    "jinja2",
    "matplotlib",
    "moviepy",
    "onnx",
    "onnxruntime",
    "onnxscript",
    "open_spiel",
    "playwright",
    "pygame",
    "pyspiel",
    "ray",
    "rich",
    "sb3_contrib",
    "stable_baselines3",
    "starlette",
    "tensorboard",
    "torch",
    "tqdm",
    "tyro",
    "uvicorn",
}
"""What is imported where it is used, with an error that names the extra."""

BASE = {"gymnasium", "llvmlite", "numba", "numpy", "pettingzoo"}
"""What the library may import when it is imported; llvmlite comes with numba."""

CORE = [
    "jit",
    "cards",
    "machine",
    "bits",
    "rules",
    "engine",
    "observation",
    "text",
    "game",
    "solver",
]
"""The modules of a game, each of which may import only those before it."""

LATE = {("game", "render")}
"""A room above that a module of a game may import, but only in a function: a game shows itself."""

ABOVE = {"adapters": 1, "web": 1, "bench": 2, "cli": 2}
"""What stands above the environments, policies, arena and drawing, which are 0."""


def modules(folder: Path) -> list[Path]:
    """Return the Python files of a folder, those of its own folders too."""
    return sorted(folder.rglob("*.py"))


def module_name(path: Path) -> str:
    """Return the name under which a file is imported."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(path: Path, *, everywhere: bool = True) -> Iterator[str]:
    """Yield the full names that a file imports; unless `everywhere`, only those run at import."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    waiting: list[ast.AST] = [tree]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: imports are absolute"
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                is_module = (ROOT / full.replace(".", "/")).with_suffix(".py").exists()
                is_folder = (ROOT / full.replace(".", "/")).is_dir()
                yield full if is_module or is_folder else str(node.module)
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            waiting.extend(node.orelse)
        elif everywhere or not isinstance(
            node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
        ):
            waiting.extend(ast.iter_child_nodes(node))


def room(name: str) -> str:
    """Return the part of a module's name that stands behind ``chinese_ten_env.``."""
    return name.split(".")[1] if "." in name else ""


def level(name: str) -> int:
    """Return how high a module of the library stands; one may import only from below."""
    if room(name) in CORE:
        return CORE.index(room(name)) - len(CORE)
    return ABOVE.get(room(name), 0)


PATHS = modules(LIBRARY)
IDS = [module_name(path) for path in PATHS]
AGENT_FILES = [path for path in modules(ROOT / "agents") if path.stem != "__init__"]


@pytest.mark.parametrize("path", PATHS, ids=IDS)
def test_dependence_points_one_way(path: Path) -> None:
    name = module_name(path)
    if not room(name):
        return  # the package itself gathers the public names
    for imported in imports(path):
        if not imported.startswith("chinese_ten_env"):
            continue
        if room(name) in CORE:
            if (room(name), room(imported)) in LATE:
                assert imported not in imports(path, everywhere=False), f"{name} imports {imported}"
                continue
            assert room(imported) in CORE, f"{name} imports {imported}"
            assert level(imported) < level(name), f"{name} imports {imported}"
        elif room(imported):
            assert level(imported) <= level(name), f"{name} imports {imported}"


@pytest.mark.parametrize("path", PATHS, ids=IDS)
def test_the_library_imports_neither_agents_nor_tests(path: Path) -> None:
    roots = {imported.split(".")[0] for imported in imports(path)}
    assert not roots & {"agents", "notebooks", "tests", "train"}


@pytest.mark.parametrize("path", PATHS, ids=IDS)
def test_only_base_dependencies_are_imported_at_import_time(path: Path) -> None:
    roots = {imported.split(".")[0] for imported in imports(path, everywhere=False)}
    foreign = roots - sys.stdlib_module_names - {"chinese_ten_env"}
    if room(module_name(path)) in ("adapters", "web"):
        return  # they exist for a library that is an extra, and nothing else imports them
    assert foreign <= BASE


LOADED = """
import importlib, sys
names = sys.argv[1:]
for name in names:
    importlib.import_module(name)
print(*sorted({name.split(".")[0] for name in sys.modules}))
"""


def loaded(*names: str) -> set[str]:
    """Return the top-level packages that are loaded after these modules are imported."""
    done = subprocess.run(
        [sys.executable, "-c", LOADED, *names],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_importing_the_library_loads_no_extra() -> None:
    assert not loaded("chinese_ten_env") & (EXTRAS | {"agents", "train"})


def test_importing_every_light_module_loads_no_extra() -> None:
    light = [name for name in IDS if room(name) not in ("adapters", "web")]
    assert not loaded(*(name for name in light if not name.endswith("__main__"))) & EXTRAS


def test_agents_use_public_names_only() -> None:
    public = {*ct.__all__, "chinese_ten_v0", "__version__"}
    for path in [*modules(ROOT / "agents"), *ROOT.glob("train.py")]:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and str(node.module).startswith("chinese_ten_env"):
                names = {alias.name for alias in node.names}
                if str(node.module).startswith("chinese_ten_env.adapters."):
                    # An adapter needs its library, so the package cannot import it for its users.
                    assert not [name for name in names if name.startswith("_")]
                    continue
                assert node.module == "chinese_ten_env", f"{path.name} imports from {node.module}"
                assert names <= public, f"{path.name} imports {names - public}"
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    root, _, rest = alias.name.partition(".")
                    assert root != "chinese_ten_env" or not rest, f"{path.name}: {alias.name}"
            elif (
                isinstance(node, ast.Attribute)
                and isinstance(node.value, ast.Name)
                and node.value.id == "ct"
            ):
                assert node.attr in public, f"{path.name} uses ct.{node.attr}"


def test_public_names_exist() -> None:
    assert len(set(ct.__all__)) == len(ct.__all__)
    for name in ct.__all__:
        assert hasattr(ct, name), name


@pytest.mark.parametrize("word", ["reward", "reset", "agent"])
def test_the_engine_knows_cards_and_turns_only(word: str) -> None:
    text = (LIBRARY / "engine.py").read_text(encoding="utf-8")
    assert not re.findall(rf".*{word}.*", text, flags=re.IGNORECASE)


@pytest.mark.parametrize("name", ["engine", "observation", "text"])
def test_a_variant_is_data_and_never_a_name_that_is_tested(name: str) -> None:
    tree = ast.parse((LIBRARY / f"{name}.py").read_text(encoding="utf-8"))
    texts = {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant)}
    assert not texts & set(ct.VARIANTS)
