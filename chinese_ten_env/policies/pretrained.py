"""Pretrained policies, one for each way of scoring and number of players, from the wheel.

They are n-tuple networks that ``agents/dmc.py`` has trained; the README says how each was made and
what it reaches. They learned the deal, so in a match they play each deal for its points. Variants
whose deals are the same share a policy: ``g4a`` plays with that of ``mainland`` for three.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from chinese_ten_env.engine import Games, blank_games
from chinese_ten_env.ntuple import Network
from chinese_ten_env.rules import Rules, make_rules

FORMAT = 1
"""The version of the files."""

# What of the rules a deal depends on; the match is left out.
_OF_A_DEAL = (
    "num_players",
    "point_bits",
    "levy",
    "capture_hand",
    "dealer_leads",
    "sweep_reverses",
    "levy_on_pile",
    "peek",
)


@dataclass(frozen=True)
class Entry:
    """A pretrained policy: what it is for, and how it was made."""

    variant: str
    num_players: int
    facts: dict[str, Any]
    """The ``agent`` and its ``command``, ``seed``, ``decisions`` and ``seconds`` of training."""
    network: Network


def publish(network: Network, facts: dict[str, Any]) -> Path:
    """Put a network into the library, for the deals that it learned; return the file.

    It takes the place of one for the same deals. ValueError for rules with other switches than the
    variant's own. Half precision is enough to tell cards apart, and halves the file.
    """
    rules = network.rules
    own = _deal_of(blank_games(make_rules(rules.variant, rules.num_players), 1))
    if own != _deal_of(blank_games(rules, 1)):
        raise ValueError(
            f"only what learned {rules.variant} with the variant's own switches can be published"
        )
    variant, players = _by_deal().get(own, (rules.variant, rules.num_players))
    path = Path(str(_files())) / f"{variant}-{players}.npz"
    about = {"format": FORMAT, "width": network.width} | facts
    path.parent.mkdir(exist_ok=True)
    unfinished = path.with_suffix(f".{os.getpid()}.new")
    with unfinished.open("wb") as file:
        weights = network.weights.astype(np.float16)
        np.savez_compressed(file, weights=weights, about=np.array(json.dumps(about)))
    unfinished.replace(path)
    entries.cache_clear()
    load_entry.cache_clear()
    _by_deal.cache_clear()
    return path


def _files() -> Any:
    return resources.files("chinese_ten_env.policies") / "zoo"


@cache
def load_entry(variant: str, num_players: int) -> Entry:
    """Return a pretrained policy of the zoo."""
    with (_files() / f"{variant}-{num_players}.npz").open("rb") as file, np.load(file) as arrays:
        about = json.loads(str(arrays["about"]))
        weights = arrays["weights"].astype(np.float32)
    if about.pop("format") != FORMAT:
        raise ValueError(f"the pretrained policy of {variant} is of another format than {FORMAT}")
    rules = make_rules(variant, num_players)
    name = f"pretrained {variant} {num_players}"
    network = Network(rules, about.pop("width"), weights, name=name)
    return Entry(variant, num_players, about, network)


@cache
def entries() -> tuple[tuple[str, int], ...]:
    """Return the variant and number of players of every pretrained policy."""
    names = sorted(file.name for file in _files().iterdir() if file.name.endswith(".npz"))
    pairs = [name.removesuffix(".npz").rsplit("-", 1) for name in names]
    return tuple((variant, int(count)) for variant, count in pairs)


def _deal_of(games: Games) -> bytes:
    """Return what the deals of the first of some games depend on, as bytes."""
    return b"".join(games[name][0].tobytes() for name in _OF_A_DEAL)


@cache
def _by_deal() -> dict[bytes, tuple[str, int]]:
    return {_deal_of(blank_games(make_rules(*pair), 1)): pair for pair in entries()}


def entry_of(games: Games) -> Entry:
    """Return the policy for games or views of some rules; ValueError names those that there are."""
    pair = _by_deal().get(_deal_of(games))
    if pair is None:
        known = ", ".join(f"{variant} with {count}" for variant, count in entries())
        raise ValueError(
            "there is no pretrained policy for these rules; there are policies for "
            f"{known}, each with the variant's own switches"
        )
    return load_entry(*pair)


class Pretrained:
    """The pretrained policy for whatever is played: chosen by the rules of the views.

    With `rules` it is loaded at once; ValueError if there is none for them.
    """

    name = "pretrained"

    def __init__(self, rules: Rules | None = None) -> None:
        self._entries: dict[bytes, Entry] = {}
        self.network: Network | None = None
        """The policy for `rules`, if they were given."""
        if rules is not None:
            self.network = self.entry(blank_games(rules, 1)).network

    def entry(self, games: Games) -> Entry:
        """Return the policy for the rules of the first of some games."""
        key = _deal_of(games)
        if key not in self._entries:
            self._entries[key] = entry_of(games)
        return self._entries[key]

    def __call__(self, views: Games, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        """Return the best card for each view, all of the same rules, int64 [B]."""
        if not len(views):
            return np.zeros(0, dtype=np.int64)
        return self.entry(views).network(views, rng)

    def network_for(self, views: Games) -> Network:
        """Return the network that plays these views; ValueError if there is none for them."""
        return self.entry(views).network.network_for(views)

    def worth(self, views: Games) -> npt.NDArray[np.float32]:
        """Return the net points that each legal card is worth beside the others, [B, 52]."""
        return self.entry(views).network.worth(views)
