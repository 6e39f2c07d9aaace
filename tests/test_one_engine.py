"""The same seed and actions through every door, and through the slow reference.

10,032 random games over all variants and player counts, 304 in each of 33 blocks; a third of them
from decks that force a triple or a quad on the layout, another third with random switches.

- All of them are played by the vector environment (``opponents=None``), by the batch engine and by
  `ReferenceGame`. Compared: the legal actions at every decision, the ends, and what the last
  step pays; between the first two also observations and rewards at every decision.
- Every sixteenth (627 games) is played by `Game`, the AEC environment (for every agent) and the
  Gymnasium environment as well, and all of them are compared with the reference's observations
  and rewards at every decision.

Matches of several deals are compared in the same way, 88 of them.
"""

from __future__ import annotations

import random
from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import gymnasium
import numpy as np
import pytest

import chinese_ten_env as ct
from chinese_ten_env import chinese_ten_v0
from tests.helpers import TABLES, random_deck, random_switches, table_id
from tests.reference import CARDS, ReferenceGame

GAMES = 304
EVERY = 16  # of which every one goes through the doors for single games too
BLOCKS = ("seeds", "switches", "forced")
REWARDS = ("net", "captures", "win")


def bits(numbers: Iterable[int]) -> int:
    """Return a set of bit positions as a bitboard."""
    return sum(1 << number for number in numbers)


def reference_rows(reference: ReferenceGame, player: int) -> list[int]:
    """Return the reference's observation as bitboards."""
    return [bits(row) for row in reference.observation(player)]


def packed(observation: Any) -> list[int]:
    """Return an observation of 0 and 1 as bitboards."""
    return [int(row) for row in ct.pack(observation)]


def reference_legal(reference: ReferenceGame) -> int:
    """Return the reference's legal actions as a bitboard."""
    return bits(CARDS.index(name) for name in reference.legal())


def potentials(reference: ReferenceGame, reward: str) -> list[Fraction]:
    """Return what each player must have been paid so far, by the rules text."""
    seats = range(reference.num_players)
    sums = [reference.totals[seat] - reference.deals * reference.par for seat in seats]
    if reward == "win":
        if not reference.is_over:
            return [Fraction(0) for _ in seats]
        best = [seat for seat in seats if sums[seat] == max(sums)]
        return [Fraction(-1 if seat not in best else len(best) == 1) for seat in seats]
    if reward == "captures" and not reference.deal_over:
        points = reference.points()
        mean = Fraction(sum(points), reference.num_players)
        sums = [value + points[seat] - mean for seat, value in enumerate(sums)]
    return sums


@dataclass
class Step:
    """One decision of one game."""

    card: int
    paid: list[float]  # what it paid every player
    legal: int  # the legal actions after it, a bitboard
    over: bool


@dataclass
class Record:
    """One game as the vector environment played it."""

    deck: list[str]
    dealer: int
    legal: int  # at the start
    steps: list[Step]


def play_in_batches(
    rules: ct.Rules,
    seed: int,
    count: int,
    decks: list[list[int]] | None,
    **arguments: Any,
) -> list[Record]:
    """Play random games in the vector environment and the batch engine, and compare the two."""
    env: Any = gymnasium.make_vec("ChineseTen-v0", num_envs=count, opponents=None, **arguments)
    options = None if decks is None else {"deck": decks}
    observation, info = env.reset(seed=seed, options=options)
    games = ct.new_games(rules, count, seed=seed, decks=decks)
    legal = ct.pack(info["action_mask"])
    records = [
        Record([CARDS[card] for card in game["deck"]], int(game["dealer"]), int(legal[index]), [])
        for index, game in enumerate(games)
    ]
    rng = np.random.default_rng(seed)
    running = np.ones(count, dtype=np.bool_)
    shown = running.copy()  # which games' last step is the environment's; the others begin anew
    while True:
        masks = info["action_mask"]
        np.testing.assert_array_equal(observation[shown], ct.observe(games)[shown])
        np.testing.assert_array_equal(masks[shown], ct.action_masks(games)[shown])
        np.testing.assert_array_equal(info["seat"][shown], games["player"][shown])
        np.testing.assert_array_equal(running[shown], ~ct.is_over(games)[shown])
        if not running.any():
            return records
        cards = (rng.random(masks.shape) * masks).argmax(axis=1)
        player = games["player"].copy()
        ct.play(games, cards)
        observation, rewards, over, truncated, info = env.step(cards)
        assert not truncated.any()
        legal = ct.pack(info["action_mask"])
        own = info["rewards"][np.arange(count), player]
        np.testing.assert_array_equal(rewards[running], own[running])
        for index in np.flatnonzero(running):
            paid = info["rewards"][index].tolist()
            step = Step(int(cards[index]), paid, int(legal[index]), bool(over[index]))
            records[index].steps.append(step)
        shown, running = running, running & ~over


