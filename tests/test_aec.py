"""The PettingZoo environment as its users meet it."""

from __future__ import annotations

import copy
import hashlib
import os
import pickle
import random
import subprocess
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pettingzoo
import pytest
from gymnasium import spaces
from pettingzoo.test import api_test, seed_test

import chinese_ten_env as ct
from chinese_ten_env import Feature, chinese_ten_v0
from tests.examples import DEALS, DealExample, DealResult
from tests.helpers import TABLES, Convention, random_deck, table_id, with_layout

Env = Any  # PettingZoo's own types stand in the way of tests that poke at environments

make_env: Callable[..., Env] = chinese_ten_v0.env
make_raw_env: Callable[..., Env] = chinese_ten_v0.raw_env

every_table = pytest.mark.parametrize("table", TABLES, ids=table_id)
every_door = pytest.mark.parametrize("door", [make_env, make_raw_env], ids=["env", "raw_env"])

UPSTREAM_WARNINGS = (
    "Observation is not a NumPy array",
    "Observation space for each agent probably should be",
)
"""What `api_test` says of every environment whose observation is a dict."""


def make(door: Callable[..., Env], table: tuple[str, int], **arguments: Any) -> Env:
    """Return an environment of a table."""
    return door(variant=table[0], num_players=table[1], **arguments)


def legal(env: Env) -> list[int]:
    """Return the legal actions of the agent on turn."""
    return np.flatnonzero(env.observe(env.agent_selection)["action_mask"]).tolist()


def is_over(env: Env) -> bool:
    """Tell whether the agents have terminated."""
    return any(env.terminations.values())


def play_randomly(env: Env, rng: random.Random, steps: int | None = None) -> list[int]:
    """Play random legal actions, `steps` of them or to the end; return them."""
    actions: list[int] = []
    while not is_over(env) and (steps is None or len(actions) < steps):
        actions.append(rng.choice(legal(env)))
        env.step(actions[-1])
    return actions


def drain(env: Env) -> dict[str, float]:
    """Step every dead agent with None; return the reward that `last` gave each."""
    last = {}
    while env.agents:
        agent = env.agent_selection
        _, last[agent], terminated, _, _ = env.last()
        assert terminated
        env.step(None)
    return last


def seen_by_all(env: Env) -> list[Any]:
    """Return all that can be read from an environment, for comparison."""
    observations = [env.observe(agent) for agent in env.possible_agents]
    return [
        [(seen["observation"].tobytes(), seen["action_mask"].tobytes()) for seen in observations],
        env.state().tobytes(),
        list(env.agents),
        env.agent_selection,
        dict(env.rewards),
        dict(env._cumulative_rewards),
        dict(env.terminations),
        dict(env.truncations),
        {agent: dict(info) for agent, info in env.infos.items()},
    ]


def trace(env: Env, seed: int | None) -> list[Any]:
    """Play the first legal action to the end; return all that every step shows."""
    env.reset(seed=seed)
    steps = [seen_by_all(env)]
    while not is_over(env):
        env.step(legal(env)[0])
        steps.append(seen_by_all(env))
    return steps


# --- conformance ----------------------------------------------------------------------------


@every_table
@every_door
def test_pettingzoo_api_test_passes(door: Callable[..., Env], table: tuple[str, int]) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        api_test(make(door, table), num_cycles=20)
    others = [
        str(warning.message)
        for warning in caught
        if not str(warning.message).startswith(UPSTREAM_WARNINGS)
    ]
    assert others == []


@every_table
@every_door
def test_pettingzoo_seed_test_passes(door: Callable[..., Env], table: tuple[str, int]) -> None:
    seed_test(lambda: make(door, table), num_cycles=50)


def test_pettingzoo_makes_it() -> None:
    if not hasattr(pettingzoo, "make"):
        assert pettingzoo.__version__ < "1.27"
        return
    env: Env = pettingzoo.make("aec", "chinese_ten-v0", variant="taiwan")
    env.reset(seed=1)
    assert env.possible_agents == ["player_0", "player_1", "player_2", "player_3"]
    same = make_env(variant="taiwan")
    same.reset(seed=1)
    assert seen_by_all(env) == seen_by_all(same)


