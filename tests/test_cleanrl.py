"""A script in the manner of CleanRL trains on the vector environments."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
import torch

from tests.cleanrl_ppo import Args, train


@pytest.fixture(autouse=True)
def _one_thread() -> Iterator[None]:
    """The network is small, and other tests need the cores."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


def test_ppo_in_one_file_learns_without_an_illegal_action() -> None:
    result = train(Args())
    assert result.decisions > 70_000  # the rest began the next game
    assert result.illegal == 0
    assert np.isfinite(result.losses).all()
    first, *_, last = (part.mean() for part in np.array_split(result.returns, 4))
    error = np.std(result.returns) / np.sqrt(len(result.returns) / 4)
    assert last - first > 4 * error


def test_it_trains_on_single_environments_in_line_too() -> None:
    result = train(Args(total_steps=800, num_envs=4, num_steps=100, vectorization_mode="sync"))
    assert result.decisions > 700
    assert len(result.returns) > 40
    assert result.illegal == 0
    assert np.isfinite(result.losses).all()
