"""The same bits on a cluster of dask: chains, chunks, permutations, whole worlds."""

import os
import signal
import subprocess
import sys
from functools import partial

import joblib
import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import pytest
import torch

import causalaudit as ca
from causalaudit.errors import DataError
from causalaudit.inference.calibration import calibrate
from causalaudit.progress import parallel

distributed = pytest.importorskip("distributed", reason="needs dask: pip install causalaudit[cluster]")

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:Not trustworthy")]
LEVELS = {"sex": ["m", "f"]}


def normal_score(n):
    base, gap = pyro.sample("base", dist.Normal(10.0, 5.0)), pyro.sample("gap", dist.Normal(0.0, 5.0))
    spread = pyro.sample("spread", dist.HalfNormal(5.0))
    with pyro.plate("individuals", n):
        sex = pyro.sample("sex", dist.Bernoulli(0.5))
        pyro.sample("score", dist.Normal(base + gap * sex, spread))


def mean_alone(n):
    mean = pyro.sample("mean", dist.Normal(10.0, 5.0))
    with pyro.plate("individuals", n):
        pyro.sample("score", dist.Normal(mean, 3.0))


def equal_score(n):
    base, spread = pyro.sample("base", dist.Normal(10.0, 5.0)), pyro.sample("spread", dist.HalfNormal(5.0))
    with pyro.plate("individuals", n):
        pyro.sample("sex", dist.Bernoulli(0.5))
        pyro.sample("score", dist.Normal(base, spread))


def apart(n):
    """No parameter enters two sites: each site is fitted on its own."""
    mean, chance = pyro.sample("mean", dist.Normal(10.0, 5.0)), pyro.sample("chance", dist.Beta(1.0, 1.0))
    with pyro.plate("individuals", n):
        pyro.sample("score", dist.Normal(mean, 3.0))
        pyro.sample("hired", dist.Bernoulli(chance))


def audit(posterior):
    people = posterior.data
    worlds = ca.counterfactuals(posterior, {"sex": "m"}, rows=people.sex == "f", chunk=10, progress=False)
    return ca.situation_testing(
        people, hire, {"sex": "f"}, features=["score"], counterfactuals=worlds, k=5, progress=False
    )


def hire(people):
    return (people.score > 9).astype(int)


@pytest.fixture(scope="module")
def cluster():
    """Two workers, each a process with one thread and a memory of its own."""
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0", memory_limit="2GiB"
        ) as local,
        distributed.Client(local),
    ):
        yield


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    sex = rng.integers(2, size=200)
    score = rng.poisson(np.exp(2.3 - 0.3 * sex))
    hired, advice, region = rng.integers(2, size=(3, 200))
    named = np.array(LEVELS["sex"])[sex]
    return pd.DataFrame({"sex": named, "score": score, "hired": hired, "advice": advice, "region": region})


@pytest.fixture(scope="module")
def posteriors(people):
    scms = {"gap": ca.SCM(normal_score, levels=LEVELS), "equal": ca.SCM(equal_score, levels=LEVELS)}
    data = people[["sex", "score"]]
    return {name: ca.fit(scm, data, draws=40, chains=2, seed=0, progress=False) for name, scm in scms.items()}


def on_the_cluster(task):
    with joblib.parallel_config("dask"):
        return task()


def test_tasks_are_done_by_other_processes_and_tasks_of_tasks_by_the_same(cluster):
    def process(task):
        return os.getpid(), list(parallel(lambda _: os.getpid(), range(3), "Tasks of a task", progress=False))

    for outer, inner in on_the_cluster(lambda: list(parallel(process, range(4), "Tasks", progress=False))):
        assert outer != os.getpid()
        assert inner == [outer] * 3


def test_workers_that_return_all_results_at_once():
    """As those of ray do."""
    with joblib.parallel_config("multiprocessing", n_jobs=2):
        assert list(parallel(abs, [-3, 1, -2], "Numbers", progress=False)) == [3, 1, 2]


def test_nobody_who_has_no_cluster_waits_for_dask():
    code = "import sys, causalaudit as ca; ca.compare_worlds; print({'dask', 'distributed'} & set(sys.modules))"
    told = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout
    assert told.strip() == "set()"


def test_chains(cluster, people):
    def chains():
        data = people[["score"]]
        return ca.fit(ca.SCM(mean_alone), data, method="nuts", draws=20, chains=2, seed=3, progress=False).idata

    here, there = chains(), on_the_cluster(chains)
    assert here["posterior"].identical(there["posterior"])
    assert here["sample_stats"].identical(there["sample_stats"])


def test_chunks_of_counterfactuals(cluster, posteriors):
    def chunks():
        return ca.counterfactuals(posteriors["gap"], {"sex": "m"}, chunk=10, seed=5, progress=False).dataset

    assert chunks().identical(on_the_cluster(chunks))


