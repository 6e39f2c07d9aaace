"""The file in which the games of the browser are kept: an SQLite database.

Each row is a game as JSON. A change names the position that it changes, so that of two tabs that
play at once one is told that it came too late, and no change is lost.
"""

from __future__ import annotations

import json
import os
import secrets
import sys
import threading
from pathlib import Path
from typing import Any, NamedTuple

from chinese_ten_env.files import open_database
from chinese_ten_env.web.session import Session

SCHEMA = 1
"""The version of the table below."""

_TABLE = """
CREATE TABLE games (
    id TEXT PRIMARY KEY, actions INTEGER NOT NULL, undone INTEGER NOT NULL,
    facts TEXT NOT NULL, game TEXT NOT NULL
) WITHOUT ROWID;
"""

_REPLAY = "{}"
"""The facts of a game that nobody plays: it was brought to be looked at."""


class Kept(NamedTuple):
    """A row of the file."""

    game: str
    facts: dict[str, Any]
    """None of a game that was brought to be looked at."""
    undone: int


class Store:
    """The games by their ids, which cannot be guessed. ValueError if the file is no such database.

    Any thread may use it.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ValueError(f"{path} cannot be opened: {error}") from error
        self._base = open_database(
            path, _TABLE, SCHEMA, "database of games", check_same_thread=False
        )
        self._lock = threading.Lock()

    def close(self) -> None:
        """Close the file."""
        self._base.close()

    def add(self, session: Session) -> str:
        """Keep a new session; return its id."""
        return self._add(session.actions, session.facts(), session.game.to_json())

    def add_replay(self, game: str) -> str:
        """Keep a game, as JSON, to be looked at; return its id."""
        return self._add(0, _REPLAY, game)

    def _add(self, actions: int, facts: str, game: str) -> str:
        key = secrets.token_urlsafe(16)
        with self._lock, self._base:
            row = (key, actions, 0, facts, game)
            self._base.execute("INSERT INTO games VALUES (?, ?, ?, ?, ?)", row)
        return key

    def find(self, key: str) -> Kept | None:
        """Return what is kept under an id."""
        query = "SELECT game, facts, undone FROM games WHERE id = ?"
        with self._lock:
            row = self._base.execute(query, (key,)).fetchone()
        return None if row is None else Kept(row[0], json.loads(row[1]), row[2])

    def change(self, key: str, actions: int, undone: int, session: Session) -> bool:
        """Keep a session in place of its position of these numbers; False if it has moved on."""
        change = (
            "UPDATE games SET actions = ?, undone = ?, game = ? "
            "WHERE id = ? AND actions = ? AND undone = ?"
        )
        new = (session.actions, session.undone, session.game.to_json())
        with self._lock, self._base:
            return self._base.execute(change, (*new, key, actions, undone)).rowcount == 1


def default_path() -> Path:
    """Return where the games of this user are kept unless told otherwise."""
    home = Path.home()
    if sys.platform == "win32":
        root = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    elif sys.platform == "darwin":
        root = home / "Library" / "Application Support"
    else:
        root = Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share")
    return root / "chinese_ten_env" / "games.sqlite"
