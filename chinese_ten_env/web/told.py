"""What the person is told of a game: only what the seat may know, until the game is over."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from chinese_ten_env.cards import CARD_NAMES, card_list
from chinese_ten_env.engine import PHASES, PLAY
from chinese_ten_env.game import Game
from chinese_ten_env.policies import Policy
from chinese_ten_env.policies.pimc import Pimc
from chinese_ten_env.render import Board, board, draw
from chinese_ten_env.solver import Regret, regrets
from chinese_ten_env.web.session import Session
from chinese_ten_env.web.steps import Step, steps

SHAPES = {"wide": (800, 600), "narrow": (360, 680)}
"""The sizes in which a board is drawn."""


def named(cards: Iterable[int]) -> list[str]:
    """Return the names of cards."""
    return [CARD_NAMES[number] for number in cards]


def picture(
    scene: Board,
    shape: str,
    players: Sequence[str | None],
    seat: int | None = None,
    *,
    clickable: bool = False,
) -> str:
    """Return a board as SVG; `players` [P] are names of policies, None for a person.

    `seat` is that of the person who looks.
    """
    names = [
        "you" if player == seat else f"{name or 'player'} {player}"
        for player, name in enumerate(players)
    ]
    return draw(scene, theme="auto", clickable=clickable, size=SHAPES[shape], names=names)


def facts(game: Game) -> dict[str, Any]:
    """Return what is known of a game from its rules and its end."""
    rules = game.rules
    return {
        "variant": rules.variant,
        "num_players": rules.num_players,
        "match": rules.match,
        "target": rules.target,
        "par": round(rules.par, 2),
        "over": game.is_over,
    }


def sheets(told: list[Step]) -> list[dict[str, Any]]:
    """Return what each finished deal brought."""
    return [{"deal": one.deal, "players": one.sheet} for one in told if one.sheet is not None]


def position(session: Session, shape: str) -> dict[str, Any]:
    """Return what the person sees, made from the view of the seat and from what lay open."""
    game, seat = session.game, session.seat
    scene = board(game.view(seat), game.rules)
    mine = game.player == seat and not game.is_over
    moves = scene.moves if mine else ()
    told = steps(game)
    recent = max(0, game.deals - game.is_over - 1)  # the log of this deal and the one before
    return facts(game) | {
        "actions": session.actions,
        "undone": session.undone,
        "seat": seat,
        "players": session.players,
        "practice": session.practice,
        "on_turn": game.player,
        "phase": game.phase,
        "pending": None if scene.pending is None else CARD_NAMES[scene.pending],
        "legal": named(move.card for move in moves),
        "captures": {CARD_NAMES[move.card]: named(move.targets) for move in moves},
        "points": game.points,
        "scores": game.scores,
        "deal": game.deals - game.is_over,
        "steps": [one.to_dict() for one in told if one.deal >= recent],
        "sheets": sheets(told),
        "board": picture(scene, shape, session.players, seat, clickable=mine),
    }


def hints(session: Session, advisers: dict[str, Policy]) -> list[dict[str, Any]]:
    """Return what each policy would play for the person, and what it says that cards are worth."""
    view = session.game.view(session.seat)
    legal, told = card_list(view["legal"][0]), []
    for name, policy in advisers.items():
        # The generator depends on nothing that is hidden.
        card = int(policy(view, np.random.default_rng(session.actions))[0])
        weigh = getattr(policy, "worth", None)
        worth = None
        if weigh is not None:
            values = weigh(view)[0]
            worth = {CARD_NAMES[number]: round(float(values[number]), 1) for number in legal}
        told.append({"policy": name, "card": CARD_NAMES[card], "worth": worth})
    return told


def review(game: Game, seat: int | None, search: Pimc) -> list[dict[str, Any]]:
    """Return what each decision of the last deal cost, of the player in a seat or of all.

    The solver judges deals of two players, knowing every card: some seconds of work. Of more
    players the search tells what it gives for each card, seeing what the player saw.
    """
    judged = regrets(game) if game.rules.num_players == 2 else _searched(game, search)
    first = len(game.history) - len(judged)
    return [
        {
            "action": first + one.decision,
            "player": one.player,
            "card": CARD_NAMES[one.card],
            "best": CARD_NAMES[one.best],
            "regret": round(one.regret, 1),
        }
        for one in judged
        if seat is None or one.player == seat
    ]


def _searched(game: Game, search: Pimc) -> list[Regret]:
    replay, judged = game.replay(), list[Regret]()
    for card in game.history:
        if not replay.games["turn"][0] and replay.phase == PHASES[PLAY]:
            judged = []  # a new deal
        worth = search.worth(replay.view(replay.player))[0]
        best = max(replay.legal, key=lambda other: (worth[other], other == card))
        lost = float(worth[best] - worth[card])
        judged.append(Regret(len(judged), replay.player, card, best, lost))
        replay.play(card)
    return judged
