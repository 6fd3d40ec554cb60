"""Every auditor's answer can be compared over worlds."""

import numpy as np
import pytest
from auditors import Decompose, Estimate, Recourse, Scan, SituationTesting, fit_posterior, make_people

import causalaudit as ca
from causalaudit.results import VERDICT_COLUMNS
from causalaudit.worlds.units import UnitsByWorld


@pytest.fixture(scope="module")
def results():
    people = make_people()
    posterior = fit_posterior(people)
    asked = {kind.__name__: kind(people, posterior) for kind in (SituationTesting, Decompose, Estimate, Recourse, Scan)}
    worlds = ca.counterfactuals(posterior, {"sex": "m"}, rows=people.sex == "f", draws=20, progress=False)
    drawn = asked["SituationTesting"](counterfactuals=worlds)
    return {
        **{name: ask() for name, ask in asked.items()},
        "drawn": drawn,
        "multiple": ca.multiple_discrimination([drawn, asked["SituationTesting"](protected={"race": "Black"})]),
        "causal recourse": asked["Recourse"](draws=10),
        "drawn scan": asked["Scan"](draws=30),
    }


AUDITORS = ["SituationTesting", "Decompose", "Estimate", "Recourse", "Scan"]
NAMES = [*AUDITORS, "drawn", "multiple", "causal recourse", "drawn scan"]


@pytest.mark.parametrize("name", NAMES)
def test_the_same_answer_twice_agrees_with_itself(name, results):
    result = results[name]
    own, verdicts = result.by_unit(), result.verdicts
    assert list(own.columns) == [*VERDICT_COLUMNS, "case", "mean"]
    table = UnitsByWorld.of([result, result]).table(["one", "two"], np.array([0.5, 0.5]))
    assert set(table["agreement"]) <= {"all", "none"}
    assert len(table) == len(own)
    assert (table["worlds_examined"] == 2).all()
    if "scan" not in name.lower():  # whose units are judged by intervals, where worlds are compared
        assert ((table["verdict_one"] == "flagged") == verdicts["flagged"]).all()
        assert np.array_equal(own["value"], verdicts["value"], equal_nan=True)
    shares, uncertain = table[["between", "structural", "sampling"]], table["variance"] > 0
    assert np.allclose(shares[uncertain].sum(axis=1), 1, atol=1e-12)
    assert np.allclose(table.loc[uncertain, "between"], 0, atol=1e-12)
    assert result.VALUE != "value"


def test_a_mean_is_that_of_the_draws(results):
    drawn = results["drawn"]
    assert np.array_equal(drawn.by_unit()["mean"], drawn.at()["delta_mean"])
    recourse = results["causal recourse"]
    unit = recourse.by_unit().set_index("unit")
    known = unit["structural"].notna()
    assert unit.loc[known, "mean"].notna().all()
    assert np.allclose(unit.loc[known & (unit["structural"] == 0), "probability"] % 1, 0)
