"""The native vector environment: many games at once, each as it would be alone."""

from __future__ import annotations

import copy
import pickle
import random
import warnings
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
import pytest
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from gymnasium.wrappers.vector import (
    DictInfoToList,
    FlattenObservation,
    NormalizeReward,
    RecordEpisodeStatistics,
    TransformReward,
)

import chinese_ten_env as ct
from chinese_ten_env import Feature
from chinese_ten_env.vector_env import ChineseTenVectorEnv
from tests.helpers import TABLES, mixed, random_decks, table_id

Env = Any

every_table = pytest.mark.parametrize("table", TABLES, ids=table_id)
every_mode = pytest.mark.parametrize("mode", list(AutoresetMode), ids=lambda mode: mode.name)


def make(table: tuple[str, int] = ("mainland", 2), num_envs: int = 5, **arguments: Any) -> Env:
    """Return a vector environment of a table."""
    return gymnasium.make_vec(
        "ChineseTen-v0",
        num_envs=num_envs,
        variant=table[0],
        num_players=table[1],
        **arguments,
    )


def make_single(table: tuple[str, int], **arguments: Any) -> Env:
    """Return a single environment of a table."""
    return gymnasium.make(
        "ChineseTen-v0", variant=table[0], num_players=table[1], **arguments
    ).unwrapped


def choose(mask: Any, number: int, illegal_in: int = 0) -> int:
    """Return a legal action that depends on the number alone, or rarely an illegal one."""
    word = mixed(number)
    if illegal_in and word % illegal_in == 0:
        return int(np.flatnonzero(mask == 0)[word % 7])
    choices = np.flatnonzero(mask)
    return int(choices[word % len(choices)]) if len(choices) else 0


def choose_all(masks: Any, number: int, illegal_in: int = 0) -> npt.NDArray[np.int64]:
    """Return an action for each environment."""
    count = len(masks)
    return np.array(
        [choose(mask, number * count + index, illegal_in) for index, mask in enumerate(masks)]
    )


def record(env: Env, seed: Any, steps: int, illegal_in: int = 0) -> list[Any]:
    """Play some steps; return copies of all that they show."""
    observation, info = env.reset(seed=seed)
    shown = [flat(observation), info["action_mask"].copy(), info["seat"].copy()]
    for number in range(steps):
        actions = choose_all(info["action_mask"], number, illegal_in)
        observation, rewards, terminated, truncated, info = env.step(actions)
        if env.unwrapped.autoreset_mode == AutoresetMode.DISABLED and terminated.any():
            shown += [flat(observation), rewards.copy(), terminated.copy()]
            observation, info = env.reset(options={"reset_mask": terminated.copy()})
        assert not truncated.any()
        shown += [flat(observation), rewards.copy(), terminated.copy()]
        shown += [info["action_mask"].copy(), info["seat"].copy()]
        shown += [info["rewards"].copy()] if "rewards" in info else []
    return shown


def flat(observation: Any) -> Any:
    """Return a copy of an observation as one array."""
    if isinstance(observation, dict):
        return np.concatenate(
            [observation["observation"], observation["action_mask"][:, None]], axis=1
        )
    return observation.copy()


def assert_same(first: list[Any], second: list[Any]) -> None:
    """Compare two recordings."""
    assert len(first) == len(second)
    for one, other in zip(first, second, strict=True):
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)


