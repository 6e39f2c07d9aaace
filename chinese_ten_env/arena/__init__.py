"""Let policies play each other and say how sure the outcome is."""

from chinese_ten_env.arena.duplicate import play
from chinese_ten_env.arena.lineup import seatings
from chinese_ten_env.arena.ratings import Rating, rate
from chinese_ten_env.arena.report import write_report
from chinese_ten_env.arena.result import Result, Standing
from chinese_ten_env.arena.tournament import CrossPlay, LineupScore, cross_play

__all__ = [
    "CrossPlay",
    "LineupScore",
    "Rating",
    "Result",
    "Standing",
    "cross_play",
    "play",
    "rate",
    "seatings",
    "write_report",
]
