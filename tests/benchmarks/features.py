"""What a library offers for a card game, found out by asking the library itself.

``python features.py LIBRARY`` runs in the library's own virtual environment, needs no other package
and prints a JSON object with an answer to each of `QUESTIONS`. An answer is ``no`` where the
library has nothing of the kind itself; what other packages add does not count.
"""

from __future__ import annotations

import copy
import importlib
import importlib.util
import inspect
import json
import os
import re
import sys
from collections.abc import Callable, Iterable
from importlib import metadata
from pathlib import Path
from typing import Any

QUESTIONS = (
    "games",
    "fishing games among them",
    "legal actions as a mask",
    "many games in one compiled call",
    "PettingZoo environment",
    "Gymnasium environment, single and vector",
    "Stable-Baselines3 `VecEnv`",
    "most rules to choose in one card game",
    "chance as nodes",
    "copy of a game in progress",
    "game in progress as text, and back",
    "exact exploitability",
    "policies to play against at once",
    "comparison of policies",
    "annotated for type checkers",
    "packages that it brings",
)
"""In the order of the README's table."""

FISHING = (
    *("bastra", "cassino", "casino", "diloti", "escoba", "gostop", "hanafuda", "koikoi", "pasur"),
    *("pishti", "pisti", "scopa", "scopone", "seep", "tablanet", "chineseten", "jianhongdian"),
)
"""Games in which cards capture cards from the table that match or add up (Go Fish is none)."""

Answers = dict[str, str]


def _yes(found: Any) -> str:
    return "yes" if found else "no"


def _fishing(games: Iterable[str]) -> str:
    plain = {name: re.sub(r"[^a-z]", "", name.lower()) for name in games}
    found = [name for name, letters in plain.items() if any(word in letters for word in FISHING)]
    return ", ".join(found) or "no"


def _exists(module: str) -> bool:
    try:
        return importlib.util.find_spec(module) is not None
    except ModuleNotFoundError:
        return False


def _copied(env: Any, play: Callable[[Any], Any]) -> str:
    """Say whether a deep copy goes on as the environment itself."""
    try:
        again = copy.deepcopy(env)
        return "deepcopy" if str(play(env)) == str(play(again)) else "no"
    except (AttributeError, TypeError):  # a copy that cannot be made, or that has not begun
        return "no"


def _typed(module: str) -> str:
    spec = importlib.util.find_spec(module)
    assert spec is not None
    return _yes((Path(str(spec.origin)).parent / "py.typed").exists())


def _needs(package: str) -> str:
    """Count the packages that an installation without extras brings besides the package itself."""
    found: set[str] = set()
    waiting = [package]
    while waiting:
        for need in metadata.requires(waiting.pop()) or ():
            name, _, marker = need.partition(";")
            name = re.sub(r"[-_.]+", "-", re.split(r"[\s<>=!~\[(]", name.strip())[0]).lower()
            if "extra" in marker or name in found:
                continue
            try:
                metadata.version(name)
            except metadata.PackageNotFoundError:
                continue  # for other systems, or for other versions of Python
            found.add(name)
            waiting.append(name)
    return str(len(found))