def second_card(views: Any, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Play the second lowest legal card, at random the lowest."""
    lists = [ct.card_list(view["legal"]) for view in views]
    coins = rng.integers(0, 2, size=len(views))
    return np.array(
        [cards[:2][-1 if coin else 0] for cards, coin in zip(lists, coins, strict=True)]
    )


# --- as alone -------------------------------------------------------------------------------

SETTINGS: list[dict[str, Any]] = [
    {},
    {"opponents": "random", "reward": "captures"},
    {"opponents": second_card, "seat": 1, "reward": "win"},
    {"opponents": "pool", "reward_scale": 0.01, "capture": "hand"},
    {"opponents": None, "reward": "captures"},
    {"opponents": "random", "match": "net", "target": 20, "dict_observation": True},
    {"opponents": "pool", "match": "raw", "target": 130, "reward": "captures"},
]
setting_id = ["greedy", "random", "policy", "pool", "everybody", "net", "raw"]


def with_pool(arguments: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments, with a pool of its own where one is meant."""
    if arguments.get("opponents") != "pool":
        return arguments
    return {**arguments, "opponents": ct.Pool(["random", second_card, "greedy"], [2, 1, 1])}


@every_mode
@pytest.mark.parametrize("place", range(len(SETTINGS)), ids=setting_id)
def test_environment_i_with_seed_s_is_the_single_one_with_seed_s_plus_i(
    place: int, mode: AutoresetMode
) -> None:
    for number in (place, place + 4):  # two of the tables, and over all settings every table
        table = TABLES[number % len(TABLES)]
        compare_with_singles(table, mode, SETTINGS[place], seed=100 + 17 * place)


def compare_with_singles(
    table: tuple[str, int], mode: AutoresetMode, arguments: dict[str, Any], seed: int
) -> None:
    """Play a vector environment next to single ones, with illegal actions now and then."""
    count = 4
    env = make(table, count, autoreset_mode=mode, **with_pool(arguments))
    singles = [make_single(table, **with_pool(arguments)) for _ in range(count)]
    observation, info = env.reset(seed=seed)
    own = [single.reset(seed=seed + index) for index, single in enumerate(singles)]
    observations = [shown for shown, _ in own]
    infos = [shown for _, shown in own]
    ended = np.zeros(count, dtype=np.bool_)
    ends = 0

    def compare(shown: Any, index: int, alone: Any) -> None:
        if isinstance(alone, dict):
            for name in ("observation", "action_mask"):
                np.testing.assert_array_equal(shown[name][index], alone[name])
        else:
            np.testing.assert_array_equal(shown[index], alone)

    for number in range(70):
        for index in range(count):
            compare(observation, index, observations[index])
            np.testing.assert_array_equal(info["action_mask"][index], infos[index]["action_mask"])
            assert info["seat"][index] == infos[index]["seat"]
        np.testing.assert_array_equal(env.unwrapped.action_masks(), info["action_mask"] == 1)
        actions = choose_all(info["action_mask"], number + 1000 * seed, illegal_in=50)
        observation, rewards, terminated, truncated, info = env.step(actions)
        assert rewards.dtype == np.float64
        assert terminated.dtype == truncated.dtype == np.bool_
        assert not truncated.any()
        reset_mask = np.zeros(count, dtype=np.bool_)
        for index, single in enumerate(singles):
            if mode == AutoresetMode.NEXT_STEP and ended[index]:
                observations[index], infos[index] = single.reset()
                assert rewards[index] == 0
                assert not terminated[index]
                ended[index] = False
                continue
            alone, reward, over, _, infos[index] = single.step(int(actions[index]))
            assert rewards[index] == pytest.approx(reward, abs=1e-12)
            assert terminated[index] == over
            ended[index] = over
            ends += over
            if over and mode == AutoresetMode.SAME_STEP:
                assert info["_final_obs"][index]
                assert info["_final_info"][index]
                final = info["final_obs"][index]
                compare(
                    {name: {index: final[name]} for name in final}
                    if isinstance(final, dict)
                    else {index: final},
                    index,
                    alone,
                )
                assert info["final_info"]["seat"][index] == infos[index]["seat"]
                assert not info["final_info"]["action_mask"][index].any()
                alone, infos[index] = single.reset()
            elif mode == AutoresetMode.SAME_STEP and "_final_obs" in info:
                assert not info["_final_obs"][index]
                assert info["final_obs"][index] is None
            if over and mode == AutoresetMode.DISABLED:
                compare(observation, index, alone)
                reset_mask[index] = True
                alone, infos[index] = single.reset()
            observations[index] = alone
        if reset_mask.any():
            observation, info = env.reset(options={"reset_mask": reset_mask})
    assert ends >= 4


@every_table
def test_games_do_not_depend_on_those_they_are_batched_with(table: tuple[str, int]) -> None:
    """A large batch equals small ones of its games, random opponents and all."""
    arguments: dict[str, Any] = {
        "opponents": "random",
        "reward": "captures",
        "autoreset_mode": "SameStep",
    }
    whole = make(table, 64, **arguments)
    parts = [make(table, 16, **arguments) for _ in range(4)]
    observation, info = whole.reset(seed=5)
    shown = [part.reset(seed=5 + 16 * place) for place, part in enumerate(parts)]
    rows, masks = [row for row, _ in shown], [own["action_mask"] for _, own in shown]
    for number in range(40):
        np.testing.assert_array_equal(observation, np.concatenate(rows))
        np.testing.assert_array_equal(info["action_mask"], np.concatenate(masks))
        actions = choose_all(info["action_mask"], number)
        observation, rewards, terminated, _, info = whole.step(actions)
        steps = [part.step(actions[16 * place :][:16]) for place, part in enumerate(parts)]
        rows, masks = [step[0] for step in steps], [step[4]["action_mask"] for step in steps]
        np.testing.assert_array_equal(rewards, np.concatenate([step[1] for step in steps]))
        np.testing.assert_array_equal(terminated, np.concatenate([step[2] for step in steps]))


@pytest.mark.parametrize(
    "duplicate",
    [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))],
    ids=["deepcopy", "pickle"],
)
def test_copies_of_games_in_progress_play_on_alike(duplicate: Callable[[Env], Env]) -> None:
    env = make(opponents=ct.Pool(["random", second_card]), autoreset_mode="SameStep").unwrapped
    _, info = env.reset(seed=7)
    for number in range(5):
        *_, info = env.step(choose_all(info["action_mask"], number))
    copied = duplicate(env)
    for number in range(40):
        actions = choose_all(info["action_mask"], number)
        first, second = env.step(actions), copied.step(actions)
        for one, other in zip(first[:4], second[:4], strict=True):
            np.testing.assert_array_equal(one, other)
        info = first[4]


