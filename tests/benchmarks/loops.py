"""Uniformly random play in one library, in a process of its own, for as long as it is told.

``python loops.py LOOP ARGUMENTS``, with the arguments as a JSON object, runs in the virtual
environment of the library that it measures, so it needs no other package. It prints a line of JSON
when it is ready, and then one for each number of seconds that it reads. Standard output is for
these lines alone; what the libraries print goes to the standard error.

Every loop is what a user of the library would write for speed: its own interface, an observation
for each decision, the choice of a legal action, and the restart after each game. What counts is a
decision of a player; cards dealt by chance and steps that only begin the next game do not count.
"""

from __future__ import annotations

import glob
import importlib
import importlib.util
import json
import os
import random
import sys
import time
import warnings
from collections.abc import Callable
from importlib import metadata
from typing import Any

Chunk = Callable[[], int]
"""Plays for a moment and returns the number of decisions."""


def chinese_ten_aec(wrapped: bool) -> tuple[Chunk, str]:
    """Return a loop over our PettingZoo environment, and what it observes."""
    from chinese_ten_env import chinese_ten_v0

    env = chinese_ten_v0.env() if wrapped else chinese_ten_v0.raw_env()
    return _aec(env)


def pettingzoo(game: str, wrapped: bool) -> tuple[Chunk, str]:
    """Return a loop over one of PettingZoo's classic environments, and what it observes."""
    module = importlib.import_module(f"pettingzoo.classic.{game}")
    return _aec(module.env() if wrapped else module.raw_env())


def _aec(env: Any) -> tuple[Chunk, str]:
    from chinese_ten_env.bench.aec import chunk_of  # the same loop for both

    chunk = chunk_of(env)
    env.reset(seed=0)
    seen = env.observe(env.agent_selection)["observation"]
    return chunk, _words(seen.shape, seen.dtype)


def chinese_ten_batch(num_envs: int, packed: bool) -> tuple[Chunk, str]:
    """Return a loop over our vector environment, and what it observes."""
    from chinese_ten_env.bench.library import batch

    env, chunk = batch(num_envs, opponents=None, copy=False, packed=packed)
    space = env.single_observation_space
    return chunk, _words(space.shape, space.dtype)


def rlcard(game: str) -> tuple[Chunk, str]:
    """Return a loop over an RLCard game, step by step, and what it observes."""
    rlcard = importlib.import_module("rlcard")
    env = rlcard.make(game, config={"seed": 1})
    numbers = random.Random(1)

    def chunk() -> int:
        decisions = 0
        state, _ = env.reset()
        while not env.is_over():
            state, _ = env.step(numbers.choice(list(state["legal_actions"])))
            decisions += 1
        env.get_payoffs()
        return decisions

    seen = env.reset()[0]["obs"]
    return chunk, _words(seen.shape, seen.dtype)


def openspiel(game: str) -> tuple[Chunk, str]:
    """Return a loop over the states of an OpenSpiel game that fills a NumPy tensor each time."""
    import pyspiel
    from open_spiel.python.observation import make_observation

    loaded = pyspiel.load_game(game)
    numbers = random.Random(1)
    if loaded.get_type().provides_observation_tensor:
        observation = make_observation(loaded)
    else:
        recall = pyspiel.IIGObservationType(perfect_recall=True)
        observation = make_observation(loaded, recall)

    def draw(outcomes: list[tuple[int, float]]) -> int:
        point = numbers.random()
        for action, probability in outcomes:
            point -= probability
            if point <= 0:
                return action
        return outcomes[-1][0]

    def chunk() -> int:
        decisions = 0
        state = loaded.new_initial_state()
        while not state.is_terminal():
            if state.is_chance_node():
                state.apply_action(draw(state.chance_outcomes()))
                continue
            observation.set_from(state, state.current_player())
            state.apply_action(numbers.choice(state.legal_actions()))
            decisions += 1
        state.returns()
        return decisions

    return chunk, _words(observation.tensor.shape, observation.tensor.dtype)


