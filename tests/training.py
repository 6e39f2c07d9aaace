"""Training in the smallest way that still does all that training does."""

from __future__ import annotations

from pathlib import Path

import train

SMALL = ["--total-steps", "1024", "--num-envs", "16", "--num-steps", "32", "--minibatch", "256"]
SMALL += ["--width", "8", "--context", "16", "--imitate", "2000", "--evaluation-deals", "4"]
SMALL += ["--deals", "6"]
MORE = {
    "maskable_ppo": ["--snapshot-every", "512", "--improve", "0.001", "--lesson-deals", "4"],
}
"""What an agent of that name needs beside."""


def smallest(agent: str) -> list[str]:
    """Return the arguments of ``train.py`` that train an agent in the smallest way."""
    return ["fit", "--agent", agent, *SMALL, *MORE.get(agent, [])]


def fit(folder: Path, *more: str, agent: str = "maskable_ppo") -> int:
    """Train through the real entry point; return its exit status."""
    return train.main([*smallest(agent), "--folder", str(folder), *more])
