"""N-tuple networks: features, compiled and exported play, gradients, and lessons."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
import torch

import chinese_ten_env as ct
from chinese_ten_env import vectors
from chinese_ten_env.adapters.torch import NTupleModule
from chinese_ten_env.cards import NUM_CARDS
from chinese_ten_env.jit import kernel
from chinese_ten_env.ntuple.descent import _descend_cards, _descend_values
from chinese_ten_env.ntuple.features import (
    MORE,
    MOST,
    PARTNER_RANK,
    RANKS,
    rank_codes,
    write_features,
)
from chinese_ten_env.ntuple.network import (
    BIAS,
    CARD,
    CONTEXT,
    JOINING,
    JOINT,
    MIXING,
    OUTPUT,
    OWN,
    PARTNER,
    SIZE,
)
from chinese_ten_env.vectors import ROW
from tests.helpers import TABLES, table_id

FloatArray = npt.NDArray[np.float32]


def rng(seed: int = 0) -> np.random.Generator:
    """Return a generator."""
    return np.random.default_rng(seed)


def floats(seed: int, size: int) -> FloatArray:
    """Return random numbers."""
    return rng(seed).standard_normal(size).astype(np.float32)


def network(table: tuple[str, int] = ("mainland", 2), seed: int = 1, **more: Any) -> Any:
    """Return a network with random weights."""
    made = ct.ntuple.Network(ct.make_rules(*table), **more)
    made.randomize(seed)
    return made


def met(table: tuple[str, int], deals: int, policy: Any = "random", **switches: Any) -> list[Any]:
    """Return the views that players of some deals meet, a batch for each round."""
    games = ct.new_games(ct.make_rules(*table, **switches), deals, seed=3)
    player, generator, batches = ct.make_policy(policy), rng(5), []
    while not ct.is_over(games).all():
        live = np.flatnonzero(~ct.is_over(games))
        views = ct.views(ct.take(games, live))
        batches.append(views)
        cards = np.zeros(deals, dtype=np.int64)
        cards[live] = player(views, generator)
        ct.play(games, cards)
    return batches


# --- vectors --------------------------------------------------------------------------------


@kernel
def _compute(a: Any, b: Any, starts: Any, out: Any) -> float:
    """Call every function once, on places that do not lie at the beginning."""
    vectors.add_rows(a, starts, 3, 5, out, 64)
    vectors.add_products(a, 7, 70, b, 3, 9, out, 0)
    vectors.add_outer(out, 128, b, 2, 3, a, 11)
    vectors.add_multiple(out, 64, a, 13, np.float32(0.25))
    vectors.rectified_sum(a, 1, b, 2, 3, 4, out, 320)
    vectors.rectify(out, 0)
    vectors.mask_row(out, 64, a, 17)
    product: float = vectors.dot(out, 320, a, 19)
    return product


def test_compiled_rows_are_what_python_computes() -> None:
    a, b, starts = floats(0, 1000), floats(1, 1000), np.array([0, 100, 333, 5])
    compiled, interpreted = floats(2, 400), floats(2, 400)
    found = _compute(a, b, starts, compiled)
    python = getattr(_compute, "py_func", _compute)
    wanted = python(a, b, starts, interpreted)
    np.testing.assert_allclose(compiled, interpreted, rtol=1e-4, atol=1e-4)
    assert found == pytest.approx(float(wanted), rel=1e-4, abs=1e-4)
    assert (compiled != floats(2, 400)).sum() > 300


# --- features -------------------------------------------------------------------------------


def features_of(made: Any, view: Any) -> list[int]:
    """Return the features of a view."""
    out = np.zeros(MOST, dtype=np.int64)
    return [int(n) for n in out[: write_features(view, made.codes, int(made.plan[0]), out)]]


@pytest.mark.parametrize("table", TABLES, ids=table_id)
def test_features_lie_in_the_network_and_never_repeat(table: tuple[str, int]) -> None:
    made = network(table)
    first = int(made.plan[0])
    for views in met(table, 6):
        for view in views:
            found = features_of(made, view)
            assert len(set(found[RANKS:])) == len(found) - RANKS
            assert max(found[:RANKS]) < first <= min(found[RANKS:])
            assert max(found) < first + MORE


@pytest.mark.parametrize("table", TABLES, ids=table_id)
def test_the_codes_of_a_rank_tell_where_its_cards_are(table: tuple[str, int]) -> None:
    rules = ct.make_rules(*table)
    codes, count = rank_codes(rules)
    assert set(codes.ravel()) == set(range(count))
    for rank in range(RANKS):
        points = list(rules.points[4 * rank : 4 * rank + 4])
        groups: dict[int, set[Any]] = {}
        for code in range(256):
            places = [code >> 2 * suit & 3 for suit in range(4)]
            pairs = []
            for one, other in ((0, 3), (1, 2)):
                pair = (places[one], places[other])
                alike = points[one] == points[other]
                pairs.append(tuple(sorted(pair)) if alike else pair)
            groups.setdefault(int(codes[rank, code]), set()).add(tuple(pairs))
        assert all(len(group) == 1 for group in groups.values())  # no two cases share a code
        assert len(groups) == len(set().union(*groups.values()))  # and none has two


def test_many_cards_laid_are_all_seen() -> None:
    """A table of 24 cards laid by hand: no view of a real deal has more."""
    made = network()
    view = met(("mainland", 2), 1)[0][:1].copy()
    view["table"] = sum(1 << card for card in range(24))
    view["played"][0, 0] = view["table"][0]
    view["hands"][0, int(view["viewer"][0])] = 1 << 40
    found = features_of(made, view[0])
    assert len(found) > 13 + 24
    module = NTupleModule(made)
    view["legal"] = 1 << 40
    logits = module(torch.from_numpy(ct.observe(view)), torch.from_numpy(ct.action_masks(view)))
    assert float(logits[0, 40]) == pytest.approx(float(made.worth(view)[0, 40]), abs=1e-3)


def test_what_is_hidden_changes_no_feature() -> None:
    made = network()
    for views in met(("mainland", 2), 5)[:20]:
        deals = ct.determinize(views, rng(1))
        again = ct.view(deals, views["player"])
        for view, other in zip(views, again, strict=True):
            assert features_of(made, view) == features_of(made, other)


# --- play -----------------------------------------------------------------------------------


@pytest.mark.parametrize("table", TABLES, ids=table_id)
@pytest.mark.parametrize("trigger", ["red_takes_red", "pile"])
def test_the_module_plays_as_the_compiled_network(table: tuple[str, int], trigger: str) -> None:
    made = network(table, width=128)
    views = np.concatenate(met(table, 12, red_five_trigger=trigger))
    masks = ct.action_masks(views)
    observations = torch.from_numpy(ct.observe(views))
    logits = NTupleModule(made)(observations, torch.from_numpy(masks)).numpy()
    worth, cards, legal = made.worth(views), made(views, rng()), masks != 0
    np.testing.assert_allclose(logits[legal], worth[legal], rtol=1e-3, atol=1e-3)
    assert legal[np.arange(len(cards)), cards].all()
    ordered = np.sort(np.where(legal, worth, -np.inf), axis=1)
    clear = ordered[:, -1] - ordered[:, -2] > 1e-3  # rounding may decide between equals
    assert clear.mean() > 0.9
    np.testing.assert_array_equal(ct.masked_choice(logits, legal, None)[clear], cards[clear])


def test_a_network_refuses_what_it_has_not_learned() -> None:
    made = network()
    with pytest.raises(ValueError, match=r"points of mainland with 2 players"):
        made(met(("mainland", 3), 1)[0], rng())
    with pytest.raises(ValueError, match="points of mainland with 2 players"):
        made(met(("gob_dum_gob_dang", 2), 1)[0], rng())
    with pytest.raises(ValueError, match="multiple of 64"):
        network(width=100)
    with pytest.raises(ValueError, match=r"float32 \[\d+\], not float32 \[3\]"):
        ct.ntuple.Network(ct.make_rules("mainland"), weights=np.zeros(3, dtype=np.float32))


# --- descent --------------------------------------------------------------------------------


def parts(made: Any, weights: torch.Tensor) -> dict[int, torch.Tensor]:
    """Return the parts of the weights of a network as rows."""
    plan = [int(place) for place in made.plan]
    columns = {0: made.width, BIAS: made.width}
    order = [0, BIAS, MIXING, CONTEXT, OWN, PARTNER, CARD, JOINING, JOINT, OUTPUT, SIZE]
    starts = [0, *(plan[part] for part in order[1:])]
    return {
        part: weights[start:stop].view(-1, columns.get(part, ROW))
        for part, start, stop in zip(order, starts, starts[1:], strict=False)
    }


def lessons_of(made: Any, values: Any, **settings: Any) -> Any:
    """Return a few lessons."""
    return ct.ntuple.Teacher(made, values, 3).teach(60, ct.ntuple.Settings(**settings))


def context_of(found: dict[int, torch.Tensor], features: npt.NDArray[np.int16]) -> torch.Tensor:
    """Return the context of some features as torch computes it."""
    rows = found[0][torch.from_numpy(features[features >= 0].astype(np.int64))]
    known = torch.relu(rows.sum(0) + found[BIAS][0])
    return known @ found[MIXING] + found[CONTEXT][0]


def scratch_of(made: Any) -> tuple[Any, ...]:
    """Return what the gradient kernels work in."""
    descent = ct.ntuple.Descent(made, 1, map)
    return descent._scratch[0], descent._rows[0], descent


def test_the_gradient_of_cards_is_that_of_torch() -> None:
    made, values = network(width=128), network(cards=False, width=128)
    lessons = lessons_of(made, values)
    chosen = np.arange(40)
    work, rows, descent = scratch_of(made)
    gradient = np.zeros_like(made.weights)
    turned = descent._turned(MIXING, CONTEXT), descent._turned(JOINING, JOINT)
    given: list[Any] = [*lessons[:4], chosen, made.tables, *turned, gradient]
    total = _descend_cards(*given, *work, *rows)
    weights = torch.from_numpy(made.weights.copy()).requires_grad_()
    found = parts(made, weights)
    wanted = torch.zeros(())
    for number in chosen:
        context = context_of(found, lessons.features[number])
        span = slice(lessons.starts[number], lessons.starts[number + 1])
        cards = torch.from_numpy(lessons.cards[span].astype(np.int64))
        pair = found[CARD][cards[:, 0]] + found[OWN][cards[:, 1]] + found[PARTNER][cards[:, 2]]
        joint = torch.relu(torch.relu(pair + context) @ found[JOINING] + found[JOINT][0])
        error = joint @ found[OUTPUT][0] - torch.from_numpy(lessons.worth[span])
        wanted = wanted + ((error - error.mean()) ** 2).sum()
    torch.autograd.backward(wanted / 2)
    assert weights.grad is not None
    assert total == pytest.approx(wanted.item(), rel=1e-3)
    scale = weights.grad.abs().max().item()
    np.testing.assert_allclose(gradient, weights.grad.numpy(), atol=1e-3 * scale)


def test_the_gradient_of_values_is_that_of_torch() -> None:
    made, values = network(), network(cards=False)
    lessons = lessons_of(made, values)
    chosen = np.arange(40)
    work, _, descent = scratch_of(values)
    gradient = np.zeros_like(values.weights)
    turned = descent._turned(MIXING, CONTEXT)
    given: list[Any] = [*lessons[4:], chosen, values.tables, turned, gradient]
    total = _descend_values(*given, *work)
    weights = torch.from_numpy(values.weights.copy()).requires_grad_()
    found = parts(values, weights)
    wanted = torch.zeros(())
    for number in chosen:
        guess = torch.relu(context_of(found, lessons.seen[number])) @ found[OUTPUT][0]
        wanted = wanted + (guess - float(lessons.won[number])) ** 2
    torch.autograd.backward(wanted / 2)
    assert weights.grad is not None
    assert total == pytest.approx(wanted.item(), rel=1e-3)
    scale = weights.grad.abs().max().item()
    np.testing.assert_allclose(gradient, weights.grad.numpy(), atol=1e-3 * scale)


def test_threads_change_nothing_but_rounding_and_a_state_can_be_taken_up() -> None:
    lessons = lessons_of(network(), network(cards=False))
    learned = []
    with ThreadPoolExecutor(3) as workers:
        for threads in (1, 3):
            made = network()
            descent = ct.ntuple.Descent(made, threads, workers.map)
            for step in range(4):
                if step == 2:
                    state = {name: array.copy() for name, array in descent.state().items()}
                    made = network(seed=9)
                    descent = ct.ntuple.Descent(made, threads, workers.map)
                    descent.restore(state)
                descent.learn_cards(lessons, np.arange(50), 1e-3)
            learned.append((descent.weights.copy(), made.weights.copy()))
    for one, other in zip(*learned, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-4)


# --- lessons --------------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_lessons() -> None:
    made, values = network(), network(cards=False)
    for one, other in zip(lessons_of(made, values), lessons_of(made, values), strict=True):
        np.testing.assert_array_equal(one, other)
    other = ct.ntuple.Teacher(made, values, 4).teach(60, ct.ntuple.Settings())
    assert not np.array_equal(other.worth[:50], lessons_of(made, values).worth[:50])


@pytest.mark.parametrize("table", TABLES, ids=table_id)
def test_lessons_are_whole_and_about_par(table: tuple[str, int]) -> None:
    rules = ct.make_rules(*table)
    made, values = network(table), network(table, cards=False)
    teacher = ct.ntuple.Teacher(made, values, 1)
    lessons = teacher.teach(4000, ct.ntuple.Settings(horizon=1.0, decay=1.0))
    counts = np.diff(lessons.starts)
    assert len(lessons.features) >= 4000
    assert counts.min() >= 2
    assert counts.sum() == len(lessons.cards) == len(lessons.worth)
    # A card's own rank and that of its partner are among the features of the decision.
    owner = np.repeat(np.arange(len(counts)), counts)
    ranks = lessons.cards[:, 0] % NUM_CARDS >> 2
    np.testing.assert_array_equal(lessons.features[owner, ranks], lessons.cards[:, 1])
    partners = PARTNER_RANK[ranks]
    np.testing.assert_array_equal(lessons.features[owner, partners], lessons.cards[:, 2])
    # Trials to the end are worth points of whole deals: between no and all, par on average.
    highest = rules.total + rules.red_five_levy * (rules.num_players - 1)
    assert lessons.worth.min() >= -rules.red_five_levy
    assert lessons.worth.max() <= highest
    spread = lessons.worth.std() / np.sqrt(len(counts) / 12)
    assert abs(lessons.worth.mean() - rules.par) < 5 * spread + 3
    # What is still won is a player's points beside a share of what is left, nothing on average.
    assert abs(lessons.won.mean()) < 5 * lessons.won.std() / np.sqrt(len(lessons.won) / 24) + 1


def test_a_trial_cut_short_is_worth_what_is_held_and_what_values_add() -> None:
    made, values = network(), network(cards=False)
    values.weights[:] = 0.0
    held, whole = (
        ct.ntuple.Teacher(made, values, 1).teach(3000, ct.ntuple.Settings(horizon=horizon))
        for horizon in (0.0, 1.0)
    )
    values.weights[values.plan[CONTEXT] : values.plan[OWN]] = 1.0
    values.weights[values.plan[OUTPUT] : values.plan[SIZE]] = 0.25 / ROW
    more = ct.ntuple.Teacher(made, values, 1).teach(3000, ct.ntuple.Settings(horizon=0.0))
    # Points, and half of those that are left; to the end of the deal, points alone.
    np.testing.assert_array_equal(2 * held.worth, np.round(2 * held.worth))
    np.testing.assert_array_equal(whole.worth, np.round(whole.worth))
    assert (held.worth % 1 == 0.5).any()
    assert held.worth.std() < whole.worth.std()
    # Values of a quarter are added wherever the deal goes on.
    added = more.worth - held.worth
    assert set(np.round(added, 4).tolist()) == {0.0, 0.25}
    assert (added == 0).mean() < 0.2


@pytest.mark.parametrize(
    ("setting", "value", "words"),
    [
        ("rule", "quik", "rule must be one of quick, greedy, network, not 'quik'"),
        ("part", 0.0, "part must be a share above 0, not 0.0"),
        ("stray", 1.5, "stray must be a share, 0 to 1, not 1.5"),
    ],
)
def test_settings_that_mean_nothing_are_refused(setting: str, value: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        ct.ntuple.Settings(**{setting: value})


def test_the_rival_makes_no_lessons() -> None:
    made, values = network(), network(cards=False)
    teacher = ct.ntuple.Teacher(made, values, 1, "greedy")
    lessons = teacher.teach(200, ct.ntuple.Settings(rule="network"))
    # A learner that knows nothing loses to greedy, so that less is won than a share.
    assert lessons.won.mean() < -2
    itself = ct.ntuple.Teacher(made, values, 1, made)
    assert len(itself.teach(50, ct.ntuple.Settings()).features) >= 50
    with pytest.raises(ValueError, match="quick, greedy"):
        ct.ntuple.Teacher(made, values, 1, "gready")
    with pytest.raises(ValueError, match="points of mainland with 2"):
        ct.ntuple.Teacher(made, values, 1, network(("gob_dum_gob_dang", 2)))
    with pytest.raises(ValueError, match="one width"):
        ct.ntuple.Teacher(made, network(cards=False, width=128), 1)


def test_lessons_teach() -> None:
    """A minute of one core is enough to leave random play far behind."""
    made, values = network(), network(cards=False)
    generator = rng(2)
    with ThreadPoolExecutor(2) as workers:
        of_cards = ct.ntuple.Descent(made, 2, workers.map)
        of_values = ct.ntuple.Descent(values, 2, workers.map)
        teacher = ct.ntuple.Teacher(made, values, 7)
        for number in range(20):
            horizon = 1.0 if number < 4 else 0.6
            lessons = teacher.teach(10_000, ct.ntuple.Settings(horizon=horizon))
            for chosen in np.array_split(generator.permutation(len(lessons.won)), 20):
                of_values.learn_values(lessons, chosen, 2e-3)
            for chosen in np.array_split(generator.permutation(len(lessons.features)), 10):
                of_cards.learn_cards(lessons, chosen, 2e-3)
    result = ct.arena.play([made, "random"], "mainland", 2, deals=500, seed=1)
    assert result["ntuple"].net > 5
