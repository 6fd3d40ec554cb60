"""What tests of fair classifiers share."""

import pytest
from fair_people import SCM_B, population

import causalaudit as ca


@pytest.fixture(scope="session")
def scm_b():
    """The whole population of SCM-B, and how its terms are enumerated."""
    people = population(SCM_B)
    posterior = ca.fit(ca.models.standard_prediction.scm_b(), people[list("ZXWYD")], draws=2, chains=1)
    return people, {"graph": None, "posterior": posterior, "population": "exact"}
