"""What is measured in processes of its own: starting up, and the C yardstick."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from chinese_ten_env.bench.measure import LeftOut, Sample, Settings

_PARENT = Path(__file__).resolve().parents[2]

_FIRST_RESET = """\
import time, gymnasium, chinese_ten_env
start = time.perf_counter()
gymnasium.make("ChineseTen-v0").reset(seed=0)
print(time.perf_counter() - start)
"""

_COMPILERS = ("gcc", "cc")
_FLAGS = ("-O3", "-march=native")
_LIMIT_GAMES = 4096


def _python(code: str, **environment: str) -> str:
    """Run code in a new interpreter that finds this package, and return what it printed."""
    find = f"import sys; sys.path.append({str(_PARENT)!r})\n"
    command = (sys.executable, "-P", "-c", find + code)
    done = subprocess.run(command, env=os.environ | environment, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(done.stderr.strip().splitlines()[-1:] or done.returncode)
    return done.stdout


@contextmanager
def importing(_: Settings, modules: str) -> Iterator[Sample]:
    """Yield a sample of the seconds of a whole process that imports modules and ends."""
    _python(f"import {modules}")  # so that the files are in the page cache

    def sample(seconds: float) -> tuple[float]:
        start = time.perf_counter()
        _python(f"import {modules}")
        return (time.perf_counter() - start,)

    yield sample


@contextmanager
def first_reset(settings: Settings) -> Iterator[Sample]:
    """Yield a sample of the seconds to the first reset: with no kernel compiled, and with all."""

    def sample(seconds: float) -> tuple[float, float]:
        with tempfile.TemporaryDirectory() as cache:
            cold = float(_python(_FIRST_RESET, NUMBA_CACHE_DIR=cache))
            warm = [
                float(_python(_FIRST_RESET, NUMBA_CACHE_DIR=cache)) for _ in range(settings.repeats)
            ]
        return cold, statistics.median(warm)

    yield sample


def compile_limit(source: Path, folder: Path) -> Path:
    """Compile the C yardstick into `folder`; LeftOut tells what is missing or wrong."""
    compiler = next(filter(None, map(shutil.which, _COMPILERS)), None)
    if compiler is None:
        raise LeftOut(f"--limit needs a C compiler on the path: {' or '.join(_COMPILERS)}")
    program = folder / "limit"
    command = (compiler, *_FLAGS, "-o", str(program), str(source), "-lm")
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise LeftOut(f"{' '.join(command)} failed:\n{done.stderr.strip()}")
    return program


@contextmanager
def limit(settings: Settings, mode: str) -> Iterator[Sample]:
    """Yield a sample of a mode of the C yardstick, which prints one line of JSON."""
    if settings.limit is None:
        raise LeftOut("needs --limit PATH_TO_LIMIT_C")
    program = str(settings.limit)

    def sample(seconds: float) -> tuple[float]:
        command = (program, mode, str(seconds), "1", str(_LIMIT_GAMES))
        done = subprocess.run(command, capture_output=True, text=True)
        try:
            return (float(json.loads(done.stdout)["wall_med"]),)
        except (ValueError, KeyError, TypeError):
            raise LeftOut(
                f"limit {mode} must print a JSON object with wall_med, not "
                f"{(done.stdout + done.stderr).strip()[:200]!r}"
            ) from None

    yield sample
