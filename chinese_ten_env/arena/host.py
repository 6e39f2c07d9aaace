"""On what an arena was played: versions and the processor, without which no time means much."""

from __future__ import annotations

import platform
from pathlib import Path

import numba
import numpy as np

import chinese_ten_env


def host() -> dict[str, str]:
    """Return the versions that results and times depend on, and the processor, by their names."""
    return {
        "chinese_ten_env": chinese_ten_env.__version__,
        "Python": platform.python_version(),
        "NumPy": np.__version__,
        "Numba": numba.__version__,
        "processor": processor(),
    }


def processor() -> str:
    """Return the name of the processor, or its kind where the system does not tell the name."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        lines = []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return (names or [platform.processor() or platform.machine()])[0]