# --- ways to return the same ----------------------------------------------------------------


@every_mode
@pytest.mark.parametrize("opponents", ["random", None])
def test_packed_is_the_same_as_bitboards(mode: AutoresetMode, opponents: Any) -> None:
    table = ("taiwan", 4)
    plain = make(table, autoreset_mode=mode, opponents=opponents)
    packed = make(table, autoreset_mode=mode, opponents=opponents, packed=True)
    assert packed.single_observation_space.dtype == np.uint64
    first, second = record(plain, 1, 60), record(packed, 1, 60)
    for one, other in zip(first, second, strict=True):
        if one.ndim == 3:
            assert other.dtype == np.uint64
            np.testing.assert_array_equal(ct.unpack(other), one)
        else:
            np.testing.assert_array_equal(one, other)


def test_final_observations_are_packed_too() -> None:
    envs = [make(autoreset_mode="SameStep", packed=packed) for packed in (False, True)]
    infos = [env.reset(seed=3)[1] for env in envs]
    finals = 0
    for number in range(50):
        actions = choose_all(infos[0]["action_mask"], number)
        infos = [env.step(actions)[4] for env in envs]
        assert ("final_obs" in infos[0]) == ("final_obs" in infos[1])
        for plain, packed in zip(*(info.get("final_obs", []) for info in infos), strict=True):
            assert (plain is None) == (packed is None)
            if plain is not None:
                np.testing.assert_array_equal(ct.unpack(packed), plain)
                finals += 1
    assert finals > 5


@every_mode
@pytest.mark.parametrize("packed", [False, True])
def test_copies_or_the_same_buffers_again(mode: AutoresetMode, packed: bool) -> None:
    arguments: dict[str, Any] = {"opponents": "random", "autoreset_mode": mode, "packed": packed}
    copying, reusing = make(copy=True, **arguments), make(copy=False, **arguments)
    assert_same(record(copying, 2, 60), record(reusing, 2, 60))
    for env, reused in ((copying, False), (reusing, True)):
        first, info = env.reset(seed=4)
        kept = first.copy()
        actions = choose_all(info["action_mask"], 1)
        second, _, _, _, after = env.step(actions)
        assert np.shares_memory(first, second) == reused
        assert np.shares_memory(info["action_mask"], after["action_mask"]) == reused
        if not reused:
            np.testing.assert_array_equal(first, kept)


def test_dict_observation_holds_observation_and_mask() -> None:
    for copying in (True, False):
        plain, both = make(copy=copying), make(copy=copying, dict_observation=True)
        first, second = record(plain, 3, 30), record(both, 3, 30)
        for one, other in zip(first, second, strict=True):
            if one.ndim == 3:
                np.testing.assert_array_equal(other[:, :-1], one)
            else:
                np.testing.assert_array_equal(other, one)
        observation, info = both.reset(seed=1)
        assert observation in both.observation_space
        np.testing.assert_array_equal(observation["action_mask"], info["action_mask"])
        assert np.shares_memory(observation["action_mask"], info["action_mask"]) == (not copying)


