"""Executors of runs: the threads of this process, or a cluster.

An executor is any object with `execute`. Both give the same summaries, in any order.
"""

from __future__ import annotations

import time
from concurrent.futures import CancelledError
from itertools import islice
from threading import Thread
from typing import TYPE_CHECKING, Any, Protocol

from roamlab import _roamlab
from roamlab.base.calls import NUMBER, public
from roamlab.base.errors import BadInput, RoamlabError
from roamlab.base.limits import memory_per_run
from roamlab.base.screen import say
from roamlab.running.ensemble import Job, processors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from roamlab._roamlab import Tables
    from roamlab.running.summary import Measurement, Summary

    Sink = Callable[[int, Summary, Tables | None], None]
    Outcome = tuple[str, list[tuple[int, Summary, Tables | None]] | str]


class Executor(Protocol):
    """Makes runs and measures them."""

    def execute(self, jobs: Iterable[Job], measurement: Measurement, sink: Sink, *, tables: bool) -> None:
        """Call `sink(index, summary, tables)` on this thread for each job as it ends, in any order.

        The tables come along if `tables` is true. Raises `SimulationError` if a run violates a law.
        """


@public(threads=None)
class LocalPool:
    """Threads of this process, one run each; the interpreter's lock is not held by runs."""

    def __init__(self, threads: int | None = None) -> None:
        if threads is not None and (not NUMBER.has(threads) or threads < 1):
            raise BadInput(
                f"LocalPool, argument threads = {threads!r}",
                "it is no number of threads",
                expected="a whole number from 1 on",
                remedy="leave it out: there is one for each processor",
            )
        self.threads = threads or processors()

    def execute(self, jobs: Iterable[Job], measurement: Measurement, sink: Sink, *, tables: bool) -> None:
        """See `Executor`."""
        under_way: dict[int, Job] = {}

        def hand_out() -> Iterator[tuple[str, str, int, int]]:
            for index, job in enumerate(jobs):
                under_way[index] = job
                yield job.as_tuple()

        def keep(index: int, found: Tables) -> None:
            summary = measurement.of(under_way.pop(index), found)
            sink(index, summary, found if tables else None)

        wanted = None if tables else (lambda _: measurement.tables)
        # More threads than processors make no run sooner, and starting them takes longer than short runs.
        threads = min(self.threads, 4 * processors())
        _roamlab.run_many(hand_out(), threads, keep, wanted, memory_per_run(threads))


CONNECT_S = 30.0
"""So long an answer of the scheduler is waited for."""

LOOK_SECONDS = 5.0
"""While nothing ends, workers are counted this often."""


