"""How a policy with a number for each card chooses among the legal ones."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def masked_choice(
    logits: npt.NDArray[np.float32],
    legal: npt.NDArray[np.bool_],
    rng: np.random.Generator | None = None,
) -> npt.NDArray[np.int64]:
    """Return an action for each row [B, A]: the best legal one, or one drawn from the softmax.

    Equal logits go to the lowest action. Drawing adds Gumbel noise, so that a row takes A numbers
    from `rng` and no more. Trusts that each row has a legal action with a finite logit.
    """
    scores = logits.astype(np.float64)
    if rng is not None:
        noise = rng.random(logits.shape)
        scores -= np.log(-np.log(np.clip(noise, 1e-300, 1 - 1e-16)))
    best = np.where(legal, scores, -np.inf).argmax(axis=1)
    return np.asarray(best, dtype=np.int64)
