"""A random stream for each game of a batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from chinese_ten_env.bits import GAMMA, U64, mix
from chinese_ten_env.jit import kernel

_APART = U64(0xD1342543DE82EF95)
"""Keeps a game's stream apart from the generator that deals its cards from the same seed."""


@kernel
def _start(seeds: Any, states: Any) -> None:
    for index in range(len(seeds)):
        states[index] = mix(seeds[index] ^ _APART)


@kernel
def _draw(states: Any, games: Any, words: Any) -> None:
    for row in range(len(games)):
        for column in range(words.shape[1]):
            states[games[row]] += GAMMA
            words[row, column] = mix(states[games[row]])


class GameStreams(np.random.Generator):
    """A generator that hands policies random numbers of which row i belongs to game i.

    `integers` and `random` of a size [n] or [n, ...] for the n games of `games` draw each row from
    that game's own SplitMix64 stream, so that what a policy draws for a game does not depend on the
    games it is batched with. All else works as in any NumPy generator, for the batch as a whole.
    """

    def __init__(self, size: int) -> None:
        super().__init__(np.random.PCG64(0))
        self.states = np.zeros(size, dtype=np.uint64)
        self.games: npt.NDArray[np.int64] = np.arange(size)

    def __reduce__(self) -> Any:
        return _restored, (self.states, self.games, self.bit_generator.state)

    def seed(self, games: npt.NDArray[np.int64], seeds: npt.NDArray[np.uint64]) -> None:
        """Start the streams of `games` [n] from `seeds` [n]."""
        states = np.empty(len(seeds), dtype=np.uint64)
        _start(seeds, states)
        self.states[games] = states
        self.bit_generator.state = np.random.PCG64(int(states[0])).state

    def words(self, games: npt.NDArray[np.int64], count: int = 1) -> npt.NDArray[np.uint64]:
        """Return random words [n, count], a row from the stream of each of the games [n]."""
        words = np.empty((len(games), count), dtype=np.uint64)
        _draw(self.states, games, words)
        return words

    def _rows(self, size: Any) -> npt.NDArray[np.uint64] | None:
        shape = (size,) if isinstance(size, (int, np.integer)) else tuple(size or ())
        if not shape or shape[0] != len(self.games):
            return None
        return self.words(self.games, int(np.prod(shape[1:], dtype=np.int64))).reshape(shape)

    def integers(
        self, low: Any, high: Any = None, size: Any = None, dtype: Any = np.int64, endpoint: Any = 0
    ) -> Any:
        """Return integers as NumPy's generator does; rows from the games' streams."""
        words = self._rows(size) if np.ndim(low) == 0 and np.ndim(high) == 0 else None
        if words is None:
            return super().integers(low, high, size, dtype, endpoint)
        start, stop = (0, int(low)) if high is None else (int(low), int(high))
        span = stop - start + bool(endpoint)
        if span == 2**64:
            return words.astype(dtype) if start == 0 else (words + U64(start % 2**64)).astype(dtype)
        if not 0 < span <= 2**32:
            return super().integers(low, high, size, dtype, endpoint)
        scaled = (words >> U64(32)) * U64(span) >> U64(32)
        return (scaled.astype(np.int64) + start).astype(dtype)

    def random(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        """Return floats in [0, 1) as NumPy's generator does; rows from the games' streams."""
        words = self._rows(size) if out is None else None
        if words is None:
            return super().random(size, dtype, out)
        return ((words >> U64(11)) * 2.0**-53).astype(dtype)


def _restored(
    states: npt.NDArray[np.uint64], games: npt.NDArray[np.int64], common: dict[str, Any]
) -> GameStreams:
    streams = GameStreams(len(states))
    streams.states, streams.games = states, games
    streams.bit_generator.state = common
    return streams
