"""What kernels need of the machine itself: its instructions, its cache, its threads.

Each function has a Python form, which runs with NUMBA_DISABLE_JIT=1, and a compiled one.
"""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import numpy.typing as npt
from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from chinese_ten_env.cards import NUM_CARDS
from chinese_ten_env.jit import kernel

LINE = 64
"""Bytes that the cache and the memory exchange at once, or a multiple of it."""

_ONE = np.uint64(1)
_HAS_PDEP = bool(binding.get_host_cpu_features().get("bmi2"))


def popcount(bits: np.uint64) -> int:
    """Return the number of cards in a set."""
    return int(bits).bit_count()


def lowest(bits: np.uint64) -> int:
    """Return the lowest card of a set that is not empty."""
    return (int(bits) & -int(bits)).bit_length() - 1


def nth(bits: np.uint64, n: int | np.uint64) -> int:
    """Return the n-th lowest card of a set with more than n cards, counting from 0."""
    rest = int(bits)
    for _ in range(int(n)):
        rest &= rest - 1
    return (rest & -rest).bit_length() - 1


def reverse(bits: np.uint64) -> np.uint64:
    """Return the 64 bits in reverse order."""
    return np.uint64(int(f"{int(bits):064b}"[::-1], 2))


def write_row(out: Any, start: int, bits: np.uint64, is_last: bool) -> None:
    """Write a set as 52 bytes of 0 and 1 to `out`, contiguous, from its byte `start` on.

    Unless `is_last`, the 12 bytes behind the row may be overwritten too: rows are written in
    ascending order, and only the last one has nothing of its own behind it.
    """
    flat = out.reshape(-1)
    for card in range(NUM_CARDS):
        flat[start + card] = int(bits) >> card & 1


