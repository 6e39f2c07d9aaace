"""The table of variants: points, totals, pars, switches, and what is refused."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import pytest

import chinese_ten_env as ct
from chinese_ten_env.rules import BLACK_PIPS, CHOICES, SWITCHES
from tests import reference
from tests.examples import HAND_SIZES, PLAYER_COUNTS
from tests.helpers import TABLES, table_id

RED = """
    C   0   0   0   0   0   0   0   0   0   0   0   0   0
    D  20   2   3   4   5   6   7   8  10  10  10  10  10
    H  20   2   3   4   5   6   7   8  10  10  10  10  10
    S   0   0   0   0   0   0   0   0   0   0   0   0   0
"""
RED_AS = RED.replace("S   0", "S  30")
RED_AS_AC = RED_AS.replace("C   0", "C  40")
LOW_ACES = RED_AS.replace("D  20", "D  10").replace("H  20", "H  10")
BLACK = """
    C   0   2   3   4   5   6   7   8   9  10  10  10  10
    D   0   0   0   0   0   0   0   0   0   0   0   0   0
    H   0   0   0   0   0   0   0   0   0   0   0   0   0
    S  50   2   3   4   5   6   7   8   9  10  10  10  10
"""

POINTS = {
    ("mainland", 2): RED,
    ("mainland", 3): RED_AS,
    ("mainland", 4): RED_AS_AC,
    ("taiwan", 4): RED_AS,
    ("taiwan_low_aces", 2): LOW_ACES,
    ("taiwan_low_aces", 4): LOW_ACES,
    ("gob_dum_gob_dang", 2): BLACK,
    ("gob_dum_gob_dang", 3): BLACK,
    ("gob_dum_gob_dang", 4): BLACK,
    ("g4a", 3): RED_AS,
    ("g4a_gob_dum_gob_dang", 3): BLACK,
}

# total, par, leader, sweep reverses, peek, levy
ROWS = """
    mainland              2  210  105      left    no   none    0
    mainland              3  240  80       left    no   none    0
    mainland              4  280  70       left    no   none    0
    taiwan                4  240  60       dealer  yes  dealer  10
    taiwan_low_aces       2  220  110      dealer  yes  dealer  10
    taiwan_low_aces       4  220  55       dealer  yes  dealer  10
    gob_dum_gob_dang      2  218  109      left    no   none    0
    gob_dum_gob_dang      3  218  72+2/3   left    no   none    0
    gob_dum_gob_dang      4  218  54+1/2   left    no   none    0
    g4a                   3  240  80       left    no   none    0
    g4a_gob_dum_gob_dang  3  218  72+2/3   left    no   none    0
