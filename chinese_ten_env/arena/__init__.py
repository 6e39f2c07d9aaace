"""Let policies play each other and say how sure the outcome is."""

from chinese_ten_env.arena.duplicate import play
from chinese_ten_env.arena.leaderboard import Leaderboard
from chinese_ten_env.arena.lineup import seatings
from chinese_ten_env.arena.ratings import Rating, rate
from chinese_ten_env.arena.replay import replay
from chinese_ten_env.arena.report import write_report
from chinese_ten_env.arena.result import Result, Standing
from chinese_ten_env.arena.statistics import (
    Comparison,
    Moments,
    compare,
    deals_needed,
    rank_ranges,
)
from chinese_ten_env.arena.tournament import CrossPlay, LineupScore, cross_play, load

__all__ = [
    "Comparison",
    "CrossPlay",
    "Leaderboard",
    "LineupScore",
    "Moments",
    "Rating",
    "Result",
    "Standing",
    "compare",
    "cross_play",
    "deals_needed",
    "load",
    "play",
    "rank_ranges",
    "rate",
    "replay",
    "seatings",
    "write_report",
]
