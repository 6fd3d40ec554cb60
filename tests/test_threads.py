"""Threads of one process share Pyro's handlers, torch's default type and more: programs are run one at a time."""

import os
import random
import re
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from threading import Event, RLock, Thread

import joblib
import pandas as pd
import pyro
import pytest
import torch
from auditors import make_people, program, rule
from pyro.poutine.runtime import _PYRO_STACK

import causalaudit as ca
from causalaudit.global_state import cached_property, ignored_warnings
from causalaudit.progress import parallel
from causalaudit.randomness import seeded
from causalaudit.scm.execution import numerics

LONG = 10.0  # seconds that nothing here takes


@pytest.fixture(scope="module")
def people():
    return make_people().drop(columns="hole")


def fit(people):
    return ca.fit(ca.SCM(program, levels={"sex": ["m", "f"]}), people, draws=25, chains=2, seed=0, progress=False)


def worlds(posterior):
    return ca.counterfactuals(posterior, {"sex": "m"}, draws=20, chunk=5, seed=3, progress=False).dataset


def compared(posterior):
    counterfactual = ca.counterfactuals(posterior, {"sex": "m"}, draws=5, seed=1, progress=False)
    return ca.situation_testing(
        posterior.data, rule, {"sex": "f"}, features=["skill", "job"], counterfactuals=counterfactual, k=5,
        progress=False,
    ).table  # fmt: skip


def explained(posterior):
    return ca.decompose_error_rates(
        posterior, rule, {"sex": "f"}, outcome="good", features=["sex", "skill"], population="simulate", draws=5,
        progress=False,
    ).table  # fmt: skip


def global_state():
    """All that a thread could leave behind for others."""
    generators = (random.getstate(), pyro.util.get_rng_state()["numpy"][1].tolist(), torch.get_rng_state().tolist())
    handlers = (len(_PYRO_STACK), warnings.filters[:])
    return generators, torch.get_default_dtype(), torch.get_num_threads(), handlers


def same(one, two):
    return one.equals(two) if isinstance(one, pd.DataFrame) else one.identical(two)


@pytest.mark.parametrize("block", [numerics, lambda: seeded(0, "block"), ignored_warnings])
def test_a_second_thread_waits_until_the_first_has_put_everything_back(block):
    before, inside, leave, entered = global_state(), Event(), Event(), Event()

    def first():
        with block():
            inside.set()
            leave.wait(LONG)

    def second():
        inside.wait(LONG)
        with block():
            entered.set()
            left.wait(LONG)  # the first thread, were they in it together, would leave before

    left, threads = Event(), [Thread(target=first), Thread(target=second)]
    for thread in threads:
        thread.start()
    inside.wait(LONG)
    together = entered.wait(0.2)
    leave.set()
    threads[0].join()
    left.set()
    threads[1].join()
    assert not together
    assert global_state() == before


def test_a_property_is_computed_without_a_lock_that_a_program_may_wait_for():
    """One thread runs a program and needs a property, which another computes of another object, waiting for it."""
    running, computing, waited = RLock(), Event(), Event()

    class Thing:
        @cached_property
        def value(self):
            computing.set()
            with running:
                return self

    def program_and_property():
        with running:
            waited.set()
            computing.wait(LONG)
            assert Thing().value

    def property_alone():
        waited.wait(LONG)
        thing = Thing()
        assert thing.value is thing.value is thing

    threads = [Thread(target=target, daemon=True) for target in (program_and_property, property_alone)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONG)
    assert not any(thread.is_alive() for thread in threads)


def test_fits_counterfactuals_and_audits_at_once_have_the_bits_that_they_have_alone(people):
    posterior = fit(people)
    tasks = [lambda: fit(people).summary(), *(partial(ask, posterior) for ask in (worlds, compared, explained))]
    alone = [task() for task in tasks]
    before = global_state()
    with ThreadPoolExecutor(4) as threads:
        together = list(threads.map(lambda task: task(), [*tasks, *tasks]))
    assert all(same(one, two) for one, two in zip([*alone, *alone], together, strict=True))
    assert global_state() == before


@pytest.mark.parametrize("asked", [{"backend": "threading"}, {"prefer": "threads"}, {"require": "sharedmem"}])
def test_where_threads_are_asked_for_tasks_are_done_by_processes(asked):
    with joblib.parallel_config(n_jobs=2, **asked):
        found = list(parallel(lambda _: os.getpid(), range(4), "Tasks", progress=False))
    assert os.getpid() not in found


@pytest.mark.slow
def test_the_bits_are_the_same_where_threads_are_asked_for(people):
    posterior, before = fit(people), global_state()
    alone = [posterior.summary(), worlds(posterior), explained(posterior)]
    with joblib.parallel_config(backend="threading", n_jobs=2):
        together = [fit(people).summary(), worlds(posterior), explained(posterior)]
    assert all(same(one, two) for one, two in zip(alone, together, strict=True))
    assert global_state() == before


@pytest.mark.slow
def test_a_task_that_fails_leaves_no_thread_that_aborts_the_process_at_its_end():
    code = """
import time, joblib, torch
from causalaudit.progress import parallel
def task(number):
    if number == 0:
        time.sleep(0.3)
        raise ValueError("the first task fails")
    until, matrix = time.time() + 3, torch.rand(200, 200)
    while time.time() < until:
        (matrix.clone().requires_grad_() @ matrix).sum().backward()
try:
    with joblib.parallel_config(backend="threading", n_jobs=2):
        list(parallel(task, range(4), "Tasks"))
except ValueError as error:
    print(error)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "the first task fails\n")


@pytest.mark.parametrize("room", ["scm", "inference", "counterfactuals"])
def test_rooms_that_run_programs_have_no_properties_with_locks(room):
    locked = re.compile("from functools import .*cached_property")
    files = (Path(ca.__file__).parent / room).rglob("*.py")
    assert [file.name for file in files if locked.search(file.read_text())] == []
