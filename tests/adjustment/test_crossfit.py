"""Cross-fitted models: whom they see, which is chosen, and doubly robust rates by hand and by a known truth."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from causalaudit.adjustment import Covariates, Crossfitted, crossfit, doubly_robust, fold_of
from causalaudit.adjustment.flexible import SplineBasis
from causalaudit.errors import DataError


class Recorded(ClassifierMixin, BaseEstimator):
    """Expects the share of events among the people it saw, and remembers them."""

    seen: list = []  # noqa: RUF012 (shared by clones on purpose)

    def fit(self, X, y, sample_weight=None):
        Recorded.seen.append(X[:, 0].astype(int))
        self.share_ = np.average(y, weights=sample_weight)
        return self

    def predict_proba(self, X):
        return np.tile([1 - self.share_, self.share_], (len(X), 1))


def test_nobody_is_predicted_by_a_model_that_saw_them():
    group = np.arange(23) % 2
    fold, rows = fold_of(group, seed=1), np.arange(23.0)[:, None]
    Recorded.seen = []
    found = crossfit(rows, group, fold, models=Recorded(), fitted=group < 2)
    assert len(Recorded.seen) == 5
    for number, seen in enumerate(Recorded.seen):
        assert set(seen) == set(np.flatnonzero(fold != number))
        assert found.expected[fold == number] == pytest.approx(group[fold != number].mean())


def test_models_are_fitted_to_a_group_and_predict_for_both():
    group, value = np.repeat([0, 1], 30), np.repeat([0.25, 0.75], 30)
    found = crossfit(np.zeros((60, 0)), value, fold_of(group), fitted=group == 1)
    assert (found.expected == 0.75).all()


def test_folds_share_both_groups_evenly_and_are_seeded():
    group = (np.arange(103) % 4 == 0).astype(int)
    for level in (0, 1):
        sizes = np.bincount(fold_of(group, 3)[group == level])
        assert np.ptp(sizes) <= 1
    assert (fold_of(group, 3) == fold_of(group, 3)).all()
    assert (fold_of(group, 3) != fold_of(group, 4)).any()
    with pytest.raises(DataError, match="a single person"):
        fold_of(np.array([0, 0, 1]))


def test_the_better_candidate_is_chosen():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(900, 2))
    stepped = (rng.random(900) < np.where((rows[:, 0] > 0) == (rows[:, 1] > 0), 0.9, 0.1)).astype(float)
    smooth = (rng.random(900) < expit(rows[:, 0] ** 2 - 1)).astype(float)
    fold = fold_of(np.zeros(900))
    found = {name: crossfit(rows, target, fold) for name, target in (("stepped", stepped), ("smooth", smooth))}
    assert found["stepped"].model == "gradient boosting"
    assert found["smooth"].model == "logistic regression on splines"
    for one in found.values():
        assert one.losses[one.model] == min(one.losses.values())


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "model", [LogisticRegression(), make_pipeline(StandardScaler(), LogisticRegression()), LinearRegression()]
)
def test_any_model_of_scikit_learn_takes_events_and_probabilities(model, weighted):
    rng = np.random.default_rng(0)
    rows, fold = rng.normal(size=(300, 1)), fold_of(np.zeros(300))
    weights = rng.random(300) + 0.5 if weighted else None
    chance = expit(rows[:, 0])
    events = (rng.random(300) < chance).astype(float)
    for target in (events, chance):
        found = crossfit(rows, target, fold, models=model, weights=weights)
        assert found.model == type(model).__name__
        assert np.abs(found.expected - chance).mean() < 0.07


def test_splines_of_many_ties_and_of_outliers_are_finite():
    rng = np.random.default_rng(0)
    rows = np.column_stack([rng.poisson(0.4, 500), rng.standard_cauchy(500), np.arange(500) % 2])
    basis = SplineBasis().fit(rows)
    assert np.isfinite(basis.transform(rows * 3)).all()


def make_rates(rng, n=40):
    group = (np.arange(n) % 3 == 0).astype(int)
    values, chance, expected = rng.random((2, n)), rng.uniform(0.2, 0.8, n), rng.random((2, 2, n))
    covariates = Covariates.of(pd.DataFrame({"c": rng.random(n)}), ["c"])
    found = doubly_robust(values, group, covariates, propensity=Crossfitted(chance, "known", {}, fold_of(group)))
    return found, group, values, chance, expected


def test_rates_are_means_of_the_efficient_influence_function_by_hand():
    found, group, values, chance, _ = make_rates(np.random.default_rng(0))
    expected = found.expected
    for value in (0, 1):
        assert found.rates[value, 0, 0] == pytest.approx(values[value, group == 0].mean(), abs=1e-12)
        assert found.rates[value, 1, 1] == pytest.approx(values[value, group == 1].mean(), abs=1e-12)
        for xi, odds in ((0, chance / (1 - chance)), (1, (1 - chance) / chance)):
            own, other = group == xi, group != xi
            residual = np.average((values[value] - expected[value, xi])[own], weights=odds[own])
            by_hand = expected[value, xi, other].mean() + residual
            assert found.rates[value, xi, 1 - xi] == pytest.approx(by_hand, abs=1e-12)
    assert np.allclose(found.influence.mean(axis=0), 0, atol=1e-12)


@pytest.mark.slow
def test_the_influence_of_a_person_is_the_slope_in_their_weight():
    found, group, *_ = make_rates(np.random.default_rng(1))
    equal, influence = np.ones((1, len(group))), found.crossed_influence()
    for person in range(0, 40, 7):
        step = np.zeros(len(group))
        step[person] = 1e-5
        slope = (found.crossed(equal + step) - found.crossed(equal - step))[0] / 2e-5 * len(group)
        assert np.allclose(slope, influence[person], atol=1e-7)


def test_one_of_the_two_models_may_be_wrong():
    """With a propensity or an expectation that ignores the covariate, the other makes up for it."""
    rng = np.random.default_rng(2)
    c = rng.normal(size=60_000)
    chance, group = expit(c), (rng.random(60_000) < expit(c)).astype(int)
    value = (rng.random(60_000) < expit(c + group)).astype(float)
    truth = [expit(c + xi)[group != xi].mean() for xi in (0, 1)]
    covariates = Covariates.of(pd.DataFrame({"c": c}), ["c"])
    fold = fold_of(group)
    right, wrong = Crossfitted(chance, "right", {}, fold), Crossfitted(np.full(60_000, 0.5), "wrong", {}, fold)
    for propensity, model, good in ((right, Recorded(), True), (wrong, LogisticRegression(), True),
                                    (wrong, Recorded(), False)):  # fmt: skip
        found = doubly_robust(value[None], group, covariates, propensity=propensity, model=model).rates[0]
        close = np.abs(np.array([found[0, 1], found[1, 0]]) - truth) < 0.01
        assert close.all() if good else not close.any()
