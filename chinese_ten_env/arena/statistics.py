"""What a sample of deals says of several policies: means, intervals, comparisons and ranks.

A sample is a row of numbers for each deal, one for each policy, so that what the cards do to all of
them alike cancels where two are compared. Deals are independent and there are many of them, so all
intervals and p-values are those of the normal distribution, over deals.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

NORMAL_95 = 1.959964
"""Half the width of a 95 % interval, in standard errors."""

LEVEL = 0.05
"""Two policies are told apart if by chance they would differ so much less often than this."""

Numbers = npt.NDArray[np.float64]


class Moments:
    """Mean and covariance of rows of N numbers, of which only these are kept.

    Chan, Golub and LeVeque (1983) say how those of two samples are joined without losing digits.
    """

    def __init__(self, size: int) -> None:
        self.count = 0
        self.mean: Numbers = np.zeros(size)
        self._products: Numbers = np.zeros((size, size))

    def add(self, rows: Numbers) -> None:
        """Take in rows [D, N]."""
        count = len(rows)
        if count == 0:
            return
        mean = rows.mean(axis=0)
        apart = mean - self.mean
        centred = rows - mean
        total = self.count + count
        self._products += centred.T @ centred
        self._products += np.outer(apart, apart) * (self.count * count / total)
        self.mean = self.mean + apart * (count / total)
        self.count = total

    @property
    def covariance(self) -> Numbers:
        """Covariance of the numbers of a row, [N, N]; NaN for a single row."""
        if self.count < 2:
            return np.full_like(self._products, np.nan)
        return self._products / (self.count - 1)

    @property
    def half_widths(self) -> Numbers:
        """Half the width of the 95 % interval of each mean, [N]; NaN for a single row."""
        return half_width(np.diag(self.covariance), self.count)


def half_width(variance: Numbers, count: int) -> Numbers:
    """Return half the width of the 95 % interval of the mean of so many numbers."""
    return NORMAL_95 * np.sqrt(np.maximum(variance, 0.0) / count)


@dataclass(frozen=True)
class Comparison:
    """Each of N policies against each other, row against column; all [N, N]."""

    difference: Numbers
    """How far the mean of the row's policy is above that of the column's."""
    half_width: Numbers
    """Half the width of its 95 % interval."""
    p_value: Numbers
    """How probable a difference as large is by chance; 1 on the diagonal."""
    adjusted: Numbers
    """The same by Holm's method, which keeps one error in all these comparisons that improbable."""

    @property
    def better(self) -> npt.NDArray[np.bool_]:
        """Whether the row's policy is better than the column's beyond doubt, all at once."""
        return (self.difference > 0) & (self.adjusted < LEVEL)


def compare(moments: Moments) -> Comparison:
    """Compare each with each, by the differences in the same deals."""
    mean, covariance = moments.mean, moments.covariance
    variances = np.diag(covariance)
    difference = mean[:, None] - mean[None, :]
    variance = np.maximum(variances[:, None] + variances[None, :] - 2 * covariance, 0.0)
    error = np.sqrt(variance / moments.count)
    # Where no deal differs there is nothing to doubt: policies that play alike are alike.
    with np.errstate(divide="ignore", invalid="ignore"):
        scores = np.where(difference == 0, 0.0, np.abs(difference) / error)
    p_value = np.where(np.isnan(scores), 1.0, _two_sided(scores))
    adjusted = np.ones_like(p_value)
    above = np.triu_indices(len(mean), 1)
    adjusted[above] = holm(p_value[above])
    adjusted = np.minimum(adjusted, adjusted.T)
    return Comparison(difference, half_width(variance, moments.count), p_value, adjusted)


_two_sided = np.vectorize(lambda score: math.erfc(score / math.sqrt(2)), otypes=[np.float64])


def holm(p_values: Numbers) -> Numbers:
    """Return p-values [n] so raised that the smallest may be judged as if it were the only one.

    The method is Holm's (1979): the k-th smallest counts n - k + 1 times, and none less than a
    smaller one.
    """
    order = np.argsort(p_values, kind="stable")
    weights = np.arange(len(p_values), 0, -1)
    raised = np.empty_like(p_values)
    raised[order] = np.minimum(1.0, np.maximum.accumulate(weights * p_values[order]))
    return raised


def rank_ranges(comparison: Comparison) -> npt.NDArray[np.int64]:
    """Return the best and the worst rank that each policy may have, from 1 on, int64 [N, 2].

    All ranges hold at once in 95 % of samples: a policy is behind those that are better beyond
    doubt and before those that are worse (Mogstad, Romano, Shaikh and Wilhelm 2024).
    """
    better = comparison.better
    behind, before = better.sum(axis=0), better.sum(axis=1)
    return np.stack([1 + behind, len(better) - before], axis=1)


def deals_needed(difference: float, deviation: float, power: float = 0.8) -> int:
    """Return how many deals tell a difference from 0 with such a probability.

    `deviation` is the standard deviation of the difference in a deal. ValueError if the difference
    is 0, or the power no probability between `LEVEL` and 1.
    """
    if difference == 0:
        raise ValueError("no number of deals tells a difference of 0 from 0")
    if not LEVEL < power < 1:
        raise ValueError(f"power must be between {LEVEL} and 1, not {power}")
    if deviation == 0:
        return 1
    quantile = NormalDist().inv_cdf
    errors = quantile(1 - LEVEL / 2) + quantile(power)
    return math.ceil((errors * deviation / difference) ** 2)
