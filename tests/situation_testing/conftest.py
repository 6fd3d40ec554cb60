"""What the tests of situation testing share: applicants, their counterfactuals, and a test of them."""

import pytest
from situations import bank

import causalaudit as ca


@pytest.fixture(scope="session")
def applicants():
    return ca.datasets.make_loan(400, seed=4)


@pytest.fixture(scope="session")
def worlds(applicants):
    posterior = ca.fit(ca.models.loan.linear(), applicants, seed=0)
    return ca.counterfactuals(posterior, {"gender": "male"}, rows=applicants.gender == "female", draws=300, seed=0)


@pytest.fixture(scope="session")
def result(applicants, worlds):
    return ca.situation_testing(
        applicants,
        bank,
        {"gender": "female"},
        features=["salary", "balance"],
        counterfactuals=worlds,
        k=[10, 5],
        seed=0,
        progress=False,
    )
