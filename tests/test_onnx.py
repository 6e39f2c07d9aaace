"""Policies in ONNX files: written from runs and plain modules, played, refused."""

from __future__ import annotations

import copy
import json
import pickle
import shutil
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import onnx
import onnxruntime
import pytest
import torch
from onnx import TensorProto, helper
from scipy import stats
from torch import nn

import chinese_ten_env as ct
import train
from agents.common import NetworkPolicy, Run
from agents.maskable_ppo import RankNetwork
from chinese_ten_env.adapters.torch import ILLEGAL, export_onnx
from chinese_ten_env.engine import Games
from chinese_ten_env.policies.onnx import OnnxPolicy
from tests.helpers import TABLES, on_the_way, table_id

ROOT = Path(train.__file__).parent
FEATURES = ct.NUM_FEATURES
COUNTS = sorted({num_players for _, num_players in TABLES})


def rng(seed: int = 0) -> np.random.Generator:
    """Return a generator."""
    return np.random.default_rng(seed)


def some_views(variant: str = "mainland", num_players: int = 2, size: int = 500) -> Games:
    """Return views from all parts of a deal."""
    return ct.views(on_the_way(ct.make_rules(variant, num_players), size, seed=3))


def assert_alike(policy: ct.Policy, other: ct.Policy, views: Games) -> None:
    """Fail unless two policies play the same cards.

    Sums in another order differ in the last digit, which may decide between equals once in a while.
    """
    same = policy(views, rng()) == other(views, rng())
    assert same.mean() > 0.999


