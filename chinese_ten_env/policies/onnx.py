"""Policies from ONNX files, the form in which networks are exchanged, whatever they learned with.

The graph of such a file takes ``observation``, int8 [B, F, 52], and ``action_mask``, int8 [B, 52],
and gives ``logits``, float32 [B, 52]; B is left open. Its metadata must hold the
``observation_version``: a network that reads rows by another meaning plays on, only badly. What
else they may hold is told in the README. `chinese_ten_env.adapters.torch` writes such files.
"""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from chinese_ten_env.cards import NUM_CARDS
from chinese_ten_env.engine import Games
from chinese_ten_env.observation import (
    OBSERVATION_SHAPE,
    OBSERVATION_VERSION,
    action_masks,
    observe,
)
from chinese_ten_env.policies.choice import masked_choice
from chinese_ten_env.rules import MAX_PLAYERS

FORMAT = 1
"""The version of what the metadata mean."""

OBSERVATION, ACTION_MASK, LOGITS = "observation", "action_mask", "logits"

_Tensors = dict[str, tuple[str, tuple[int, ...]]]

_INPUTS: _Tensors = {
    OBSERVATION: ("tensor(int8)", OBSERVATION_SHAPE),
    ACTION_MASK: ("tensor(int8)", (NUM_CARDS,)),
}
"""The type of each tensor and its shape behind the axis of the batch."""
_OUTPUTS: _Tensors = {LOGITS: ("tensor(float)", (NUM_CARDS,))}


