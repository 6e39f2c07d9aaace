"""Games as text: one line that is read and written exactly."""

from __future__ import annotations

from typing import Any

import numpy as np

from chinese_ten_env.cards import (
    CARD_NAMES,
    NUM_CARDS,
    PARTNERS,
    bitboard,
    card,
    card_list,
    card_names,
)
from chinese_ten_env.engine import (
    HIDDEN,
    NO_CARD,
    NOBODY,
    OVER,
    PLAY,
    TAKE_WITH_HAND,
    TAKE_WITH_STOCK,
    Games,
    ask_for_play,
    begin_games,
    blank_games,
    points_batch,
)
from chinese_ten_env.observation import stock_size
from chinese_ten_env.rules import HAND_CARDS, Rules

_NONE = "-"
_UNKNOWN = "?"


def _cards(bits: int) -> str:
    return card_names(bits) or _NONE


def _hand(record: Any, seat: int) -> str:
    names = card_list(int(record["hands"][seat]))
    hidden = int(record["hand_sizes"][seat]) - len(names)
    return " ".join([CARD_NAMES[number] for number in names] + [_UNKNOWN] * hidden) or _NONE


def _stock(record: Any) -> str:
    cards = record["deck"][NUM_CARDS - int(stock_size(record)) :]
    return " ".join(_UNKNOWN if c == HIDDEN else CARD_NAMES[c] for c in cards.tolist()) or _NONE


def format_game(games: Games) -> str:
    """Return the position of ``games[0]`` as one line; the rules are not in it.

    Sections are divided by ``|``, the players in a section by ``/`` in seat order, from seat 0.
    Those from ``direction`` on are left out where they say nothing. Hidden cards of a view are
    ``?``.

    ``hands 3H 2C / KS QD | table 7S 7D | stock AS 4C | piles - / - | player 0 | dealer 1``
    """
    game = games[0]
    seats = range(int(game["num_players"]))
    sections = [
        "hands " + " / ".join(_hand(game, seat) for seat in seats),
        "table " + _cards(game["table"]),
        "stock " + _stock(game),
        "piles " + " / ".join(_cards(game["captured"][seat]) for seat in seats),
        f"player {game['player']}",
        f"dealer {game['dealer']}",
    ]
    if game["direction"] < 0:
        sections.append("direction -")
    if game["pending"]:
        source = "hand" if game["phase"] == TAKE_WITH_HAND else "stock"
        sections.append(f"pending {card_names(game['pending'])} from {source}")
    laid = game["played"] & game["table"]
    if laid.any():
        sections.append("laid " + " / ".join(_cards(laid[seat]) for seat in seats))
    last = [int(game[name]) for name in ("last_played", "last_flipped")]
    if last != [NO_CARD, NO_CARD]:
        names = [_NONE if number == NO_CARD else CARD_NAMES[number] for number in last]
        sections.append("last " + " / ".join(names))
    if game["levier"] != NOBODY:
        sections.append(f"levier {game['levier']}")
    if game["deals"] and (game["phase"] != OVER or game["match"]):
        scores = " / ".join(str(game["scores"][seat]) for seat in seats)
        sections.append(f"deals {game['deals']} | scores {scores}")
    if game["phase"] == OVER:
        sections.append("over")
    return " | ".join(sections)


_SECTIONS = (
    "hands",
    "table",
    "stock",
    "piles",
    "player",
    "dealer",
    "direction",
    "pending",
    "laid",
    "last",
    "levier",
    "deals",
    "scores",
    "over",
)
_MOST = 2**31 - 1


class _Sections:
    """The sections of a line by name, with errors that name the section."""

    def __init__(self, line: str, num_players: int) -> None:
        self.num_players = num_players
        self.texts: dict[str, str] = {}
        for section in line.split("|"):
            name, _, text = section.strip().partition(" ")
            if name not in _SECTIONS:
                raise ValueError(f"unknown section {name!r}; choose from {', '.join(_SECTIONS)}")
            if name in self.texts:
                raise ValueError(f"{name}: the section stands twice")
            self.texts[name] = text.strip()

    def cards(self, name: str, text: str) -> list[int]:
        """Return the cards of a text, ``-`` for none."""
        if _UNKNOWN in text:
            raise ValueError(f"{name}: a view with hidden cards cannot be read as a game")
        words = text.split()
        try:
            numbers = [] if words == [_NONE] else [card(word) for word in words]
            bitboard(numbers)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
        return numbers

    def card(self, name: str, text: str) -> int:
        """Return the one card of a text."""
        numbers = self.cards(name, text)
        if len(numbers) != 1:
            raise ValueError(f"{name}: one card is needed, not {text.strip()!r}")
        return numbers[0]

    def parts(self, name: str, count: int, what: str) -> list[str]:
        """Return the parts of a section between the ``/``."""
        texts = [text.strip() for text in self.texts[name].split("/")]
        if len(texts) != count or not all(texts):
            raise ValueError(f"{name}: {what} divided by '/', not {self.texts[name]!r}")
        return texts

    def per_player(self, name: str) -> list[str]:
        """Return a section's part for each player."""
        return self.parts(
            name, self.num_players, f"one part for each of {self.num_players} players"
        )

    def sets(self, name: str) -> list[int]:
        """Return a set of cards for each player; none if the section is missing."""
        if name not in self.texts:
            return [0] * self.num_players
        return [int(bitboard(self.cards(name, text))) for text in self.per_player(name)]

    def integer(self, name: str, text: str, low: int, high: int) -> int:
        """Return the number that a text of a section gives."""
        try:
            number = int(text)
        except ValueError:
            number = low - 1
        if not low <= number <= high:
            raise ValueError(f"{name}: an integer from {low} to {high}, not {text!r}")
        return number


