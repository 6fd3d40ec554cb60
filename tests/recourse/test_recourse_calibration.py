"""Calibration of causal recourse against the same people under the true model; the data set is the unit."""

from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
import schooling

import causalaudit as ca
from causalaudit.recourse.causal.draw_counts import count
from causalaudit.recourse.causal.tried_changes import interventions
from causalaudit.recourse.intervals.credible import credible_interval
from causalaudit.recourse.notions.notion import less_the_other

pytestmark = pytest.mark.slow

DATA_SETS = 150
PEOPLE = 300
TOLERANCE = 0.05
EDGES = [0.0, 0.02, 0.15, 0.4, 0.6, 0.85, 0.98, 1.0 + 1e-9]


@dataclass
class Outcome:
    """What the draws say of every notion and subgroup of a data set, and what is true."""

    chances: np.ndarray
    events: np.ndarray
    first: np.ndarray
    is_first: np.ndarray
    covered: np.ndarray


def true_differences(result, noise, parameters):
    """The differences of every notion when everybody responds as they truly would: notions × subgroups."""
    modelled, trials = result.twins.asked.modelled, result.twins.trials
    good = np.zeros((len(trials.changes), trials.number), dtype=bool)
    own = {name: values[modelled.who] for name, values in noise.items()}
    for place, change in enumerate(trials.changes):
        do = {
            name: schooling.LEVELS[name].index(value) if name in schooling.LEVELS else value
            for name, (value,) in interventions(modelled, change[None]).items()
        }
        everybody = {name: np.full(trials.number, value) for name, value in do.items()}
        people = schooling.table(schooling.person(own, **parameters, do=everybody), own["region"])
        good[place] = schooling.classifier(schooling.binned(people, modelled.bins["hours"].cuts)) == 1
    flips = np.packbits(good.ravel()[trials.keys][:, None], axis=1)
    counts = [
        count(result.candidates, replace(trials, flips=flips), place, 1) for place in range(len(result.candidates))
    ]
    flipped, reached = (np.concatenate(part, axis=-1)[0] for part in zip(*counts, strict=True))
    true = replace(result.candidates, flipped=flipped, reached=reached)
    return np.stack([less_the_other(notion.values(true)) for notion in result.notions])


def ask(number):
    rng = np.random.default_rng([7, number])
    parameters = {"hiring": rng.normal(1.0, 1.0), "base": rng.normal(-1.0, 1.0), "pay": rng.normal(8.0, 4.0)}
    noise = schooling.draw_noise(rng, PEOPLE)
    people = schooling.table(schooling.person(noise, **parameters), noise["region"])
    posterior = ca.fit(schooling.scm(schooling.fitted), people, draws=50, chains=4, seed=number, progress=False)
    arguments = {**schooling.BINNED, "budgets": [1.0, 2.0], "phi": [0.5]}
    result = ca.audit_recourse(schooling.binned(people), schooling.classifier, posterior=posterior, **arguments)
    true = true_differences(result, noise, parameters)
    sign = np.array([1.0 if notion.is_cost else -1.0 for notion in result.notions])[:, None]
    chances = result.probabilities(TOLERANCE)
    scores = np.abs(true).round(12)
    drawn = result.to_inference_data()["posterior"]["difference"].to_numpy()[0]
    low, high = credible_interval(drawn, 0.9)
    return Outcome(
        chances=chances[["prob_against0", "prob_against1"]].to_numpy().T.reshape(2, *true.shape),
        events=np.stack([sign * true > TOLERANCE, -sign * true > TOLERANCE]),
        first=chances["prob_first"].to_numpy().reshape(true.shape),
        is_first=(scores == scores.max(axis=1, keepdims=True)) & (scores > 0),
        covered=((low - 1e-9 <= true) & (true <= high + 1e-9)).mean(axis=1),
    )


@pytest.fixture(scope="module")
def outcomes():
    return [ask(number) for number in range(DATA_SETS)]


def check_reliability(what, pairs):
    """In each bin as many events as expected, within three standard errors by data set."""
    for low, high in pairwise(EDGES):
        excess, cells = [], 0
        for chance, event in pairs:
            inside = (chance >= low) & (chance < high)
            excess.append((event - chance)[inside].sum())
            cells += int(inside.sum())
        score = np.sum(excess) / np.sqrt(max(np.sum(np.square(excess)), 1e-12))
        mean = np.sum(excess) / max(cells, 1)
        print(f"{what}, P in [{low:.2f}, {high:.2f}): {cells} cells, excess {mean:+.4f}, z {score:+.2f}")
        assert abs(score) < 3, (what, low, high, score)


def test_probabilities_of_a_difference_beyond_the_tolerance_are_reliable(outcomes):
    check_reliability("difference", [(outcome.chances.ravel(), outcome.events.ravel()) for outcome in outcomes])


def test_probabilities_of_the_first_place_are_reliable(outcomes):
    check_reliability("first place", [(outcome.first.ravel(), outcome.is_first.ravel()) for outcome in outcomes])


def test_credible_intervals_hold_the_difference_among_the_same_people(outcomes):
    shares = pd.DataFrame([outcome.covered for outcome in outcomes])
    for place, column in shares.items():
        error = column.std(ddof=1) / np.sqrt(len(column))
        print(f"notion {place}: {column.mean():.3f} covered (se {error:.3f})")
        assert column.mean() >= 0.9 - 3 * error
