"""`Game`: one game for people, its text, and its JSON form."""

from __future__ import annotations

import copy
import json
import os
import pickle
import random
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import chinese_ten_env as ct
from tests.helpers import TABLES, table_id

ROOT = Path(ct.__file__).resolve().parents[1]
SWITCHES: list[dict[str, Any]] = [
    {},
    {"capture": "hand", "sweep_reverses": True, "red_five_levy": 5, "red_five_trigger": "pile"},
    {"leader": "dealer", "peek": "last", "sweep_reverses": True, "red_five_levy": 10},
    {"match": "net", "target": 40},
    {"match": "raw", "target": 300, "red_five_levy": 20, "sweep_reverses": True},
]
every_rules = st.builds(
    lambda table, switches: ct.make_rules(*table, **switches),
    st.sampled_from(TABLES),
    st.sampled_from(SWITCHES),
)


def partly_played(rules: ct.Rules, seed: int, actions: int) -> ct.Game:
    """Return a game after so many random actions, or at its end."""
    game, rng = ct.Game(rules, seed=seed), random.Random(seed)
    while actions and not game.is_over:
        game.play(rng.choice(game.legal))
        actions -= 1
    return game


def finish(game: ct.Game) -> ct.Game:
    """Play the first legal action to the end."""
    while not game.is_over:
        game.play(game.legal[0])
    return game


def run_python(script: str, stdin: str = "", **environment: str) -> str:
    """Return what a script prints in another process."""
    done = subprocess.run(
        [sys.executable, "-c", script],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
        env={**os.environ, "PYTHONPATH": str(ROOT), **environment},
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


# --- the public face ------------------------------------------------------------------------


@pytest.mark.parametrize("table", TABLES, ids=table_id)
def test_a_game_shows_its_state_and_plays_to_the_end(table: tuple[str, int]) -> None:
    rules = ct.make_rules(*table)
    game = ct.Game(rules, seed=7)
    assert game.rules is rules
    assert not game.is_over
    assert game.history == []
    assert game.deals == 0
    actions = []
    while not game.is_over:
        assert 0 <= game.player < rules.num_players
        assert game.legal == sorted(game.legal)
        assert game.legal == ct.card_list(game.games["legal"][0])
        assert game.phase in ("play", "take with hand", "take with stock")
        assert game.net == pytest.approx([value - rules.par for value in game.points])
        actions.append(game.legal[-1])
        # By number and by name.
        game.play(actions[-1] if len(actions) % 2 else ct.card_name(actions[-1]))
        assert game.history == actions
    assert game.phase == "over"
    assert game.legal == []
    assert game.deals == 1
    assert sum(game.points) == rules.total
    assert sum(game.net) == pytest.approx(0)
    assert game.scores == game.points


def test_types_are_those_of_python() -> None:
    game = partly_played(ct.make_rules("taiwan"), 3, 10)
    assert type(game.player) is type(game.deals) is int
    assert type(game.is_over) is bool
    for numbers in (game.legal, game.points, game.scores, game.history):
        assert {type(number) for number in numbers} == {int}
    assert {type(number) for number in game.net} == {float}


def test_a_deck_is_given_by_names_or_numbers() -> None:
    rules = ct.make_rules("mainland", 2)
    numbers = [*range(40, 52), *range(40)]
    names = [ct.card_name(number) for number in numbers]
    decks: list[Any] = [numbers, names, " ".join(names), tuple(numbers), np.array(numbers)]
    texts = {ct.Game(rules, deck=deck, dealer=0).text for deck in decks}
    assert len(texts) == 1
    assert (
        ct.Game(rules, deck=numbers, dealer=0).text != ct.Game(rules, deck=numbers, dealer=1).text
    )


def test_the_dealer_of_a_given_deck_follows_from_the_seed() -> None:
    rules = ct.make_rules("mainland", 4)
    deck = list(range(52))
    texts = [[ct.Game(rules, seed=seed, deck=deck).text for seed in range(40)] for _ in range(2)]
    assert texts[0] == texts[1]
    assert len(set(texts[0])) == 4


def test_views_and_boards_hide_what_a_player_does_not_see() -> None:
    game = partly_played(ct.make_rules("taiwan"), 5, 12)
    assert "?" not in str(game)
    for player in range(4):
        view = game.view(player)
        assert view.dtype == ct.GAME
        assert view.shape == (1,)
        assert view["viewer"][0] == player
        board = game.show(player)
        hands = [line for line in board.splitlines() if line.startswith("    hand")]
        sizes = game.games["hand_sizes"][0]
        for seat, line in enumerate(hands):
            shown = line.split()[1:]
            assert len(shown) == sizes[seat]
            assert (set(shown) == {"?"}) == (seat != player)


def test_printing_names_variant_players_and_position() -> None:
    game = ct.Game(ct.make_rules("mainland", 3), seed=1)
    assert str(game).startswith("mainland, 3 players; turn 1 of 24; seat order")
    assert f"player_{game.player} to play" in str(game)
    assert repr(game) == f"<Game mainland 3: {game.text}>"
    assert str(finish(game)).endswith("over")


def test_equality_looks_at_rules_and_position() -> None:
    rules = ct.make_rules("mainland", 2)
    game = partly_played(rules, 2, 8)
    assert game == ct.Game.from_text(game.text, rules)
    assert game != partly_played(rules, 2, 9)
    assert game != ct.Game.from_text(game.text, ct.make_rules("mainland", 2, capture="hand"))
    assert game != game.text
    with pytest.raises(TypeError, match="unhashable"):
        hash(game)


# --- copies ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "copied",
    [
        lambda game: game.clone(),
        copy.deepcopy,
        lambda game: pickle.loads(pickle.dumps(game)),
        lambda game: ct.Game.from_json(game.to_json()),
    ],
    ids=["clone", "deepcopy", "pickle", "json"],
)
@pytest.mark.parametrize("actions", [0, 6, 31])
def test_a_copy_is_independent(copied: Callable[[ct.Game], ct.Game], actions: int) -> None:
    game = partly_played(ct.make_rules("taiwan", match="net", target=30), 4, actions)
    text, history, line = game.text, game.history, game.to_json()
    twin = copied(game)
    assert twin == game
    assert twin.history == history
    assert twin.to_json() == line
    played = finish(twin).history
    assert (game.text, game.history) == (text, history)
    assert finish(game).history == played
    assert game == twin
    assert game.to_json() == twin.to_json()