def chinese_ten_env() -> Answers:
    """Answer for this library."""
    import gymnasium
    from pettingzoo import AECEnv

    import chinese_ten_env as ct
    from chinese_ten_env import chinese_ten_v0
    from chinese_ten_env.policies import POLICIES, PRETRAINED, SEARCHES
    from chinese_ten_env.rules import SWITCHES

    game = ct.Game(ct.make_rules("mainland", 2), seed=1)
    game.play(game.legal[0])
    single: Any = gymnasium.make("ChineseTen-v0")
    batch: Any = gymnasium.make_vec("ChineseTen-v0", num_envs=4)
    _, infos = batch.reset(seed=0)
    in_numpy = type(batch.unwrapped) is ct.vector_env.ChineseTenVectorEnv
    return {
        "games": f"1, in {len(ct.VARIANTS)} variants",
        "fishing games among them": "Chinese Ten",
        "legal actions as a mask": _yes(infos["action_mask"].shape == (4, 52)),
        "many games in one compiled call": "NumPy" if in_numpy else "no",
        "PettingZoo environment": _yes(isinstance(chinese_ten_v0.env(), AECEnv)),
        "Gymnasium environment, single and vector": _yes(isinstance(single, gymnasium.Env)),
        "Stable-Baselines3 `VecEnv`": _yes(_exists("chinese_ten_env.adapters.sb3")),
        "most rules to choose in one card game": str(len(SWITCHES)),
        "chance as nodes": "in OpenSpiel"
        if _exists("chinese_ten_env.adapters.openspiel")
        else "no",
        "copy of a game in progress": _yes(game.clone() == game),
        "game in progress as text, and back": _yes(ct.Game.from_json(game.to_json()) == game),
        "exact exploitability": (
            "of smaller decks" if _exists("chinese_ten_env.adapters.openspiel_mini") else "no"
        ),
        "policies to play against at once": ", ".join([*POLICIES, *SEARCHES, PRETRAINED]),
        "comparison of policies": (
            "duplicate deals, intervals" if callable(ct.arena.cross_play) else "no"
        ),
        "annotated for type checkers": _typed("chinese_ten_env"),
        "packages that it brings": _needs("chinese_ten_env"),
    }


def openspiel() -> Answers:
    """Answer for OpenSpiel."""
    import pyspiel

    # Without those that this library registers, where both are installed.
    names = [name for name in pyspiel.registered_names() if not name.startswith("python_")]
    game = pyspiel.load_game("go_fish")
    state = game.new_initial_state()
    is_chance = state.is_chance_node()
    while state.is_chance_node():
        state.apply_action(state.legal_actions()[0])
    text = pyspiel.serialize_game_and_state(game, state)
    _, again = pyspiel.deserialize_game_and_state(text)
    switches = {
        name: len(pyspiel.load_game(name).get_parameters())
        for name in ("bridge", "crazy_eights", "euchre", "gin_rummy", "go_fish", "hearts", "spades")
    }
    return {
        "games": str(len(names)),
        "fishing games among them": _fishing(names),
        "legal actions as a mask": _yes(state.legal_actions_mask()),
        "many games in one compiled call": "no",
        "PettingZoo environment": "no",
        "Gymnasium environment, single and vector": "no",
        "Stable-Baselines3 `VecEnv`": "no",
        "most rules to choose in one card game": str(max(switches.values())),
        "chance as nodes": _yes(is_chance),
        "copy of a game in progress": _yes(str(state.clone()) == str(state)),
        "game in progress as text, and back": _yes(str(again) == str(state)),
        "exact exploitability": _yes(_exists("open_spiel.python.algorithms.exploitability")),
        "policies to play against at once": ", ".join(pyspiel.registered_bots()),
        "comparison of policies": (
            "alpha-rank" if _exists("open_spiel.python.egt.alpharank") else "no"
        ),
        "annotated for type checkers": _typed("open_spiel"),
        "packages that it brings": _needs("open_spiel"),
    }


def rlcard() -> Answers:
    """Answer for RLCard."""
    rlcard = importlib.import_module("rlcard")
    games = importlib.import_module("rlcard.envs.registration").registry.env_specs
    models = importlib.import_module("rlcard.models.registration").model_registry.model_specs
    agents = vars(importlib.import_module("rlcard.agents"))
    env = rlcard.make("gin-rummy", config={"seed": 1})
    state, _ = env.reset()
    choice = next(iter(state["legal_actions"]))
    tournament = importlib.import_module("rlcard.utils").tournament
    return {
        "games": str(len(games)),
        "fishing games among them": _fishing(games),
        "legal actions as a mask": _yes(not isinstance(state["legal_actions"], dict)),
        "many games in one compiled call": "no",
        "PettingZoo environment": "in PettingZoo",
        "Gymnasium environment, single and vector": "no",
        "Stable-Baselines3 `VecEnv`": "no",
        "most rules to choose in one card game": str(len(vars(env.game.settings))),
        "chance as nodes": "no",
        "copy of a game in progress": _copied(env, lambda env: env.step(choice)),
        "game in progress as text, and back": _yes(hasattr(env, "to_json")),
        "exact exploitability": "no",
        "policies to play against at once": ", ".join(
            [*(name for name in agents if name == "RandomAgent"), *models]
        ),
        "comparison of policies": "mean payoffs" if callable(tournament) else "no",
        "annotated for type checkers": _typed("rlcard"),
        "packages that it brings": _needs("rlcard"),
    }