def pgx(game: str, num_envs: int) -> tuple[Chunk, str]:
    """Return a loop over a batch of a Pgx game within one compiled scan, and what it observes."""
    jax = importlib.import_module("jax")
    numpy = importlib.import_module("jax.numpy")
    auto_reset = importlib.import_module("pgx.experimental").auto_reset
    env = _pgx_bridge() if game == "bridge_bidding" else importlib.import_module("pgx").make(game)
    step = jax.vmap(auto_reset(env.step, env.init))
    length = max(4, min(256, 65536 // num_envs))

    @jax.jit  # type: ignore[untyped-decorator]
    def play(state: Any, key: Any) -> Any:
        def one(carry: Any, _: Any) -> Any:
            state, key = carry
            key, choice, deal = jax.random.split(key, 3)
            logits = numpy.log(state.legal_action_mask.astype(numpy.float32))
            actions = jax.random.categorical(choice, logits, axis=-1)
            return (step(state, actions, jax.random.split(deal, num_envs)), key), None

        return jax.lax.scan(one, (state, key), None, length=length)[0]

    key = jax.random.PRNGKey(0)
    carry = jax.jit(jax.vmap(env.init))(jax.random.split(key, num_envs)), key

    def chunk() -> int:
        nonlocal carry
        carry = jax.block_until_ready(play(*carry))
        return length * num_envs

    seen = carry[0].observation
    return chunk, _words(seen.shape[1:], seen.dtype)


def _pgx_bridge() -> Any:
    """Make bridge bidding with the hundred deals that are in the package.

    The usual table of double-dummy results is fetched from the network. A step does not search it,
    so its length hardly matters.
    """
    import tempfile

    numpy = importlib.import_module("numpy")
    bridge = importlib.import_module("pgx.bridge_bidding")
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "deals.npy")
        numpy.save(file, numpy.stack([numpy.asarray(part) for part in bridge._load_sample_hash()]))
        return bridge.BridgeBidding(file)


def envpool(game: str, num_envs: int) -> tuple[Chunk, str]:
    """Return a loop over a batch of an EnvPool game in one thread, and what it observes."""
    numpy = importlib.import_module("numpy")
    env = importlib.import_module("envpool").make(
        game, env_type="gymnasium", num_envs=num_envs, num_threads=1, seed=1
    )
    numbers = numpy.random.default_rng(1)
    seen, info = env.reset()

    def choose() -> Any:
        if "legal_action_mask" not in info:
            return numbers.integers(0, env.action_space.n, num_envs).astype(numpy.int32)
        masks = info["legal_action_mask"]
        scores = numbers.random(masks.shape, dtype=numpy.float32) * masks
        return scores.argmax(axis=1).astype(numpy.int32)

    def chunk() -> int:
        nonlocal info
        _, _, terminated, truncated, info = env.step(choose())
        # The step after the end of a game only begins the next one.
        return num_envs - int((terminated | truncated).sum())

    return chunk, _words(seen.shape[1:], seen.dtype)


def pufferlib(num_envs: int) -> tuple[Chunk, str]:
    """Return a loop over PufferLib's triple triad, compiled C, and what it observes.

    The wheel has the compiled environments without the Python around them, which this does instead.
    The interface has no mask: actions are drawn from all fifteen, and those that are illegal count
    too. The opponent's answer is within the step.
    """
    numpy = importlib.import_module("numpy")
    # Opened the usual way, the module's `step` is taken over by an old function of the C library
    # of the same name, and nothing moves.
    sys.setdlopenflags(os.RTLD_NOW | os.RTLD_DEEPBIND)
    package = importlib.util.find_spec("pufferlib")
    assert package is not None
    assert package.submodule_search_locations
    (file,) = glob.glob(f"{package.submodule_search_locations[0]}/ocean/tripletriad/cy_*.so")
    spec = importlib.util.spec_from_file_location("cy_tripletriad", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)

    observations = numpy.zeros((num_envs, 114), numpy.float32)
    actions = numpy.zeros(num_envs, numpy.int32)
    rewards = numpy.zeros(num_envs, numpy.float32)
    over = numpy.zeros(num_envs, numpy.uint8)
    buffers = (observations, actions, rewards, over)
    window = (990, 690, 192, 224)  # of the drawing that is not asked for
    env = module.CyTripleTriad(*buffers, num_envs, *window)
    env.reset()
    numbers = numpy.random.default_rng(1)

    def chunk() -> int:
        # The environment has the addresses of the buffers and does not keep them alive: this does.
        buffers[1][:] = numbers.integers(0, 15, num_envs)
        env.step()
        return num_envs

    before = observations.copy()
    for _ in range(50):
        chunk()
    if (observations == before).all():
        raise RuntimeError("nothing moved in 50 steps")
    return chunk, _words(observations.shape[1:], observations.dtype)


def _words(shape: Any, kind: Any) -> str:
    return f"{kind} {list(map(int, shape))}"


def _pin() -> bool:
    """Keep this process, and what it starts, on one core where the system can do that."""
    if not hasattr(os, "sched_setaffinity"):
        return False
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    return True


LOOPS: dict[str, tuple[str, Callable[..., tuple[Chunk, str]]]] = {
    "chinese_ten_aec": ("chinese_ten_env", chinese_ten_aec),
    "chinese_ten_batch": ("chinese_ten_env", chinese_ten_batch),
    "pettingzoo": ("pettingzoo", pettingzoo),
    "rlcard": ("rlcard", rlcard),
    "openspiel": ("open_spiel", openspiel),
    "pgx": ("pgx", pgx),
    "envpool": ("envpool", envpool),
    "pufferlib": ("pufferlib", pufferlib),
}
"""By name, the installed package and the loop."""


def main() -> None:
    """Prepare the loop, then measure for each number of seconds on standard input."""
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    warnings.simplefilter("ignore")

    def answer(**facts: Any) -> None:
        print(json.dumps(facts), file=answers, flush=True)

    pinned = _pin()  # before the library looks how many cores there are
    name, arguments = sys.argv[1:]
    package, loop = LOOPS[name]
    chunk, observation = loop(**json.loads(arguments))
    chunk()
    answer(observation=observation, version=metadata.version(package), pinned=pinned)
    for line in sys.stdin:
        seconds, decisions, start = float(line), 0, time.perf_counter()
        while (elapsed := time.perf_counter() - start) < seconds:
            decisions += chunk()
        answer(rate=decisions / elapsed)


if __name__ == "__main__":
    main()
