"""The decorator of all compiled functions, and where their machine code is kept.

Compiling takes seconds, so kernels are cached on disk. Numba's own cache looks only at the file of
the function that is called: after an edit of an imported helper it would go on running the old
code. Here the place of the cache depends on a digest of every source file of the package and of
the settings that change the code, so that an edit of any of them starts an empty cache.
"""

from __future__ import annotations

import hashlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable
from functools import cache, wraps
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np
from numba.core import caching
from numba.core.runtime import rtsys

_PACKAGE = Path(__file__).resolve().parent
_KEPT = 8
_Function = TypeVar("_Function", bound=Callable[..., Any])


def _digest() -> str:
    digest = hashlib.sha256(f"{numba.__version__} {numba.config.BOUNDSCHECK}".encode())
    for path in sorted(_PACKAGE.rglob("*.py")):
        digest.update(path.relative_to(_PACKAGE).as_posix().encode() + b"\0")
        digest.update(path.read_bytes() + b"\0")
    return digest.hexdigest()[:20]


def _cache_roots() -> list[Path]:
    """Return the places to try, best first: as for Python's own compiled files, then per user."""
    roots = [_PACKAGE / "__pycache__"]
    if numba.config.CACHE_DIR:
        roots.insert(0, Path(numba.config.CACHE_DIR) / "chinese_ten_env")
    if sys.platform == "win32":
        user = os.environ.get("LOCALAPPDATA")
    else:
        user = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    if user and not user.startswith("~"):
        roots.append(Path(user) / "chinese_ten_env")
    # The last resort is shared with other users of the machine, so it is named after this one.
    owner = os.getuid() if hasattr(os, "getuid") else "user"
    roots.append(Path(tempfile.gettempdir()) / f"chinese_ten_env-{owner}")
    return roots


@cache
def cache_folder() -> Path | None:
    """Return the folder of the compiled kernels, made if need be; None if no place is writable."""
    name = f"kernels-{_digest()}"
    for root in _cache_roots():
        folder = root / name
        try:
            folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            tempfile.TemporaryFile(dir=folder).close()
        except OSError:
            continue
        if not hasattr(os, "getuid") or folder.stat().st_uid in (os.getuid(), 0):
            _forget_old(root)
            return folder
    return None


def _forget_old(root: Path) -> None:
    """Remove the kernels of all but the last few versions of the sources."""
    by_age = sorted(root.glob("kernels-*"), key=lambda folder: folder.stat().st_mtime)
    for folder in by_age[:-_KEPT]:
        shutil.rmtree(folder, ignore_errors=True)


class _Locator(caching._CacheLocator):  # type: ignore[misc]  # numba is untyped
    """Tells numba to keep a function's code in our folder, whose name is the freshness stamp."""

    def __init__(self, function: Callable[..., Any]) -> None:
        self._disambiguator = f"{function.__module__}-{function.__code__.co_firstlineno}"

    @classmethod
    def from_function(cls, function: Callable[..., Any], _file: str) -> _Locator:
        return cls(function)

    def ensure_cache_path(self) -> None:
        Path(self.get_cache_path()).mkdir(parents=True, exist_ok=True)

    def get_cache_path(self) -> str:
        return str(cache_folder())

    def get_source_stamp(self) -> str:
        return Path(self.get_cache_path()).name

    def get_disambiguator(self) -> str:
        return self._disambiguator


class _CacheImpl(caching.CompileResultCacheImpl):  # type: ignore[misc]  # numba is untyped
    _locator_classes = (_Locator,)

    def __init__(self, function: Callable[..., Any]) -> None:
        # NUMBA_CACHE_LOCATOR_CLASSES, which newer Numbas read, would replace our locator, and with
        # it the freshness.
        chosen = getattr(numba.config, "CACHE_LOCATOR_CLASSES", "")
        numba.config.CACHE_LOCATOR_CLASSES = ""
        try:
            super().__init__(function)
        finally:
            numba.config.CACHE_LOCATOR_CLASSES = chosen


class _KernelCache(caching.FunctionCache):  # type: ignore[misc]  # numba is untyped
    _impl_class = _CacheImpl

    def load_overload(self, signature: Any, target_context: Any) -> Any:
        # Numba would first load all that it compiles with, SciPy too where it is installed: half a
        # second at the start of every process. Code from the cache needs only Numba's runtime.
        rtsys.initialize(target_context)
        with self._guard_against_spurious_io_errors():
            return self._load_overload(signature, target_context)


def _with_attributes(value: Any) -> Any:
    """Return records with fields as attributes, as in compiled code, on the same memory."""
    if isinstance(value, np.ndarray) and value.dtype.names and not isinstance(value, np.recarray):
        return value.view(np.recarray)
    if isinstance(value, np.void) and value.dtype.names and not isinstance(value, np.record):
        return value.view(np.dtype((np.record, value.dtype)))
    return value


def _interpreted(function: _Function) -> _Function:
    """Return a kernel that Python itself runs, for debuggers and coverage."""

    @wraps(function)
    def run(*arguments: Any) -> Any:
        with np.errstate(over="ignore"):  # random words wrap round
            return function(*map(_with_attributes, arguments))

    return run  # type: ignore[return-value]  # called alike


def _compiled(function: _Function, **options: bool) -> _Function:
    if numba.config.DISABLE_JIT:
        return _interpreted(function)
    dispatcher = numba.njit(function, nogil=True, error_model="numpy", **options)
    if cache_folder() is not None:
        dispatcher._cache = _KernelCache(function)
    return dispatcher


def kernel(function: _Function) -> _Function:
    """Compile a function at its first call, or load it from the cache; it runs without the GIL.

    Kernels trust their input: indices are unchecked, so a caller checks first. With
    ``NUMBA_DISABLE_JIT=1`` Python itself runs it.
    """
    return _compiled(function)


def inlined_kernel(function: _Function) -> _Function:
    """Compile a function as `kernel` does, and into its callers: for the steps of every turn."""
    return _compiled(function, forceinline=True)


def entry_point(function: Callable[..., Any], *examples: Any) -> Callable[..., Any]:
    """Return a kernel's machine code for arguments of exactly the types of the examples.

    A call of it does not look at the types again, which costs as much as playing ten cards; so it
    may be given nothing else. For code that calls a kernel for every single decision.
    """
    if numba.config.DISABLE_JIT:
        return function
    dispatcher: Any = function
    signature = tuple(numba.typeof(example) for example in examples)
    dispatcher.compile(signature)
    compiled: Callable[..., Any] = dispatcher.overloads[signature].entry_point
    return compiled
