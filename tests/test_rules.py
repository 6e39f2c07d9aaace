"""The rules of play, rule by rule (R1 to R12 of the README), and every worked example.

Positions are text, as `Game.text` writes them: set one up, play, and compare text with text. Most
positions hold only the cards that matter; the number of stock cards is then what is left of the 24
turns, and as many cards are in the hands.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import chinese_ten_env as ct
from tests import examples, reference
from tests.helpers import (
    TABLES,
    Convention,
    piles_worth,
    play_out,
    random_choice,
    random_deck,
    table_id,
    with_layout,
)

IN_ORDER = list(range(52))
EVERY_TABLE = pytest.mark.parametrize(("variant", "num_players"), TABLES, ids=map(table_id, TABLES))
BOTH_CAPTURES = pytest.mark.parametrize("capture", ["card", "hand"])

COLUMN = {
    "taiwan": 1,
    "g4a": 1,
    "taiwan_low_aces": 3,
    "gob_dum_gob_dang": 4,
    "g4a_gob_dum_gob_dang": 4,
}
"""Where a variant stands in the points of a worked example; mainland has one for each count."""


def by_id(example: Any) -> str:
    """Name a worked example for pytest."""
    return str(example.id)


def at(
    line: str, variant: str = "mainland", players: int | None = None, **switches: Any
) -> ct.Game:
    """Set up a position; the number of players is that of the hands unless given."""
    hands = line.partition("|")[0].count("/") + 1
    return ct.Game.from_text(line, ct.make_rules(variant, players or hands, **switches))


def after(game: ct.Game, actions: str) -> str:
    """Play the actions and return the text of the position."""
    for action in actions.split():
        game.play(action)
    return game.text


def section(game: ct.Game, name: str) -> str:
    """Return one section of the text of a position, empty if it is left out."""
    for part in game.text.split(" | "):
        if part.split()[0] == name:
            return part.partition(" ")[2]
    return ""


def names(cards: str | Iterable[int]) -> str:
    """Write cards as the text of a position does: in card order, ``-`` for none."""
    return ct.card_names(ct.bitboard(cards)) or "-"


def legal(game: ct.Game) -> str:
    """Return the legal actions as text."""
    return " ".join(ct.card_name(number) for number in game.legal)


def others(*texts: str) -> list[str]:
    """Return the names of all cards that do not occur in the texts, highest first."""
    used = " ".join(texts).split()
    return [name for name in reversed(reference.CARDS) if name not in used]


def levy_seen(game: ct.Game) -> list[int]:
    """Return which seats are owed the levy, as seat 0 observes it."""
    row = ct.observe(game.games, 0, packed=True)[0, ct.Feature.LEVY]
    return ct.card_list(row)


# --- R1 cards and points


@pytest.mark.parametrize(
    ("variant", "points"), [("mainland", [10, 0]), ("gob_dum_gob_dang", [9, 0])]
)
def test_r1_red_nine_counts_ten_black_nine_nine(variant: str, points: list[int]) -> None:
    # A red ace would count too, so each nine is taken by an ace that is worth nothing there.
    ace, nine = ("AC", "9H") if variant == "mainland" else ("AD", "9S")
    game = at(f"hands {ace} / 2C | table {nine} KC | stock 3C 4C", variant)
    game.play(ace)
    assert game.points == points


@EVERY_TABLE
def test_r1_each_card_counts_for_whoever_captured_it(variant: str, num_players: int) -> None:
    rules = ct.make_rules(variant, num_players)
    for number in range(52):
        hands = " / ".join("-" for _ in range(num_players))
        pile = " / ".join(["-"] * (num_players - 1) + [ct.card_name(number)])
        game = ct.Game.from_text(f"hands {hands} | table - | stock - | piles {pile} | over", rules)
        assert game.points == [0] * (num_players - 1) + [rules.points[number]]


# --- R2 the deal


def test_r2_cards_are_dealt_one_at_a_time_from_the_leader() -> None:
    game = ct.Game(ct.make_rules("mainland", 3), deck=IN_ORDER, dealer=0)
    assert game.text == (
        "hands AH 2D 3C 3S 4H 5D 6C 6S / AC AS 2H 3D 4C 4S 5H 6D / AD 2C 2S 3H 4D 5C 5S 6H"
        " | table 7C 7D 7H 7S"
        " | stock 8C 8D 8H 8S 9C 9D 9H 9S TC TD TH TS JC JD JH JS QC QD QH QS KC KD KH KS"
        " | piles - / - / - | player 1 | dealer 0"
    )


def test_r2_where_the_dealer_leads_he_is_dealt_the_first_card() -> None:
    game = ct.Game(ct.make_rules("taiwan"), deck=IN_ORDER, dealer=2)
    assert section(game, "hands") == (
        "AH 2H 3H 4H 5H 6H / AS 2S 3S 4S 5S 6S / AC 2C 3C 4C 5C 6C / AD 2D 3D 4D 5D 6D"
    )
    assert section(game, "player") == "2"


@EVERY_TABLE
@pytest.mark.parametrize("leader", ["left", "dealer"])
def test_r2_leader_switch(variant: str, num_players: int, leader: str) -> None:
    rules = ct.make_rules(variant, num_players, leader=leader)
    for dealer in range(num_players):
        game = ct.Game(rules, deck=IN_ORDER, dealer=dealer)
        expected = dealer if leader == "dealer" else (dealer + 1) % num_players
        assert section(game, "player") == str(expected)
        assert section(game, "hands").split(" / ")[expected].startswith("AC ")


@EVERY_TABLE
def test_r2_the_dealer_is_drawn_from_the_seed(variant: str, num_players: int) -> None:
    rules = ct.make_rules(variant, num_players)
    dealers = [section(ct.Game(rules, seed=seed), "dealer") for seed in range(60)]
    assert sorted(set(dealers)) == [str(seat) for seat in range(num_players)]
    assert ct.Game(rules, seed=3).text == ct.Game(rules, seed=3).text
    assert ct.Game(rules, seed=3).text != ct.Game(rules, seed=4).text


@pytest.mark.parametrize("example", examples.HAND_SIZES, ids=lambda example: example.num_players)
def test_r2_v95_sizes(example: Any) -> None:
    for variant, num_players in TABLES:
        if num_players == example.num_players:
            game = ct.Game(ct.make_rules(variant, num_players), seed=1)
            hands = [len(hand.split()) for hand in section(game, "hands").split(" / ")]
            # A quad leaves the table at once, but none does with this seed.
            table, stock = section(game, "table"), section(game, "stock")
            assert hands == [example.hand_size] * num_players
            assert (len(table.split()), len(stock.split())) == (example.layout, example.stock)


@pytest.mark.parametrize("variant", examples.PLAYER_COUNTS)
def test_r2_v95_other_counts_of_players_are_an_error(variant: str) -> None:
    for count in range(7):
        if count not in examples.PLAYER_COUNTS[variant]:
            with pytest.raises(
                ValueError, match=f"{variant} is a game for .* players, not {count}"
            ):
                ct.make_rules(variant, count)


@pytest.mark.parametrize("example", examples.LEADERS, ids=by_id)
def test_r2_worked_leaders(example: Any) -> None:
    rules = ct.make_rules(example.variant, example.num_players)
    game = ct.Game(rules, deck=IN_ORDER, dealer=example.dealer)
    assert section(game, "player") == str(example.leader)


@pytest.mark.parametrize(
    ("deck", "words"),
    [
        (IN_ORDER[:51], "52 cards are needed, not 51; missing: KS"),
        ([*IN_ORDER[:51], 0], "card AC is named twice"),
        ([*IN_ORDER[:51], 52], "52 is not a card number"),
        ([*reference.CARDS[:51], "XX"], "'XX' is not a card"),
        ([], "52 cards are needed, not 0"),
    ],
)
def test_r2_a_deck_that_is_none_is_an_error(deck: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        ct.Game(ct.make_rules(), deck=deck)


@pytest.mark.parametrize("dealer", [9, -1, 2, "0", 1.0])
def test_r2_a_dealer_who_does_not_sit_there_is_an_error(dealer: Any) -> None:
    with pytest.raises(ValueError, match="dealer must be"):
        ct.Game(ct.make_rules("mainland", 2), seed=1, dealer=dealer)


# --- R3 the peek


@EVERY_TABLE
@pytest.mark.parametrize("leader", ["left", "dealer"])
@pytest.mark.parametrize("peek", ["none", "dealer", "last"])
def test_r3_who_knows_the_bottom_card(
    variant: str, num_players: int, leader: str, peek: str
) -> None:
    rules = ct.make_rules(variant, num_players, leader=leader, peek=peek)
    for dealer in range(num_players):
        game = ct.Game(rules, deck=IN_ORDER, dealer=dealer)
        before_the_leader = (game.player - 1) % num_players
        knows = {"none": None, "dealer": dealer, "last": before_the_leader}[peek]
        for seat in range(num_players):
            rows = ct.observe(game.games, seat, packed=True)[0]
            known = ct.card_names(rows[ct.Feature.BOTTOM])
            assert known == ("KS" if seat == knows else "")
            # Who knows where it lies does not wonder where it is.
            assert ("KS" in ct.card_names(rows[ct.Feature.UNSEEN])) == (seat != knows)


def test_r3_last_is_the_dealer_where_he_does_not_lead() -> None:
    game = ct.Game(ct.make_rules("mainland", 3, peek="last"), deck=IN_ORDER, dealer=2)
    assert [int(seat) for seat in game.games["peeker"]] == [2]


def test_r3_the_bottom_card_is_known_until_it_is_flipped() -> None:
    deck = random_deck(random.Random(1))
    game = ct.Game(ct.make_rules("taiwan"), deck=deck, dealer=1)
    seen = []
    while not game.is_over:
        rows = ct.observe(game.games, 1, packed=True)[0]
        seen.append((section(game, "stock") != "-", ct.card_list(rows[ct.Feature.BOTTOM])))
        game.play(game.legal[0])
    assert all(known == ([deck[-1]] if in_stock else []) for in_stock, known in seen)
    assert ct.card_list(ct.observe(game.games, 1, packed=True)[0, ct.Feature.BOTTOM]) == []


@EVERY_TABLE
def test_r3_the_peek_is_information_only(variant: str, num_players: int) -> None:
    rng = random.Random(f"peek {variant} {num_players}")
    deck = random_deck(rng)
    texts = []
    for peek in ("none", "dealer", "last"):
        rules = ct.make_rules(variant, num_players, peek=peek)
        game = ct.Game(rules, deck=deck, dealer=0)
        texts.append(play_out(game, random_choice(random.Random(5))).text)
    assert len(set(texts)) == 1


# --- R4 four of a kind on the layout


@EVERY_TABLE
@pytest.mark.parametrize("rank", "5TJQK")
def test_r4_four_of_a_kind_go_to_the_dealer(variant: str, num_players: int, rank: str) -> None:
    quad = " ".join(rank + suit for suit in "HCSD")
    deck = with_layout(random_deck(random.Random(rank)), quad)
    rules = ct.make_rules(variant, num_players)
    for dealer in range(num_players):
        game = ct.Game(rules, deck=deck, dealer=dealer)
        piles = [names(quad) if seat == dealer else "-" for seat in range(num_players)]
        leader = dealer if rules.leader == "dealer" else (dealer + 1) % num_players
        assert section(game, "table") == "-"
        assert section(game, "piles") == " / ".join(piles)
        assert section(game, "player") == str(leader)
        assert section(game, "direction") == ""  # the empty table is not a sweep
        expected = [0] * num_players
        expected[dealer] = sum(rules.points[ct.card(name)] for name in quad.split())
        assert game.points == expected


@pytest.mark.parametrize("rank", "A2346789")
def test_r4_four_of_another_rank_stay(rank: str) -> None:
    quad = " ".join(rank + suit for suit in "CDHS")
    for variant, num_players in TABLES:
        rules = ct.make_rules(variant, num_players)
        game = ct.Game(rules, deck=with_layout(IN_ORDER, quad), dealer=0)
        assert section(game, "table") == quad
        assert game.points == [0] * num_players


@pytest.mark.parametrize("layout", ["AC 5D 5H 9S", "TC TD TH KS", "5C 5D TC TD", "4C 4D 6H 6S"])
def test_r4_layout_cards_that_could_capture_one_another_just_lie_there(layout: str) -> None:
    game = ct.Game(ct.make_rules("taiwan"), deck=with_layout(IN_ORDER, layout), dealer=0)
    assert section(game, "table") == layout
    assert section(game, "piles") == "- / - / - / -"


@pytest.mark.parametrize("example", examples.LAYOUTS, ids=by_id)
def test_r4_worked_layouts(example: Any) -> None:
    rules = ct.make_rules(example.variant, example.num_players)
    game = ct.Game(rules, deck=with_layout(IN_ORDER, example.layout), dealer=example.dealer)
    piles = ["-"] * example.num_players
    piles[example.dealer] = names(example.dealer_pile)
    assert section(game, "table") == names(example.table)
    assert section(game, "piles") == " / ".join(piles)
    assert section(game, "player") == str(example.leader)
    assert game.points[example.dealer] == example.dealer_points


# --- R5 what captures what


TEN = "A-9 2-8 3-7 4-6 5-5 6-4 7-3 8-2 9-A T-T J-J Q-Q K-K"


@pytest.mark.parametrize("pair", TEN.split())
def test_r5_what_each_rank_captures(pair: str) -> None:
    rank, partner = pair.split("-")
    for suit in "CDHS":
        for other in reference.CARDS:
            if other == rank + suit:
                continue
            # The flip and the rest have to do with neither card.
            idle = [
                card
                for card in others(rank + suit, other)
                if card[0] not in (rank, partner) and not reference.can_capture(card, other)
            ]
            line = f"hands {rank + suit} / {idle[1]} | table {other} | stock {idle[0]} {idle[2]}"
            game = at(line)
            game.play(rank + suit)
            taken = f"{rank + suit} {other}" if other[0] == partner else ""
            assert section(game, "piles") == f"{names(taken)} / -"


# --- R6 the hand play


def test_r6_without_a_match_the_card_stays_on_the_table() -> None:
    game = at("hands 2C KH / 3D JC | table 7S QD | stock AS 4C 9S 9C")
    assert after(game, "2C") == (
        "hands KH / 3D JC | table AS 2C 7S QD | stock 4C 9S 9C | piles - / - | player 1 | dealer 0"
        " | laid 2C / - | last 2C / AS"
    )


def test_r6_a_single_match_is_taken_without_being_asked() -> None:
    game = at("hands 3H KH / 3D JC | table 7S QD | stock AS 4C 9S 9C")
    assert after(game, "3H") == (
        "hands KH / 3D JC | table AS QD | stock 4C 9S 9C | piles 3H 7S / - | player 1 | dealer 0"
        " | last 3H / AS"
    )


def test_r6_of_several_matches_exactly_one_is_taken_by_choice() -> None:
    game = at("hands 3H KH / 3D JC | table 7S 7D QD | stock AS 4C 9S 9C")
    assert after(game, "3H") == (
        "hands KH / 3D JC | table 7D 7S QD | stock AS 4C 9S 9C | piles - / - | player 0 | dealer 0"
        " | pending 3H from hand | last 3H / -"
    )
    assert (game.phase, legal(game)) == ("take with hand", "7D 7S")
    assert after(game, "7D") == (
        "hands KH / 3D JC | table AS 7S QD | stock 4C 9S 9C | piles 3H 7D / - | player 1 | dealer 0"
        " | last 3H / AS"
    )


@pytest.mark.parametrize("choice", ["KH", "3D", "QD", "AS", "3H", "JS"])
def test_r6_nothing_but_a_target_may_be_chosen(choice: str) -> None:
    game = at("hands 3H KH / 3D JC | table 7S 7D QD | stock AS 4C 9S 9C")
    before = after(game, "3H")
    with pytest.raises(
        ct.IllegalActionError, match=f"{choice} is not a legal action; legal now: 7D"
    ):
        game.play(choice)
    assert game.text == before


@pytest.mark.parametrize("choice", ["3D", "7S", "AS", "JS"])
def test_r6_nothing_but_a_card_of_the_own_hand_may_be_played(choice: str) -> None:
    game = at("hands 3H KH / 3D JC | table 7S 7D QD | stock AS 4C 9S 9C")
    before = game.text
    with pytest.raises(
        ct.IllegalActionError, match=f"{choice} is not a legal action; legal now: 3H"
    ):
        game.play(choice)
    assert game.text == before


@BOTH_CAPTURES
def test_r6_capturing_is_compulsory_for_the_card_played(capture: str) -> None:
    game = at("hands 3H 2C / 3D JC | table 7S QD | stock AS 4C 9S 9C", capture=capture)
    after(game, "3H")
    assert section(game, "piles") == "3H 7S / -"


@pytest.mark.parametrize(
    ("capture", "hand", "table", "playable"),
    [
        ("card", "2C 3H KS", "7S QD", "2C 3H KS"),
        ("hand", "2C 3H KS", "7S QD", "3H"),
        ("card", "2C 3H KS", "7S 8D", "2C 3H KS"),
        ("hand", "2C 3H KS", "7S 8D", "2C 3H"),
        ("card", "2C 3H KS", "JS QD", "2C 3H KS"),
        ("hand", "2C 3H KS", "JS QD", "2C 3H KS"),  # nothing can capture: everything may be played
        ("hand", "5C 3H KS", "-", "3H 5C KS"),
        ("hand", "5C 5D KS", "5H QD", "5C 5D"),
    ],
)
def test_r6_capture_switch(capture: str, hand: str, table: str, playable: str) -> None:
    game = at(f"hands {hand} / 4D 4H 4S | table {table} | stock AS AC AD AH TC TD", capture=capture)
    assert legal(game) == playable


def test_r6_by_the_hand_a_card_that_cannot_capture_is_refused() -> None:
    game = at("hands 2C 3H / 4D 4H | table 7S QD | stock AS AC AD AH", capture="hand")
    with pytest.raises(
        ct.IllegalActionError, match=r"2C is not a legal action; legal now: 3H \(10\)$"
    ):
        game.play("2C")


@EVERY_TABLE
def test_r6_by_the_hand_whoever_can_capture_must(variant: str, num_players: int) -> None:
    rules = ct.make_rules(variant, num_players, capture="hand")
    rng = random.Random(f"hand {variant} {num_players}")
    constrained = 0
    for _ in range(5):
        game = ct.Game(rules, deck=random_deck(rng), dealer=0)
        while not game.is_over:
            if game.phase == "play":
                hand = section(game, "hands").split(" / ")[game.player].split()
                table = section(game, "table").replace("-", "").split()
                able = [x for x in hand if any(reference.can_capture(x, y) for y in table)]
                assert legal(game).split() == (able or hand)
                constrained += 0 < len(able) < len(hand)
            game.play(rng.choice(game.legal))
    assert constrained > 20


@pytest.mark.parametrize("example", examples.PLAYABLE, ids=by_id)
def test_r6_worked_playable_cards(example: Any) -> None:
    size = len(example.hand.split())
    free = others(example.table, example.hand)
    line = (
        f"hands {example.hand} / {' '.join(free[:size])} | table {example.table}"
        f" | stock {' '.join(free[size : 3 * size])}"
    )
    assert legal(at(line, capture="card")) == names(example.legal_by_card)
    assert legal(at(line, capture="hand")) == names(example.legal_by_hand)


@BOTH_CAPTURES
@pytest.mark.parametrize("example", examples.TARGETS, ids=by_id)
def test_r6_worked_targets(example: Any, capture: str) -> None:
    free = others(example.table, example.card, example.stock)
    stock = f"{example.stock} {free[1]}" if example.stock else f"{free[1]} {free[2]}"
    line = f"hands {example.card} / {free[0]} | table {example.table} | stock {stock}"
    for target in example.targets.split():
        game = at(line, capture=capture)
        game.play(example.card)
        assert legal(game) == names(example.targets)
        game.play(target)
        assert section(game, "piles").split(" / ")[0] == names(f"{example.card} {target}")


# --- R7 three of a kind


@BOTH_CAPTURES
@pytest.mark.parametrize("rank", "5TJQK")
@pytest.mark.parametrize("suit", "CDHS")
def test_r7_the_fourth_takes_all_three(rank: str, suit: str, capture: str) -> None:
    fourth = rank + suit
    three = " ".join(rank + x for x in "CDHS" if x != suit)
    game = at(f"hands {fourth} 2C / 2D 2H | table {three} 4C | stock 8S AC AD AH", capture=capture)
    game.play(fourth)
    assert section(game, "table") == "4C 8S"
    assert section(game, "piles") == f"{names(fourth + ' ' + three)} / -"
    assert section(game, "player") == "1"


def test_r7_fourth_king_takes_three() -> None:
    game = at("hands KC 2C / 2D 2H | table KH KD KS 4C | stock 8S AC AD AH")
    assert after(game, "KC") == (
        "hands 2C / 2D 2H | table 4C 8S | stock AC AD AH | piles KC KD KH KS / - | player 1"
        " | dealer 0 | last KC / 8S"
    )


def test_r7_a_flip_takes_all_three_too() -> None:
    game = at("hands 7C 2C / 2D 2H | table QH QS QC 2S | stock QD AC AD AH")
    assert after(game, "7C") == (
        "hands 2C / 2D 2H | table 2S 7C | stock AC AD AH | piles QC QD QH QS / - | player 1"
        " | dealer 0 | laid 7C / - | last 7C / QD"
    )


def test_r7_of_two_of_a_kind_one_is_chosen() -> None:
    game = at("hands KC 2C / 2D 2H | table KH KS 3C 4C | stock 8S AC AD AH")
    game.play("KC")
    assert legal(game) == "KH KS"


@pytest.mark.parametrize("card", ["AH", "2C", "3D", "4S", "6C", "7H", "8D", "9S"])
def test_r7_ranks_that_make_ten_take_one_of_three_or_four(card: str) -> None:
    rank = reference.TEN_PARTNER[card[0]]
    for suits in ("CDH", "DHS", "CDHS"):
        targets = " ".join(rank + suit for suit in suits)
        game = at(f"hands {card} / TD | table {targets} | stock KS JC")
        game.play(card)
        assert legal(game) == targets
        game.play(targets.split()[1])
        assert section(game, "piles") == f"{names(card + ' ' + targets.split()[1])} / -"


@EVERY_TABLE
def test_r7_three_on_the_layout_are_taken_by_the_fourth(variant: str, num_players: int) -> None:
    rng = random.Random(f"triple {variant} {num_players}")
    for _ in range(4):
        deck = random_deck(rng, same_rank=3)
        game = ct.Game(ct.make_rules(variant, num_players), deck=deck, dealer=0)
        layout = section(game, "table").split()
        rank = next(x for x in "5TJQK" if sum(card[0] == x for card in layout) == 3)
        play_out(game, random_choice(rng))
        piles = [
            [card for card in pile.split() if card[0] == rank]
            for pile in section(game, "piles").split(" / ")
        ]
        assert sorted(map(len, piles)) == [0] * (num_players - 1) + [4]


# --- R8 the stock flip


def test_r8_the_flip_takes_on_the_table_as_the_hand_play_left_it() -> None:
    game = at("hands 4D 2C / 2D 2H | table - | stock 6S AC AD AH")
    assert after(game, "4D") == (
        "hands 2C / 2D 2H | table - | stock AC AD AH | piles 4D 6S / - | player 1 | dealer 0"
        " | last 4D / 6S"
    )


def test_r8_the_flip_does_not_find_what_the_hand_play_took() -> None:
    game = at("hands 4D 2C / 2D 2H | table 6H | stock 4S AC AD AH")
    assert after(game, "4D") == (
        "hands 2C / 2D 2H | table 4S | stock AC AD AH | piles 4D 6H / - | player 1 | dealer 0"
        " | last 4D / 4S"
    )


def test_r8_the_same_player_chooses_after_seeing_the_flip() -> None:
    game = at("hands 2C 3C / 2D 2H | table 9C 9H QD KD | stock AS AC AD AH")
    assert after(game, "2C") == (
        "hands 3C / 2D 2H | table 2C 9C 9H QD KD | stock AC AD AH | piles - / - | player 0"
        " | dealer 0 | pending AS from stock | laid 2C / - | last 2C / AS"
    )
    assert (game.phase, legal(game)) == ("take with stock", "9C 9H")
    assert after(game, "9H") == (
        "hands 3C / 2D 2H | table 2C 9C QD KD | stock AC AD AH | piles AS 9H / - | player 1"
        " | dealer 0 | laid 2C / - | last 2C / AS"
    )


def test_r8_a_choice_for_the_hand_card_comes_before_the_flip_is_seen() -> None:
    game = at("hands 3H 3C / 2D 2H | table 7S 7D 9C 9H | stock AS AC AD AH")
    game.play("3H")
    assert section(game, "last") == "3H / -"
    assert section(game, "stock") == "AS AC AD AH"
    game.play("7S")
    assert (game.player, game.phase, legal(game)) == (0, "take with stock", "9C 9H")
    assert section(game, "last") == "3H / AS"


def test_r8_a_flip_without_a_match_stays_on_the_table_and_is_nobodys_laid_card() -> None:
    game = at("hands 3H 3C / 2D 2H | table 7S QD | stock TS AC AD AH")
    after(game, "3H")
    assert section(game, "table") == "TS QD"
    assert section(game, "laid") == ""


# --- R9 sweep, direction and the next player

FOUR = "hands 2C 3C / 2D 3D / 2H 3H / 2S 3S | table {} | stock {} AD AH AS TC TD TH TS"


@pytest.mark.parametrize(
    ("reverses", "direction", "following"), [(True, "-", "3"), (False, "", "1")]
)
@pytest.mark.parametrize("variant", ["mainland", "taiwan", "taiwan_low_aces", "gob_dum_gob_dang"])
def test_r9_sweep_switch(variant: str, reverses: bool, direction: str, following: str) -> None:
    game = at(FOUR.format("8D JC", "JD"), variant, sweep_reverses=reverses)
    after(game, "2C")
    assert section(game, "table") == "-"
    assert section(game, "direction") == direction
    assert section(game, "player") == following


def test_r9_a_second_sweep_turns_the_direction_back() -> None:
    game = at(FOUR.format("8D JC", "JD") + " | player 1 | direction -", "taiwan")
    after(game, "2D")
    assert section(game, "direction") == ""
    assert section(game, "player") == "2"


def test_r9_a_flip_that_takes_the_card_just_laid_sweeps() -> None:
    game = at(FOUR.format("-", "8D"), "taiwan")
    after(game, "2C")
    assert section(game, "piles") == "2C 8D / - / - / -"
    assert section(game, "player") == "3"


def test_r9_a_card_left_by_the_choice_is_no_sweep() -> None:
    game = at(FOUR.format("8D 9C 9D", "AC"), "taiwan")
    after(game, "2C 9C")
    assert section(game, "table") == "9D"
    assert (section(game, "direction"), section(game, "player")) == ("", "1")


def test_r9_a_table_that_the_hand_play_empties_is_no_sweep_if_the_flip_stays() -> None:
    # With an even number of cards on the table this cannot happen in a whole deal.
    game = at(FOUR.format("8D", "JD"), "taiwan")
    after(game, "2C")
    assert section(game, "table") == "JD"
    assert (section(game, "direction"), section(game, "player")) == ("", "1")


@pytest.mark.parametrize("reverses", [False, True])
def test_r9_with_two_players_a_sweep_changes_the_direction_only(reverses: bool) -> None:
    game = at("hands 2C 3C / 2D 2H | table 8D JC | stock JD AC AD AH", sweep_reverses=reverses)
    after(game, "2C")
    assert section(game, "player") == "1"
    assert section(game, "direction") == ("-" if reverses else "")


@pytest.mark.parametrize(
    ("hands", "start", "direction", "following"),
    [
        ("2C 3C / - / 2H / 2S", 0, "+", "2"),
        ("2C 3C / - / - / 2S", 0, "+", "3"),
        ("2C 3C / - / - / -", 0, "+", "0"),
        ("2C 3C / 2D / 2H / -", 0, "-", "2"),
        ("2C 3C / 2D / - / -", 0, "-", "1"),
        ("2C / 2D / - / 3C 3D", 3, "+", "0"),
        ("- / 2D / - / 3C 3D", 3, "+", "1"),
    ],
)
def test_r9_seats_without_cards_are_skipped(
    hands: str, start: int, direction: str, following: str
) -> None:
    held = len(hands.replace("/", "").replace("-", "").split())
    stock = " ".join(["AC", "AD", "AH", "AS"][:held])
    line = f"hands {hands} | table JC QC | stock {stock} | player {start} | direction {direction}"
    game = at(line, "taiwan")
    game.play(game.legal[-1])
    assert section(game, "player") == following


@EVERY_TABLE
def test_r9_without_reversal_play_goes_round_in_seat_order(variant: str, num_players: int) -> None:
    rng = random.Random(f"round {variant} {num_players}")
    rules = ct.make_rules(variant, num_players, sweep_reverses=False)
    game = ct.Game(rules, deck=random_deck(rng), dealer=0)
    leader, turns = game.player, []
    while not game.is_over:
        if game.phase == "play":
            turns.append(game.player)
        game.play(rng.choice(game.legal))
    assert turns == [(leader + turn) % num_players for turn in range(24)]


@pytest.mark.parametrize("example", examples.DIRECTIONS, ids=by_id)
def test_r9_worked_directions(example: Any) -> None:
    # Aces to fours capture none of each other: no further sweep.
    low = [rank + suit for rank in "A234" for suit in "CDHS"]
    used = f"{example.table} {example.hand} {example.stock}".split()
    free = [name for name in low if name not in used]
    hands = [free.pop() for _ in range(example.num_players)]
    for seat in range(example.num_players):
        hands[seat] += f" {example.hand if seat == example.player else free.pop()}"
    line = (
        f"hands {' / '.join(hands)} | table {example.table} | stock {example.stock}"
        f" {' '.join(free)} | player {example.player}"
        f" | direction {'+' if example.direction > 0 else '-'}"
    )
    game = at(line, example.variant)
    after(game, example.actions)
    assert section(game, "table") == names(example.table_after)
    assert section(game, "direction") == ("" if example.direction_after > 0 else "-")
    following = []
    for _ in example.next_players:
        following.append(game.player)
        game.play(game.legal[0])
    assert tuple(following) == example.next_players


# --- whole turns


@pytest.mark.parametrize("example", examples.TURNS, ids=by_id)
@EVERY_TABLE
@BOTH_CAPTURES
def test_r5_to_r10_worked_turns(example: Any, variant: str, num_players: int, capture: str) -> None:
    rules = ct.make_rules(variant, num_players, capture=capture)
    free = others(example.table, example.hand, example.stock)
    waiting = 0 if example.last_turn else num_players - 1
    rest = [free.pop() for _ in range(waiting)] or ["-"] * (num_players - 1)
    stock = [free.pop() for _ in range(waiting)]
    piles = " / ".join(["-"] * num_players)
    line = (
        f"hands {example.hand} / {' / '.join(rest)} | table {names(example.table)}"
        f" | stock {' '.join([example.stock, *stock])} | piles {piles} | player 0 | dealer 0"
    )
    game = ct.Game.from_text(line, rules)
    assert game.text == line

    swept = rules.sweep_reverses and not example.table_after
    hand_card = example.actions.split()[0]
    following = 0 if example.last_turn else num_players - 1 if swept else 1
    none = ["-"] * (num_players - 1)
    expected = [
        f"hands {' / '.join(['-', *rest])}",
        f"table {names(example.table_after)}",
        f"stock {' '.join(stock) or '-'}",
        f"piles {' / '.join([names(example.captured), *none])}",
        f"player {following}",
        "dealer 0",
        "direction -" if swept else "",
        f"laid {' / '.join([hand_card, *none])}"
        if hand_card in example.table_after.split()
        else "",
        f"last {hand_card} / {example.stock}",
        "levier 0" if example.levies else "",
        "over" if example.last_turn else "",
    ]
    assert after(game, example.actions) == " | ".join(part for part in expected if part)
    column = COLUMN.get(variant, num_players - 2)
    assert game.points == [example.points[column]] + [0] * (num_players - 1)


# --- R10 the end of the deal, points, par and net


def final(rules: ct.Rules, points: tuple[int, ...], taker: int, hand: str, table: str) -> ct.Game:
    """Return the last turn of a deal after which the piles are worth these points.

    The player on turn, `taker`, takes the first card of the table with the hand card, and the last
    card of the stock, a black king, takes another.
    """
    turn = f"{hand} {table} KC KS"
    own = sum(rules.points[ct.card(name)] for name in turn.split())
    wanted = [value - own * (seat == taker) for seat, value in enumerate(points)]
    rest = [ct.card(name) for name in others(turn)]
    piles = " / ".join(names(pile) for pile in piles_worth(rules, wanted, rest))
    hands = " / ".join(hand if seat == taker else "-" for seat in range(rules.num_players))
    line = f"hands {hands} | table {table} KC | stock KS | piles {piles} | player {taker}"
    return ct.Game.from_text(line, rules)


@EVERY_TABLE
@BOTH_CAPTURES
def test_r10_a_deal_is_24_turns_and_leaves_nothing_on_the_table(
    variant: str, num_players: int, capture: str
) -> None:
    rng = random.Random(f"end {variant} {num_players} {capture}")
    rules = ct.make_rules(variant, num_players, capture=capture)
    for _ in range(5):
        game = ct.Game(rules, deck=random_deck(rng), dealer=rng.randrange(num_players))
        turns = 0
        while not game.is_over:
            turns += game.phase == "play"
            game.play(rng.choice(game.legal))
        assert turns == 24
        assert section(game, "table") == "-"
        assert section(game, "hands") == " / ".join(["-"] * num_players)
        assert sum(game.points) == rules.total
        assert sum(game.net) == pytest.approx(0, abs=1e-9)
        assert game.net == [points - rules.par for points in game.points]
        assert legal(game) == ""


@pytest.mark.parametrize("example", examples.NETS, ids=by_id)
def test_r10_worked_nets(example: Any) -> None:
    rules = ct.make_rules(example.variant, example.num_players, red_five_levy=0)
    black = rules.scoring == "black"
    game = final(rules, example.points, 0, *(("6H", "4D") if black else ("6C", "4C")))
    game.play(game.legal[0])
    assert game.is_over
    assert tuple(game.points) == example.points
    assert [Fraction(points) - rules.exact_par for points in game.points] == list(example.net)
    assert game.net == pytest.approx([float(net) for net in example.net], abs=1e-9)
    assert ct.nets(game.games, rules)[0] == pytest.approx(np.array(game.net))


def test_r10_nobody_may_act_after_the_end() -> None:
    game = at("hands 6H / - | table 4S TD | stock TC")
    text = after(game, "6H")
    assert text.endswith("| over")
    with pytest.raises(ct.IllegalActionError, match="nothing, the game is over"):
        game.play("6H")
    assert game.text == text


@EVERY_TABLE
def test_r10_whole_deals(variant: str, num_players: int) -> None:
    played = 0
    for example in examples.DEALS:
        for result in example.results:
            if (result.variant, result.num_players) == (variant, num_players):
                rules = ct.make_rules(variant, num_players)
                deck = example.deck.split()
                game = ct.Game(rules, deck=deck, dealer=result.dealer)
                assert game.player == 0
                play_out(game, Convention([ct.card(name) for name in deck]))
                assert tuple(game.points) == result.points
                assert sum(game.points) == rules.total
                if result.pile_sizes is not None:
                    piles = section(game, "piles").split(" / ")
                    assert tuple(len(pile.split()) for pile in piles) == result.pile_sizes
                levier = examples.LEVIES.get((example.id, variant, num_players))
                if levier is not None:
                    assert levy_seen(game) == [levier]
                played += 1
    # The tables of g4a score as mainland and Thai tables do and have no deals of their own.
    assert played == (0 if variant.startswith("g4a") else 3)


@pytest.mark.parametrize(
    ("variant", "like"), [("g4a", "mainland"), ("g4a_gob_dum_gob_dang", "gob_dum_gob_dang")]
)
def test_r10_whole_deals_of_the_g4a_tables(variant: str, like: str) -> None:
    for example in examples.DEALS:
        (result,) = (x for x in example.results if (x.variant, x.num_players) == (like, 3))
        deck = example.deck.split()
        game = ct.Game(ct.make_rules(variant), deck=deck, dealer=result.dealer)
        play_out(game, Convention([ct.card(name) for name in deck]))
        assert tuple(game.points) == result.points


# --- R11 the red-five levy

FIVES = "hands {} KC / 2D KD | table {} | stock AS AC AD AH"


@pytest.mark.parametrize(
    ("hand", "table", "target", "takes", "pile"),
    [
        ("5H", "5D", "", [0], [0]),
        ("5D", "5H", "", [0], [0]),
        ("5H", "5S", "", [], []),
        ("5S", "5H", "", [], []),
        ("5H", "5D 5S", "5D", [0], [0]),
        ("5H", "5D 5S", "5S", [], []),
        ("5H", "5C 5D 5S", "", [0], [0]),
        ("5D", "5C 5H 5S", "", [0], [0]),
        ("5C", "5D 5H 5S", "", [], [0]),  # the black five takes both
        ("5S", "5C 5D 5H", "", [], [0]),
    ],
)
def test_r11_which_capture_levies(
    hand: str, table: str, target: str, takes: list[int], pile: list[int]
) -> None:
    for trigger, expected in (("red_takes_red", takes), ("pile", pile)):
        game = at(FIVES.format(hand, table), red_five_levy=10, red_five_trigger=trigger)
        after(game, f"{hand} {target}")
        assert levy_seen(game) == expected


@pytest.mark.parametrize("trigger", ["red_takes_red", "pile"])
def test_r11_a_flipped_red_five_levies_too(trigger: str) -> None:
    line = "hands 2C KC / 2D KD | table 5D | stock 5H AC AD AH"
    game = at(line, red_five_levy=10, red_five_trigger=trigger)
    after(game, "2C")
    assert levy_seen(game) == [0]


def test_r11_red_fives_in_one_pile_by_two_captures_levy_by_the_pile_only() -> None:
    line = "hands 5C / - | table 5D KC | stock KS | piles 5H 5S / -"
    for trigger, expected in (("red_takes_red", [10, 0]), ("pile", [20, -10])):
        game = at(line, red_five_levy=10, red_five_trigger=trigger)
        game.play("5C")
        assert section(game, "piles") == "5C 5D 5H 5S KC KS / -"
        assert game.points == expected


@EVERY_TABLE
@pytest.mark.parametrize(
    ("trigger", "levies"), [("red_takes_red", False), ("pile", True)], ids=["takes", "pile"]
)
def test_r11_four_fives_on_the_layout_are_no_capture(
    variant: str, num_players: int, trigger: str, levies: bool
) -> None:
    # They levy nothing; but both red fives are in one pile, all that the other trigger asks for.
    deck = with_layout(IN_ORDER, "5C 5D 5H 5S")
    rules = ct.make_rules(variant, num_players, red_five_levy=10, red_five_trigger=trigger)
    game = ct.Game(rules, deck=deck, dealer=1)
    assert levy_seen(game) == ([1] if levies else [])
    play_out(game, random_choice(random.Random(1)))
    plain = ct.Game(ct.make_rules(variant, num_players, red_five_levy=0), deck=deck, dealer=1)
    for action in game.history:
        plain.play(action)
    levied = [after - before for before, after in zip(plain.points, game.points, strict=True)]
    expected = [-10] * num_players
    expected[1] = 10 * (num_players - 1)
    assert levied == (expected if levies else [0] * num_players)


@pytest.mark.parametrize("levy", [0, 5, 10, 20])
def test_r11_levy_switch(levy: int) -> None:
    game = at("hands 5H / - / - / - | table 5D KC | stock KS", "taiwan", red_five_levy=levy)
    after(game, "5H")
    assert game.points == [10 + 3 * levy, -levy, -levy, -levy]
    assert levy_seen(game) == ([0] if levy else [])


def test_r11_the_levy_is_paid_at_the_end_of_the_deal() -> None:
    game = at("hands 5H / 2C / - / - | table 5D KC | stock KS 8D", "taiwan")
    after(game, "5H")
    assert game.points == [10, 0, 0, 0]
    assert levy_seen(game) == [0]
    after(game, "2C")
    assert game.is_over
    assert game.points == [10 + 30, 8 - 10, -10, -10]


@pytest.mark.parametrize("trigger", ["red_takes_red", "pile"])
@pytest.mark.parametrize(
    "example", [x for x in examples.SETTLEMENTS if x.levy_player is not None], ids=by_id
)
def test_r11_worked_levies(example: Any, trigger: str) -> None:
    rules = ct.make_rules(example.variant, example.num_players, red_five_trigger=trigger)
    game = final(rules, example.piles, example.levy_player, "5H", "5D")
    game.play("5H")
    assert game.is_over
    assert tuple(game.points) == example.points
    if example.net:
        assert tuple(game.net) == example.net
    assert sum(game.points) == rules.total


@pytest.mark.parametrize("trigger", ["red_takes_red", "pile"])
def test_r11_v53_red_fives_taken_with_black_ones_do_not_levy(trigger: str) -> None:
    (example,) = (x for x in examples.SETTLEMENTS if x.id == "V53")
    assert example.five_captures == ((1, "5S", "5H"), (3, "5D", "5C"))
    line = "hands - / 5S / - / 5D | table 5C 5H KC QC | stock KS QS | player 1"
    game = at(line, "taiwan", red_five_trigger=trigger)
    after(game, "5S 5H 5D")
    assert section(game, "piles") == "- / 5H 5S KC KS / - / 5C 5D QC QS"
    assert game.is_over
    assert game.points == [0, 5, 0, 5]


@pytest.mark.parametrize("example", examples.TURNS, ids=by_id)
def test_r11_worked_turns(example: Any) -> None:
    free = others(example.table, example.hand, example.stock)
    line = (
        f"hands {example.hand} / {free[0]} | table {names(example.table)}"
        f" | stock {example.stock} {free[1]}"
    )
    for trigger in ("red_takes_red", "pile"):
        game = at(line, red_five_levy=10, red_five_trigger=trigger)
        after(game, example.actions)
        levies = example.levies if trigger == "red_takes_red" else example.levies_by_pile
        assert levy_seen(game) == ([0] if levies else [])


# --- R12 matches


def match_game(
    rules: ct.Rules, deals: int, before: tuple[int, ...], points: tuple[int, ...]
) -> ct.Game:
    """Return the last turn of the deal after `deals` others, which brings these points."""
    scores = " / ".join(str(score) for score in before)
    line = final(rules, points, 0, "6C", "4C").text
    return ct.Game.from_text(f"{line} | deals {deals} | scores {scores}", rules)


@pytest.mark.parametrize("example", examples.MATCHES, ids=by_id)
def test_r12_worked_matches(example: Any) -> None:
    if example.match == "raw":
        rules = ct.make_rules("g4a", match="raw", target=example.target)
        deals, before, points = 11, example.before, example.deal
    else:
        rules = ct.make_rules("mainland", 2, match="net", target=example.target)
        deals = 2
        before = tuple(int(net + 2 * rules.par) for net in example.before)
        points = tuple(int(net + rules.par) for net in example.deal)
    game = match_game(rules, deals, before, points)
    game.play("6C")
    sums = game.scores
    if example.match == "net":
        sums = [int(score - game.deals * rules.par) for score in sums]
    assert tuple(sums) == example.after
    assert game.is_over == example.over
    assert sums.index(max(sums)) == example.winner
    assert tuple(game.points) == points
    assert game.deals == deals + 1


@pytest.mark.parametrize(
    ("before", "points", "over"),
    [
        ((900, 900, 900), (80, 80, 80), False),  # 980: nobody is there
        ((919, 0, 0), (80, 80, 80), False),  # 999
        ((920, 0, 0), (80, 80, 80), True),  # 1000: reached
        ((920, 920, 0), (80, 80, 80), False),  # a tie for the highest plays on
        ((950, 950, 0), (90, 90, 60), False),
        ((950, 950, 0), (91, 89, 60), True),
        ((990, 990, 0), (60, 100, 80), True),  # both pass; the higher wins
        ((1200, 1200, 1300), (80, 80, 80), True),
    ],
)
def test_r12_raw_points_to_a_target(
    before: tuple[int, ...], points: tuple[int, ...], over: bool
) -> None:
    game = match_game(ct.make_rules("g4a", match="raw", target=1000), 11, before, points)
    game.play("6C")
    assert game.is_over == over
    assert game.scores == [x + y for x, y in zip(before, points, strict=True)]


@pytest.mark.parametrize(
    ("before", "points", "over"),
    [
        ((185, 25), (124, 86), False),  # 80 + 19 = 99
        ((185, 25), (125, 85), True),  # 80 + 20 = 100
        ((25, 185), (85, 125), True),
        ((105, 105), (210, 0), True),  # 105 in one deal
        ((105, 105), (204, 6), False),  # 99
    ],
)
def test_r12_net_points_to_a_target(
    before: tuple[int, ...], points: tuple[int, ...], over: bool
) -> None:
    game = match_game(ct.make_rules("mainland", 2, match="net", target=100), 1, before, points)
    game.play("6C")
    assert game.is_over == over
    assert game.deals == 2


def test_r12_nets_are_compared_exactly() -> None:
    # Three players share 218 points, so nets are thirds, and 99 2/3 is not yet 100.
    rules = ct.make_rules("gob_dum_gob_dang", 3, match="net", target=100)
    line = final(rules, (142, 38, 38), 0, "6H", "4D").text
    # After two deals par is 145 1/3: 245 points are 99 2/3 net, 246 points 100 2/3.
    for first, over in ((103, False), (104, True)):
        scores = f"{first} / {150 - first} / 68"
        game = ct.Game.from_text(f"{line} | deals 1 | scores {scores}", rules)
        game.play("6H")
        assert game.is_over == over


def test_r12_a_single_deal_is_over_after_it() -> None:
    game = final(ct.make_rules("mainland", 2), (105, 105), 0, "6C", "4C")
    game.play("6C")
    assert game.is_over
    assert game.deals == 1


@pytest.mark.parametrize("example", examples.ROTATIONS, ids=by_id)
def test_r12_worked_rotation(example: Any) -> None:
    for leader, first in (("dealer", example.next_dealer), ("left", example.next_dealer + 1)):
        rules = ct.make_rules("taiwan", match="net", target=1000, leader=leader)
        line = final(rules, (60, 60, 60, 60), 0, "6C", "4C").text
        line = line.replace("dealer 0", f"dealer {example.dealer} | direction -")
        game = ct.Game.from_text(line, rules)
        assert example.direction == -1
        game.play("6C")
        assert not game.is_over
        assert section(game, "dealer") == str(example.next_dealer)
        assert section(game, "player") == str(first)
        assert section(game, "direction") == ""
        assert section(game, "piles") == "- / - / - / -"
        assert len(section(game, "stock").split()) == 24


@pytest.mark.parametrize(("match", "target"), [("net", 60), ("raw", 400)])
@EVERY_TABLE
def test_r12_the_deal_goes_round_and_the_target_ends_the_match(
    variant: str, num_players: int, match: str, target: int
) -> None:
    rng = random.Random(f"match {variant} {num_players} {match}")
    rules = ct.make_rules(variant, num_players, match=match, target=target)
    game = ct.Game(rules, seed=rng.randrange(1000), dealer=0)
    dealers, scores = [0], [0] * num_players
    while not game.is_over:
        deals = game.deals
        game.play(rng.choice(game.legal))
        if game.deals > deals:
            settled = [int(value) for value in game.games["settled"][0, :num_players]]
            scores = [x + y for x, y in zip(scores, settled, strict=True)]
            assert game.scores == scores
            assert sum(settled) == rules.total
            if not game.is_over:
                dealers.append(int(section(game, "dealer")))
    assert dealers == [deal % num_players for deal in range(game.deals)]
    best = max(scores) - (game.deals * rules.par if match == "net" else 0)
    assert best >= target
    assert scores.count(max(scores)) == 1


@pytest.mark.parametrize(("match", "target"), [("net", 100), ("raw", 1000)])
def test_r12_target_has_a_default(match: str, target: int) -> None:
    assert ct.Game(ct.make_rules("g4a", match=match), seed=1).rules.target == target
