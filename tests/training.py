"""Training in the smallest way that still does all that training does."""

from __future__ import annotations

from pathlib import Path

import train

COMMON = ["--total-steps", "1024", "--evaluation-deals", "4", "--deals", "6"]
PPO = ["--num-envs", "16", "--num-steps", "32", "--minibatch", "256"]
PPO += ["--width", "8", "--context", "16", "--imitate", "2000"]
OWN = {
    "dmc": ["--round", "512", "--minibatch", "128", "--first-rounds", "1", "--own", "0.5"],
    "maskable_ppo": [
        *PPO,
        *("--snapshot-every", "512", "--improve", "0.001", "--lesson-deals", "4"),
    ],
    "ppo": PPO,
}
"""What an agent needs beside."""


def smallest(agent: str) -> list[str]:
    """Return the arguments of ``train.py`` that train an agent in the smallest way."""
    return ["fit", "--agent", agent, *COMMON, *OWN[agent]]


def fit(folder: Path, *more: str, agent: str = "maskable_ppo") -> int:
    """Train through the real entry point; return its exit status."""
    return train.main([*smallest(agent), "--folder", str(folder), *more])
