"""Where the work of a sweep is done: in this process, or on a Dask cluster, which tries again what a lost worker had."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

from bpir.ir.diagnostic import fail

_T = TypeVar("_T")
_R = TypeVar("_R")

RETRIES = 3
"""How often a task that failed, or whose worker is gone, is tried again."""


class Engine(Protocol):
    """Does tasks that depend on nothing but their argument."""

    def map(self, function: Callable[[_T], _R], items: Sequence[_T]) -> Iterator[tuple[int, _R]]:
        """Each result with the place of its item, in the order in which they are done."""
        ...


class Local:
    """This process, one task after the other."""

    def map(self, function: Callable[[_T], _R], items: Sequence[_T]) -> Iterator[tuple[int, _R]]:
        for place, item in enumerate(items):
            yield place, function(item)


class Cluster:
    """The workers of a Dask cluster.

    Args:
        client: a `distributed.Client`.
    """

    def __init__(self, client: Any) -> None:
        self._client = client

    def map(self, function: Callable[[_T], _R], items: Sequence[_T]) -> Iterator[tuple[int, _R]]:
        as_completed = _distributed().as_completed
        places = {self._client.submit(function, item, retries=RETRIES, pure=False): place for place, item in enumerate(items)}
        for future, result in as_completed(list(places), with_results=True):
            yield places[future], result
            future.release()


@contextmanager
def engine(scheduler: str | None = None, workers: int = 0) -> Iterator[Engine]:
    """The engine that is asked for: an existing cluster by its address, so many processes of this machine, or this process.

    Raises:
        DiagnosticError: Dask is not installed, or nobody answers at the address.
    """
    if scheduler is None and not workers:
        yield Local()
        return
    dask = _distributed()
    if scheduler is None:
        cluster = dask.LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None)
        with cluster, dask.Client(cluster) as client:
            yield Cluster(client)
        return
    try:
        client = dask.Client(scheduler, timeout=10)
    except (OSError, ValueError, TimeoutError) as failure:
        raise fail(f"no Dask scheduler answers at '{scheduler}': {failure}", None) from None
    with client:
        yield Cluster(client)


def _distributed() -> Any:
    try:
        import distributed
    except ImportError:
        raise fail("clusters are Dask's, which is not installed: pip install 'bpir[sweep]'", None) from None
    return distributed