@every_door
def test_the_smallest_player_count_of_a_variant_is_its_default(door: Callable[..., Env]) -> None:
    for name, variant in ct.VARIANTS.items():
        env = door(variant=name)
        assert env.max_num_agents == len(env.possible_agents) == min(variant.tables)
    assert len(door().possible_agents) == 2


@every_door
def test_metadata_and_spaces(door: Callable[..., Env]) -> None:
    env = door(num_players=3)
    assert env.metadata["name"] == "chinese_ten_v0"
    assert "ansi" in env.metadata["render_modes"]
    assert env.metadata["is_parallelizable"] is False
    for agent in env.possible_agents:
        space = env.observation_space(agent)
        assert space is env.observation_space(agent)
        assert env.action_space(agent) is env.action_space(agent)
        assert env.action_space(agent) == spaces.Discrete(52)
        assert space["observation"] == spaces.Box(0, 1, (ct.NUM_FEATURES, 52), np.int8)
        assert space["action_mask"] == spaces.Box(0, 1, (52,), np.int8)


def test_infos_have_the_same_keys_from_reset_on_and_only_numbers() -> None:
    env = make_env(variant="taiwan", match="net", target=20)
    env.reset(seed=3)
    keys = {agent: set(info) for agent, info in env.infos.items()}
    rng = random.Random(3)
    while not is_over(env):
        play_randomly(env, rng, 1)
        assert {agent: set(info) for agent, info in env.infos.items()} == keys
        for info in env.infos.values():
            assert all(isinstance(value, (int, float, np.number)) for value in info.values())


# --- seeds ----------------------------------------------------------------------------------

DIGEST_PROGRAM = """
import pickle, random, sys
import numpy as np
if sys.argv[1] == "stir":
    np.random.seed(9)
    random.seed(9)
before = pickle.dumps(np.random.get_state()), random.getstate()
from tests.test_aec import games_digest
digest = games_digest()
assert (pickle.dumps(np.random.get_state()), random.getstate()) == before
print(digest)
"""


def games_digest() -> str:
    """Return a digest of what every table shows with seed 7, and then without a seed."""
    digest = hashlib.sha256()
    for table in TABLES:
        for door in (make_env, make_raw_env):
            env = make(door, table, reward="captures")
            for seed in (7, None):
                digest.update(repr(trace(env, seed)).encode())
    return digest.hexdigest()


