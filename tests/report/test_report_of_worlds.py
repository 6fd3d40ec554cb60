"""A report of an audit in several worlds: what was tried is shown, and what was not is not claimed."""

import pytest
from stated import Stated

import causalaudit as ca

pytestmark = pytest.mark.slow
ROWS = [
    ("ada", True, 0.95, 0.4, 0.01, 0.02),
    ("bea", False, 0.3, 0.1, 0.01, 0.02),
]


def audit(posterior):
    """Flag ada, unless the worlds of people share nothing of the salary's noise."""
    flagged = posterior.scm.couplings()["salary"] != 0
    return Stated(
        [(name, bool(sure and flagged), *numbers) for name, sure, *numbers in ROWS], [0.0, 1.0 + flagged] * 500
    )


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    people = ca.datasets.make_loan(200, seed=0)
    scm = ca.models.loan.linear()
    posterior = ca.fit(scm, people, draws=250, seed=0)
    worlds = {
        "couplings": ca.compare_worlds(
            {"shared": posterior, "apart": posterior.with_coupling({"salary": 0})}, audit, "equal"
        ),
        "sweep": ca.coupling_sensitivity(posterior, audit, ["salary"], [0.0, 0.5, 1.0], threshold=0.9),
        "prior": ca.prior_sensitivity(posterior, audit),
        "edges": ca.compare_edges(scm, people, [("gender", "balance")], draws=100, chains=2),
    }
    ratios = ca.impact_ratios(people, "approved", ["gender"], favourable=True)
    path = tmp_path_factory.mktemp("worlds") / "report.html"
    ca.write_report(
        ratios, path, posterior={"shared": posterior}, worlds=worlds, context={"model": {"identified": "All"}}
    )
    return path.with_suffix(".md").read_text(encoding="utf-8")


def test_the_first_screen_says_in_which_worlds_it_holds_and_what_overturns_it(text):
    first = text.split("## Identity")[0]
    assert "0 units are flagged in all, 1 in some, 1 in none" in first
    assert (
        "1 verdicts depend on which world is the right one. For example: ada is flagged in 1 of the 2 worlds" in first
    )
    assert "is overturned at r = 0 " in first
    assert "Not stated: no sweep" not in first
    assert "depend on the prior" in first


def test_every_assumption_that_was_tried_has_its_part(text):
    for heading in ("Worlds: couplings", "Sweep: sweep", "Edges: edges", "Model: shared", "Posterior: shared"):
        assert f"# {heading}\n" in text.replace("\\", "")
    assert "- **Other causal models**: couplings: shared, apart" in text
    assert "not which of them is causally true" in text
    assert "- **Hidden confounding**: not stated" in text
    assert "- **Sensitivity to the prior**: The answer" in text
    assert "def linear\\_program" in text or "def linear_program" in text
    assert "SHA-256 of the people that were fitted" in text
