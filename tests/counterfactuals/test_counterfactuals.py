"""Counterfactuals against closed forms, and everything that can be asked of them."""

import joblib
import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import pytest
import torch
from pyro.util import get_rng_state

import causalaudit as ca
from causalaudit.errors import CausalAuditError


def chain(n):
    """a -> b -> c and a -> c, linear and Gaussian; u is a root beside them."""
    slope = pyro.sample("slope", dist.Normal(2.0, 1.0))
    direct = pyro.sample("direct", dist.Normal(-1.0, 1.0))
    scale = pyro.sample("scale", dist.LogNormal(0.0, 0.5))
    with pyro.plate("individuals", n):
        u = pyro.sample("u", dist.Normal(0.0, 1.0))
        a = pyro.sample("a", dist.Normal(0.0, 1.0))
        b = pyro.sample("b", dist.Normal(slope * a + u, scale))
        pyro.sample("c", dist.Normal(direct * a + 0.5 * b, 1.0))


@pytest.fixture(scope="module")
def posterior():
    scm = ca.SCM(chain)
    drawn = scm.prior_predictive(n=200, draws=1, seed=3).isel(draw=0)
    people = drawn[list(scm.variables)].to_dataframe()[list(scm.variables)]
    people.index = pd.Index([f"person {i}" for i in range(200)])
    people["note"] = "carried along"
    return ca.fit(scm, people, draws=50, chains=2, seed=1)


@pytest.fixture(scope="module")
def applicants():
    return ca.datasets.make_loan(400, seed=0)


@pytest.fixture(scope="module")
def loan_posterior(applicants):
    return ca.fit(ca.models.loan.linear(), applicants, draws=100, chains=2, seed=0)


def test_linear_gaussian_closed_form(posterior):
    worlds = ca.counterfactuals(posterior, {"a": 1.5})
    theta, people = posterior.parameters(), posterior.data
    change = 1.5 - people["a"].to_numpy()
    np.testing.assert_allclose(worlds.dataset["a"], np.full((100, 200), 1.5))
    shift_b = theta["slope"][:, None] * change
    np.testing.assert_allclose(worlds.dataset["b"], people["b"].to_numpy() + shift_b, rtol=1e-9)
    shift_c = theta["direct"][:, None] * change + 0.5 * shift_b
    np.testing.assert_allclose(worlds.dataset["c"], people["c"].to_numpy() + shift_c, rtol=1e-9)
    np.testing.assert_array_equal(worlds.dataset["u"], np.broadcast_to(people["u"], (100, 200)))


