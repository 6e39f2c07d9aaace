"""Chinese Ten (撿紅點) as an environment for reinforcement learning."""

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
)
from chinese_ten_env.game import Game
from chinese_ten_env.observation import (
    Feature,
    action_masks,
    determinize,
    observe,
    pack,
    unpack,
    view,
    views,
)
from chinese_ten_env.policies import make_policy
from chinese_ten_env.rules import VARIANTS, Rules, make_rules

__version__ = "0.1.0"
