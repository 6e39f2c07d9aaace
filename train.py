"""Train agents and measure them.

python train.py fit --variant taiwan --num-players 4
python train.py evaluate runs/mainland-2-... --against random greedy
python train.py resume runs/mainland-2-...
python train.py export runs/mainland-2-... --to mine.onnx
python train.py best-response pretrained --variant mainland
python train.py publish runs/mainland-2-...
python train.py measure-pretrained
"""

from __future__ import annotations

import importlib
import sys
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, make_dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import tyro
from rich.console import Console
from rich.table import Table

import chinese_ten_env as ct
from agents.common import Run, draw_curve, evaluate, write_json, write_whole
from agents.zoo import keep_response, measure_zoo, publish

AGENTS = tuple(
    sorted(
        path.stem
        for path in (Path(__file__).parent / "agents").glob("*.py")
        if path.stem not in ("__init__", "common", "zoo")
    )
)
ALL = "all"


EVALUATION_SEED = 1_000_000
"""Of the deals that agents are measured on; training seeds stay below."""


@dataclass
class Fit:
    """Train an agent, for one variant or for all, and measure it."""

    variant: Literal[(*ct.VARIANTS, ALL)] = "mainland"  # type: ignore[valid-type]
    """The variant to learn; ``all``: every variant and number of players in turn."""
    num_players: int | None = None
    """The number of players; the smallest of the variant unless given."""
    agent: Literal[AGENTS] = "maskable_ppo"  # type: ignore[valid-type]
    """The file in ``agents/`` that learns."""
    seed: int = 0
    """Of all that is random."""
    folder: Path = Path("runs")
    """Where the run folder is made."""
    name: str | None = None
    """Name of the run folder; variant, players, agent, seed and time unless given."""
    deals: int = 5000
    """Deals of the evaluation at the end, each played in all seatings."""


@dataclass
class Evaluate:
    """Measure the agent of a complete run in duplicate deals."""

    run: Annotated[Path, tyro.conf.Positional]
    """The run folder."""
    against: tuple[str, ...] = ("greedy", "random")
    """Policies, by name, run folder or ONNX file."""
    deals: int = 5000
    """Deals, each played in all seatings."""
    seed: int = EVALUATION_SEED
    """Of the deals."""


@dataclass
class Resume:
    """Go on with a run that was interrupted."""

    run: Annotated[Path, tyro.conf.Positional]
    """The run folder."""
    deals: int = 5000
    """Deals of the evaluation at the end, each played in all seatings."""


@dataclass
class Export:
    """Write the agent of a complete run as an ONNX file."""

    run: Annotated[Path, tyro.conf.Positional]
    """The run folder."""
    to: Path | None = None
    """The file, which ends in .onnx; in the run folder, with its name, unless given."""


@dataclass
class BestResponse:
    """Train an agent against a policy alone, and tell what it gains.

    What it gains is a lower bound on what the policy can lose to somebody who knows it. Against a
    network of dmc, dmc begins with what that network knows.
    """

    policy: Annotated[str, tyro.conf.Positional]
    """The policy, by name, run folder or ONNX file."""
    variant: Literal[tuple(ct.VARIANTS)] = "mainland"  # type: ignore[valid-type]
    """The variant."""
    num_players: int | None = None
    """The number of players; the smallest of the variant unless given."""
    agent: Literal["dmc", "maskable_ppo"] = "dmc"
    """Who learns: dmc against compiled policies, maskable_ppo against any."""
    minutes: float = 10.0
    """Minutes of training."""
    seed: int = 0
    """Of all that is random."""
    folder: Path = Path("runs")
    """Where the run folder is made."""
    name: str | None = None
    """Name of the run folder; made from the rest unless given."""
    deals: int = 40_000
    """Deals of the evaluation at the end, each played in all seatings."""
    keep: bool = False
    """Keep the result for the README's table; of ``pretrained`` only."""


@dataclass
class Publish:
    """Put the agent of a complete dmc run among the pretrained policies of this checkout."""

    run: Annotated[Path, tyro.conf.Positional]
    """The run folder."""