@every_mode
def test_threads_change_nothing(mode: AutoresetMode) -> None:
    for opponents in ("random", None):
        recordings = []
        for num_threads in (1, 2, 3):
            env = make(
                ("taiwan", 4),
                num_envs=7,
                opponents=opponents,
                reward="captures",
                autoreset_mode=mode,
                num_threads=num_threads,
            )
            recordings.append(record(env, 6, 50, illegal_in=60))
            env.close()
        assert_same(recordings[0], recordings[1])
        assert_same(recordings[0], recordings[2])


def test_more_threads_than_games_do_no_harm() -> None:
    env = make(num_envs=2, num_threads=4)
    assert_same(record(env, 1, 20), record(make(num_envs=2), 1, 20))
    env.close()


# --- rewards --------------------------------------------------------------------------------


@every_table
@pytest.mark.parametrize("reward", ["net", "captures"])
def test_r10_rewards_tell_what_every_player_is_paid(table: tuple[str, int], reward: str) -> None:
    rules = ct.make_rules(*table)
    count = 40
    env = make(table, count, opponents=None, reward=reward, reward_scale=0.5)
    decks = random_decks(random.Random(1), count)
    _, info = env.reset(seed=1, options={"deck": decks})
    games = ct.new_games(rules, count, seed=1, decks=decks)
    sums = np.zeros((count, rules.num_players))
    running = np.ones(count, dtype=np.bool_)
    number = 0
    while running.any():
        seats = info["seat"]
        actions = choose_all(info["action_mask"], number)
        number += 1
        ct.play(games, actions)
        _, rewards, terminated, _, info = env.step(actions)
        paid = info["rewards"]
        assert paid.shape == (count, rules.num_players)
        assert paid.dtype == np.float64
        np.testing.assert_array_equal(rewards, paid[np.arange(count), seats])
        np.testing.assert_allclose(paid.sum(axis=1), 0, atol=1e-9)
        sums[running] += paid[running]
        running &= ~terminated
    np.testing.assert_allclose(sums, ct.nets(games, rules) * 0.5, atol=1e-9)


def test_an_illegal_action_is_paid_to_its_player_alone() -> None:
    for mode in AutoresetMode:
        env = make(("mainland", 3), opponents=None, reward="captures", autoreset_mode=mode)
        _, info = env.reset(seed=2)
        for number in range(9):
            _, _, _, _, info = env.step(choose_all(info["action_mask"], number))
        seats = info["seat"]
        actions = choose_all(info["action_mask"], 9)
        actions[1] = np.flatnonzero(info["action_mask"][1] == 0)[0]
        actions[3] = 99
        _, rewards, terminated, truncated, info = env.step(actions)
        assert terminated.tolist() == [False, True, False, True, False]
        assert not truncated.any()
        for index in (1, 3):
            expected = np.zeros(3)
            expected[seats[index]] = rewards[index] = -240.0
            np.testing.assert_array_equal(info["rewards"][index], expected)
        if mode == AutoresetMode.NEXT_STEP:
            _, rewards, terminated, _, info = env.step(choose_all(info["action_mask"], 10))
            assert rewards[[1, 3]].tolist() == [0.0, 0.0]
            assert not info["rewards"][[1, 3]].any()
            assert not terminated.any()


# --- beginning ------------------------------------------------------------------------------


def test_partial_resets_leave_the_other_games_alone() -> None:
    env = make(autoreset_mode="Disabled", opponents="random")
    same = make(autoreset_mode="Disabled", opponents="random")
    info, other = (one.reset(seed=8)[1] for one in (env, same))
    for number in range(4):
        actions = choose_all(info["action_mask"], number)
        info, other = env.step(actions)[4], same.step(actions)[4]
    mask = np.array([True, False, False, True, False])
    observation, info = env.reset(seed=50, options={"reset_mask": mask})
    for index in np.flatnonzero(mask):  # environment i begins with seed 50 + i
        alone, _ = make_single(("mainland", 2), opponents="random").reset(seed=50 + int(index))
        np.testing.assert_array_equal(observation[index], alone)
    for number in range(4, 6):
        actions = choose_all(info["action_mask"], number)
        actions[~mask] = choose_all(other["action_mask"], number)[~mask]
        observation, *_, info = env.step(actions)
        expected, *_, other = same.step(
            np.where(mask, choose_all(other["action_mask"], 1), actions)
        )
        np.testing.assert_array_equal(observation[~mask], expected[~mask])


