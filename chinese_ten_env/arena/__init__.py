"""Let policies play each other and say how sure the outcome is."""

from chinese_ten_env.arena.duplicate import play
from chinese_ten_env.arena.leaderboard import Leaderboard
from chinese_ten_env.arena.lineup import seatings
from chinese_ten_env.arena.ratings import Rating, rate
from chinese_ten_env.arena.report import write_report
from chinese_ten_env.arena.result import Result, Standing
from chinese_ten_env.arena.tournament import CrossPlay, LineupScore, cross_play, load

__all__ = [
    "CrossPlay",
    "Leaderboard",
    "LineupScore",
    "Rating",
    "Result",
    "Standing",
    "cross_play",
    "load",
    "play",
    "rate",
    "seatings",
    "write_report",
]