class OnnxPolicy:
    """A policy from an ONNX file: it plays the card with the highest logit, the lowest of equals.

    With ``sample=True`` it draws from the softmax of the legal cards instead. `num_threads` share
    out the work of a batch; one is right where other things run beside it. It keeps the bytes of
    the file, so it can be copied, pickled and sent to other processes. ValueError says what is
    wrong with a file, ModuleNotFoundError what to install.
    """

    def __init__(self, path: str | Path, *, sample: bool = False, num_threads: int = 1) -> None:
        self.path = Path(path)
        self.name = self.path.stem
        """For tables."""
        self.sample = sample
        self.num_threads = num_threads
        if num_threads < 1:
            raise ValueError(f"num_threads must be at least 1, not {num_threads}")
        try:
            self._model = self.path.read_bytes()
        except OSError as error:
            raise ValueError(f"{path} cannot be read: {error.strerror}") from error
        self._session = self._open()
        self.metadata: dict[str, str] = self._session.get_modelmeta().custom_metadata_map
        """What the file says of itself."""
        self._check_versions()
        self._check_tensors("input", self._session.get_inputs(), _INPUTS)
        self._check_tensors("output", self._session.get_outputs(), _OUTPUTS)
        self._require_observation_version()
        self.num_players = self._read_num_players()
        """The number of players that it plays with, or None for any."""

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_session"}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)
        self._session = self._open()

    def __repr__(self) -> str:
        return f"OnnxPolicy({str(self.path)!r}, sample={self.sample})"

    # --- reading ----------------------------------------------------------------------------

    def _open(self) -> Any:
        """Return onnxruntime's session."""
        try:
            runtime = importlib.import_module("onnxruntime")
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                f"playing {self.path} needs {error.name}: pip install 'chinese_ten_env[pretrained]'"
            ) from error
        options = runtime.SessionOptions()
        options.intra_op_num_threads = self.num_threads
        options.inter_op_num_threads = 1
        options.log_severity_level = 4  # errors are raised; they need not be printed as well
        try:
            return runtime.InferenceSession(
                self._model, options, providers=["CPUExecutionProvider"]
            )
        except Exception as error:  # onnxruntime's errors have no base of their own
            text = str(error)
            hint = ""
            if "external" in text:
                hint = "; its weights must be in it: torch.onnx.export(..., external_data=False)"
            raise ValueError(
                f"{self.path} is damaged or no ONNX file that onnxruntime can run: {text}{hint}"
            ) from error

    def _check_versions(self) -> None:
        """Refuse a file that was made for other versions than these."""
        found = self.metadata.get("format", str(FORMAT))
        if found != str(FORMAT):
            raise ValueError(f"{self.path}: format {found} is unknown; this version reads {FORMAT}")
        version = self.metadata.get("observation_version", str(OBSERVATION_VERSION))
        if version != str(OBSERVATION_VERSION):
            raise ValueError(
                f"{self.path} was made for observation version {version}, this is version "
                f"{OBSERVATION_VERSION}: train anew, or install the release that it was made with"
            )

    def _require_observation_version(self) -> None:
        """Refuse a file that does not say which observations it reads."""
        if "observation_version" not in self.metadata:
            raise ValueError(
                f"{self.path} does not say for which observation version it was made; export it "
                "with chinese_ten_env.adapters.torch.export_onnx, or add it to the metadata: "
                "onnx.helper.set_model_props(model, "
                f"{{'observation_version': '{OBSERVATION_VERSION}'}})"
            )

    def _read_num_players(self) -> int | None:
        text = self.metadata.get("num_players")
        if text is None:
            return None
        counts = [str(count) for count in range(2, MAX_PLAYERS + 1)]
        if text not in counts:
            raise ValueError(
                f"{self.path}: num_players in the metadata must be one of {', '.join(counts)}, "
                f"not {text!r}"
            )
        return int(text)

    def _check_tensors(self, kind: str, found: list[Any], wanted: _Tensors) -> None:
        """Refuse a graph with other inputs or outputs than those of a policy.

        It may have more outputs, as a value of the position; they are not computed.
        """
        tensors = {tensor.name: tensor for tensor in found}
        is_more = kind == "input" and not tensors.keys() <= wanted.keys()
        if is_more or not wanted.keys() <= tensors.keys():
            raise ValueError(
                f"{self.path} has the {kind}s {', '.join(tensors) or 'none'}; a policy has "
                + ", ".join(f"{name}: {_described(*what)}" for name, what in wanted.items())
            )
        for name, (dtype, shape) in wanted.items():
            tensor = tensors[name]
            batch, *rest = tensor.shape or [None]
            # A name in place of a number is an axis that is left open.
            fits = len(rest) == len(shape) and all(
                not isinstance(size, int) or size == right
                for size, right in zip(rest, shape, strict=True)
            )
            if tensor.type != dtype or isinstance(batch, int) or not fits:
                raise ValueError(
                    f"{self.path}: the {kind} {name} must be {_described(dtype, shape)} with any "
                    f"number B, not {tensor.type}{tensor.shape}"
                )

    # --- playing ----------------------------------------------------------------------------

    def __call__(self, views: Games, rng: np.random.Generator) -> npt.NDArray[np.int64]:
        """Return a card for each view, int64 [B]; `rng` is used with ``sample=True`` only.

        ValueError for another number of players, and for a graph that fails or gives a legal card
        a logit that is not finite.
        """
        if not len(views):
            return np.zeros(0, dtype=np.int64)
        self._check_players(views)
        masks = action_masks(views)
        try:
            (logits,) = self._session.run(
                [LOGITS], {OBSERVATION: observe(views), ACTION_MASK: masks}
            )
        except Exception as error:  # onnxruntime's errors have no base of their own
            raise ValueError(f"{self.path} fails on {len(views)} views: {error}") from error
        legal = masks != 0
        if logits.shape != masks.shape:
            raise ValueError(
                f"{self.path} must answer {len(views)} views with logits of shape "
                f"{masks.shape}, not {logits.shape}"
            )
        if not np.isfinite(logits[legal]).all():
            raise ValueError(f"{self.path} gives legal cards logits that are not finite")
        return masked_choice(logits, legal, rng if self.sample else None)

    def _check_players(self, views: Games) -> None:
        if self.num_players is None:
            return
        players = views["num_players"]
        wrong = players != self.num_players
        if wrong.any():
            raise ValueError(
                f"{self.path} learned to play with {self.num_players} players, "
                f"not {players[wrong][0]}"
            )


def _described(dtype: str, shape: tuple[int, ...]) -> str:
    """Return the type and shape of a tensor in words."""
    return f"{dtype}[B, {', '.join(map(str, shape))}]"