def test_seeds_may_be_one_each_and_some_missing() -> None:
    env = make(opponents="random")
    for seeds in ([9, 4, 4, 2**40, 0], np.array([9, 4, 4, 7, 0]), (1, 2, 3, 4, 5)):
        observation, _ = env.reset(seed=seeds)
        for index, seed in enumerate(seeds):
            alone, _ = make_single(("mainland", 2), opponents="random").reset(seed=int(seed))
            np.testing.assert_array_equal(observation[index], alone)
    same = make(opponents="random")
    env.reset(seed=1)
    same.reset(seed=1)
    first, _ = env.reset(seed=[None, 7, None, None, 8])
    second, _ = same.reset(seed=None)
    np.testing.assert_array_equal(first[[0, 2, 3]], second[[0, 2, 3]])  # these deal on
    for index, seed in ((1, 7), (4, 8)):
        alone, _ = make_single(("mainland", 2), opponents="random").reset(seed=seed)
        np.testing.assert_array_equal(first[index], alone)


def test_without_a_seed_games_are_random_ones_and_then_deal_on() -> None:
    env, other = make(), make()
    first = [env.reset()[0] for _ in range(3)] + [other.reset()[0] for _ in range(3)]
    assert len({row.tobytes() for rows in first for row in rows}) == 30
    env.reset(seed=3)
    other.reset(seed=3)
    for _ in range(3):
        np.testing.assert_array_equal(env.reset()[0], other.reset()[0])


def test_one_deck_and_dealer_for_all_or_one_each() -> None:
    table = ("mainland", 4)
    decks = random_decks(random.Random(2), 5)
    env = make(table, opponents=None)
    names = [[ct.card_name(card) for card in deck] for deck in decks]
    cases: list[tuple[Any, Any, list[Any]]] = [  # deck, dealer, the deck of each environment
        (decks[0], 2, decks[:1] * 5),
        (" ".join(names[1]), [0, 1, 2, 3, 0], decks[1:2] * 5),
        (decks, [0, 1, 2, 3, 0], decks),
        (names, 1, decks),
        (np.array(decks), np.array([3, 2, 1, 0, 1]), decks),
        (None, 3, [None] * 5),
    ]
    for deck, dealer, each in cases:
        options = {} if deck is None else {"deck": deck}
        observation, info = env.reset(seed=4, options={**options, "dealer": dealer})
        dealers = np.broadcast_to(dealer, 5)
        np.testing.assert_array_equal(info["seat"], (dealers + 1) % 4)
        for index in range(5):
            single = make_single(table, opponents=None)
            own: dict[str, Any] = {"dealer": int(dealers[index])}
            if deck is not None:
                own["deck"] = each[index]
            alone, _ = single.reset(seed=4 + index, options=own)
            np.testing.assert_array_equal(observation[index], alone)


def test_unknown_options_are_tolerated() -> None:
    env = make()
    first, _ = env.reset(seed=1, options={"whatever": 1})
    np.testing.assert_array_equal(first, env.reset(seed=1)[0])


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"deck": list(range(51))}, "52 cards are needed, not 51; missing: KS"),
        ({"deck": [0, *range(51)]}, "AC"),
        ({"deck": [list(range(52))] * 4}, "4 decks are given for 5 games"),
        ({"dealer": 9}, "seats 0, 1"),
        ({"dealer": [0, 1, 0, 1, 2]}, "seats 0, 1"),
        ({"dealer": [0, 1]}, "a seat for each game"),
        ({"reset_mask": [True, False]}, r"bool of shape \(5,\)"),
        ({"reset_mask": np.zeros(5, dtype=np.bool_)}, "at least one True"),
        ({"reset_mask": np.ones(5, dtype=np.int8)}, "bool of shape"),
    ],
)
@pytest.mark.parametrize("seed", [None, 99])
def test_bad_options_leave_the_running_games(
    options: dict[str, Any], words: str, seed: int | None
) -> None:
    arguments: dict[str, Any] = {"opponents": "random", "match": "net", "target": 10}
    env, same = (make(autoreset_mode="SameStep", **arguments) for _ in range(2))
    _, info = env.reset(seed=9)
    same.reset(seed=9)
    with pytest.raises(ValueError, match=words):
        env.reset(seed=seed, options=options)
    for number in range(40):
        actions = choose_all(info["action_mask"], number)
        observation, rewards, terminated, _, info = env.step(actions)
        expected = same.step(actions)
        np.testing.assert_array_equal(observation, expected[0])
        np.testing.assert_array_equal(rewards, expected[1])
        np.testing.assert_array_equal(terminated, expected[2])


