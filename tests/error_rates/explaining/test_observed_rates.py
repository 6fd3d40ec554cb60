"""A decomposition is compared with the error rates that the people of the data have."""

import warnings

import numpy as np
import pytest
from misfits import RULES, WRONG, explain, people_of, posterior_of_people, true_terms
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import causalaudit as ca
from causalaudit.errors import CausalAuditWarning


def rates_of(people, rule):
    answers = np.asarray(RULES[rule](people), dtype=float)
    return [answers[(x == people.X) & (people.Y == 0)].mean() for x in (0, 1)]


def test_a_program_that_is_right_is_not_refuted():
    people = people_of("linear", 1000, 0)
    result = explain(posterior_of_people(people), "linear", population="simulate")
    low, high = rates_of(people, "linear")
    assert result.observed["rate"].tolist() == ["X = 0", "X = 1", "total"]
    assert result.observed["observed"].to_numpy() == pytest.approx([low, high, high - low])
    assert result.observed["people"].tolist() == [*(((x == people.X) & (people.Y == 0)).sum() for x in (0, 1)), (people.Y == 0).sum()]  # fmt: skip # noqa: E501
    assert result.observed["program"].iloc[2] == pytest.approx(result.summary().loc["total", "mean"])
    assert np.allclose(result.observed["difference"], result.observed["program"] - result.observed["observed"])
    assert not result.observed["refuted"].any()
    assert np.allclose(result.table["observed_total"], high - low)


def test_a_total_that_is_not_there_warns_of_the_group_and_says_by_how_much():
    people = people_of("uneven W", 1000, 0)
    posterior = posterior_of_people(people)
    with pytest.warns(CausalAuditWarning, match="does not give the error rates") as caught:
        result = explain(posterior, "band", population="simulate")
    words = str(caught[0].message)
    worst = result.observed.set_index("rate").loc["X = 1"]
    assert worst["refuted"]
    assert f"X = 1: {worst['program']:.3f} by the program, {worst['observed']:.3f} observed" in words
    assert f"({worst['difference']:+.3f}, {worst['people']} people)" in words
    assert result.table["observed_total"].iloc[0] == pytest.approx(np.diff(rates_of(people, "band"))[0])
    assert caught[0].filename.endswith("misfits.py")  # where it was asked


def test_people_whom_the_data_lack_cannot_be_compared():
    scm = ca.models.standard_prediction.scm_b()
    people = (
        scm.prior_predictive(100, draws=1, seed=0).isel(draw=0).to_dataframe()[["Z", "X", "W", "Y", "D"]].astype(int)
    )
    some = people[(people.X == 0) | (people.Y == 1)]
    posterior = ca.fit(scm, some, draws=2, chains=1)
    with pytest.warns(CausalAuditWarning, match="Nobody in the data has X = 1 and Y = 0"):
        result = ca.decompose_error_rates(posterior, lambda them: them.W == 1, "X", outcome="Y", population="exact")
    assert result.table["observed_total"].isna().all()
    assert not result.observed["refuted"].any()


@pytest.mark.slow
def test_wrong_programs_are_refuted():
    """Seven processes, three rules, 3,000 people, 10 data sets of each."""
    warned = []
    for process in WRONG:
        for seed in range(10):
            posterior = posterior_of_people(people_of(process, 3000, seed, WRONG.index(process)), seed)
            for rule in RULES:
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    found = explain(posterior, rule, population="simulate").summary().loc["total", "mean"]
                if abs(found - true_terms(process, rule)[0]) > 0.05:
                    warned.append(any("does not give" in str(one.message) for one in caught))
    print(f"{np.mean(warned):.3f} of {len(warned)} wrong totals warned of")
    assert len(warned) > 100
    assert np.mean(warned) >= 0.9


@pytest.mark.slow
@pytest.mark.parametrize("n", [300, 1000])
def test_right_programs_are_hardly_ever_refuted(n):
    refuted = []
    for seed in range(100):
        posterior = posterior_of_people(people_of("linear", n, seed, 7), seed)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", CausalAuditWarning)
            found = [explain(posterior, rule, population="simulate").observed["refuted"].any() for rule in RULES]
        refuted.append(found)
    print(f"n = {n}: {np.mean(refuted):.3f} of {3 * len(refuted)} right totals refuted")
    assert np.mean(refuted) <= 0.05


@pytest.mark.slow
def test_compas_by_race_age_and_sex(data_folder):
    """The program says .454, the data .401."""
    people = ca.models.compas.prepare(ca.datasets.load_compas(data_folder))
    features = ["race", "age", "sex"]
    encode = make_column_transformer((OneHotEncoder(drop="if_binary"), ["race", "sex"]), (StandardScaler(), ["age"]))
    rule = make_pipeline(encode, LogisticRegression(C=np.inf)).fit(people[features], people["two_year_recid"])
    posterior = ca.fit(ca.models.compas.figure_1(), people, draws=100, chains=1, seed=0, progress=False)
    question = {"protected": {"race": ("African-American", "Caucasian")}, "outcome": "two_year_recid"}
    with pytest.warns(CausalAuditWarning, match=r"total: 0\.4[45]\d by the program, 0\.401 observed"):
        result = ca.decompose_error_rates(
            posterior, rule, features=features, population="simulate", draws=50, progress=False, **question
        )
    assert result.table["observed_total"].iloc[0] == pytest.approx(0.401, abs=5e-4)