def test_the_history_is_a_copy() -> None:
    game = partly_played(ct.make_rules(), 4, 3)
    game.history.clear()
    assert len(game.history) == 3


@pytest.mark.parametrize("switches", SWITCHES, ids=str)
def test_replay_plays_the_history_again(switches: dict[str, Any]) -> None:
    game = finish(ct.Game(ct.make_rules("mainland", 3, **switches), seed=9))
    again = game.replay()
    assert again.history == []
    assert again == ct.Game(game.rules, seed=9)
    for action in game.history:
        again.play(action)
    assert again == game
    assert again.games.tobytes() == game.games.tobytes()


# --- illegal actions ------------------------------------------------------------------------


@pytest.mark.parametrize(
    "action",
    ["hand of another", "AX", "", 52, -1, 2**70, None, 1.5, "1.5", [0], b"AS", float("nan")],
    ids=repr,
)
@pytest.mark.parametrize("actions", [0, 7, 1000], ids=["start", "middle", "end"])
def test_an_illegal_action_names_the_legal_ones_and_changes_nothing(
    action: Any, actions: int
) -> None:
    game = partly_played(ct.make_rules("mainland", 3), 1, actions)
    if action == "hand of another":
        action = ct.card_list(game.games["captured"][0].max() or game.games["table"][0])[0]
    before, history = game.games.tobytes(), game.history
    with pytest.raises(ct.IllegalActionError) as raised:
        game.play(action)
    assert isinstance(raised.value, ValueError)
    assert (game.games.tobytes(), game.history) == (before, history)
    if isinstance(action, int):
        named = ct.card_name(action) if 0 <= action < 52 else str(action)
        assert str(raised.value).startswith(f"{named} is not a ")
        for number in game.legal:
            assert f"{ct.card_name(number)} ({number})" in str(raised.value)
        assert game.legal or "the game is over" in str(raised.value)


