"""Arithmetic on rows of 64 floats, a few vector registers, as small networks need it in kernels.

Loops that numba compiles load and store every number of an accumulator again for every row that is
added; these keep it in registers, which is measured four to ten times as fast. Arrays are float32,
contiguous and one-dimensional; a row is named by the place where it starts.
Each function has a Python form, which runs with NUMBA_DISABLE_JIT=1, and a compiled one.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

ROW = 64
"""Numbers in a row."""

_FLOAT = ir.FloatType()
_VECTOR = ir.VectorType(_FLOAT, ROW)
_INDEX = ir.IntType(64)
_LANE = ir.IntType(32)
_FAST = ("fast",)


# --- what Python does -----------------------------------------------------------------------


def _row(array: Any, start: int) -> Any:
    return array[start : start + ROW]


def add_rows(weights: Any, starts: Any, count: int, shift: int, out: Any, at: int) -> None:
    """Add the rows of `weights` at the first `count` of `starts`, each + `shift`, to a row."""
    for place in range(count):
        out[at : at + ROW] += _row(weights, starts[place] + shift)


def add_products(
    weights: Any,
    start: int,
    stride: int,
    factors: Any,
    first: int,
    count: int,
    out: Any,
    at: int,
) -> None:
    """Add to a row `count` rows, at `start`, `start + stride` and so on, times factors.

    The factors are those from `first` on: what a layer adds to its outputs.
    """
    for place in range(count):
        out[at : at + ROW] += factors[first + place] * _row(weights, start + place * stride)


def add_outer(
    out: Any, start: int, factors: Any, first: int, count: int, row: Any, at: int
) -> None:
    """Add to each of `count` rows from `start` on a row, times `factors` from `first` on.

    What a layer's inputs and the slope of its outputs add to its gradient.
    """
    for place in range(count):
        to = start + place * ROW
        out[to : to + ROW] += factors[first + place] * _row(row, at)


def add_multiple(out: Any, at: int, row: Any, start: int, factor: Any) -> None:
    """Add a multiple of a row to another."""
    out[at : at + ROW] += np.float32(factor) * _row(row, start)


def dot(left: Any, at: int, right: Any, start: int) -> Any:
    """Return the scalar product of two rows."""
    return np.float32(_row(left, at) @ _row(right, start))


def rectify(row: Any, at: int) -> None:
    """Replace what is negative in a row by zero: ReLU."""
    row[at : at + ROW] = np.maximum(_row(row, at), np.float32(0))


def rectified_sum(
    first: Any, at: int, weights: Any, a: int, b: int, c: int, out: Any, to: int
) -> None:
    """Write the ReLU of the sum of a row and three rows of `weights` to a row of `out`."""
    total = _row(first, at) + _row(weights, a) + _row(weights, b) + _row(weights, c)
    out[to : to + ROW] = np.maximum(total, np.float32(0))


def mask_row(row: Any, at: int, values: Any, start: int) -> None:
    """Make a row zero wherever ReLU gave zero in `values`: the slope before a ReLU."""
    row[at : at + ROW] = np.where(_row(values, start) > 0, _row(row, at), np.float32(0))


# --- what the compiler does -----------------------------------------------------------------


def _pointer(context: Any, builder: Any, signature: Any, args: Any, place: int) -> Any:
    return context.make_array(signature.args[place])(context, builder, args[place]).data


def _place(builder: Any, data: Any, start: Any) -> Any:
    return builder.bitcast(builder.gep(data, [start]), _VECTOR.as_pointer())


def _load(builder: Any, data: Any, start: Any) -> Any:
    return builder.load(_place(builder, data, start), align=4)


def _store(builder: Any, row: Any, data: Any, start: Any) -> None:
    builder.store(row, _place(builder, data, start), align=4)


def _all_lanes(builder: Any, number: Any) -> Any:
    nothing = ir.Constant(_VECTOR, ir.Undefined)
    lane = builder.insert_element(nothing, number, _LANE(0))
    return builder.shuffle_vector(lane, nothing, ir.Constant(ir.VectorType(_LANE, ROW), [0] * ROW))


def _rectified(builder: Any, row: Any) -> Any:
    zero = ir.Constant(row.type, [0.0] * ROW)
    return builder.select(builder.fcmp_ordered(">", row, zero), row, zero)


def _sum_of_lanes(builder: Any, row: Any) -> Any:
    width = ROW
    while width > 1:
        width //= 2
        nothing = ir.Constant(row.type, ir.Undefined)
        lanes = ir.VectorType(_LANE, width)
        low, high = (
            builder.shuffle_vector(
                row, nothing, ir.Constant(lanes, list(range(first, first + width)))
            )
            for first in (0, width)
        )
        row = builder.fadd(low, high, flags=_FAST)
    return builder.extract_element(row, _LANE(0))


@intrinsic  # type: ignore[untyped-decorator]  # numba is untyped
def _add_rows(
    typing: Any, weights: Any, starts: Any, count: Any, shift: Any, out: Any, at: Any
) -> Any:
    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        source, places, target = (
            _pointer(context, builder, signature, args, place) for place in (0, 1, 4)
        )
        count, shift, at = args[2], args[3], args[5]
        total = cgutils.alloca_once_value(builder, _load(builder, target, at))
        with cgutils.for_range(builder, count) as loop:
            start = builder.load(builder.gep(places, [loop.index]))
            row = _load(builder, source, builder.add(start, shift))
            builder.store(builder.fadd(builder.load(total), row, flags=_FAST), total)
        _store(builder, builder.load(total), target, at)
        return context.get_dummy_value()

    return types.void(weights, starts, types.int64, types.int64, out, types.int64), build


@intrinsic  # type: ignore[untyped-decorator]  # numba is untyped
def _add_products(
    typing: Any,
    weights: Any,
    start: Any,
    stride: Any,
    factors: Any,
    first: Any,
    count: Any,
    out: Any,
    at: Any,
) -> Any:
    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        source, scales, target = (
            _pointer(context, builder, signature, args, place) for place in (0, 3, 6)
        )
        start, stride, first, count, at = args[1], args[2], args[4], args[5], args[7]
        scales = builder.gep(scales, [first])
        total = cgutils.alloca_once_value(builder, _load(builder, target, at))
        with cgutils.for_range(builder, count) as loop:
            scale = _all_lanes(builder, builder.load(builder.gep(scales, [loop.index])))
            row = _load(builder, source, builder.add(start, builder.mul(loop.index, stride)))
            product = builder.fmul(scale, row, flags=_FAST)
            builder.store(builder.fadd(builder.load(total), product, flags=_FAST), total)
        _store(builder, builder.load(total), target, at)
        return context.get_dummy_value()

    number = types.int64
    return types.void(weights, number, number, factors, number, number, out, number), build


@intrinsic  # type: ignore[untyped-decorator]  # numba is untyped
def _add_outer(
    typing: Any, out: Any, start: Any, factors: Any, first: Any, count: Any, row: Any, at: Any
) -> Any:
    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        target, scales, source = (
            _pointer(context, builder, signature, args, place) for place in (0, 2, 5)
        )
        target = builder.gep(target, [args[1]])
        scales = builder.gep(scales, [args[3]])
        slope = _load(builder, source, args[6])
        with cgutils.for_range(builder, args[4]) as loop:
            scale = _all_lanes(builder, builder.load(builder.gep(scales, [loop.index])))
            place = builder.mul(loop.index, _INDEX(ROW))
            product = builder.fmul(scale, slope, flags=_FAST)
            total = builder.fadd(_load(builder, target, place), product, flags=_FAST)
            _store(builder, total, target, place)
        return context.get_dummy_value()

    number = types.int64
    return types.void(out, number, factors, number, number, row, number), build


@intrinsic  # type: ignore[untyped-decorator]  # numba is untyped
def _add_multiple(typing: Any, out: Any, at: Any, row: Any, start: Any, factor: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        target, source = (_pointer(context, builder, signature, args, place) for place in (0, 2))
        product = builder.fmul(
            _all_lanes(builder, args[4]), _load(builder, source, args[3]), flags=_FAST
        )
        total = builder.fadd(_load(builder, target, args[1]), product, flags=_FAST)
        _store(builder, total, target, args[1])
        return context.get_dummy_value()

    return types.void(out, types.int64, row, types.int64, types.float32), build


@intrinsic  # type: ignore[untyped-decorator]  # numba is untyped
def _dot(typing: Any, left: Any, at: Any, right: Any, start: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        one, other = (_pointer(context, builder, signature, args, place) for place in (0, 2))
        product = builder.fmul(
            _load(builder, one, args[1]), _load(builder, other, args[3]), flags=_FAST
        )
        return _sum_of_lanes(builder, product)

    return types.float32(left, types.int64, right, types.int64), build


@intrinsic  # type: ignore[untyped-decorator]  # numba is untyped
def _rectify(typing: Any, row: Any, at: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data = _pointer(context, builder, signature, args, 0)
        _store(builder, _rectified(builder, _load(builder, data, args[1])), data, args[1])
        return context.get_dummy_value()

    return types.void(row, types.int64), build


@intrinsic  # type: ignore[untyped-decorator]  # numba is untyped
def _rectified_sum(
    typing: Any, first: Any, at: Any, weights: Any, a: Any, b: Any, c: Any, out: Any, to: Any
) -> Any:
    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        start, source, target = (
            _pointer(context, builder, signature, args, place) for place in (0, 2, 6)
        )
        total = _load(builder, start, args[1])
        for place in (3, 4, 5):
            total = builder.fadd(total, _load(builder, source, args[place]), flags=_FAST)
        _store(builder, _rectified(builder, total), target, args[7])
        return context.get_dummy_value()

    number = types.int64
    return types.void(first, number, weights, number, number, number, out, number), build


@intrinsic  # type: ignore[untyped-decorator]  # numba is untyped
def _mask_row(typing: Any, row: Any, at: Any, values: Any, start: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        data, given = (_pointer(context, builder, signature, args, place) for place in (0, 2))
        zero = ir.Constant(_VECTOR, [0.0] * ROW)
        positive = builder.fcmp_ordered(">", _load(builder, given, args[3]), zero)
        masked = builder.select(positive, _load(builder, data, args[1]), zero)
        _store(builder, masked, data, args[1])
        return context.get_dummy_value()

    return types.void(row, types.int64, values, types.int64), build


overload(add_rows)(
    lambda weights, starts, count, shift, out, at: (
        lambda weights, starts, count, shift, out, at: _add_rows(
            weights, starts, count, shift, out, at
        )
    )
)
overload(add_products)(
    lambda weights, start, stride, factors, first, count, out, at: (
        lambda weights, start, stride, factors, first, count, out, at: _add_products(
            weights, start, stride, factors, first, count, out, at
        )
    )
)
overload(add_outer)(
    lambda out, start, factors, first, count, row, at: (
        lambda out, start, factors, first, count, row, at: _add_outer(
            out, start, factors, first, count, row, at
        )
    )
)
overload(add_multiple)(
    lambda out, at, row, start, factor: (
        lambda out, at, row, start, factor: _add_multiple(out, at, row, start, factor)
    )
)
overload(dot)(
    lambda left, at, right, start: lambda left, at, right, start: _dot(left, at, right, start)
)
overload(rectify)(lambda row, at: lambda row, at: _rectify(row, at))
overload(rectified_sum)(
    lambda first, at, weights, a, b, c, out, to: (
        lambda first, at, weights, a, b, c, out, to: _rectified_sum(
            first, at, weights, a, b, c, out, to
        )
    )
)
overload(mask_row)(
    lambda row, at, values, start: lambda row, at, values, start: _mask_row(row, at, values, start)
)
