"""The reference rows of the paper's Table 5."""

import dataclasses
import json
import warnings

import numpy as np
import pandas as pd
import pytest

import causalaudit as ca
from causalaudit.bias_scan.evidence.expectations import LogisticModels
from causalaudit.bias_scan.evidence.scores import evidence_of
from causalaudit.bias_scan.evidence.search import SubgroupSearch
from causalaudit.bias_scan.question.scan_question import read_question
from causalaudit.errors import CausalAuditWarning

FEATURES = ["sex", "race", "degree", "age25", "priors"]
SCANS = {
    "sep_pred": {"criterion": "separation", "prediction": "P", "given": 0, "direction": "positive"},
    "sep_rec": {"criterion": "separation", "recommendation": "Pbin", "given": 0, "direction": "positive"},
    "suff_pred": {"criterion": "sufficiency", "prediction": "P", "direction": "negative"},
    "suff_rec": {"criterion": "sufficiency", "recommendation": "Pbin", "given": 1, "direction": "negative"},
}
NAMES = {
    "sep_pred": "balance for negative class",
    "sep_rec": "false positive rate",
    "suff_pred": "calibration",
    "suff_rec": "positive predictive value",
}


@pytest.fixture(scope="module")
def compas(reference_folder):
    return pd.read_csv(reference_folder / "bias_scan_compas.csv.gz", index_col="id")


@pytest.fixture(scope="module")
def rows(reference_folder):
    return json.loads((reference_folder / "bias_scan.json").read_text())["rows"]


def others(row):
    return [name for name in FEATURES if name != row["attribute"]]


def scan(compas, row, **options):
    with warnings.catch_warnings():
        # A protected class of eleven people leaves the outcome model poorly calibrated, and it says so.
        warnings.simplefilter("ignore", CausalAuditWarning)
        return ca.scan_bias(
            compas,
            {row["attribute"]: row["protected"]},
            "y",
            features=others(row),
            scale="paper",
            **SCANS[row["scan"]],
            **options,
        )  # fmt: skip


def test_the_reference_rows(compas, rows):
    assert len(rows) == 32
    for row in rows:
        result, expected = scan(compas, row), row["reproduced"]
        assert result.certified
        assert result.subgroup == expected["subgroup"], row["id"]
        assert result.score == pytest.approx(expected["F"], abs=0.001)
        assert result.score == pytest.approx(expected["F_exhaustive"], abs=0.001)
        assert result.llr == pytest.approx(expected["llr"], abs=0.001)
        if result.subgroup is None:
            assert (result.n, result.observed, result.parameter) == (None, None, None)
            continue
        assert (result.n, result.n_comparison) == (expected["n_s"], expected["n_c"])
        assert round(result.observed, 4) == expected["metric_s"]
        assert round(result.comparison, 4) == expected["metric_c"]
        if expected["theta"] > 1e6:  # nothing but events: the factor grows without bound
            assert result.parameter == np.inf
        else:
            assert result.parameter == pytest.approx(expected["theta"], abs=0.0002)


def test_the_subgroups_that_the_paper_prints(compas, rows):
    """All but three, of the eleven Native Americans, whose printed subgroups score less than the optimum."""
    different = [row for row in rows if not row["subgroup_matches_paper"]]
    assert {row["protected"] for row in different} <= {"Native American"}
    for row in rows:
        result, printed = scan(compas, row), row["paper"]
        if row in different:
            assert result.score > row["reproduced"]["F_at_paper_subgroup"]
        elif result.subgroup is not None:
            assert result.subgroup == {name: sorted(values) for name, values in printed["subgroup"].items()}
        observed = row["observed_at_paper_subgroup"]
        if printed["subgroup"] is not None and observed is not None:
            named = result.disparity(printed["subgroup"])
            assert (named["n"], named["n_comparison"]) == (observed[1], observed[3])
            assert (round(named["observed"], 4), round(named["comparison"], 4)) == (observed[0], observed[2])


def test_common_names(compas, rows):
    for row in rows[:6]:
        given = scan(compas, row)
        options = {
            "criterion": NAMES[row["scan"]],
            "direction": SCANS[row["scan"]]["direction"],
            "features": others(row),
            "scale": "paper",
        }
        named = ca.scan_bias(
            compas, {row["attribute"]: row["protected"]}, "y", prediction="P", recommendation="Pbin", **options
        )
        assert (named.score, named.subgroup) == (given.score, given.subgroup)


def both_searches(compas, row, protected=None):
    """The best subgroup by exhaustion and by ascent with the default restarts."""
    protected_class = {row["attribute"]: row["protected"]}
    question = read_question(compas, protected_class, "y", features=others(row), scale="paper", **SCANS[row["scan"]])
    if protected is not None:
        question = dataclasses.replace(question, protected=protected(question.protected))
    strata = question.strata()
    counts = strata.protected_counts(question.protected)[None]
    chance = LogisticModels().expect(strata, counts).chance
    evidence = evidence_of(question, strata, counts, chance, np.ones(1))
    search = SubgroupSearch.plan(strata.cells, question.sizes, 1.0, 500, 0)
    assert search.exhaustive
    people = np.bincount(evidence.cell, evidence.size[0], len(search.cells)) > 0
    searches = (search, dataclasses.replace(search, exhaustive=False))
    return [[(found.score, search.held(found.masks) & people) for found in one.best(evidence)] for one in searches]


def assert_same(everything, climbed):
    """The same score of the same people, whom two lists of as many values may describe."""
    assert len(everything) == len(climbed)
    for (score, people), (reached, found) in zip(everything, climbed, strict=True):
        assert score == pytest.approx(reached, abs=1e-9)
        np.testing.assert_array_equal(people, found)


@pytest.mark.slow
def test_ascent_reaches_the_optimum_of_every_row(compas, rows):
    for row in rows:
        assert_same(*both_searches(compas, row))


@pytest.mark.slow
def test_ascent_reaches_the_optimum_of_200_permuted_tables(compas, rows):
    rng = np.random.default_rng(0)
    positive = 0
    for number in range(200):
        everything, climbed = both_searches(compas, rows[number % len(rows)], rng.permutation)
        assert_same(everything, climbed)
        positive += len(everything)
    assert positive > 100


def test_the_null_of_the_paper(compas, rows):
    """The p-values of permutations, within the errors of both numbers of draws."""
    for row in [row for row in rows if row["attribute"] == "race" and "permutation" in row]:
        p, number = row["permutation"]["p"], row["permutation"]["nperm"]
        drawn = scan(compas, row, permutations=300, null="permutation", seed=1)
        error = np.sqrt(p * (1 - p) * (1 / number + 1 / len(drawn.null_scores)))
        assert abs(drawn.p_value - p) < 3 * error + 1 / number


def test_errata(compas):
    """The counts printed for people under 25 are of felonies; the reoffending rate of those from 25 on is .426."""
    young = scan(compas, {"attribute": "age25", "protected": "under25", "scan": "sep_rec"})
    assert (young.n, young.n_comparison) == (593, 2770)
    felonies = young.disparity({"degree": ["F"]})
    assert (felonies["n"], felonies["n_comparison"]) == (403, 1583)
    assert compas.loc[compas.age25 == "25plus", "y"].mean() == pytest.approx(0.426, abs=0.0005)
