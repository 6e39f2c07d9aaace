"""Golden games: three annotated games of every table, kept as text.

``pytest --update-golden`` writes them anew; read the difference as the change that it is. A seed or
a game that changes here is a new version of the environments.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

import chinese_ten_env as ct
from chinese_ten_env.cards import PARTNERS
from tests.helpers import TABLES, mixed, table_id, with_layout
from tests.reference import SAME_RANK

FOLDER = Path(__file__).parent / "golden"
OBSERVED_EVERY = 8
"""Decisions between two looks at what everybody observes."""

HEAD = """\
# {variant}, {num_players} players: three games. Written by `pytest --update-golden`.
#
# Each decision: its number, who decides, the action, and the legal cards it was chosen from; what
# happened; the position after it, as Game.text writes it. After every {every} decisions, what each
# player observes: the rows of the packed observation that are not empty, as row:bits, in hex.
"""


def names(cards: int) -> str:
    """Write a set of cards as text."""
    return ct.card_names(cards) or "-"


def first_game(rules: ct.Rules) -> ct.Game:
    """Return a game dealt from a seed."""
    return ct.Game(rules, seed=TABLES.index((rules.variant, rules.num_players)))


def forced_game(rules: ct.Rules, same_rank: int) -> ct.Game:
    """Return a game whose layout holds so many cards of one of the ranks 5, T, J, Q, K."""
    table = TABLES.index((rules.variant, rules.num_players))
    seeded = ct.Game(rules, seed=1000 * same_rank + table)
    deck = [int(number) for number in seeded.games["deck"][0]]
    rank = SAME_RANK[(table + same_rank) % len(SAME_RANK)]
    of_rank = [number for number in deck if ct.card_name(number)[0] == rank]
    others = [number for number in deck if ct.card_name(number)[0] != rank]
    layout = of_rank[:same_rank] + others[: 4 - same_rank]
    return ct.Game(rules, deck=with_layout(deck, layout), dealer=table % rules.num_players)


def three_games(variant: str, num_players: int) -> Iterator[tuple[str, ct.Game]]:
    """Yield the title and the start of each game of a table."""
    rules = ct.make_rules(variant, num_players)
    yield "a deal from a seed", first_game(rules)
    by_hand = ct.make_rules(variant, num_players, capture="hand")
    yield "three of a kind on the layout", forced_game(by_hand, 3)
    yield "four of a kind on the layout", forced_game(rules, 4)


def what_happened(before: ct.Game, action: int, now: ct.Game) -> str:
    """Tell in words what an action did."""
    old, new = before.games[0], now.games[0]
    words, table = [], int(old["table"])

    def resolve(card: int, stays: str) -> None:
        nonlocal table
        targets = table & int(PARTNERS[card])
        if targets and new["pending"] == 1 << card:
            words.append(f"{ct.card_name(card)} can take {names(targets)}")
        elif targets:
            # Of several targets one would have been chosen: these are taken together.
            words.append(f"{ct.card_name(card)} takes {names(targets)}")
            table &= ~targets
        else:
            words.append(f"{ct.card_name(card)} {stays}")
            table |= 1 << card

    if before.phase == "play":
        resolve(action, "laid")
    else:
        words.append(f"{names(old['pending'])} takes {ct.card_name(action)}")
        table &= ~(1 << action)
    # The stock card is turned unless it lies there already or the hand card must choose first.
    if before.phase != "take with stock" and now.phase != "take with hand":
        words.append("flip")
        resolve(int(old["deck"][28 + old["turn"]]), "stays")
    assert table == new["table"]
    if new["levier"] != old["levier"]:
        words.append("a red five has taken the other")
    if new["direction"] != old["direction"]:
        words.append("sweep: the direction turns")
    return ", ".join(words).replace("flip, ", "flip ")


def observations(game: ct.Game) -> Iterator[str]:
    """Yield lines that tell what each player observes."""
    for player in range(game.rules.num_players):
        rows = ct.observe(game.games, player, packed=True)[0]
        parts = [f"{row}:{int(bits):013x}" for row, bits in enumerate(rows) if bits]
        for start in range(0, len(parts), 8):
            label = f"observed by {player}" if start == 0 else ""
            yield f"    {label:13} {' '.join(parts[start : start + 8])}"


def played(title: str, game: ct.Game) -> Iterator[str]:
    """Yield the lines of one game, played by a fixed rule."""
    rules, start = game.rules, game.games[0]
    switches = " ".join(
        f"{name}={getattr(rules, name)}"
        for name in ("capture", "leader", "sweep_reverses", "peek", "red_five_levy")
    )
    yield f"== {title}"
    yield f"rules  {rules.variant} {rules.num_players} {switches}"
    yield "deck   " + " ".join(ct.card_name(int(number)) for number in start["deck"])
    yield f"dealer {start['dealer']}"
    yield f"    {game.text}"
    decision = 0
    while not game.is_over:
        legal, before = game.legal, game.clone()
        action = legal[mixed(decision) % len(legal)]
        game.play(action)
        decision += 1
        yield (
            f"{decision:2}  player {before.player} {before.phase}: {ct.card_name(action)}"
            f" of {' '.join(ct.card_name(number) for number in legal)}"
        )
        yield f"    {what_happened(before, action, game)}"
        yield f"    {game.text}"
        if decision % OBSERVED_EVERY == 0 or game.is_over:
            yield from observations(game)
    yield "points " + " ".join(str(points) for points in game.points)
    yield "net    " + " ".join(f"{net:+.4g}" for net in game.net)


@pytest.mark.parametrize(("variant", "num_players"), TABLES, ids=map(table_id, TABLES))
def test_golden_games(variant: str, num_players: int, update_golden: bool) -> None:
    head = HEAD.format(variant=variant, num_players=num_players, every=OBSERVED_EVERY)
    games = [
        "\n".join(played(title, game)) + "\n" for title, game in three_games(variant, num_players)
    ]
    text = "\n".join([head, *games])
    path = FOLDER / f"{table_id((variant, num_players))}.txt"
    if update_golden:
        FOLDER.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")
    assert path.exists(), "write it with pytest --update-golden"
    golden = path.read_text(encoding="utf-8")
    assert text.splitlines() == golden.splitlines()


def test_every_golden_file_belongs_to_a_table(update_golden: bool) -> None:
    known = set(map(table_id, TABLES))
    strays = [path for path in FOLDER.glob("*") if path.stem not in known]
    if update_golden:
        while strays:
            strays.pop().unlink()
    assert strays == []
