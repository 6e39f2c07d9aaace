"""Intervals cover what they promise, comparisons use that deals are shared, ranks hold at once."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from chinese_ten_env.arena.statistics import (
    Comparison,
    Moments,
    compare,
    deals_needed,
    holm,
    rank_ranges,
)


def moments_of(rows: npt.NDArray[np.float64]) -> Moments:
    """Return the moments of rows [D, N]."""
    moments = Moments(rows.shape[1])
    moments.add(rows)
    return moments


def test_moments_are_those_of_all_rows_however_they_come() -> None:
    rng = np.random.default_rng(1)
    rows = 1e6 + rng.normal(size=(1000, 3)) @ rng.normal(size=(3, 3))
    moments = Moments(3)
    for start, stop in ((0, 1), (1, 1), (1, 400), (400, 1000)):
        moments.add(rows[start:stop])
    assert moments.count == 1000
    np.testing.assert_allclose(moments.mean, rows.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(moments.covariance, np.cov(rows.T), rtol=1e-6)
    expected = 1.96 * rows.std(axis=0, ddof=1) / np.sqrt(1000)
    np.testing.assert_allclose(moments.half_widths, expected, rtol=1e-4)
    assert np.isnan(moments_of(rows[:1]).half_widths).all()


def test_intervals_of_means_and_differences_hold_a_known_difference() -> None:
    # 2,000 arenas of three policies in 200 deals; what the cards bring is shared by all.
    rng = np.random.default_rng(2)
    true = np.array([0.5, 0.0, -0.5])
    covered, told = np.zeros(3), 0
    for _ in range(2000):
        luck = rng.normal(0, 20, size=(200, 1))
        moments = moments_of(true + luck + rng.exponential(6, size=(200, 3)) - 6)
        comparison = compare(moments)
        off = np.abs(comparison.difference - (true[:, None] - true[None, :]))
        inside = off <= comparison.half_width
        covered += inside[0, 1], inside[0, 2], inside[1, 2]
        told += moments.half_widths[0] < 5 * comparison.half_width[0, 1]
    assert ((covered / 2000 > 0.93) & (covered / 2000 < 0.97)).all()
    assert told == 2000  # the interval of a difference is the narrower one, far narrower here
    assert moments.half_widths[0] > 2 * comparison.half_width[0, 1]


def test_equal_columns_are_never_told_apart() -> None:
    column = np.random.default_rng(3).normal(size=(50, 1))
    comparison = compare(moments_of(np.hstack([column, column, column + 1])))
    assert comparison.difference[0, 1] == 0
    assert comparison.p_value[0, 1] == 1
    assert not comparison.better[0, 1]
    assert comparison.better[2, 0]  # one more in every deal is beyond doubt
    assert np.array_equal(comparison.adjusted, comparison.adjusted.T)
    assert rank_ranges(comparison).tolist() == [[2, 3], [2, 3], [1, 1]]


def test_many_comparisons_of_equal_policies_seldom_err() -> None:
    rng = np.random.default_rng(4)
    wrong = raw = 0
    for _ in range(500):
        comparison = compare(moments_of(rng.normal(size=(100, 6))))
        wrong += int(comparison.better.any())
        raw += int((comparison.p_value < 0.05).any())
        assert (comparison.adjusted >= comparison.p_value - 1e-12).all()
    assert wrong / 500 < 0.08  # 5 % are allowed in all 15 comparisons together
    assert raw / 500 > 0.25  # without the correction


def test_holms_method_on_a_worked_example() -> None:
    # 4 x 0.005, 3 x 0.01, 2 x 0.03, and no less than that for the last.
    raised = holm(np.array([0.01, 0.04, 0.03, 0.005]))
    np.testing.assert_allclose(raised, [0.03, 0.06, 0.06, 0.02])
    assert holm(np.array([0.6, 0.7])).tolist() == [1.0, 1.0]
    assert len(holm(np.array([]))) == 0


def test_rank_ranges_hold_the_true_ranks_at_once() -> None:
    rng = np.random.default_rng(5)
    true = np.array([0.6, 0.3, 0.3, 0.0])
    held = 0
    for _ in range(500):
        ranges = rank_ranges(compare(moments_of(true + rng.normal(size=(150, 4)))))
        held += all(
            low <= rank <= high
            for (low, high), rank in zip(ranges.tolist(), (1, 2, 3, 4), strict=True)
        )
    assert held / 500 > 0.95


def test_so_many_deals_tell_a_difference_with_the_power_asked() -> None:
    deals = deals_needed(difference=-0.4, deviation=3.0, power=0.8)
    assert deals == pytest.approx(((1.959964 + 0.841621) * 3 / 0.4) ** 2, abs=1.5)
    rng = np.random.default_rng(6)
    found = 0
    for _ in range(400):
        rows = np.zeros((deals, 2))
        rows[:, 0] = rng.normal(0.4, 3.0, size=deals)
        found += compare(moments_of(rows)).p_value[0, 1] < 0.05
    assert 0.74 < found / 400 < 0.86
    assert deals_needed(1.0, 0.0) == 1
    with pytest.raises(ValueError, match="tells a difference of 0"):
        deals_needed(0.0, 1.0)
    with pytest.raises(ValueError, match="power must be between"):
        deals_needed(1.0, 1.0, power=1.5)


def test_one_deal_tells_nothing() -> None:
    comparison: Comparison = compare(moments_of(np.array([[1.0, 2.0]])))
    assert np.isnan(comparison.half_width).all()
    assert not comparison.better.any()
