"""Telling policies apart: results of a file that has changed are those of another policy."""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import chinese_ten_env
from chinese_ten_env.policies import PRETRAINED, SEARCHES
from chinese_ten_env.rules import Rules


def fingerprint(policy: Any, rules: Rules) -> str:
    """Return a text that is the same as long as a policy plays these rules in the same way.

    Files and folders of runs are told apart by what is in them, the library's own policies by its
    version and, where they play by a pretrained network, by that. Of a callable only its name is
    known, so whoever changes it should name it anew.
    """
    if isinstance(policy, str) and policy.split(":")[-1] == PRETRAINED:
        from chinese_ten_env.policies.pretrained import Pretrained

        network = Pretrained(rules).network
        assert network is not None  # raised if there is none for the rules
        return f"{policy} {_digest(network.weights.tobytes())}"
    if isinstance(policy, (str, Path)):
        text = str(policy)
        search = text.split(":")[0] in SEARCHES
        head, path = text.rpartition(":")[0::2] if search else ("", text)
        if Path(path).is_file():
            return f"{head} {_digest(Path(path).read_bytes())}".strip()
        if Path(path).is_dir():
            # Of a run: what it is and what it has learned, not how often it was measured.
            files = sorted(Path(path).glob("config.json")) + sorted(Path(path).glob("model.*"))
            content = b"".join(file.name.encode() + file.read_bytes() for file in files)
            return f"{head} {_digest(content)}".strip()
        return f"{text} of {chinese_ten_env.__version__}"
    name = getattr(policy, "name", None) or getattr(policy, "__name__", type(policy).__name__)
    return f"{name}, a callable"


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