@dataclass
class MeasurePretrained:
    """Measure the pretrained policies and keep the results for the README's table."""

    variants: tuple[str, ...] = ()
    """Those to measure, as ``mainland-2``; all unless given."""
    against: tuple[str, ...] = ()
    """Opponents, of the table's; all unless given."""
    games: int | None = None
    """Games against each of them; more against what is quick unless given."""
    seed: int = EVALUATION_SEED
    """Of the deals."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; return the exit status."""
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    command = tyro.cli(_commands(_agent_of(arguments)), args=arguments, description=__doc__)
    console = Console()
    try:
        if isinstance(command, Fit):
            fit_all(command, console)
        elif isinstance(command, Resume):
            run = Run.open(command.run)
            if run.status["state"] == "complete":
                raise ValueError(f"{command.run} is complete; there is nothing to resume")
            finish(run, command.deals, console)
        elif isinstance(command, Export):
            export(command, console)
        elif isinstance(command, BestResponse):
            respond(command, console)
        elif isinstance(command, Publish):
            path = publish(Run.open(command.run))
            console.print(f"wrote {path}", markup=False, soft_wrap=True)
        elif isinstance(command, MeasurePretrained):
            measure_zoo(command.variants, command.against, command.games, command.seed, console)
        else:
            show(command, console)
    except KeyboardInterrupt:
        console.print("stopped", style="bold")
        return 130
    except (ValueError, FileExistsError) as error:
        console.print(f"error: {error}", style="bold red", markup=False, soft_wrap=True)
        return 2
    return 0


def _agent_of(arguments: Sequence[str]) -> str:
    """Return the agent asked for: its settings are among the options."""
    agent: str = Fit.agent
    for index, argument in enumerate(arguments):
        if argument == "--agent" and index + 1 < len(arguments):
            agent = arguments[index + 1]
        elif argument.startswith("--agent="):
            agent = argument.removeprefix("--agent=")
    default: str = Fit.agent
    return agent if agent in AGENTS else default


def _commands(agent: str) -> Any:
    """Return the type of all commands, `Fit` with the settings of an agent."""
    config = importlib.import_module(f"agents.{agent}").Config
    fit: Any = make_dataclass(
        "FitAgent", [("config", config, field(default_factory=config))], bases=(Fit,)
    )
    fit.__doc__ = Fit.__doc__
    return (
        Annotated[
            tyro.conf.OmitArgPrefixes[fit],  # type: ignore[misc]  # mypy does not know its form
            tyro.conf.subcommand("fit", description=Fit.__doc__),
        ]
        | Annotated[Evaluate, tyro.conf.subcommand("evaluate")]
        | Annotated[Resume, tyro.conf.subcommand("resume")]
        | Annotated[Export, tyro.conf.subcommand("export")]
        | Annotated[BestResponse, tyro.conf.subcommand("best-response")]
        | Annotated[Publish, tyro.conf.subcommand("publish")]
        | Annotated[MeasurePretrained, tyro.conf.subcommand("measure-pretrained")]
    )


# --- fit ------------------------------------------------------------------------------------


def fit_all(command: Any, console: Console) -> None:
    """Train and measure an agent for each table that the command names."""
    if command.variant == ALL:
        if command.num_players is not None or command.name is not None:
            raise ValueError("--variant all takes neither --num-players nor --name")
        tables = [rules for variant in ct.VARIANTS.values() for rules in variant.tables.values()]
    else:
        tables = [ct.make_rules(command.variant, command.num_players)]
    for number, rules in enumerate(tables):
        if len(tables) > 1:
            console.rule(f"{number + 1} of {len(tables)}: {rules.variant}, {rules.num_players}")
        folder = command.folder / (command.name or _run_name(command, rules))
        run = Run.create(folder, command.agent, rules, command.seed, asdict(command.config))
        finish(run, command.deals, console)


def respond(command: BestResponse, console: Console) -> None:
    """Train a best response and say what it gains."""
    rules = ct.make_rules(command.variant, command.num_players)
    if rules.num_players != 2:
        raise ValueError("a best response is measured for two players, whose sum is zero")
    if command.keep and command.policy != "pretrained":
        raise ValueError(f"only results of 'pretrained' are kept, not of {command.policy!r}")
    agent = importlib.import_module(f"agents.{command.agent}")
    config = agent.best_response(rules, command.policy, command.minutes)
    stamp = time.strftime("%Y%m%d-%H%M%S")
    against = Path(command.policy).stem.replace(":", "-")
    name = f"{rules.variant}-{rules.num_players}-against-{against}-{command.seed}-{stamp}"
    folder = command.folder / (command.name or name)
    run = Run.create(folder, command.agent, rules, command.seed, asdict(config))
    row = finish(run, command.deals, console)[0]
    low, high = row["net"] - row["half_width"], row["net"] + row["half_width"]
    against = f"this agent gains {row['net']:+.2f} net points a deal ({low:+.2f} to {high:+.2f})"
    if low > 0:
        console.print(f"{command.policy} can be beaten: {against}", soft_wrap=True)
    else:
        # To play alike gains exactly 0.
        console.print(f"nothing found that beats {command.policy}: {against}", soft_wrap=True)
    if command.keep:
        keep_response(run, row)


