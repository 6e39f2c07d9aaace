"""OpenSpiel: the game agrees with the engine, and information states hold what a player has seen.

1,000 deals over all variants and numbers of players are played in OpenSpiel and by `ct.Game`, and
OpenSpiel's own simulation tests run on each. Twins, histories that differ in hidden cards only,
show that nothing leaks; and on random histories equal information states mean equal sequences of
the engine's views, and the other way round.
"""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyspiel
import pytest
from open_spiel.python import policy as openspiel_policy
from open_spiel.python.algorithms.evaluate_bots import evaluate_bots
from open_spiel.python.algorithms.external_sampling_mccfr import ExternalSamplingSolver
from open_spiel.python.bots.policy import PolicyBot
from open_spiel.python.observation import INFO_STATE_OBS_TYPE, make_observation

import chinese_ten_env as ct
from chinese_ten_env.adapters.openspiel import (
    MINI,
    NAME,
    PARAMETERS,
    ChineseTenObserver,
    LibraryPolicy,
)
from chinese_ten_env.adapters.openspiel_mini import DecisionTree
from chinese_ten_env.adapters.openspiel_mini import main as mini_main
from chinese_ten_env.cards import RANKS
from chinese_ten_env.engine import HIDDEN, TAKE_WITH_STOCK
from tests.helpers import TABLES, of_a_rank, random_deck, table_id, with_layout

DEALS = 1000
"""Deals that are compared with `ct.Game`, over all of `TABLES`."""

TINY = f"{NAME}(ranks=TJ,hand_size=1,dealing=hands)"
"""So small that OpenSpiel's algorithms in Python go through it in seconds."""

SMALL = (
    MINI,
    TINY,
    f"{NAME}(ranks=A9,hand_size=2)",
    f"{NAME}(ranks=A95)",
    f"{NAME}(ranks=5A9,variant=taiwan_low_aces,hand_size=3,dealing=hands)",
    f"{NAME}(ranks=5K,variant=taiwan_low_aces)",
    f"{NAME}(ranks=A928T,hand_size=3,num_players=3,dealing=hands,capture=hand)",
    f"{NAME}(ranks=46T,hand_size=2,num_players=3,variant=gob_dum_gob_dang)",
)
"""Games with fewer cards."""


@cache
def load(variant: str, num_players: int, capture: str = "card", dealer: int = -1) -> Any:
    """Return the game of a variant."""
    parameters = {"num_players": num_players, "capture": capture, "dealer": dealer}
    return pyspiel.load_game(NAME, {"variant": variant, **parameters})


def deal(game: Any, deck: list[int]) -> Any:
    """Return the state after a deck is dealt, up to the first decision."""
    state = game.new_initial_state()
    for card in deck[:28]:
        state.apply_action(card)
    if game.table.rules.peek != "none":
        state.apply_action(deck[51])
    return state


def play(state: Any, card: int, deck: list[int]) -> None:
    """Play a card, and flip the next of the deck if chance has to."""
    state.apply_action(card)
    if state.is_chance_node():
        state.apply_action(deck[28 + int(state.games["turn"][0])])


def random_walk(game: Any, rng: random.Random, rate: float = 1.0) -> Iterator[Any]:
    """Yield a state of a random game after each card and action.

    All but a `rate` of the cards and actions are the first of what is possible, so that with a low
    rate many walks go the same way.
    """
    state = game.new_initial_state()
    while not state.is_terminal():
        if state.is_chance_node():
            cards, odds = zip(*state.chance_outcomes(), strict=True)
            state.apply_action(rng.choices(cards, odds)[0] if rng.random() < rate else cards[0])
        else:
            cards = state.legal_actions()
            state.apply_action(rng.choice(cards) if rng.random() < rate else cards[0])
        yield state


def first_decision(text: str) -> Any:
    """Return a state of a game in which player 0 begins."""
    state = pyspiel.load_game(text).new_initial_state()
    while state.is_chance_node():
        state.apply_action(state.legal_actions()[len(state.history()) % 2 * 3])
    return state


# --- OpenSpiel's own tests ------------------------------------------------------------------


@pytest.mark.parametrize("table", TABLES, ids=table_id)
def test_openspiel_simulates_every_variant(table: tuple[str, int]) -> None:
    # Clones, legal actions, tensors and their shapes, serialization, returns within the bounds.
    pyspiel.random_sim_test(load(*table), num_sims=2, serialize=True, verbose=False)


