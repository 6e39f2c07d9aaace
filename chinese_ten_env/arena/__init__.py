"""Let policies play each other and say how sure the outcome is."""

from chinese_ten_env.arena.duplicate import play
from chinese_ten_env.arena.lineup import seatings
from chinese_ten_env.arena.result import Result, Standing

__all__ = ["Result", "Standing", "play", "seatings"]