def parse_game(line: str, rules: Rules) -> Games:
    """Return the game [1] that a line of `format_game` describes.

    Needs the sections hands, table and stock; piles default to none, player and dealer to 0. Not
    all cards must be somewhere, so a test can leave out those that do not matter, but none may be
    in two places. ValueError names the section.
    """
    sections = _Sections(line, rules.num_players)
    for name in ("hands", "table", "stock"):
        if name not in sections.texts:
            raise ValueError(f"{name}: the section is missing")
    games = blank_games(rules, 1)
    game = games[0]
    last_seat = rules.num_players - 1
    game["dealer"] = sections.integer("dealer", sections.texts.get("dealer", "0"), 0, last_seat)
    # Any deal sets all that follows from the dealer; the places of the cards are set below.
    begin_games(games, range(NUM_CARDS), int(game["dealer"]))
    game["rng"] = 0

    hands, piles = sections.sets("hands"), sections.sets("piles")
    table = int(bitboard(sections.cards("table", sections.texts["table"])))
    stock = sections.cards("stock", sections.texts["stock"])
    pending, phase = _read_pending(sections)
    _check_places(
        {
            "hands": hands,
            "table": [table],
            "stock": [1 << c for c in stock],
            "piles": piles,
            "pending": [pending],
        }
    )
    turn = HAND_CARDS - len(stock) - (phase == TAKE_WITH_STOCK)
    if turn < 0:
        raise ValueError(f"stock: at most {HAND_CARDS} cards, a pending one included")
    turns = len(stock) - (phase == TAKE_WITH_HAND)
    if sum(hand.bit_count() for hand in hands) != turns:
        raise ValueError(f"hands: with this stock the players must hold {turns} cards together")
    laid = sections.sets("laid")
    if sum(laid) & ~table or sum(cards.bit_count() for cards in laid) != sum(laid).bit_count():
        raise ValueError("laid: only cards that lie on the table, and each laid by one player")
    game["hands"] = game["hand_sizes"] = game["captured"] = game["played"] = 0
    for seat in range(rules.num_players):
        game["hands"][seat] = hands[seat]
        game["hand_sizes"][seat] = hands[seat].bit_count()
        game["captured"][seat] = piles[seat]
        game["played"][seat] = laid[seat]
    game["deck"] = HIDDEN
    game["deck"][NUM_CARDS - len(stock) :] = stock
    game["table"], game["pending"], game["turn"] = table, pending, turn
    direction = sections.texts.get("direction", "+")
    if direction not in ("+", "-"):
        raise ValueError(f"direction: + or -, not {direction!r}")
    game["direction"] = 1 if direction == "+" else -1
    game["levier"] = sections.integer(
        "levier", sections.texts.get("levier", "-1"), NOBODY, last_seat
    )
    game["last_played"], game["last_flipped"] = _read_last(sections)
    game["deals"] = sections.integer("deals", sections.texts.get("deals", "0"), 0, _MOST)
    if "scores" in sections.texts:
        for seat, text in enumerate(sections.per_player("scores")):
            game["scores"][seat] = sections.integer("scores", text, -_MOST, _MOST)

    player = sections.integer("player", sections.texts.get("player", "0"), 0, last_seat)
    game["player"] = player
    if "over" in sections.texts:
        if stock or table or pending:
            raise ValueError("over: hands, stock and table must be empty at the end")
        _end(games)
    elif phase == PLAY:
        if not hands[player]:
            raise ValueError(f"hands: player {player} is on turn and must hold a card")
        ask_for_play(game, player)
    else:
        targets = table & int(PARTNERS[pending.bit_length() - 1])
        if targets.bit_count() < 2:
            raise ValueError("pending: a card that can take at least two cards of the table")
        game["phase"], game["legal"] = phase, targets
    return games


def _end(games: Games) -> None:
    game = games[0]
    game["phase"], game["legal"] = OVER, 0
    settled = np.zeros((1, int(game["num_players"])), dtype=np.int64)
    points_batch(games, settled)
    for seat, points in enumerate(settled[0]):
        game["settled"][seat] = points
        if not game["match"]:
            game["scores"][seat] = points
    if not game["match"]:
        game["deals"] = 1


def _read_pending(sections: _Sections) -> tuple[int, int]:
    text = sections.texts.get("pending")
    if text is None:
        return 0, PLAY
    words = text.split()
    if len(words) != 3 or words[1] != "from" or words[2] not in ("hand", "stock"):
        raise ValueError("pending: such as '9D from hand' or '9D from stock'")
    phase = TAKE_WITH_HAND if words[2] == "hand" else TAKE_WITH_STOCK
    return 1 << sections.card("pending", words[0]), phase


def _read_last(sections: _Sections) -> tuple[int, int]:
    if "last" not in sections.texts:
        return NO_CARD, NO_CARD
    played, flipped = (
        NO_CARD if text == _NONE else sections.card("last", text)
        for text in sections.parts("last", 2, "the last card played and the last card flipped")
    )
    return played, flipped


def _check_places(places: dict[str, list[int]]) -> None:
    seen: dict[int, str] = {}
    for name, sets in places.items():
        for bits in sets:
            for number in card_list(bits):
                if number in seen:
                    raise ValueError(
                        f"{name}: {CARD_NAMES[number]} stands twice, in {seen[number]} too"
                    )
                seen[number] = name
