"""The README: every example runs, every table equals the code.

``python -m tests.test_docs`` writes the tables of the README anew from the code. Columns that
people write stay; the rest of the file is not touched.
"""

from __future__ import annotations

import ast
import dataclasses
import doctest
import importlib
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import pytest

import chinese_ten_env as ct
import train
from agents import zoo
from chinese_ten_env import chinese_ten_v0, cli, observation
from chinese_ten_env.arena import export
from chinese_ten_env.chinese_ten_v0 import STATE_SHAPE
from chinese_ten_env.rules import (
    CHOICES,
    DEFAULT_TARGETS,
    MAX_LEVY,
    MAX_TARGET,
    SWITCHES,
    Rules,
)
from tests.benchmarks import peers

ROOT = Path(__file__).resolve().parents[1]
README = ROOT / "README.md"
TEXT = README.read_text(encoding="utf-8")


# --- examples -------------------------------------------------------------------------------


class Block(NamedTuple):
    """A fenced block of the README."""

    language: str
    line: int
    """Of its first line in the file, counted from 1."""
    code: str


def blocks(*languages: str) -> list[Block]:
    """Return the blocks in these languages, in order."""
    found = []
    for match in re.finditer(r"^```(\w*)\n(.*?)^```$", TEXT, flags=re.MULTILINE | re.DOTALL):
        line = TEXT[: match.start(2)].count("\n") + 1
        found.append(Block(match[1], line, match[2]))
    return [block for block in found if block.language in languages]


def block_id(block: Block) -> str:
    """Name a block for pytest."""
    return f"line-{block.line}"


def test_every_block_is_of_a_kind_that_is_tested() -> None:
    # Measured tables stand as "text", and nothing else does.
    assert len(blocks("pycon", "python", "sh", "text")) == TEXT.count("\n```") // 2
    assert len(blocks("text")) == 2
    assert len(blocks("pycon")) >= 8
    assert len(blocks("python")) >= 2