def test_a_seed_is_the_same_game_in_every_process() -> None:
    root = Path(__file__).parents[1]
    digests = set()
    for hash_seed, stir in (("1", "stir"), ("2", "leave")):
        result = subprocess.run(
            [sys.executable, "-W", "error::RuntimeWarning", "-c", DIGEST_PROGRAM, stir],
            cwd=root,
            env={**os.environ, "PYTHONHASHSEED": hash_seed, "PYTHONPATH": str(root)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode == 0, result.stderr
        digests.add(result.stdout.strip())
    assert digests == {games_digest()}


def test_global_generators_are_left_alone() -> None:
    before = pickle.dumps(np.random.get_state()), random.getstate()  # noqa: NPY002  # theirs
    env = make_env()
    for seed in (None, 7, None):
        trace(env, seed)
    assert (pickle.dumps(np.random.get_state()), random.getstate()) == before  # noqa: NPY002


@pytest.mark.parametrize("seed", [0, 2**32, np.int64(3), 2**63 + 5])
def test_seeds_of_every_size_and_kind(seed: Any) -> None:
    first, second = make_env(), make_env()
    assert trace(first, seed) == trace(second, seed)
    assert trace(first, int(seed)) == trace(second, seed)


def test_reset_without_a_seed_goes_on_deterministically() -> None:
    first, second = make_env(variant="taiwan"), make_raw_env(variant="taiwan")
    for env in (first, second):
        env.reset(seed=7)
    deals = []
    for _ in range(5):
        first.reset()
        second.reset()
        assert seen_by_all(first) == seen_by_all(second)
        deals.append(first.state().tobytes())
    assert len(set(deals)) == 5


def test_different_seeds_are_different_games_and_no_seed_is_a_random_one() -> None:
    env = make_raw_env()
    states = []
    for seed in range(20):
        env.reset(seed=seed)
        states.append(env.state().tobytes())
    for _ in range(3):
        fresh = make_raw_env()
        fresh.reset()
        states.append(fresh.state().tobytes())
    assert len(set(states)) == len(states)


@pytest.mark.parametrize("seed", [-1, 1.5, "7", True])
def test_bad_seeds_are_named(seed: Any) -> None:
    env = make_env()
    env.reset(seed=1)
    before = seen_by_all(env)
    with pytest.raises(ValueError, match="seed must be an integer from 0 up"):
        env.reset(seed=seed)
    assert seen_by_all(env) == before


# --- the mask -------------------------------------------------------------------------------


@every_table
def test_mask_contract_in_random_games(table: tuple[str, int]) -> None:
    """91 games a table make 1,001: every agent at every step."""
    env = make(make_raw_env, table)
    rng = random.Random(1)
    for agent in env.possible_agents:
        env.action_space(agent).seed(1)
    for number in range(91):
        deck = random_deck(rng, {0: 3, 1: 4}.get(number % 6, 0))
        env.reset(seed=number, options={"deck": deck} if number % 2 else None)
        while True:
            over = is_over(env)
            for agent in env.possible_agents:
                seen = env.observe(agent)
                mask = seen["action_mask"]
                assert mask.dtype == np.int8
                assert mask.shape == (52,)
                assert mask.max() <= 1
                assert mask.min() >= 0
                on_turn = agent == env.agent_selection and not over
                assert mask.any() == on_turn
                if on_turn:
                    action = env.action_space(agent).sample(mask)
                    assert mask[action] == 1
                    assert seen in env.observation_space(agent)
            if over:
                break
            env.step(action)
        assert all(env.terminations.values())
        assert not any(env.truncations.values())
        drain(env)
        assert all(not env.observe(agent)["action_mask"].any() for agent in env.possible_agents)


def test_terminations_are_python_bools_and_rewards_floats() -> None:
    env = make_env(num_players=3)
    env.reset(seed=2)
    while True:
        flags = [*env.terminations.values(), *env.truncations.values()]
        assert all(type(flag) is bool for flag in flags)
        assert all(type(reward) is float for reward in env.rewards.values())
        if is_over(env):
            break
        env.step(legal(env)[0])


# --- illegal actions ------------------------------------------------------------------------


def illegal_cards(env: Env) -> list[int]:
    """Return all cards that the agent on turn must not play."""
    return sorted(set(range(52)) - set(legal(env)))


@every_table
@pytest.mark.parametrize("reward", ["net", "captures", "win"])
def test_env_ends_the_game_on_an_illegal_action(table: tuple[str, int], reward: str) -> None:
    rules = ct.make_rules(*table)
    levies = rules.red_five_levy * (rules.num_players - 1)
    penalty = -1.0 if reward == "win" else -(rules.total + levies)
    env = make(make_env, table, reward=reward)
    rng = random.Random(5)
    for steps in (0, 1, 7, 20):
        env.reset(seed=steps)
        play_randomly(env, rng, steps)
        state, agent = env.state().tobytes(), env.agent_selection
        unpaid = {other: env._cumulative_rewards[other] for other in env.agents}
        env.step(rng.choice(illegal_cards(env)))
        assert env.state().tobytes() == state  # no other action was played instead
        assert env.terminations == dict.fromkeys(env.possible_agents, True)
        assert env.rewards == {
            other: penalty if other == agent else 0.0 for other in env.possible_agents
        }
        for other in env.possible_agents:
            assert not env.observe(other)["action_mask"].any()
        last = drain(env)
        assert last == {**unpaid, agent: penalty}
        assert env.agents == []
        env.reset(seed=1)  # and a new game can begin
        assert len(play_randomly(env, rng)) >= 24


@every_table
def test_raw_env_raises_on_an_illegal_action_and_nothing_changes(table: tuple[str, int]) -> None:
    env = make(make_raw_env, table, reward="captures")
    env.reset(seed=4)
    rng = random.Random(4)
    while not is_over(env):
        before, inner = seen_by_all(env), pickle.dumps(env)
        card = rng.choice(illegal_cards(env))
        with pytest.raises(ct.IllegalActionError, match=ct.card_name(card)) as error:
            env.step(card)
        assert isinstance(error.value, ValueError)
        for choice in legal(env):
            assert f"{ct.card_name(choice)} ({choice})" in str(error.value)
        assert seen_by_all(env) == before
        assert pickle.dumps(env) == inner
        play_randomly(env, rng, 1)


@pytest.mark.parametrize(
    "action", [52, -1, 10**6, 2**70, -(2**70), 1.0, np.float32(3), None, "AS", np.array([3]), [3]]
)
def test_what_is_no_card_is_an_error_at_both_doors(action: Any) -> None:
    raw, env = make_raw_env(), make_env()
    for door in (raw, env):
        door.reset(seed=6)
        before = seen_by_all(door)
        # Older versions of Gymnasium ask NumPy whether a number is of the space.
        expected = (ct.IllegalActionError, AssertionError, OverflowError)
        with pytest.raises(expected) as error:
            door.step(action)
        assert door is env or error.type is ct.IllegalActionError
        assert seen_by_all(door) == before


@every_door
@pytest.mark.parametrize("kind", [int, np.int8, np.int32, np.int64, np.uint8, np.array])
def test_integers_of_every_kind_are_actions(door: Callable[..., Env], kind: Any) -> None:
    env, same = door(), door()
    env.reset(seed=6)
    same.reset(seed=6)
    while not is_over(env):
        card = legal(env)[0]
        env.step(kind(card))
        same.step(card)
        assert seen_by_all(env) == seen_by_all(same)


@every_door
def test_dead_agents_step_with_none_only(door: Callable[..., Env]) -> None:
    env = door(num_players=4)
    env.reset(seed=1)
    play_randomly(env, random.Random(1))
    with pytest.raises((ValueError, AssertionError)):
        env.step(3)
    assert env.agents == env.possible_agents
    assert sorted(drain(env)) == env.possible_agents
    assert env.agents == []
    assert env.num_agents == 0


# --- rewards --------------------------------------------------------------------------------


def final_nets(env: Env) -> list[float]:
    """Return the nets of a finished deal as its cards say, from the last observations."""
    rules = env.unwrapped.rules
    values = np.array(rules.points)
    nets = []
    for agent in env.possible_agents:
        rows = env.observe(agent)["observation"]
        points = float(rows[Feature.CAPTURED_0] @ values)
        if rows[Feature.LEVY].any():
            taker = int(rows[Feature.LEVY].argmax())
            points += rules.red_five_levy * ((rules.num_players - 1) if taker == 0 else -1)
        nets.append(points - rules.par)
    return nets


@every_table
@pytest.mark.parametrize("reward", ["net", "captures", "win"])
def test_r10_rewards_add_up_to_the_net_for_all_agents(table: tuple[str, int], reward: str) -> None:
    """Both the rewards that `last` gives and `env.rewards`, also of those who did not move last."""
    env = make(make_env, table, reward=reward)
    rng = random.Random(8)
    last_movers = set()
    for number in range(12):
        env.reset(seed=number)
        by_last = dict.fromkeys(env.possible_agents, 0.0)
        by_step = dict.fromkeys(env.possible_agents, 0.0)
        for agent in env.agent_iter():
            _, paid, terminated, truncated, _ = env.last()
            by_last[agent] += paid
            if terminated or truncated:
                env.step(None)
                continue
            last_mover = agent
            env.step(rng.choice(legal(env)))
            if reward != "win":
                assert sum(env.rewards.values()) == pytest.approx(0, abs=1e-9)
            if reward == "net" and not is_over(env):
                assert not any(env.rewards.values())
            for other, value in env.rewards.items():
                by_step[other] += value
        last_movers.add(last_mover)
        assert by_last == pytest.approx(by_step, abs=1e-9)
        nets = final_nets(env)
        assert sum(nets) == pytest.approx(0, abs=1e-9)
        if reward == "win":
            best = [net for net in nets if net == max(nets)]
            shared = 1.0 if len(best) == 1 else 0.0
            nets = [shared if net == max(nets) else -1.0 for net in nets]
        assert list(by_step.values()) == pytest.approx(nets, abs=1e-9)
    assert len(last_movers) > 1


@every_table
def test_captures_are_paid_at_once_to_everybody(table: tuple[str, int]) -> None:
    env = make(make_raw_env, table, reward="captures", red_five_levy=0)
    values = np.array(env.rules.points)
    env.reset(seed=3)
    rng = random.Random(3)

    def above_the_mean() -> Any:
        points = np.array(
            [
                env.observe(agent)["observation"][Feature.CAPTURED_0] @ values
                for agent in env.possible_agents
            ]
        )
        return points - points.mean()

    before = above_the_mean()
    assert not before.any()  # this layout holds no quad, which would be won before anybody plays
    while not is_over(env):
        play_randomly(env, rng, 1)
        after = above_the_mean()
        np.testing.assert_allclose(list(env.rewards.values()), after - before, atol=1e-9)
        before = after


@every_table
@pytest.mark.parametrize("match", ["net", "raw"])
def test_r12_matches_pay_every_deal_and_end_at_the_target(
    table: tuple[str, int], match: str
) -> None:
    target = {"net": 30, "raw": 150}[match]
    envs = {
        reward: make(make_env, table, reward=reward, match=match, target=target)
        for reward in ("net", "captures", "win")
    }
    rng = random.Random(2)
    most_deals = 0
    for number in range(4):
        for env in envs.values():
            env.reset(seed=number)
        rules = envs["net"].unwrapped.rules
        game = ct.Game(rules, seed=number)
        sums = {reward: np.zeros(rules.num_players) for reward in envs}
        while not game.is_over:
            card = rng.choice(game.legal)
            deals, player = game.deals, game.player
            game.play(card)
            for reward, env in envs.items():
                assert env.agent_selection == f"player_{player}"
                env.step(card)
                paid = np.array(list(env.rewards.values()))
                sums[reward] += paid
                if reward == "net" and game.deals == deals:
                    assert not paid.any()
                if reward == "win" and not game.is_over:
                    assert not paid.any()
                assert is_over(env) == game.is_over
            if game.deals > deals:
                nets = np.array(game.scores) - game.deals * rules.par
                np.testing.assert_allclose(sums["net"], nets, atol=1e-9)
                np.testing.assert_allclose(sums["captures"], nets, atol=1e-9)
        most_deals = max(most_deals, game.deals)
        scores = np.array(game.scores)
        assert (nets if match == "net" else scores).max() >= target
        np.testing.assert_array_equal(sums["win"], np.where(scores == scores.max(), 1.0, -1.0))
        for reward, env in envs.items():
            drained = drain(env)
            assert len(drained) == rules.num_players
            if reward == "win":
                assert list(drained.values()) == sums["win"].tolist()
    assert most_deals > 1


# --- copies ---------------------------------------------------------------------------------

COPIES: list[Callable[[Env], Env]] = [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))]


