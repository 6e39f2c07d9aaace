"""What is drawn of a game: nothing is missing, nothing hidden shows, and every door shows it."""

from __future__ import annotations

import copy
import pickle
import random
import re
import sys
import warnings
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
import pytest
from gymnasium.utils.env_checker import check_env
from pettingzoo.test import api_test
from pettingzoo.test.render_test import render_test
from pettingzoo.utils.wrappers import RecordVideo

import chinese_ten_env as ct
from chinese_ten_env import chinese_ten_v0
from chinese_ten_env.cards import RANKS
from chinese_ten_env.render import Board, draw
from chinese_ten_env.render.ansi import text
from chinese_ten_env.render.layout import SIZE, layout
from chinese_ten_env.render.modes import MODES, Screen
from chinese_ten_env.render.raster import rgb
from chinese_ten_env.render.shapes import DARK, FOUR_COLOURS, LIGHT, paint_of
from tests.helpers import TABLES, table_id

SVG = "{http://www.w3.org/2000/svg}"
WORDS = {"A": "ace", "T": "10", "J": "jack", "Q": "queen", "K": "king"}
SUIT_WORDS = {"C": "clubs", "D": "diamonds", "H": "hearts", "S": "spades"}
SIZES = (SIZE, (360, 640), (320, 600), (600, 480), (1280, 720))

every_table = pytest.mark.parametrize("table", TABLES, ids=table_id)


