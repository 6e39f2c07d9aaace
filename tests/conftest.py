"""The command line options of the test suite."""

from __future__ import annotations

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
