"""The one solver of logistic regressions: against statsmodels, many at once, separated, and by influence."""

import numpy as np
import pytest
import statsmodels.api as sm
from scipy.special import expit

from causalaudit.adjustment import coefficient_influence, fit_logistic, predict_logistic, regress


@pytest.fixture(scope="module")
def people():
    rng = np.random.default_rng(0)
    design = rng.normal(size=(300, 3))
    return design, (rng.random(300) < expit(0.4 + design @ [1.0, -0.5, 0.2])).astype(float)


def theirs(design, target, weights):
    return sm.GLM(target, sm.add_constant(design), family=sm.families.Binomial(), freq_weights=weights).fit().params


@pytest.mark.filterwarnings("ignore:freq_weights")
@pytest.mark.parametrize("probabilities", [False, True])
def test_every_set_of_weights_is_a_regression_of_its_own(people, probabilities):
    design, events = people
    target = expit(design[:, 0]) ** 2 if probabilities else events
    weights = np.random.default_rng(1).standard_exponential((5, len(target)))
    found = regress(design, target, weights)
    for coefficients, own in zip(found, weights, strict=True):
        assert coefficients == pytest.approx(theirs(design, target, own), abs=1e-6)


def test_how_large_weights_are_in_all_does_not_matter(people):
    design, events = people
    weights = np.random.default_rng(1).standard_exponential((2, len(events)))
    assert regress(design, events, weights * [[1e-4], [1e4]]) == pytest.approx(
        regress(design, events, weights), abs=1e-10
    )


def test_a_start_changes_the_way_and_not_the_end(people):
    design, events = people
    weights = np.random.default_rng(1).standard_exponential((5, len(events)))
    start = regress(design, events)[0]
    assert regress(design, events, weights, start=start) == pytest.approx(regress(design, events, weights), abs=1e-10)


def test_separated_people_have_finite_coefficients():
    """What keeps them finite is a penalty of a hundred-millionth per person, at whose maximum they are."""
    design = np.linspace(-2, 2, 50)[:, None]
    event = (design[:, 0] > 0).astype(float)
    found = regress(design, event)
    residual = event - predict_logistic(design, found)[0]
    slope = np.append(residual.mean(), (residual * design[:, 0]).mean())
    assert slope == pytest.approx(1e-8 * found[0], abs=1e-15)
    assert found[0, 1] > 50


@pytest.mark.parametrize("event", [0.0, 1.0])
def test_nothing_but_events(event):
    """With a penalised intercept the chance is nearly the event; a free one needs half an event of each kind."""
    design = np.random.default_rng(0).normal(size=(40, 2))
    chance = predict_logistic(design, regress(design, np.full(40, event)))
    assert np.abs(chance - event).max() < 1e-5
    free = fit_logistic(design, np.full((1, 40), event), np.ones((1, 40)))
    assert predict_logistic(design, free).mean() == pytest.approx((40 * event + 0.5) / 41, abs=1e-9)


def test_the_influence_of_a_person_is_the_slope_in_their_weight(people):
    design, events = people
    at = regress(design, events)
    chance = predict_logistic(design, at)[0]
    influence = coefficient_influence(design, events - chance, chance * (1 - chance))
    for person in (0, 7, 250):
        step = np.zeros(len(events))
        step[person] = 1e-4
        slope = np.subtract(*regress(design, events, np.stack([1 + step, 1 - step]))) / 2e-4 * len(events)
        assert slope == pytest.approx(influence[person], rel=1e-4, abs=1e-5)


def test_a_penalty_of_the_variance_is_standardising():
    rng = np.random.default_rng(2)
    design = rng.normal(size=(200, 2)) * [1, 20] + [0, 3]
    events = (rng.random(200) < expit(design[:, 0])).astype(float)[None]
    scaled = (design - design.mean(axis=0)) / design.std(axis=0)
    plain = fit_logistic(design, events, np.ones((1, 200)), design.var(axis=0)[None])
    other = fit_logistic(scaled, events, np.ones((1, 200)))
    assert predict_logistic(design, plain) == pytest.approx(predict_logistic(scaled, other), abs=1e-10)
