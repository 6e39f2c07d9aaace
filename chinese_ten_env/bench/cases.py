"""The list of all that is measured: each key and its words once."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from typing import Any

from chinese_ten_env.bench import aec, library, processes
from chinese_ten_env.bench.measure import Case, Figure, Ratio, Sample, Settings
from chinese_ten_env.cards import NUM_CARDS
from chinese_ten_env.observation import NUM_FEATURES

_BYTES = (NUM_FEATURES + 1) * NUM_CARDS
"""What our step writes of observation and mask."""

_LIMIT_BYTES = 8 * NUM_CARDS + NUM_CARDS
"""What a step of the yardstick writes: eight flags a card, and the mask."""


def _case(
    group: str,
    key: str,
    what: str,
    prepare: Callable[[Settings], AbstractContextManager[Sample]],
    *ratios: Ratio,
    unit: str = "/s",
    **facts: int,
) -> Case:
    return Case(group, (Figure(key, what, unit),), prepare, ratios, facts)


def _vector(name: str, what: str, *ratios: Ratio, **arguments: Any) -> Case:
    everything: dict[str, Any] = {"opponents": None, "copy": False} | arguments
    key = f"vector_{name}steps_per_s"
    prepare = partial(library.vector, **everything)
    return _case("vector", key, what, prepare, *ratios, vector_bytes_per_step=_BYTES)


# Cases of one group are measured in turn, so those of a ratio stand next to one another.
CASES: tuple[Case, ...] = (
    Case(
        "engine",
        (
            Figure("engine_hand_plays_per_s", "engine, random play: hand plays"),
            Figure("engine_decisions_per_s", "engine, random play: decisions"),
        ),
        library.engine,
        (Ratio("engine_limit_ratio", "limit_solo_hand_plays_per_s", "of C limit solo"),),
    ),
    _case(
        "engine",
        "limit_solo_hand_plays_per_s",
        "C limit solo: hand plays",
        partial(processes.limit, mode="solo"),
    ),
    _vector("64_", "vector, 64 games", num_envs=64),
    _vector("1024_", "vector, 1,024 games", num_envs=1024),
    _vector(
        "4096_",
        "vector, 4,096 games",
        Ratio(
            "vector_limit_ratio_per_byte",
            "limit_api_simd_steps_per_s",
            "of C limit api-simd per byte",
            _BYTES / _LIMIT_BYTES,
        ),
        num_envs=4096,
    ),
    _case(
        "vector",
        "limit_api_simd_steps_per_s",
        "C limit api-simd, 4,096 games",
        partial(processes.limit, mode="api-simd"),
        limit_bytes_per_step=_LIMIT_BYTES,
    ),
    _vector("4096_copy_", "vector, 4,096 games, fresh arrays", num_envs=4096, copy=True),
    _vector("4096_packed_", "vector, 4,096 games, packed", num_envs=4096, packed=True),
    _vector(
        "4096_greedy_", "vector, 4,096 games, against greedy", num_envs=4096, opponents="greedy"
    ),
    _vector("16384_", "vector, 16,384 games", num_envs=16384),
    _vector(
        "16384_all_threads_",
        "vector, 16,384 games, all threads",
        Ratio("vector_16384_all_threads_ratio", "vector_16384_steps_per_s", "of one thread"),
        num_envs=16384,
        all_threads=True,
    ),
    _case("game", "game_decisions_per_s", "Game, one at a time", library.game),
    _case(
        "aec",
        "aec_raw_per_s",
        "AEC raw_env",
        aec.raw,
        Ratio("aec_raw_floor_ratio", "aec_floor_per_s", "of the smallest AEC"),
        Ratio("aec_raw_leduc_ratio", "leduc_aec_per_s", "of leduc_holdem"),
    ),
    _case("aec", "aec_floor_per_s", "AEC, smallest possible environment", aec.floor),
    _case("aec", "leduc_aec_per_s", "AEC, PettingZoo's leduc_holdem_v4 raw_env", aec.leduc),
    _case("aec", "aec_wrapped_per_s", "AEC env, with its wrappers", aec.wrapped),
    _case(
        "gym",
        "gym_single_per_s",
        "Gymnasium, single, against random",
        library.gymnasium_single,
    ),
    _case(
        "sb3",
        "sb3_vec_256_steps_per_s",
        "SB3 VecEnv, 256 games against random",
        partial(library.sb3, num_envs=256),
    ),
    _case(
        "import",
        "import_s",
        "import, whole process",
        partial(processes.importing, modules="chinese_ten_env"),
        Ratio("import_ratio", "import_dependencies_s", "of the dependencies"),
        unit="s",
    ),
    _case(
        "import",
        "import_dependencies_s",
        "import of the dependencies alone",
        partial(processes.importing, modules="numpy, numba, gymnasium, pettingzoo"),
        unit="s",
    ),
    Case(
        "reset",
        (
            Figure("first_reset_cold_s", "first reset after import, kernels to compile", "s"),
            Figure("first_reset_warm_s", "first reset after import, kernels cached", "s"),
        ),
        processes.first_reset,
        most_repeats=1,  # compiling takes long; the sample itself repeats the cached start
    ),
)
