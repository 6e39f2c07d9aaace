"""How to play an arena again: as a command if it can be said in one, else as a call in Python."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from chinese_ten_env.arena.result import changed_switches
from chinese_ten_env.policies import policy_name
from chinese_ten_env.rules import Rules


def call_text(
    policies: Sequence[Any],
    names: Sequence[str] | None,
    rules: Rules,
    deals: int,
    seed: int,
    options: Mapping[str, Any],
) -> str:
    """Return what to type to call `cross_play` again; `options` are its further arguments.

    Those that are None or 0 are left out. A policy that is a callable stands there by its name, as
    only the one who calls has it.
    """
    switches = changed_switches(rules)
    given = {name: value for name, value in options.items() if value}
    if names is None and not switches and all(isinstance(one, (str, Path)) for one in policies):
        words = ["chinese-ten", "arena", "--variant", rules.variant]
        words += ["--players", str(rules.num_players), "--policies", *map(str, policies)]
        words += ["--deals", str(deals), "--seed", str(seed)]
        # Unlike in a call, by default there are as many workers as cores; of a cluster, as there.
        if "backend" not in given:
            given.setdefault("workers", 0)
        for name, value in given.items():
            words += ["--out" if name == "folder" else f"--{name}", str(value)]
        return shlex.join(words)
    texts = [
        repr(str(policy)) if isinstance(policy, (str, Path)) else policy_name(policy)
        for policy in policies
    ]
    arguments = [f"[{', '.join(texts)}]", repr(rules.variant), str(rules.num_players)]
    arguments += [f"deals={deals}", f"seed={seed}"]
    if names is not None:
        arguments.append(f"names={list(names)!r}")
    given = {
        name: str(value) if isinstance(value, Path) else value for name, value in given.items()
    }
    arguments += [f"{name}={value!r}" for name, value in {**switches, **given}.items()]
    return f"ct.arena.cross_play({', '.join(arguments)})"
