"""A real server of the page, for tests that go over the wire."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn

from chinese_ten_env.web.server import Server, make_app


@contextmanager
def running(server: Server) -> Iterator[str]:
    """Run a server on this machine; yield its address."""
    config = uvicorn.Config(make_app(server), port=0, log_level="warning", access_log=False)
    real = uvicorn.Server(config)
    thread = threading.Thread(target=real.run, daemon=True)
    thread.start()
    while not real.started:
        time.sleep(0.01)
    yield f"http://127.0.0.1:{real.servers[0].sockets[0].getsockname()[1]}"
    real.should_exit = True
    thread.join(timeout=30)
