"""Decisions a second of the library's doors, but for the AEC environment."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt

from chinese_ten_env.bench.measure import Sample, Settings, rate, repeat_for
from chinese_ten_env.bits import EMPTY, GAMMA, U64, mix, pick
from chinese_ten_env.cards import NUM_CARDS
from chinese_ten_env.engine import new_games, play_randomly
from chinese_ten_env.game import Game
from chinese_ten_env.jit import kernel
from chinese_ten_env.rules import HAND_CARDS, make_rules
from chinese_ten_env.vector_env import ChineseTenVectorEnv

_DEALS = 1000
"""Deals in one call of `play_randomly`."""

_STEPS = HAND_CARDS + 2
"""About one deal: games that begin together also deal together, so each chunk holds one dealing."""


@contextmanager
def engine(_: Settings) -> Iterator[Sample]:
    """Yield a sample of hand plays and of decisions a second of `play_randomly`."""
    games = new_games(make_rules("mainland", 2), 1, seed=0)
    seeds = iter(range(1, 2**62))

    def chunk() -> int:
        return play_randomly(games, _DEALS, U64(next(seeds)))

    chunk()

    def sample(seconds: float) -> tuple[float, float]:
        calls, actions, elapsed = repeat_for(seconds, chunk)
        return calls * _DEALS * HAND_CARDS / elapsed, actions / elapsed

    yield sample


@kernel
def _choose_words(words: Any, state: Any, cards: Any) -> None:
    random_word = state[0]
    for index in range(len(words)):
        legal = EMPTY
        for place in range(0, NUM_CARDS, 8):
            eight = U64(words[index, place // 4])
            if place + 4 < NUM_CARDS:
                eight |= U64(words[index, place // 4 + 1]) << U64(32)
            # The product brings the lowest bits of the eight bytes side by side.
            legal |= (eight * U64(0x0102040810204080) >> U64(56)) << U64(place)
        random_word += GAMMA
        # A finished game has no legal card, and its next step ignores the action.
        cards[index] = pick(legal, mix(random_word)) if legal != EMPTY else 0
    state[0] = random_word


def choose(
    masks: npt.NDArray[np.int8], state: npt.NDArray[np.uint64], cards: npt.NDArray[np.int64]
) -> None:
    """Write a random legal card for each mask, int8 [B, 52], to `cards` [B]; `state` moves on."""
    _choose_words(masks.view(np.dtype("<u4")), state, cards)


def batch(num_envs: int, **arguments: Any) -> tuple[ChineseTenVectorEnv, Callable[[], int]]:
    """Return a vector environment and what steps it for about a deal, chosen from the masks."""
    env = ChineseTenVectorEnv(num_envs, **arguments)
    _, infos = env.reset(seed=0)
    masks = infos["action_mask"]
    state = np.zeros(1, dtype=np.uint64)
    cards = np.zeros(num_envs, dtype=np.int64)

    def chunk() -> int:
        nonlocal masks
        decisions = 0
        for _ in range(_STEPS):
            choose(masks, state, cards)
            _, _, over, _, infos = env.step(cards)
            masks = infos["action_mask"]
            # The step after the end of a game only begins the next one.
            decisions += num_envs - int(np.count_nonzero(over))
        return decisions

    return env, chunk


@contextmanager
def vector(
    settings: Settings, num_envs: int, all_threads: bool = False, **arguments: Any
) -> Iterator[Sample]:
    """Yield a sample of steps of the vector environment, with the choice from the masks."""
    threads = settings.threads if all_threads else 1
    env, chunk = batch(num_envs, num_threads=threads, **arguments)
    with closing(env):
        yield rate(chunk)


@contextmanager
def game(_: Settings) -> Iterator[Sample]:
    """Yield a sample of `Game`: a loop of `legal`, a random choice, and `play`."""
    rules = make_rules("mainland", 2)
    numbers = random.Random(0)

    def chunk() -> int:
        played = Game(rules, seed=numbers.getrandbits(32))
        decisions = 0
        while not played.is_over:
            legal = played.legal
            played.play(legal[int(numbers.random() * len(legal))])
            decisions += 1
        return decisions

    yield rate(chunk)


@contextmanager
def gymnasium_single(_: Settings) -> Iterator[Sample]:
    """Yield a sample of the Gymnasium environment as `gymnasium.make` gives it."""
    env: gymnasium.Env[Any, Any] = gymnasium.make("ChineseTen-v0", opponents="random")
    numbers = random.Random(0)
    with closing(env):
        env.reset(seed=0)

        def chunk() -> int:
            _, info = env.reset()
            terminated, decisions = False, 0
            while not terminated:
                legal = np.flatnonzero(info["action_mask"])
                action = int(legal[int(numbers.random() * legal.size)])
                _, _, terminated, _, info = env.step(action)
                decisions += 1
            return decisions

        yield rate(chunk)


@contextmanager
def sb3(_: Settings, num_envs: int) -> Iterator[Sample]:
    """Yield a sample of the Stable-Baselines3 environment, its masks as MaskablePPO gets them."""
    from chinese_ten_env.adapters.sb3 import ChineseTenVecEnv

    env = ChineseTenVecEnv(num_envs, opponents="random")
    with closing(env):
        env.seed(0)
        env.reset()
        state = np.zeros(1, dtype=np.uint64)
        cards = np.zeros(num_envs, dtype=np.int64)

        def chunk() -> int:
            for _ in range(_STEPS):
                masks = np.stack(env.env_method("action_masks"))
                choose(masks.view(np.int8), state, cards)
                env.step(cards)
            return _STEPS * num_envs

        yield rate(chunk)
