"""The library against the slow reference: 10,000 random deals, and whole matches, step by step."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest

import chinese_ten_env as ct
from chinese_ten_env.engine import GAME
from tests.helpers import TABLES, random_deck, random_decks, random_switches, table_id
from tests.reference import CARD_ID, CARDS, NUM_ROWS, ReferenceGame

EVERY_TABLE = pytest.mark.parametrize(("variant", "num_players"), TABLES, ids=map(table_id, TABLES))

PARTS = 3
"""Parts into which the deals of a table are divided, so that they can run side by side."""
SETTINGS = 5
"""Random settings of the switches in each part."""
DEALS = 61
"""Deals with one setting; 11 tables * 3 * 5 * 61 = 10,065 deals."""
OBSERVED = 6
"""How many of the deals with one setting have every observation compared: all kinds of layout."""

PHASES = ("play", "take_with_hand", "take_with_stock", "over")

BIT = {name: 1 << number for name, number in CARD_ID.items()}


def bits(names: Iterable[str]) -> int:
    """Return a set of card names as a number."""
    return sum(BIT[name] for name in names)


def number_of(name: str | None) -> int:
    """Return the number of a card, -1 for none."""
    return -1 if name is None else CARD_ID[name]


def names(deck: Iterable[int]) -> list[str]:
    """Return a deck as the reference takes it."""
    return [CARDS[number] for number in deck]


def state(game: ReferenceGame) -> dict[str, Any]:
    """Return all that the reference knows, in the words of a GAME record."""
    absent = [0] * (4 - game.num_players)
    # The flipped card has left the stock before its turn is finished.
    flipped = 1 if game.phase == "take_with_stock" else 0
    return {
        "hands": [bits(hand) for hand in game.hands] + absent,
        "hand_sizes": [len(hand) for hand in game.hands] + absent,
        "captured": [bits(pile) for pile in game.piles] + absent,
        "table": bits(game.table),
        "pending": 0 if game.pending is None else BIT[game.pending],
        "legal": bits(game.legal()),
        "phase": PHASES.index(game.phase),
        "turn": 24 - len(game.stock) - flipped,
        "player": game.player,
        "direction": game.direction,
        "dealer": game.dealer,
        "last_played": number_of(game.last_played),
        "last_flipped": number_of(game.last_flipped),
        "peeker": -1 if game.bottom_known_by is None else game.bottom_known_by,
        "deals": game.deals,
        "scores": list(game.totals) + absent,
        # Not in the record as such.
        "stock": [CARD_ID[card] for card in game.stock],
        "laid": [bits(laid) for laid in game.laid] + absent,
    }


RECORD_FIELDS = frozenset(GAME.names or ())
FIELDS = [x for x in state(ReferenceGame("mainland", 2, CARDS, 0)) if x in RECORD_FIELDS]


def states(games: Any) -> list[dict[str, Any]]:
    """Return the same of a batch of the library's games."""
    columns: dict[str, Any] = {name: games[name].tolist() for name in FIELDS}
    flipped = games["phase"] == 2
    columns["stock"] = [
        deck[28 + turn + flip :]
        for deck, turn, flip in zip(
            games["deck"].tolist(), columns["turn"], flipped.tolist(), strict=True
        )
    ]
    columns["laid"] = (games["played"] & games["table"][:, None]).tolist()
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def packed_rows(game: ReferenceGame, player: int) -> list[int]:
    """Return a player's observation by the reference as numbers."""
    return [sum(1 << bit for bit in row) for row in game.observation(player)]


def compare_observations(games: Any, references: list[ReferenceGame], rules: ct.Rules) -> None:
    """Compare every player's observation, row by row."""
    for player in range(rules.num_players):
        packed = ct.observe(games, player, packed=True)
        assert np.array_equal(ct.unpack(packed), ct.observe(games, player))
        assert packed.tolist() == [packed_rows(game, player) for game in references]


def compare(games: Any, references: list[ReferenceGame], rules: ct.Rules) -> list[list[int]]:
    """Compare all that is public and hidden, and what follows; return the legal actions of each."""
    expected = [state(game) for game in references]
    assert states(games) == expected
    assert ct.points(games, rules).tolist() == [game.points() for game in references]
    assert ct.is_over(games).tolist() == [game.is_over for game in references]
    masks = [[entry["legal"] >> card & 1 for card in range(52)] for entry in expected]
    assert ct.action_masks(games).tolist() == masks
    return [[card for card in range(52) if mask[card]] for mask in masks]


