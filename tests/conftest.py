"""The command line options of the test suite, and what takes long to make and many tests use."""

from __future__ import annotations

from pathlib import Path

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add ``--update-golden``."""
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="rewrite tests/golden/ with what the library does now, instead of comparing",
    )


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Whether golden files are to be rewritten."""
    return bool(request.config.getoption("--update-golden"))


@pytest.fixture(scope="session")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A complete run with the smallest settings; tests leave it as it is."""
    from tests.training import fit  # loads PyTorch, which most tests do without

    folder = tmp_path_factory.mktemp("runs")
    assert fit(folder, "--name", "done", "--seed", "5") == 0
    return folder / "done"