def test_r5_a_target_that_cannot_be_taken_is_illegal() -> None:
    game = ct.Game.from_text(
        "hands 3H / KS | table 7S 7D 9C 9H | stock AS 4C", ct.make_rules("mainland", 2)
    )
    game.play("3H")
    with pytest.raises(ct.IllegalActionError, match=r"9C is not .*: 7D \(25\), 7S \(27\)$"):
        game.play("9C")
    game.play("7D")
    with pytest.raises(ct.IllegalActionError, match=r"7S is not .*: 9C \(32\), 9H \(34\)$"):
        game.play("7S")


def test_numbers_of_numpy_are_actions_too() -> None:
    game = ct.Game(ct.make_rules(), seed=0)
    game.play(np.int64(game.legal[0]))  # type: ignore[arg-type]  # what policies return
    game.play(np.uint8(game.legal[0]))  # type: ignore[arg-type]  # what decks hold
    assert {type(action) for action in game.history} == {int}


def test_a_truth_value_is_no_card() -> None:
    deck = [1, *range(2, 52), 0]  # the leader holds the card of number 1
    game = ct.Game(ct.make_rules("mainland", 2), deck=deck, dealer=1)
    assert 1 in game.legal
    with pytest.raises(ct.IllegalActionError):
        game.play(True)


# --- seeds ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "seed", [0, 1, 2**32, 2**64 - 1, 2**80, np.int64(3), np.uint8(200)], ids=repr
)
def test_every_integer_from_0_up_is_a_seed(seed: Any) -> None:
    rules = ct.make_rules("taiwan")
    game = ct.Game(rules, seed=seed)
    assert game == ct.Game(rules, seed=int(seed))
    assert sorted(game.games["deck"][0]) == list(range(52))


@pytest.mark.parametrize("seed", [-1, True, False, 1.5, 1.0, "1", [1], np.float64(2)], ids=repr)
def test_nothing_else_is_a_seed(seed: Any) -> None:
    with pytest.raises(ValueError, match="seed must be an integer from 0 up"):
        ct.Game(ct.make_rules(), seed=seed)


def test_different_seeds_give_different_games_and_none_a_random_one() -> None:
    rules = ct.make_rules("mainland", 2)
    assert len({ct.Game(rules, seed=seed).text for seed in range(100)}) == 100
    assert len({ct.Game(rules).text for _ in range(5)}) == 5


@pytest.mark.parametrize("table", TABLES, ids=table_id)
def test_a_game_of_a_batch_is_the_game_of_its_seed(table: tuple[str, int]) -> None:
    rules = ct.make_rules(*table)
    games = ct.new_games(rules, 5, seed=2**64 - 2)
    for index in range(5):
        game = ct.Game(rules, seed=2**64 - 2 + index)
        assert games[index].tobytes() == game.games[0].tobytes()


PLAY_SEVEN = """
import random
import numpy as np
import chinese_ten_env as ct

if DISTURB:
    np.random.seed(9)
    random.seed(9)
states = [repr(np.random.get_state()), repr(random.getstate())]
rng = np.random.default_rng(3)
for variant, row in ct.VARIANTS.items():
    for players in row.num_players:
        rules = ct.make_rules(variant, players, match="net", target=30)
        game = ct.Game(rules, seed=7)
        print(game.text)
        while not game.is_over:
            print(game.legal, ct.observe(game.games, packed=True))
            game.play(game.legal[0])
        print(game.text, game.scores)
        games = ct.new_games(rules, 3, seed=7)
        ct.play(games, ct.make_policy("random")(ct.views(games), rng))
        print(games["legal"], ct.determinize(ct.views(games), rng)["hands"])
        ct.Game(rules)
print(states == [repr(np.random.get_state()), repr(random.getstate())])
"""


def test_a_seed_is_the_same_game_in_every_process() -> None:
    outputs = [
        run_python(PLAY_SEVEN.replace("DISTURB", disturb), PYTHONHASHSEED=hash_seed)
        for disturb, hash_seed in (("False", "1"), ("True", "2"))
    ]
    assert outputs[0] == outputs[1]
    # The global generators of NumPy and of Python are as they were.
    assert outputs[0].endswith("True\n")


