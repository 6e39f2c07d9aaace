"""PyTorch: write a module as an ONNX file, which plays wherever a policy may stand."""

from __future__ import annotations

import copy
import importlib
import json
import logging
import os
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

try:
    import torch
    from torch import nn
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        "chinese_ten_env.adapters.torch needs PyTorch: pip install 'chinese_ten_env[train]'"
    ) from error

from chinese_ten_env import __version__
from chinese_ten_env.cards import NUM_CARDS
from chinese_ten_env.ntuple.features import (
    BOTTOM,
    CODES,
    DEALER,
    HAND_SIZE,
    HAND_SIZES,
    LAST_PLAYED,
    LEVY,
    MOMENT,
    PARTNER_RANK,
    PHASES,
    RANKS,
    REVERSED,
    SUITS,
)
from chinese_ten_env.ntuple.network import (
    BIAS,
    CARD,
    CONTEXT,
    FIRST,
    JOINING,
    JOINT,
    MIXING,
    OUTPUT,
    OWN,
    PARTNER,
    SIZE,
    WIDTH,
    Network,
)
from chinese_ten_env.observation import OBSERVATION_SHAPE, OBSERVATION_VERSION, Feature
from chinese_ten_env.policies.onnx import ACTION_MASK, FORMAT, LOGITS, OBSERVATION
from chinese_ten_env.rules import HAND_CARDS, SWITCHES, Rules
from chinese_ten_env.vectors import ROW

ILLEGAL = -1e9
"""The logit of an illegal card: low enough that its odds are zero, and finite for every runtime."""


