"""The Gymnasium environment: one learner, policies in the other seats."""

from __future__ import annotations

import copy
import pickle
import random
from collections import Counter
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
import pytest
from gymnasium import spaces
from gymnasium.utils.env_checker import check_env

import chinese_ten_env as ct
from chinese_ten_env import Feature
from tests.helpers import TABLES, random_deck, table_id, with_layout

Env = Any

every_table = pytest.mark.parametrize("table", TABLES, ids=table_id)


def make(table: tuple[str, int] = ("mainland", 2), **arguments: Any) -> Env:
    """Return an environment of a table."""
    return gymnasium.make("ChineseTen-v0", variant=table[0], num_players=table[1], **arguments)


def choose(mask: Any, rng: random.Random) -> int:
    """Return a random legal action."""
    return rng.choice(np.flatnonzero(mask).tolist())


def play_out(env: Env, info: dict[str, Any], rng: random.Random) -> tuple[float, Any]:
    """Play random legal actions to the end; return the sum of rewards and the last observation."""
    total = 0.0
    while True:
        action = choose(info["action_mask"], rng)
        observation, reward, terminated, truncated, info = env.step(action)
        assert truncated is False
        total += reward
        if terminated:
            return total, observation


def net_from(rows: Any, rules: ct.Rules) -> float:
    """Return the net of the owner of a final observation, as its cards say."""
    points = float(rows[Feature.CAPTURED_0] @ np.array(rules.points))
    if rows[Feature.LEVY].any():
        taker = int(rows[Feature.LEVY].argmax())
        points += rules.red_five_levy * ((rules.num_players - 1) if taker == 0 else -1)
    return points - rules.par


def shows(env: Env, seed: int | None, rng: random.Random) -> list[Any]:
    """Play a random game; return all that every step shows."""
    observation, info = env.reset(seed=seed)
    steps: list[Any] = [(observation.tobytes(), info["seat"])]
    terminated = False
    while not terminated:
        action = choose(info["action_mask"], rng)
        observation, reward, terminated, truncated, info = env.step(action)
        mask = info["action_mask"].tobytes()
        steps.append((action, observation.tobytes(), mask, reward, terminated, truncated))
    return steps