@pytest.mark.parametrize("part", range(PARTS))
@EVERY_TABLE
def test_r1_to_r11_random_deals(variant: str, num_players: int, part: int) -> None:
    rng = random.Random(f"deals {variant} {num_players} {part}")
    for _ in range(SETTINGS):
        switches = random_switches(rng)
        rules = ct.make_rules(variant, num_players, **switches)
        decks = random_decks(rng, DEALS)
        dealers = [rng.randrange(num_players) for _ in decks]
        games = ct.new_games(rules, DEALS, seed=0, decks=decks, dealers=dealers)
        references = [
            ReferenceGame(variant, num_players, names(deck), dealer, **switches)  # type: ignore[arg-type]  # a mapping of mixed types
            for deck, dealer in zip(decks, dealers, strict=True)
        ]
        while not ct.is_over(games).all():
            choices = compare(games, references, rules)
            compare_observations(games[:OBSERVED], references[:OBSERVED], rules)
            actions = [rng.choice(legal) if legal else -1 for legal in choices]
            ct.play(games, actions)
            for game, action in zip(references, actions, strict=True):
                if action >= 0:
                    game.play(CARDS[action])
        compare(games, references, rules)
        compare_observations(games, references, rules)
        nets = [[float(net) for net in game.net()] for game in references]
        assert np.allclose(ct.nets(games, rules), nets, rtol=0, atol=1e-9)


@EVERY_TABLE
def test_r1_to_r11_one_game_at_a_time(variant: str, num_players: int) -> None:
    rng = random.Random(f"game {variant} {num_players}")
    for same_rank in (0, 0, 3, 4):
        switches = random_switches(rng)
        rules = ct.make_rules(variant, num_players, **switches)
        deck, dealer = random_deck(rng, same_rank), rng.randrange(num_players)
        game = ct.Game(rules, deck=deck, dealer=dealer)
        reference = ReferenceGame(variant, num_players, names(deck), dealer, **switches)  # type: ignore[arg-type]  # a mapping of mixed types
        while not reference.is_over:
            assert [CARDS[number] for number in game.legal] == reference.legal()
            assert game.player == reference.player
            assert game.phase == reference.phase.replace("_", " ")
            assert game.points == reference.points()
            assert not game.is_over
            action = rng.choice(reference.legal())
            game.play(action)
            reference.play(action)
        assert game.is_over
        assert game.legal == []
        assert game.points == reference.points()
        assert game.net == pytest.approx([float(net) for net in reference.net()], abs=1e-9)


@pytest.mark.parametrize(("match", "targets"), [("net", (1, 40, 90)), ("raw", (80, 250, 400))])
@EVERY_TABLE
def test_r12_matches(variant: str, num_players: int, match: str, targets: tuple[int, ...]) -> None:
    rng = random.Random(f"match {variant} {num_players} {match}")
    for target in targets:
        switches = random_switches(rng) | {"match": match, "target": target}
        rules = ct.make_rules(variant, num_players, **switches)
        games = ct.new_games(rules, 1, seed=rng.randrange(2**32))
        deck, dealer = names(games["deck"][0]), int(games["dealer"][0])
        reference = ReferenceGame(variant, num_players, deck, dealer, **switches)  # type: ignore[arg-type]  # a mapping of mixed types
        decks = [deck]
        while not reference.is_over:
            (legal,) = compare(games, [reference], rules)
            compare_observations(games, [reference], rules)
            action = rng.choice(legal)
            ct.play(games, [action])
            reference.play(CARDS[action])
            if reference.deal_over:
                assert games["settled"][0, :num_players].tolist() == reference.points()
            if reference.needs_deck:
                deck = names(games["deck"][0])
                assert deck not in decks
                decks.append(deck)
                reference.next_deal(deck)
        compare(games, [reference], rules)
        compare_observations(games, [reference], rules)
        winner = reference.match_winner()
        assert winner is not None
        assert winner == int(np.argmax(games["scores"][0, :num_players]))


def test_observations_have_as_many_rows_as_the_reference() -> None:
    assert len(ct.Feature) == NUM_ROWS