class _Masked(nn.Module):
    """What is written: a module with the illegal cards masked."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, observation: torch.Tensor, action_mask: torch.Tensor) -> torch.Tensor:
        """Return logits, float32 [B, 52]."""
        logits = self.module(observation, action_mask).float()
        return torch.where(action_mask != 0, logits, ILLEGAL)


class NTupleModule(nn.Module):
    """An n-tuple network as a module ``forward(observation, action_mask) -> logits``.

    It plays the very cards that the compiled network plays; a logit is what a card is worth.
    """

    codes: torch.Tensor
    weights: torch.Tensor

    def __init__(self, network: Network) -> None:
        super().__init__()
        plan, rules = [int(place) for place in network.plan], network.rules
        weights = torch.from_numpy(network.weights.copy())
        self.first, width = plan[FIRST], plan[WIDTH]
        self.players, self.turns_round = rules.num_players, rules.sweep_reverses

        def part(start: int, stop: int, columns: int) -> nn.Parameter:
            rows = weights[plan[start] : plan[stop]].view(-1, columns)
            return nn.Parameter(rows.clone(), requires_grad=False)

        rows = weights[: plan[BIAS]].view(-1, width)
        self.of_codes = nn.Parameter(rows[: self.first].clone(), requires_grad=False)
        self.of_more = nn.Parameter(rows[self.first :].clone(), requires_grad=False)
        self.bias = part(BIAS, MIXING, width)
        self.mixing = part(MIXING, CONTEXT, ROW)
        self.context = part(CONTEXT, OWN, ROW)
        self.own, self.partner = part(OWN, PARTNER, ROW), part(PARTNER, CARD, ROW)
        self.card = part(CARD, JOINING, ROW)
        self.joining, self.joint = part(JOINING, JOINT, ROW), part(JOINT, OUTPUT, ROW)
        self.output = part(OUTPUT, SIZE, 1)
        places = torch.tensor(network.codes, dtype=torch.int64).flatten()
        self.register_buffer("codes", places, persistent=False)

    def forward(self, observation: torch.Tensor, action_mask: torch.Tensor) -> torch.Tensor:
        """Return what each card is worth, legal or not, float32 [B, 52]."""
        size = observation.shape[0]  # len() would be a constant in an exported graph
        rows = observation.to(torch.int64)
        places = rows[:, Feature.HAND] + 2 * rows[:, Feature.TABLE] + 3 * rows[:, Feature.UNSEEN]
        digits = places.view(size, RANKS, SUITS) * torch.tensor([1, 4, 16, 64])
        codes = self.codes[digits.sum(2) + CODES * torch.arange(RANKS)]
        from_hand = rows[:, Feature.PENDING_FROM_HAND].sum(1)
        from_stock = rows[:, Feature.PENDING_FROM_STOCK].sum(1)
        phase = from_hand + 2 * from_stock
        known = self.of_codes[codes].sum(1) + self._more(rows, phase, from_stock)
        context = torch.relu(known + self.bias) @ self.mixing + self.context
        ranks = self.own[codes] + self.partner[codes[:, PARTNER_RANK.tolist()]]
        cards = self.card.view(PHASES, RANKS, SUITS, ROW)[phase]
        pairs = torch.relu(cards + (ranks + context.unsqueeze(1)).unsqueeze(2))
        joint = torch.relu(pairs @ self.joining + self.joint)
        worth: torch.Tensor = joint @ self.output
        return worth.view(size, NUM_CARDS)

    def _more(
        self,
        rows: torch.Tensor,
        phase: torch.Tensor,
        from_stock: torch.Tensor,
    ) -> torch.Tensor:
        """Return the sum of the rows of all features but the codes [B, width]."""
        turn = HAND_CARDS - rows[:, Feature.STOCK_SIZE].sum(1) - from_stock
        known = self.of_more[MOMENT + PHASES * turn + phase]
        table = rows[:, Feature.TABLE]
        lying = [rows[:, Feature.LAST_PLAYED] * table, rows[:, Feature.LAST_FLIPPED] * table]
        laid = range(Feature.LAID_0, Feature.LAID_0 + self.players)
        lying += [rows[:, row] for row in laid]
        start = LAST_PLAYED
        for cards in lying:
            known = known + cards.float() @ self.of_more[start : start + NUM_CARDS]
            start += NUM_CARDS
        seats = [(BOTTOM, Feature.BOTTOM, NUM_CARDS), (LEVY, Feature.LEVY, self.players)]
        if self.turns_round:
            seats += [(DEALER, Feature.DEALER, self.players), (REVERSED, Feature.REVERSED, 1)]
        for place, row, count in seats:
            marks = rows[:, row, :count].float()
            known = known + marks @ self.of_more[place : place + count]
        if self.turns_round:
            for other in range(1, self.players):
                cards = rows[:, Feature.HAND_SIZE_0 + other].sum(1)
                known = known + self.of_more[HAND_SIZE + HAND_SIZES * (other - 1) + cards]
        return known


def export_onnx(
    module: nn.Module,
    path: str | Path,
    rules: Rules | None = None,
    metadata: Mapping[str, object] | None = None,
) -> None:
    """Write a module as an ONNX file that `make_policy` reads.

    `module` is called with observations, int8 [B, F, 52], and action masks, int8 [B, 52], and
    returns logits [B, 52]; it may leave the illegal cards to this function. It is written as it
    plays (``eval()``), and is not changed. With `rules` the file names the variant and plays their
    number of players only. `metadata` are more facts, kept as text beside those that it needs.
    ValueError says what is wrong with a module.
    """
    try:
        importlib.import_module("onnxscript")  # by which torch writes
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"writing ONNX files needs {error.name}: pip install 'chinese_ten_env[train]'"
        ) from error
    # Two rows: torch takes an axis of one for a constant.
    examples = (
        torch.zeros(2, *OBSERVATION_SHAPE, dtype=torch.int8),
        torch.ones(2, NUM_CARDS, dtype=torch.int8),
    )
    masked = _Masked(copy.deepcopy(module).cpu()).eval()
    with torch.no_grad():
        found = tuple(masked.module(*examples).shape)
    if found != (2, NUM_CARDS):
        raise ValueError(f"the module must return logits [B, {NUM_CARDS}], not {found} for B = 2")
    batch = torch.export.Dim("batch")
    with _quiet():
        program = torch.onnx.export(
            masked,
            examples,
            input_names=[OBSERVATION, ACTION_MASK],
            output_names=[LOGITS],
            dynamic_shapes=({0: batch}, {0: batch}),
            dynamo=True,
            verbose=False,
        )
    assert program is not None  # None is for the exporter that torch gives up
    model = program.model
    shapes = [tensor.shape for tensor in model.graph.inputs]
    if any(shape is None or isinstance(shape[0], int) for shape in shapes):
        raise ValueError(
            "the module makes the size of the batch a constant, as len(observation) does: take it "
            "from observation.shape[0]"
        )
    # Where each node comes from, with the folders of this machine, is nobody else's business.
    model.graph.metadata_props.clear()
    for node in model.graph.all_nodes():
        node.metadata_props.clear()
    model.metadata_props.update({name: str(fact) for name, fact in (metadata or {}).items()})
    model.metadata_props.update(_facts(rules))
    # A crash leaves the old file or the new one.
    unfinished = Path(f"{path}.{os.getpid()}.new")
    unfinished.write_bytes(program.model_proto.SerializeToString())
    unfinished.replace(path)


def _facts(rules: Rules | None) -> dict[str, str]:
    """Return the metadata that every file has, and those of the rules."""
    facts = {
        "format": str(FORMAT),
        "observation_version": str(OBSERVATION_VERSION),
        "chinese_ten_env": __version__,
    }
    if rules is not None:
        facts["variant"] = rules.variant
        facts["num_players"] = str(rules.num_players)
        facts["switches"] = json.dumps({name: getattr(rules, name) for name in SWITCHES})
    return facts


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep to itself what torch says of its own parts and not of the module."""
    logger = logging.getLogger("torch.onnx")
    level = logger.level
    logger.setLevel(logging.ERROR)  # of operators of torchvision, which is not needed
    try:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", ".*LeafSpec.*", FutureWarning)
            warnings.filterwarnings("ignore", ".*axis name.*will not be used", UserWarning)
            yield
    finally:
        logger.setLevel(level)