class FirstCard:
    """A policy that plays the lowest legal card."""

    def __call__(self, views: Any, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        return np.array([ct.card_list(view["legal"])[0] for view in views])


def last_card(views: Any, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Play the highest legal card."""
    return np.array([ct.card_list(view["legal"])[-1] for view in views])


class Spy:
    """A policy that keeps the views it was shown, and counts them."""

    def __init__(self) -> None:
        self.views: list[Any] = []

    def __call__(self, views: Any, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        self.views.append(views.copy())
        cards = FirstCard()(views, rng)
        # What a policy does to its views is its own affair.
        views["table"] = views["legal"] = views["captured"] = 0
        return cards


# --- checkers -------------------------------------------------------------------------------

CHECKED: list[dict[str, Any]] = [
    {},
    {"variant": "taiwan", "opponents": "random"},
    {"variant": "g4a", "match": "raw", "target": 200, "reward": "captures", "seat": 1},
    {"variant": "gob_dum_gob_dang", "num_players": 4, "reward": "win", "render_mode": "ansi"},
    {"num_players": 3, "opponents": None, "reward_scale": 0.01},
    {"variant": "taiwan_low_aces", "dict_observation": True, "opponents": ["random"]},
]
check_id = ["default", "taiwan", "g4a-match", "thai", "everybody", "dict"]


@pytest.mark.parametrize("arguments", CHECKED, ids=check_id)
def test_gymnasium_check_env_passes_although_it_acts_illegally(arguments: dict[str, Any]) -> None:
    for seed in range(50):
        env = gymnasium.make("ChineseTen-v0", **arguments).unwrapped
        env.action_space.seed(seed)
        check_env(env, skip_render_check=True)  # tests/test_render.py has what that needs


@every_table
def test_types_spaces_and_masks_at_every_step(table: tuple[str, int]) -> None:
    env = make(table)
    rng = random.Random(1)
    assert env.action_space == spaces.Discrete(52)
    assert env.observation_space == spaces.Box(0, 1, (ct.NUM_FEATURES, 52), np.int8)
    for seed in range(5):
        observation, info = env.reset(seed=seed)
        terminated = truncated = False
        while True:
            mask = info["action_mask"]
            assert observation in env.observation_space
            assert observation.dtype == np.int8
            assert mask.dtype == np.int8
            assert mask.shape == (52,)
            assert set(info) == {"action_mask", "seat"}
            asked = env.get_wrapper_attr("action_masks")()
            assert asked.dtype == np.bool_
            np.testing.assert_array_equal(asked, mask == 1)
            assert mask.any() == (not terminated)
            if terminated:
                break
            # The learner is on turn: it plays from the hand, or takes from the table.
            assert observation[Feature.PLAYER].tolist() == [1, *[0] * 51]
            pending = observation[[Feature.PENDING_FROM_HAND, Feature.PENDING_FROM_STOCK]].any()
            source = observation[Feature.TABLE if pending else Feature.HAND]
            assert (mask <= source).all()
            action = env.action_space.sample(mask)
            assert mask[action] == 1
            if rng.random() < 0.5:
                action = np.int32(action)
            observation, reward, terminated, truncated, info = env.step(action)
            assert type(reward) is float
            assert type(terminated) is bool
            assert truncated is False


def test_nothing_that_is_returned_is_used_again() -> None:
    for dict_observation in (False, True):
        env = make(dict_observation=dict_observation).unwrapped
        rng = random.Random(1)
        observation, info = env.reset(seed=1)
        kept: list[npt.NDArray[Any]] = []
        terminated = False
        while True:
            arrays = list(observation.values()) if dict_observation else [observation]
            arrays += [info["action_mask"], env.action_masks()]
            for place, array in enumerate(arrays):
                assert not any(np.shares_memory(array, other) for other in kept + arrays[:place])
            kept += arrays
            if terminated:
                break
            action = choose(info["action_mask"], rng)
            for array in arrays:  # the caller may do with them as he likes
                array[:] = 1
            observation, _, terminated, _, info = env.step(action)
        assert len(kept) > 24


def test_dict_observation_is_that_of_the_aec_environment() -> None:
    env, plain = make(dict_observation=True), make()
    rng = random.Random(2)
    observation, info = env.reset(seed=2)
    rows, _ = plain.reset(seed=2)
    terminated = False
    while True:
        assert observation in env.observation_space
        assert set(observation) == {"observation", "action_mask"}
        np.testing.assert_array_equal(observation["observation"], rows)
        np.testing.assert_array_equal(observation["action_mask"], info["action_mask"])
        if terminated:
            break
        action = choose(info["action_mask"], rng)
        observation, _, terminated, _, info = env.step(action)
        rows = plain.step(action)[0]


# --- seeds and seats ------------------------------------------------------------------------


@every_table
def test_a_seed_is_a_game_with_stochastic_opponents_too(table: tuple[str, int]) -> None:
    pool = ct.Pool(["random", "greedy", last_card])
    first = make(table, opponents=pool, reward="captures")
    second = make(table, opponents=ct.Pool(["random", "greedy", last_card]), reward="captures")
    for seed in (0, 2**32, 3, None, None):
        assert shows(first, seed, random.Random(1)) == shows(second, seed, random.Random(1))
    np.random.seed(9)  # noqa: NPY002  # the global generator is what must not matter
    assert shows(first, 3, random.Random(1)) == shows(second, int(np.int64(3)), random.Random(1))


def test_every_game_without_a_seed_is_another() -> None:
    env, other = make(), make()
    games = [env.reset()[0].tobytes() for _ in range(10)]
    games += [other.reset()[0].tobytes() for _ in range(10)]
    assert len(set(games)) == 20


@every_table
def test_a_given_seat_is_kept(table: tuple[str, int]) -> None:
    for seat in range(table[1]):
        env = make(table, seat=seat)
        rng = random.Random(3)
        for number in range(8):
            observation, info = env.reset(seed=number if number % 2 else None)
            terminated = False
            while True:
                assert info["seat"] == seat
                dealer = int(observation[Feature.DEALER].argmax())
                if terminated:
                    break
                action = choose(info["action_mask"], rng)
                observation, _, terminated, _, info = env.step(action)
            assert 0 <= dealer < table[1]


@every_table
def test_no_seat_is_drawn_from_the_seed(table: tuple[str, int]) -> None:
    env, same = make(table), make(table)
    seats = [env.reset(seed=seed)[1]["seat"] for seed in range(120)]
    assert seats == [same.reset(seed=seed)[1]["seat"] for seed in range(120)]
    counts = Counter(seats)
    assert set(counts) == set(range(table[1]))
    assert min(counts.values()) > 120 / table[1] / 2
    env.reset(seed=5)
    same.reset(seed=5)
    following = [env.reset()[1]["seat"] for _ in range(40)]  # and so on without a seed
    assert following == [same.reset()[1]["seat"] for _ in range(40)]
    assert set(following) == set(range(table[1]))


def test_the_same_seed_deals_the_same_cards_in_every_seat() -> None:
    """So that a learner can be compared over seats."""
    hands = []
    for seat in range(4):
        env = make(("mainland", 4), seat=seat, opponents=FirstCard())
        env.reset(seed=9, options={"dealer": (seat - 1) % 4})  # the learner leads
        observation, _ = env.reset(seed=9, options={"dealer": (seat - 1) % 4})
        hands.append(observation[[Feature.HAND, Feature.TABLE]].tobytes())
    assert len(set(hands)) == 1


# --- opponents ------------------------------------------------------------------------------


def test_opponents_may_be_names_objects_lists_and_pools() -> None:
    table = ("mainland", 3)
    given: list[list[Any]] = [
        ["greedy", ct.make_policy("greedy"), ["greedy", "greedy"], ct.Pool(["greedy"])],
        [FirstCard(), FirstCard().__call__, (FirstCard(), FirstCard())],
        [last_card, [last_card, last_card], ct.Pool([last_card])],
    ]
    played = []
    for alike in given:
        games = [shows(make(table, seat=0, opponents=one), 4, random.Random(4)) for one in alike]
        assert all(game == games[0] for game in games)
        played.append(str(games[0]))
    assert len(set(played)) == len(given)


@every_table
def test_lists_name_the_seats_after_the_learner(table: tuple[str, int]) -> None:
    for seat in (0, table[1] - 1, None):
        spies = [Spy() for _ in range(table[1] - 1)]
        env = make(table, seat=seat, opponents=spies)
        rng = random.Random(5)
        for number in range(3):
            _, info = env.reset(seed=number)
            play_out(env, info, rng)
            for place, spy in enumerate(spies, start=1):
                assert spy.views
                for view in spy.views:
                    assert view["player"].tolist() == [(info["seat"] + place) % table[1]]
                spy.views.clear()


@every_table
def test_policies_see_views_only(table: tuple[str, int]) -> None:
    spy = Spy()
    env = make(table, opponents=spy)
    rng = random.Random(6)
    for number in range(6):
        _, info = env.reset(seed=number)
        play_out(env, info, rng)
    views = np.concatenate(spy.views)
    assert len(views) > 6 * 12 * (table[1] - 1) / table[1]
    rows = np.arange(len(views))
    np.testing.assert_array_equal(views["viewer"], views["player"])
    assert (views["rng"] == 0).all()
    hands = views["hands"].copy()
    assert (hands[rows, views["player"]] != 0).any()
    hands[rows, views["player"]] = 0
    assert not hands.any()
    knows = views["peeker"] == views["player"]
    assert (views["deck"][:, :51] == 255).all()
    assert (views["deck"][~knows, 51] == 255).all()
    assert (views["deck"][knows, 51] < 52).all()
    assert knows.any() == (ct.make_rules(*table).peek != "none")


def test_pool_draws_anew_for_each_game_and_seat_by_weight() -> None:
    first, second = Spy(), Spy()
    pool = ct.Pool([first, second], weights=[3, 1])
    env = make(("mainland", 4), seat=0, opponents=pool)
    rng = random.Random(7)
    counts = np.zeros(2)
    mixed_games = 0
    for number in range(60):
        _, info = env.reset(seed=number)
        play_out(env, info, rng)
        seats = [{int(view["player"][0]) for view in spy.views} for spy in (first, second)]
        assert seats[0] | seats[1] == {1, 2, 3}
        assert not seats[0] & seats[1]  # one policy a seat for the whole game
        counts += [len(own) for own in seats]
        mixed_games += all(seats)
        first.views.clear()
        second.views.clear()
    assert counts.sum() == 180
    assert 110 < counts[0] < 160  # 135 expected, standard deviation 5.8
    assert mixed_games > 10


def test_pool_may_grow_between_games() -> None:
    spy = Spy()
    pool = ct.Pool(["greedy"])
    env = make(opponents=pool)
    rng = random.Random(8)
    for number in range(10):
        _, info = env.reset(seed=number)
        play_out(env, info, rng)
    pool.add(spy, weight=1000.0)
    _, info = env.reset(seed=1)
    play_out(env, info, rng)
    assert spy.views


@pytest.mark.parametrize(
    ("policies", "weights", "words"),
    [
        ([], None, "at least one"),
        (["greedy"], [1, 2], "1 policies need as many weights"),
        (["greedy", "random"], [-1, 2], "not be negative"),
        (["greedy", "random"], [0, 0], "all zero"),
        (["greddy"], None, "Did you mean 'greedy'"),
    ],
)
def test_bad_pools_are_named(policies: Any, weights: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        ct.Pool(policies, weights)


@every_table
def test_no_opponents_lets_the_learner_play_every_seat(table: tuple[str, int]) -> None:
    env = make(table, opponents=None, reward="captures")
    rules = ct.make_rules(*table)
    game = ct.Game(rules, seed=9)
    rng = random.Random(9)
    observation, info = env.reset(seed=9)
    while True:
        np.testing.assert_array_equal(observation, ct.observe(game.games)[0])
        assert info["seat"] == game.player
        if game.is_over:
            break
        action = rng.choice(game.legal)
        game.play(action)
        observation, _, terminated, _, info = env.step(action)
        assert terminated == game.is_over


def illegal_for_some(views: Any, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Answer with a card of the table, or of nobody."""
    return np.array([ct.card_list(((1 << 52) - 1) & ~int(view["legal"]))[0] for view in views])


def no_card(views: Any, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Answer with no card at all."""
    return np.full(len(views), 52)


def too_few(views: Any, rng: np.random.Generator) -> npt.NDArray[np.int64]:
    """Answer for too few views."""
    return np.zeros(len(views) - 1, dtype=np.int64)


def floats(views: Any, rng: np.random.Generator) -> npt.NDArray[np.float64]:
    """Answer with floats."""
    return FirstCard()(views, rng).astype(np.float64)


@pytest.mark.parametrize("policy", [illegal_for_some, no_card, too_few, floats])
def test_what_an_opponent_does_wrong_is_named(policy: Callable[..., Any]) -> None:
    env = make(seat=0, opponents=policy)
    with pytest.raises(ValueError, match=policy.__name__) as error:
        env.reset(seed=1, options={"dealer": 0})  # seat 1 leads
    if policy is illegal_for_some:
        assert "legal action; legal now: " in str(error.value)


# --- rewards --------------------------------------------------------------------------------


@every_table
@pytest.mark.parametrize("reward", ["net", "captures", "win"])
def test_r10_rewards_of_a_game_add_up_to_the_net(table: tuple[str, int], reward: str) -> None:
    """Also what comes while opponents end the game, and before the learner's first decision."""
    rules = ct.make_rules(*table)
    env = make(table, reward=reward, opponents="random")
    rng = random.Random(10)
    last_to_move = set()
    for number in range(20):
        deck = random_deck(rng, (0, 3, 4)[number % 3])
        options = {"deck": deck, "dealer": number % table[1]}
        _, info = env.reset(seed=number, options=options)
        total, rows = play_out(env, info, rng)
        net = net_from(rows, rules)
        # The last hand card that anybody played lies in the learner's pile if it moved last.
        last_to_move.add(bool((rows[Feature.LAST_FLIPPED] & rows[Feature.CAPTURED_0]).any()))
        if reward == "win":
            piles = rows[Feature.CAPTURED_0 : Feature.CAPTURED_0 + rules.num_players]
            nets = piles @ np.array(rules.points)
            if rows[Feature.LEVY].any():
                nets -= rules.red_five_levy
                nets[rows[Feature.LEVY].argmax()] += rules.red_five_levy * rules.num_players
            shared = 1.0 if np.sum(nets == nets.max()) == 1 else 0.0
            assert total == (shared if nets[0] == nets.max() else -1.0)
        else:
            assert total == pytest.approx(net, abs=1e-9)
    assert last_to_move == {False, True}


@every_table
def test_captures_pay_all_that_happened_since_the_last_decision(table: tuple[str, int]) -> None:
    rules = ct.make_rules(*table, red_five_levy=0)
    values = np.array(rules.points)
    env = make(table, reward="captures", opponents="random", red_five_levy=0)
    rng = random.Random(11)

    def above_the_mean(rows: Any) -> float:
        piles = rows[Feature.CAPTURED_0 : Feature.CAPTURED_0 + rules.num_players] @ values
        return float(piles[0] - piles.mean())

    for seed in range(6):
        observation, info = env.reset(seed=seed)
        before = 0.0  # what opponents took before the first decision is paid with it
        terminated = False
        while not terminated:
            action = choose(info["action_mask"], rng)
            observation, reward, terminated, _, info = env.step(action)
            after = above_the_mean(observation)
            assert reward == pytest.approx(after - before, abs=1e-9)
            before = after


def test_r12_a_match_is_one_episode_and_pays_every_deal() -> None:
    for match, target in (("net", 40), ("raw", 250)):
        for reward in ("net", "captures", "win"):
            env = make(
                ("mainland", 3), match=match, target=target, reward=reward, opponents="random"
            )
            rng = random.Random(12)
            deals = []
            for seed in range(4):
                observation, info = env.reset(seed=seed)
                paid, stock, terminated, count = [], 24, False, 1
                while not terminated:
                    action = choose(info["action_mask"], rng)
                    observation, amount, terminated, truncated, info = env.step(action)
                    assert truncated is False
                    paid.append(amount)
                    left = int(observation[Feature.STOCK_SIZE].sum())
                    count += left > stock
                    stock = left
                deals.append(count)
                if reward == "net":
                    assert np.count_nonzero(paid) <= count
                if reward == "win":
                    assert not any(paid[:-1])
                    assert paid[-1] in (-1.0, 1.0)
            assert max(deals) > 1


@pytest.mark.parametrize("reward", ["net", "captures", "win"])
def test_reward_scale_multiplies_everything(reward: str) -> None:
    plain, scaled = make(reward=reward), make(reward=reward, reward_scale=0.125)
    first, second = (shows(env, 13, random.Random(13)) for env in (plain, scaled))
    assert any(step[3] for step in first[1:])
    for one, other in zip(first[1:], second[1:], strict=True):
        assert other[3] == one[3] * 0.125
    for env, factor in ((plain, 1.0), (scaled, 0.125)):
        _, info = env.reset(seed=1)
        illegal = int(np.flatnonzero(info["action_mask"] == 0)[0])
        penalty = 1.0 if reward == "win" else 210.0
        assert env.step(illegal)[1] == -penalty * factor


# --- illegal actions and errors -------------------------------------------------------------


@every_table
@pytest.mark.parametrize("reward", ["net", "captures", "win"])
def test_an_illegal_action_terminates_with_the_penalty(table: tuple[str, int], reward: str) -> None:
    rules = ct.make_rules(*table)
    levies = rules.red_five_levy * (rules.num_players - 1)
    penalty = -1.0 if reward == "win" else -float(rules.total + levies)
    env = make(table, reward=reward)
    rng = random.Random(14)
    for seed in range(6):
        observation, info = env.reset(seed=seed)
        for _ in range(seed):
            observation, *_, info = env.step(choose(info["action_mask"], rng))
        before = observation.copy()
        outside = [-1, 52, np.int64(10**9), -(2**40)] if seed > 3 else []
        illegal = rng.choice(outside or np.flatnonzero(info["action_mask"] == 0).tolist())
        observation, amount, terminated, truncated, info = env.step(illegal)
        assert amount == penalty
        assert terminated is True
        assert truncated is False
        assert not info["action_mask"].any()
        assert not env.get_wrapper_attr("action_masks")().any()
        # No other action was played instead: no card has moved.
        before[Feature.PLAYER] = observation[Feature.PLAYER]
        np.testing.assert_array_equal(observation, before)
        with pytest.raises(RuntimeError, match=r"call reset\(\)"):
            env.step(0)


def test_an_action_of_any_size_is_illegal_and_no_crash() -> None:
    env = make().unwrapped
    for action in (2**63, -(2**63) - 1, 2**80):
        env.reset(seed=1)
        _, amount, terminated, truncated, _ = env.step(action)
        assert (amount, terminated, truncated) == (-210.0, True, False)


@pytest.mark.parametrize("action", [None, 1.0, "AS", np.array([1, 2]), np.float32(3)])
def test_what_is_no_integer_is_an_error_and_changes_nothing(action: Any) -> None:
    env, same = make().unwrapped, make().unwrapped
    _, info = env.reset(seed=15)
    same.reset(seed=15)
    with pytest.raises(ValueError, match="an action is an integer from 0 to 51"):
        env.step(action)
    card = choose(info["action_mask"], random.Random(1))
    np.testing.assert_array_equal(env.step(card)[0], same.step(card)[0])


def test_steps_want_a_running_game() -> None:
    env = make().unwrapped
    with pytest.raises(RuntimeError, match=r"call reset\(\) first"):
        env.step(0)
    _, info = env.reset(seed=1)
    play_out(env, info, random.Random(1))
    with pytest.raises(RuntimeError, match=r"call reset\(\) first"):
        env.step(0)
    env.reset()
    env.close()
    with pytest.raises(RuntimeError, match="closed"):
        env.step(0)
    with pytest.raises(RuntimeError, match="closed"):
        env.reset()
    env.close()


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"seat": 2}, ValueError, "0, 1, or None"),
        ({"seat": -1}, ValueError, "0, 1, or None"),
        ({"seat": True}, ValueError, "0, 1, or None"),
        ({"seat": "north"}, ValueError, "0, 1, or None"),
        ({"seat": 0, "opponents": None}, ValueError, "opponents=None"),
        ({"opponents": "greddy"}, ValueError, "random, greedy.*Did you mean 'greedy'"),
        ({"opponents": 3}, ValueError, "random, greedy"),
        ({"opponents": []}, ValueError, "1 in seat order"),
        ({"opponents": ["greedy", "greedy"]}, ValueError, "not 2"),
        ({"oponents": "greedy"}, TypeError, "Did you mean 'opponents'"),
        ({"player_num": 4}, TypeError, "num_players"),
        ({"num_players": 5}, ValueError, "2 or 3 or 4"),
        ({"variant": "tawain"}, ValueError, "Did you mean 'taiwan'"),
        ({"reward": "points"}, ValueError, "net, captures, win"),
        ({"reward_scale": 0}, ValueError, "positive number"),
        ({"reward_scale": float("nan")}, ValueError, "positive number"),
        ({"reward_scale": float("inf")}, ValueError, "positive number"),
        ({"render_mode": "svg!"}, ValueError, "ansi"),
    ],
)
def test_typos_are_errors_that_name_the_choices(
    arguments: dict[str, Any], error: type[Exception], words: str
) -> None:
    from chinese_ten_env.gym_env import ChineseTenEnv

    with pytest.raises(error, match=words):
        ChineseTenEnv(**arguments)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"deck": list(range(51))}, "52 cards are needed, not 51; missing: KS"),
        ({"deck": [0, *range(51)]}, "AC"),
        ({"dealer": 9}, "seats 0, 1, 2"),
    ],
)
@pytest.mark.parametrize("seed", [None, 99])
def test_bad_options_leave_the_running_game(
    options: dict[str, Any], words: str, seed: int | None
) -> None:
    arguments = {"match": "net", "target": 10, "opponents": "random"}
    env, same = (make(("mainland", 3), **arguments).unwrapped for _ in range(2))
    rng = random.Random(16)
    _, info = env.reset(seed=16)
    same.reset(seed=16)
    with pytest.raises(ValueError, match=words):
        env.reset(seed=seed, options=options)
    terminated = False
    while not terminated:
        action = choose(info["action_mask"], rng)
        observation, reward, terminated, _, info = env.step(action)
        other, *rest = same.step(action)
        np.testing.assert_array_equal(observation, other)
        assert (reward, terminated) == tuple(rest[:2])


