"""A Ray for the tests that need one."""

from __future__ import annotations

import logging
import os
from collections.abc import Iterator

import pytest
import torch

torch.set_num_threads(1)  # other tests and Ray's processes need the cores

# Before Ray is imported, here and in the processes that tests start.
os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
os.environ["RAY_AUTH_MODE"] = "disabled"  # so that no token is written to the user's home
# Ray announces that a default will change, which concerns machines with accelerators only.
os.environ["RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO"] = "0"


@pytest.fixture(scope="module")
def local_ray() -> Iterator[None]:
    """A running Ray, which what is tested finds and must leave running."""
    import ray

    ray.init(
        address="local",
        num_cpus=4,
        include_dashboard=False,
        log_to_driver=False,
        logging_level=logging.ERROR,
    )
    yield
    assert ray.is_initialized()
    ray.shutdown()
