"""The policy that plays uniformly at random."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from chinese_ten_env.bits import pick
from chinese_ten_env.engine import Games
from chinese_ten_env.jit import kernel


@kernel
def _choose(views: Any, words: Any, cards: Any) -> None:
    for index in range(len(views)):
        cards[index] = pick(views[index].legal, words[index])


def random(views: Games, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Return a uniformly random legal card for each view, int64 [B]."""
    cards = np.empty(len(views), dtype=np.int64)
    _choose(views, rng.integers(0, 2**64, size=len(views), dtype=np.uint64), cards)
    return cards