@pytest.mark.parametrize("block", blocks("pycon"), ids=block_id)
def test_sessions_give_what_is_printed(
    block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    session = doctest.DocTestParser().get_doctest(
        block.code, {}, block_id(block), str(README), block.line - 1
    )
    assert session.examples
    output: list[str] = []
    runner = doctest.DocTestRunner(optionflags=doctest.IGNORE_EXCEPTION_DETAIL)
    runner.run(session, out=output.append)
    assert not output, "".join(output)


@pytest.mark.parametrize("block", blocks("python"), ids=block_id)
def test_programs_run(block: Block, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # some write files
    # Padding lets a traceback name the line of the README.
    code = "\n" * (block.line - 1) + block.code
    exec(compile(code, README, "exec"), {"__name__": "__main__"})


def test_the_first_block_plays_a_game_in_six_lines() -> None:
    first = blocks("pycon")[0]
    assert len([line for line in first.code.splitlines() if line[:4] in (">>> ", "... ")]) <= 6
    assert "import chinese_ten_env as ct" in first.code


# --- tables ---------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class Table:
    """A table that follows from the code, all but its last column if people write that one."""

    head: tuple[str, ...]
    rows: list[tuple[str, ...]]
    written: bool = False
    """Whether the last column is people's; `rows` are without it."""


def in_code(value: object) -> str:
    """Write a value as code."""
    return f"`{value}`"


def words(values: Any) -> str:
    """Write values as code, divided by commas."""
    return ", ".join(in_code(value) for value in values)


def yes(flag: bool) -> str:
    """Write a flag."""
    return "yes" if flag else "no"


def strings_under(module: ModuleType, name: str) -> dict[str, str]:
    """Return the string under each name that the body of a class sets, empty where there is none.

    They are not kept at run time, so they are read from the source.
    """
    tree = ast.parse(Path(str(module.__file__)).read_text(encoding="utf-8"))
    (found,) = (n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == name)
    strings: dict[str, str] = {}
    last = ""
    for node in found.body:
        if isinstance(node, ast.AnnAssign | ast.Assign):
            target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0]
            last = ast.unparse(target)
            strings[last] = ""
        elif last and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            strings[last] = " ".join(str(node.value.value).replace("``", "`").split())
    return strings


def features() -> Table:
    """The rows of an observation."""
    strings = strings_under(observation, "Feature")
    rows: list[tuple[str, ...]] = []
    group = ""
    for feature in ct.Feature:
        text = strings[feature.name]
        stem, _, place = feature.name.rpartition("_")
        if not text and place.isdigit() and stem == group:
            seats = "seat" if place == "1" else "seats"
            text = f"the same of the player {place} {seats} on"
        rows.append((str(int(feature)), in_code(feature.name), text))
        group = stem
    return Table(("row", "name", "meaning"), rows)


def par(rules: Rules) -> str:
    """Write par without rounding."""
    whole, rest = divmod(rules.exact_par, 1)
    return f"{whole} {rest}" if rest else str(whole)


def variants() -> Table:
    """The facts of every variant and number of players."""
    rows: list[tuple[str, ...]] = []
    for variant in ct.VARIANTS.values():
        for players, rules in variant.tables.items():
            special = [f"{name} {points}" for name, points in rules.special_points]
            match = f"{variant.match} to {DEFAULT_TARGETS[variant.match]}"
            rows.append(
                (
                    in_code(variant.name),
                    str(players),
                    ", ".join([rules.scoring, *special]),
                    str(rules.total),
                    par(rules),
                    "dealer" if rules.leader == "dealer" else "next seat",
                    yes(rules.sweep_reverses),
                    "nobody" if rules.peek == "none" else rules.peek,
                    str(rules.red_five_levy or "no"),
                    match,
                )
            )
    head = ("variant", "players", "points", "total", "par", "leader", "sweep reverses", "peek")
    return Table((*head, "red-five levy", "usual match"), rows)


def switches() -> Table:
    """The switches of `make_rules`, their values and defaults."""
    tables = [rules for variant in ct.VARIANTS.values() for rules in variant.tables.values()]
    numbers = {
        "sweep_reverses": "`False`, `True`",
        "red_five_levy": f"0 to {MAX_LEVY}",
        "target": f"1 to {MAX_TARGET}",
    }
    rows: list[tuple[str, ...]] = []
    for name in SWITCHES:
        values = words(CHOICES[name]) if name in CHOICES else numbers[name]
        defaults = {getattr(ct.make_rules(r.variant, r.num_players), name) for r in tables}
        default = "by variant"
        if name == "target":
            default = "by `match`"
        elif len(defaults) == 1:
            default = in_code(*defaults)
        rows.append((in_code(name), values, default))
    return Table(("switch", "values", "default", "meaning"), rows, written=True)


def record() -> Table:
    """The fields of a game's record and their types."""
    rows: list[tuple[str, ...]] = []
    for name in ct.GAME.names or ():
        base, shape = ct.GAME[name].base, ct.GAME[name].shape
        rows.append((in_code(name), " ".join([base.name, *(f"[{n}]" for n in shape)])))
    return Table(("field", "type", "meaning"), rows, written=True)


def options(module: ModuleType, name: str) -> Table:
    """The fields of a dataclass as options of ``train.py fit``, with the strings under them."""
    strings = strings_under(module, name)
    rows: list[tuple[str, ...]] = []
    for field in dataclasses.fields(getattr(module, name)):
        value: Any = field.default
        big = isinstance(value, int) and not isinstance(value, bool) and value >= 10_000
        shown = "" if value is None else in_code(f"{value:_}" if big else value)
        rows.append((in_code("--" + field.name.replace("_", "-")), shown, strings[field.name]))
    return Table(("option", "default", "meaning"), rows)


def settings(agent: str) -> Table:
    """The settings of an agent."""
    return options(importlib.import_module(f"agents.{agent}"), "Config")


def columns(meanings: dict[str, str]) -> Table:
    """The columns of a file of an arena."""
    return Table(("column", "meaning"), [(in_code(name), text) for name, text in meanings.items()])


class Library(NamedTuple):
    """A library that the tests use as its users do."""

    name: str
    package: str
    """As it is installed."""
    module: str
    """As it is imported."""
    constraints: str
    """The file with the version."""
    command: str
    tested: str
    files: tuple[str, ...]


LIBRARIES = (
    Library(
        "PettingZoo",
        "pettingzoo",
        "pettingzoo",
        "constraints.txt",
        "make test",
        "`env`, `raw_env`, `make`; its `api_test` and `seed_test`",
        ("tests/test_aec.py",),
    ),
    Library(
        "Gymnasium",
        "gymnasium",
        "gymnasium",
        "constraints.txt",
        "make test",
        "`make`, `check_env`; `make_vec` native, sync and async, with the same episodes; wrappers",
        ("tests/test_gym_env.py", "tests/test_vector_env.py", "tests/test_vectorization_modes.py"),
    ),
    Library(
        "Stable-Baselines3",
        "stable-baselines3",
        "stable_baselines3",
        "constraints.txt",
        "make test",
        "`check_env`; the native `VecEnv`; `SubprocVecEnv` with spawn, also in `Monitor`",
        ("tests/test_gym_env.py", "tests/test_sb3.py"),
    ),
    Library(
        "sb3-contrib",
        "sb3-contrib",
        "sb3_contrib",
        "constraints.txt",
        "make test",
        "MaskablePPO learns in all of these, 200,000 steps in one; `MaskableEvalCallback`",
        ("tests/test_sb3.py",),
    ),
    Library(
        "CleanRL, a script in its manner",
        "torch",
        "torch",
        "constraints.txt",
        "make test",
        "PPO with masks in one file, `tests/cleanrl_ppo.py`, learns on `make_vec`",
        ("tests/test_cleanrl.py",),
    ),
    Library(
        "RLlib",
        "ray",
        "ray",
        "constraints-ray.txt",
        "make test-ray",
        "`ChineseTenMultiAgentEnv` and `MaskingModule`; PPO learns, alone and on a cluster",
        ("tests/ray/test_rllib_env.py", "tests/ray/test_rllib_agent.py"),
    ),
    Library(
        "OpenSpiel",
        "open-spiel",
        "pyspiel",
        "constraints.txt",
        "make test",
        "the game `python_chinese_ten`; its algorithms and exact exploitability on small decks",
        ("tests/test_openspiel.py",),
    ),
    Library(
        "TorchRL",
        "torchrl",
        "torchrl",
        "constraints-libraries.txt",
        "make test-libraries",
        "`PettingZooWrapper` with masks: `check_env_specs`, rollouts, PPO with a `Collector`",
        ("tests/libraries/test_torchrl.py",),
    ),
    Library(
        "Tianshou",
        "tianshou",
        "tianshou",
        "constraints-libraries.txt",
        "make test-libraries",
        "`PettingZooEnv` in a `DummyVectorEnv`: random agents, DQN with its trainer",
        ("tests/libraries/test_tianshou.py",),
    ),
    Library(
        "SuperSuit",
        "supersuit",
        "supersuit",
        "constraints-libraries.txt",
        "make test-libraries",
        "wrappers of both environments; which fit, and what the others say",
        ("tests/libraries/test_supersuit.py",),
    ),
    Library(
        "AgileRL",
        "agilerl",
        "agilerl",
        "constraints-agilerl.txt",
        "make test-agilerl",
        "its trainers with PPO and DQN on the native vector environment",
        ("tests/agilerl/test_agilerl.py",),
    ),
)


def version_of(library: Library) -> str:
    """Return the version that the tests run with."""
    lines = (ROOT / library.constraints).read_text(encoding="utf-8")
    (version,) = re.findall(rf"^{library.package}==(\S+)$", lines, flags=re.MULTILINE)
    return str(version)


def libraries() -> Table:
    """The libraries, their versions and what is tested."""
    rows: list[tuple[str, ...]] = [
        (
            library.name,
            f"PyTorch {version_of(library)}" if library.package == "torch" else version_of(library),
            library.tested,
            words(library.files),
            in_code(library.command),
        )
        for library in LIBRARIES
    ]
    return Table(("library", "version", "what is tested", "tests", "command"), rows)


def peers_table() -> Table:
    """What was measured last beside other libraries."""
    return Table(peers.HEAD, peers.table(peers.read()))


def offers() -> Table:
    """What this and other libraries said of themselves then."""
    head, *rows = peers.feature_table(peers.read())
    return Table(head, rows)


TABLES: dict[str, Callable[[], Table]] = {
    "libraries": libraries,
    "peers": peers_table,
    "offers": offers,
    "variants": variants,
    "switches": switches,
    "features": features,
    "record": record,
    "fit": partial(options, train, "Fit"),
    "games of an arena": partial(columns, export.COLUMNS),
    "regrets of an arena": partial(columns, export.REGRET_COLUMNS),
    "zoo": lambda: Table(zoo.HEAD, zoo.table(zoo.read_lines())),
    "commands of the zoo": lambda: Table(("variant", "players", "trained by"), zoo.commands()),
    **{f"settings of {agent}": partial(settings, agent) for agent in train.AGENTS},
}
"""By the name in the marker, a comment in the line above the table."""


def place_of(name: str, text: str) -> tuple[int, int]:
    """Return where the lines of a table begin and end, behind its marker."""
    marker = f"<!-- table: {name} -->\n"
    assert text.count(marker) == 1, f"one line {marker!r} is needed in the README"
    start = text.index(marker) + len(marker)
    end = start
    for line in text[start:].splitlines(keepends=True):
        if not line.startswith("|"):
            break
        end += len(line)
    return start, end


def cells(line: str) -> tuple[str, ...]:
    """Return the cells of a line of a table."""
    return tuple(cell.strip() for cell in line.strip().strip("|").split("|"))


def table_lines(name: str, text: str) -> str:
    """Return the lines of a table as they should be; a written column as it is in `text`."""
    table = TABLES[name]()
    start, end = place_of(name, text)
    written = {row[0]: row[-1] for row in map(cells, text[start:end].splitlines()) if row}
    rows = [table.head, ("---",) * len(table.head)]
    for row in table.rows:
        rows.append((*row, written.get(row[0], "")) if table.written else row)
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


@pytest.mark.parametrize("name", TABLES)
def test_tables_equal_the_code(name: str) -> None:
    start, end = place_of(name, TEXT)
    expected = table_lines(name, TEXT)
    assert TEXT[start:end] == expected, (
        f"the table {name!r} is out of date; `python -m tests.test_docs` writes:\n{expected}"
    )
    assert all(all(row[:1] + row[2:]) for row in map(cells, expected.splitlines())), expected


def test_no_table_is_left_untested() -> None:
    assert sorted(re.findall(r"<!-- table: ([\w ]+) -->", TEXT)) == sorted(TABLES)


def test_the_specification_gives_the_right_numbers() -> None:
    features, cards = observation.OBSERVATION_SHAPE
    assert f"`Discrete({cards})`" in TEXT
    assert f"`Box` int8 [{features}, {cards}]" in TEXT
    assert f"uint64 [{features}]" in TEXT
    assert f"int8 [{STATE_SHAPE[0]}, {STATE_SHAPE[1]}]" in TEXT
    assert f"{8 * features} bytes instead of {features * cards:,}" in TEXT
    counts = {count for variant in ct.VARIANTS.values() for count in variant.num_players}
    assert f"| players | {min(counts)} to {max(counts)}," in TEXT
    version = chinese_ten_v0.METADATA["name"].rpartition("_")[2]
    assert re.search(rf"^- {version}: ", TEXT, flags=re.MULTILINE)


def test_rules_are_numbered_without_gaps() -> None:
    numbers = re.findall(r"^\*\*R(\d+)\. ", TEXT, flags=re.MULTILINE)
    assert numbers == [str(number) for number in range(1, 13)]


# --- commands, paths and links --------------------------------------------------------------


def spans() -> Iterator[str]:
    """Yield what is written as code within the text, blocks left out."""
    text = re.sub(r"^```.*?^```$", "", TEXT, flags=re.MULTILINE | re.DOTALL)
    yield from re.findall(r"`([^`\n]+)`", text)


def commands() -> str:
    """Return all commands that the README names, one a line."""
    lines = [line.partition("#")[0] for block in blocks("sh") for line in block.code.splitlines()]
    return "\n".join([*lines, *spans()])


def test_make_targets_exist() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    named = set(re.findall(r"^make ([a-z-]+)", commands(), flags=re.MULTILINE))
    assert named >= {"train", "test", "test-ray", "docs", "bench"}
    assert named >= {"test-libraries", "test-agilerl", "test-oldest"}
    assert named <= set(re.findall(r"^([a-z-]+):", makefile, flags=re.MULTILINE))


def test_commands_of_train_exist(capsys: pytest.CaptureFixture[str]) -> None:
    named = set(re.findall(r"^python train\.py ([a-z-]+)", commands(), flags=re.MULTILINE))
    assert named == {
        *("fit", "evaluate", "resume", "export"),
        *("best-response", "publish", "measure-pretrained"),
    }
    for name in named:
        used = re.findall(rf"^python train\.py {name}\b *(.*)$", commands(), flags=re.MULTILINE)
        for options in used:
            agent = re.findall(r"--agent \w+", options)
            with pytest.raises(SystemExit) as end:
                train.main([name, *" ".join(agent).split(), "--help"])
            assert end.value.code == 0
            shown = capsys.readouterr().out
            for option in re.findall(r"--[a-z-]+", options):
                assert option in shown


def test_commands_of_chinese_ten_exist(capsys: pytest.CaptureFixture[str]) -> None:
    named = set(re.findall(r"^chinese-ten ([a-z]+)", commands(), flags=re.MULTILINE))
    assert named == set(cli.COMMANDS)
    with pytest.raises(SystemExit):
        cli.main(["bench", "--help"])
    shown = capsys.readouterr().out
    for option in ("--json", "--quick", "--only"):
        assert option in TEXT
        assert option in shown


def test_the_four_checks_are_those_of_ci() -> None:
    checks = next(block for block in blocks("sh") if block.code.startswith("ruff"))
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    steps = re.findall(r"^step (.*)$", script, flags=re.MULTILINE)
    first = steps.index("ruff check")
    assert steps[first : first + 4] == checks.code.splitlines()
    assert "step pip install -c constraints.txt -e '.[train,dev]'" in script
    assert "pip install -c constraints.txt -e '.[train,dev]'" in commands()


def test_the_checks_with_ray_are_those_of_ci() -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    (install,) = re.findall(
        r"^step (pip install -c constraints-ray\.txt .*)$", script, re.MULTILINE
    )
    assert install in makefile
    assert f".venv-ray/bin/{install}" in commands()
    assert "step python -m pytest tests/ray -n 2" in script
    assert "python -m pytest tests/ray -n 2" in makefile


def test_the_floors_are_what_the_oldest_versions_are() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        needs = tomllib.load(file)["project"]["dependencies"]
    floors = dict(re.findall(r"^(\w+)>=([\d.]+)", "\n".join(needs), flags=re.MULTILINE))
    assert len(floors) == len(needs)
    oldest = (ROOT / "constraints-oldest.txt").read_text(encoding="utf-8")
    for package, floor in floors.items():
        (version,) = re.findall(rf"^{package}==(\S+)$", oldest, flags=re.MULTILINE)
        assert re.fullmatch(rf"{re.escape(floor)}(\.0)*", version), package
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    install = "pip install -c constraints-oldest.txt -e '.[core]'"
    assert install in script
    assert install in makefile
    assert "python -m pytest -n auto @tests/core.txt" in script
    assert "python -m pytest -n auto @tests/core.txt" in makefile


def test_every_test_is_listed_that_needs_no_pytorch() -> None:
    heavy = {"agents", "sb3_contrib", "stable_baselines3", "torch", "train"}

    def needs_training(path: Path) -> bool:
        tree = ast.parse(path.read_text(encoding="utf-8"))
        for node in ast.walk(tree):
            names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            if isinstance(node, ast.ImportFrom):
                names = [str(node.module)]
            for name in names:
                beside = ROOT.joinpath(*name.split(".")).with_suffix(".py")
                if name.split(".")[0] in heavy:
                    return True
                if name.startswith("tests.") and beside.exists() and needs_training(beside):
                    return True
        return False

    lists = [(ROOT / "tests" / name).read_text(encoding="utf-8") for name in LISTS]
    listed = [line for text in lists for line in text.splitlines()]
    files = (ROOT / "tests").glob("test_*.py")
    light = {f"tests/{path.name}" for path in files if not needs_training(path)}
    light -= {"tests/test_notebooks.py"}  # one of the notebooks trains
    assert sorted(listed) == sorted(light)


LISTS = ("core.txt", "extras.txt")


def test_the_reference_is_made_without_a_warning(tmp_path: Path) -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    variables = dict(re.findall(r"^(\w+) := ((?:.*\\\n)*.*)$", makefile, flags=re.MULTILINE))
    prefixed = re.sub(
        r"\$\(addprefix ([\w.]+),([^)]*)\)",
        lambda match: " ".join(match[1] + name for name in match[2].replace("\\", " ").split()),
        variables["DOCUMENTED"],
    )
    command = [sys.executable, *shlex.split(variables["WARNINGS"]), "-m", "pdoc"]
    ended = subprocess.run(
        [*command, "-o", str(tmp_path), *prefixed.split()],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    for name in prefixed.split():
        assert tmp_path.joinpath(*name.split(".")).with_suffix(".html").exists(), name


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library.name)
def test_a_library_of_the_table_is_used_by_its_tests(library: Library) -> None:
    for name in library.files:
        text = (ROOT / name).read_text(encoding="utf-8")
        assert re.search(r"^def test_", text, flags=re.MULTILINE), name
    files = [ROOT / name for name in library.files]
    files += [ROOT / name for name in spans_of(library.tested) if name.endswith(".py")]
    used = "".join(path.read_text(encoding="utf-8") for path in files)
    assert re.search(rf"^\s*(import|from) {library.module}\b", used, flags=re.MULTILINE)
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert re.search(rf"^{library.command.removeprefix('make ')}: ", makefile, flags=re.MULTILINE)


def spans_of(text: str) -> list[str]:
    """Return what is written as code in a text."""
    return re.findall(r"`([^`]+)`", text)


@pytest.mark.parametrize("extra", ["libraries", "agilerl"])
def test_the_checks_with_other_libraries_are_those_of_ci(extra: str) -> None:
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert "for library in libraries agilerl; do" in script
    for line in (
        'pip install -c "constraints-$library.txt" -e ".[$library,test]"',
        'python -m pytest "tests/$library" -n 2',
    ):
        assert f"step {line}" in script
        by_hand = line.replace("$library", extra).replace('"', "").replace(".[", "'.[")
        assert by_hand.replace(",test]", ",test]'") in makefile
    assert (ROOT / f"constraints-{extra}.txt").exists()
    with (ROOT / "pyproject.toml").open("rb") as file:
        extras = tomllib.load(file)["project"]["optional-dependencies"]
    named = {re.split(r"[<>=]", need)[0] for need in extras[extra]} - {"peft"}  # AgileRL's own need
    assert named == {
        library.package for library in LIBRARIES if library.command == f"make test-{extra}"
    }


def headings() -> set[str]:
    """Return the anchors of all headings."""
    titles = re.findall(r"^#+ (.*)$", TEXT, flags=re.MULTILINE)
    return {re.sub(r"[^\w -]", "", title.lower()).replace(" ", "-") for title in titles}


def test_links_lead_somewhere() -> None:
    links = re.findall(r"\]\(([^)]+)\)", TEXT)
    assert len(links) > 10
    for link in links:
        if link.startswith("#"):
            assert link[1:] in headings(), link
        else:
            assert (ROOT / link).exists(), link


def test_paths_exist() -> None:
    tops = {path.name for path in ROOT.iterdir()} - {
        *(".venv", ".venv-agilerl", ".venv-libraries", ".venv-oldest", ".venv-ray")
    }
    paths = [span for span in spans() if span.split("/")[0] in tops and " " not in span]
    assert len(paths) > 15
    for path in paths:
        if path.endswith("__pycache__"):
            continue  # appears with the first call
        assert (ROOT / path).exists(), path


def test_public_names_exist() -> None:
    for name in re.findall(r"\bct\.(\w+)", TEXT):
        assert hasattr(ct, name), name


def main() -> None:
    """Write the tables of the README anew."""
    text = README.read_text(encoding="utf-8")
    for name in TABLES:
        start, end = place_of(name, text)
        text = text[:start] + table_lines(name, text) + text[end:]
    README.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