def test_permutations_of_a_scan_which_stop_early(cluster, people):
    def scan():
        return ca.scan_bias(
            people, {"sex": "f"}, "hired", recommendation="advice", features=["region"],
            iterations=5, permutations=200, seed=1, progress=False,
        )  # fmt: skip

    here, there = scan(), on_the_cluster(scan)
    assert len(here.null_scores) < 200
    np.testing.assert_array_equal(here.null_scores, there.null_scores)
    pd.testing.assert_frame_equal(here.table, there.table, check_exact=True)


def test_worlds(cluster, posteriors):
    def worlds():
        return ca.compare_worlds(posteriors, audit, progress=False)

    here, there = worlds(), on_the_cluster(worlds)
    for name in ("table", "loo", "headline"):
        pd.testing.assert_frame_equal(getattr(here, name), getattr(there, name), check_exact=True)


def test_fits_by_component(cluster, people):
    def by_component():
        scm = ca.SCM(normal_score, levels=LEVELS)
        return ca.fit(scm, people[["sex", "score"]], "laplace", draws=40, chains=2, seed=7, progress=False).idata

    def three_components():
        return ca.fit(ca.SCM(apart), people[["score", "hired"]], draws=40, chains=2, seed=7, progress=False).idata

    for task in (by_component, three_components):
        here, there = task(), on_the_cluster(task)
        for group in ("posterior", "log_prior", "sample_stats"):
            assert here[group].identical(there[group])


def test_calibration(cluster, tmp_path):
    def ranks(**more):
        return calibrate(ca.SCM(mean_alone), n=20, data_sets=4, draws=9, seed=2, progress=False, **more).ranks

    here, there = ranks(), on_the_cluster(lambda: ranks(path=tmp_path / "ranks.jsonl"))
    pd.testing.assert_frame_equal(here, there, check_exact=True)
    pd.testing.assert_frame_equal(here, ranks(path=tmp_path / "ranks.jsonl"), check_exact=True)


class Sent:
    """A large table that notes where it arrives."""

    def __init__(self, notes):
        self.notes, self.table = notes, np.arange(200_000.0)

    def __setstate__(self, state):
        self.__dict__.update(state)
        with self.notes.open("a") as file:
            file.write(f"{os.getpid()}\n")

    def total(self, power):
        return float((self.table ** (power % 7)).sum())


@pytest.mark.parametrize("bound", ["a method", "a partial"])
def test_a_large_table_is_sent_to_the_workers_ahead_and_not_with_each_task(cluster, tmp_path, bound):
    sent = Sent(tmp_path / "notes")
    function = sent.total if bound == "a method" else partial(Sent.total, sent)
    found = on_the_cluster(lambda: list(parallel(function, range(40), "Powers", progress=False)))
    assert found == [sent.total(power) for power in range(40)]
    arrived = sent.notes.read_text().split()
    assert len(arrived) <= 8  # dask moves it between its two workers; with each task it would be 80
    assert str(os.getpid()) not in arrived


def killing(task, flag):
    """Kill the worker that does this, the first time."""
    try:
        flag.touch(exist_ok=False)
    except FileExistsError:
        return task
    return os.kill(os.getpid(), signal.SIGKILL)


def test_a_worker_is_killed_among_tasks(cluster, tmp_path):
    def root(number):
        if number == 5:
            killing(number, tmp_path / "killed")
        return number**0.5

    found = on_the_cluster(lambda: list(parallel(root, range(12), "Roots", progress=False)))
    assert (tmp_path / "killed").exists()
    assert found == [number**0.5 for number in range(12)]


def test_an_error_of_a_worker_is_ours(cluster, posteriors):
    def wrong(posterior):
        return 1 if "gap" in posterior.parameters() else audit(posterior)

    with pytest.raises(DataError, match="audit must return the result of an auditor, but returned int in 'gap'"):
        on_the_cluster(lambda: ca.compare_worlds(posteriors, wrong, "equal", progress=False))


def test_a_cluster_of_one_worker_is_asked_where_joblib_works_here(posteriors):
    """Joblib then does not send tasks at all: what workers hold is needed in this process."""
    here = ca.compare_worlds(posteriors, audit, progress=False)
    one = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": ":0"}
    with distributed.Client(**one):
        there = on_the_cluster(lambda: ca.compare_worlds(posteriors, audit, progress=False))
    pd.testing.assert_frame_equal(here.table, there.table, check_exact=True)


def test_workers_that_are_threads_of_this_process(posteriors):
    """They run one program at a time."""

    def worlds():
        return ca.compare_worlds(posteriors, audit, progress=False)

    here = worlds()
    with distributed.Client(processes=False, n_workers=1, threads_per_worker=2, dashboard_address=":0"):
        there = on_the_cluster(worlds)
    assert torch.get_default_dtype() == torch.float32
    for name in ("table", "loo", "headline"):
        pd.testing.assert_frame_equal(getattr(here, name), getattr(there, name), check_exact=True)