@pytest.mark.parametrize("text", SMALL)
def test_openspiel_simulates_small_decks(text: str) -> None:
    pyspiel.random_sim_test(pyspiel.load_game(text), num_sims=5, serialize=True, verbose=False)


SIMULATIONS = """
import sys
import pyspiel
from absl.testing import absltest
from open_spiel.python.tests.games_sim_test import GamesSimTest
import chinese_ten_env.adapters.openspiel
for text in sys.argv[1:]:
    GamesSimTest().sim_game(pyspiel.load_game(text))
"""


def test_openspiels_python_tests_pass() -> None:
    # In a process of its own, for it registers all of OpenSpiel's games. It pickles games, their
    # types and states too.
    texts = [f"{NAME}(variant={variant},num_players={count})" for variant, count in TABLES]
    done = subprocess.run(
        [sys.executable, "-c", SIMULATIONS, NAME, *texts, *SMALL],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("terminated with") == 1 + len(texts) + len(SMALL)


# --- the engine -----------------------------------------------------------------------------


@pytest.mark.parametrize("table", TABLES, ids=table_id)
def test_it_plays_as_the_engine_does(table: tuple[str, int]) -> None:
    number = TABLES.index(table)
    rng = random.Random(number)
    for index in range(number, DEALS, len(TABLES)):
        deck = random_deck(rng, {1: 3, 4: 4}.get(index % 6, 0))
        dealer, capture = rng.randrange(table[1]), rng.choice(("card", "hand"))
        rules = ct.make_rules(*table, capture=capture)
        game = ct.Game(rules, deck=deck, dealer=dealer)
        state = deal(load(*table, capture, dealer), deck)
        closely = index % 16 == 0
        while not game.is_over:
            assert state.current_player() == game.player
            assert state.legal_actions() == game.legal
            for seat in range(rules.num_players) if closely else ():
                tensor = np.array(state.observation_tensor(seat))[rules.num_players :]
                assert np.array_equal(tensor, ct.observe(game.games, [seat]).reshape(-1))
                assert not state.legal_actions(seat) or seat == game.player
            card = rng.choice(game.legal)
            game.play(card)
            play(state, card, deck)
        assert state.is_terminal()
        assert state.returns() == pytest.approx(game.net, abs=1e-9)
        record = state.games
        record["rng"] = game.games["rng"]
        assert record.tobytes() == game.games.tobytes()


def test_all_deals_are_compared() -> None:
    counts = [len(range(number, DEALS, len(TABLES))) for number in range(len(TABLES))]
    assert sum(counts) == DEALS
    assert min(counts) > 80


@pytest.mark.parametrize("table", TABLES, ids=table_id)
def test_utilities_stay_within_bounds_that_the_rules_give(table: tuple[str, int]) -> None:
    game, rules = load(*table), ct.make_rules(*table)
    levy = rules.red_five_levy
    assert game.num_players() == rules.num_players
    assert game.utility_sum() == 0.0
    assert game.max_utility() == pytest.approx(rules.total - rules.par + levy * (table[1] - 1))
    assert game.min_utility() == pytest.approx(-rules.par - levy)
    rng = random.Random(3)
    for _ in range(20):
        *_, end = random_walk(game, rng)
        assert sum(end.returns()) == pytest.approx(0.0, abs=1e-9)
        assert min(end.returns()) >= game.min_utility()
        assert max(end.returns()) <= game.max_utility()
        assert end.move_number() <= game.max_game_length() + game.max_chance_nodes_in_history()


@pytest.mark.parametrize("table", TABLES, ids=table_id)
def test_every_card_is_a_chance_of_its_own(table: tuple[str, int]) -> None:
    game, chances = load(*table), 0
    state = game.new_initial_state()
    rng = random.Random(5)
    while not state.is_terminal():
        if state.is_chance_node():
            outcomes = state.chance_outcomes()
            assert outcomes == [(card, pytest.approx(1 / (52 - chances))) for card, _ in outcomes]
            assert len(outcomes) == 52 - chances
            chances += 1
            # What has not been drawn is nowhere.
            assert np.count_nonzero(state.games["deck"] != HIDDEN) == chances - 1
            state.apply_action(rng.choice(outcomes)[0])
        else:
            state.apply_action(rng.choice(state.legal_actions()))
    assert chances == game.max_chance_nodes_in_history() == 52


@pytest.mark.parametrize("table", TABLES, ids=table_id)
def test_player_0_leads_unless_a_dealer_is_given(table: tuple[str, int]) -> None:
    deck = random_deck(random.Random(1))
    assert deal(load(*table), deck).current_player() == 0
    left = ct.make_rules(*table).leader == "left"
    for dealer in range(table[1]):
        leader = (dealer + left) % table[1]
        assert deal(load(*table, "card", dealer), deck).current_player() == leader


def test_a_peeked_bottom_card_is_drawn_after_the_layout() -> None:
    deck = random_deck(random.Random(2))
    game = load("taiwan", 4, "card", 2)
    state = game.new_initial_state()
    for card in deck[:28]:
        state.apply_action(card)
    assert state.is_chance_node()
    assert state.action_to_string(deck[51]) == f"deal {ct.card_name(deck[51])}"
    state.apply_action(deck[51])
    assert state.current_player() == 2
    mark = f"bottom {ct.card_name(deck[51])}"
    assert [mark in state.information_state_string(seat) for seat in range(4)] == [
        seat == 2 for seat in range(4)
    ]
    hand = state.information_state_tensor(2)[4 + 52 : 4 + 104]
    assert np.flatnonzero(hand).tolist() == [deck[51]]
    assert deck[51] not in [card for card, _ in state.child(deck[0]).chance_outcomes()]


def test_a_quad_on_the_layout_goes_to_the_dealer() -> None:
    rng = random.Random(4)
    deck = with_layout(random_deck(rng), of_a_rank("K", 4, rng))
    state = deal(load("mainland", 2), deck)
    assert int(state.games["captured"][0, 1]) == int(ct.bitboard("KC KD KH KS"))
    assert "layout KC KD KH KS" in state.information_state_string(0)


# --- what a player can tell -----------------------------------------------------------------


def twin(state: Any, player: int, deck: list[int], rng: random.Random) -> list[int]:
    """Return another deck that a player cannot tell from this one.

    All cards that only others have seen, or nobody, change places, and so does the order in which
    the hands and the layout were dealt.
    """
    record = state.games[0]
    players, turn = int(record["num_players"]), int(record["turn"])
    hidden = []
    for seat in range(players):
        if seat != player:
            hidden += ct.card_list(record["hands"][seat])
    first = (
        28 + turn + (record["phase"] == TAKE_WITH_STOCK)
    )  # which is flipped before its turn ends
    known = 51 if record["peeker"] == player else 52
    hidden += deck[first:known]
    shuffled = rng.sample(hidden, len(hidden))
    change = dict(zip(hidden, shuffled, strict=True))
    other = [change.get(card, card) for card in deck]
    groups = [list(range(place, 24, players)) for place in range(players)] + [list(range(24, 28))]
    for group in groups:
        cards = [other[place] for place in group]
        for place, card in zip(group, rng.sample(cards, len(cards)), strict=True):
            other[place] = card
    return other


@pytest.mark.parametrize("table", TABLES, ids=table_id)
def test_nothing_hidden_shows_in_an_information_state(table: tuple[str, int]) -> None:
    game = load(*table)
    rng = random.Random(TABLES.index(table))
    differing = 0
    for _ in range(8):
        deck, player = random_deck(rng), rng.randrange(table[1])
        state, actions = deal(game, deck), []
        for _ in range(rng.randrange(24)):  # a deal has at least 24 actions
            actions.append(rng.choice(state.legal_actions()))
            play(state, actions[-1], deck)
        other_deck = twin(state, player, deck, rng)
        mine, other = deal(game, deck), deal(game, other_deck)
        for card in [*actions, None]:
            for text in ("information_state_string", "information_state_tensor"):
                assert getattr(mine, text)(player) == getattr(other, text)(player)
            assert mine.observation_string(player) == other.observation_string(player)
            assert mine.observation_tensor(player) == other.observation_tensor(player)
            if card is not None:
                play(mine, card, deck)
                play(other, card, other_deck)
        differing += sum(
            mine.information_state_string(seat) != other.information_state_string(seat)
            for seat in range(table[1])
        )
    assert differing >= 4  # the twins do differ, for those who see more


def views_seen(state: Any, before: list[int]) -> list[int]:
    """Return for each player a number for all views so far, from those before this state."""
    record = state.games
    return [hash((seen, ct.view(record, [seat]).tobytes())) for seat, seen in enumerate(before)]


def one_to_one(pairs: set[tuple[Any, Any]]) -> bool:
    """Tell whether each first is with one second only, and each second with one first."""
    return len({first for first, _ in pairs}) == len(pairs) == len({second for _, second in pairs})


WALKS = (
    *SMALL,
    *(f"{NAME}(variant={variant},num_players={count})" for variant, count in TABLES),
)


@pytest.mark.parametrize("text", WALKS)
def test_information_states_tell_apart_what_the_views_do(text: str) -> None:
    game = pyspiel.load_game(text)
    rng = random.Random(7)
    states: Counter[tuple[int, str]] = Counter()
    pairs, tensors, observations = set(), set(), set()
    walks, changes = (60, 2.0) if text in SMALL else (24, 0.5)
    low_rate = changes / game.max_chance_nodes_in_history()
    for walk in range(walks):
        seen = [0] * game.num_players()
        for state in random_walk(game, rng, low_rate if walk % 2 else 1.0):
            # Where somebody peeked, the last flip comes at once, with no view before it.
            if not state.position.is_dealt or state.is_terminal():
                continue
            seen = views_seen(state, seen)
            for seat in range(game.num_players()):
                key = (seat, state.information_state_string(seat))
                states[key] += 1
                pairs.add((key, (seat, seen[seat])))
                if walk < walks // 6:
                    tensors.add((key, np.array(state.information_state_tensor(seat)).tobytes()))
                    observation = np.array(state.observation_tensor(seat)).tobytes()
                    observations.add((state.observation_string(seat), observation))
    assert one_to_one(pairs)
    assert one_to_one(tensors)
    assert len({string for string, _ in observations}) == len(observations)
    assert sum(count > 1 for count in states.values()) > 20  # so equal histories did meet
    assert len(states) > 200


def test_the_order_of_play_is_remembered() -> None:
    # Two orders of the same plays lead to one position: the view is the same, the memory is not.
    game = pyspiel.load_game(f"{NAME}(ranks=TJQK,hand_size=3)")
    deck = ct.card_list(ct.bitboard("TC TD JC JD QC QD"))
    rest = ct.card_list(ct.bitboard("TH JH QH KH"))
    flips = [ct.card(name) for name in ("KC", "KD", "KS")]
    ends = []
    for mine in (("TC", "JC"), ("JC", "TC")):
        state = game.new_initial_state()
        for card in [deck[0], deck[1], deck[2], deck[3], deck[4], deck[5], *rest]:
            state.apply_action(card)
        for card in (ct.card(mine[0]), ct.card("QD"), ct.card(mine[1])):
            state.apply_action(card)
            state.apply_action(flips[len(state.history()) // 2 % 3])
        ends.append(state)
    strings = [state.information_state_string(0) for state in ends]
    assert strings[0] != strings[1]


# --- observers ------------------------------------------------------------------------------


def test_the_pieces_of_the_observers() -> None:
    game = load("taiwan", 4)
    state = deal(game, random_deck(random.Random(8)))
    mine = make_observation(game, INFO_STATE_OBS_TYPE)
    assert isinstance(mine, ChineseTenObserver)
    mine.set_from(state, 1)
    assert {name: part.shape for name, part in mine.dict.items()} == {
        "player": (4,),
        "dealt": (52,),
        "bottom": (52,),
        "layout": (52,),
        "events": (24, 4, 52),
    }
    assert mine.tensor.dtype == np.float32
    assert mine.tensor.tolist() == state.information_state_tensor(1)
    assert mine.string_from(state, 1) == state.information_state_string(1)
    default = make_observation(game)
    default.set_from(state, 2)
    assert default.tensor.tolist() == state.observation_tensor(2)
    assert default.string_from(state, 2) == state.observation_string(2)


def observation_type(recall: bool, public: bool, private: Any) -> Any:
    """Return a type of observation."""
    return pyspiel.IIGObservationType(
        perfect_recall=recall, public_info=public, private_info=private
    )


@pytest.mark.parametrize("recall", [False, True])
def test_public_and_private_information_are_apart(recall: bool) -> None:
    game = load("taiwan", 4)
    state = deal(game, random_deck(random.Random(9)))
    kinds = pyspiel.PrivateInfoType
    public = make_observation(game, observation_type(recall, True, kinds.NONE))
    shown = set()
    for seat in range(4):
        public.set_from(state, seat)
        shown.add((public.string_from(state, seat), public.tensor.tobytes()))
    assert len(shown) == 1
    for card in ct.card_list(np.bitwise_or.reduce(state.games["hands"][0])):
        assert ct.card_name(card) not in public.string_from(state, 0)
    private = make_observation(game, observation_type(recall, False, kinds.SINGLE_PLAYER))
    strings = [private.string_from(state, seat) for seat in range(4)]
    assert all(ct.card_names(state.games["hands"][0, seat]) in strings[seat] for seat in range(4))
    assert ["bottom" in string for string in strings] == [True, False, False, False]
    private.set_from(state, 0)
    assert private.tensor.sum() > 7
    assert ("layout" in private.dict) is False
    with pytest.raises(ValueError, match="single player"):
        make_observation(game, observation_type(recall, True, kinds.ALL_PLAYERS))


def test_observers_take_no_parameters() -> None:
    with pytest.raises(ValueError, match="no parameters"):
        make_observation(load("mainland", 2), INFO_STATE_OBS_TYPE, {"a": 1})


def test_nobody_sees_anything_while_cards_are_dealt() -> None:
    game = load("mainland", 2)
    state = game.new_initial_state()
    state.apply_action(7)
    assert state.information_state_string(0) == "player 0 | dealing"
    assert np.count_nonzero(state.information_state_tensor(0)) == 1
    assert str(state) == "dealt 2S"


# --- states ---------------------------------------------------------------------------------


def test_clones_are_independent() -> None:
    deck = random_deck(random.Random(10))
    state = deal(load("mainland", 3), deck)
    before = str(state), state.information_state_string(0)
    clone = state.clone()
    play(clone, clone.legal_actions()[0], deck)
    assert (str(state), state.information_state_string(0)) == before
    assert str(clone) != before[0]
    state.games["hands"] = 0  # a copy, which is the caller's
    assert str(state) == before[0]


def test_actions_are_named_as_cards() -> None:
    deck = random_deck(random.Random(11))
    state = deal(load("mainland", 2), deck)
    card = state.legal_actions()[0]
    assert state.action_to_string(card) == ct.card_name(card)
    state.apply_action(card)
    if state.is_chance_node():
        assert state.action_to_string(deck[28]) == f"flip {ct.card_name(deck[28])}"


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ("variant=mainlnd", "Did you mean 'mainland'"),
        ("variant=taiwan,num_players=3", "4 players"),
        ("capture=all", "unknown capture"),
        ("dealer=2", "dealer"),
        ("dealer=-2", "dealer"),
        ("dealing=hnds", "Did you mean 'hands'"),
        ("ranks=A", "A without 9"),
        ("ranks=TT", "each once"),
        ("ranks=X", "each once"),
        ("ranks=TJ,variant=taiwan", "2 or 3 players"),
        ("ranks=TJ,hand_size=3", "hand_size=3"),
        ("ranks=TJQ,hand_size=1", "hand_size=1"),
        ("hand_size=-1", "hand_size=-1"),
        ("hand_size=13", "24 cards"),
    ],
)
def test_wrong_parameters_are_named(parameters: str, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        pyspiel.load_game(f"{NAME}({parameters})")


# --- fewer cards ----------------------------------------------------------------------------


@pytest.mark.parametrize("text", SMALL)
def test_a_small_deck_is_played_by_the_rules(text: str) -> None:
    game = pyspiel.load_game(text)
    table, rules = game.table, game.table.rules
    ranks = re.findall(r"ranks=(\w+)", text)[0]
    cards = [card for card in range(52) if RANKS[card // 4] in ranks]
    assert ct.card_list(table.cards) == cards
    total = sum(rules.points[card] for card in cards)
    assert table.par == pytest.approx(float(Fraction(total, rules.num_players)))
    rng = random.Random(12)
    levies = 0
    for _ in range(60):
        turns = 0
        for state in random_walk(game, rng):
            record = state.games[0]
            if not state.position.is_dealt:
                continue
            players = range(rules.num_players)
            held = [int(bits) for bits in (*record["hands"], *record["captured"][: len(players)])]
            places = [*held, int(record["table"]), int(record["pending"])]
            stock = [card for card in record["deck"][28 + int(record["turn"]) :] if card != HIDDEN]
            here = sum(places)
            assert here.bit_count() == sum(bits.bit_count() for bits in places)
            assert here & ~table.cards == 0
            unseen = int(ct.observe(state.games, [0], packed=True)[0, ct.Feature.UNSEEN])
            assert unseen & ~table.cards == 0
            others = sum(int(record["hands"][seat]) for seat in players if seat)
            assert others & ~unseen == 0
            assert len(stock) <= 2
            turns = int(record["turn"])
        assert turns == 24
        assert int(record["table"]) == 0
        assert here == table.cards
        points = [net + table.par for net in state.returns()]
        piles = [
            sum(rules.points[card] for card in ct.card_list(record["captured"][seat]))
            for seat in players
        ]
        assert sum(points) == pytest.approx(total)
        if record["levier"] < 0 or not rules.red_five_levy:
            assert points == pytest.approx(piles)
        else:
            levies += 1
            assert points[record["levier"]] == piles[record["levier"]] + rules.red_five_levy
    assert (levies > 0) == ("5" in ranks and rules.red_five_levy > 0)


@pytest.mark.parametrize("dealing", ["cards", "hands"])
def test_every_deal_has_the_same_odds(dealing: str) -> None:
    game = pyspiel.load_game(f"{NAME}(ranks=TJ,hand_size=2,dealing={dealing})")
    odds: Counter[tuple[int, ...]] = Counter()
    deals = 0
    waiting = [(game.new_initial_state(), 1.0)]
    while waiting:
        state, probability = waiting.pop()
        if state.is_player_node():
            odds[state.position.hands] += probability  # type: ignore[assignment]  # not a count
            deals += 1
            continue
        outcomes = state.chance_outcomes()
        assert sum(p for _, p in outcomes) == pytest.approx(1.0)
        waiting += [(state.child(card), probability * p) for card, p in outcomes]
    assert len(odds) == 420
    assert deals == {"cards": 1680, "hands": 420}[dealing]
    assert list(odds.values()) == pytest.approx([1 / 420] * 420)


def test_hands_and_layout_of_all_variants_may_be_dealt_in_order() -> None:
    for table in TABLES:
        parameters = {"variant": table[0], "num_players": table[1], "dealing": "hands"}
        game = pyspiel.load_game(NAME, parameters)
        for state in random_walk(game, random.Random(13)):
            if state.is_player_node():
                break
        hands = state.games["hands"][0]
        assert [int(hand).bit_count() for hand in hands[: table[1]]] == [24 // table[1]] * table[1]
        assert state.history()[: 24 // table[1]] == ct.card_list(hands[0])
        assert state.history()[24:28] == ct.card_list(state.position.layout)


# --- policies, exploitability ---------------------------------------------------------------


def test_a_policy_of_the_library_plays_in_openspiel() -> None:
    game = load("mainland", 2)
    policy = LibraryPolicy(game, "greedy")
    greedy = ct.make_policy("greedy")
    deck = random_deck(random.Random(14))
    state, other = deal(game, deck), ct.Game(ct.make_rules("mainland"), deck=deck, dealer=1)
    rng = np.random.default_rng(0)
    while not state.is_terminal():
        odds = policy.action_probabilities(state)
        assert sorted(odds) == state.legal_actions()
        (card,) = [card for card, p in odds.items() if p == 1.0]
        assert [card] == greedy(ct.views(other.games), rng).tolist()
        play(state, card, deck)
        other.play(card)


def test_a_policy_that_draws_keeps_to_its_answer() -> None:
    game, state = pyspiel.load_game(MINI), first_decision(MINI)
    answers = set()
    for seed in range(20):
        policy = LibraryPolicy(game, "random", seed)
        odds = [tuple(policy.action_probabilities(state).items()) for _ in range(5)]
        assert len(set(odds)) == 1
        answers.add(odds[0])
    assert len(answers) == 2


def test_a_policy_that_answers_wrongly_is_named() -> None:
    game, state = pyspiel.load_game(MINI), first_decision(MINI)

    def wrong(views: Any, rng: Any) -> Any:
        return np.zeros(len(views), dtype=np.int64)

    with pytest.raises(ct.PolicyError, match="wrong"):
        LibraryPolicy(game, wrong).action_probabilities(state)


def test_a_decision_tree_is_as_exploitable_as_its_game() -> None:
    tree, game = DecisionTree(TINY), pyspiel.load_game(f"cached_tree(game={TINY})")
    uniform = pyspiel.exploitability(game, pyspiel.UniformRandomPolicy(game))
    assert tree.exploitability(tree.random_policy()) == pytest.approx(uniform, abs=1e-9)
    assert uniform > 0.5
    solver = pyspiel.CFRSolver(game)
    for _ in range(4):
        solver.evaluate_and_update_policy()
    ((_, policy),) = tree.solve((4,))
    # A forced move is not an information state of the tree, and is one of the game.
    assert tree.exploitability(policy) == pytest.approx(
        pyspiel.exploitability(game, solver.tabular_average_policy()), abs=1e-9
    )


def test_openspiels_algorithms_in_python_take_the_game() -> None:
    solver = ExternalSamplingSolver(pyspiel.load_game(MINI))
    for _ in range(3):
        solver.iteration()
    game = load("mainland", 2)
    root = deal(game, random_deck(random.Random(15)))
    ones = [LibraryPolicy(game, "greedy"), openspiel_policy.FirstActionPolicy(game)]
    bots = [PolicyBot(seat, np.random.RandomState(0), one) for seat, one in enumerate(ones)]
    result = evaluate_bots(root, bots, np.random.RandomState(0))
    assert sum(result) == pytest.approx(0.0)
    assert len(solver.average_policy().action_probabilities(first_decision(MINI))) == 2


def test_the_mini_game_is_solved() -> None:
    mini = DecisionTree(MINI)
    assert mini.sizes == (40320, 68216, 64260, 47908, 868)
    assert mini.exploitability(mini.random_policy()) == pytest.approx(1.2381, abs=1e-4)
    assert mini.exploitability(mini.policy("greedy")) == pytest.approx(0.7460, abs=1e-4)
    # From Python 3.12 on, `sum` adds floats more exactly, and CFR's ties fall another way.
    known = (0.1402, 0.0143) if sys.version_info < (3, 12) else (0.1337, 0.0134)
    for (done, policy), value in zip(mini.solve((10, 100)), known, strict=True):
        assert mini.exploitability(policy) == pytest.approx(value, abs=1e-4), done
    ((done, policy),) = mini.solve((100,), plus=True)
    assert done == 100
    assert mini.exploitability(policy) < 0.001
    # The second player, who acts last, has the better of it.
    assert mini.value(policy) == pytest.approx(-8.78, abs=0.01)
    # Hidden cards matter: nobody does well with a card that tells what else is in his hand.
    table = policy.policy_table()
    mixed = [odds for odds in table.values() if 0.05 < max(p for _, p in odds) < 0.95]
    assert len(mixed) > 10


def test_a_decision_tree_needs_two_players() -> None:
    with pytest.raises(ValueError, match="for two"):
        DecisionTree(f"{NAME}(ranks=46T,hand_size=2,num_players=3)")


def test_the_command_prints_the_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    mini_main(["--game", TINY, "--iterations", "20"])
    shown = capsys.readouterr().out
    assert "information states" in shown
    for what in ("uniform random", "greedy", "CFR, 20 iterations", r"CFR\+, 20 iterations"):
        assert re.search(rf"^{what} +\d+\.\d{{4}}$", shown, flags=re.MULTILINE), what


def test_the_readme_tells_the_parameters() -> None:
    text = (Path(__file__).resolve().parents[1] / "README.md").read_text(encoding="utf-8")
    section = text.partition("### OpenSpiel\n")[2].partition("\n### ")[0]
    rows = re.findall(r"^\| `(\w+)` \| `([^`]+)` \| .+ \|$", section, flags=re.MULTILINE)
    assert rows == [(name, str(value)) for name, value in PARAMETERS.items()]


WITHOUT = """
import sys
sys.modules["pyspiel"] = None
import chinese_ten_env.adapters.{module}
"""


@pytest.mark.parametrize("module", ["openspiel", "openspiel_mini"])
def test_without_openspiel_the_error_names_the_extra(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT.format(module=module)],
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "PYTHONPATH": str(Path(ct.__file__).resolve().parents[1])},
    )
    assert done.returncode != 0
    assert "pip install 'chinese_ten_env[openspiel]'" in done.stderr
