"""A standing table of policies: whoever is added plays those that are there, and nobody twice."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from typing import Any

from chinese_ten_env.arena.crews import PROCESSES
from chinese_ten_env.arena.duplicate import check_count, choose_rules, play
from chinese_ten_env.arena.tournament import CrossPlay, cross_play, load
from chinese_ten_env.files import write_whole
from chinese_ten_env.policies import POLICIES, PRETRAINED, SEARCHES, make_policy
from chinese_ten_env.rules import SWITCHES, Rules

FIRST = ("random", "greedy", "pimc:64", PRETRAINED)
"""Who is on a new leaderboard."""

BOARD = "leaderboard.json"
"""The file in the folder of a leaderboard that says what is played there, and by whom."""

SCHEMA = 1
"""The version of that file."""

_COPIES = "policies"


@dataclass(frozen=True)
class Entrant:
    """A policy of a leaderboard."""

    name: str
    policy: str
    """The name by which `make_policy` knows it, or where in the folder its copy is."""
    since: str
    """The day on which it was added, as 2026-11-30."""
    is_file: bool
    """Whether it is a copy of an ONNX file or of a run."""


class Leaderboard:
    """A standing table of policies for one set of rules, in a folder that holds all of it.

    A folder without one gets a new one, on which random, greedy, pimc:64 and pretrained stand.
    `rules` are those of a new one, or stand for those of one that is there; so do `deals`, `seed`.
    ValueError says what is wrong with the arguments, or does not fit what is there.
    """

    def __init__(
        self,
        folder: str | Path,
        variant: str = "mainland",
        num_players: int | None = None,
        *,
        rules: Rules | None = None,
        deals: int | None = None,
        seed: int | None = None,
        **switches: Any,
    ) -> None:
        self.folder = Path(folder)
        self.rules = choose_rules(rules, variant, num_players, switches)
        path = self.folder / BOARD
        if path.exists():
            known = _read(path)
            self._compare(known, seed)
            self.seed, self.deals = int(known["seed"]), int(known["deals"])
            self.entrants = tuple(Entrant(**entrant) for entrant in known["entrants"])
            if deals is not None:
                check_count("deals", deals, 1)
                self.deals = max(self.deals, int(deals))
            return
        self.deals, self.seed = 1000 if deals is None else deals, 0 if seed is None else seed
        check_count("deals", self.deals, 1)
        check_count("seed", self.seed, 0)
        today = date.today().isoformat()
        self.entrants = tuple(Entrant(name, name, today, is_file=False) for name in FIRST)
        for entrant in self.entrants:
            make_policy(entrant.policy, self.rules)
        self.folder.mkdir(parents=True, exist_ok=True)
        self._save()

    def _compare(self, known: dict[str, Any], seed: int | None) -> None:
        here = _facts(self.rules) | ({} if seed is None else {"seed": seed})
        for name, value in here.items():
            if known[name] != value:
                raise ValueError(
                    f"{self.folder} is a leaderboard with {name} {known[name]!r}, not {value!r}; "
                    "choose another folder"
                )

    def _save(self) -> None:
        entrants = [asdict(entrant) for entrant in self.entrants]
        known = {"schema": SCHEMA, **_facts(self.rules), "seed": self.seed, "deals": self.deals}
        text = json.dumps(known | {"entrants": entrants}, indent=1, ensure_ascii=False)
        write_whole(self.folder / BOARD, text + "\n")

    def add(self, policy: str | Path, name: str | None = None) -> Entrant:
        """Add a policy and return its entry; `play` lets it play.

        `policy` is a name, such as ``"pimc:256"``, an ONNX file, or the folder of a complete run.
        Of files a copy is kept, so that the table can be played on when they are gone. It must play
        one deal first. To add what is there changes nothing. ValueError if it cannot play, or if
        another policy bears its name.
        """
        text = str(policy)
        is_name = text in (*POLICIES, PRETRAINED) or text.split(":")[0] in SEARCHES
        path = Path(policy)
        if is_name and any(Path(part).exists() for part in text.split(":")[1:]):
            raise ValueError(f"{text} plays by a file, and only whole files are kept: add {text!r}")
        name = name or (text if is_name else path.resolve().stem)
        make_policy(policy, self.rules)
        known = {entrant.name: entrant for entrant in self.entrants}
        if name in known:
            if self._is_the_same(known[name], policy, is_name):
                return known[name]
            raise ValueError(
                f"another policy named {name!r} is on the leaderboard; choose another name"
            )
        opponent = FIRST[1]
        play([policy, opponent], rules=self.rules, deals=1, names=[name, f"{opponent} (2)"])
        entry = Entrant(name, text, date.today().isoformat(), is_file=False)
        if not is_name:
            entry = Entrant(name, self._keep(path, name), entry.since, is_file=True)
        self.entrants = (*self.entrants, entry)
        self._save()
        return entry

    def withdraw(self, name: str) -> None:
        """Take a policy off the leaderboard; KeyError if it is not there. Its games are kept."""
        if name not in [entrant.name for entrant in self.entrants]:
            names = ", ".join(entrant.name for entrant in self.entrants)
            raise KeyError(f"no policy {name!r} on the leaderboard: {names}")
        self.entrants = tuple(entrant for entrant in self.entrants if entrant.name != name)
        self._save()

    def result(self) -> CrossPlay | None:
        """Return what was last played; None before the first time."""
        return load(self.folder)

    @property
    def is_complete(self) -> bool:
        """Whether everybody has played everybody."""
        result = self.result()
        names = sorted(entrant.name for entrant in self.entrants)
        return (
            result is not None
            and not result.failures
            and (list(result.names), result.deals) == (names, self.deals)
        )

    def play(
        self,
        *,
        workers: int = 0,
        backend: str = PROCESSES,
        address: str | None = None,
        limit: float | None = None,
        progress: Callable[[int, int], None] | None = None,
        command: str | None = None,
    ) -> CrossPlay:
        """Play what is missing, write the reports and return the result, as `cross_play` does.

        The arguments are those of `cross_play`.
        """
        policies = [
            str(self.folder / entrant.policy) if entrant.is_file else entrant.policy
            for entrant in self.entrants
        ]
        self._save()  # more deals may have been asked for
        return cross_play(
            policies,
            names=[entrant.name for entrant in self.entrants],
            rules=self.rules,
            deals=self.deals,
            seed=self.seed,
            folder=self.folder,
            workers=workers,
            backend=backend,
            address=address,
            limit=limit,
            progress=progress,
            command=command,
        )

    def _keep(self, path: Path, name: str) -> str:
        """Copy an ONNX file, or what of a run plays, and return where it is in the folder."""
        digest = hashlib.sha256(b"".join(_content(path))).hexdigest()[:8]
        plain = re.sub(r"[^\w.-]", "_", name)
        place = Path(_COPIES, f"{plain}-{digest}{path.suffix}")
        into = self.folder / place
        into.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            unfinished = into.with_name(into.name + ".new")
            shutil.rmtree(unfinished, ignore_errors=True)
            unfinished.mkdir()
            for file in _files(path):
                shutil.copyfile(file, unfinished / file.name)
            shutil.rmtree(into, ignore_errors=True)
            unfinished.replace(into)
        else:
            unfinished = into.with_name(into.name + ".new")
            shutil.copyfile(path, unfinished)
            unfinished.replace(into)
        return place.as_posix()

    def _is_the_same(self, entrant: Entrant, policy: str | Path, is_name: bool) -> bool:
        if entrant.is_file == is_name:
            return False
        if is_name:
            return entrant.policy == str(policy)
        return _content(self.folder / entrant.policy) == _content(Path(policy))


def _files(path: Path) -> list[Path]:
    """Return the files by which a policy plays."""
    if not path.is_dir():
        return [path]
    names = ("config.json", "status.json", "model.*", "metrics.jsonl")
    return sorted(file for name in names for file in path.glob(name))


def _content(path: Path) -> list[bytes]:
    return [file.read_bytes() for file in _files(path)]


def _facts(rules: Rules) -> dict[str, Any]:
    """Return what of some rules a leaderboard is for."""
    switches = {name: getattr(rules, name) for name in SWITCHES}
    facts = {"variant": rules.variant, "num_players": rules.num_players, "switches": switches}
    plain: dict[str, Any] = json.loads(json.dumps(facts))
    return plain


def _read(path: Path) -> dict[str, Any]:
    try:
        known = json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise ValueError(f"{path} is damaged: {error}") from error
    if not isinstance(known, dict) or known.get("schema") != SCHEMA:
        found = known.get("schema") if isinstance(known, dict) else None
        raise ValueError(f"{path} has version {found}, and this library reads {SCHEMA}")
    return known