"""

EVERY_TABLE = pytest.mark.parametrize(("variant", "num_players"), TABLES, ids=map(table_id, TABLES))


def test_the_table_of_variants() -> None:
    lines = []
    for variant, num_players in TABLES:
        rules = ct.make_rules(variant, num_players)
        whole, rest = divmod(rules.exact_par, 1)
        par = f"{whole}+{rest}" if rest else str(whole)
        sweep = "yes" if rules.sweep_reverses else "no"
        row = [num_players, rules.total, par, rules.leader, sweep, rules.peek, rules.red_five_levy]
        lines.append(" ".join(str(entry) for entry in [variant, *row]))
    assert lines == [" ".join(line.split()) for line in ROWS.strip().splitlines()]


def test_the_variants_and_their_player_counts() -> None:
    assert {name: row.num_players for name, row in ct.VARIANTS.items()} == PLAYER_COUNTS
    assert set(POINTS) == set(TABLES)
    assert all(row.name == name and row.description for name, row in ct.VARIANTS.items())


def test_the_usual_matches() -> None:
    usual = {name: row.match for name, row in ct.VARIANTS.items()}
    raw = {"g4a", "g4a_gob_dum_gob_dang"}
    assert usual == {name: "raw" if name in raw else "net" for name in ct.VARIANTS}


@EVERY_TABLE
def test_points_of_the_cards(variant: str, num_players: int) -> None:
    points = ct.make_rules(variant, num_players).points
    rows = [
        f"    {suit}" + "".join(f"{points[place]:4}" for place in range(column, 52, 4))
        for column, suit in enumerate("CDHS")
    ]
    assert "\n" + "\n".join(rows) + "\n" == POINTS[variant, num_players]


@EVERY_TABLE
def test_points_agree_with_the_reference(variant: str, num_players: int) -> None:
    points = reference.VARIANTS[variant].points[num_players]
    rules = ct.make_rules(variant, num_players)
    assert dict(zip(reference.CARDS, rules.points, strict=True)) == points
    assert rules.total == sum(points.values())


def test_a_red_nine_is_worth_ten_and_a_black_nine_nine() -> None:
    assert ct.make_rules("mainland", 2).points[ct.card("9H")] == 10
    assert ct.make_rules("gob_dum_gob_dang", 2).points[ct.card("9S")] == 9


@EVERY_TABLE
def test_par_is_an_even_share(variant: str, num_players: int) -> None:
    rules = ct.make_rules(variant, num_players)
    assert isinstance(rules.exact_par, Fraction)
    assert rules.exact_par * num_players == rules.total == sum(rules.points)
    assert rules.par == rules.total / num_players


@pytest.mark.parametrize("example", HAND_SIZES, ids=lambda example: f"{example.num_players}")
def test_hand_sizes(example: Any) -> None:
    for variant, num_players in TABLES:
        if num_players == example.num_players:
            rules = ct.make_rules(variant, num_players)
            assert rules.hand_size == example.hand_size


@EVERY_TABLE
def test_max_net_bounds_what_a_deal_can_pay(variant: str, num_players: int) -> None:
    rules = ct.make_rules(variant, num_players, red_five_levy=10)
    everything = rules.total + 10 * (num_players - 1)
    assert everything - rules.par <= rules.max_net
    assert -10 - rules.par >= -rules.max_net


# --- making rules


def test_make_rules_takes_the_smallest_count_and_the_variants_own_switches() -> None:
    assert ct.make_rules() == ct.make_rules("mainland", 2) == ct.make_rules("mainland")
    assert ct.make_rules("taiwan") == ct.make_rules("taiwan", 4)
    assert ct.make_rules("taiwan_low_aces").num_players == 2
    assert ct.make_rules("g4a").num_players == 3


def test_the_default_is_a_single_deal_by_the_card() -> None:
    for variant, num_players in TABLES:
        rules = ct.make_rules(variant, num_players)
        assert (rules.capture, rules.match, rules.target) == ("card", "deal", 0)
        assert rules.red_five_trigger == "red_takes_red"


@pytest.mark.parametrize(
    ("switches", "target"),
    [
        ({"match": "net"}, 100),
        ({"match": "raw"}, 1000),
        ({"match": "net", "target": 50}, 50),
        ({"match": "raw", "target": 1}, 1),
        ({"match": "deal", "target": None}, 0),
    ],
)
def test_targets(switches: dict[str, Any], target: int) -> None:
    assert ct.make_rules("taiwan", **switches).target == target


@pytest.mark.parametrize(
    ("name", "value"),
    [(name, value) for name, values in CHOICES.items() if name in SWITCHES for value in values]
    + [("sweep_reverses", False), ("sweep_reverses", True)]
    + [("red_five_levy", levy) for levy in (0, 5, 10, 20, 1000)],
)
def test_every_value_of_every_switch_can_be_set(name: str, value: object) -> None:
    for variant, num_players in TABLES:
        rules = ct.make_rules(variant, num_players, **{name: value})
        assert getattr(rules, name) == value
        assert rules.points == ct.make_rules(variant, num_players).points


def test_rules_can_be_compared_and_are_constant() -> None:
    rules = ct.make_rules("taiwan")
    assert rules == ct.make_rules("taiwan", capture="card") != ct.make_rules("taiwan", peek="last")
    assert len({rules, ct.make_rules("taiwan"), ct.make_rules("mainland")}) == 2
    with pytest.raises(AttributeError):
        rules.num_players = 3  # type: ignore[misc]  # what the test is about
    with pytest.raises(TypeError):
        del ct.VARIANTS["taiwan"]  # type: ignore[attr-defined]  # what the test is about


# --- what is refused

REFUSED: list[tuple[dict[str, Any], str]] = [
    (
        {"variant": "tawain"},
        "unknown variant 'tawain'; choose one of mainland, taiwan, taiwan_low_aces, "
        "gob_dum_gob_dang, g4a, g4a_gob_dum_gob_dang. Did you mean 'taiwan'?",
    ),
    ({"variant": "bridge"}, "unknown variant 'bridge'; choose one of mainland, "),
    ({"variant": None}, "unknown variant None; choose one of mainland, "),
    ({"variant": 4}, "unknown variant 4; choose one of mainland, "),
    ({"variant": ["taiwan"]}, "unknown variant ['taiwan']; choose one of mainland, "),
    ({"num_players": 5}, "mainland is a game for 2 or 3 or 4 players, not 5"),
    ({"num_players": 1}, "mainland is a game for 2 or 3 or 4 players, not 1"),
    ({"num_players": "2"}, "mainland is a game for 2 or 3 or 4 players, not '2'"),
    ({"num_players": 2.0}, "mainland is a game for 2 or 3 or 4 players, not 2.0"),
    ({"num_players": True}, "mainland is a game for 2 or 3 or 4 players, not True"),
    ({"variant": "taiwan", "num_players": 2}, "taiwan is a game for 4 players, not 2"),
    ({"variant": "g4a", "num_players": 4}, "g4a is a game for 3 players, not 4"),
    ({"variant": "taiwan_low_aces", "num_players": 3}, "a game for 2 or 4 players, not 3"),
    (
        {"player_num": 4},
        "unknown switch 'player_num'; choose one of capture, leader, sweep_reverses, peek, "
        "red_five_levy, red_five_trigger, match, target.",
    ),
    ({"captures": "card"}, "unknown switch 'captures'; choose one of capture, "),
    ({"captures": "card"}, "Did you mean 'capture'?"),
    ({"scoring": "black"}, "unknown switch 'scoring'; choose one of "),
    ({"special_points": ()}, "unknown switch 'special_points'; choose one of "),
    ({"capture": "cards"}, "unknown capture 'cards'; choose one of card, hand. Did you mean"),
    ({"capture": None}, "unknown capture None; choose one of card, hand."),
    ({"leader": "right"}, "unknown leader 'right'; choose one of left, dealer."),
    ({"peek": "first"}, "unknown peek 'first'; choose one of none, dealer, last."),
    ({"peek": True}, "unknown peek True; choose one of none, dealer, last."),
    ({"red_five_trigger": "piles"}, "choose one of red_takes_red, pile. Did you mean 'pile'?"),
    ({"match": "game"}, "unknown match 'game'; choose one of deal, net, raw."),
    ({"match": ["net"]}, "unknown match ['net']; choose one of deal, net, raw."),
    ({"sweep_reverses": 1}, "sweep_reverses must be True or False, not 1"),
    ({"sweep_reverses": "yes"}, "sweep_reverses must be True or False, not 'yes'"),
    ({"red_five_levy": True}, "red_five_levy must be an integer from 0 to 1000, not True"),
    ({"red_five_levy": -1}, "red_five_levy must be an integer from 0 to 1000, not -1"),
    ({"red_five_levy": 1001}, "red_five_levy must be an integer from 0 to 1000, not 1001"),
    ({"red_five_levy": 10.0}, "red_five_levy must be an integer from 0 to 1000, not 10.0"),
    ({"red_five_levy": None}, "red_five_levy must be an integer from 0 to 1000, not None"),
    (
        {"target": 100},
        "target=100 has no meaning with match='deal'; use match='net' or match='raw'",
    ),
    ({"match": "net", "target": 0}, "target must be an integer from 1 to 1000000, not 0"),
    ({"match": "net", "target": True}, "target must be an integer from 1 to 1000000, not True"),
    ({"match": "raw", "target": -5}, "target must be an integer from 1 to 1000000, not -5"),
    ({"match": "raw", "target": 99.5}, "target must be an integer from 1 to 1000000, not 99.5"),
    ({"match": "raw", "target": 10**7}, "target must be an integer from 1 to 1000000, not 1000"),
]


@pytest.mark.parametrize(("arguments", "words"), REFUSED, ids=lambda value: str(value)[:40])
def test_refused_with_the_choices(arguments: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011  # the words are compared below
        ct.make_rules(**arguments)
    assert words in str(error.value)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"num_players": 5}, "num_players must be an integer from 2 to 4, not 5"),
        ({"num_players": True}, "num_players must be an integer from 2 to 4, not True"),
        ({"scoring": "blue"}, "unknown scoring 'blue'; choose one of red, black."),
        ({"special_points": (("1S", 30),)}, "'1S' is not a card"),
        ({"special_points": (("AS", 64),)}, "points of AS must be an integer from 0 to 63, not 64"),
        ({"special_points": (("AS", -1),)}, "points of AS must be an integer from 0 to 63, not -1"),
    ],
)
def test_a_row_of_data_checks_itself(fields: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError) as error:  # noqa: PT011  # the words are compared below
        ct.Rules(**{"variant": "mine", "num_players": 2, **fields})
    assert words in str(error.value)


def test_a_row_of_data_is_all_that_a_new_variant_needs() -> None:
    rules = ct.Rules("mine", 3, scoring="black", special_points=(("KH", 63),), leader="dealer")
    assert rules.total == 2 * sum(BLACK_PIPS) + 63
    game = ct.Game(rules, seed=1)
    while not game.is_over:
        game.play(game.legal[0])
    assert sum(game.points) == rules.total
