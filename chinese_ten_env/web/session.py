"""A game between a person and policies."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from chinese_ten_env.game import Game
from chinese_ten_env.policies import Policy, PolicyError, checked_cards
from chinese_ten_env.rules import Rules


@dataclass
class Session:
    """A game, who sits where, and what the server remembers of it."""

    game: Game
    seat: int
    """The person's."""
    opponents: list[str]
    """Names of policies for the other seats, in seat order from the one after the person."""
    seed: int
    """Of the opponents' choices; with the rules, of the deal too."""
    practice: bool = False
    """Whether the person may take back."""
    undone: int = 0
    """How often the person has taken back: with the number of actions it tells positions apart."""

    @classmethod
    def begin(
        cls,
        rules: Rules,
        opponents: list[str],
        policies: Mapping[str, Policy],
        *,
        seed: int,
        seat: int | None = None,
        practice: bool = False,
    ) -> Session:
        """Return a new game, played up to the person's first decision; a seat is drawn if None."""
        if seat is None:
            seat = int(np.random.default_rng(seed).integers(rules.num_players))
        session = cls(Game(rules, seed=seed), seat, opponents, seed, practice)
        session.answer(policies)
        return session

    @property
    def actions(self) -> int:
        """The number of actions so far."""
        return len(self.game.history)

    @property
    def players(self) -> list[str | None]:
        """[P] the policy in each seat; None in the person's."""
        count = self.game.rules.num_players
        names: list[str | None] = [None] * count
        for place, name in enumerate(self.opponents):
            names[(self.seat + 1 + place) % count] = name
        return names

    def play(self, card: str, policies: Mapping[str, Policy]) -> None:
        """Play a card for the person, and let the opponents answer; errors as of `Game.play`."""
        self.game.play(card)
        self.answer(policies)

    def answer(self, policies: Mapping[str, Policy]) -> None:
        """Let the opponents play until the person is on turn or the game is over.

        PolicyError names the one that fails.
        """
        players = self.players
        while not self.game.is_over and self.game.player != self.seat:
            name = players[self.game.player]
            assert name is not None
            view = self.game.view(self.game.player)
            # A generator for each decision, so that a game goes on alike after a restart.
            rng = np.random.default_rng((self.seed, self.actions))
            try:
                answer = policies[name](view, rng)
            except Exception as error:
                raise PolicyError(name, f"raised {type(error).__name__}: {error}") from error
            self.game.play(int(checked_cards(answer, view["legal"], name)[0]))

    def decisions(self) -> list[int]:
        """Return the numbers of the actions that were the person's."""
        replay, found = self.game.replay(), []
        for number, card in enumerate(self.game.history):
            if replay.player == self.seat:
                found.append(number)
            replay.play(card)
        return found

    def undo(self) -> bool:
        """Go back to before the person's last decision; False if there is none."""
        decisions = self.decisions()
        if not decisions:
            return False
        self.game = after(self.game, decisions[-1])
        self.undone += 1
        return True

    # --- as text ----------------------------------------------------------------------------

    def facts(self) -> str:
        """Return all but the game as JSON."""
        return json.dumps(
            {
                "seat": self.seat,
                "opponents": self.opponents,
                "seed": self.seed,
                "practice": self.practice,
            }
        )

    @classmethod
    def read(cls, game: str, facts: dict[str, Any], undone: int) -> Session:
        """Return the session that was kept as these texts."""
        return cls(Game.from_json(game), undone=undone, **facts)


def after(game: Game, actions: int) -> Game:
    """Return a game as it was after its first so many actions."""
    earlier = game.replay()
    for card in game.history[:actions]:
        earlier.play(card)
    return earlier
