"""Power-scaling: what depends on the prior is found, and what does not is not."""

import arviz as az
import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import pytest

import causalaudit as ca
from causalaudit.errors import InferenceError
from causalaudit.results import AuditResult, headline_of, interval_table, verdict_table
from causalaudit.storage import same
from causalaudit.worlds.power_scaling import scaled_weights, sensitivity


class Answer(AuditResult):
    """An audit whose headline is given."""

    KIND = title = "answer"

    def __init__(self, draws):
        object.__setattr__(self, "numbers", draws)

    verdicts = property(lambda self: verdict_table([], [], rule="none"))
    headline = property(lambda self: headline_of(self.numbers, "answer"))
    intervals = property(lambda self: interval_table([]))

    def summary(self):
        return self.verdicts

    def plot(self, ax=None):
        return ax

    def to_inference_data(self):
        raise NotImplementedError


def program(n):
    mean = pyro.sample("mean", dist.Normal(5.0, 0.5))
    spread = pyro.sample("spread", dist.HalfNormal(5.0))
    with pyro.plate("individuals", n):
        pyro.sample("score", dist.Normal(mean, spread))


@pytest.fixture(scope="module")
def posterior():
    people = pd.DataFrame({"score": np.random.default_rng(0).normal(0.0, 2.0, size=20)})
    return ca.fit(ca.SCM(program), people, draws=500, chains=4, seed=0, progress=False)


@pytest.mark.skipif(not hasattr(az, "psens"), reason="ArviZ has it elsewhere")
def test_sensitivities_are_those_of_arviz(posterior):
    data = posterior.idata.copy()
    log_likelihood = data["sample_stats"]["log_likelihood"]
    data.add_groups({"log_likelihood": log_likelihood.rename("total").to_dataset()})
    log_prior = sum(data["log_prior"].data_vars.values()).to_numpy().ravel()
    for component, part in (("prior", log_prior), ("likelihood", log_likelihood.to_numpy().ravel())):
        expected = az.psens(data, component=component)
        weights, _ = scaled_weights(part)
        for name, draws in posterior.parameters().items():
            assert sensitivity(draws, weights[None])[0] == pytest.approx(float(expected[name]), rel=1e-9)


def test_a_prior_that_the_data_contradict_is_found(posterior):
    found = ca.prior_sensitivity(posterior, lambda one: Answer(one.parameters()["mean"]))
    table = found.table.set_index("quantity")
    assert table.index.tolist() == ["mean", "spread", "answer"]
    assert table.loc["mean", "flagged"]
    assert table.loc["answer", "prior"] == pytest.approx(table.loc["mean", "prior"])
    assert "The answer (answer) depends on the prior" in found.verdict


def test_a_number_that_has_nothing_to_do_with_the_prior_is_not_flagged(posterior):
    """By chance alone at most one in twenty."""
    rng = np.random.default_rng(0)
    weights, _ = scaled_weights(_log_prior(posterior))
    shuffled = np.stack([weights[:, rng.permutation(2000)] for _ in range(100)])
    unrelated = [rng.normal(size=2000) for _ in range(40)]
    flagged = [
        sensitivity(one, weights[None])[0] > max(0.05, np.quantile(sensitivity(one, shuffled), 0.95))
        for one in unrelated
    ]
    assert np.mean(flagged) <= 0.1


def _log_prior(posterior):
    return sum(posterior.idata["log_prior"].data_vars.values()).to_numpy().ravel()


def test_few_draws_are_refused(posterior):
    few = ca.fit(posterior.scm, posterior.data, draws=100, chains=2, progress=False)
    with pytest.raises(InferenceError, match="The posterior has 200 draws, but 1000 are needed"):
        ca.prior_sensitivity(few, lambda _: Answer(np.zeros(1000)))
    with pytest.raises(InferenceError, match="The audit's headline has 300 draws"):
        ca.prior_sensitivity(posterior, lambda _: Answer(np.zeros(300)))


def test_weights_that_say_nothing_are_refused(posterior, monkeypatch):
    heavy = posterior.idata["sample_stats"]["log_likelihood"].copy(
        data=np.random.default_rng(0).standard_cauchy((4, 500)) * 1e4
    )
    broken = posterior.idata.copy()
    broken["sample_stats"]["log_likelihood"] = heavy
    with pytest.raises(InferenceError, match="Pareto k of the power-scaled weights is"):
        ca.prior_sensitivity(
            type(posterior)(posterior.scm, posterior.data, broken, posterior.settings), lambda _: Answer(np.zeros(1000))
        )


def test_it_is_saved(posterior, tmp_path):
    found = ca.prior_sensitivity(posterior, lambda one: Answer(one.parameters()["spread"][:1000]))
    found.save(tmp_path / "prior.nc")
    assert same(ca.load(tmp_path / "prior.nc"), found)