def empty_lines(shape: tuple[int, ...], dtype: npt.DTypeLike) -> npt.NDArray[Any]:
    """Return a new array as ``np.empty`` does, on lines of the cache that hold nothing else."""
    size = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
    memory = np.empty(-(-size // LINE) * LINE + LINE, dtype=np.uint8)
    start = -memory.ctypes.data % LINE
    return memory[start : start + size].view(dtype).reshape(shape)


def stream(block: Any, out: Any, start: int, count: int) -> None:
    """Copy the first bytes of `block` to `out`, contiguous, from its byte `start` on.

    The copy goes past the cache to memory, for an array that does not fit into the cache anyway:
    the processor need not read a line before it writes it, and keeps what is in the cache. Both
    arrays, as those of `empty_lines` do, and `start` must lie at whole lines.
    """
    out.reshape(-1)[start : start + count] = block.reshape(-1)[:count]


def finish_streaming() -> None:
    """Wait until all that this thread streamed is in memory, for other threads to read."""


_claiming = threading.Lock()


def claim(cursor: Any, count: int) -> int:
    """Move a cursor, int64 [1], that threads share, and return where it stood before."""
    with _claiming:
        first = int(cursor[0])
        cursor[0] = first + count
    return first


@intrinsic  # type: ignore[untyped-decorator]  # numba is untyped
def _popcount(typing: Any, bits: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.int64(types.uint64), build


@intrinsic  # type: ignore[untyped-decorator]  # numba is untyped
def _lowest(typing: Any, bits: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), build


@intrinsic  # type: ignore[untyped-decorator]  # numba is untyped
def _reverse(typing: Any, bits: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.bitreverse(args[0])

    return types.uint64(types.uint64), build


@intrinsic  # type: ignore[untyped-decorator]  # numba is untyped
def _deposit(typing: Any, source: Any, mask: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        word = ir.IntType(64)
        function = cgutils.get_or_insert_function(
            builder.module, ir.FunctionType(word, [word, word]), "llvm.x86.bmi.pdep.64"
        )
        return builder.call(function, args)

    return types.uint64(types.uint64, types.uint64), build


@intrinsic  # type: ignore[untyped-decorator]  # numba is untyped
def _write_row(typing: Any, out: Any, start: Any, bits: Any, is_last: Any) -> Any:
    # Widening a vector of bits to bytes becomes one masked move with AVX-512 and a shuffle and a
    # comparison elsewhere; measured 3 to 10 times as fast as a table of bytes or a loop.
    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array, first, value, last = args
        data = context.make_array(signature.args[0])(context, builder, array).data
        byte = ir.IntType(8)
        target = builder.gep(builder.bitcast(data, byte.as_pointer()), [first])

        def store(offset: int, width: int) -> None:
            part = builder.trunc(builder.lshr(value, value.type(offset)), ir.IntType(width))
            flags = builder.bitcast(part, ir.VectorType(ir.IntType(1), width))
            row = builder.zext(flags, ir.VectorType(byte, width))
            place = builder.gep(target, [ir.Constant(ir.IntType(64), offset)])
            builder.store(row, builder.bitcast(place, row.type.as_pointer()), align=1)

        with builder.if_else(last) as (exactly, freely):
            with exactly:
                store(0, 32)
                store(32, 16)
                store(36, 16)  # overlaps: 52 is no sum of two powers of two
            with freely:
                store(0, 64)
        return context.get_dummy_value()

    return types.void(out, types.int64, types.uint64, types.boolean), build


@intrinsic  # type: ignore[untyped-decorator]  # numba is untyped
def _stream(typing: Any, block: Any, out: Any, start: Any, count: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        byte, line = ir.IntType(8), ir.VectorType(ir.IntType(64), LINE // 8)
        past_the_cache = builder.module.add_metadata([ir.Constant(ir.IntType(32), 1)])

        def bytes_of(place: int) -> Any:
            array = context.make_array(signature.args[place])(context, builder, args[place])
            return builder.bitcast(array.data, byte.as_pointer())

        source, target = bytes_of(0), builder.gep(bytes_of(1), [args[2]])
        length = args[3]
        zero, one, size = (length.type(number) for number in (0, 1, LINE))
        whole = builder.sub(length, builder.srem(length, size))
        with cgutils.for_range_slice(builder, zero, whole, size) as (place, _):
            read = builder.bitcast(builder.gep(source, [place]), line.as_pointer())
            written = builder.bitcast(builder.gep(target, [place]), line.as_pointer())
            store = builder.store(builder.load(read, align=LINE), written, align=LINE)
            store.set_metadata("nontemporal", past_the_cache)
        with cgutils.for_range_slice(builder, whole, length, one) as (place, _):
            builder.store(builder.load(builder.gep(source, [place])), builder.gep(target, [place]))
        return context.get_dummy_value()

    return types.void(block, out, types.int64, types.int64), build


@intrinsic  # type: ignore[untyped-decorator]  # numba is untyped
def _finish_streaming(typing: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.fence("seq_cst")
        return context.get_dummy_value()

    return types.void(), build


@intrinsic  # type: ignore[untyped-decorator]  # numba is untyped
def _claim(typing: Any, cursor: Any, count: Any) -> Any:
    def build(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, args[0])
        return builder.atomic_rmw("add", array.data, args[1], "seq_cst")

    return types.int64(cursor, types.int64), build


@kernel
def _nth_by_clearing(bits: np.uint64, n: int) -> int:
    for _ in range(n):
        bits &= bits - _ONE
    return lowest(bits)


@kernel
def _nth_by_deposit(bits: np.uint64, n: int) -> int:
    return lowest(_deposit(_ONE << np.uint64(n), bits))


# Numba compares the names and the annotations of both signatures, so lambdas, which have none.
overload(popcount)(lambda bits: lambda bits: _popcount(bits))
overload(lowest)(lambda bits: lambda bits: _lowest(bits))
overload(reverse)(lambda bits: lambda bits: _reverse(bits))
_compiled_nth = _nth_by_deposit if _HAS_PDEP else _nth_by_clearing
overload(nth)(lambda bits, n: lambda bits, n: _compiled_nth(bits, n))
overload(write_row)(
    lambda out, start, bits, is_last: (
        lambda out, start, bits, is_last: _write_row(out, start, bits, is_last)
    )
)
overload(stream)(
    lambda block, out, start, count: (
        lambda block, out, start, count: _stream(block, out, start, count)
    )
)
overload(finish_streaming)(lambda: lambda: _finish_streaming())
overload(claim)(lambda cursor, count: lambda cursor, count: _claim(cursor, count))