class Doors:
    """The doors for single games, all at the same game."""

    def __init__(self, rules: ct.Rules, reward: str, **arguments: Any) -> None:
        """Make them."""
        self.rules = rules
        self.raw = chinese_ten_v0.raw_env(reward=reward, **arguments)
        self.wrapped: Any = chinese_ten_v0.env(reward=reward, **arguments)
        self.gym: Any = gymnasium.make("ChineseTen-v0", opponents=None, reward=reward, **arguments)
        self.game: ct.Game
        self.gym_shows: tuple[Any, float, bool, Any]
        self.mover = 0

    def reset(self, seed: int, options: dict[str, Any]) -> None:
        """Begin a game everywhere."""
        self.game = ct.Game(self.rules, seed=seed, **options)
        self.raw.reset(seed=seed, options=options)
        self.wrapped.reset(seed=seed, options=options)
        observation, info = self.gym.reset(seed=seed, options=options)
        self.gym_shows = observation, 0.0, False, info

    def play(self, card: int) -> None:
        """Play a card everywhere."""
        self.mover = self.game.player
        self.game.play(card)
        self.raw.step(card)
        self.wrapped.step(card)
        observation, reward, terminated, truncated, info = self.gym.step(card)
        assert truncated is False
        self.gym_shows = observation, reward, terminated, info

    def compare(self, reference: ReferenceGame, paid: list[Fraction]) -> None:
        """Compare all that the doors show with the reference, and what they have just paid."""
        over, legal = reference.is_over, reference_legal(reference)
        game, (seen, reward, terminated, info) = self.game, self.gym_shows
        assert game.is_over == terminated == over
        assert bits(game.legal) == legal == int(ct.pack(info["action_mask"]))
        if not over:
            assert game.player == info["seat"] == reference.player
        if not reference.deals:
            assert game.points == reference.points()
        assert packed(seen) == reference_rows(reference, info["seat"])
        assert reward == pytest.approx(float(paid[self.mover]), abs=1e-9)
        seats = range(self.rules.num_players)
        for env in (self.raw, self.wrapped):
            assert env.terminations == dict.fromkeys(env.possible_agents, over)
            assert list(env.rewards.values()) == pytest.approx(
                [float(value) for value in paid], abs=1e-9
            )
            if not over:
                assert env.agent_selection == f"player_{reference.player}"
        for seat in seats:
            rows = reference_rows(reference, seat)
            own = legal if seat == reference.player else 0
            assert ct.observe(game.games, [seat], packed=True)[0].tolist() == rows
            for env in (self.raw, self.wrapped) if seat == reference.player else (self.raw,):
                shown = env.observe(f"player_{seat}")
                assert packed(shown["observation"]) == rows
                assert int(ct.pack(shown["action_mask"])) == own


def make_reference(rules: ct.Rules, deck: list[str], dealer: int, **switches: Any) -> ReferenceGame:
    """Return the reference game of a deck."""
    return ReferenceGame(rules.variant, rules.num_players, deck, dealer, **switches)


@pytest.mark.parametrize("block", range(len(BLOCKS)), ids=BLOCKS)
@pytest.mark.parametrize("table", TABLES, ids=table_id)
def test_every_door_opens_on_the_same_game(table: tuple[str, int], block: int) -> None:
    number = TABLES.index(table)
    rng = random.Random(number * 3 + block)
    seed = 1_000_000 * block + 10_000 * number
    reward = REWARDS[(number + block) % 3]
    switches: dict[str, Any] = random_switches(rng) if BLOCKS[block] == "switches" else {}
    decks = None
    if BLOCKS[block] == "forced":
        decks = [random_deck(rng, same_rank=rng.choice((3, 4))) for _ in range(GAMES)]
    arguments = {"variant": table[0], "num_players": table[1], **switches}
    rules = ct.make_rules(*table, **switches)
    records = play_in_batches(rules, seed, GAMES, decks, reward=reward, **arguments)
    doors = Doors(rules, reward, **arguments)
    for index, record in enumerate(records):
        reference = make_reference(rules, record.deck, record.dealer, **switches)
        closely = index % EVERY == 0
        if closely:
            doors.reset(seed + index, {} if decks is None else {"deck": decks[index]})
            doors.compare(reference, [Fraction(0)] * rules.num_players)
        assert record.legal == reference_legal(reference)
        before = [Fraction(0)] * rules.num_players  # a quad at the deal is paid with the first step
        for step in record.steps:
            reference.play(CARDS[step.card])
            assert step.legal == reference_legal(reference)
            assert step.over == reference.is_over
            if closely:
                after = potentials(reference, reward)
                paid = [new - old for new, old in zip(after, before, strict=True)]
                assert step.paid == pytest.approx([float(value) for value in paid], abs=1e-9)
                doors.play(step.card)
                doors.compare(reference, paid)
                before = after
        assert reference.is_over
        total = np.sum([step.paid for step in record.steps], axis=0)
        np.testing.assert_allclose(
            total, [float(value) for value in potentials(reference, reward)], atol=1e-9
        )


@pytest.mark.parametrize("match", ["net", "raw"])
@pytest.mark.parametrize("table", TABLES, ids=table_id)
def test_r12_every_door_plays_the_same_match(table: tuple[str, int], match: str) -> None:
    number = TABLES.index(table)
    switches: dict[str, Any] = {"match": match, "target": {"net": 40, "raw": 160}[match]}
    reward = REWARDS[(number + (match == "raw")) % 3]
    arguments = {"variant": table[0], "num_players": table[1], **switches}
    rules = ct.make_rules(*table, **switches)
    seed, most_deals = 7_000_000 + number, 0
    records = play_in_batches(rules, seed, 4, None, reward=reward, **arguments)
    doors = Doors(rules, reward, **arguments)
    for index, record in enumerate(records):
        reference = make_reference(rules, record.deck, record.dealer, **switches)
        doors.reset(seed + index, {})
        before = potentials(reference, reward)
        for step in record.steps:
            reference.play(CARDS[step.card])
            doors.play(step.card)
            if reference.needs_deck:  # the next deck is drawn, not a matter of the rules
                reference.next_deal([CARDS[card] for card in doors.game.games["deck"][0]])
            after = potentials(reference, reward)
            paid = [new - old for new, old in zip(after, before, strict=True)]
            doors.compare(reference, paid)
            assert step.legal == reference_legal(reference)
            assert step.over == reference.is_over
            assert step.paid == pytest.approx([float(value) for value in paid], abs=1e-9)
            before = after
        assert reference.is_over
        most_deals = max(most_deals, reference.deals)
    assert most_deals > 1
