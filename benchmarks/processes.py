"""One process for each benchmark, on one thread, so that its time and peak memory are its own."""

import importlib
import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor

from benchmarks.report import Report

ONE_THREAD = {"OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}


def run_here(name: str) -> Report:
    """Import and run a benchmark; only the process that runs it pays for what it imports."""
    return importlib.import_module(f"benchmarks.{name}").run()


def run_alone(name: str) -> Report:
    """Run a benchmark in a new interpreter, which inherits the number of threads before it imports torch."""
    os.environ.update(ONE_THREAD)
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(run_here, name).result()