@pytest.mark.parametrize(
    ("edges", "through_b", "direct"),
    [([("a", "c")], False, True), ([("a", "b"), ("b", "c")], True, False), ([], False, False)],
)
def test_path_specific_closed_form(posterior, edges, through_b, direct):
    worlds = ca.counterfactuals(posterior, {"a": 1.5}, edges=edges)
    theta, people = posterior.parameters(), posterior.data
    change = 1.5 - people["a"].to_numpy()
    shift_b = theta["slope"][:, None] * change * (("a", "b") in edges)
    shift_c = theta["direct"][:, None] * change * direct + 0.5 * shift_b * through_b
    np.testing.assert_allclose(worlds.dataset["b"], people["b"].to_numpy() + shift_b, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(worlds.dataset["c"], people["c"].to_numpy() + shift_c, rtol=1e-9, atol=1e-12)


def test_all_edges_are_the_default(posterior):
    every = ca.counterfactuals(posterior, {"a": 1.5}, edges=list(posterior.scm.graph.edges))
    np.testing.assert_allclose(every.dataset["c"], ca.counterfactuals(posterior, {"a": 1.5}).dataset["c"], rtol=1e-12)


def test_several_interventions_by_number_array_series_and_function(posterior):
    people = posterior.data
    array = np.linspace(-1, 1, len(people))
    worlds = ca.counterfactuals(
        posterior,
        {"u": 0, "a": array, "b": pd.Series(array, index=people.index).iloc[::-1], "c": lambda frame: frame["a"] ** 2},
    )
    np.testing.assert_array_equal(worlds.dataset["u"][0], 0.0)
    np.testing.assert_array_equal(worlds.dataset["a"][0], array)
    np.testing.assert_array_equal(worlds.dataset["b"][0], array)  # aligned by index
    np.testing.assert_array_equal(worlds.dataset["c"][0], people["a"].to_numpy() ** 2)


def test_noise_is_the_standardised_residual(posterior):
    worlds = ca.counterfactuals(posterior, {"a": 0.0}, draws=10)
    theta, people = posterior.parameters(10), posterior.data
    mean = theta["slope"][:, None] * people["a"].to_numpy() + people["u"].to_numpy()
    residual = (people["b"].to_numpy() - mean) / theta["scale"][:, None]
    np.testing.assert_allclose(worlds.noise["b"], residual, rtol=1e-12)
    assert worlds.noise["b"].dims == ("draw", "individual")


def test_point_is_at_the_posterior_mean(posterior):
    rows = posterior.data.index[[5, 2, 9]]
    worlds = ca.counterfactuals(posterior, {"a": 0.0}, rows=rows, draws=7)
    theta = {name: values.mean() for name, values in posterior.parameters().items()}
    people = posterior.data.loc[rows]
    b = people["b"] - theta["slope"] * people["a"]
    c = people["c"] - theta["direct"] * people["a"] - 0.5 * theta["slope"] * people["a"]
    pd.testing.assert_index_equal(worlds.point.index, rows)
    assert list(worlds.point.columns) == list(posterior.data.columns)
    np.testing.assert_allclose(worlds.point["b"], b)
    np.testing.assert_allclose(worlds.point["c"], c)


def test_people_outside_the_fit(posterior):
    others = pd.DataFrame({"u": [0.0, 1.0], "a": [1.0, 2.0], "b": [3.0, 4.0], "c": [5.0, 6.0]}, index=["x", "y"])
    worlds = ca.counterfactuals(posterior, {"a": 0.0}, data=others, draws=5)
    assert list(worlds.dataset["individual"].to_numpy()) == ["x", "y"]
    slope = posterior.parameters(5)["slope"]
    np.testing.assert_allclose(worlds.dataset["b"][:, 1], 4.0 - 2.0 * slope)


def test_the_index_the_levels_and_unmodelled_columns_are_kept(applicants, loan_posterior):
    women = applicants.gender == "female"
    worlds = ca.counterfactuals(loan_posterior, {"gender": "male"}, rows=women, draws=3)
    assert worlds.dataset["gender"].attrs["levels"] == ["male", "female"]
    assert worlds.dataset["gender"].dtype.kind == "i"
    frames = list(worlds.frames())
    assert len(frames) == 3
    for frame in [*frames, worlds.point]:
        pd.testing.assert_index_equal(frame.index, applicants.index[women])
        assert list(frame.columns) == list(applicants.columns)
        assert (frame["gender"] == "male").all()
        assert frame["gender"].dtype == applicants["gender"].dtype
        pd.testing.assert_series_equal(frame["approved"], applicants.loc[women, "approved"])


def test_a_level_by_person_and_categorical_columns(applicants, loan_posterior):
    typed = applicants.assign(gender=applicants["gender"].astype(pd.CategoricalDtype(["female", "male"], ordered=True)))
    everybody = ["male", "female"] * (len(applicants) // 2)
    worlds = ca.counterfactuals(loan_posterior, {"gender": everybody}, data=typed, draws=1)
    frame = next(iter(worlds.frames()))
    assert list(frame["gender"]) == everybody
    assert frame["gender"].dtype == typed["gender"].dtype


def test_inference_data(loan_posterior):
    worlds = ca.counterfactuals(loan_posterior, {"gender": "male"}, draws=4)
    idata = worlds.to_inference_data()
    assert dict(idata["predictions"].sizes) == {"chain": 1, "draw": 4, "individual": 400}
    assert "salary" in idata["predictions_constant_data"]


def test_from_frame():
    frame = pd.DataFrame({"gender": ["male", "male"], "salary": [1.0, 2.0], "approved": [True, False]}, index=[7, 3])
    worlds = ca.CounterfactualDraws.from_frame(frame, do={"gender": "male"})
    assert worlds.dataset.sizes == {"draw": 1, "individual": 2}
    pd.testing.assert_frame_equal(worlds.point, frame)
    pd.testing.assert_frame_equal(next(iter(worlds.frames())), frame)
    assert worlds.settings == {}
    with pytest.raises(CausalAuditError, match="computed elsewhere"):
        _ = worlds.noise


def discrete(n):
    rate = pyro.sample("rate", dist.Gamma(5.0, 1.0))
    with pyro.plate("individuals", n):
        group = pyro.sample("group", dist.Bernoulli(0.4))
        job = pyro.sample("job", dist.Categorical(logits=torch.stack([group, 1 - group, 0 * group], -1)))
        pyro.sample("children", dist.Poisson(rate * (1.0 + group + 0.3 * job)))


@pytest.fixture(scope="module")
def discrete_posterior():
    scm = ca.SCM(discrete, levels={"group": ["one", "two"], "job": ["x", "y", "z"]})
    drawn = scm.prior_predictive(n=300, draws=1, seed=3).isel(draw=0)
    people = pd.DataFrame({name: scm.codec.decode(name, drawn[name].to_numpy()) for name in scm.variables})
    return ca.fit(scm, people.astype({"children": int}), draws=50, chains=2, seed=1)


def test_same_seed_same_draws_whatever_the_chunks_and_the_workers(discrete_posterior):
    do = {"group": "two"}
    once = ca.counterfactuals(discrete_posterior, do, seed=5)
    again = ca.counterfactuals(discrete_posterior, do, seed=5, chunk=7)
    with joblib.parallel_config("loky", n_jobs=2):
        parallel = ca.counterfactuals(discrete_posterior, do, seed=5, chunk=25)
    other = ca.counterfactuals(discrete_posterior, do, seed=6)
    assert once.dataset.identical(again.dataset)
    assert once.dataset.identical(parallel.dataset)
    assert not once.dataset.identical(other.dataset)


def test_noise_belongs_to_the_draws(discrete_posterior):
    """Pushing the noise that is reported gives the counterfactuals that are reported."""
    worlds = ca.counterfactuals(discrete_posterior, {"group": "two"}, draws=20, seed=5)
    assert worlds.noise["job"].dims == ("draw", "individual", "job_value")
    assert float(worlds.noise["children"].min()) > 0
    assert float(worlds.noise["children"].max()) <= 1
    job = worlds.noise["job"].to_numpy() + np.log(np.exp([1.0, 0.0, 0.0]) / np.exp([1.0, 0.0, 0.0]).sum())
    np.testing.assert_array_equal(job.argmax(-1), worlds.dataset["job"])


def test_counts_keep_their_type(discrete_posterior):
    frame = next(iter(ca.counterfactuals(discrete_posterior, {"group": "two"}, draws=1).frames()))
    assert frame["children"].dtype == int
    assert set(frame["job"]) <= {"x", "y", "z"}


def test_global_random_states_are_untouched(applicants):
    scm = ca.models.loan.linear()
    before = get_rng_state()
    dtype, threads = torch.get_default_dtype(), torch.get_num_threads()
    posterior = ca.fit(scm, applicants.head(50), draws=20, chains=1)
    ca.counterfactuals(posterior, {"gender": "male"}).noise  # noqa: B018
    posterior.predictive(draws=3)
    scm.prior_predictive(n=5, draws=3)
    after = get_rng_state()
    assert torch.equal(before["torch"], after["torch"])
    assert before["random"] == after["random"]
    assert all(np.array_equal(one, two) for one, two in zip(before["numpy"], after["numpy"], strict=True))
    assert (torch.get_default_dtype(), torch.get_num_threads()) == (dtype, threads)


def test_a_program_undefined_where_the_intervention_leads():
    def root(n):
        with pyro.plate("individuals", n):
            x = pyro.sample("x", dist.Normal(5.0, 1.0))
            pyro.sample("y", dist.Normal(torch.sqrt(x), 1.0))

    people = pd.DataFrame({"x": [4.0, 5.0], "y": [2.0, 2.5]})
    posterior = ca.fit(ca.SCM(root), people, draws=2, chains=1)
    with pytest.raises(CausalAuditError, match="'y' is not finite for 2 people"):
        ca.counterfactuals(posterior, {"x": -1.0})


def test_settings_record_the_assumptions(discrete_posterior):
    worlds = ca.counterfactuals(discrete_posterior, {"group": "two"}, coupling={"job": "monotone"}, draws=2, seed=4)
    assert worlds.settings["coupling"] == {"group": "monotone", "job": "monotone", "children": "monotone"}
    assert worlds.settings["seed"] == 4
    assert "do(group)" in repr(worlds)
