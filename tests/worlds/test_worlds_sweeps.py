"""Sweeps over an assumption: the reference is today's answer, and tipping points are where answers change."""

import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import pytest
import torch
from confounded_pairs import pair, people_of

import causalaudit as ca
from causalaudit.errors import DataError, InterventionError, ProgramError
from causalaudit.storage import same
from causalaudit.worlds.sweep_result import tip

pytestmark = pytest.mark.filterwarnings("ignore:.*rest on a poor match")
LEVELS = {"sex": ["m", "f"]}


def program(n):
    base, gap = pyro.sample("base", dist.Normal(10.0, 5.0)), pyro.sample("gap", dist.Normal(0.0, 5.0))
    spread, shift = pyro.sample("spread", dist.HalfNormal(5.0)), pyro.sample("shift", dist.Normal(0.0, 2.0))
    with pyro.plate("individuals", n):
        sex = pyro.sample("sex", dist.Bernoulli(0.5))
        score = pyro.sample("score", dist.Normal(base + gap * sex, spread))
        pyro.sample("good", dist.Bernoulli(torch.sigmoid(shift + 0.3 * (score - 10))))


@pytest.fixture(scope="module")
def posterior():
    rng = np.random.default_rng(0)
    sex = rng.integers(2, size=200)
    score = 10 - 2 * sex + 2 * rng.normal(size=200)
    good = (rng.random(200) < 1 / (1 + np.exp(-0.3 * (score - 10)))).astype(int)
    people = pd.DataFrame({"sex": np.array(LEVELS["sex"])[sex], "score": score, "good": good})
    return ca.fit(ca.SCM(program, levels=LEVELS), people, draws=50, chains=2, seed=0, progress=False)


def women(posterior):
    return posterior.data.sex == "f"


def cases(posterior):
    people = posterior.data
    worlds = ca.counterfactuals(posterior, {"sex": "m"}, rows=women(posterior), progress=False)
    return ca.situation_testing(
        people, lambda p: (p.score > 9).astype(int), {"sex": "f"}, features=["score"], counterfactuals=worlds, k=5,
        progress=False,
    )  # fmt: skip


def higher_score(posterior):
    """The counterfactual score of women, relative to a mean of 9, which nobody's coupling changes much."""
    worlds = ca.counterfactuals(posterior, {"sex": "m"}, rows=women(posterior), progress=False)
    own = posterior.data.score[women(posterior)].to_numpy()
    return float(np.corrcoef(worlds.dataset["score"].mean("draw"), own)[0, 1])


def test_the_reference_is_todays_answer(posterior):
    swept = ca.coupling_sensitivity(posterior, cases, "score", [0.0, -1.0], threshold=20, progress=False)
    assert swept.table["r"].tolist() == [-1.0, 0.0, 1.0]
    today = cases(posterior)
    last = swept.table.iloc[-1]
    assert last["value"] == np.median(today.headline)
    assert len(set(swept.table["loglik"])) == 1
    own = swept.units[swept.units["r"] == 1.0]
    assert own["value"].tolist() == today.verdicts["value"].tolist()
    assert own["case"].tolist() == today.at()["beyond_tau"].tolist()
    assert list(swept.table.columns) == ["r", "value", "credible_low", "credible_high", "loglik"]


def test_an_answer_tips_where_the_coupling_turns(posterior):
    """The correlation of the noises in two worlds is that of the scores, so that it tips at the sign of r."""
    swept = ca.coupling_sensitivity(posterior, higher_score, ["score"], np.linspace(-1, 1, 5), progress=False)
    assert np.allclose(swept.table["value"][[0, 4]], [-1, 1], atol=0.02)
    assert swept.table["credible_low"].isna().all()
    assert swept.tipping_points.loc[0, "below"] in (0.0, -0.5)
    assert swept.tipping_points.loc[0, "above"] is None
    assert "the answer at r = 1 is overturned at r = " in swept.statement()


def test_units_tip_when_they_change_sides(posterior):
    swept = ca.coupling_sensitivity(posterior, cases, "score", [-1.0, 0.0, 0.5], threshold=0.5, progress=False)
    by_unit = dict(list(swept.units.groupby("words")))
    for row in swept.tipping_points.iloc[1:].itertuples():
        sides = by_unit[row.words].set_index("r")["case"]
        changed = [r for r in sides.index if sides[r] != sides[1.0]]
        assert row.below == (max(changed) if changed else None)
        assert row.was == (1 if sides[1.0] else -1)
    unit = swept.tipping_points.iloc[1]
    assert swept.statement(unit["unit"]) == swept.statement(unit["words"]) == swept.statement(unit["unit"][0])


@pytest.mark.parametrize(
    ("side", "expected"),
    [
        ([1, 1, 1, 1, 1], (None, None)),
        ([-1, 1, 1, 1, -1], (-0.4, 0.4)),
        ([-1, -1, 1, 0, -1], (-0.2, 0.2)),
        ([1, 1, 0, 1, 1], (0.0, 0.0)),
        ([1, -1, -1, -1, 1], (-0.4, 0.4)),
    ],
)
def test_tipping_points(side, expected):
    assert tip(np.array([-0.4, -0.2, 0.0, 0.2, 0.4]), np.array(side), 0.0) == expected


