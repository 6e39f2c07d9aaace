"""Films and pictures of games, by the command and by the library."""

from __future__ import annotations

import subprocess
from itertools import pairwise
from pathlib import Path

import imageio.v3 as imageio
import numpy as np
import pytest
from imageio_ffmpeg import get_ffmpeg_exe
from PIL import Image, ImageSequence

import chinese_ten_env as ct
from chinese_ten_env.cli import main
from chinese_ten_env.render import draw
from chinese_ten_env.render.film import pictures, write_film
from chinese_ten_env.render.raster import rgb

SMALL = (640, 480)


@pytest.fixture(scope="module")
def game() -> ct.Game:
    """Return a game that is over."""
    played = ct.Game(ct.make_rules("mainland", 2), seed=7)
    while not played.is_over:
        played.play(played.legal[0])
    return played


@pytest.fixture
def saved(game: ct.Game, tmp_path: Path) -> Path:
    """Return the file of the game."""
    path = tmp_path / "game.json"
    path.write_text(game.to_json(), encoding="utf-8")
    return path


def test_there_is_a_picture_of_each_position(game: ct.Game) -> None:
    frames = list(pictures(game, size=SMALL))
    assert len(frames) == len(game.history) + 1
    assert {frame.shape for frame in frames} == {(480, 640, 3)}
    assert {frame.dtype for frame in frames} == {np.dtype(np.uint8)}
    np.testing.assert_array_equal(frames[0], rgb(game.replay().board(), SMALL))
    np.testing.assert_array_equal(frames[-1], rgb(game.board(), SMALL))
    for before, after in pairwise(frames):
        assert (before != after).any()


def test_a_film_of_a_player_shows_what_that_player_sees(game: ct.Game) -> None:
    first = next(pictures(game, 1, size=SMALL))
    np.testing.assert_array_equal(first, rgb(game.replay().board(1), SMALL))
    assert (first != next(pictures(game, size=SMALL))).any()


def test_a_gif_holds_all_pictures(game: ct.Game, tmp_path: Path) -> None:
    frames = list(pictures(game, size=SMALL))
    write_film(tmp_path / "film.gif", frames, fps=4)
    with Image.open(tmp_path / "film.gif") as film:
        read = [(one.convert("RGB"), one.info["duration"]) for one in ImageSequence.Iterator(film)]
    # The last picture, which stays for three seconds, is kept once.
    assert [duration for _, duration in read] == [250] * (len(frames) - 1) + [3250]
    for (picture, _), frame in zip(read, frames, strict=True):
        assert np.abs(np.asarray(picture).astype(int) - frame).mean() < 1  # it has fewer colours
    assert [one.name for one in tmp_path.iterdir()] == ["film.gif"]


def test_a_video_holds_all_pictures(game: ct.Game, tmp_path: Path) -> None:
    frames = list(pictures(game, size=SMALL))
    write_film(tmp_path / "film.mp4", frames, fps=4)
    raw = ("-f", "rawvideo", "-pix_fmt", "rgb24", "-")
    command = (get_ffmpeg_exe(), "-v", "error", "-i", str(tmp_path / "film.mp4"), *raw)
    pixels = subprocess.run(command, capture_output=True, check=True).stdout
    read = np.frombuffer(pixels, np.uint8).reshape(-1, *frames[0].shape)
    assert len(read) == len(frames) + 12  # the last picture stays for three seconds
    for shown, frame in zip(read, frames, strict=False):
        assert np.abs(shown.astype(int) - frame).mean() < 4  # it loses some
    assert [one.name for one in tmp_path.iterdir()] == ["film.mp4"]


def test_a_film_that_cannot_be_written_leaves_what_was_there(game: ct.Game, tmp_path: Path) -> None:
    path = tmp_path / "film.mp4"
    path.write_text("before", encoding="utf-8")
    frames = list(pictures(game, size=SMALL))[:2]
    with pytest.raises(ValueError, match=r"ends in \.gif or \.mp4"):
        write_film(tmp_path / "film.avi", frames)
    with pytest.raises(ValueError, match="of one size"):
        write_film(path, [frames[0], frames[1][:7]])
    assert path.read_text(encoding="utf-8") == "before"
    assert [one.name for one in tmp_path.iterdir()] == [path.name]


def test_the_command_writes_what_the_name_asks_for(
    saved: Path, game: ct.Game, tmp_path: Path
) -> None:
    command = ["replay", str(saved), "--out"]
    size = ["--size", *map(str, SMALL)]
    assert main([*command, str(tmp_path / "a.svg"), "--at", "5", "--player", "1", *size]) == 0
    earlier = game.replay()
    for card in game.history[:5]:
        earlier.play(card)
    svg = (tmp_path / "a.svg").read_text(encoding="utf-8")
    assert svg == draw(earlier.board(1), size=SMALL, theme="light")
    assert main([*command, str(tmp_path / "a.png"), "--theme", "dark", *size]) == 0
    pixels = imageio.imread(tmp_path / "a.png")[..., :3]
    np.testing.assert_array_equal(pixels, rgb(game.board(), SMALL, theme="dark"))
    assert main([*command, str(tmp_path / "a.gif"), *size]) == 0
    assert (tmp_path / "a.gif").read_bytes().startswith(b"GIF8")
    assert main([*command, str(tmp_path / "a.html")]) == 0
    assert "svg" in (tmp_path / "a.html").read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--out", "a.txt"], "the name ends in one of .html, .gif, .mp4, .svg, .png"),
        (["--out", "a.svg", "--at", "99"], "--at: from 0 to"),
        (["--out", "a.svg", "--player", "2"], "--player: from 0 to 1, not 2"),
        (["--out", "a.png", "--size", "10", "10"], "size: at least"),
        (["--out", "no/folder/a.svg"], "no/folder"),
    ],
)
def test_the_command_says_what_is_wrong(
    arguments: list[str], message: str, saved: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["replay", str(saved), *arguments]) == 2
    assert message in capsys.readouterr().err