@pytest.mark.parametrize("seed", [-1, [1, 2], [1, 2, 3, 4, -5], [1, 2, 3, 4, "x"], 1.5])
def test_bad_seeds_are_errors_and_leave_the_running_games(seed: Any) -> None:
    env, same = make(), make()
    _, info = env.reset(seed=9)
    same.reset(seed=9)
    with pytest.raises((ValueError, TypeError, gymnasium.error.Error), match=r"[Ss]eed|iter"):
        env.reset(seed=seed)
    actions = choose_all(info["action_mask"], 1)
    np.testing.assert_array_equal(env.step(actions)[0], same.step(actions)[0])
    np.testing.assert_array_equal(env.reset()[0], same.reset()[0])


# --- the interface of Gymnasium -------------------------------------------------------------


def test_make_vec_gives_the_native_environment() -> None:
    env = gymnasium.make_vec("ChineseTen-v0", num_envs=3)
    assert isinstance(env.unwrapped, ChineseTenVectorEnv)
    assert env.num_envs == 3
    assert env.metadata["autoreset_mode"] == AutoresetMode.NEXT_STEP
    for mode in AutoresetMode:
        assert make(autoreset_mode=mode).metadata["autoreset_mode"] is mode
        assert make(autoreset_mode=mode.value).metadata["autoreset_mode"] is mode
    assert ChineseTenVectorEnv().num_envs == 1


@every_mode
@pytest.mark.parametrize("form", ["plain", "packed", "dict"])
def test_spaces_contain_what_is_returned(mode: AutoresetMode, form: str) -> None:
    arguments: dict[str, Any] = {
        "plain": {},
        "packed": {"packed": True},
        "dict": {"dict_observation": True},
    }[form]
    env = make(("taiwan", 4), autoreset_mode=mode, opponents="random", **arguments)
    assert env.action_space == spaces.MultiDiscrete([52] * 5)
    assert env.single_action_space == spaces.Discrete(52)
    observation, info = env.reset(seed=1)
    for number in range(50):
        assert observation in env.observation_space
        assert info["action_mask"].dtype == np.int8
        assert info["action_mask"].shape == (5, 52)
        assert info["seat"].dtype == np.int64
        for name in [name for name in info if not name.startswith("_")]:
            assert info[f"_{name}"].dtype == np.bool_
            assert info[f"_{name}"].shape == (5,)
        assert info["_action_mask"].all()
        final = info.get("final_obs", np.full(5, None))
        np.testing.assert_array_equal(
            info.get("_final_obs", np.zeros(5, dtype=np.bool_)),
            [last is not None for last in final],
        )
        for last in final:
            assert last is None or last in env.single_observation_space
        actions = choose_all(info["action_mask"], number)
        assert actions in env.action_space
        observation, rewards, terminated, truncated, info = env.step(actions)
        assert rewards.shape == terminated.shape == truncated.shape == (5,)
        if mode == AutoresetMode.DISABLED and terminated.any():
            observation, info = env.reset(options={"reset_mask": terminated})
        else:
            assert ("final_obs" in info) == (mode == AutoresetMode.SAME_STEP and terminated.any())


def test_masks_sample_legal_actions() -> None:
    env = make()
    _, info = env.reset(seed=1)
    env.action_space.seed(1)
    for _ in range(12):
        actions = env.action_space.sample(mask=tuple(info["action_mask"]))
        assert (info["action_mask"][np.arange(5), actions] == 1).all()
        *_, info = env.step(actions)


