"""Cards as names, numbers and bitboards, and the operations on bitboards."""

from __future__ import annotations

import random
import threading
from typing import Any

import numba
import numpy as np
import pytest

import chinese_ten_env as ct
from chinese_ten_env import bits, cards, machine
from chinese_ten_env.jit import kernel
from chinese_ten_env.observation import write_rows
from tests import reference

IN_ORDER = (
    "AC AD AH AS 2C 2D 2H 2S 3C 3D 3H 3S 4C 4D 4H 4S 5C 5D 5H 5S 6C 6D 6H 6S 7C 7D 7H 7S "
    "8C 8D 8H 8S 9C 9D 9H 9S TC TD TH TS JC JD JH JS QC QD QH QS KC KD KH KS"
)
NAMES = IN_ORDER.split()

EDGE_SETS = [0, 1, 1 << 51, (1 << 52) - 1, 0b1010, 1 << 51 | 1]
RANDOM = random.Random(1)
SETS = EDGE_SETS + [RANDOM.getrandbits(52) & RANDOM.getrandbits(52) for _ in range(200)]


def members(cards_as_bits: int) -> list[int]:
    """List the cards of a set by looking at every bit."""
    return [number for number in range(52) if cards_as_bits >> number & 1]


# --- names and numbers


@pytest.mark.parametrize("number", range(52))
def test_names_and_numbers_both_ways(number: int) -> None:
    name = NAMES[number]
    assert ct.card(name) == number
    assert ct.card_name(number) == name
    assert cards.CARD_NAMES[number] == name
    assert ct.card_names(ct.bitboard(name)) == name
    assert ct.card_list(ct.bitboard([number])) == [number]
    assert ct.bitboard(name) == ct.bitboard([name]) == ct.bitboard([number]) == 1 << number


def test_anchors_of_the_numbering() -> None:
    assert [ct.card(name) for name in ("AC", "AS", "5D", "KS")] == [0, 3, 17, 51]


def test_names_are_read_in_any_case() -> None:
    assert ct.card(" td ") == ct.card("TD")


def test_numpy_integers_have_names() -> None:
    numbers: Any = np.arange(52, dtype=np.uint8)
    assert [ct.card_name(number) for number in numbers] == NAMES


@pytest.mark.parametrize("name", ["", "A", "1C", "10C", "AX", "A C", "♠A", "ACC", "CA", "0"])
def test_unknown_names_are_errors_that_say_how_to_write_one(name: str) -> None:
    with pytest.raises(ValueError, match=r"is not a card: write a rank of A23456789TJQK") as error:
        ct.card(name)
    assert repr(name) in str(error.value)


@pytest.mark.parametrize("number", [-1, 52, 255])
def test_numbers_outside_the_deck_are_errors(number: int) -> None:
    with pytest.raises(ValueError, match=rf"{number} is not a card number: 0\.\.51"):
        ct.card_name(number)


# --- bitboards


def test_bitboard_text_both_ways() -> None:
    assert ct.bitboard("9C AH") == 1 << 2 | 1 << 32
    assert ct.card_names(ct.bitboard("9C AH")) == "AH 9C"
    assert ct.bitboard("") == ct.bitboard([]) == 0
    assert ct.card_names(0) == ""
    assert ct.card_list(ct.bitboard(["KS", 0, 5])) == [0, 5, 51]
    assert ct.card_list(ct.bitboard(np.array([51, 0, 5]))) == [0, 5, 51]
    assert isinstance(ct.bitboard("AH"), np.uint64)


def test_card_list_and_bitboard_are_inverse() -> None:
    for cards_as_bits in SETS:
        numbers = members(cards_as_bits)
        assert ct.card_list(cards_as_bits) == ct.card_list(np.uint64(cards_as_bits)) == numbers
        assert ct.bitboard(numbers) == cards_as_bits
        assert ct.bitboard(ct.card_names(cards_as_bits)) == cards_as_bits


def test_a_card_named_twice_is_an_error() -> None:
    with pytest.raises(ValueError, match="card AH is named twice"):
        ct.bitboard("AH 9C AH")
    with pytest.raises(ValueError, match="card AH is named twice"):
        ct.bitboard(["AH", 2])


@pytest.mark.parametrize("entry", ["XX", 52, -1])
def test_a_bitboard_of_no_card_is_an_error(entry: Any) -> None:
    with pytest.raises(ValueError, match="is not a card"):
        ct.bitboard([entry])


# --- what cards are


def test_red_cards() -> None:
    assert [name for name in NAMES if cards.is_red(ct.card(name))] == [
        name for name in NAMES if name[1] in ("D", "H")
    ]


