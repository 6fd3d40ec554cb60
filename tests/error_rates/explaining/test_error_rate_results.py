"""What answers about error rates say of themselves: intervals, verdicts, headline, settings, and their files."""

import json

import numpy as np
import pandas as pd
import pytest
from finite_programs import GENERIC, classifier, draw_tables, free_tables, posterior_of, posterior_tables

import causalaudit as ca
from causalaudit.error_rates.explaining.terms import TERMS, term_values
from causalaudit.results import VERDICT_COLUMNS
from causalaudit.storage import same

FEATURES = ["X", "W", "Z", "D"]
UNITS = [f"{term}: {one} above {other}" for term in TERMS for one, other in ((1, 0), (0, 1))]


@pytest.fixture(scope="module")
def posterior():
    rng = np.random.default_rng(0)
    people = draw_tables(rng, 800)
    return posterior_of(free_tables(), people, posterior_tables(rng, people, 80))


def decompose(posterior, population="exact", **options):
    return ca.decompose_error_rates(
        posterior, classifier(GENERIC), "X", outcome="Y", features=FEATURES, population=population, progress=False,
        **options,
    )  # fmt: skip


def estimate(posterior, interval="wald", features=("X", "Z"), **options):
    rule = classifier((0.1, 0.5, 0.4, 0.9), ("X", "Z"))
    return ca.estimate_error_rates(
        posterior.data, posterior.scm.graph, rule, protected="X", outcome="Y", features=list(features),
        interval=interval, **options,
    )  # fmt: skip


ANSWERS = {
    "exact": lambda posterior: decompose(posterior),
    "simulate": lambda posterior: decompose(posterior, "simulate", prob=0.8),
    "bootstrap": lambda posterior: decompose(posterior, "bootstrap", draws=20),
    "wald": lambda posterior: estimate(posterior),
    "resampled": lambda posterior: estimate(posterior, "bootstrap", resamples=50, alpha=0.1),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_both_directions_of_a_term_are_judged_each_by_its_interval(posterior, name):
    result = ANSWERS[name](posterior)
    verdicts, summary = result.verdicts, result.summary()
    assert tuple(verdicts.columns) == VERDICT_COLUMNS
    assert list(verdicts["unit"]) == UNITS
    kind = result.intervals.iloc[0]["kind"]
    by_unit = verdicts.set_index("unit")
    for term in TERMS:
        above, below = by_unit.loc[f"{term}: 1 above 0"], by_unit.loc[f"{term}: 0 above 1"]
        assert above["value"] == -below["value"] == pytest.approx(summary.loc[term, "mean"])
        assert above["flagged"] == (summary.loc[term, f"{kind}_low"] > 1e-12)
        assert below["flagged"] == (summary.loc[term, f"{kind}_high"] < -1e-12)
    assert verdicts["flagged"].any()
    assert verdicts["rule"].str.contains(f"interval \\({kind}\\)").all()


def test_what_lowers_the_rate_of_the_contrast_is_flagged_too(posterior):
    result = ca.decompose_error_rates(
        posterior, classifier((0.9, 0.1), ("X",)), "X", outcome="Y", features=["X"], population="exact"
    )
    flagged = result.verdicts.loc[result.verdicts["flagged"], "unit"]
    assert list(flagged) == ["total: 0 above 1", "direct: 0 above 1"]
    assert list(result.verdicts.loc[result.verdicts["flagged"], "probability"]) == [1, 1]


def test_variances_are_told_apart_where_they_can_be(posterior):
    simulated, exact, weighted, data = (ANSWERS[name](posterior) for name in ("simulate", "exact", "bootstrap", "wald"))
    error = simulated.monte_carlo["error"].to_numpy()[:4]
    assert np.allclose(simulated.verdicts["sampling"], np.repeat(error**2, 2))
    assert (exact.verdicts["sampling"] == 0).all()
    number = len(exact.draws)  # the variances of a population add up over worlds, those of a sample do not
    over_draws = exact.table["sd"].to_numpy()[:4] ** 2 * (number - 1) / number
    assert np.allclose(exact.verdicts["structural"], np.repeat(over_draws, 2))
    assert weighted.verdicts["sampling"].isna().all()
    assert (weighted.verdicts["structural"] > 0).any()
    assert data.verdicts["structural"].isna().all()
    assert np.allclose(data.verdicts["sampling"], np.repeat(data.table["sd"].to_numpy()[:4] ** 2, 2))


def test_a_term_that_is_not_identified_is_never_flagged(posterior):
    with pytest.warns(ca.errors.CausalAuditWarning, match="stays open"):
        found = ca.estimate_error_rates(
            posterior.data, posterior.scm.graph, classifier(GENERIC), protected="X", outcome="Y", features=FEATURES
        )
    unknown = found.verdicts["value"].isna()
    assert list(found.verdicts.loc[unknown, "unit"]) == UNITS[4:]
    assert not found.verdicts.loc[unknown, "flagged"].any()


@pytest.mark.parametrize(
    ("name", "kind", "level", "type_"),
    [
        ("exact", "credible", 0.9, "credible"),
        ("simulate", "credible", 0.8, "credible"),
        ("bootstrap", "credible", 0.9, "credible"),
        ("wald", "wald", 0.95, "confidence"),
        ("resampled", "bootstrap", 0.9, "confidence"),
    ],
)
def test_intervals_say_what_they_are(posterior, name, kind, level, type_):
    result = ANSWERS[name](posterior)
    (row,) = result.intervals.to_dict("records")
    assert (row["kind"], row["level"], row["type"], row["scope"]) == (kind, pytest.approx(level), type_, "one unit")
    assert ("sample of" in row["about"]) == (name not in ("exact", "simulate"))
    assert "classifier" in row["known"]
    assert {f"{kind}_low", f"{kind}_high"} <= set(result.table.columns)


def test_the_headline_is_the_total_by_draw(posterior):
    exact, data, drawn = (ANSWERS[name](posterior) for name in ("exact", "wald", "resampled"))
    assert np.array_equal(exact.headline, term_values(exact.draws)[:, 0])
    assert exact.headline.name == "total"
    assert data.headline.tolist() == [data.table["mean"][0]]
    assert len(drawn.headline) == 50


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_comes_back_from_its_file(posterior, name, tmp_path):
    result = ANSWERS[name](posterior)
    result.save(tmp_path / "answer.nc")
    loaded = ca.load(tmp_path / "answer.nc")
    assert type(loaded) is type(result)
    assert same(result, loaded)
    for part in ("table", "verdicts", "intervals", "measures", "rates"):
        pd.testing.assert_frame_equal(getattr(loaded, part), getattr(result, part))
    pd.testing.assert_series_equal(loaded.headline, result.headline)
    assert repr(loaded) == repr(result)
    assert loaded.to_inference_data().groups() == result.to_inference_data().groups()
    pd.testing.assert_frame_equal(loaded.beside(result), result.beside(loaded))
    assert loaded.plot().get_ylabel() == result.plot().get_ylabel()
    assert json.loads(json.dumps(result.settings)) == result.settings


def test_answers_compare_by_identity(posterior):
    one, other = decompose(posterior), decompose(posterior)
    assert one == one
    assert one != other
    assert len({one, other}) == 2
