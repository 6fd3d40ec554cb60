"""Coverage of the simultaneous intervals of causal recourse, for the population sampled; the data set is the unit."""

import courses
import numpy as np
import pytest
from interval_truth import all_held

import causalaudit as ca

pytestmark = pytest.mark.slow

DATA_SETS = 100
LEAST = 0.92  # of intervals of 95 %


@pytest.mark.parametrize("world", [courses.FAIR, courses.UNFAIR], ids=["fair", "unfair"])
def test_an_action_that_three_in_a_hundred_took(world):
    """Nobody knows well what it would do for others; of a fair world .22 to .88 were held, and up to .78 flagged."""
    held, flagged = [], []
    for number in range(DATA_SETS):
        people = world.sample(np.random.default_rng([9, number]), 2000)
        posterior = ca.fit(courses.scm(), people, draws=100, chains=4, seed=number, progress=False)
        result = ca.audit_recourse(people, courses.bank, posterior=posterior, **courses.ARGUMENTS)
        held.append(all_held(result, world.population(result)))
        flagged.append(result.verdicts["flagged"].any())
    shares = np.mean(held, axis=0)
    for notion, share in zip(result.notions, shares, strict=True):
        print(f"{notion.label}: {share:.2f}")
    print(f"flagged: {np.mean(flagged):.2f}")
    assert (shares >= LEAST).all()
    # Not by being useless: where the worlds differ, this is mostly seen.
    assert np.mean(flagged) <= 1 - LEAST if world is courses.FAIR else np.mean(flagged) >= 0.5