def test_partner_ranks() -> None:
    pairs = {rank: cards.RANKS[cards.partner_rank(ix)] for ix, rank in enumerate(cards.RANKS)}
    assert " ".join(f"{rank}-{partner}" for rank, partner in pairs.items()) == (
        "A-9 2-8 3-7 4-6 5-5 6-4 7-3 8-2 9-A T-T J-J Q-Q K-K"
    )


@pytest.mark.parametrize(
    ("name", "partners"),
    [
        ("AH", "9C 9D 9H 9S"),
        ("9S", "AC AD AH AS"),
        ("4C", "6C 6D 6H 6S"),
        ("6D", "4C 4D 4H 4S"),
        ("5D", "5C 5H 5S"),
        ("TC", "TD TH TS"),
        ("KS", "KC KD KH"),
    ],
)
def test_partners(name: str, partners: str) -> None:
    assert ct.card_names(cards.PARTNERS[ct.card(name)]) == partners


@pytest.mark.parametrize("number", range(52))
def test_partners_of_every_card(number: int) -> None:
    name = NAMES[number]
    expected = [x for x in NAMES if x != name and reference.can_capture(name, x)]
    assert ct.card_names(cards.PARTNERS[number]).split() == expected


def test_sets_with_a_name() -> None:
    assert ct.card_names(cards.DECK) == IN_ORDER
    assert ct.card_names(cards.RED_FIVES) == "5D 5H"
    assert ct.card_names(cards.FAMILY_OF_FOUR) == (
        "5C 5D 5H 5S TC TD TH TS JC JD JH JS QC QD QH QS KC KD KH KS"
    )


# --- operations in kernels
# Each is called from a kernel, so that the compiled form is tested; those that have a Python form
# of their own are called directly too.


@kernel
def _popcount(cards_as_bits: np.uint64) -> int:
    return machine.popcount(cards_as_bits)


@kernel
def _lowest(cards_as_bits: np.uint64) -> int:
    return machine.lowest(cards_as_bits)


@kernel
def _nth(cards_as_bits: np.uint64, n: int) -> int:
    return machine.nth(cards_as_bits, n)


@pytest.mark.parametrize("popcount", [_popcount, machine.popcount])
def test_popcount(popcount: Any) -> None:
    assert [popcount(np.uint64(x)) for x in SETS] == [len(members(x)) for x in SETS]
    assert popcount(np.uint64(2**64 - 1)) == 64


@pytest.mark.parametrize("lowest", [_lowest, machine.lowest])
def test_lowest(lowest: Any) -> None:
    assert [lowest(np.uint64(x)) for x in SETS if x] == [members(x)[0] for x in SETS if x]


@pytest.mark.parametrize("nth", [_nth, machine.nth, machine._nth_by_clearing])
def test_nth(nth: Any) -> None:
    for cards_as_bits in SETS:
        numbers = members(cards_as_bits)
        assert [nth(np.uint64(cards_as_bits), n) for n in range(len(numbers))] == numbers


def test_first_is_a_thermometer() -> None:
    assert [ct.card_list(bits.first(n)) for n in range(53)] == [list(range(n)) for n in range(53)]


@pytest.mark.parametrize(
    ("table", "able"),
    [
        ("", ""),
        ("9C", "AC AD AH AS"),
        ("AC", "9C 9D 9H 9S"),
        ("5D", "5C 5D 5H 5S"),
        ("2C 4D", "6C 6D 6H 6S 8C 8D 8H 8S"),
        ("KS KH", "KC KD KH KS"),
        ("TC 3S", "7C 7D 7H 7S TC TD TH TS"),
    ],
)
def test_capturing(table: str, able: str) -> None:
    assert ct.card_names(bits.capturing(ct.bitboard(table))) == able


def test_capturing_any_set() -> None:
    for table in SETS:
        names = [NAMES[number] for number in members(table)]
        # Ranks alone count here: a five on the table is among the cards that can take a five.
        expected = [x for x in NAMES if any(reference.can_capture(x, other) for other in names)]
        assert ct.card_names(bits.capturing(np.uint64(table))).split() == expected


def test_unpack_writes_every_row() -> None:
    array = np.array(SETS, dtype=np.uint64)
    flags = ct.unpack(array)
    assert flags.dtype == np.int8
    assert flags.tolist() == [[x >> number & 1 for number in range(52)] for x in SETS]
    assert np.array_equal(ct.pack(flags), array)


def test_unpack_keeps_the_shape() -> None:
    array = np.array(SETS[:24], dtype=np.uint64).reshape(2, 3, 4)
    assert ct.unpack(array).shape == (2, 3, 4, 52)
    assert np.array_equal(ct.unpack(array)[1, 2, 3], ct.unpack(array[1, 2, 3]))
    assert np.array_equal(ct.pack(ct.unpack(array)), array)
    assert ct.unpack(np.empty((0, 3), dtype=np.uint64)).shape == (0, 3, 52)
    assert np.array_equal(ct.unpack(array.T), ct.unpack(np.ascontiguousarray(array.T)))


