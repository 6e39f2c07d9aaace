"""What learning shares: masked distributions, potentials, and the advantages of every seat."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch
from scipy import stats

import chinese_ten_env as ct
from agents.common import (
    masked_choice,
    masked_entropy,
    masked_log_probs,
    masked_sample,
    potentials,
    seat_advantages,
)

TABLES = [rules for variant in ct.VARIANTS.values() for rules in variant.tables.values()]


# --- masked distributions -------------------------------------------------------------------


def logits_and_masks() -> tuple[torch.Tensor, torch.Tensor]:
    """Return logits as wild as networks make them, and masks with at least one legal action."""
    generator = torch.Generator().manual_seed(3)
    logits = torch.randn(500, 52, generator=generator) * 20
    logits[::7] *= 1e4
    legal = torch.rand(500, 52, generator=generator) < 0.2
    legal[torch.arange(500), torch.arange(500) % 52] = True
    return logits, legal


def test_illegal_cards_have_no_probability_at_all() -> None:
    logits, legal = logits_and_masks()
    odds = masked_log_probs(logits, legal).exp()
    assert (odds[~legal] == 0).all()
    torch.testing.assert_close(odds.sum(1), torch.ones(500))
    for row in range(0, 500, 50):  # the same as a softmax over the legal cards alone
        expected = torch.softmax(logits[row, legal[row]], 0)
        torch.testing.assert_close(odds[row, legal[row]], expected)


@pytest.mark.parametrize("weight", [0.01, 1e6])
def test_gradients_of_masked_distributions_are_finite(weight: float) -> None:
    logits, legal = logits_and_masks()
    logits.requires_grad_()
    log_probs = masked_log_probs(logits, legal)
    chosen = log_probs.gather(1, masked_sample(log_probs.detach()).unsqueeze(1))
    torch.autograd.backward(weight * (chosen.mean() + masked_entropy(log_probs).mean()))
    assert logits.grad is not None
    assert torch.isfinite(logits.grad).all()
    assert (logits.grad[~legal] == 0).all()
    assert (logits.grad[legal] != 0).any()


def test_masked_entropy() -> None:
    legal = torch.tensor([[True, True, False, True, True], [False, False, True, False, False]])
    entropy = masked_entropy(masked_log_probs(torch.full((2, 5), 3.0), legal))
    torch.testing.assert_close(entropy, torch.tensor([np.log(4), 0.0], dtype=torch.float32))


def test_masked_samples_are_legal_and_follow_the_odds() -> None:
    logits = torch.tensor([2.0, 0.0, 9.0, -1.0, 1.0])
    legal = torch.tensor([True, True, False, True, True])
    size = 40_000
    log_probs = masked_log_probs(logits.expand(size, 5), legal.expand(size, 5))
    drawn = masked_sample(log_probs, torch.Generator().manual_seed(1))
    counts = np.bincount(drawn.numpy(), minlength=5)
    assert counts[2] == 0
    expected = size * log_probs[0].exp().numpy()[legal].astype(float)
    assert stats.chisquare(counts[legal], expected / expected.sum() * size).pvalue > 1e-4


def test_masked_samples_are_legal_at_the_edges_of_chance(monkeypatch: pytest.MonkeyPatch) -> None:
    _, legal = logits_and_masks()
    log_probs = masked_log_probs(torch.zeros(500, 52), legal)
    for chance in (0.0, 1.0 - 2.0**-24):  # the least and the most that torch.rand gives
        monkeypatch.setattr(
            torch, "rand", lambda *size, chance=chance, **_: torch.full(size, chance)
        )
        drawn = masked_sample(log_probs)
        assert legal[torch.arange(500), drawn].all()


# --- advantages -----------------------------------------------------------------------------


class Played:
    """Some steps of a batch of games played at random, with values that mean nothing."""

    def __init__(self, rules: ct.Rules, steps: int, size: int) -> None:
        rng = np.random.default_rng(7)
        players = rules.num_players
        games = ct.new_games(rules, size, seed=1)
        self.rewards = np.empty((steps, size, players))
        self.over = np.empty((steps, size), dtype=np.bool_)
        self.players = np.empty((steps + 1, size), dtype=np.int64)
        self.values = rng.normal(size=(steps + 1, size, players))
        for step in range(steps):
            self.players[step] = games["player"]
            legal = ct.action_masks(games) != 0
            before = potentials(games, rules)
            ct.play(games, masked_choice(np.zeros(legal.shape, np.float32), legal, rng))
            self.rewards[step] = potentials(games, rules) - before
            self.over[step] = ct.is_over(games)
            ct.begin_games(games, indices=np.flatnonzero(self.over[step]))
        self.players[steps] = games["player"]


def slow_advantages(played: Played, decay: float) -> npt.NDArray[np.float64]:
    """The advantages of those who decided, [T, B], from the trajectory of each player apart."""
    steps, size, seats = played.rewards.shape
    found = np.full((steps, size), np.nan)
    for game in range(size):
        for seat in range(seats):
            own = [step for step in range(steps) if played.players[step, game] == seat]
            surprises, lasts = [], []
            for number, step in enumerate(own):
                until = own[number + 1] if number + 1 < len(own) else steps
                paid, ended = 0.0, False
                for later in range(step, until):
                    paid += played.rewards[later, game, seat]
                    if played.over[later, game]:
                        ended = True
                        break
                ahead = 0.0 if ended else played.values[until, game, seat]
                surprises.append(paid + ahead - played.values[step, game, seat])
                lasts.append(ended or until == steps)
            for number, step in enumerate(own):
                total, weight = 0.0, 1.0
                for surprise, last in zip(surprises[number:], lasts[number:], strict=True):
                    total += weight * surprise
                    if last:
                        break
                    weight *= decay
                found[step, game] = total
    return found


@pytest.mark.parametrize("decay", [0.0, 0.9, 1.0])
@pytest.mark.parametrize(("variant", "num_players"), [("mainland", 2), ("g4a", 3), ("taiwan", 4)])
def test_advantages_are_those_of_each_player_apart(
    variant: str, num_players: int, decay: float
) -> None:
    played = Played(ct.make_rules(variant, num_players), 70, 12)
    assert played.over.sum() > 12  # deals that end within, deals that begin and go on
    gains = seat_advantages(played.rewards, played.values, played.over, played.players, decay)
    own = np.take_along_axis(gains, played.players[:-1, :, None], axis=2)[:, :, 0]
    np.testing.assert_allclose(own, slow_advantages(played, decay), atol=1e-9)


def test_without_decay_advantages_lead_to_the_net_of_the_deal() -> None:
    rules = ct.make_rules("taiwan")
    played = Played(rules, 60, 8)
    gains = seat_advantages(played.rewards, played.values, played.over, played.players, 1.0)
    returns = gains + played.values[:-1]
    games = ct.new_games(rules, 8, seed=1)
    begun = potentials(games, rules)  # not nothing if the layout went to the dealer
    first = played.over.argmax(axis=0)
    paid = [played.rewards[: first[game] + 1, game].sum(axis=0) for game in range(8)]
    np.testing.assert_allclose(returns[0], paid)
    np.testing.assert_allclose((returns[0] + begun).sum(axis=1), 0, atol=1e-9)


@pytest.mark.parametrize("rules", TABLES, ids=lambda rules: f"{rules.variant}-{rules.num_players}")
@pytest.mark.parametrize("match", ["deal", "net"])
def test_potentials_are_those_that_environments_pay(rules: ct.Rules, match: str) -> None:
    import gymnasium

    made: Any = gymnasium.make_vec(
        "ChineseTen-v0",
        num_envs=16,
        variant=rules.variant,
        num_players=rules.num_players,
        opponents=None,
        reward="captures",
        match=match,
    )
    _, info = made.reset(seed=5)
    rules = ct.make_rules(rules.variant, rules.num_players, match=match)
    games = ct.new_games(rules, 16, seed=5)
    total = np.zeros((16, rules.num_players))
    for _ in range(40):
        cards = info["action_mask"].argmax(axis=1)
        _, _, over, _, info = made.step(cards)
        ct.play(games, cards)
        total += info["rewards"]
        np.testing.assert_allclose(potentials(games, rules), total, atol=1e-9)
        if over.any():
            break
    made.close()
