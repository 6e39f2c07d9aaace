"""What environments pay: the one place of all rewards.

Each kind of reward is the change of a potential, so that what is paid over a game is the potential
at its end, however the steps are cut:

- ``net``: points less par of the finished deals, in points. Sums to zero over the players.
- ``captures``: the same, and in the deal at hand the player's points less the mean of all players;
  paid at every decision. Sums over a deal to the same net.
- ``win``: at the end of the game 1 for the best alone, 0 for those who share the best, -1 for the
  rest.
"""

from __future__ import annotations

from typing import Any

from chinese_ten_env.engine import OVER, pile_points, scaled_net_score
from chinese_ten_env.jit import kernel
from chinese_ten_env.rules import Rules, unknown_choice

REWARDS = ("net", "captures", "win")
_NET, _CAPTURES, _WIN = range(3)


def reward_number(reward: str) -> int:
    """Return the number that kernels know a kind of reward by; ValueError names the choices."""
    if reward not in REWARDS:
        raise unknown_choice("reward", reward, REWARDS)
    return REWARDS.index(reward)


def reward_bound(rules: Rules, reward: str) -> float:
    """Return a bound of what one deal pays, up or down: net points, or 1 for ``win``."""
    return 1.0 if reward == "win" else rules.max_net


def illegal_action_reward(rules: Rules, reward: str) -> float:
    """Return the penalty for an illegal action, which ends the game: as bad as the worst deal."""
    return -reward_bound(rules, reward)


@kernel
def outcome(game: Any, player: int) -> float:
    """Return 1 for the best score alone, 0 for a shared best, -1 otherwise, in a finished game."""
    own, sharing = game.scores[player], 0
    for other in range(game.num_players):
        if game.scores[other] > own:
            return -1.0
        if game.scores[other] == own:
            sharing += 1
    return 1.0 if sharing == 1 else 0.0


@kernel
def potential(game: Any, player: int, reward: int) -> float:
    """Return the potential of a player; a reward is its change. Zero where a game begins."""
    if reward == _WIN:
        return outcome(game, player) if game.phase == OVER else 0.0
    scaled = scaled_net_score(game, player)
    # A finished game's piles are in its scores already.
    if reward == _CAPTURES and game.phase != OVER:
        for other in range(game.num_players):
            scaled -= pile_points(game, other)
        scaled += game.num_players * pile_points(game, player)
    return scaled / game.num_players