def _run_name(command: Any, rules: ct.Rules) -> str:
    stamp = time.strftime("%Y%m%d-%H%M%S")
    return f"{rules.variant}-{rules.num_players}-{command.agent}-{command.seed}-{stamp}"


def finish(run: Run, deals: int, console: Console) -> list[dict[str, Any]]:
    """Train a run to its end, measure it, and only then call it complete; return the rows."""
    agent = importlib.import_module(f"agents.{run.agent}")
    console.print(f"training in {run.folder} (Ctrl-C stops it; 'resume' goes on)", soft_wrap=True)
    try:
        config = agent.Config(**run.header["config"])
        opponents = agent.opponents(config)
        agent.fit(run, config)
        draw_curve(run, opponents)
        policy = agent.read(run)
        rows = evaluate(policy, run.agent, opponents, run.rules, deals, EVALUATION_SEED)
        write_json(run.folder / "evaluation.json", rows)
    except BaseException:
        status = run.status
        run.set_status("interrupted", status["steps"], status["seconds"])
        console.print(
            f"unfinished at {status['steps']:,} decisions; go on with: "
            f"python train.py resume {run.folder}",
            soft_wrap=True,
        )
        raise
    status = run.status
    run.set_status("complete", status["steps"], status["seconds"])
    console.print(table(run, rows))
    return rows


# --- evaluate -------------------------------------------------------------------------------


def show(command: Evaluate, console: Console) -> None:
    """Measure a complete run and print the table."""
    run = Run.open(command.run)
    policy = ct.make_policy(str(command.run))
    rows = evaluate(policy, run.agent, command.against, run.rules, command.deals, command.seed)
    console.print(table(run, rows))


def table(run: Run, rows: list[dict[str, Any]]) -> Table:
    """Return what was measured as a table."""
    rules, status = run.rules, run.status
    title = (
        f"{run.agent}, {rules.variant}, {rules.num_players} players, {status['steps']:,} decisions"
    )
    grid = Table(title=title, caption=f"{run.folder}; deals from seed {rows[0]['seed']}")
    grid.add_column("against")
    for name in ("net points a deal", "95 % interval", "win rate", "deals", "games"):
        grid.add_column(name, justify="right")
    for row in rows:
        low, high = row["net"] - row["half_width"], row["net"] + row["half_width"]
        grid.add_row(
            row["against"],
            f"{row['net']:+.2f}",
            f"{low:+.2f} to {high:+.2f}",
            f"{100 * row['win_rate']:.1f} %",
            f"{row['deals']:,}",
            f"{row['games']:,}",
        )
    return grid


# --- export ---------------------------------------------------------------------------------


def export(command: Export, console: Console) -> None:
    """Write what a complete run has learned as an ONNX file, whole or not at all."""
    run = Run.open(command.run)
    policy: Any = ct.make_policy(str(command.run))
    name = command.run.resolve().name
    path = command.to or command.run / f"{name}.onnx"
    if path.suffix != ".onnx" or path.is_dir():
        raise ValueError(f"{path} must be a file that ends in .onnx")
    if not path.parent.is_dir():
        raise ValueError(f"{path.parent} is no folder: make it first")
    from chinese_ten_env.adapters.torch import export_onnx

    facts = {
        "agent": run.agent,
        "run": name,
        "seed": run.seed,
        "decisions": run.status["steps"],
    }
    write_whole(path, lambda new: export_onnx(policy.module(), new, run.rules, facts))
    console.print(
        f"wrote {path}: play it with ct.make_policy({str(path)!r})", markup=False, soft_wrap=True
    )


if __name__ == "__main__":
    sys.exit(main())