def test_what_the_caller_does_with_arrays_changes_nothing() -> None:
    for mode in AutoresetMode:
        env, same = (make(autoreset_mode=mode, opponents=None) for _ in range(2))
        _, info = env.reset(seed=1)
        same.reset(seed=1)
        for number in range(60):
            actions = choose_all(info["action_mask"], number)
            shown, expected = env.step(actions.copy()), same.step(actions)
            for one, other in zip(shown[:4], expected[:4], strict=True):
                np.testing.assert_array_equal(one, other)
            for name in ("action_mask", "seat", "rewards"):
                np.testing.assert_array_equal(shown[4][name], expected[4][name])
            info = {"action_mask": expected[4]["action_mask"].copy()}
            ended = expected[2].copy()
            for array in (*shown[:4], *shown[4].values()):
                if isinstance(array, np.ndarray) and array.dtype != object:
                    array[:] = 1
            if mode == AutoresetMode.DISABLED and ended.any():
                _, info = same.reset(options={"reset_mask": ended})
                env.reset(options={"reset_mask": ended})


# Before Gymnasium 1.4 it takes every mode for NEXT_STEP: the first step of an episode is left out.
RECORDED = [AutoresetMode.NEXT_STEP]
if tuple(map(int, gymnasium.__version__.split(".")[:2])) >= (1, 4):
    RECORDED.append(AutoresetMode.SAME_STEP)


@pytest.mark.parametrize("mode", RECORDED)
def test_record_episode_statistics_adds_up_rewards(mode: AutoresetMode) -> None:
    env = RecordEpisodeStatistics(make(autoreset_mode=mode, opponents="random", reward="captures"))
    _, info = env.reset(seed=1)
    sums, lengths, ended = np.zeros(5), np.zeros(5, dtype=np.int64), np.zeros(5, dtype=np.bool_)
    finished = 0
    for number in range(80):
        _, rewards, terminated, _, info = env.step(choose_all(info["action_mask"], number))
        begun = ended if mode == AutoresetMode.NEXT_STEP else np.zeros(5, dtype=np.bool_)
        sums, lengths = sums + rewards, lengths + ~begun
        for index in np.flatnonzero(terminated):
            assert info["_episode"][index]
            assert info["episode"]["r"][index] == pytest.approx(sums[index], abs=1e-5)
            assert info["episode"]["l"][index] == lengths[index]
            sums[index], lengths[index] = 0.0, 0
            finished += 1
        ended = terminated
    assert finished > 10


@pytest.mark.parametrize(
    "wrap",
    [
        FlattenObservation,
        NormalizeReward,
        lambda env: TransformReward(env, lambda rewards: rewards / 100),
        DictInfoToList,
    ],
    ids=["flatten", "normalize", "transform", "info-list"],
)
def test_wrappers_for_vector_environments_fit(wrap: Callable[[Env], Env]) -> None:
    env = wrap(make(opponents="random"))
    plain = make(opponents="random")
    observation, _ = env.reset(seed=1)
    _, info = plain.reset(seed=1)
    terminated = np.zeros(5, dtype=np.bool_)
    for number in range(40):
        assert observation in env.observation_space
        actions = choose_all(info["action_mask"], number)
        observation, rewards, terminated, _, infos = env.step(actions)
        expected, _, ended, _, info = plain.step(actions)
        np.testing.assert_array_equal(observation.reshape(expected.shape), expected)
        np.testing.assert_array_equal(terminated, ended)
        assert np.isfinite(rewards).all()
        if isinstance(infos, list):
            for one, mask in zip(infos, info["action_mask"], strict=True):
                np.testing.assert_array_equal(one["action_mask"], mask)


def test_render_gives_a_board_for_each_game() -> None:
    env = make(render_mode="ansi")
    observation, _ = env.reset(seed=1)
    boards = env.render()
    assert len(boards) == 5
    for board, rows in zip(boards, observation, strict=True):
        for card in np.flatnonzero(rows[Feature.HAND]):
            assert ct.card_name(int(card)) in board
        for card in np.flatnonzero(rows[Feature.UNSEEN]):
            assert ct.card_name(int(card)) not in board