@every_table
@every_door
@pytest.mark.parametrize("duplicate", COPIES, ids=["deepcopy", "pickle"])
def test_copies_of_a_game_in_progress_play_on_alike_and_apart(
    door: Callable[..., Env], table: tuple[str, int], duplicate: Callable[[Env], Env]
) -> None:
    env = make(door, table, reward="captures")
    env.reset(seed=11)
    rng = random.Random(11)
    play_randomly(env, rng, 6)
    before = seen_by_all(env)
    copied = duplicate(env)
    assert seen_by_all(copied) == before
    steps = []
    while not is_over(copied):
        (card,) = play_randomly(copied, rng, 1)
        steps.append((card, seen_by_all(copied)))
        assert seen_by_all(env) == before  # stepping one never changes the other
    for card, after in steps:
        env.step(card)
        assert seen_by_all(env) == after
    assert drain(env) == drain(copied)
    env.reset()
    copied.reset()
    assert seen_by_all(env) == seen_by_all(copied)


# --- observing ------------------------------------------------------------------------------


@every_table
@every_door
def test_observe_has_no_side_effects(door: Callable[..., Env], table: tuple[str, int]) -> None:
    looked, other = make(door, table), make(door, table)
    rng = random.Random(12)
    looked.reset(seed=12)
    other.reset(seed=12)
    while not is_over(other):
        for _ in range(rng.randrange(6)):
            looked.observe(rng.choice(looked.possible_agents))
            looked.state()
        card = rng.choice(legal(other))
        looked.step(card)
        other.step(card)
        assert seen_by_all(looked) == seen_by_all(other)
    final = [looked.observe(agent)["observation"].tobytes() for agent in looked.possible_agents]
    while True:  # while the dead agents leave, and after
        seen = [looked.observe(agent)["observation"].tobytes() for agent in looked.possible_agents]
        assert seen == final
        if not looked.agents:
            break
        looked.step(None)
        other.step(None)
        assert looked.rewards == other.rewards


