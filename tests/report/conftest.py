"""A report of hostile names, written once for all that look at it."""

import pytest
from reported import CONTEXT, HOSTILE, SEX, hostile_people, hostile_posterior, situation_test

import causalaudit as ca


@pytest.fixture(scope="session")
def people():
    return hostile_people()


@pytest.fixture(scope="session")
def results(people):
    ratios = ca.impact_ratios(people, "hired", [SEX, HOSTILE[0]])
    return {HOSTILE[0]: ratios, HOSTILE[13]: situation_test(people)}


@pytest.fixture(scope="session")
def written(people, results, tmp_path_factory):
    """The path of a report in which every name is hostile."""
    folder = tmp_path_factory.mktemp("report")
    posterior = hostile_posterior(people)
    worlds = {HOSTILE[3]: ca.test_diagram(posterior.scm, people, progress=False)}
    return ca.write_report(
        results, folder / "report.html", posterior=posterior, worlds=worlds, title=HOSTILE[0], context=CONTEXT
    )
