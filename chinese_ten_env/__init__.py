"""Chinese Ten (撿紅點) as an environment for reinforcement learning.

One game for people is a `Game`; its rules come from `make_rules`, and `VARIANTS` lists the
variants. Environments are made by their libraries: `chinese_ten_env.chinese_ten_v0` is the
PettingZoo AEC environment, ``gymnasium.make("ChineseTen-v0")`` is
`chinese_ten_env.gym_env.ChineseTenEnv`, one learner against policies, and ``gymnasium.make_vec`` is
`chinese_ten_env.vector_env.ChineseTenVectorEnv`, thousands of games at once.

Research code may use the batches below all of these: `new_games` deals an array of records, `GAME`
is their dtype, `play` plays a card in each, `observe`, `action_masks`, `points` and `nets` read
them, `views` removes what the player on turn cannot know, and `determinize` fills it in again.

What plays is a `Policy`: `make_policy` knows them by name, `chinese_ten_env.policies` holds them.
`arena` lets them play each other and says how sure the outcome is. `solver` knows what every card
was worth. Everything else is in the README.
"""

from typing import TYPE_CHECKING, Any

import gymnasium as _gymnasium
import pettingzoo as _pettingzoo

from chinese_ten_env import arena
from chinese_ten_env.cards import bitboard, card, card_list, card_name, card_names
from chinese_ten_env.engine import (
    GAME,
    IllegalActionError,
    begin_games,
    is_over,
    nets,
    new_games,
    play,
    points,
    take,
)
from chinese_ten_env.game import Game
from chinese_ten_env.learner import Pool
from chinese_ten_env.observation import (
    NUM_FEATURES,
    OBSERVATION_VERSION,
    Feature,
    action_masks,
    determinize,
    observe,
    pack,
    unpack,
    view,
    views,
)
from chinese_ten_env.policies import POLICIES, Policy, PolicyError, make_policy
from chinese_ten_env.policies.choice import masked_choice
from chinese_ten_env.rules import VARIANTS, Rules, make_rules

if TYPE_CHECKING:
    from chinese_ten_env import ntuple, solver
    from chinese_ten_env.policies import pretrained

__version__ = "0.1.0"

__all__ = [
    "GAME",
    "NUM_FEATURES",
    "OBSERVATION_VERSION",
    "POLICIES",
    "VARIANTS",
    "Feature",
    "Game",
    "IllegalActionError",
    "Policy",
    "PolicyError",
    "Pool",
    "Rules",
    "action_masks",
    "arena",
    "begin_games",
    "bitboard",
    "card",
    "card_list",
    "card_name",
    "card_names",
    "determinize",
    "is_over",
    "make_policy",
    "make_rules",
    "masked_choice",
    "nets",
    "new_games",
    "ntuple",
    "observe",
    "pack",
    "play",
    "points",
    "pretrained",
    "solver",
    "take",
    "unpack",
    "view",
    "views",
]

_gymnasium.register(
    id="ChineseTen-v0",
    entry_point="chinese_ten_env.gym_env:ChineseTenEnv",
    vector_entry_point="chinese_ten_env.vector_env:ChineseTenVectorEnv",
)

# PettingZoo has a registry since 1.27; before, import the module `chinese_ten_v0`.
if hasattr(_pettingzoo, "register"):
    _pettingzoo.register("aec", "chinese_ten-v0", "chinese_ten_env.chinese_ten_v0:env")


_LATE = {"ntuple": "ntuple", "pretrained": "policies.pretrained", "solver": "solver"}
"""What most programs never need, and where it is."""


def __getattr__(name: str) -> Any:
    """Import a late part when it is first asked for."""
    if name in _LATE:
        from importlib import import_module

        return import_module(f"chinese_ten_env.{_LATE[name]}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
