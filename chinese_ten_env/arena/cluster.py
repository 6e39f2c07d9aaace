"""Jobs on a cluster of machines, by Ray.

Files of policies are read where they are played, so they must lie under the same path on every
machine, and so must the repository's ``agents`` if runs play. A machine where one of them differs
refuses to play, as its results would be those of another policy.
"""

from __future__ import annotations

import platform
import socket
from collections.abc import Callable, Hashable, Iterable
from contextlib import closing
from functools import cache, partial
from typing import Any

from chinese_ten_env.arena.lineup import Lineup
from chinese_ten_env.arena.processes import Processes
from chinese_ten_env.arena.trace import Trace
from chinese_ten_env.arena.workers import Died, Done, Field, Job, do_job, do_with


class Cluster:
    """A crew of Ray's processes. ImportError names the extra that it needs.

    `address` is that of a cluster, as `ray.init` takes it: ``"auto"`` for the one that this machine
    is part of, ``"ray://host:10001"``. Without it, and where no cluster has been joined yet, one is
    started on this machine for as long as the crew lasts. `workers` is how many jobs are done at
    once, each on one CPU; 0: as many as the cluster has CPUs. ConnectionError if there is no
    cluster at the address.
    """

    def __init__(self, field: Field, workers: int = 0, address: str | None = None) -> None:
        self._ray = ray = _require_ray()
        import cloudpickle

        self._is_ours = not ray.is_initialized()
        if self._is_ours:
            if address is not None:
                check_address(address)
            # What a worker prints is its own business: results and failures come back as values.
            ray.init(
                address=address or "local",
                num_cpus=None if address else workers or None,
                include_dashboard=False if not address else None,
                log_to_driver=False,
                logging_level="warning",
            )
        cpus = max(1, int(ray.cluster_resources().get("CPU", 1)))
        # Twice as many as can be done, so that no CPU waits for the next; but a number of workers
        # that is asked for is kept to, where the cluster has room for more.
        self.at_once = workers if 0 < workers < cpus else 2 * cpus
        # Stored once, and fetched once by each process that plays.
        self._packed = ray.put((cloudpickle.dumps(field), field.fingerprints()))
        # Tries are counted by whoever gives the jobs.
        task = ray.remote(num_cpus=1, max_retries=0)
        self._do, self._do_with_care = task(_do_job), task(_do_with_care)
        self._given: set[Any] = set()

    def give(self, job: Job, tries: int) -> Hashable:
        """Submit a job and return the reference to what comes out."""
        do = self._do_with_care if tries else self._do
        # In a list, so that only those processes fetch it that do not have it yet.
        reference: Hashable = do.remote([self._packed], job)
        self._given.add(reference)
        return reference

    def wait(self, given: Iterable[Any]) -> Iterable[Any]:
        """Return the references whose jobs are done, at least one."""
        ready, _ = self._ray.wait(list(given), num_returns=1)
        return list(ready)

    def take(self, given: Any, job: Job) -> Done:
        """Return what a reference stands for; Died if the process or its machine died."""
        errors = self._ray.exceptions
        self._given.remove(given)
        try:
            done: Done = self._ray.get(given)
        except (errors.WorkerCrashedError, errors.NodeDiedError, errors.OutOfMemoryError) as error:
            raise Died(str(error).splitlines()[0]) from error
        except errors.RayTaskError as error:
            # What was raised there, as itself.
            raise error.cause from error
        return done

    def close(self) -> None:
        """Give up what is still being done, and leave a cluster that was joined here."""
        for reference in self._given:
            self._ray.cancel(reference, force=True)
        if self._is_ours:
            self._ray.shutdown()


def check_address(address: str) -> None:
    """ConnectionError if nobody answers where a cluster should be: Ray itself would wait long."""
    host, colon, port = address.rsplit("/", 1)[-1].rpartition(":")
    if not colon or not port.isdigit():
        return  # "auto" and the like, which Ray looks up
    try:
        socket.create_connection((host, int(port)), timeout=10).close()
    except (OSError, OverflowError) as error:
        raise ConnectionError(f"no Ray cluster answers at {address!r}: {error}") from error


def _require_ray() -> Any:
    try:
        import ray
        import ray.exceptions
    except ImportError:
        raise ImportError(
            "the backend 'ray' needs Ray: pip install 'chinese_ten_env[ray]'"
        ) from None
    return ray


# --- in a process of the cluster ------------------------------------------------------------


_lineups: dict[Any, Callable[[int], Lineup]] = {}
"""What returns the lineup of a number, by the field that is being played; of one field only."""


def _do_job(packed: list[Any], job: Job) -> Done:
    reference = packed[0]
    if reference not in _lineups:
        _lineups.clear()
        _lineups[reference] = _begin(reference)
    return do_job(_lineups[reference](job.lineup), job)


def _do_with_care(packed: list[Any], job: Job) -> Done:
    """Do a job in a process of its own, which tells what it was doing if it dies of it."""
    field = _checked_field(packed[0])
    with closing(Processes(field, 1)) as crew:
        (done,) = do_with(crew, field, [job])
    return done


def _begin(reference: Any) -> Callable[[int], Lineup]:
    """Return what returns the lineups of a field."""
    field = _checked_field(reference)
    # Only to end a process that hangs: from other machines nobody could read what it notes.
    return cache(partial(field.lineup, trace=Trace(None, field.limit)))


def _checked_field(reference: Any) -> Field:
    """Return a field from the cluster's store; ValueError if its policies differ here."""
    import cloudpickle
    import ray

    packed, fingerprints = ray.get(reference)
    field: Field = cloudpickle.loads(packed)
    here = field.fingerprints()
    other = [name for name, text in fingerprints.items() if here[name] != text]
    if other:
        raise ValueError(
            f"on {platform.node()}, policy {other[0]!r} is not what it is where the arena was "
            "started: the library's versions and the files of policies must be the same everywhere"
        )
    return field
