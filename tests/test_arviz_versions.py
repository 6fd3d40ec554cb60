"""Draws have one form with ArviZ 0.2x (InferenceData) and another with 1.x (DataTree): both are read and written alike.

This file asks nothing of torch, so that it can be run where ArviZ 1.x is installed.
"""

import os
import subprocess
import sys
import textwrap

import numpy as np
import pytest
import xarray as xr

from causalaudit.arviz_versions import (
    add_group,
    chain_table,
    effective_size,
    group_names,
    group_of,
    import_arviz,
    inference_data,
    pareto_smoothed,
    r_hat,
    statistics_table,
)

az = import_arviz()


def draws():
    generator = np.random.default_rng(0)
    dims = ("chain", "draw")
    values = {
        "a": (dims, generator.normal(size=(4, 250))),
        "b": ((*dims, "b_dim_0"), generator.normal(size=(4, 250, 2))),
    }
    return xr.Dataset(values, {"chain": range(4), "draw": range(250), "b_dim_0": ["x", "y"]})


def shortest(values, prob):
    """The ends of the shortest run of sorted values that holds `prob` of them."""
    values, held = np.sort(values), int(prob * len(values))
    start = np.argmin(values[held:] - values[:-held])
    return values[start], values[start + held]


@pytest.fixture(params=["installed", "DataTree"])
def form(request, monkeypatch):
    if request.param == "DataTree":
        monkeypatch.delitem(vars(az), "InferenceData", raising=False)
    return request.param


def test_groups_come_back(form):
    made = inference_data(
        posterior=draws(), sample_stats=xr.Dataset({"energy": ("draw", np.zeros(3))}, attrs={"ess": 12.0})
    )
    assert isinstance(made, xr.DataTree) == (form == "DataTree" or "InferenceData" not in vars(az))
    add_group(made, "log_likelihood", draws()[["a"]])
    assert group_names(made) == {"posterior", "sample_stats", "log_likelihood"}
    xr.testing.assert_identical(group_of(made, "posterior"), draws())
    xr.testing.assert_identical(made["posterior"]["b"], draws()["b"])
    assert made["sample_stats"].attrs == {"ess": 12.0}


def test_statistics_are_those_of_the_draws():
    table = statistics_table(inference_data(posterior=draws()), prob=0.8)
    assert list(table.index) == ["a", "b[x]", "b[y]"]
    assert list(table.columns) == ["mean", "sd", "credible_low", "credible_high"]
    values = np.column_stack([draws()["a"].to_numpy().ravel(), draws()["b"].to_numpy().reshape(-1, 2)])
    np.testing.assert_allclose(table["mean"], values.mean(0))
    np.testing.assert_allclose(table["sd"], values.std(0, ddof=1))
    for (low, high), column in zip(table[["credible_low", "credible_high"]].to_numpy(), values.T, strict=True):
        np.testing.assert_allclose((low, high), shortest(column, 0.8), atol=0.05)


def test_chains_are_diagnosed_alike_one_by_one_and_together():
    table = chain_table(inference_data(posterior=draws()))
    chains = draws()["a"].to_numpy()
    assert list(table.columns) == ["ess", "mcse", "r_hat"]
    assert table.loc["a", "r_hat"] == pytest.approx(r_hat(chains))
    assert table.loc["a", "ess"] == pytest.approx(effective_size(chains, "bulk"))
    assert table.loc["a", "mcse"] == pytest.approx(
        chains.std(ddof=1) / np.sqrt(effective_size(chains, "bulk")), rel=0.05
    )
    assert 500 < effective_size(chains, "tail") < 1100


def test_smoothed_weights_sum_to_one_and_the_given_ones_are_kept():
    generator = np.random.default_rng(1)
    log_weights = 2 * generator.normal(size=(3, 1000))
    given = log_weights.copy()
    smoothed, k = pareto_smoothed(log_weights)
    np.testing.assert_array_equal(log_weights, given)
    np.testing.assert_allclose(np.exp(smoothed).sum(-1), 1.0)
    assert k.shape == (3,)
    body = np.argsort(given[0])[:700]  # only the largest weights are smoothed
    assert np.ptp((smoothed[0] - given[0])[body]) < 1e-9


def test_a_posterior_in_a_tree_is_read_and_saved_as_any(monkeypatch, tmp_path):
    pytest.importorskip("torch")
    import causalaudit as ca

    scm, people = ca.models.loan.linear(), ca.datasets.make_loan(60, seed=0)
    usual = ca.fit(scm, people, draws=20, chains=2, seed=0)
    monkeypatch.delitem(vars(az), "InferenceData", raising=False)
    tree = ca.fit(scm, people, draws=20, chains=2, seed=0)
    assert isinstance(tree.idata, xr.DataTree)
    np.testing.assert_array_equal(tree.log_likelihood(), usual.log_likelihood())
    assert "log_likelihood" in group_names(tree.idata)
    worlds = ca.counterfactuals(tree, {"gender": "male"}, draws=5)
    xr.testing.assert_identical(worlds.dataset, ca.counterfactuals(usual, {"gender": "male"}, draws=5).dataset)
    tree.save(tmp_path / "loan.nc")
    again = ca.Posterior.load(tmp_path / "loan.nc", scm)
    xr.testing.assert_identical(again.idata["posterior"]["base"], usual.idata["posterior"]["base"])


def test_two_processes_may_be_the_first_of_a_day_to_import_arviz(tmp_path):
    """Another process takes the file away with which ArviZ 0.23 notes the day, having noted it."""
    script = """
        from pathlib import Path

        plain = Path.replace

        def overtaken(self, target):
            plain(self, target)
            return plain(self, target)

        Path.replace = overtaken
        from causalaudit.arviz_versions import import_arviz

        print(import_arviz().__name__)
    """
    environment = os.environ | {"XDG_CACHE_HOME": str(tmp_path)}
    command = [sys.executable, "-W", "error::FutureWarning", "-c", textwrap.dedent(script)]
    told = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert (told.stdout.strip(), told.stderr) == ("arviz", "")