@pytest.fixture(autouse=True)
def no_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let windows open where there is no screen, and waste no time between pictures."""
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setattr("chinese_ten_env.render.modes.FPS", 10_000)


def positions(table: tuple[str, int], seed: int, **switches: Any) -> Iterator[ct.Game]:
    """Yield a game after each action of a random play, the start and the end included."""
    game, rng = ct.Game(ct.make_rules(*table, **switches), seed=seed), random.Random(seed)
    yield game
    while not game.is_over:
        game.play(rng.choice(game.legal))
        yield game


def in_words(name: str) -> str:
    """Return a card in words: ace of spades."""
    return f"{WORDS.get(name[0], name[0])} of {SUIT_WORDS[name[1]]}"


def cards(svg: str) -> dict[str, ET.Element]:
    """Return the groups of a drawing that are cards, by name; a card that is there twice fails."""
    found: dict[str, ET.Element] = {}
    for element in ET.fromstring(svg).iter():
        if "data-card" in element.attrib:
            name = element.attrib["data-card"]
            assert name not in found, f"{name} is there twice"
            assert "card" in element.attrib["class"].split()
            found[name] = element
    return found


def legal_names(svg: str) -> set[str]:
    """Return the names of the cards that can be clicked."""
    return {name for name, card in cards(svg).items() if "legal" in card.attrib["class"].split()}


def framed(svg: str, colour: str) -> set[str]:
    """Return the names of the cards with a frame in a colour."""
    return {
        name
        for name, card in cards(svg).items()
        if any(shape.attrib.get("fill") == colour for shape in card.iter(f"{SVG}rect"))
    }


def open_cards(game: ct.Game, viewer: int | None) -> set[str]:
    """Return the cards that can be seen, from the record and not from the model of drawings."""
    record = game.games[0] if viewer is None else game.view(viewer)[0]
    bits = int(record["table"]) | int(record["pending"])
    for seat in range(game.rules.num_players):
        bits |= int(record["hands"][seat]) | int(record["captured"][seat])
    peeker = int(record["peeker"])
    if peeker >= 0 and viewer in (None, peeker) and game.games["turn"][0] < 24:
        bits |= 1 << int(game.games["deck"][0, -1])
    return set(ct.card_names(bits).split())


# --- the board and its drawing --------------------------------------------------------------


@every_table
def test_every_open_card_is_drawn_once_and_no_other(table: tuple[str, int]) -> None:
    for number, game in enumerate(positions(table, 1)):
        for viewer in (None, number % game.rules.num_players):
            svg = game.svg(viewer, clickable=True)
            seen = open_cards(game, viewer)
            drawn = cards(svg)
            assert set(drawn) == seen
            for name in ct.card_names(range_of_cards()).split():
                assert (in_words(name) in svg) == (name in seen), name
                if name in seen:
                    assert drawn[name].attrib["aria-label"].startswith(in_words(name))


def range_of_cards() -> int:
    """Return all cards as a bitboard."""
    return (1 << 52) - 1


@every_table
def test_legal_cards_can_be_clicked_and_only_they(table: tuple[str, int]) -> None:
    for game in positions(table, 2, capture="hand"):
        on_turn = {ct.card_name(number) for number in game.legal}
        for viewer in (None, *range(game.rules.num_players)):
            svg = game.svg(viewer, clickable=True)
            mine = viewer is None or viewer == game.player
            assert legal_names(svg) == (on_turn if mine else set())
            for name, card in cards(svg).items():
                role = "button" if name in on_turn and mine else "img"
                assert card.attrib["role"] == role
                assert ("tabindex" in card.attrib) == (role == "button")
        assert not legal_names(game.svg())


@every_table
def test_table_cards_tell_what_captures_them(table: tuple[str, int]) -> None:
    for game in positions(table, 3):
        drawn = cards(game.svg(clickable=True))
        on_table = set(ct.card_names(game.games["table"][0]).split())
        captured_by = {
            name: set(card.attrib["data-captured-by"].split())
            for name, card in drawn.items()
            if "data-captured-by" in card.attrib
        }
        assert set(captured_by) <= on_table
        if game.phase != "play":
            assert not captured_by
            continue
        for number in game.legal:
            name = ct.card_name(number)
            takes = {other for other in on_table if make_ten(name, other)}
            assert {other for other, by in captured_by.items() if name in by} == takes
            label = drawn[name].attrib["aria-label"]
            assert all(in_words(other) in label for other in takes)
            assert ("captures" in label) == bool(takes)
            after = game.clone()
            after.play(number)
            chooses = after.phase == "take with hand"
            assert (" or " in label) == chooses
            if not chooses:
                assert not takes & set(ct.card_names(after.games["table"][0]).split())


def make_ten(name: str, other: str) -> bool:
    """Tell whether one card captures the other, by the rules as they are written."""
    rank, second = (RANKS.index(card[0]) + 1 for card in (name, other))
    return rank + second == 10 or rank == second >= 10


@every_table
def test_the_table_is_grouped_by_what_captures_what(table: tuple[str, int]) -> None:
    for game in positions(table, 4):
        groups = game.board().groups
        assert sorted(card for group in groups for card in group) == ct.card_list(
            game.games["table"][0]
        )
        for number, group in enumerate(groups):
            names = [ct.card_name(card) for card in group]
            others = [ct.card_name(card) for other in groups[number + 1 :] for card in other]
            assert all(name[0] == names[0][0] or make_ten(name, names[0]) for name in names)
            assert not any(make_ten(name, other) for name in names for other in others)


@every_table
def test_what_a_viewer_cannot_tell_apart_looks_the_same(table: tuple[str, int]) -> None:
    rng = np.random.default_rng(5)
    for game in positions(table, 5):
        for viewer in range(game.rules.num_players):
            seen = game.board(viewer)
            view = game.view(viewer)
            for one in ct.determinize(np.repeat(view, 2), rng):
                games = np.array([one], dtype=view.dtype)
                other = board_of(games, game.rules, viewer)
                assert other == seen
                assert draw(other, clickable=True) == draw(seen, clickable=True)
            assert board_of(view, game.rules, None) == seen


def board_of(games: npt.NDArray[Any], rules: ct.Rules, viewer: int | None) -> Board:
    """Return the board of a batch of one."""
    from chinese_ten_env.render import board

    return board(games, rules, viewer)


def test_another_seat_of_a_view_is_refused() -> None:
    game = ct.Game(ct.make_rules("taiwan"), seed=1)
    with pytest.raises(ValueError, match="own player"):
        board_of(game.view(0), game.rules, 1)
    with pytest.raises(ValueError, match="seats"):
        game.board(4)


@every_table
def test_the_last_move_is_marked(table: tuple[str, int]) -> None:
    for game in positions(table, 6):
        record = game.games[0]
        last = {int(record["last_played"]), int(record["last_flipped"])} - {-1}
        for viewer in (None, 0):
            svg = game.svg(viewer)
            targets = framed(svg, LIGHT.turn)
            names = {ct.card_name(number) for number in last}
            assert framed(svg, LIGHT.last) == names - targets
            assert bool(targets) == (game.phase not in ("play", "over"))


@every_table
def test_seats_hold_what_the_game_holds(table: tuple[str, int]) -> None:
    for game in positions(table, 7, match="net", target=5):
        record = game.games[0]
        board = game.board(0)
        assert [seat.points for seat in board.seats] == game.points
        assert [float(seat.net) for seat in board.seats] == pytest.approx(game.net)
        assert [seat.score for seat in board.seats] == game.scores
        assert sum(seat.total for seat in board.seats) == 0
        assert [seat.player for seat in board.seats if seat.dealer] == [int(record["dealer"])]
        on_turn = [seat.player for seat in board.seats if seat.on_turn]
        assert on_turn == ([] if game.is_over else [game.player])
        for seat in board.seats:
            assert len(seat.hand) + seat.hidden == record["hand_sizes"][seat.player]
            assert (seat.hidden == 0) or seat.player != 0
        assert board.is_over == game.is_over
        assert (board.deals, board.phase) == (game.deals, game.phase)


def test_the_levy_is_told() -> None:
    line = "hands 5D 2C / 3C 4C / 6C 7C / 8C 9C | table 5H KC | stock KD 2H 3H 4H 6H 7H 8H 9H"
    game = ct.Game.from_text(
        line + " | piles - / - / - / - | player 0 | dealer 0", ct.make_rules("taiwan")
    )
    assert [seat.levy for seat in game.board().seats] == [0, 0, 0, 0]
    game.play("5D")
    assert [seat.levy for seat in game.board().seats] == [30, -10, -10, -10]


@every_table
def test_all_pieces_lie_inside_and_seats_do_not_overlap(table: tuple[str, int]) -> None:
    for number, game in enumerate(positions(table, 8, match="raw", target=100)):
        width, height = size = SIZES[number % len(SIZES)]
        pieces = layout(game.board(number % 2), LIGHT, size)
        for piece in pieces:
            assert piece.x >= 0 <= piece.y
            assert piece.x + piece.width <= width
            assert piece.y + piece.height <= height
        wide = [piece for piece in pieces[1:] if 'fill="' + LIGHT.plate in piece.body]
        seats = sorted((p for p in wide if p.width > 180 and p.height > 60), key=lambda p: p.y)
        assert len(seats) >= game.rules.num_players
        for place, piece in enumerate(seats):
            assert not any(overlap(piece, other) for other in seats[place + 1 :])


@every_table
def test_no_card_covers_the_rank_of_another(table: tuple[str, int]) -> None:
    for number, game in enumerate(positions(table, 13)):
        pieces = layout(game.board(number % 2), LIGHT, SIZES[number % len(SIZES)])
        drawn = [piece for piece in pieces if "data-card" in piece.attributes]
        for place, piece in enumerate(drawn):
            corner = piece._replace(width=piece.width * 2 // 5, height=piece.height // 2)
            assert not any(overlap(corner, other) for other in drawn[place + 1 :])


def overlap(one: Any, other: Any) -> bool:
    """Tell whether two pieces cover one another."""
    return bool(
        one.x < other.x + other.width
        and other.x < one.x + one.width
        and one.y < other.y + other.height
        and other.y < one.y + one.height
    )


def test_a_drawing_needs_nothing_else() -> None:
    for theme in ("light", "dark", "auto"):
        for game in positions(("taiwan", 4), 9):
            svg = game.svg(theme=theme, clickable=True)
            assert not re.search(
                r"<(text|script|image|use|a|foreignObject)\b|href|url\(|@import", svg
            )
            assert svg.count("http") == 1  # the name space
            ET.fromstring(svg)


def test_themes_write_their_colours() -> None:
    game = ct.Game(ct.make_rules(), seed=1)
    light, dark, auto = (game.svg(theme=theme) for theme in ("light", "dark", "auto"))
    assert LIGHT.felt in light
    assert DARK.felt in dark
    assert "var(" not in light + dark
    assert "<style>" not in light + dark
    style = auto[auto.index("<style>") : auto.index("</style>")]
    assert "prefers-color-scheme: dark" in style
    assert LIGHT.felt in style
    assert DARK.felt in style
    assert not re.search(r"#[0-9a-f]{6}", auto.replace(style, ""))
    assert game._repr_svg_() == auto
    with pytest.raises(ValueError, match="light, dark, auto"):
        game.svg(theme="blue")


def test_four_colours_differ() -> None:
    game = ct.Game(ct.make_rules(), seed=1)
    assert FOUR_COLOURS["diamonds"] in game.svg(four_colours=True)
    assert FOUR_COLOURS["diamonds"] not in game.svg()
    paint = paint_of("dark", True)
    assert len({paint.clubs, paint.diamonds, paint.hearts, paint.spades}) == 4


def test_names_and_sizes_are_checked_and_escaped() -> None:
    game = ct.Game(ct.make_rules(), seed=1)
    svg = game.svg(names=["<Ann & Bob>", "greedy" * 40], size=(360, 640))
    root = ET.fromstring(svg)
    assert "<Ann & Bob>" in root.attrib["aria-label"]
    assert (root.attrib["width"], root.attrib["height"]) == ("360", "640")
    with pytest.raises(ValueError, match="2 players"):
        game.svg(names=["alone"])
    with pytest.raises(ValueError, match="320 x 600"):
        game.svg(size=(100, 100))


def test_the_root_tells_what_it_shows() -> None:
    game = ct.Game(ct.make_rules("taiwan"), seed=1)
    for clickable, role in ((False, "img"), (True, "group")):
        root = ET.fromstring(game.svg(clickable=clickable))
        assert root.attrib["role"] == role
        assert "to play" in root.attrib["aria-label"]
        assert root.findtext(f"{SVG}title") == "Chinese Ten, taiwan, 4 players"


# --- text -----------------------------------------------------------------------------------


@every_table
def test_coloured_text_is_the_same_text(table: tuple[str, int]) -> None:
    for game in positions(table, 10):
        for player in (None, 0):
            plain, coloured = game.show(player), game.show(player, colour=True)
            assert re.sub(r"\x1b\[\d+m", "", coloured) == plain
            red = set(re.findall(r"\x1b\[31m(\w\w)", coloured))
            assert red == {name for name in open_cards(game, player) if name[1] in "DH"}
            assert plain == text(game.board(player))
        assert str(game) == game.show()


# --- pixels ---------------------------------------------------------------------------------


def test_pixels_have_their_shape_and_are_the_same_each_time() -> None:
    game = ct.Game(ct.make_rules("mainland", 3), seed=1)
    for size in SIZES:
        picture = rgb(game.board(), size)
        assert picture.shape == (size[1], size[0], 3)
        assert picture.dtype == np.uint8
        assert picture.flags.writeable
        np.testing.assert_array_equal(picture, rgb(game.board(), size))
    assert not np.array_equal(rgb(game.board()), rgb(game.board(), theme="dark"))


@every_table
def test_positions_that_differ_look_different(table: tuple[str, int]) -> None:
    pictures = {rgb(game.board()).tobytes() for game in positions(table, 11)}
    assert len(pictures) == sum(1 for _ in positions(table, 11))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_pixels_of_the_board_are_those_of_its_svg(theme: str) -> None:
    for number, game in enumerate(positions(("taiwan", 4), 12)):
        if number % 6:
            continue
        pieces = rgb(game.board(), theme=theme).astype(int)
        whole = rgb(game.svg(theme=theme)).astype(int)
        difference = np.abs(pieces - whole)
        assert difference.mean() < 0.5
        assert np.mean(difference > 40) < 0.002


def test_svg_is_scaled_to_the_size_asked_for() -> None:
    svg = ct.Game(ct.make_rules(), seed=1).svg()
    assert rgb(svg, (400, 300)).shape == (300, 400, 3)


# --- render modes ---------------------------------------------------------------------------

DOORS = (chinese_ten_v0.env, chinese_ten_v0.raw_env)
every_door = pytest.mark.parametrize("door", DOORS, ids=["env", "raw_env"])
KINDS: dict[str, Callable[[Any], bool]] = {
    "human": lambda shown: shown is None,
    "rgb_array": lambda shown: (shown.shape, shown.dtype) == ((600, 800, 3), np.uint8),
    "svg": lambda shown: ET.fromstring(shown).tag == f"{SVG}svg",
    "ansi": lambda shown: "player_0" in shown,
}


def test_every_mode_has_its_check() -> None:
    assert set(KINDS) == set(MODES)


@every_door
def test_pettingzoo_renders_in_every_mode(door: Callable[..., Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        render_test(lambda **named: door(variant="taiwan", **named), KINDS)


@pytest.mark.parametrize("mode", MODES)
def test_pettingzoos_api_test_holds_with_a_render_mode(mode: str) -> None:
    env = chinese_ten_v0.env(num_players=2, render_mode=mode)
    api_test(env, num_cycles=60)
    env.close()


@pytest.mark.parametrize("mode", MODES)
def test_gymnasium_renders_in_every_mode(mode: str) -> None:
    env = gymnasium.make("ChineseTen-v0", variant="taiwan", render_mode=mode)
    _, info = env.reset(seed=1)
    over = False
    while not over:
        assert KINDS[mode](env.render())
        action = env.action_space.sample(info["action_mask"])
        _, _, over, _, info = env.step(action)
    assert KINDS[mode](env.render())
    env.close()


@pytest.mark.parametrize("mode", ["human", "rgb_array", "ansi"])
def test_check_env_holds_with_a_render_mode(mode: str) -> None:
    env = gymnasium.make("ChineseTen-v0", render_mode=mode).unwrapped
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        check_env(env, skip_render_check=True)
    env.close()


def test_check_env_renders_in_every_mode() -> None:
    env = gymnasium.make("ChineseTen-v0").unwrapped
    env.action_space.seed(1)
    check_env(env)
    env.close()


def test_a_vector_environment_has_a_picture_for_each_game() -> None:
    for mode, check in KINDS.items():
        if mode == "human":
            continue
        envs = gymnasium.make_vec("ChineseTen-v0", num_envs=3, render_mode=mode)
        envs.reset(seed=1)
        shown: Any = envs.render()
        assert len(shown) == 3
        assert all(check(picture) for picture in shown)
        envs.close()
    with pytest.raises(ValueError, match="rgb_array"):
        gymnasium.make_vec("ChineseTen-v0", num_envs=3, render_mode="human")


def test_the_learner_sees_its_own_cards_only() -> None:
    env = gymnasium.make("ChineseTen-v0", seat=0, opponents="random", render_mode="svg")
    env.reset(seed=1)
    games = env.unwrapped._learner.games  # type: ignore[attr-defined]  # ours
    shown: Any = env.render()
    other = set(ct.card_names(games["hands"][0, 1]).split())
    assert not other & set(cards(shown))
    assert set(ct.card_names(games["hands"][0, 0]).split()) <= set(cards(shown))


def test_an_agent_of_the_aec_environment_sees_its_own_cards_only() -> None:
    env = chinese_ten_v0.raw_env(variant="taiwan", render_mode="svg")
    env.reset(seed=1)
    hands = [set(ct.card_names(bits).split()) for bits in env._games["hands"][0]]
    everything = cards(env.render())
    for seat, agent in enumerate(env.possible_agents):
        drawn = set(cards(env.render(agent=agent)))
        assert hands[seat] <= drawn
        assert hands[seat] <= set(everything)
        for other in {0, 1, 2, 3} - {seat}:
            assert not hands[other] & drawn


def test_a_closed_environment_draws_no_more() -> None:
    env = chinese_ten_v0.raw_env(render_mode="ansi")
    with pytest.raises(RuntimeError, match="reset"):
        env.render()
    env.reset(seed=1)
    env.close()
    with pytest.raises(RuntimeError, match="closed"):
        env.render()


# --- windows --------------------------------------------------------------------------------


def windows() -> list[Any]:
    """Return the open windows."""
    from chinese_ten_env.render import window

    return list(window._open.values())


def test_a_window_opens_at_the_reset_and_closes_twice() -> None:
    before = len(windows())
    env = gymnasium.make("ChineseTen-v0", render_mode="human")
    env.close()  # before anything was shown
    env = gymnasium.make("ChineseTen-v0", render_mode="human")
    assert len(windows()) == before
    _, info = env.reset(seed=1)
    assert len(windows()) == before + 1
    env.step(int(info["action_mask"].argmax()))
    env.close()
    assert len(windows()) == before
    env.close()


@pytest.mark.parametrize("last", [True, False])
def test_the_user_may_close_a_window(last: bool) -> None:
    import pygame

    env, other = (chinese_ten_v0.raw_env(render_mode="human") for _ in range(2))
    env.reset(seed=1)
    other.reset(seed=2)
    assert len(windows()) == 2
    if last:
        pygame.event.post(pygame.event.Event(pygame.QUIT))
    else:
        window = windows()[0]._window
        pygame.event.post(pygame.event.Event(pygame.WINDOWCLOSE, window=window))
    for _ in range(3):
        for each in (env, other):
            each.step(int(each.last()[0]["action_mask"].argmax()))
    assert len(windows()) == (0 if last else 1)
    env.close()
    other.close()
    assert not windows()


@pytest.mark.parametrize(
    "duplicate",
    [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))],
    ids=["copy", "pickle"],
)
def test_a_copy_opens_a_window_of_its_own(duplicate: Callable[[Any], Any]) -> None:
    env = chinese_ten_v0.raw_env(render_mode="human")
    env.reset(seed=1)
    other = duplicate(env)
    assert len(windows()) == 1
    other.step(int(other.last()[0]["action_mask"].argmax()))
    assert len(windows()) == 2
    other.close()
    env.step(int(env.last()[0]["action_mask"].argmax()))
    assert len(windows()) == 1
    env.close()


# --- videos ---------------------------------------------------------------------------------


def test_gymnasium_records_a_video(tmp_path: Path) -> None:
    made: Any = gymnasium.make("ChineseTen-v0", render_mode="rgb_array")
    env: Any = gymnasium.wrappers.RecordVideo(made, str(tmp_path / "videos"), fps=10)
    _, info = env.reset(seed=1)
    over = False
    while not over:
        _, _, over, _, info = env.step(int(info["action_mask"].argmax()))
    env.close()
    (video,) = tmp_path.glob("videos/*.mp4")
    assert b"ftyp" in video.read_bytes()[:16]


def test_pettingzoo_records_a_video(tmp_path: Path) -> None:
    made = chinese_ten_v0.env(render_mode="rgb_array")
    env: Any = RecordVideo(made, str(tmp_path / "videos"), fps=10)
    env.reset(seed=1)
    for agent in env.agent_iter():
        observation, _, termination, truncation, _ = env.last()
        over = termination or truncation
        mask = observation["action_mask"]
        env.step(None if over else env.action_space(agent).sample(mask))
    env.close()
    (video,) = tmp_path.glob("videos/*.mp4")
    assert b"ftyp" in video.read_bytes()[:16]


# --- without the extra ----------------------------------------------------------------------


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pygame", None)
    game = ct.Game(ct.make_rules(), seed=1)
    message = re.escape("pip install 'chinese_ten_env[render]'")
    with pytest.raises(ImportError, match=message):
        rgb(game.board())
    for mode in ("human", "rgb_array"):
        with pytest.raises(ImportError, match=message):
            Screen(mode)
        with pytest.raises(ImportError, match=message):
            chinese_ten_v0.env(render_mode=mode)
    env = chinese_ten_v0.env(render_mode="svg")  # needs nothing
    env.reset(seed=1)
    assert KINDS["svg"](env.render())