def test_unknown_options_are_tolerated() -> None:
    env = make()
    np.testing.assert_array_equal(
        env.reset(seed=1, options={"whatever": 1})[0], env.reset(seed=1)[0]
    )


def test_options_give_deck_and_dealer() -> None:
    deck = with_layout(range(52), "7S 7D 9C KH")
    env = make(("mainland", 4), seat=2, opponents=FirstCard())
    observation, _ = env.reset(seed=1, options={"deck": deck, "dealer": 1})
    assert np.flatnonzero(observation[Feature.HAND]).tolist() == sorted(deck[0:24:4])
    assert np.flatnonzero(observation[Feature.TABLE]).tolist() == sorted(deck[24:28])
    assert observation[Feature.DEALER].argmax() == 3


# --- the final view, rendering, copies ------------------------------------------------------


@every_table
def test_the_last_step_shows_the_end(table: tuple[str, int]) -> None:
    rules = ct.make_rules(*table)
    env = make(table, opponents="random")
    rng = random.Random(17)
    for seed in range(5):
        _, info = env.reset(seed=seed)
        _, rows = play_out(env, info, rng)
        for feature in (Feature.HAND, Feature.TABLE, Feature.UNSEEN, Feature.STOCK_SIZE):
            assert not rows[feature].any()
        assert not rows[Feature.PLAYER].any()
        piles = rows[Feature.CAPTURED_0 : Feature.CAPTURED_0 + rules.num_players]
        np.testing.assert_array_equal(piles.sum(axis=0), np.ones(52))


