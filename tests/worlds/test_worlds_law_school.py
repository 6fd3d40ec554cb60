"""Four worlds of the law school: scores, weights, cases by race, and which of them all worlds share."""

import numpy as np
import pytest

import causalaudit as ca
from causalaudit.models import law_school

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:.*rest on a poor match")]


def admitted(people):
    return (0.6 * people.UGPA + 0.4 * people.LSAT >= 20.8).astype(int)


@pytest.fixture(scope="module")
def result(data_folder):
    people = ca.datasets.load_law_school(data_folder)
    people["LSAT"] = people["LSAT"].round()
    scms = {
        "level 2": law_school.level_2(),
        "level 3": law_school.level_3(),
        "interaction": law_school.level_3_interaction(),
        "no Gender → UGPA": law_school.level_3().without(("Gender", "UGPA")),
    }
    posteriors = {name: ca.fit(scm, people, draws=75, seed=0, progress=False) for name, scm in scms.items()}

    def audit(posterior):
        nonwhite = people.Race == "NonWhite"
        worlds = ca.counterfactuals(posterior, {"Race": "White"}, rows=nonwhite, progress=False)
        return ca.situation_testing(
            people, admitted, {"Race": "NonWhite"}, features=["LSAT", "UGPA"], counterfactuals=worlds, progress=False
        )

    return ca.compare_worlds(posteriors, audit, progress=False)


def test_scores_and_weights(result):
    assert np.allclose(result.loo["elpd"], [-78120.4, -77769.0, -77756.8, -78022.9], atol=1)
    assert np.allclose(result.loo["stacking"], [0.23, 0, 0.77, 0], atol=0.1)
    assert result.settings["rounded"] == ["LSAT"]


def test_cases_and_what_worlds_share(result):
    assert [int(result.table[f"case_{world}"].sum()) for world in result.worlds] == [297, 297, 264, 297]
    assert result.agreement["case"].tolist() == [264, 33, 3209]
    assert (result.agreement["flagged"] <= [264, 297, 3506]).all()
    parts = result.table.loc[result.table["variance"] > 0, ["between", "structural", "sampling"]]
    assert np.allclose(parts.sum(axis=1), 1, atol=1e-12)
