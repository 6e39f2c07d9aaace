"""A rating for each policy, from who came out before whom, as in leagues of several players.

It is the Plackett-Luce model of Weng and Lin (2011), by openskill: a mean and a deviation of what
is thought of a policy's strength, 25 and 8.3 before the first game. Policies do not change, so
nothing is added to the deviation from game to game. Points say more than ranks: the ranking by net
points is the finer measure, and this one is for comparing with other leagues.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from chinese_ten_env.arena.tournament import CrossPlay


@dataclass(frozen=True)
class Rating:
    """How strong a policy is thought to be."""

    name: str
    mean: float
    deviation: float

    @property
    def low(self) -> float:
        """What it is worth at least, with some certainty: three deviations below the mean."""
        return self.mean - 3 * self.deviation


def rate(result: CrossPlay) -> tuple[Rating, ...]:
    """Return the ratings of the ranked policies, from the first games of all their lineups.

    In a game the policies are ordered by the mean net points of their seats. The games are taken
    deal by deal, so that no lineup comes late. ImportError names the extra that it needs.
    """
    try:
        from openskill.models import PlackettLuce
    except ImportError:
        raise ImportError("ratings need openskill: pip install 'chinese_ten_env[arena]'") from None
    model = PlackettLuce(tau=0.0)
    found: dict[str, Any] = {name: model.rating(name=name) for name in result.ranked}
    counted = [score for score in result.lineups if set(score.names) <= set(found)]
    for deal in range(max((len(score.first) for score in counted), default=0)):
        for score in counted:
            for nets in score.first[deal]:
                teams = [[found[name]] for name in score.names]
                # Rounded, so that equal means are ties.
                rated = model.rate(teams, scores=np.round(nets, 9).tolist())
                found.update({name: team[0] for name, team in zip(score.names, rated, strict=True)})
    return tuple(Rating(name, one.mu, one.sigma) for name, one in found.items())