def test_render_shows_what_the_learner_sees() -> None:
    env = make(render_mode="ansi", seat=0)
    observation, _ = env.reset(seed=1)
    board = env.render()
    assert isinstance(board, str)
    for card in np.flatnonzero(observation[Feature.HAND] + observation[Feature.TABLE]):
        assert ct.card_name(int(card)) in board
    for card in np.flatnonzero(observation[Feature.UNSEEN]):
        assert ct.card_name(int(card)) not in board


def test_render_without_a_mode_says_so() -> None:
    env = make().unwrapped
    env.reset(seed=1)
    with pytest.warns(UserWarning, match="render_mode='ansi'"):
        assert env.render() is None


@pytest.mark.parametrize(
    "duplicate",
    [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))],
    ids=["deepcopy", "pickle"],
)
def test_copies_of_a_game_in_progress_play_on_alike(duplicate: Callable[[Env], Env]) -> None:
    env = make(("mainland", 3), opponents=ct.Pool(["random", FirstCard()])).unwrapped
    rng = random.Random(18)
    _, info = env.reset(seed=18)
    for _ in range(3):
        *_, info = env.step(choose(info["action_mask"], rng))
    copied = duplicate(env)
    terminated = False
    actions = []
    after = []
    while not terminated:
        actions.append(choose(info["action_mask"], rng))
        observation, reward, terminated, _, info = copied.step(actions[-1])
        after.append((observation.tobytes(), reward, terminated))
    for action, shown in zip(actions, after, strict=True):
        observation, reward, terminated, _, _ = env.step(action)
        assert (observation.tobytes(), reward, terminated) == shown
    assert shows(env, None, random.Random(1)) == shows(copied, None, random.Random(1))