def test_bad_sweeps(posterior):
    ask = ca.coupling_sensitivity
    with pytest.raises(DataError, match=r"r holds 1\.5, but must be numbers between -1 and 1"):
        ask(posterior, cases, "score", [1.5])
    with pytest.raises(DataError, match="r is empty"):
        ask(posterior, cases, "score", [])
    with pytest.raises(DataError, match="sites is empty"):
        ask(posterior, cases, [], [0.0])
    with pytest.raises(ProgramError, match="'scor', which has no noise"):
        ask(posterior, cases, "scor", [0.0])
    with pytest.raises(DataError, match=r"is a count, of which no threshold goes without saying"):
        ask(posterior, cases, "score", [0.0], progress=False)
    with pytest.raises(DataError, match="result of an auditor or a number, but returned str at r = 0"):
        ask(posterior, lambda _: "many", "score", [0.0], progress=False)
    with pytest.raises(InterventionError, match="At r = 0: There is no variable 'se' to intervene on"):
        ask(posterior, lambda one: ca.counterfactuals(one, {"se": "m"}), "score", [0.0], progress=False)


def test_sweeps_are_saved_and_drawn(posterior, tmp_path):
    swept = ca.coupling_sensitivity(posterior, cases, "score", [0.0], threshold=30, progress=False)
    swept.save(tmp_path / "sweep.nc")
    loaded = ca.load(tmp_path / "sweep.nc")
    assert same([loaded.table, loaded.units, loaded.settings], [swept.table, swept.units, swept.settings])
    assert repr(loaded) == repr(swept)
    assert loaded.plot().get_xlabel() == "r: the coupling of score"


def slope(posterior):
    return float(posterior.parameters()["gap"].mean())


@pytest.mark.slow
def test_confounding_takes_the_place_of_an_effect(posterior):
    """At rho = 0 the answer is that of the posterior, to the bit; the more is confounding, the less is effect."""
    swept = ca.confounding_sensitivity(
        posterior, ("sex", "score"), [-0.3, 0.3, 0.6], slope, threshold=-2.5, progress=False
    )
    assert swept.table["rho"].tolist() == [-0.3, 0.0, 0.3, 0.6]
    assert swept.table["value"][1] == slope(posterior)
    assert (np.diff(swept.table["value"]) < 0).all()
    alone = ca.fit(posterior.scm.confounded("sex", "score", 0.3), posterior.data, draws=50, chains=2, progress=False)
    assert swept.table["value"][2] == pytest.approx(slope(alone), abs=0.1)
    assert swept.tipping_points.loc[0, "below"] is None
    assert swept.tipping_points.loc[0, "above"] == 0.3
    assert swept.settings["between"] == ["sex", "score"]


@pytest.mark.slow
def test_where_the_edge_is_saturated_the_data_say_nothing_about_confounding():
    """Two binary variables: the effect takes over what confounding takes away, and the difference of rates stays."""
    data, slopes = people_of("BernoulliBernoulli", 0.5, 300, seed=0), []
    posterior = ca.fit(pair("BernoulliBernoulli"), data, draws=100, progress=False)

    def rates(posterior):
        slopes.append(posterior.parameters()["slope"].mean())
        drawn = posterior.predictive(seed=0)  # 400 draws of 300 people
        a, b = drawn["a"].to_numpy(), drawn["b"].to_numpy()
        return float(b[a == 1].mean() - b[a == 0].mean())

    swept = ca.confounding_sensitivity(posterior, ("a", "b"), [0.4], rates, progress=False)
    assert swept.table["value"][0] == pytest.approx(swept.table["value"][1], abs=0.02)
    assert swept.table["loglik"][0] == pytest.approx(swept.table["loglik"][1], abs=0.4)
    assert max(slopes) - min(slopes) > 0.5


def test_bad_confounding(posterior):
    ask = ca.confounding_sensitivity
    with pytest.raises(DataError, match=r"rho holds 1, but must be numbers between -1 and 1, without the ends"):
        ask(posterior, ("sex", "score"), [1], slope)
    with pytest.raises(DataError, match="between is 'sex', but must be the names of two variables"):
        ask(posterior, "sex", [0.1], slope)
    with pytest.raises(ProgramError, match="scor"):
        ask(posterior, ("sex", "scor"), [0.1], slope)


@pytest.mark.slow
def test_cases_of_the_law_school_under_confounding_of_race(data_folder):
    people = ca.datasets.load_law_school(data_folder)
    people["LSAT"] = people["LSAT"].round()
    posterior = ca.fit(ca.models.law_school.level_3(), people, draws=75, seed=0, progress=False)

    def audit(posterior):
        nonwhite = people.Race == "NonWhite"
        worlds = ca.counterfactuals(posterior, {"Race": "White"}, rows=nonwhite, progress=False)
        admitted = lambda p: (0.6 * p.UGPA + 0.4 * p.LSAT >= 20.8).astype(int)  # noqa: E731
        return ca.situation_testing(
            people, admitted, {"Race": "NonWhite"}, features=["LSAT", "UGPA"], counterfactuals=worlds, progress=False
        )

    rho = [-0.6, -0.2, 0.0, 0.2, 0.6]
    swept = ca.confounding_sensitivity(posterior, ("Race", "LSAT"), rho, audit, threshold=200, progress=False)
    cases = swept.units.groupby("rho")["case"].sum()
    assert np.allclose(cases.loc[rho], [7, 153, 297, 527, 1116], rtol=0.05)
    assert swept.tipping_points.loc[0, "below"] == -0.2