# --- JSON -----------------------------------------------------------------------------------

READ_AND_FINISH = """
import sys
import chinese_ten_env as ct

for line in sys.stdin.read().splitlines():
    game = ct.Game.from_json(line)
    assert game.to_json() == line
    print(game.text)
    while not game.is_over:
        game.play(game.legal[0])
    print(game.to_json())
"""


def test_json_is_read_in_another_process_and_played_on() -> None:
    games = [
        partly_played(ct.make_rules(*table, **SWITCHES[number % len(SWITCHES)]), number, number * 5)
        for number, table in enumerate(TABLES)
    ]
    sent = "\n".join(game.to_json() for game in games)
    expected = []
    for game in games:
        expected.append(game.text)
        expected.append(finish(game).to_json())
    assert run_python(READ_AND_FINISH, sent).splitlines() == expected


@settings(max_examples=60, deadline=None)
@given(rules=every_rules, seed=st.integers(0, 2**70), actions=st.integers(0, 120))
def test_json_gives_the_game_back(rules: ct.Rules, seed: int, actions: int) -> None:
    game = partly_played(rules, seed, actions)
    again = ct.Game.from_json(game.to_json())
    assert again == game
    assert again.rules == rules
    assert again.history == game.history
    assert again.games.tobytes() == game.games.tobytes()
    assert again.to_json() == game.to_json()


def test_json_of_a_game_set_up_from_text() -> None:
    rules = ct.make_rules("taiwan", capture="hand")
    middle = partly_played(rules, 2, 15)
    game = ct.Game.from_text(middle.text, rules)
    for _ in range(4):
        game.play(game.legal[-1])
    again = ct.Game.from_json(game.to_json())
    assert again == game
    assert again.history == game.history
    assert finish(again) == finish(game)


def tampered(path: tuple[str, ...], change: Callable[[Any], Any] | None) -> str:
    """Return the JSON of a game with one field changed, or left out."""
    rules = ct.make_rules("taiwan", capture="hand", red_five_trigger="pile", red_five_levy=20)
    data = json.loads(partly_played(rules, 3, 9).to_json())
    part = data
    for name in path[:-1]:
        part = part[name]
    if change is None:
        del part[path[-1]]
    else:
        part[path[-1]] = change(part[path[-1]])
    return json.dumps(data)


def test_the_game_to_tamper_with_is_sound() -> None:
    assert len(ct.Game.from_json(tampered(("format",), lambda number: number)).history) == 9


def other_legal_action(actions: str) -> str:
    """Change the last action to another one that was legal there."""
    game = partly_played(
        ct.make_rules("taiwan", capture="hand", red_five_trigger="pile", red_five_levy=20), 3, 8
    )
    *before, last = actions.split()
    choices = [ct.card_name(number) for number in game.legal]
    choices.remove(last)
    return " ".join([*before, choices[0]])