@public()
class DaskCluster:
    """Workers of Dask.distributed (`pip install roamlab[cluster]`). What a lost worker had is made again elsewhere.

    `address` is that of the scheduler; each worker thread makes batches of `batch` runs. When the cluster has had no
    worker for `patience_s`, `execute` raises `RoamlabError`. `security` is a `distributed.Security`; None takes that
    of Dask's configuration, which without TLS neither encrypts nor asks who connects.
    """

    def __init__(
        self, address: str, batch: int = 20, patience_s: float = 300.0, security: Any | None = None
    ) -> None:
        self.address, self.batch, self.patience_s, self.security = address, batch, patience_s, security

    def execute(self, jobs: Iterable[Job], measurement: Measurement, sink: Sink, *, tables: bool) -> None:
        """See `Executor`."""
        distributed = _distributed()
        waiting = iter(enumerate(jobs))
        batches = iter(lambda: list(islice(waiting, self.batch)), [])
        with self._client(distributed) as client:
            ahead = 2 * max(1, sum(client.nthreads().values()))

            def submit() -> Iterator[Any]:
                for batch in batches:
                    yield client.submit(_perform, batch, measurement, tables, pure=False, retries=3)

            futures = submit()
            pending = set(islice(futures, ahead))
            while pending:
                for future in self._ended(client, pending):
                    pending.remove(future)
                    _give(self._outcome(future), sink)
                    pending.update(islice(futures, 1))

    def _client(self, distributed: Any) -> Any:
        """A connection to the scheduler. Raises `BadInput` for what is no address."""
        try:
            return self._connected(distributed)
        except (ValueError, TypeError, OverflowError) as error:
            raise BadInput(
                f"the cluster {self.address}",
                f"this is no address of a scheduler ({error})",
                expected="the protocol, the host and the port of a Dask scheduler",
                remedy="write tcp://127.0.0.1:8786 as its address, for example",
            ) from None
        except Exception as error:  # noqa: BLE001 (what another server says makes any error of Dask's)
            raise BadInput(
                f"the cluster {self.address}",
                f"no Dask scheduler answers there ({str(error) or 'it gives no reason'})",
                expected="the address of a running Dask scheduler",
                remedy="start one with `dask scheduler`, which prints its address, and write that",
            ) from None

    def _connected(self, distributed: Any) -> Any:
        """The connection. Dask's own limit does not end the wait for a server of another kind."""
        found: list[Any] = []

        def connect() -> None:
            try:
                found.append(distributed.Client(self.address, timeout=CONNECT_S, security=self.security))
            except Exception as error:  # noqa: BLE001 (it is raised below)
                found.append(error)

        connecting = Thread(target=connect, daemon=True)
        connecting.start()
        connecting.join(CONNECT_S + 1.0)
        outcome = found[0] if found else TimeoutError(f"no answer in {CONNECT_S:.0f} s")
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def _ended(self, client: Any, pending: set[Any]) -> list[Any]:
        """Those of `pending` that have ended, at least one.

        While there is no worker, it reports this, up to the limit.
        """
        distributed = _distributed()
        alone_since: float | None = None
        while True:
            try:
                return list(distributed.wait(pending, LOOK_SECONDS, "FIRST_COMPLETED").done)
            except TimeoutError:
                workers = len(client.nthreads())
            except CancelledError:
                raise RoamlabError(
                    f"the cluster {self.address}: the scheduler has gone\n  help: {_AGAIN}"
                ) from None
            if workers:
                alone_since = None
                continue
            alone_since = alone_since or time.monotonic() - LOOK_SECONDS
            alone = time.monotonic() - alone_since
            if alone >= self.patience_s:
                raise RoamlabError(
                    f"the cluster {self.address} has had no worker for {alone:.0f} s\n  help: {_AGAIN}"
                )
            say(
                f"the cluster {self.address} has no worker: waited {alone:.0f} s of {self.patience_s:.0f} s",
                err=True,
            )

    def _outcome(self, future: Any) -> Outcome:
        distributed = _distributed()
        try:
            found: Outcome = future.result()
        except (distributed.KilledWorker, CancelledError) as error:
            raise RoamlabError(f"the cluster {self.address}: {error}\n  help: {_AGAIN}") from None
        return found


_AGAIN = "start workers and call again: what was made is kept, and only the rest is made"


def _perform(batch: list[tuple[int, Job]], measurement: Measurement, tables: bool) -> Outcome:
    """On a worker: the build that made the runs, and what they gave or the law that one violated."""
    found: list[tuple[int, Summary, Tables | None]] = []
    try:
        LocalPool(threads=1).execute(
            [job for _, job in batch],
            measurement,
            lambda at, summary, made: found.append((batch[at][0], summary, made)),
            tables=tables,
        )
    except _roamlab.SimulationError as error:
        return _roamlab.build_hash(), str(error)
    return _roamlab.build_hash(), found


def _give(outcome: Outcome, sink: Sink) -> None:
    build, found = outcome
    if build != _roamlab.build_hash():
        raise BadInput(
            "the cluster",
            f"a worker has the engine's build {build[:12]}",
            expected=f"this one's, {_roamlab.build_hash()[:12]}",
            remedy="install the same version of roamlab everywhere",
        )
    if isinstance(found, str):
        raise _roamlab.SimulationError(found)
    for index, summary, tables in found:
        sink(index, summary, tables)


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise RoamlabError(
            "sweeps on a cluster need Dask.distributed\n  help: pip install 'roamlab[cluster]'"
        ) from None
    return distributed