@every_door
def test_observations_are_freshly_made(door: Callable[..., Env]) -> None:
    env = door()
    env.reset(seed=1)
    first = env.observe("player_0")
    copied = copy.deepcopy(first)
    again = env.observe("player_0")
    for name in ("observation", "action_mask"):
        assert not np.shares_memory(first[name], again[name])
    again["observation"][:] = 1
    again["action_mask"][:] = 1
    while not is_over(env):
        env.step(legal(env)[0])
    for name in ("observation", "action_mask"):
        np.testing.assert_array_equal(first[name], copied[name])


def test_state_shows_everything() -> None:
    env = make_env(variant="taiwan", match="net", target=20)
    env.reset(seed=5)
    rng = random.Random(5)
    flips = 0
    while True:
        state = env.state()
        assert state in env.state_space
        assert not np.shares_memory(state, env.state())
        seen = [env.observe(agent)["observation"] for agent in env.possible_agents]
        for seat, rows in enumerate(seen):
            np.testing.assert_array_equal(state[seat], rows[Feature.HAND])
        stock = state[4:28]
        assert stock.sum() == seen[0][Feature.STOCK_SIZE].sum()
        np.testing.assert_array_equal(state[28:], seen[0])
        hidden = state[1:4].sum(axis=0) + stock.sum(axis=0)
        np.testing.assert_array_equal(hidden, seen[0][Feature.UNSEEN] + seen[0][Feature.BOTTOM])
        if is_over(env):
            break
        play_randomly(env, rng, 1)
        later = env.observe("player_0")["observation"]
        if later[Feature.STOCK_SIZE].sum() == stock.sum() - 1:
            np.testing.assert_array_equal(later[Feature.LAST_FLIPPED], stock[0])
            flips += 1
    assert flips > 20


