"""The file in which an arena keeps what has been played: nothing that is done is lost.

It is an SQLite database, so that after a crash, also of the machine, it holds whole parts and no
half ones. Only the process that leads the arena writes to it.
"""

from __future__ import annotations

import json
import zlib
from contextlib import closing
from pathlib import Path
from typing import Any

import numpy as np

from chinese_ten_env.arena.lineup import Outcome
from chinese_ten_env.arena.regret import REGRET, Regrets
from chinese_ten_env.files import open_database
from chinese_ten_env.policies import PolicyError

SCHEMA = 2
"""The version of the tables below."""

_TABLES = """
CREATE TABLE facts (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE parts (
    lineup TEXT NOT NULL, start INTEGER NOT NULL, stop INTEGER NOT NULL,
    scores BLOB NOT NULL, deals BLOB NOT NULL, decisions BLOB NOT NULL, seconds BLOB NOT NULL,
    PRIMARY KEY (lineup, start, stop)
) WITHOUT ROWID;
CREATE TABLE regrets (
    lineup TEXT NOT NULL, start INTEGER NOT NULL, stop INTEGER NOT NULL, rows BLOB NOT NULL,
    PRIMARY KEY (lineup, start, stop)
) WITHOUT ROWID;
CREATE TABLE failures (
    lineup TEXT NOT NULL, start INTEGER NOT NULL, stop INTEGER NOT NULL,
    policy TEXT NOT NULL, message TEXT NOT NULL, deal INTEGER, decision INTEGER,
    PRIMARY KEY (lineup, start, stop)
) WITHOUT ROWID;
"""

Names = tuple[str, ...]
"""The policies of a lineup, by which its parts are found."""


class Journal:
    """What has been played, part by part. ValueError if the file is no such journal."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._base = open_database(path, _TABLES, SCHEMA, "journal of an arena")

    def close(self) -> None:
        """Close the file."""
        self._base.close()

    # --- what is played here

    def facts(self) -> dict[str, Any]:
        """Return what was noted of the arena; nothing of a new one."""
        with closing(self._base.execute("SELECT name, value FROM facts")) as rows:
            return {name: json.loads(value) for name, value in rows}

    def note(self, facts: dict[str, Any]) -> None:
        """Note facts of the arena, in place of those of the same names."""
        with self._base:
            self._base.executemany(
                "INSERT OR REPLACE INTO facts VALUES (?, ?)",
                [(name, json.dumps(value)) for name, value in facts.items()],
            )

    # --- parts

    def add(self, names: Names, start: int, stop: int, outcome: Outcome) -> None:
        """Keep a part that has been played."""
        arrays = (
            outcome.scores.astype("<i4"),
            outcome.deals.astype("<i4"),
            outcome.decisions.astype("<i8"),
            outcome.seconds.astype("<f8"),
        )
        blobs = [zlib.compress(array.tobytes(), 1) for array in arrays]
        with self._base:
            self._base.execute(
                "INSERT OR REPLACE INTO parts VALUES (?, ?, ?, ?, ?, ?, ?)",
                (_key(names), start, stop, *blobs),
            )

    def parts(self, names: Names) -> set[tuple[int, int]]:
        """Return where the parts of a lineup begin and end."""
        query = "SELECT start, stop FROM parts WHERE lineup = ?"
        with closing(self._base.execute(query, (_key(names),))) as rows:
            return set(rows)

    def read(self, names: Names, seats: int, start: int, stop: int) -> Outcome:
        """Return what came out of a part for so many seats; KeyError if it was not played."""
        query = (
            "SELECT scores, deals, decisions, seconds FROM parts "
            "WHERE lineup = ? AND start = ? AND stop = ?"
        )
        row = self._base.execute(query, (_key(names), start, stop)).fetchone()
        if row is None:
            raise KeyError(f"{', '.join(names)} have not played the deals {start} to {stop - 1}")
        scores, deals, decisions, seconds = (zlib.decompress(blob) for blob in row)
        return Outcome(
            np.frombuffer(scores, "<i4").reshape(stop - start, -1, seats),
            np.frombuffer(deals, "<i4").reshape(stop - start, -1),
            np.frombuffer(decisions, "<i8"),
            np.frombuffer(seconds, "<f8"),
        )

    # --- regrets

    def add_regrets(self, names: Names, start: int, stop: int, rows: Regrets) -> None:
        """Keep what the decisions of some deals cost."""
        blob = zlib.compress(rows.tobytes(), 1)
        with self._base:
            self._base.execute(
                "INSERT OR REPLACE INTO regrets VALUES (?, ?, ?, ?)",
                (_key(names), start, stop, blob),
            )

    def regrets(self, names: Names, start: int, stop: int) -> Regrets | None:
        """Return what the decisions of some deals cost; None if that is not known."""
        query = "SELECT rows FROM regrets WHERE lineup = ? AND start = ? AND stop = ?"
        row = self._base.execute(query, (_key(names), start, stop)).fetchone()
        return None if row is None else np.frombuffer(zlib.decompress(row[0]), REGRET)

    # --- failures

    def add_failure(self, names: Names, start: int, stop: int, error: PolicyError) -> None:
        """Keep what went wrong in a part."""
        row = (_key(names), start, stop, error.policy, str(error), error.deal, error.decision)
        with self._base:
            self._base.execute("INSERT OR REPLACE INTO failures VALUES (?, ?, ?, ?, ?, ?, ?)", row)

    def failures(self) -> list[dict[str, Any]]:
        """Return what went wrong, in the order of lineups and deals."""
        columns = ("lineup", "start", "stop", "policy", "message", "deal", "decision")
        query = f"SELECT {', '.join(columns)} FROM failures ORDER BY lineup, start"
        with closing(self._base.execute(query)) as rows:
            found = [dict(zip(columns, row, strict=True)) for row in rows]
        return [row | {"lineup": json.loads(row["lineup"])} for row in found]

    def forgive(self) -> None:
        """Forget all failures, so that what failed is tried again."""
        with self._base:
            self._base.execute("DELETE FROM failures")


def _key(names: Names) -> str:
    return json.dumps(list(names), ensure_ascii=False)