@pytest.fixture(scope="module")
def exported(finished: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The file of a run."""
    path = tmp_path_factory.mktemp("exported") / "learner.onnx"
    assert train.main(["export", str(finished), "--to", str(path)]) == 0
    return path


@pytest.fixture(scope="module")
def networks(tmp_path_factory: pytest.TempPathFactory) -> dict[int, tuple[NetworkPolicy, Path]]:
    """Networks as they might come out of training, and their files, by number of players."""
    folder = tmp_path_factory.mktemp("networks")
    made = {}
    for num_players in COUNTS:
        torch.manual_seed(num_players)
        network = RankNetwork(num_players, 48, 96)
        nn.init.normal_(network.logits.weight)
        policy, path = NetworkPolicy(network, "network"), folder / f"{num_players}.onnx"
        rules = ct.make_rules("mainland", num_players)
        export_onnx(policy.module(), path, rules)
        made[num_players] = policy, path
    return made


# --- writing --------------------------------------------------------------------------------


def test_an_exported_run_plays_as_the_run_itself(finished: Path, exported: Path) -> None:
    run, file = ct.make_policy(finished), ct.make_policy(exported)
    for variant in ("mainland", "taiwan_low_aces", "gob_dum_gob_dang"):
        assert_alike(run, file, some_views(variant, size=2000))


@pytest.mark.parametrize("table", TABLES, ids=table_id)
def test_a_file_plays_as_its_network(
    table: tuple[str, int], networks: dict[int, tuple[NetworkPolicy, Path]]
) -> None:
    policy, path = networks[table[1]]
    views = some_views(*table, size=1500)
    assert_alike(policy, ct.make_policy(path), views)
    assert len(set(policy(views, rng()).tolist())) > 30


def test_the_graph_is_as_described(exported: Path, finished: Path) -> None:
    model = onnx.load(exported)
    onnx.checker.check_model(model, full_check=True)
    session = onnxruntime.InferenceSession(exported, providers=["CPUExecutionProvider"])
    tensors = {
        tensor.name: (tensor.type, tensor.shape[1:], type(tensor.shape[0]))
        for tensor in (*session.get_inputs(), *session.get_outputs())
    }
    assert tensors == {
        "observation": ("tensor(int8)", [FEATURES, 52], str),
        "action_mask": ("tensor(int8)", [52], str),
        "logits": ("tensor(float)", [52], str),
    }
    views = some_views()
    observations, masks = ct.observe(views), ct.action_masks(views)
    (logits,) = session.run(None, {"observation": observations, "action_mask": masks})
    network: Any = ct.make_policy(finished)
    with torch.inference_mode():
        expected = network.network.choose(torch.from_numpy(observations)).numpy()
    np.testing.assert_allclose(logits, np.where(masks == 1, expected, ILLEGAL), atol=1e-4)


def test_the_metadata_say_what_it_is(exported: Path) -> None:
    model = onnx.load(exported)
    metadata = {entry.key: entry.value for entry in model.metadata_props}
    rules = ct.make_rules("mainland")
    switches = json.loads(metadata.pop("switches"))
    assert ct.make_rules("mainland", 2, **switches) == rules
    assert metadata == {
        "format": "1",
        "observation_version": str(ct.OBSERVATION_VERSION),
        "chinese_ten_env": ct.__version__,
        "variant": "mainland",
        "num_players": "2",
        "agent": "maskable_ppo",
        "run": "done",
        "seed": "5",
        "decisions": "1024",
    }
    assert OnnxPolicy(exported).metadata == metadata | {"switches": json.dumps(switches)}


def test_a_file_tells_nothing_of_the_machine_and_stands_alone(exported: Path) -> None:
    content = exported.read_bytes()
    for word in (str(ROOT), str(Path.home()), ".py"):
        assert word.encode() not in content
    assert [path.name for path in exported.parent.iterdir()] == [exported.name]


def test_a_run_is_exported_into_its_folder(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "mine"
    shutil.copytree(finished, run)
    assert train.main(["export", str(run)]) == 0
    path = run / "mine.onnx"
    assert f"make_policy('{path}')" in capsys.readouterr().out
    assert OnnxPolicy(path).name == "mine"
    assert train.main(["evaluate", str(run), "--against", str(path), "--deals", "20"]) == 0
    assert "+0.00" in capsys.readouterr().out


def test_an_unfinished_run_is_not_exported(
    finished: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "run"
    shutil.copytree(finished, folder)
    Run.open(folder).set_status("interrupted", 512, 1.0)
    assert train.main(["export", str(folder)]) == 2
    assert "unfinished" in capsys.readouterr().out
    assert not list(folder.glob("*.onnx"))


@pytest.mark.parametrize(
    ("to", "message"),
    [("policy.pt", "ends in .onnx"), ("none/policy.onnx", "none is no folder"), (".", "ends in")],
)
def test_a_wrong_place_is_refused(
    finished: Path, tmp_path: Path, to: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert train.main(["export", str(finished), "--to", str(tmp_path / to)]) == 2
    assert message in capsys.readouterr().out
    assert not list(tmp_path.iterdir())


def test_a_failed_export_leaves_the_old_file(
    finished: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "policy.onnx"
    path.write_bytes(b"old")
    monkeypatch.setattr(NetworkPolicy, "module", lambda self: nn.Identity())
    with pytest.raises(TypeError):
        train.main(["export", str(finished), "--to", str(path)])
    assert path.read_bytes() == b"old"
    assert [file.name for file in tmp_path.iterdir()] == ["policy.onnx"]


class Capturing(nn.Module):
    """Captures if it can."""

    def forward(self, observation: torch.Tensor, action_mask: torch.Tensor) -> torch.Tensor:
        """Return logits [B, 52]."""
        return observation[:, ct.Feature.CAPTURING]


class Constant(Capturing):
    """Makes the size of the batch a constant."""

    def forward(self, observation: torch.Tensor, action_mask: torch.Tensor) -> torch.Tensor:
        """Return logits [B, 52]."""
        return observation[:, 0].view(len(observation), -1)


class Wide(Capturing):
    """Has a number too many."""

    def forward(self, observation: torch.Tensor, action_mask: torch.Tensor) -> torch.Tensor:
        """Return numbers [B, 53]."""
        return torch.cat([observation[:, 0], action_mask[:, :1]], dim=1)


def test_a_plain_module_enters_the_arena(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "capturing.onnx"
    module = Capturing().train()
    export_onnx(module, str(path), metadata={"author": "me", "observation_version": 9})
    assert module.training
    assert capfd.readouterr() == ("", "")
    policy = OnnxPolicy(path)
    assert policy.metadata["author"] == "me"
    assert policy.metadata["observation_version"] == str(ct.OBSERVATION_VERSION)
    assert policy.num_players is None
    for num_players in (2, 4):
        result = ct.arena.play([str(path), "random"], "mainland", num_players, deals=100, seed=1)
        standing = result[str(path)]
        assert standing.net > standing.half_width
    env = gymnasium.make("ChineseTen-v0", opponents=path)
    env.reset(seed=0)
    views = some_views()
    hand = ct.observe(views)[:, ct.Feature.CAPTURING] == 1
    able = hand.any(axis=1) & (views["phase"] == 0)
    assert hand[able, policy(views, rng())[able]].all()


@pytest.mark.parametrize(
    ("module", "message"), [(Wide(), r"\[B, 52\], not \(2, 53\)"), (Constant(), "a constant")]
)
def test_a_module_that_does_not_fit_is_refused(
    module: nn.Module, message: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=message):
        export_onnx(module, tmp_path / "x.onnx")
    assert not list(tmp_path.iterdir())


def test_writing_names_the_missing_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'chinese_ten_env\[train\]'"):
        export_onnx(Capturing(), tmp_path / "x.onnx")


# --- reading --------------------------------------------------------------------------------

Tensor = tuple[str, int, Sequence[int | str]]

VERSION = {"observation_version": str(ct.OBSERVATION_VERSION)}
INPUTS: list[Tensor] = [
    ("observation", TensorProto.INT8, ["B", FEATURES, 52]),
    ("action_mask", TensorProto.INT8, ["B", 52]),
]
OUTPUT: Tensor = ("logits", TensorProto.FLOAT, ["B", 52])


def write(
    path: Path,
    metadata: dict[str, str] = VERSION,
    inputs: Sequence[Tensor] = INPUTS,
    output: Tensor = OUTPUT,
    operators: Sequence[str] = (),
) -> Path:
    """Write a file that gives the mask as logits, after some operators of one number."""
    name, dtype, _ = output
    steps = ["start", *(f"step{number}" for number in range(len(operators)))]
    nodes = [helper.make_node("Cast", [inputs[-1][0]], ["start"], to=TensorProto.FLOAT)]
    nodes += [
        helper.make_node(operator, [before], [after])
        for operator, before, after in zip(operators, steps, steps[1:], strict=False)
    ]
    nodes.append(helper.make_node("Cast", [steps[-1]], [name], to=dtype))
    graph = helper.make_graph(
        nodes,
        "test",
        [helper.make_tensor_value_info(*tensor) for tensor in inputs],
        [helper.make_tensor_value_info(*output)],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    helper.set_model_props(model, metadata)
    onnx.save(model, path)
    return path


def test_equal_logits_go_to_the_lowest_card(tmp_path: Path) -> None:
    views = some_views()
    policy = ct.make_policy(write(tmp_path / "mask.onnx"))
    np.testing.assert_array_equal(policy(views, rng()), ct.action_masks(views).argmax(axis=1))


WRONG: list[tuple[dict[str, Any], str]] = [
    (
        {"metadata": {"observation_version": "3"}},
        f"was made for observation version 3, this is version {ct.OBSERVATION_VERSION}",
    ),
    ({"metadata": {}}, "does not say.*set_model_props"),
    ({"metadata": {**VERSION, "format": "7"}}, "format 7 is unknown; this version reads 1"),
    ({"metadata": {**VERSION, "num_players": "5"}}, "num_players.*2, 3, 4, not '5'"),
    ({"inputs": [INPUTS[0]]}, r"has the inputs observation; a policy has.*action_mask"),
    ({"inputs": [*INPUTS, ("x", TensorProto.INT8, [1])]}, "the inputs observation, action_mask, x"),
    ({"inputs": [("obs", *INPUTS[0][1:]), INPUTS[1]]}, "the inputs obs, action_mask"),
    (
        {"inputs": [("observation", TensorProto.FLOAT, ["B", FEATURES, 52]), INPUTS[1]]},
        r"input observation must be tensor\(int8\).*not tensor\(float\)",
    ),
    (
        {"inputs": [("observation", TensorProto.INT8, ["B", 28, 52]), INPUTS[1]]},
        r"input observation must be.*\[B, 30, 52\].*28",
    ),
    ({"inputs": [("observation", TensorProto.INT8, ["B", 52]), INPUTS[1]]}, "input observation"),
    ({"inputs": [INPUTS[0], ("action_mask", TensorProto.INT8, [1, 52])]}, "with any number B"),
    ({"output": ("policy", TensorProto.FLOAT, ["B", 52])}, "has the outputs policy; .*logits"),
    ({"output": ("logits", TensorProto.DOUBLE, ["B", 52])}, r"tensor\(double\)"),
]


@pytest.mark.parametrize(("changes", "message"), WRONG)
def test_a_file_that_does_not_fit_is_refused(
    changes: dict[str, Any], message: str, tmp_path: Path
) -> None:
    path = write(tmp_path / "wrong.onnx", **changes)
    with pytest.raises(ValueError, match=message) as error:
        ct.make_policy(str(path))
    assert str(path) in str(error.value)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda path: path.write_bytes(path.read_bytes()[:-40]), "damaged or no ONNX file"),
        (lambda path: path.write_bytes(b""), "damaged or no ONNX file"),
        (lambda path: path.write_text("hello"), "damaged or no ONNX file"),
        (lambda path: path.unlink(), "cannot be read: No such file"),
        (
            lambda path: onnx.save(
                onnx.load(path), path, save_as_external_data=True, size_threshold=0
            ),
            "external_data=False",
        ),
    ],
    ids=["cut", "empty", "text", "missing", "weights elsewhere"],
)
def test_a_damaged_file_is_refused(
    damage: Callable[[Path], object], message: str, exported: Path, tmp_path: Path
) -> None:
    path = tmp_path / "damaged.onnx"
    shutil.copy(exported, path)
    damage(path)
    with pytest.raises(ValueError, match=message):
        ct.make_policy(path)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cannot be read"):
        OnnxPolicy(tmp_path)


def test_playing_names_the_missing_extra(exported: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'chinese_ten_env\[pretrained\]'"):
        ct.make_policy(exported)


# --- playing --------------------------------------------------------------------------------


def test_another_number_of_players_is_refused(exported: Path) -> None:
    policy = OnnxPolicy(exported)
    assert policy.num_players == 2
    with pytest.raises(ValueError, match="learned to play with 2 players, not 4"):
        policy(some_views("taiwan", 4), rng())
    with pytest.raises(ValueError, match="learned to play with 2 players, not 3"):
        ct.arena.play([exported, "random"], "mainland", 3, deals=2)


@pytest.mark.parametrize("size", [0, 1, 7, 3000])
def test_each_view_has_its_answer_whatever_the_batch(size: int, exported: Path) -> None:
    policy = OnnxPolicy(exported)
    views = some_views(size=3000)
    cards = policy(views[:size], rng())
    assert cards.shape == (size,)
    assert cards.dtype == np.int64
    assert (cards == policy(views, rng())[:size]).mean() > 0.999 if size else True


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda p: pickle.loads(pickle.dumps(p))])
def test_it_is_copied_with_all_it_needs(
    duplicate: Callable[[OnnxPolicy], OnnxPolicy], exported: Path, tmp_path: Path
) -> None:
    path = tmp_path / "gone.onnx"
    shutil.copy(exported, path)
    policy = OnnxPolicy(path, sample=True, num_threads=2)
    path.unlink()
    twin = duplicate(policy)
    views = some_views()
    np.testing.assert_array_equal(twin(views, rng(1)), policy(views, rng(1)))
    assert (twin.name, twin.metadata) == ("gone", policy.metadata)
    assert twin._session is not policy._session
    assert threads(twin) == (2, 1)


def threads(policy: OnnxPolicy) -> tuple[int, int]:
    """Return how many threads it may use within and between operators."""
    options = policy._session.get_session_options()
    return options.intra_op_num_threads, options.inter_op_num_threads


def test_threads_are_asked_for(exported: Path) -> None:
    assert threads(OnnxPolicy(exported)) == (1, 1)
    two = OnnxPolicy(exported, num_threads=2)
    assert threads(two) == (2, 1)
    assert_alike(two, OnnxPolicy(exported), some_views(size=2000))
    with pytest.raises(ValueError, match="num_threads must be at least 1, not 0"):
        OnnxPolicy(exported, num_threads=0)


def test_samples_follow_the_odds(
    networks: dict[int, tuple[NetworkPolicy, Path]],
) -> None:
    network, path = networks[3]
    policy = OnnxPolicy(path, sample=True)
    view = ct.views(ct.new_games(ct.make_rules("mainland", 3), 1, seed=1))
    size = 20_000
    counts = np.bincount(policy(np.repeat(view, size), rng(2)), minlength=52)
    legal = ct.action_masks(view)[0] == 1
    assert counts[~legal].sum() == 0
    with torch.inference_mode():
        logits = network.network.choose(torch.from_numpy(ct.observe(view))).numpy()[0]
    odds = np.exp(logits[legal].astype(np.float64))
    assert stats.chisquare(counts[legal], size * odds / odds.sum()).pvalue > 1e-4


def test_what_fails_in_play_is_named(tmp_path: Path) -> None:
    views = some_views(size=3)
    infinite = ct.make_policy(write(tmp_path / "log.onnx", operators=["Neg", "Log"]))
    with pytest.raises(ValueError, match=r"log\.onnx gives legal cards logits that are not finite"):
        infinite(views, rng())
    turned = write(
        tmp_path / "turned.onnx",
        inputs=[INPUTS[0], ("action_mask", TensorProto.INT8, ["B", "N"])],
        output=("logits", TensorProto.FLOAT, ["N", "B"]),
        operators=["Transpose"],
    )
    with pytest.raises(ValueError, match=r"3 views with logits of shape \(3, 52\), not \(52, 3\)"):
        ct.make_policy(turned)(views, rng())
