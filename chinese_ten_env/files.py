"""Files that are whole whatever happens: written at once or not at all, or databases."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def whole(path: Path) -> Iterator[Path]:
    """Give a place to write to, which takes the place of a file at the end if nothing is raised.

    Its name ends as that of the file, for those who go by that.
    """
    unfinished = path.with_name(f".{path.stem}.{os.getpid()}.new{path.suffix}")
    try:
        yield unfinished
        unfinished.replace(path)
    finally:
        unfinished.unlink(missing_ok=True)


def write_whole(path: Path, text: str) -> None:
    """Write a text file whole or not at all."""
    with whole(path) as unfinished:
        unfinished.write_text(text, encoding="utf-8")


def open_database(
    path: Path, tables: str, schema: int, what: str, **options: Any
) -> sqlite3.Connection:
    """Open an SQLite file, with its tables made if it is new; close it when done.

    A crash of the process loses nothing, one of the machine at most the last changes. `schema` is
    the version of the tables, `what` says in errors what the file should be, and `options` are
    those of ``sqlite3.connect``. ValueError if it is something else, or of another version.
    """
    try:
        base = sqlite3.connect(path, **options)
    except sqlite3.Error as error:
        raise ValueError(f"{path} cannot be opened: {error}") from error
    try:
        base.execute("PRAGMA journal_mode = WAL")
        base.execute("PRAGMA synchronous = NORMAL")
        version = base.execute("PRAGMA user_version").fetchone()[0]
        if version == 0:
            with base:
                base.executescript(f"{tables} PRAGMA user_version = {schema};")
        elif version != schema:
            raise ValueError(
                f"{path} has version {version} of the {what}, and this library reads {schema}"
            )
    except sqlite3.Error as error:
        base.close()
        raise ValueError(f"{path} is no {what}, or damaged: {error}") from error
    except BaseException:
        base.close()
        raise
    return base