@every_table
def test_agents_learn_nothing_of_hidden_cards(table: tuple[str, int]) -> None:
    """Two games whose hidden cards lie differently look the same to the agent all along."""
    rng = random.Random(13)
    envs = [make(make_env, table, reward="captures") for _ in range(2)]
    for number in range(12):
        deck = random_deck(rng, (0, 3)[number % 2])
        dealer = rng.randrange(table[1])
        options = {"deck": deck, "dealer": dealer}
        agent = rng.choice(envs[0].possible_agents)
        envs[0].reset(seed=1, options=options)
        actions = play_randomly(envs[0], rng, rng.randrange(25))
        rows = envs[0].observe(agent)["observation"]
        places = [place for place, card in enumerate(deck) if rows[Feature.UNSEEN][card]]
        cards = [deck[place] for place in places]
        rng.shuffle(cards)
        other = list(deck)
        for place, card in zip(places, cards, strict=True):
            other[place] = card
        assert other != deck
        envs[0].reset(seed=1, options=options)
        envs[1].reset(seed=2, options={"deck": other, "dealer": dealer})
        assert envs[0].state().tobytes() != envs[1].state().tobytes()
        for action in [*actions, None]:
            first, second = (env.observe(agent) for env in envs)
            np.testing.assert_array_equal(first["observation"], second["observation"])
            if agent == envs[0].agent_selection:
                np.testing.assert_array_equal(first["action_mask"], second["action_mask"])
            for name in ("agents", "agent_selection", "rewards", "terminations", "infos"):
                assert getattr(envs[0], name) == getattr(envs[1], name)
            if action is not None:
                for env in envs:
                    env.step(action)


# --- two decisions in one turn --------------------------------------------------------------


@every_table
def test_r8_a_flip_with_two_targets_asks_the_same_agent_again(table: tuple[str, int]) -> None:
    deck = with_layout(range(52), "7S 7D 9C KH 3H")  # the fifth card is the top of the stock
    env = make(make_env, table)
    env.reset(options={"deck": deck, "dealer": 0})
    agent = env.agent_selection
    laid = next(card for card in legal(env) if ct.card_name(card)[0] in "258TQJ")
    env.step(laid)
    assert env.agent_selection == agent
    assert legal(env) == ct.card_list(ct.bitboard("7D 7S"))
    for other in env.possible_agents:
        seen = env.observe(other)
        flipped = np.flatnonzero(seen["observation"][Feature.PENDING_FROM_STOCK])
        assert flipped.tolist() == [ct.card("3H")]
        assert seen["action_mask"].any() == (other == agent)
    env.step(ct.card("7D"))
    assert env.agent_selection != agent
    rows = env.observe(agent)["observation"]
    assert np.flatnonzero(rows[Feature.CAPTURED_0]).tolist() == ct.card_list(ct.bitboard("3H 7D"))
    steps = 0
    for _ in env.agent_iter():
        _, _, terminated, truncated, _ = env.last()
        env.step(None if terminated or truncated else legal(env)[0])
        steps += 1
    assert 24 <= steps <= 23 * 3 + table[1]


