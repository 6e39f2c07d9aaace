"""Bitboards and random numbers inside kernels: the few operations that need care in numba.

Only ``uint64`` values may touch a bitboard: a signed operand would turn the result into ``int64``,
and a mixture into ``float64``.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import binding, ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic, overload

from chinese_ten_env.cards import FAMILY_OF_FOUR, NUM_CARDS
from chinese_ten_env.jit import kernel

U64 = np.uint64
EMPTY = U64(0)
ONE = U64(1)

_SUIT_BITS = U64(0b1111)
_FIRST_SUITS = U64(sum(1 << bit for bit in range(0, NUM_CARDS, 4)))
_MAKING_TEN_WIDTH = 36  # the cards A to 9
_SAME_RANK = U64(int(FAMILY_OF_FOUR) >> _MAKING_TEN_WIDTH << _MAKING_TEN_WIDTH)  # T J Q K
_HAS_PDEP = bool(binding.get_host_cpu_features().get("bmi2"))

# --- machine instructions -------------------------------------------------------------------
# Each has a Python form, which runs with NUMBA_DISABLE_JIT=1, and a compiled one.


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


def _reverse(bits: np.uint64) -> np.uint64:
    return U64(int(f"{int(bits):064b}"[::-1], 2))


def write_row(out: Any, start: int, bits: np.uint64, is_last: bool) -> None:
    """Write a set as 52 bytes of 0 and 1 to `out`, contiguous, from its byte `start` on.

    Unless `is_last`, the 12 bytes behind the row may be overwritten too: rows are written in
    ascending order, and only the last one has nothing of its own behind it.
    """
    flat = out.reshape(-1)
    for card in range(NUM_CARDS):
        flat[start + card] = int(bits) >> card & 1


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
def _reverse_bits(typing: Any, bits: Any) -> Any:
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


@kernel
def _nth_by_clearing(bits: np.uint64, n: int) -> int:
    for _ in range(n):
        bits &= bits - ONE
    return lowest(bits)


@kernel
def _nth_by_deposit(bits: np.uint64, n: int) -> int:
    return lowest(_deposit(ONE << U64(n), bits))


# Numba compares the names and the annotations of both signatures, so lambdas, which have none.
overload(popcount)(lambda bits: lambda bits: _popcount(bits))
overload(lowest)(lambda bits: lambda bits: _lowest(bits))
overload(_reverse)(lambda bits: lambda bits: _reverse_bits(bits))
_compiled_nth = _nth_by_deposit if _HAS_PDEP else _nth_by_clearing
overload(nth)(lambda bits, n: lambda bits, n: _compiled_nth(bits, n))
overload(write_row)(
    lambda out, start, bits, is_last: (
        lambda out, start, bits, is_last: _write_row(out, start, bits, is_last)
    )
)


# --- sets -----------------------------------------------------------------------------------


@kernel
def first(n: int) -> np.uint64:
    """Return the set of the n lowest cards: a number as a thermometer, 0 <= n <= 52."""
    return (ONE << U64(n)) - ONE


@kernel
def capturing(cards: np.uint64) -> np.uint64:
    """Return every card, wherever it is, whose rank can capture one of `cards`."""
    suits = cards | cards >> ONE
    suits |= suits >> U64(2)
    ranks = (suits & _FIRST_SUITS) * _SUIT_BITS
    # A to 9 capture the rank that lies as far from 9 as they from A: the mirror image.
    return _reverse(ranks << U64(64 - _MAKING_TEN_WIDTH)) | (ranks & _SAME_RANK)


# --- random numbers -------------------------------------------------------------------------
# SplitMix64 (Steele, Lea and Flood 2014): the state is a counter that grows by GAMMA, and each
# word is a hash of it. A seed is the first state. The same seed gives the same deals on every
# platform and with every version of NumPy.

GAMMA = U64(0x9E3779B97F4A7C15)
_LOW_HALF = U64(0xFFFFFFFF)


@kernel
def mix(state: np.uint64) -> np.uint64:
    """Return the random word of a SplitMix64 state."""
    word = (state ^ (state >> U64(30))) * U64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> U64(27))) * U64(0x94D049BB133111EB)
    return word ^ (word >> U64(31))


@kernel
def scale(word: np.uint64, n: int) -> np.uint64:
    """Return a number below n from the upper half of a random word; n / 2**32 away from uniform."""
    return ((word >> U64(32)) * U64(n)) >> U64(32)


@kernel
def pick(bits: np.uint64, word: np.uint64) -> int:
    """Return a random card of a set that is not empty."""
    return nth(bits, scale(word, popcount(bits)))


@kernel
def draw(state: np.uint64, n: int) -> tuple[np.uint64, np.uint64]:
    """Return the next state and a number below n, exactly uniform (Lemire 2019), 0 < n < 2**32."""
    size = U64(n)
    state += GAMMA
    product = (mix(state) >> U64(32)) * size
    if product & _LOW_HALF < size:
        threshold = ((_LOW_HALF + ONE) - size) % size
        while product & _LOW_HALF < threshold:
            state += GAMMA
            product = (mix(state) >> U64(32)) * size
    return state, product >> U64(32)


@kernel
def shuffle(deck: Any, state: np.uint64) -> np.uint64:
    """Fill `deck` (uint8 [52]) with all cards in random order and return the next state.

    The inside-out form of the Fisher-Yates shuffle: card i goes to a uniform place among the first
    i + 1, and the card that lay there moves to place i.
    """
    deck[0] = 0
    for card in range(1, NUM_CARDS):
        state, place = draw(state, card + 1)
        deck[card] = deck[place]
        deck[place] = card
    return state
