"""One game, for people and for code that plays a game at a time."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import numpy as np

from chinese_ten_env.cards import CARD_NAMES, card_list, parse_card
from chinese_ten_env.engine import (
    HIDDEN,
    OVER,
    PHASES,
    Games,
    IllegalActionError,
    begin_games,
    blank_games,
    copy_games,
    illegal_action,
    legal_actions,
    new_games,
    play_batch,
    points,
)
from chinese_ten_env.observation import view
from chinese_ten_env.rules import SWITCHES, Rules, make_rules
from chinese_ten_env.text import format_game, parse_game

if TYPE_CHECKING:
    from chinese_ten_env.render.board import Board

FORMAT = 1
"""The version of the JSON form."""


class Game:
    """A game of Chinese Ten: a deal, or a match of several.

    ``Game(rules, seed=7)`` deals from a seed, ``Game(rules, deck=[...], dealer=0)`` from a deck of
    names or numbers, top first; the dealer is drawn from the seed unless given. The same rules,
    seed, deck, dealer and actions always give the same game. ValueError says what is wrong with a
    deck or a dealer.
    """

    def __init__(
        self,
        rules: Rules,
        seed: int | None = None,
        deck: Any = None,
        dealer: int | None = None,
    ) -> None:
        self._set(rules, new_games(rules, 1, seed, deck, dealer))

    def _set(self, rules: Rules, games: Games) -> None:
        self.rules = rules
        self.games = games
        """The state as a batch of one, a GAME record [1]: what kernels and policies work on."""
        self._start = copy_games(games)
        self._history: list[int] = []

    @classmethod
    def from_text(cls, line: str, rules: Rules) -> Game:
        """Return the game at a position as `text` writes it; ValueError names the section."""
        game = cls.__new__(cls)
        game._set(rules, parse_game(line, rules))
        return game

    # --- what is ----------------------------------------------------------------------------

    @property
    def player(self) -> int:
        """The seat on turn; at the end, the one that moved last."""
        return int(self.games["player"][0])

    @property
    def legal(self) -> list[int]:
        """The cards that may be played or taken now, in ascending order; none at the end."""
        return card_list(self.games["legal"][0])

    @property
    def phase(self) -> str:
        """What is asked for: "play", "take with hand" or "take with stock"; or "over"."""
        return PHASES[self.games["phase"][0]]

    @property
    def is_over(self) -> bool:
        """Whether the game, and in match play the match, has ended."""
        return bool(self.games["phase"][0] == OVER)

    @property
    def points(self) -> list[int]:
        """[P] the points of this deal so far; levies count once the game is over."""
        return [int(value) for value in points(self.games, self.rules)[0]]

    @property
    def net(self) -> list[float]:
        """[P] points less par; sums to zero at the end."""
        return [value - self.rules.par for value in self.points]

    @property
    def scores(self) -> list[int]:
        """[P] the points of all finished deals together."""
        return [int(value) for value in self.games["scores"][0, : self.rules.num_players]]

    @property
    def deals(self) -> int:
        """The number of finished deals."""
        return int(self.games["deals"][0])

    @property
    def history(self) -> list[int]:
        """The actions so far."""
        return list(self._history)

    @property
    def text(self) -> str:
        """The position as one line, which `from_text` reads."""
        return format_game(self.games)

    def view(self, player: int) -> Games:
        """Return what a player sees: a GAME record [1], with all that is hidden taken out."""
        return view(self.games, player)

    # --- what happens -----------------------------------------------------------------------

    def play(self, action: int | str) -> None:
        """Play a card of the hand, or choose the card to take, by name or number.

        IllegalActionError names the legal actions, and the game is as it was.
        """
        legal = int(self.games["legal"][0])
        try:
            number = parse_card(action)
        except ValueError as error:
            raise IllegalActionError(f"{error}; {legal_actions(legal)}") from None
        if not legal >> number & 1:
            raise IllegalActionError(illegal_action(number, legal))
        play_batch(self.games, np.array((number,)))
        self._history.append(number)

    def clone(self) -> Game:
        """Return an independent copy, history included."""
        game = type(self).__new__(type(self))
        game.rules, game.games = self.rules, copy_games(self.games)
        game._start, game._history = copy_games(self._start), self._history.copy()
        return game

    def replay(self) -> Game:
        """Return a new game at the start of this one, to play `history` again."""
        game = type(self).__new__(type(self))
        game._set(self.rules, copy_games(self._start))
        return game

    def __eq__(self, other: object) -> bool:
        """Tell whether the rules and positions are equal, whatever led to them."""
        if not isinstance(other, Game):
            return NotImplemented
        return self.rules == other.rules and self.text == other.text

    __hash__ = None  # type: ignore[assignment]  # mutable, so not hashable

    # --- text and JSON ----------------------------------------------------------------------

    def __str__(self) -> str:
        return self.show()

    def __repr__(self) -> str:
        return f"<Game {self.rules.variant} {self.rules.num_players}: {self.text}>"

    def board(self, player: int | None = None) -> Board:
        """Return what there is to see, or what a player sees: what all drawings are made from."""
        from chinese_ten_env.render.board import board  # not needed to play

        return board(self.games, self.rules, player)

    def show(self, player: int | None = None, *, colour: bool = False) -> str:
        """Return the board as text, or as a player sees it, hidden cards as ``?``.

        ``colour=True`` colours the cards by ANSI escapes, for a terminal.
        """
        from chinese_ten_env.render.ansi import text

        return text(self.board(player), colour=colour)

    def svg(self, player: int | None = None, **options: Any) -> str:
        """Return a drawing as SVG, or what a player sees; options as of `render.draw`."""
        from chinese_ten_env.render.svg import draw

        return draw(self.board(player), **options)

    def _repr_svg_(self) -> str:
        """Return the drawing that a notebook shows, light or dark as the notebook is."""
        return self.svg(theme="auto")

    def to_json(self) -> str:
        """Return the game as JSON: rules, deal, actions and, as checks, position and points."""
        start = self._start[0]
        origin: dict[str, Any] = {"rng": int(start["rng"])}
        if HIDDEN in start["deck"]:
            origin["position"] = format_game(self._start)
        else:
            origin["deck"] = " ".join(CARD_NAMES[number] for number in start["deck"])
            origin["dealer"] = int(start["dealer"])
        switches = {name: getattr(self.rules, name) for name in SWITCHES}
        return json.dumps(
            {
                "format": FORMAT,
                "rules": {
                    "variant": self.rules.variant,
                    "num_players": self.rules.num_players,
                    **switches,
                },
                "start": origin,
                "actions": " ".join(CARD_NAMES[number] for number in self._history),
                "position": self.text,
                "points": self.points,
            }
        )

    @classmethod
    def from_json(cls, text: str) -> Game:
        """Return the game that `to_json` wrote, played to where it was.

        ValueError names the field that is missing, of another format version, or inconsistent.
        """
        try:
            data = json.loads(text)
        except json.JSONDecodeError as error:
            raise ValueError(f"not JSON: {error}") from None
        if not isinstance(data, dict):
            raise ValueError(f"a JSON object is needed, not {type(data).__name__}")
        version = data.get("format")
        if version is True or version != FORMAT or not isinstance(version, int):
            raise ValueError(f"format: {version!r} is unknown; this version reads {FORMAT}")
        game = cls.__new__(cls)
        rules = _read_rules(_field(data, "rules", dict))
        game._set(rules, _read_start(_field(data, "start", dict), rules))
        for number, name in enumerate(_field(data, "actions", str).split()):
            try:
                game.play(name)
            except IllegalActionError as error:
                raise ValueError(f"actions: number {number + 1}: {error}") from None
        if _field(data, "position", str) != game.text:
            raise ValueError(
                f"position: start and actions lead to {game.text!r}, not to {data['position']!r}"
            )
        if _field(data, "points", list) != game.points:
            raise ValueError(f"points: the rules give {game.points}, not {data['points']}")
        return game


def _field(data: dict[str, Any], name: str, kind: type) -> Any:
    value = data.get(name)
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ValueError(f"{name}: {kind.__name__} is needed, not {value!r}")
    return value


def _read_rules(data: dict[str, Any]) -> Rules:
    missing = [name for name in ("variant", "num_players", *SWITCHES) if name not in data]
    if missing:
        raise ValueError(f"rules: {missing[0]} is missing")
    try:
        return make_rules(**data)
    except (TypeError, ValueError) as error:
        raise ValueError(f"rules: {error}") from None


def _read_start(data: dict[str, Any], rules: Rules) -> Games:
    rng = _field(data, "rng", int)
    if not 0 <= rng < 2**64:
        raise ValueError(f"rng: an integer of 64 bits, not {rng}")
    if "position" in data:
        games = parse_game(_field(data, "position", str), rules)
    else:
        games = blank_games(rules, 1)
        begin_games(games, _field(data, "deck", str), _field(data, "dealer", int))
    games["rng"] = rng
    return games