def test_unpack_leaves_the_bytes_behind_the_last_row_alone() -> None:
    full = np.full(3, cards.DECK, dtype=np.uint64)
    out = np.full(3 * 52 + 12, 7, dtype=np.int8)
    write_rows(full, out, 0)
    assert out.tolist() == [1] * (3 * 52) + [7] * 12


def test_unpack_and_pack_refuse_what_they_would_misread() -> None:
    with pytest.raises(ValueError, match="bitboards are uint64, not int64"):
        ct.unpack(np.array([1, 2], dtype=np.int64))
    with pytest.raises(ValueError, match="52 entries"):
        ct.pack(np.zeros((2, 51), dtype=np.int8))


# --- random numbers


def test_seeded_words_are_those_of_splitmix64() -> None:
    # The first words of the published generator for the seed 1234567.
    state, words = np.uint64(1234567), []
    with np.errstate(over="ignore"):
        for _ in range(5):
            state = state + bits.GAMMA
            words.append(int(bits.mix(state)))
    assert words == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 52])
def test_draws_stay_below_n_and_reach_every_number(n: int) -> None:
    state, drawn = np.uint64(5), set()
    with np.errstate(over="ignore"):  # the words of 64 bits wrap round
        for _ in range(40 * n):
            following, number = bits.draw(state, n)
            state = np.uint64(following)  # a kernel returns plain integers
            drawn.add(int(number))
    assert drawn == set(range(n))


def test_shuffles_are_permutations_that_a_seed_repeats() -> None:
    decks = [np.zeros(52, dtype=np.uint8) for _ in range(3)]
    with np.errstate(over="ignore"):
        after = [
            bits.shuffle(deck, np.uint64(seed)) for deck, seed in zip(decks, (8, 8, 9), strict=True)
        ]
    assert [sorted(deck.tolist()) for deck in decks] == [list(range(52))] * 3
    assert decks[0].tolist() == decks[1].tolist() != decks[2].tolist()
    assert after[0] == after[1] != after[2]


# --- memory and threads


@kernel
def _stream(block: Any, out: Any, start: int, count: int) -> None:
    machine.stream(block, out, start, count)
    machine.finish_streaming()


@pytest.mark.parametrize("stream", [_stream, machine.stream])
@pytest.mark.parametrize("count", [0, 1, 63, 64, 200, 640])
def test_streams_copy_just_the_bytes_asked_for(stream: Any, count: int) -> None:
    block = machine.empty_lines((10, 64), np.int8)
    block[:] = np.arange(640).reshape(10, 64) % 101
    out = machine.empty_lines((1000,), np.int8)
    out[:] = -1
    stream(block, out, 128, count)
    expected = np.full(1000, -1, dtype=np.int8)
    expected[128 : 128 + count] = block.reshape(-1)[:count]
    np.testing.assert_array_equal(out, expected)


@pytest.mark.parametrize(
    ("shape", "dtype"), [((3, 5), np.int8), ((7,), np.uint64), ((1,), ct.GAME)]
)
def test_empty_lines_share_no_line_of_the_cache(shape: tuple[int, ...], dtype: Any) -> None:
    arrays = [machine.empty_lines(shape, dtype) for _ in range(9)]
    lines: set[int] = set()
    for array in arrays:
        assert array.shape == shape
        assert array.dtype == dtype
        start = array.ctypes.data
        assert start % machine.LINE == 0
        own = set(range(start, start + array.nbytes, machine.LINE))
        assert not own & lines
        lines |= own


@kernel
def _claim(cursor: Any, count: int) -> int:
    return machine.claim(cursor, count)


@kernel
def _claim_until(cursor: Any, count: int, stop: int, claimed: Any) -> None:
    first = machine.claim(cursor, count)
    while first < stop:
        claimed[first] += 1
        first = machine.claim(cursor, count)


@pytest.mark.parametrize("claim", [_claim, machine.claim])
def test_claims_follow_one_another(claim: Any) -> None:
    cursor = np.zeros(1, dtype=np.int64)
    assert [claim(cursor, count) for count in (3, 0, 4, 1)] == [0, 3, 3, 7]
    assert cursor.tolist() == [8]


def test_threads_that_claim_get_each_number_once() -> None:
    stop = 20_000 if numba.config.DISABLE_JIT else 2_000_000
    cursor, claimed = np.zeros(1, dtype=np.int64), np.zeros(stop, dtype=np.int64)
    threads = [
        threading.Thread(target=_claim_until, args=(cursor, 1, stop, claimed)) for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (claimed == 1).all()