def test_r6_and_r8_a_turn_of_three_decisions() -> None:
    deck = with_layout(range(52), "7S 7D 9C 9H AS")
    deck[deck.index(ct.card("3H"))], deck[0] = deck[0], ct.card("3H")
    env = make_env()
    env.reset(options={"deck": deck, "dealer": 1})
    for card, choices in (("3H", None), ("7D", "7D 7S"), ("9H", "9C 9H")):
        assert env.agent_selection == "player_0"
        if choices is not None:
            assert legal(env) == ct.card_list(ct.bitboard(choices))
        env.step(ct.card(card))
    assert env.agent_selection == "player_1"
    rows = env.observe("player_0")["observation"]
    assert rows[Feature.CAPTURED_0].sum() == 4


# --- options, typos, whole deals ------------------------------------------------------------


def test_unknown_options_are_tolerated() -> None:
    env, same = make_env(), make_env()
    env.reset(seed=0, options={"options": 1, "Deck": "nonsense"})
    same.reset(seed=0)
    assert seen_by_all(env) == seen_by_all(same)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"player_num": 4}, TypeError, "num_players"),
        ({"num_players": 5}, ValueError, "2 or 3 or 4"),
        ({"num_players": 1}, ValueError, "2 or 3 or 4"),
        ({"num_players": "2"}, ValueError, "2 or 3 or 4"),
        ({"variant": "taiwan", "num_players": 2}, ValueError, "4 players"),
        ({"variant": "tawain"}, ValueError, "mainland.*taiwan_low_aces.*Did you mean 'taiwan'"),
        ({"variant": None}, ValueError, "mainland, taiwan"),
        ({"reward": "nett"}, ValueError, "net, captures, win.*Did you mean 'net'"),
        ({"match": "best of three"}, ValueError, "deal, net, raw"),
        ({"target": 100}, ValueError, "match='net'"),
        ({"match": "net", "target": 0}, ValueError, "from 1 to"),
        ({"capture": "table"}, ValueError, "card, hand"),
        ({"peek": "all"}, ValueError, "none, dealer, last"),
        ({"render_mode": "ascii"}, ValueError, "ansi"),
        ({"red_five_levi": 5}, TypeError, "Did you mean 'red_five_levy'"),
    ],
)
@every_door
def test_typos_are_errors_that_name_the_choices(
    door: Callable[..., Env], arguments: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        door(**arguments)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"deck": list(range(51))}, "52 cards are needed, not 51; missing: KS"),
        ({"deck": [*range(52), 0]}, "AC"),
        ({"deck": [0, *range(51)]}, "AC"),
        ({"deck": ["XX", *range(1, 52)]}, "XX"),
        ({"deck": []}, "52 cards are needed"),
        ({"deck": [list(range(52)), list(range(52))]}, "deck"),
        ({"dealer": 9}, "seats 0, 1, 2"),
        ({"dealer": 3}, "seats 0, 1, 2"),
        ({"dealer": -1}, "seats 0, 1, 2"),
        ({"dealer": "east"}, "dealer must be a seat"),
        ({"dealer": 1.0}, "dealer must be a seat"),
    ],
)
@every_door
def test_bad_options_are_named_and_leave_the_running_game(
    door: Callable[..., Env], options: dict[str, Any], words: str
) -> None:
    env, same = (door(num_players=3, match="net", target=10) for _ in range(2))
    rng = random.Random(14)
    for running in (env, same):
        running.reset(seed=14)
    for card in play_randomly(same, rng, 5):
        env.step(card)
    before = seen_by_all(env)
    for seed in (None, 99):
        with pytest.raises(ValueError, match=words):
            env.reset(seed=seed, options=options)
        assert seen_by_all(env) == before
    while not is_over(same):  # it also deals on as it would have
        for card in play_randomly(same, rng, 1):
            env.step(card)
        assert seen_by_all(env) == seen_by_all(same)