def pettingzoo() -> Answers:
    """Answer for the classic environments of PettingZoo."""
    classic = importlib.import_module("pettingzoo.classic")
    files = sorted(Path(str(classic.__file__)).parent.glob("*_v[0-9]*.py"))
    env = importlib.import_module("pettingzoo.classic.leduc_holdem_v4").raw_env()
    hanabi = inspect.signature(importlib.import_module("pettingzoo.classic.hanabi_v5").raw_env)
    no_rules = {"observation_type", "render_mode"}
    env.reset(seed=1)
    masked = "action_mask" in env.last()[0]

    def play(env: Any) -> Any:
        env.step(next(i for i, legal in enumerate(env.last()[0]["action_mask"]) if legal))
        return env.last()

    return {
        "games": str(len(files)),
        "fishing games among them": _fishing(file.stem for file in files),
        "legal actions as a mask": _yes(masked),
        "many games in one compiled call": "no",
        "PettingZoo environment": "yes",
        "Gymnasium environment, single and vector": "no",
        "Stable-Baselines3 `VecEnv`": "no",
        "most rules to choose in one card game": str(len(set(hanabi.parameters) - no_rules)),
        "chance as nodes": "no",
        "copy of a game in progress": _copied(env, play),
        "game in progress as text, and back": _yes(hasattr(env, "to_json")),
        "exact exploitability": "no",
        "policies to play against at once": "no",
        "comparison of policies": "no",
        "annotated for type checkers": _typed("pettingzoo"),
        "packages that it brings": _needs("pettingzoo"),
    }


def pgx() -> Answers:
    """Answer for Pgx."""
    jax = importlib.import_module("jax")
    pgx = importlib.import_module("pgx")
    names = [*pgx.available_envs(), "bridge_bidding"]  # which wants a file and is not listed
    env = pgx.make("leduc_holdem")
    states = jax.jit(jax.vmap(env.init))(jax.random.split(jax.random.PRNGKey(0), 4))
    models = inspect.signature(pgx.make_baseline_model).parameters["model_id"].annotation
    card_models = [name for name in re.findall(r"'(\w+)'", str(models)) if "poker" in name]
    return {
        "games": str(len(names)),
        "fishing games among them": _fishing(names),
        "legal actions as a mask": _yes(states.legal_action_mask.shape[0] == 4),
        "many games in one compiled call": "JAX" if states.observation.shape[0] == 4 else "no",
        "PettingZoo environment": "no",
        "Gymnasium environment, single and vector": "no",
        "Stable-Baselines3 `VecEnv`": "no",
        "most rules to choose in one card game": str(len(inspect.signature(type(env)).parameters)),
        "chance as nodes": "no",
        "copy of a game in progress": "states are values",
        "game in progress as text, and back": _yes(hasattr(states, "to_json")),
        "exact exploitability": "no",
        "policies to play against at once": ", ".join(card_models) or "no",
        "comparison of policies": "no",
        "annotated for type checkers": _typed("pgx"),
        "packages that it brings": _needs("pgx"),
    }


LIBRARIES: dict[str, Callable[[], Answers]] = {
    "chinese_ten_env": chinese_ten_env,
    "OpenSpiel": openspiel,
    "RLCard": rlcard,
    "PettingZoo": pettingzoo,
    "Pgx": pgx,
}
"""In the order of the README's table."""


def main() -> None:
    """Print the answers for the library that is named."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the libraries print
    print(json.dumps(LIBRARIES[sys.argv[1]]()), file=answers, flush=True)


if __name__ == "__main__":
    main()
