"""A server of the page, and a browser: for the tests, and for the picture in the README.

``python -m tests.browser.serve FILE.png`` makes that picture. Chromium must be there already: the
environment variable CHROMIUM names it, else /usr/bin/chromium.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
from playwright.sync_api import Browser, sync_playwright

from chinese_ten_env.web.server import Server
from chinese_ten_env.web.store import Store
from tests.serving import running

CHROMIUM = os.environ.get("CHROMIUM", "/usr/bin/chromium")
ARGUMENTS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """Yield the address of a server that keeps its games in a folder."""
    store = Store(folder / "games.sqlite")
    with running(Server(store)) as address:
        yield address
    store.close()


@contextmanager
def launched() -> Iterator[Browser]:
    """Yield the browser."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


def picture(path: Path) -> None:
    """Write a picture of the page in the middle of a game, with hints."""
    wish = {"variant": "mainland", "seed": 5, "seat": 0, "opponents": ["pretrained"]}
    with tempfile.TemporaryDirectory() as folder, serving(Path(folder)) as address:
        key = httpx2.post(f"{address}/api/games", json=wish, timeout=300).json()["id"]
        with launched() as browser:
            page = browser.new_page(viewport={"width": 1160, "height": 1020})
            page.goto(f"{address}/games/{key}")
            for _ in range(8):
                before = page.locator("#board").get_attribute("data-actions")
                page.locator("#board .legal").first.click()
                page.wait_for_function(
                    "before => document.getElementById('board').dataset.actions !== before",
                    arg=before,
                )
            page.get_by_role("button", name="Hint").click()
            page.locator("#hints table").wait_for(timeout=240_000)
            page.screenshot(path=path)


if __name__ == "__main__":
    picture(Path(sys.argv[1]))
