"""Games of an arena once more, card by card."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

import chinese_ten_env as ct
from chinese_ten_env.arena.tournament import GAMES
from chinese_ten_env.cli import main

DEALS, SEED = 5, 3


@pytest.mark.parametrize(
    ("variant", "players", "switches"),
    [("mainland", 2, {}), ("taiwan", 4, {}), ("g4a", 3, {"match": "raw", "target": 150})],
)
def test_each_game_is_that_of_the_arena(
    variant: str, players: int, switches: dict[str, Any], tmp_path: Path
) -> None:
    policies = ["random", "greedy"]
    ct.arena.cross_play(
        policies, variant, players, deals=DEALS, seed=SEED, folder=tmp_path, **switches
    )
    rows = pd.read_parquet(tmp_path / GAMES)
    assert len(rows) == DEALS * rows["seating"].nunique()
    for row in rows.to_dict("records"):
        game = ct.arena.replay(
            policies,
            row["deal"],
            row["seating"],
            variant,
            players,
            DEALS,
            SEED,
            **switches,
        )
        assert game.is_over
        assert game.deals == row["deals"]
        assert game.scores == [row[f"points_{seat}"] for seat in range(players)]
        again = ct.Game.from_json(game.to_json())
        assert (again, again.history) == (game, game.history)
        if not switches:
            # Greedy decides by itself, so its cards show who sat where.
            asked = game.replay()
            greedy = ct.make_policy("greedy")
            for card in game.history:
                if row[f"policy_{asked.player}"] == "greedy":
                    view = asked.view(asked.player)
                    assert greedy(view, None)[0] == card  # type: ignore[arg-type]
                asked.play(card)


def test_what_is_not_there_is_named() -> None:
    policies = ["random", "greedy"]
    with pytest.raises(ValueError, match="deals 0 to 4 in seatings 0 to 1, and no deal 5"):
        ct.arena.replay(policies, 5, deals=5)
    with pytest.raises(ValueError, match="no deal 1 in seating 2"):
        ct.arena.replay(policies, 1, 2)
    with pytest.raises(ValueError, match="deal must be an integer from 0 up, not -1"):
        ct.arena.replay(policies, -1)


def test_the_command_writes_what_the_page_and_game_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["game", "--policies", "greedy", "random", "--deal", "2", "--deals", "9"]
    assert main([*command, "--seating", "1", "--out", str(tmp_path / "game.json")]) == 0
    expected = ct.arena.replay(["greedy", "random"], 2, 1, deals=9)
    text = (tmp_path / "game.json").read_text(encoding="utf-8")
    assert ct.Game.from_json(text).history == expected.history
    assert main(command) == 0
    assert json.loads(capsys.readouterr().out)["actions"] != json.loads(text)["actions"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--policies", "greedy"], "2 policies, not 1"),
        (["--policies", "greedy", "gredy"], "greedy"),
        (["--policies", "greedy", "random", "--deal", "1000"], "no deal 1000"),
        (["--policies", "greedy", "random", "--out", "no/such/folder/g.json"], "cannot be written"),
    ],
)
def test_the_command_says_what_is_wrong(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["game", *arguments]) == 2
    assert message in capsys.readouterr().err
