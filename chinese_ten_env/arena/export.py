"""Every game of an arena as a Parquet file, which pandas and polars read in one line."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from chinese_ten_env.arena.duplicate import scaled_nets
from chinese_ten_env.arena.journal import Journal
from chinese_ten_env.arena.lineup import Lineup, Outcome
from chinese_ten_env.arena.regret import judgings
from chinese_ten_env.arena.workers import Field
from chinese_ten_env.files import whole

SCHEMA = 1
"""The version of the columns, which the file holds as ``chinese_ten_schema``."""

COLUMNS = {
    "lineup": "the policies at the table, joined by ' | '",
    "deal": "the number of the deal, from 0 on; the same cards for all lineups and seatings",
    "deck": "the deal is that of Game(rules, seed=deck)",
    "seating": "the number of the seating, from 0 on",
    "deals": "1, or in match play the deals of the match",
    "policy_0": "who sat in seat 0; so on for each seat",
    "points_0": "what seat 0 won, levies included; so on for each seat",
    "net_0": "the same above an even share of all points; so on for each seat",
}
"""What each column means."""

REGRET_COLUMNS = {
    "lineup": COLUMNS["lineup"],
    "deal": COLUMNS["deal"],
    "deck": COLUMNS["deck"],
    "seating": COLUMNS["seating"],
    "decision": "the number of the decision in the deal, from 0 on",
    "turn": "the turn of the deal, from 0 to 23",
    "seat": "who decided",
    "policy": "which policy that is",
    "card": "the card that was played or taken, as a number",
    "best": "the best card, both players knowing all cards; `card` itself if none is better",
    "regret": "by how many net points it is better",
}
"""What each column of the regrets means."""

_ROWS = 1 << 17
"""Games in a group of rows at least: small groups take more place."""


def require_pyarrow() -> Any:
    """Return pyarrow with its Parquet part; ImportError names the extra."""
    try:
        import pyarrow.parquet
    except ImportError:
        raise ImportError(
            "Parquet files need pyarrow: pip install 'chinese_ten_env[arena]'"
        ) from None
    return pyarrow


def write_games(
    field: Field, journal: Journal, parts: list[list[tuple[int, int]]], path: Path
) -> None:
    """Write all games of those parts of each lineup that were played, lineup by lineup.

    The file is written whole or not at all, in pieces that bound the memory. The same games give
    the same bytes.
    """
    arrow = require_pyarrow()
    schema = _schema(arrow, field)
    with (
        whole(path) as unfinished,
        arrow.parquet.ParquetWriter(unfinished, schema, compression="zstd") as writer,
    ):
        waiting: list[Any] = []
        for batch in _batches(arrow, schema, field, journal, parts):
            waiting.append(batch)
            if sum(len(one) for one in waiting) >= _ROWS:
                writer.write_table(arrow.Table.from_batches(waiting).combine_chunks())
                waiting = []
        if waiting:
            writer.write_table(arrow.Table.from_batches(waiting).combine_chunks())


def write_regrets(
    field: Field,
    journal: Journal,
    parts: list[list[tuple[int, int]]],
    deals: int,
    path: Path,
) -> None:
    """Write what the decisions of the first so many deals of each lineup cost.

    The file is written whole or not at all.
    """
    arrow = require_pyarrow()
    names = list(field.names)
    titles = [" | ".join(field.names_of(number)) for number in range(len(field.lineups))]
    text = arrow.dictionary(arrow.int32(), arrow.string())
    kinds = {"deal": arrow.int64(), "deck": arrow.uint64(), "regret": arrow.float64()}
    small = {"seating", "decision", "turn", "seat", "card", "best"}
    schema = arrow.schema(
        [
            (name, arrow.int16() if name in small else kinds.get(name, text))
            for name in REGRET_COLUMNS
        ],
        metadata={"chinese_ten_schema": str(SCHEMA)},
    )
    batches = []
    for number, own in enumerate(parts):
        lineup = field.lineup(number)
        members = np.array(field.lineups[number], dtype=np.int32)
        for job in judgings(number, own, deals):
            rows = journal.regrets(field.names_of(number), job.start, job.stop)
            if rows is None:
                continue
            who = members[lineup.seats[rows["seating"], rows["seat"]]]
            columns = {name: rows[name] for name in rows.dtype.names or ()}
            columns |= {
                "lineup": arrow.DictionaryArray.from_arrays(
                    np.full(len(rows), number, np.int32), titles
                ),
                "deck": rows["deal"].astype(np.uint64) + np.uint64(lineup.first_deck),
                "policy": arrow.DictionaryArray.from_arrays(who, names),
            }
            arrays = [
                arrow.array(np.ascontiguousarray(columns[one.name]), one.type)
                if isinstance(columns[one.name], np.ndarray)
                else columns[one.name]
                for one in schema
            ]
            batches.append(arrow.RecordBatch.from_arrays(arrays, schema=schema))
    with (
        whole(path) as unfinished,
        arrow.parquet.ParquetWriter(unfinished, schema, compression="zstd") as writer,
    ):
        writer.write_table(arrow.Table.from_batches(batches, schema).combine_chunks())


def _schema(arrow: Any, field: Field) -> Any:
    text = arrow.dictionary(arrow.int32(), arrow.string())
    columns = [
        ("lineup", text),
        ("deal", arrow.int64()),
        ("deck", arrow.uint64()),
        ("seating", arrow.int16()),
        ("deals", arrow.int32()),
    ]
    kinds = (("policy", text), ("points", arrow.int32()), ("net", arrow.float64()))
    for name, kind in kinds:
        columns += [(f"{name}_{seat}", kind) for seat in range(field.rules.num_players)]
    return arrow.schema(columns, metadata={"chinese_ten_schema": str(SCHEMA)})


def _batches(
    arrow: Any,
    schema: Any,
    field: Field,
    journal: Journal,
    parts: list[list[tuple[int, int]]],
) -> Iterator[Any]:
    titles = [" | ".join(field.names_of(number)) for number in range(len(field.lineups))]
    seats = field.rules.num_players
    for number, own in enumerate(parts):
        names = field.names_of(number)
        lineup = field.lineup(number)
        played = journal.parts(names)
        for start, stop in (part for part in own if part in played):
            outcome = journal.read(names, seats, start, stop)
            yield _batch(arrow, schema, field, lineup, (titles, number), start, outcome)


def _batch(
    arrow: Any,
    schema: Any,
    field: Field,
    lineup: Lineup,
    title: tuple[list[str], int],
    start: int,
    outcome: Outcome,
) -> Any:
    """Return the games of a part as a batch of rows."""
    deals, seatings, seats = outcome.scores.shape
    titles, number = title
    rows = deals * seatings
    deal = np.repeat(np.arange(start, start + deals), seatings)
    arrays = [
        arrow.DictionaryArray.from_arrays(np.full(rows, number, np.int32), titles),
        deal,
        deal.astype(np.uint64) + np.uint64(lineup.first_deck),
        np.tile(np.arange(seatings, dtype=np.int16), deals),
        outcome.deals.ravel(),
    ]
    members = np.array(field.lineups[number], dtype=np.int32)
    for seat in range(seats):
        who = np.tile(members[lineup.seats[:, seat]], deals)
        arrays.append(arrow.DictionaryArray.from_arrays(who, list(field.names)))
    nets = scaled_nets(outcome, field.rules) / field.rules.num_players
    arrays += [outcome.scores[..., seat].ravel() for seat in range(seats)]
    arrays += [nets[..., seat].ravel() for seat in range(seats)]
    return arrow.RecordBatch.from_arrays([arrow.array(array) for array in arrays], schema=schema)
