"""Who does the jobs of an arena, by name."""

from __future__ import annotations

from collections.abc import Callable

from chinese_ten_env.arena.workers import Crew, Field

PROCESSES, RAY = BACKENDS = ("processes", "ray")


def crew_of(backend: str, workers: int, address: str | None) -> Callable[[Field], Crew] | None:
    """Return what starts a crew for a field; None to play in this process.

    ValueError says what is wrong with the arguments. Starting the crew raises ImportError if its
    library is not there.
    """
    if backend not in BACKENDS:
        raise ValueError(f"unknown backend {backend!r}; choose one of {', '.join(BACKENDS)}")
    if address is not None and backend != RAY:
        raise ValueError(f"an address is that of a Ray cluster: it needs backend={RAY!r}")
    if backend == RAY:
        from chinese_ten_env.arena.cluster import Cluster

        return lambda field: Cluster(field, workers, address)
    if workers == 0:
        return None
    from chinese_ten_env.arena.processes import Processes

    return lambda field: Processes(field, workers)