def test_decks_may_be_numbers_names_text_or_an_array() -> None:
    deck = random_deck(random.Random(1))
    names = [ct.card_name(card) for card in deck]
    seen = []
    for given in (deck, names, " ".join(names), np.array(deck), np.array(deck, dtype=np.uint8)):
        env = make_env()
        env.reset(options={"deck": given, "dealer": np.int64(1)})
        seen.append(seen_by_all(env))
    assert all(shown == seen[0] for shown in seen)


def test_r2_the_dealer_is_drawn_from_the_seed_unless_given() -> None:
    env = make_env(num_players=4)
    deck = random_deck(random.Random(1))
    leaders = set()
    for seed in range(40):
        env.reset(seed=seed, options={"deck": deck})
        leaders.add(env.agent_selection)
        drawn = env.agent_selection
        env.reset(seed=seed, options={"deck": deck})
        assert env.agent_selection == drawn
    assert leaders == set(env.possible_agents)
    for dealer in range(4):
        env.reset(options={"dealer": dealer})
        assert env.agent_selection == f"player_{(dealer + 1) % 4}"


@pytest.mark.parametrize(
    ("example", "result"),
    [
        pytest.param(example, result, id=f"{example.id}-{result.variant}-{result.num_players}")
        for example in DEALS
        for result in example.results
    ],
)
@every_door
def test_whole_deals(door: Callable[..., Env], example: DealExample, result: DealResult) -> None:
    deck = [ct.card(name) for name in example.deck.split()]
    env = door(variant=result.variant, num_players=result.num_players)
    env.reset(options={"deck": deck, "dealer": result.dealer})
    assert env.agent_selection == "player_0"
    choose = Convention(deck)
    while not is_over(env):
        env.step(choose(legal(env)))
    par = env.unwrapped.rules.par
    assert list(env.rewards.values()) == pytest.approx([value - par for value in result.points])
    if result.pile_sizes is not None:
        sizes = [
            int(env.observe(agent)["observation"][Feature.CAPTURED_0].sum())
            for agent in env.possible_agents
        ]
        assert tuple(sizes) == result.pile_sizes


# --- the rest of the interface --------------------------------------------------------------


@every_door
def test_render_gives_the_board_as_text(door: Callable[..., Env]) -> None:
    env = door(render_mode="ansi")
    env.reset(seed=1)
    board = env.render()
    assert isinstance(board, str)
    for agent in env.possible_agents:  # for spectators: all hands
        hand = np.flatnonzero(env.observe(agent)["observation"][Feature.HAND])
        assert all(ct.card_name(int(card)) in board for card in hand)
    env.step(legal(env)[0])
    assert env.render() != board


@every_door
def test_render_without_a_mode_says_so(door: Callable[..., Env]) -> None:
    env = door()
    env.reset(seed=1)
    with pytest.warns(UserWarning, match="render_mode='ansi'"):
        assert env.render() is None


@every_door
def test_a_closed_environment_says_so(door: Callable[..., Env]) -> None:
    env = door()
    env.reset(seed=1)
    card = legal(env)[0]
    env.close()
    with pytest.raises(RuntimeError, match="closed"):
        env.step(card)
    with pytest.raises(RuntimeError, match="closed"):
        env.reset()
    env.close()  # twice does no harm


def test_env_wants_a_reset_first() -> None:
    env = make_env()
    for call in (lambda: env.step(0), lambda: env.observe("player_0"), env.state, env.agent_iter):
        with pytest.raises(AssertionError, match="reset"):
            call()
    with pytest.raises(AttributeError, match="reset"):
        _ = env.agent_selection


def test_r6_capture_hand_must_be_kept_by_agents() -> None:
    deck = with_layout(range(52), "7S 8D 9C KH")
    env = make_env(capture="hand")
    env.reset(options={"deck": deck, "dealer": 1})
    rows = env.observe("player_0")["observation"]
    assert legal(env) == np.flatnonzero(rows[Feature.CAPTURING]).tolist()
    assert rows[Feature.CAPTURING].sum() < rows[Feature.HAND].sum()
