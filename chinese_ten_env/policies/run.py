"""Policies from the folders of training runs."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from chinese_ten_env.policies import Policy


def load_run(folder: Path) -> Policy:
    """Return the policy that a complete run has learned; ValueError says what is wrong with others.

    A run is read by the code that made it, in the ``agents`` folder of the repository, which the
    installed library does not bring.
    """
    try:
        common = importlib.import_module("agents.common")
    except ModuleNotFoundError as error:
        if error.name not in ("agents", "agents.common"):
            raise _needs(folder, error) from error
        raise ModuleNotFoundError(
            f"{folder} is a training run; playing it needs the repository's agents/ folder: "
            "install the checkout with pip install -e '.[train]'"
        ) from error
    run = common.Run.open(folder)
    try:
        agent = importlib.import_module(f"agents.{run.agent}")
    except ModuleNotFoundError as error:
        if error.name == f"agents.{run.agent}":
            raise ValueError(f"{folder} was made by {run.agent!r}, which agents/ lacks") from error
        raise _needs(folder, error) from error
    policy: Policy = agent.load(run)
    return policy


def _needs(folder: Path, error: ModuleNotFoundError) -> ModuleNotFoundError:
    return ModuleNotFoundError(
        f"playing {folder} needs {error.name}: pip install 'chinese_ten_env[train]'"
    )