@pytest.mark.parametrize(
    ("path", "change", "message"),
    [
        ("format", lambda old: old + 1, "format: 2"),
        ("format", lambda old: old - 1, "format: 0"),
        ("format", str, "format: '1'"),
        ("format", bool, "format: True"),
        ("rules", list, "rules: dict"),
        ("rules variant", lambda old: "tawain", "rules: unknown variant 'tawain'"),
        ("rules variant", lambda old: ["taiwan"], "rules: unknown variant"),
        ("rules num_players", lambda old: 3, "rules: taiwan is a game for 4 players, not 3"),
        ("rules num_players", str, "rules: taiwan is a game for 4 players, not '4'"),
        ("rules capture", lambda old: "foot", "rules: unknown capture"),
        ("rules sweep_reverses", lambda old: 1, "rules: sweep_reverses"),
        ("rules red_five_levy", lambda old: -10, "rules: red_five_levy"),
        ("rules target", lambda old: 50, "rules: target"),
        ("rules red_five_levy", str, "rules: red_five_levy"),
        ("start", str, "start: dict"),
        ("start deck", lambda old: old[:-3], "deck: 52 cards are needed, not 51"),
        ("start deck", lambda old: old[:-2] + old[:2], "deck: card .. is named twice"),
        ("start deck", lambda old: old + " AS", "deck: card AS is named twice"),
        ("start deck", lambda old: old[:-2] + "1S", "deck: '1S' is not a card"),
        ("start deck", str.split, "deck: str"),
        ("start dealer", lambda old: 4, "dealer"),
        ("start dealer", lambda old: -1, "dealer"),
        ("start dealer", str, "dealer: int"),
        ("start dealer", bool, "dealer: int"),
        ("start dealer", lambda old: (old + 1) % 4, "actions: number 1|position"),
        ("start rng", lambda old: -1, "rng"),
        ("start rng", lambda old: 2**64, "rng"),
        ("start rng", float, "rng: int"),
        ("start", lambda old: old | {"position": "hands - "}, "table: the section"),
        ("actions", lambda old: "KX " + old, "actions: number 1: 'KX' is not a card"),
        ("actions", lambda old: old + " " + old[:2], "actions: number 10: .. is not a legal"),
        ("actions", lambda old: old[:-3], "position: start and actions lead to"),
        ("actions", other_legal_action, "position: start and actions lead to"),
        ("actions", str.split, "actions: str"),
        ("position", lambda old: old.replace("player ", "player 1"), "position: start and"),
        ("position", lambda old: "", "position: start and"),
        ("position", lambda old: None, "position: str"),
        *((name, None, name) for name in ("format", "rules", "start", "actions", "position")),
        *((f"start {name}", None, name) for name in ("deck", "dealer", "rng")),
        *(
            (f"rules {name}", None, name)
            for name in ("variant", "num_players", "capture", "leader", "sweep_reverses", "peek")
        ),
        *(
            (f"rules {name}", None, name)
            for name in ("red_five_levy", "red_five_trigger", "match", "target")
        ),
    ],
)
def test_tampered_json_is_refused_with_the_name_of_the_field(
    path: str, change: Callable[[Any], Any] | None, message: str
) -> None:
    text = tampered(tuple(path.split()), change)
    with pytest.raises(ValueError, match=message):
        ct.Game.from_json(text)


@pytest.mark.parametrize("text", ["", "{", "AS", "[]", "1", "null", '"{}"', "{}"], ids=repr)
def test_what_is_not_the_json_of_a_game_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"JSON|format"):
        ct.Game.from_json(text)


# --- text -----------------------------------------------------------------------------------


@settings(max_examples=200, deadline=None)
@given(rules=every_rules, seed=st.integers(0, 2**64), actions=st.integers(0, 150))
def test_a_position_is_read_as_it_is_written(rules: ct.Rules, seed: int, actions: int) -> None:
    game = partly_played(rules, seed, actions)
    again = ct.Game.from_text(game.text, rules)
    assert again.text == game.text
    assert again == game
    assert (again.player, again.legal, again.phase) == (game.player, game.legal, game.phase)
    assert (again.points, again.scores, again.deals) == (game.points, game.scores, game.deals)
    # What lies behind a position is not in it: the order of open cards, the generator.
    names = set(ct.GAME.names or ()) - {"deck", "played", "rng", "settled"}
    assert {
        name for name in names if not np.array_equal(again.games[name], game.games[name])
    } == set()
    for player in range(rules.num_players):
        assert np.array_equal(ct.observe(again.games, player), ct.observe(game.games, player))
    if rules.match == "deal":
        assert finish(again) == finish(game)


LINE = "hands 3H 2C / KS QD | table 7S 7D | stock AS 4C 9H 9C"


def test_the_line_to_spoil_is_sound() -> None:
    game = ct.Game.from_text(LINE, ct.make_rules("mainland", 2))
    assert game.text == (
        "hands 2C 3H / QD KS | table 7D 7S | stock AS 4C 9H 9C | piles - / - | player 0 | dealer 0"
    )


