"""Who does the work: some processes of this machine, or a cluster of dask."""

from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module

from joblib import parallel_config

from causalaudit.errors import CausalAuditError

_PATIENCE = 10  # seconds until a scheduler must have answered


@contextmanager
def working(workers: int | None, dask: str | None) -> Iterator[None]:
    """Set joblib's backend for the block; by default one process does all.

    Parameters
    ----------
    workers
        How many processes of this machine; all cores if it is -1.
    dask
        The address of a scheduler, in place of these.
    """
    if dask is None:
        if workers is None:
            yield
            return
        with parallel_config("loky", n_jobs=workers):
            yield
        return
    if workers is not None:
        raise CausalAuditError("Give --workers or --dask, not both: a cluster has its own number of workers.")
    try:
        distributed = import_module("distributed")
    except ImportError as error:
        raise CausalAuditError(
            "A cluster needs the package distributed, which is not installed: pip install 'causalaudit[cluster]'."
        ) from error
    try:
        client = distributed.Client(dask, timeout=_PATIENCE)
    except (OSError, ValueError) as error:
        raise CausalAuditError(
            f"There is no dask scheduler at {dask!r} ({error}): start one by `dask scheduler`, and give its address, "
            "such as tcp://localhost:8786."
        ) from error
    with client, parallel_config("dask"):
        yield
