"""What players see: nothing hidden, and the same whatever is hidden."""

from __future__ import annotations

import random
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from scipy import stats

import chinese_ten_env as ct
from chinese_ten_env import Feature
from chinese_ten_env.text import format_game
from tests.helpers import LAYOUT, TABLES, table_id

PLAY, TAKE_WITH_HAND, TAKE_WITH_STOCK, OVER = range(4)
ALL_CARDS = (1 << 52) - 1
SWITCHES = [
    {},
    {"capture": "hand"},
    {"peek": "dealer"},
    {"peek": "last"},
    {"capture": "hand", "peek": "last", "sweep_reverses": True, "leader": "dealer"},
    {"match": "net", "target": 30, "peek": "dealer"},
    {"match": "raw", "target": 300, "capture": "hand"},
]

every_rules = st.builds(
    lambda table, switches: ct.make_rules(*table, **switches),
    st.sampled_from(TABLES),
    st.sampled_from(SWITCHES),
)


def partly_played(rules: ct.Rules, seed: int, actions: int, *, pending: bool = False) -> Any:
    """Return a batch of one after random actions, or, if asked, at the next choice of a target."""
    rng = random.Random(seed)
    games = ct.new_games(rules, 1, seed)
    while games["phase"][0] != OVER:
        if actions <= 0 and (not pending or games["phase"][0] in (TAKE_WITH_HAND, TAKE_WITH_STOCK)):
            break
        ct.play(games, [rng.choice(ct.card_list(games["legal"][0]))])
        actions -= 1
    return games


def stock_start(game: Any) -> int:
    """Return the place in the deck of the top card of the stock."""
    return LAYOUT.stop + int(game["turn"]) + int(game["phase"] == TAKE_WITH_STOCK)


def hidden_elsewhere(games: Any, player: int, rng: random.Random) -> Any:
    """Return the games with all that a player cannot see drawn afresh."""
    other = games.copy()
    game = other[0]
    top = stock_start(game)
    dealt, stock = ([int(number) for number in part] for part in np.split(game["deck"], [top]))
    # A bottom card that has been flipped is open to everybody.
    known = [stock.pop()] if stock and game["peeker"] == player else []
    known = known if top < 52 else [dealt.pop()]
    seats = [seat for seat in range(int(game["num_players"])) if seat != player]
    hidden = stock + [number for seat in seats for number in ct.card_list(game["hands"][seat])]
    rng.shuffle(hidden)
    rng.shuffle(dealt)  # how cards came to their places is hidden too
    game["deck"] = dealt + hidden[: len(stock)] + known
    rest = iter(hidden[len(stock) :])
    for seat in seats:
        game["hands"][seat] = ct.bitboard(
            [next(rest) for _ in range(int(game["hand_sizes"][seat]))]
        )
    if game["phase"] == PLAY and game["player"] != player:
        game["legal"] = legal_plays(game)
    game["rng"] = rng.getrandbits(64)
    return other


def legal_plays(game: Any) -> np.uint64:
    """Return the hand cards that may be played, worked out from the ranks."""
    hand = ct.card_list(game["hands"][game["player"]])
    able = [number for number in hand if takes(number, game["table"])]
    return ct.bitboard(able if able and game["capture_hand"] else hand)


