"""What holds in every game, whatever the deck, the rules and the play."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chinese_ten_env as ct
from tests.helpers import LAYOUT, TABLES, of_a_rank, table_id, with_layout

SAME_RANK = "5TJQK"
FAMILIES = {rank: int(ct.bitboard([rank + suit for suit in "CDHS"])) for rank in SAME_RANK}
PLAY, TAKE_WITH_HAND, TAKE_WITH_STOCK, OVER = range(4)
ALL_CARDS = (1 << 52) - 1

SWITCHES = {
    "capture": st.sampled_from(["card", "hand"]),
    "leader": st.sampled_from(["left", "dealer"]),
    "sweep_reverses": st.booleans(),
    "peek": st.sampled_from(["none", "dealer", "last"]),
    "red_five_levy": st.sampled_from([0, 5, 10, 20]),
    "red_five_trigger": st.sampled_from(["red_takes_red", "pile"]),
}
every_rules = st.builds(
    lambda table, switches: ct.make_rules(*table, **switches),
    st.sampled_from(TABLES),
    st.fixed_dictionaries({}, optional=SWITCHES),
)


@st.composite
def decks(draw: st.DrawFn) -> list[int]:
    """Draw a deck; in some, three or four cards of one rank lie on the layout."""
    deck = list(draw(st.permutations(range(52))))
    count = draw(st.sampled_from([0, 0, 2, 3, 4]))
    if count:
        rank = draw(st.sampled_from("5TJQK9A"))
        deck = with_layout(deck, of_a_rank(rank, count, random.Random(draw(st.integers(0, 99)))))
    return deck


@dataclass
class Step:
    """A record before and after one action, as Python dictionaries."""

    before: dict[str, Any]
    action: int
    after: dict[str, Any]


def snapshot(games: ct.engine.Games) -> dict[str, Any]:
    """Return the fields of the only game as Python numbers and lists."""
    return {name: games[name][0].tolist() for name in ct.GAME.names or ()}


def played(games: ct.engine.Games, choose: Callable[[list[int]], int]) -> Iterator[Step]:
    """Play a batch of one to the end and yield every step."""
    after = snapshot(games)
    while after["phase"] != OVER:
        before = after
        action = choose(ct.card_list(before["legal"]))
        ct.play(games, [action])
        after = snapshot(games)
        yield Step(before, action, after)


def places(state: dict[str, Any]) -> list[int]:
    """Return the sets of cards of all places, the stock a set too."""
    # The flipped card has left the stock before its turn is over.
    top = LAYOUT.stop + state["turn"] + (state["phase"] == TAKE_WITH_STOCK)
    stock = sum(1 << number for number in state["deck"][top:])
    return [*state["hands"], *state["captured"], state["table"], state["pending"], stock]


def check_state(state: dict[str, Any], layout: int) -> None:
    """Assert what holds after every action."""
    everything = places(state)
    assert sum(bits.bit_count() for bits in everything) == 52
    assert sum(everything) == ALL_CARDS
    assert all(pile.bit_count() % 2 == 0 for pile in state["captured"])
    assert [hand.bit_count() for hand in state["hands"]] == state["hand_sizes"]
    # The hand play of a turn is resolved only where the flip waits for a choice.
    assert state["table"].bit_count() % 2 == (state["phase"] == TAKE_WITH_STOCK)
    for family in FAMILIES.values():
        on_table, dealt = (bits & family for bits in (state["table"], layout))
        assert on_table.bit_count() <= max(1, dealt.bit_count())
    if state["phase"] in (TAKE_WITH_HAND, TAKE_WITH_STOCK):
        assert state["pending"].bit_count() == 1
        assert 2 <= state["legal"].bit_count() <= 4
        assert state["legal"] & ~state["table"] == 0
    else:
        assert state["pending"] == 0
    if state["phase"] == PLAY:
        hand = state["hands"][state["player"]]
        assert hand
        assert state["legal"]
        assert state["legal"] & ~hand == 0
        assert state["capture_hand"] or state["legal"] == hand
    elif state["phase"] == OVER:
        assert state["legal"] == 0


def captures_of(step: Step) -> tuple[int, int]:
    """Return how many captures a step made, and how many of them took three cards."""
    before, after = step.before, step.after
    gained = [new & ~old for new, old in zip(after["captured"], before["captured"], strict=True)]
    assert all(
        new & old == old for new, old in zip(after["captured"], before["captured"], strict=True)
    )
    mine = gained[before["player"]]
    assert sum(gained) == mine, "somebody else's pile grew"
    flipped = 0
    if before["phase"] == TAKE_WITH_STOCK or after["turn"] > before["turn"]:
        flipped = 1 << after["last_flipped"]
    by_hand = 0 if before["phase"] == TAKE_WITH_STOCK else 1 << after["last_played"]
    takers = (mine & (flipped | by_hand)).bit_count()
    if mine.bit_count() == 2:
        takers = 1  # the flip may have taken the hand card just laid
    triples = sum(
        mine & family == family and takers_in(family, step) == 1 for family in FAMILIES.values()
    )
    assert mine.bit_count() == 2 * takers + 2 * triples
    return takers, triples


def takers_in(family: int, step: Step) -> int:
    """Return how many of the cards that were resolved in a step are of a family."""
    resolved: int = 1 << step.after["last_played"] | 1 << step.after["last_flipped"]
    if step.before["phase"] == TAKE_WITH_STOCK:
        resolved = 1 << step.after["last_flipped"]
    return (resolved & family).bit_count()


@settings(max_examples=150, deadline=None)
@given(rules=every_rules, deck=decks(), dealer=st.integers(0, 3), choices=st.randoms())
def test_invariants_of_a_deal(
    rules: ct.Rules, deck: list[int], dealer: int, choices: random.Random
) -> None:
    games = ct.new_games(rules, 1, 0, deck, dealer % rules.num_players)
    state = snapshot(games)
    layout = sum(1 << number for number in deck[LAYOUT])
    quads = int(layout in FAMILIES.values())
    assert state["table"] == (0 if quads else layout)
    check_state(state, layout)
    captures = triples = quads
    last = None
    for step in played(games, choices.choice):
        check_state(step.after, layout)
        assert 0 <= step.after["turn"] - step.before["turn"] <= 1
        new_captures, new_triples = captures_of(step)
        captures += new_captures
        triples += new_triples
        last = step
    assert last is not None
    end = last.after
    assert end["turn"] == 24
    assert end["table"] == 0
    assert sum(end["captured"]) == ALL_CARDS
    assert captures == 26 - triples
    # The last card resolved captures.
    gained = end["captured"][end["player"]] & ~last.before["captured"][end["player"]]
    assert gained >> end["last_flipped"] & 1

    points = ct.points(games, rules)[0]
    assert points.sum() == rules.total
    assert ct.nets(games, rules)[0].sum() == pytest.approx(0, abs=1e-9)
    assert sum(rules.points[number] for number in deck) == rules.total
    levied = points - [
        sum(rules.points[number] for number in ct.card_list(pile))
        for pile in end["captured"][: rules.num_players]
    ]
    levy = rules.red_five_levy
    assert sorted(levied.tolist()) in (
        [0] * rules.num_players,
        [-levy] * (rules.num_players - 1) + [levy * (rules.num_players - 1)],
    )
    assert np.abs(ct.nets(games, rules)).max() <= rules.max_net


@settings(max_examples=60, deadline=None)
@given(rules=every_rules, deck=decks(), choices=st.randoms())
def test_r9_next_player_holds_cards_and_a_sweep_reverses(
    rules: ct.Rules, deck: list[int], choices: random.Random
) -> None:
    games = ct.new_games(rules, 1, 0, deck, 0)
    for step in played(games, choices.choice):
        before, after = step.before, step.after
        if after["turn"] == before["turn"]:
            assert (after["player"], after["direction"]) == (before["player"], before["direction"])
            continue
        swept = rules.sweep_reverses and after["table"] == 0
        assert after["direction"] == before["direction"] * (-1 if swept else 1)
        if after["phase"] == OVER:
            continue
        seat = before["player"]
        while True:
            seat = (seat + after["direction"]) % rules.num_players
            if after["hand_sizes"][seat]:
                break
        assert after["player"] == seat


@settings(max_examples=40, deadline=None)
@given(
    table=st.sampled_from(TABLES),
    seed=st.integers(0, 2**64 - 1),
    match=st.sampled_from([("net", 40), ("raw", 300)]),
    choices=st.randoms(),
)
def test_r12_invariants_of_a_match(
    table: tuple[str, int], seed: int, match: tuple[str, int], choices: random.Random
) -> None:
    rules = ct.make_rules(*table, match=match[0], target=match[1])
    games = ct.new_games(rules, 1, seed)
    first_dealer = int(games["dealer"][0])
    scores = [0] * rules.num_players
    for step in played(games, choices.choice):
        after = step.after
        assert sum(bits.bit_count() for bits in places(after)) == 52
        assert sum(places(after)) == ALL_CARDS
        if after["deals"] == step.before["deals"]:
            assert after["scores"] == step.before["scores"]
            continue
        settled = after["settled"][: rules.num_players]
        assert sum(settled) == rules.total
        scores = [old + new for old, new in zip(scores, settled, strict=True)]
        assert after["scores"][: rules.num_players] == scores
        if after["phase"] != OVER:
            assert after["dealer"] == (first_dealer + after["deals"]) % rules.num_players
            assert after["turn"] == 0
            assert after["direction"] == 1
            assert after["deck"] != step.before["deck"]
    best = max(scores)
    assert scores.count(best) == 1
    deals = int(games["deals"][0])
    reached = best - deals * rules.exact_par if rules.match == "net" else best
    assert reached >= match[1]


@settings(max_examples=30, deadline=None)
@given(
    rules=every_rules,
    seed=st.integers(0, 2**64 - 1),
    size=st.integers(2, 6),
    choices=st.randoms(),
)
def test_a_batch_is_as_many_batches_of_one(
    rules: ct.Rules, seed: int, size: int, choices: random.Random
) -> None:
    batch = ct.new_games(rules, size, seed)
    singles = [ct.new_games(rules, 1, (seed + index) % 2**64) for index in range(size)]
    assert batch.tobytes() == b"".join(single.tobytes() for single in singles)
    while not ct.is_over(batch).all():
        # The entries of finished games are ignored, so any number will do there.
        cards = [choices.choice(ct.card_list(legal) or [-1, 52]) for legal in batch["legal"]]
        ct.play(batch, cards)
        for single, card in zip(singles, cards, strict=True):
            ct.play(single, [card])
        assert batch.tobytes() == b"".join(single.tobytes() for single in singles)
        masks = ct.action_masks(batch)
        observed = ct.observe(batch)
        for index, single in enumerate(singles):
            assert np.array_equal(masks[index], ct.action_masks(single)[0])
            assert np.array_equal(observed[index], ct.observe(single)[0])
    assert np.array_equal(
        ct.points(batch, rules), np.concatenate([ct.points(single, rules) for single in singles])
    )


@pytest.mark.parametrize("table", TABLES, ids=table_id)
def test_same_seeds_and_actions_give_the_same_bytes(table: tuple[str, int]) -> None:
    rules = ct.make_rules(*table, match="net", target=30)
    ends = []
    for _ in range(2):
        games = ct.new_games(rules, 50, seed=11)
        while not ct.is_over(games).all():
            ct.play(games, ct.make_policy("random")(ct.views(games), np.random.default_rng(3)))
        ends.append(games.tobytes())
    assert ends[0] == ends[1]


# --- the doors ------------------------------------------------------------------------------


def some_games(size: int = 5) -> ct.engine.Games:
    """Return a few games of the common table."""
    return ct.new_games(ct.make_rules("mainland", 2), size, seed=0)


@settings(max_examples=60, deadline=None)
@given(
    rules=every_rules,
    seed=st.integers(0, 2**32),
    steps=st.integers(0, 30),
    victim=st.integers(0, 3),
    card=st.integers(-(2**63), 2**63 - 1) | st.integers(-1, 52),
    choices=st.randoms(),
)
def test_play_is_all_or_nothing(
    rules: ct.Rules, seed: int, steps: int, victim: int, card: int, choices: random.Random
) -> None:
    games = ct.new_games(rules, 4, seed)
    for _ in range(steps):
        ct.play(games, [choices.choice(ct.card_list(legal) or [0]) for legal in games["legal"]])
    legal = [ct.card_list(bits) for bits in games["legal"]]
    cards = [options[0] if options else 0 for options in legal]
    if not legal[victim] or card in legal[victim]:
        return
    cards[victim] = card
    before = games.tobytes()
    with pytest.raises(ct.IllegalActionError) as raised:
        ct.play(games, cards)
    assert games.tobytes() == before
    message = str(raised.value)
    assert f"game {victim}" in message
    assert (ct.card_names(1 << card) if 0 <= card < 52 else str(card)) in message
    assert all(f"{ct.card_names(1 << option)} ({option})" in message for option in legal[victim])


def test_play_names_the_first_game_with_an_illegal_card() -> None:
    games = some_games()
    cards = [ct.card_list(legal)[0] for legal in games["legal"]]
    cards[2] = cards[4] = 99
    with pytest.raises(ct.IllegalActionError, match=r"game 2: 99 is not a legal action"):
        ct.play(games, cards)


def test_an_unsigned_card_does_not_wrap_round() -> None:
    games = some_games(1)
    card = 2**64 - 52 + ct.card_list(games["legal"][0])[0]
    before = games.tobytes()
    with pytest.raises(ct.IllegalActionError):
        ct.play(games, np.array([card], dtype=np.uint64))
    assert games.tobytes() == before


@pytest.mark.parametrize(
    "cards",
    [
        [0, 1],
        [[0, 1, 2, 3, 4]],
        3,
        [],
        [0.0, 1.0, 2.0, 3.0, 4.0],
        [True] * 5,
        ["AS"] * 5,
        None,
    ],
    ids=repr,
)
def test_play_refuses_cards_of_wrong_shape_or_type(cards: Any) -> None:
    games = some_games()
    before = games.tobytes()
    with pytest.raises(ValueError, match=r"cards must be integers of shape \(5,\)"):
        ct.play(games, cards)
    assert games.tobytes() == before


@pytest.mark.parametrize(
    "games",
    [
        None,
        [],
        np.zeros(3),
        np.zeros((), dtype=ct.GAME),
        np.zeros((2, 2), dtype=ct.GAME),
        np.zeros(2, dtype=[("table", np.uint64)]),
    ],
    ids=["None", "list", "floats", "record", "matrix", "other fields"],
)
def test_every_door_refuses_what_is_not_a_batch_of_games(games: Any) -> None:
    rules = ct.make_rules("mainland", 2)
    doors: list[Callable[[], object]] = [
        lambda: ct.play(games, [0, 0]),
        lambda: ct.begin_games(games),
        lambda: ct.is_over(games),
        lambda: ct.points(games, rules),
        lambda: ct.nets(games, rules),
        lambda: ct.observe(games),
        lambda: ct.views(games),
        lambda: ct.view(games, 0),
        lambda: ct.action_masks(games),
        lambda: ct.determinize(games, np.random.default_rng(0)),
    ]
    for door in doors:
        with pytest.raises(ValueError, match="one-dimensional array of GAME records"):
            door()


def test_rules_for_another_number_of_players_are_refused() -> None:
    games, rules = some_games(), ct.make_rules("mainland", 3)
    for count in (ct.points, ct.nets):
        with pytest.raises(ValueError, match="rules are for 3 players"):
            count(games, rules)


@pytest.mark.parametrize("size", [0, -1, 1.0, True, "3", None], ids=repr)
def test_number_of_games_must_be_a_positive_integer(size: Any) -> None:
    with pytest.raises(ValueError, match="number of games must be a positive integer"):
        ct.new_games(ct.make_rules(), size, seed=0)


@pytest.mark.parametrize(
    "dealers", [2, -1, [0, 1, 0, 1, 2], [0, 1], 0.0, True, "0", [[0] * 5]], ids=repr
)
def test_bad_dealers_are_refused_and_no_game_changes(dealers: Any) -> None:
    games = some_games()
    before = games.tobytes()
    with pytest.raises(ValueError, match="dealer"):
        ct.begin_games(games, dealers=dealers)
    assert games.tobytes() == before


GOOD = list(range(52))


@pytest.mark.parametrize(
    ("decks", "message"),
    [
        (GOOD[:51], r"deck: 52 cards are needed, not 51; missing: KS"),
        ([*GOOD[:51], 0], "deck: card AC is named twice"),
        ([*GOOD[:51], 52], "deck: 52 is not a card number"),
        ([*GOOD[:51], -1], "deck: -1 is not a card number"),
        ([*GOOD[:51], "1S"], "deck: '1S' is not a card"),
        ("AS AH", "deck: 52 cards are needed, not 2"),
        ([], "deck: 52 cards are needed, not 0"),
        ([GOOD] * 4, "4 decks are given for 5 games"),
        ([GOOD] * 4 + [GOOD[1:]], "deck: 52 cards are needed, not 51; missing: AC"),
        ([*GOOD[:51], 51.5], "deck"),
        ([*GOOD[:51], None], "deck"),
        (7, "deck"),
    ],
    ids=["51", "double", "52", "-1", "name", "text", "none", "four", "fifth", "float", "None", "7"],
)
def test_bad_decks_are_refused_and_no_game_changes(decks: Any, message: str) -> None:
    games = some_games()
    before = games.tobytes()
    with pytest.raises(ValueError, match=message):
        ct.begin_games(games, decks)
    assert games.tobytes() == before


def test_decks_can_be_named_numbered_written_or_given_for_each_game() -> None:
    rules = ct.make_rules("mainland", 2)
    names = ct.card_names(ALL_CARDS).split()
    forms: list[Any] = [
        GOOD,
        names,
        " ".join(names),
        np.arange(52),
        [GOOD] * 2,
        np.array([GOOD] * 2),
    ]
    states = {ct.new_games(rules, 2, 0, form, 1).tobytes() for form in forms}
    assert len(states) == 1


def test_beginning_again_goes_on_with_each_generator() -> None:
    games, again = some_games(), some_games()
    first = games["deck"].copy()
    ct.begin_games(games)
    ct.begin_games(again)
    assert games.tobytes() == again.tobytes()
    assert (games["deck"] != first).any(axis=1).all()


def test_a_copy_of_games_has_their_bytes() -> None:
    games = some_games()
    for index in (slice(None), np.array([3, 0]), np.array([True, False] * 2 + [True])):
        originals = b"".join(games[number].tobytes() for number in np.arange(len(games))[index])
        assert games[index].copy().tobytes() == originals
    fields: int = sum(ct.GAME[name].itemsize for name in ct.GAME.names or ())
    assert fields == ct.GAME.itemsize, "NumPy does not copy what lies between the fields"