# --- errors ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"num_envs": 0}, ValueError, "num_envs must be a positive integer"),
        ({"num_envs": 2.0}, ValueError, "num_envs must be a positive integer"),
        ({"num_threads": 0}, ValueError, "num_threads must be a positive integer"),
        ({"autoreset_mode": "sometimes"}, ValueError, "sometimes"),
        ({"packed": True, "dict_observation": True}, ValueError, "exclude"),
        ({"seat": 2}, ValueError, "0, 1, or None"),
        ({"opponents": "greddy"}, ValueError, "Did you mean 'greedy'"),
        ({"variant": "tawain"}, ValueError, "Did you mean 'taiwan'"),
        ({"num_players": 5}, ValueError, "2 or 3 or 4"),
        ({"player_num": 4}, TypeError, "num_players"),
        ({"autoreset": "SameStep"}, TypeError, "Did you mean 'autoreset_mode'"),
        ({"reward_scale": -1}, ValueError, "positive number"),
        ({"reward": "points"}, ValueError, "net, captures, win"),
        ({"render_mode": "human being"}, ValueError, "ansi"),
    ],
)
def test_typos_are_errors_that_name_the_choices(
    arguments: dict[str, Any], error: type[Exception], words: str
) -> None:
    with pytest.raises(error, match=words):
        ChineseTenVectorEnv(**arguments)


@pytest.mark.parametrize(
    "actions", [[0, 1], np.zeros(5), np.zeros((5, 1), dtype=np.int64), [None] * 5, "AS", 3]
)
def test_bad_actions_are_errors_and_change_nothing(actions: Any) -> None:
    env, same = make(), make()
    _, info = env.reset(seed=1)
    same.reset(seed=1)
    with pytest.raises(ValueError, match=r"actions must be integers of shape \(5,\)"):
        env.step(actions)
    good = choose_all(info["action_mask"], 1)
    np.testing.assert_array_equal(env.step(good)[0], same.step(good)[0])


def test_integers_of_every_kind_are_actions() -> None:
    kinds: list[Any] = [np.int64, np.int32, np.int8, np.uint8, list, tuple]
    envs = [make() for _ in kinds]
    infos = [env.reset(seed=1)[1] for env in envs]
    for number in range(30):
        actions = choose_all(infos[0]["action_mask"], number).tolist()
        steps = []
        for env, kind in zip(envs, kinds, strict=True):
            given = kind(actions) if kind in (list, tuple) else np.array(actions, dtype=kind)
            steps.append(env.step(given))
        infos = [step[4] for step in steps]
        for step in steps:
            np.testing.assert_array_equal(step[0], steps[0][0])


def test_unsigned_actions_beyond_the_signed_are_illegal() -> None:
    env = make(num_envs=2)
    _, info = env.reset(seed=1)
    actions = choose_all(info["action_mask"], 1).astype(np.uint64)
    actions[0] = 2**63 + 5
    _, rewards, terminated, _, _ = env.step(actions)
    assert terminated.tolist() == [True, False]
    assert rewards[0] == -210.0


def test_steps_and_partial_resets_want_a_reset_first() -> None:
    for mode in AutoresetMode:
        env = make(autoreset_mode=mode)
        with pytest.raises(RuntimeError, match=r"reset"):
            env.step(np.zeros(5, dtype=np.int64))
        with pytest.raises(ValueError, match="reset all games once"):
            env.reset(options={"reset_mask": np.array([True, False, False, False, False])})


def test_disabled_mode_wants_ended_games_to_be_reset() -> None:
    env = make(autoreset_mode="Disabled")
    _, info = env.reset(seed=1)
    actions = choose_all(info["action_mask"], 1)
    actions[2] = 99
    _, _, terminated, _, info = env.step(actions)
    assert terminated.tolist() == [False, False, True, False, False]
    with pytest.raises(RuntimeError, match=r"\[2\] are over.*reset_mask"):
        env.step(choose_all(info["action_mask"], 2))
    _, info = env.reset(options={"reset_mask": terminated})
    env.step(choose_all(info["action_mask"], 2))


def test_a_closed_environment_says_so() -> None:
    env = make(num_threads=2)
    _, info = env.reset(seed=1)
    env.close()
    with pytest.raises(RuntimeError, match="closed"):
        env.step(choose_all(info["action_mask"], 1))
    with pytest.raises(RuntimeError, match="closed"):
        env.reset()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        env.close()
    assert env.unwrapped.closed


def test_an_opponent_that_acts_illegally_is_named() -> None:
    def illegal_for_some(views: Any, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        cards = second_card(views, rng)
        cards[-1] = ct.card_list(((1 << 52) - 1) & ~int(views["legal"][-1]))[0]
        return cards

    env = make(opponents=illegal_for_some, seat=0)
    with pytest.raises(ValueError, match=r"illegal_for_some.*legal now") as error:
        env.reset(seed=1, options={"dealer": 0})
    assert "is not a legal action" in str(error.value)