def takes(number: int, table: Any) -> bool:
    """Tell whether a card can capture something on the table."""
    rank = number // 4
    return any(other // 4 == (8 - rank if rank < 9 else rank) for other in ct.card_list(table))


def shown(rules: ct.Rules, games: Any, player: int) -> dict[str, object]:
    """Return all that the library ever shows to a player."""
    view = ct.view(games, player)
    game = ct.Game(rules, seed=0)
    game.games[:] = games
    everything: dict[str, object] = {
        "view": view.tobytes(),
        "view of Game": game.view(player).tobytes(),
        "observation": ct.observe(games, player).tobytes(),
        "packed": ct.observe(games, player, packed=True).tobytes(),
        "observation of view": ct.observe(view).tobytes(),
        "mask of view": ct.action_masks(view).tobytes(),
        "line": format_game(view),
        "board": game.show(player),
    }
    if games["player"][0] == player:
        everything["mask"] = ct.action_masks(games).tobytes()
    return everything


# --- form -----------------------------------------------------------------------------------


@pytest.mark.parametrize("table", TABLES, ids=table_id)
@pytest.mark.parametrize("switches", SWITCHES, ids=str)
def test_observations_are_zeros_and_ones_at_every_decision(
    table: tuple[str, int], switches: dict[str, Any]
) -> None:
    rules = ct.make_rules(*table, **switches)
    games, rng = ct.new_games(rules, 16, seed=4), np.random.default_rng(4)
    policy = ct.make_policy("random")
    while True:
        observed, packed = ct.observe(games), ct.observe(games, packed=True)
        masks = ct.action_masks(games)
        assert observed.shape == (16, ct.NUM_FEATURES, 52)
        assert observed.dtype == np.int8
        assert packed.shape == (16, ct.NUM_FEATURES)
        assert packed.dtype == np.uint64
        assert masks.shape == (16, 52)
        assert masks.dtype == np.int8
        for array in (observed, masks):
            assert array.min() >= 0
            assert array.max() <= 1
        assert np.array_equal(ct.unpack(packed), observed)
        assert np.array_equal(ct.pack(observed), packed)
        assert np.array_equal(masks.any(axis=1), ~ct.is_over(games))
        for player in range(rules.num_players):
            assert np.array_equal(
                ct.unpack(ct.observe(games, player, packed=True)), ct.observe(games, player)
            )
        if ct.is_over(games).all():
            break
        ct.play(games, policy(ct.views(games), rng))


def test_every_row_has_a_feature() -> None:
    assert [feature.value for feature in Feature] == list(range(ct.NUM_FEATURES))
    names = {feature.name for feature in Feature}
    assert len(names) == ct.NUM_FEATURES
    observed = ct.observe(ct.new_games(ct.make_rules(), 1, seed=0))
    assert observed.shape == (1, len(names), 52)


def test_observing_changes_nothing_and_gives_fresh_arrays() -> None:
    games = partly_played(ct.make_rules("taiwan", 4), 5, 9)
    before = games.tobytes()
    first = ct.observe(games)
    first[:] = 7
    second = ct.observe(games)
    assert second.max() == 1
    ct.views(games)["table"] = 0
    ct.action_masks(games)[:] = 7
    assert ct.action_masks(games).max() == 1
    assert games.tobytes() == before


@given(
    flags=arrays(
        np.int8,
        array_shapes(max_dims=3).map(lambda shape: (*shape, 52)),
        elements=st.integers(0, 1),
    )
)
@settings(max_examples=30, deadline=None)
def test_packing_is_the_reverse_of_unpacking(flags: Any) -> None:
    packed = ct.pack(flags)
    assert packed.shape == flags.shape[:-1]
    assert packed.dtype == np.uint64
    assert np.array_equal(ct.unpack(packed), flags)


@given(
    bits=arrays(np.uint64, array_shapes(max_dims=3, min_side=0), elements=st.integers(0, ALL_CARDS))
)
@settings(max_examples=30, deadline=None)
def test_unpacking_is_the_reverse_of_packing(bits: Any) -> None:
    flags = ct.unpack(bits)
    assert flags.shape == (*bits.shape, 52)
    assert flags.dtype == np.int8
    assert np.array_equal(ct.pack(flags), bits)
    assert np.array_equal(ct.pack(flags.astype(bool)), bits)


def test_a_single_bitboard_and_a_strided_array_unpack() -> None:
    assert ct.unpack(ct.bitboard("AC KS")).nonzero()[0].tolist() == [0, 51]
    bits = np.arange(60, dtype=np.uint64).reshape(6, 10)
    assert np.array_equal(ct.unpack(bits[::2, ::-3]), ct.unpack(bits)[::2, ::-3])


@pytest.mark.parametrize(
    "wrong", [np.zeros(3, dtype=np.int64), [1.0], np.zeros(2, dtype=bool)], ids=str
)
def test_only_uint64_unpacks(wrong: Any) -> None:
    with pytest.raises(ValueError, match="bitboards are uint64"):
        ct.unpack(wrong)


@pytest.mark.parametrize("wrong", [1, np.zeros(51), np.zeros((52, 3))], ids=["number", "51", "3"])
def test_only_rows_of_52_pack(wrong: Any) -> None:
    with pytest.raises(ValueError, match="the last axis must have 52 entries"):
        ct.pack(wrong)


# --- no leak --------------------------------------------------------------------------------


@settings(max_examples=250, deadline=None)
@given(
    rules=every_rules,
    seed=st.integers(0, 2**32),
    actions=st.integers(0, 60),
    pending=st.booleans(),
    seat=st.integers(0, 3),
)
def test_hidden_cards_change_nothing_that_a_player_sees(
    rules: ct.Rules, seed: int, actions: int, pending: bool, seat: int
) -> None:
    games = partly_played(rules, seed, actions, pending=pending)
    player = seat % rules.num_players
    expected = shown(rules, games, player)
    for number in range(3):
        other = hidden_elsewhere(games, player, random.Random(seed + number))
        for name, value in shown(rules, other, player).items():
            assert value == expected[name], name


@pytest.mark.parametrize("switches", SWITCHES, ids=str)
@pytest.mark.parametrize("phase", [TAKE_WITH_HAND, TAKE_WITH_STOCK])
def test_hidden_cards_stay_hidden_while_a_card_is_pending(
    switches: dict[str, Any], phase: int
) -> None:
    rules = ct.make_rules("mainland", 4, **switches)
    games, seed = partly_played(rules, 0, 5, pending=True), 0
    while games["phase"][0] != phase:
        seed += 1
        games = partly_played(rules, seed, 5, pending=True)
    for player in range(4):
        other = hidden_elsewhere(games, player, random.Random(seed))
        assert other.tobytes() != games.tobytes()
        assert shown(rules, other, player) == shown(rules, games, player)
        # Everybody sees the card and who chooses; what may be taken only he is asked.
        observed = ct.observe(games, player, packed=True)[0]
        rows = [observed[Feature.PENDING_FROM_HAND], observed[Feature.PENDING_FROM_STOCK]]
        rows.remove(games["pending"][0])
        assert rows == [0]
        on_turn = player == games["player"][0]
        assert ct.view(games, player)["legal"][0] == (games["legal"][0] if on_turn else 0)


def test_swapping_two_single_hidden_cards_shows_nowhere() -> None:
    rules = ct.make_rules("mainland", 3)
    games = partly_played(rules, 1, 8)
    player = int(games["player"][0])
    left, right = ((player + step) % 3 for step in (1, 2))
    a, b = (ct.card_list(games["hands"][0, seat])[0] for seat in (left, right))
    between_hands = games.copy()
    swap = ct.bitboard([a, b])
    between_hands["hands"][0, [left, right]] ^= swap
    with_stock = games.copy()
    place = stock_start(games[0]) + 2
    stock_card = int(games["deck"][0, place])
    with_stock["hands"][0, left] ^= ct.bitboard([a, stock_card])
    with_stock["deck"][0, place] = a
    with_stock["deck"][0, list(games["deck"][0]).index(a)] = stock_card
    order = games.copy()
    order["deck"][0, place : place + 2] = order["deck"][0, place : place + 2][::-1].copy()
    generator = games.copy()
    generator["rng"] += np.uint64(1)
    for other in (between_hands, with_stock, order, generator):
        assert other.tobytes() != games.tobytes()
        assert shown(rules, other, player) == shown(rules, games, player)
    # The other player does see his own hand.
    assert shown(rules, between_hands, left) != shown(rules, games, left)


@pytest.mark.parametrize("table", TABLES, ids=table_id)
@pytest.mark.parametrize("peek", ["none", "dealer", "last"])
def test_r3_only_the_peeker_knows_the_bottom_card(table: tuple[str, int], peek: str) -> None:
    rules = ct.make_rules(*table, peek=peek)
    players = rules.num_players
    for seed in range(3):
        for actions in (0, 7, 25):
            games = partly_played(rules, seed, actions)
            dealer = int(games["dealer"][0])
            leader = dealer if rules.leader == "dealer" else (dealer + 1) % players
            peeker = {"none": -1, "dealer": dealer, "last": (leader - 1) % players}[peek]
            bottom = int(games["deck"][0, 51])
            for player in range(players):
                view = ct.view(games, player)
                known = {int(number) for number in view["deck"][0]} - {255}
                assert known == ({bottom} if player == peeker else set())
                rows = ct.observe(games, player, packed=True)[0]
                assert rows[Feature.BOTTOM] == (ct.bitboard([bottom]) if known else 0)
                assert bool(rows[Feature.UNSEEN] & ct.bitboard([bottom])) == (not known)
                text = format_game(view)
                stock = text.split("stock ")[1].split(" |")[0].split()
                assert stock[:-1] == ["?"] * (len(stock) - 1)
                assert stock[-1] == (ct.cards.card_name(bottom) if known else "?")
            # A flipped bottom card is hidden from nobody, and is no longer at the bottom.
            swapped = games.copy()
            swapped["deck"][0, [50, 51]] = swapped["deck"][0, [51, 50]]
            for player in range(players):
                same = shown(rules, swapped, player) == shown(rules, games, player)
                assert same == (player != peeker)


# --- views ----------------------------------------------------------------------------------


def test_a_view_of_a_view_is_the_view_and_nobody_elses() -> None:
    games = partly_played(ct.make_rules("taiwan", 4), 3, 11)
    for player in range(4):
        view = ct.view(games, player)
        assert ct.view(view, player).tobytes() == view.tobytes()
        assert view["viewer"][0] == player
        assert np.array_equal(ct.observe(view), ct.observe(games, player))
        for other in set(range(4)) - {player}:
            with pytest.raises(ValueError, match="views already"):
                ct.view(view, other)
            with pytest.raises(ValueError, match="views already"):
                ct.observe(view, other)
    on_turn = ct.views(games)
    assert on_turn.tobytes() == ct.view(games, games["player"]).tobytes()
    assert ct.views(on_turn).tobytes() == on_turn.tobytes()


def test_views_are_taken_for_a_seat_of_each_game() -> None:
    games = ct.new_games(ct.make_rules("mainland", 3), 6, seed=2)
    seats = [0, 1, 2, 2, 1, 0]
    views = ct.view(games, seats)
    assert views["viewer"].tolist() == seats
    for index, seat in enumerate(seats):
        assert views[index].tobytes() == ct.view(games[index : index + 1], seat).tobytes()
    assert np.array_equal(ct.observe(views), ct.observe(games, seats))


@pytest.mark.parametrize(
    "players", [-1, 3, [0, 1, 3], [0, 1], 0.5, "0", True, [[0, 1, 2]]], ids=repr
)
def test_seats_that_do_not_exist_have_no_view(players: Any) -> None:
    games = ct.new_games(ct.make_rules("mainland", 3), 3, seed=2)
    doors: list[Callable[[], object]] = [
        lambda: ct.view(games, players),
        lambda: ct.observe(games, players),
    ]
    for door in doors:
        with pytest.raises(ValueError, match="players must be"):
            door()


# --- rows -----------------------------------------------------------------------------------


@settings(max_examples=80, deadline=None)
@given(rules=every_rules, seed=st.integers(0, 2**32), actions=st.integers(0, 80))
def test_seats_are_counted_from_the_observer(rules: ct.Rules, seed: int, actions: int) -> None:
    games = partly_played(rules, seed, actions)
    game, players = games[0], rules.num_players
    for player in range(players):
        rows = ct.observe(games, player, packed=True)[0].tolist()
        for place in range(4):
            piles, laid, sizes = (
                rows[first + place]
                for first in (Feature.CAPTURED_0, Feature.LAID_0, Feature.HAND_SIZE_0)
            )
            if place >= players:
                assert piles == laid == sizes == rows[Feature.TOTAL_0 + place] == 0
                continue
            seat = (player + place) % players
            assert piles == game["captured"][seat]
            assert laid == game["played"][seat] & game["table"]
            assert sizes == (1 << int(game["hands"][seat]).bit_count()) - 1
            assert (rows[Feature.DEALER] >> place & 1) == (seat == game["dealer"])
            on_turn = seat == game["player"] and game["phase"] != OVER
            assert (rows[Feature.PLAYER] >> place & 1) == on_turn
        assert rows[Feature.DEALER].bit_count() == 1
        assert rows[Feature.PLAYER].bit_count() == (game["phase"] != OVER)
        assert rows[Feature.LEVY].bit_count() <= bool(rules.red_five_levy)
        hand = ct.card_list(game["hands"][player])
        assert rows[Feature.HAND] == game["hands"][player]
        assert rows[Feature.TABLE] == game["table"]
        assert ct.card_list(rows[Feature.CAPTURING]) == [
            number for number in hand if takes(number, game["table"])
        ]
        assert rows[Feature.REVERSED] == (ALL_CARDS if game["direction"] < 0 else 0)
        stock = game["deck"][stock_start(game) :]
        assert rows[Feature.STOCK_SIZE] == (1 << len(stock)) - 1
        seen = [game["hands"][player], game["table"], game["pending"], *game["captured"]]
        seen.append(rows[Feature.BOTTOM])
        assert rows[Feature.UNSEEN] == ALL_CARDS - sum(int(bits) for bits in seen)


def test_two_observers_differ_by_a_rotation() -> None:
    games = partly_played(ct.make_rules("taiwan", 4), 8, 30)
    rows = ct.observe(np.repeat(games, 4), [0, 1, 2, 3], packed=True)
    for first in (Feature.CAPTURED_0, Feature.LAID_0, Feature.HAND_SIZE_0, Feature.TOTAL_0):
        seats = [np.roll(rows[player, first : first + 4], player) for player in range(4)]
        assert all(np.array_equal(seats[0], other) for other in seats)
    public = [Feature.TABLE, Feature.LAST_PLAYED, Feature.LAST_FLIPPED, Feature.STOCK_SIZE]
    assert (rows[:, public] == rows[:1, public]).all()


@pytest.mark.parametrize("table", TABLES, ids=table_id)
def test_observation_of_a_finished_game(table: tuple[str, int]) -> None:
    rules = ct.make_rules(*table)
    games = partly_played(rules, 6, 1000)
    assert ct.is_over(games).all()
    assert not ct.action_masks(games).any()
    empty = [
        *range(Feature.HAND, Feature.PENDING_FROM_STOCK + 1),
        *range(Feature.LAID_0, Feature.BOTTOM + 1),
        *range(Feature.HAND_SIZE_0, Feature.PLAYER + 1),
    ]
    for player in range(rules.num_players):
        rows = ct.observe(games, player, packed=True)[0]
        assert not rows[empty].any()
        assert rows[Feature.CAPTURED_0 : Feature.CAPTURED_3 + 1].sum() == ALL_CARDS
        assert rows[Feature.LAST_FLIPPED] == ct.bitboard([int(games["deck"][0, 51])])
        assert rows[Feature.LAST_PLAYED]


@pytest.mark.parametrize("place", range(3))
def test_r11_levy_row_names_the_taker(place: int) -> None:
    rules = ct.make_rules("mainland", 3, red_five_levy=10)
    line = "hands 5D / 3C / 2C | table 5H KC | stock JS QS TC | player 0"
    game = ct.Game.from_text(line, rules)
    observer = (-place) % 3
    assert not ct.observe(game.games, observer)[0, Feature.LEVY].any()
    game.play("5D")
    levy = ct.observe(game.games, observer)[0, Feature.LEVY]
    assert levy.nonzero()[0].tolist() == [place]


@pytest.mark.parametrize(
    ("switches", "deals", "scores"),
    [
        ({"match": "raw"}, 9, [930, 960, 270]),
        ({"match": "raw"}, 3, [0, -20, 740]),
        ({"match": "raw", "target": 7}, 1, [6, 240, 3]),
        ({"match": "net"}, 2, [250, 140, 90]),
        ({"match": "net", "target": 13}, 1, [81, 79, 80]),
        ({"match": "net", "target": 200}, 5, [600, 201, 399]),
        ({"match": "net"}, 0, [0, 0, 0]),
    ],
    ids=str,
)
def test_r12_totals_are_thermometers_of_the_target(
    switches: dict[str, Any], deals: int, scores: list[int]
) -> None:
    rules = ct.make_rules("g4a", 3, **switches)
    written = " / ".join(str(score) for score in scores)
    line = f"hands 3H / 4C / 2C | table 5H KC | stock JS QS TC | deals {deals} | scores {written}"
    games = ct.Game.from_text(line, rules).games
    for observer in range(3):
        rows = ct.observe(games, observer)[0]
        for place in range(3):
            seat = (observer + place) % 3
            assert rules.target is not None
            if rules.match == "raw":
                share = Fraction(scores[seat], rules.target)
            else:
                net = scores[seat] - deals * rules.exact_par
                share = (net + rules.target) / (2 * rules.target)
            steps = max(0, min(52, int(52 * share // 1)))
            expected = [1] * steps + [0] * (52 - steps)
            assert rows[Feature.TOTAL_0 + place].tolist() == expected
        assert not rows[Feature.TOTAL_3].any()


# --- determinization ------------------------------------------------------------------------


@settings(max_examples=200, deadline=None)
@given(
    rules=every_rules,
    seed=st.integers(0, 2**32),
    actions=st.integers(0, 60),
    pending=st.booleans(),
    seat=st.integers(0, 3),
)
def test_determinized_games_are_whole_and_look_the_same(
    rules: ct.Rules, seed: int, actions: int, pending: bool, seat: int
) -> None:
    games = partly_played(rules, seed, actions, pending=pending)
    player = seat % rules.num_players
    view = ct.view(games, player)
    kept = view.tobytes()
    drawn = ct.determinize(np.repeat(view, 4), np.random.default_rng(seed))
    assert view.tobytes() == kept
    assert (drawn["viewer"] == -1).all()
    expected = ct.observe(view)[0]
    for index in range(len(drawn)):
        one = drawn[index : index + 1]
        game = one[0]
        assert np.array_equal(ct.observe(one, player)[0], expected)
        if game["player"] == player:
            assert np.array_equal(ct.action_masks(one), ct.action_masks(view))
        stock = game["deck"][stock_start(game) :].tolist()
        places = [*game["hands"], *game["captured"], game["table"], game["pending"]]
        numbers = [number for bits in places for number in ct.card_list(bits)] + stock
        assert sorted(numbers) == list(range(52))
        sizes = [int(hand).bit_count() for hand in game["hands"]]
        assert sizes == game["hand_sizes"].tolist() == games["hand_sizes"][0].tolist()
        if game["phase"] == PLAY:
            assert game["legal"] == legal_plays(game)
        assert (game["legal"] == 0) == (game["phase"] == OVER)
        if stock and view["peeker"][0] == player:
            assert stock[-1] == games["deck"][0, 51]
    # They can be played to the end, also through the further deals of a match.
    rng, policy = np.random.default_rng(seed), ct.make_policy("random")
    while not ct.is_over(drawn).all():
        ct.play(drawn, policy(ct.views(drawn), rng))
    assert (drawn["settled"].sum(axis=1) == rules.total).all()
    assert (drawn["table"] == 0).all()


def test_players_not_on_turn_can_determinize_while_a_target_is_chosen() -> None:
    rules = ct.make_rules("mainland", 3)
    line = (
        "hands 3H 2C / KS QD / 6H 8C | table 7S 7D 9C 9H | stock AS 4C JC JH TS 5C 8D"
        " | pending 3D from hand"
    )
    games = ct.Game.from_text(line, rules).games
    for player in range(3):
        drawn = ct.determinize(ct.view(games, player), np.random.default_rng(0))
        assert ct.card_names(drawn["legal"][0]) == "7D 7S"


def test_determinization_follows_from_the_generator() -> None:
    views = np.repeat(ct.views(partly_played(ct.make_rules("taiwan", 4), 1, 6)), 20)
    first, second, third = (
        ct.determinize(views, np.random.default_rng(seed)) for seed in (1, 1, 2)
    )
    assert first.tobytes() == second.tobytes()
    assert first.tobytes() != third.tobytes()
    assert len({game.tobytes() for game in first}) == 20


@pytest.mark.parametrize(
    ("table", "switches", "actions"),
    [
        (("mainland", 2), {}, 0),
        (("mainland", 3), {}, 17),
        (("taiwan", 4), {"peek": "dealer"}, 9),
        (("taiwan", 4), {"peek": "last", "capture": "hand"}, 20),
    ],
    ids=str,
)
@pytest.mark.parametrize("peeks", [False, True])
def test_determinization_is_uniform(
    table: tuple[str, int], switches: dict[str, Any], actions: int, peeks: bool
) -> None:
    rules = ct.make_rules(*table, **switches)
    games = partly_played(rules, 21, actions)
    game = games[0]
    peeker = int(game["peeker"])
    player = peeker if peeks and peeker >= 0 else (peeker + 1) % rules.num_players
    size = 20_000
    view = ct.view(games, player)
    drawn = ct.determinize(np.repeat(view, size), np.random.default_rng(7))
    unseen = ct.card_list(ct.observe(view, packed=True)[0, Feature.UNSEEN])
    top = stock_start(game)
    bottom = 51 if player == peeker else 52
    counts = [
        ct.unpack(drawn["hands"][:, seat]).sum(axis=0, dtype=np.int64)[unseen]
        for seat in range(rules.num_players)
        if seat != player
    ]
    capacities = [
        int(game["hand_sizes"][seat]) for seat in range(rules.num_players) if seat != player
    ]
    for place in range(top, bottom):
        counts.append(np.bincount(drawn["deck"][:, place], minlength=52)[unseen])
        capacities.append(1)
    observed, wanted = np.array(counts), np.array(capacities)[:, None] * size / len(unseen)
    assert observed.sum() == size * len(unseen)
    # The cards of one deal are drawn without replacement, hence the factor.
    statistic = ((observed - wanted) ** 2 / wanted).sum() * (len(unseen) - 1) / len(unseen)
    freedom = (len(unseen) - 1) * (len(capacities) - 1)
    assert 1e-4 < stats.chi2.sf(statistic, freedom) < 1 - 1e-4


def test_cards_of_one_hidden_hand_are_drawn_independently() -> None:
    view = ct.views(ct.new_games(ct.make_rules("mainland", 2), 1, seed=0))
    unseen = ct.card_list(ct.observe(view, packed=True)[0, Feature.UNSEEN])
    size = 20_000
    drawn = ct.determinize(np.repeat(view, size), np.random.default_rng(5))
    other = 1 - int(view["viewer"][0])
    held = ct.unpack(drawn["hands"][:, other]).astype(np.int64)[:, unseen]
    together = (held.T @ held)[np.triu_indices(len(unseen), 1)]
    chance = 12 / 36 * 11 / 35
    deviations = (together - size * chance) / np.sqrt(size * chance * (1 - chance))
    assert np.abs(deviations).max() < 5
    assert 0.8 < (deviations**2).mean() < 1.25


def test_determinize_takes_views_only() -> None:
    games = ct.new_games(ct.make_rules(), 3, seed=0)
    mixed = ct.views(games)
    mixed[1] = games[1]
    for wrong in (games, mixed):
        with pytest.raises(ValueError, match="determinize takes views"):
            ct.determinize(wrong, np.random.default_rng(0))
