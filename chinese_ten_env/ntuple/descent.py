"""Learning from lessons: gradients of n-tuple networks, and Adam (Kingma and Ba 2015)."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from chinese_ten_env.jit import inlined_kernel, kernel
from chinese_ten_env.ntuple.features import MOST
from chinese_ten_env.ntuple.network import (
    BIAS,
    CARD,
    CONTEXT,
    JOINING,
    JOINT,
    MIXING,
    OUTPUT,
    OWN,
    PARTNER,
    WIDTH,
    Network,
    make_desk,
    worth_of_card,
    write_context,
)
from chinese_ten_env.ntuple.playouts import MOST_CARDS, Lessons
from chinese_ten_env.vectors import (
    ROW,
    add_multiple,
    add_outer,
    add_products,
    dot,
    mask_row,
    rectify,
)

_ONE: Any = np.float32(1)
_BETA_1, _BETA_2, _EPSILON = 0.9, 0.999, 1e-6


# --- kernels --------------------------------------------------------------------------------


@inlined_kernel
def _read(seen: Any, features: Any) -> int:
    """Copy the features of a lesson and return how many there are."""
    count = 0
    while count < MOST and seen[count] >= 0:
        features[count] = seen[count]
        count += 1
    return count


@inlined_kernel
def _descend_layer(
    gradient: Any,
    start: int,
    inputs: Any,
    at: int,
    count: int,
    slope: Any,
    turned: Any,
    back: Any,
) -> None:
    """Add the gradient of a layer and write that of its rectified inputs to `back` [count].

    The layer's rows begin at `start`, its inputs at `at`; `slope` [64] is what is known behind it,
    `turned` [64 * count] the layer with rows and columns exchanged.
    """
    add_outer(gradient, start, inputs, at, count, slope, 0)
    for part in range(0, count, ROW):
        back[part : part + ROW] = np.float32(0)
        add_products(turned, part, count, slope, 0, ROW, back, part)
        mask_row(back, part, inputs, at + part)


@inlined_kernel
def _descend_context(
    plan: Any, desk: Any, count: int, slope: Any, turned: Any, back: Any, gradient: Any
) -> None:
    """Add the gradient of all that leads to the context, given that of the context, `slope`."""
    width = plan[WIDTH]
    add_multiple(gradient, plan[CONTEXT], slope, 0, _ONE)
    _descend_layer(gradient, plan[MIXING], desk.known, 0, width, slope, turned, back)
    for at in range(0, width, ROW):
        add_multiple(gradient, plan[BIAS] + at, back, at, _ONE)
        for place in range(count):
            add_multiple(gradient, desk.features[place] * width + at, back, at, _ONE)


@inlined_kernel
def _descend_output(
    gradient: Any, tables: Any, error: Any, outputs: Any, at: int, slope: Any
) -> None:
    """Add the gradient of the last row; write the slope before its rectified inputs to `slope`."""
    output = tables.plan[OUTPUT]
    add_multiple(gradient, output, outputs, at, error)
    slope[:ROW] = np.float32(0)
    add_multiple(slope, 0, tables.weights, output, error)
    mask_row(slope, 0, outputs, at)


@kernel
def _descend_cards(
    seen: Any,
    starts_of: Any,
    cards: Any,
    worth: Any,
    chosen: Any,
    tables: Any,
    mixing: Any,
    joining: Any,
    gradient: Any,
    desk: Any,
    back: Any,
    slope: Any,
    rows: Any,
    errors: Any,
) -> float:
    """Add the gradient of half the squared errors of the chosen decisions; return their sum.

    An error is how much more a card is worth, beside the mean of the cards of its decision, than
    it led to beside theirs: what a decision was worth as a whole is not asked.
    """
    plan, row = tables.plan, desk.rows
    total = 0.0
    for number in chosen:
        count = _read(seen[number], desk.features)
        write_context(tables, desk, count)
        first, last = starts_of[number], starts_of[number + 1]
        mean = np.float32(0)
        for place in range(first, last):
            at = (place - first) * 2 * ROW
            own, partner, card = cards[place, 1], cards[place, 2], cards[place, 0]
            guess = worth_of_card(tables, desk, own, partner, card, rows, at)
            errors[place - first] = guess - worth[place]
            mean += errors[place - first]
        mean /= np.float32(last - first)
        slope[:] = np.float32(0)
        for place in range(first, last):
            at = (place - first) * 2 * ROW
            own, partner, card = cards[place, 1], cards[place, 2], cards[place, 0]
            error: Any = np.float32(errors[place - first] - mean)
            total += error * error
            _descend_output(gradient, tables, error, rows, at + ROW, row)
            add_multiple(gradient, plan[JOINT], row, 0, _ONE)
            _descend_layer(gradient, plan[JOINING], rows, at, ROW, row, joining, back)
            add_multiple(gradient, plan[OWN] + own * ROW, back, 0, _ONE)
            add_multiple(gradient, plan[PARTNER] + partner * ROW, back, 0, _ONE)
            add_multiple(gradient, plan[CARD] + card * ROW, back, 0, _ONE)
            add_multiple(slope, 0, back, 0, _ONE)
        _descend_context(plan, desk, count, slope, mixing, back, gradient)
    return total


@kernel
def _descend_values(
    seen: Any,
    won: Any,
    chosen: Any,
    tables: Any,
    mixing: Any,
    gradient: Any,
    desk: Any,
    back: Any,
    slope: Any,
) -> float:
    """Add the gradient of half the squared errors of the chosen positions; return their sum."""
    weights, plan, context = tables.weights, tables.plan, desk.context
    total = 0.0
    for number in chosen:
        count = _read(seen[number], desk.features)
        write_context(tables, desk, count)
        rectify(context, 0)
        error: Any = np.float32(dot(context, 0, weights, plan[OUTPUT]) - won[number])
        total += error * error
        _descend_output(gradient, tables, error, context, 0, slope)
        _descend_context(plan, desk, count, slope, mixing, back, gradient)
    return total


@kernel
def _move(
    weights: Any,
    gradients: Any,
    means: Any,
    squares: Any,
    rate: np.float32,
    share: np.float32,
    unbias_1: np.float32,
    unbias_2: np.float32,
) -> None:
    """Take a step of Adam by the sum of `gradients` [threads, size], times `share`; clear them."""
    beta_1, beta_2 = np.float32(_BETA_1), np.float32(_BETA_2)
    for place in range(len(weights)):
        slope = np.float32(0)
        for part in range(len(gradients)):
            slope += gradients[part, place]
            gradients[part, place] = np.float32(0)
        slope *= share
        means[place] = beta_1 * means[place] + (_ONE - beta_1) * slope
        squares[place] = beta_2 * squares[place] + (_ONE - beta_2) * slope * slope
        size = np.sqrt(squares[place] * unbias_2) + np.float32(_EPSILON)
        weights[place] -= rate * means[place] * unbias_1 / size


@kernel
def _follow(averages: Any, weights: Any, share: np.float32) -> None:
    for place in range(len(weights)):
        averages[place] += share * (weights[place] - averages[place])


# --- doors ----------------------------------------------------------------------------------


class Descent:
    """A network that learns, by steps of Adam that threads share, and the average of its weights.

    `share_out` maps a function over the numbers of the threads, as an executor's `map` does.
    `network` plays with the average of the last weights, which is steadier than any of them.
    """

    def __init__(
        self,
        network: Network,
        threads: int,
        share_out: Callable[[Callable[[int], float], Iterable[int]], Iterable[float]],
        smoothing: float = 0.005,
    ) -> None:
        self.network, self.threads, self._share_out = network, threads, share_out
        self.smoothing = np.float32(smoothing)
        size = len(network.weights)
        self.weights = network.weights.copy()
        self.means, self.squares = np.zeros_like(self.weights), np.zeros_like(self.weights)
        self.steps = 0
        self._gradients = np.zeros((threads, size), dtype=np.float32)
        self._tables = network.tables._replace(weights=self.weights)
        self._scratch = [
            (
                make_desk(network.width),
                np.zeros(network.width, np.float32),
                np.zeros(ROW, np.float32),
            )
            for _ in range(threads)
        ]
        self._rows = [
            (np.zeros(MOST_CARDS * 2 * ROW, np.float32), np.zeros(MOST_CARDS, np.float32))
            for _ in range(threads)
        ]

    def learn_cards(self, lessons: Lessons, chosen: npt.NDArray[np.int64], rate: float) -> float:
        """Take a step by the chosen decisions [n]; return their mean squared error."""
        parts = np.array_split(chosen, self.threads)
        tables = self._tables
        mixing, joining = self._turned(MIXING, CONTEXT), self._turned(JOINING, JOINT)

        def descend(part: int) -> float:
            return float(
                _descend_cards(
                    lessons.features,
                    lessons.starts,
                    lessons.cards,
                    lessons.worth,
                    parts[part],
                    tables,
                    mixing,
                    joining,
                    self._gradients[part],
                    *self._scratch[part],
                    *self._rows[part],
                )
            )

        return self._step(descend, len(chosen), rate)

    def learn_values(self, lessons: Lessons, chosen: npt.NDArray[np.int64], rate: float) -> float:
        """Take a step by the chosen positions [n]; return their mean squared error."""
        parts = np.array_split(chosen, self.threads)
        tables = self._tables
        mixing = self._turned(MIXING, CONTEXT)

        def descend(part: int) -> float:
            return float(
                _descend_values(
                    lessons.seen,
                    lessons.won,
                    parts[part],
                    tables,
                    mixing,
                    self._gradients[part],
                    *self._scratch[part],
                )
            )

        return self._step(descend, len(chosen), rate)

    def _turned(self, start: int, stop: int) -> npt.NDArray[np.float32]:
        """Return a layer with rows and columns exchanged, flat."""
        layer = self.weights[self.network.plan[start] : self.network.plan[stop]]
        return np.ascontiguousarray(layer.reshape(-1, ROW).T).ravel()

    def _step(self, descend: Callable[[int], float], count: int, rate: float) -> float:
        total = sum(self._share_out(descend, range(self.threads)))
        self.steps += 1
        _move(
            self.weights,
            self._gradients,
            self.means,
            self.squares,
            np.float32(rate),
            np.float32(1.0 / count),
            np.float32(1.0 / (1.0 - _BETA_1**self.steps)),
            np.float32(1.0 / (1.0 - _BETA_2**self.steps)),
        )
        # At first the average would hold on to what the weights were before anything was learned.
        share = max(self.smoothing, np.float32(1.0 / self.steps))
        _follow(self.network.weights, self.weights, share)
        return total / count

    def state(self) -> dict[str, npt.NDArray[Any]]:
        """Return all that is needed to go on later."""
        return {
            "averages": self.network.weights,
            "weights": self.weights,
            "means": self.means,
            "squares": self.squares,
            "steps": np.array(self.steps),
        }

    def restore(self, state: dict[str, npt.NDArray[Any]]) -> None:
        """Go on from what `state` returned."""
        self.network.weights[:] = state["averages"]
        self.weights[:] = state["weights"]
        self.means[:], self.squares[:] = state["means"], state["squares"]
        self.steps = int(state["steps"])