@pytest.mark.parametrize(
    ("line", "section"),
    [
        (LINE.replace("hands", "hand"), "'hand'.*hands"),
        (LINE.replace("hands 3H 2C / KS QD | ", ""), "hands"),
        (LINE.replace("table 7S 7D | ", ""), "table"),
        (LINE.replace(" | stock AS 4C 9H 9C", ""), "stock"),
        ("", "hands"),
        (LINE.replace("/ KS QD", ""), "hands"),
        (LINE.replace("/ KS QD", "/ KS QD /"), "hands"),
        (LINE.replace("KS", "KX"), "hands"),
        (LINE.replace("KS", "?"), "hands"),
        (LINE.replace("KS", "QD"), "hands"),
        (LINE.replace("KS", "3H"), "hands"),
        (LINE.replace("3H 2C", "-"), "hands"),
        (LINE.replace("KS QD", "KS"), "hands|stock"),
        (LINE.replace("7S", "7X"), "table"),
        (LINE.replace("7S", "7D"), "table"),
        (LINE.replace("7S", "3H"), "table"),
        (LINE.replace("7S", "?"), "table"),
        (LINE.replace("AS", "XX"), "stock"),
        (LINE.replace("AS", "?"), "stock"),
        (LINE.replace("AS", "4C"), "stock"),
        (LINE.replace("AS", "7S"), "stock"),
        (LINE.replace("AS 4C 9H 9C", "-"), "hands|stock"),
        (LINE.replace("9H 9C", ct.card_names((1 << 52) - (1 << 37))), "stock"),
        (LINE + " | stock JS", "stock"),
        (LINE + " | piles 8S", "piles"),
        (LINE + " | piles 8S / 8S", "piles"),
        (LINE + " | piles 8S 8S / -", "piles"),
        (LINE + " | piles 8S / 3H", "piles"),
        (LINE + " | piles 8X / -", "piles"),
        (LINE + " | player 2", "player"),
        (LINE + " | player -1", "player"),
        (LINE + " | player", "player"),
        (LINE + " | player one", "player"),
        (LINE + " | player --1", "player"),
        (LINE + " | player ²", "player"),
        (LINE + " | dealer 2", "dealer"),
        (LINE + " | dealer 1.0", "dealer"),
        (LINE + " | direction back", "direction"),
        (LINE + " | direction", "direction"),
        (LINE + " | pending 3D", "pending"),
        (LINE + " | pending 3D from table", "pending"),
        (LINE + " | pending 3D 3S from hand", "pending"),
        (LINE + " | pending 3H from stock", "pending"),
        (LINE + " | pending TD from stock", "pending"),
        (LINE + " | pending XX from stock", "pending"),
        (LINE + " | pending - from stock", "pending"),
        (LINE + " | laid 7S", "laid"),
        (LINE + " | laid 7S / 7S", "laid"),
        (LINE + " | laid KC / -", "laid"),
        (LINE + " | laid XX / -", "laid"),
        (LINE + " | last KC", "last"),
        (LINE + " | last KX / -", "last"),
        (LINE + " | last KC / ", "last"),
        (LINE + " | last KC KD / -", "last"),
        (LINE + " | levier 2", "levier"),
        (LINE + " | levier x", "levier"),
        (LINE + " | deals -1", "deals"),
        (LINE + " | deals x", "deals"),
        (LINE + f" | deals {2**31}", "deals"),
        (LINE + " | scores 1", "scores"),
        (LINE + " | scores 1 / x", "scores"),
        (LINE + " | scores 1 / 1.5", "scores"),
        (LINE + " | scores 1 / --1", "scores"),
        (LINE + f" | scores 1 / {2**31}", "scores"),
        (LINE + " | over", "over"),
        (LINE + " | peeker 1", "'peeker'"),
    ],
)
def test_a_bad_position_is_refused_with_the_name_of_the_section(line: str, section: str) -> None:
    with pytest.raises(ValueError, match=section):
        ct.Game.from_text(line, ct.make_rules("mainland", 2))


def test_a_view_cannot_be_read_as_a_game() -> None:
    game = ct.Game(ct.make_rules("mainland", 2), seed=1)
    line = ct.text.format_game(game.view(0))
    with pytest.raises(ValueError, match="hands: a view with hidden cards"):
        ct.Game.from_text(line, game.rules)
