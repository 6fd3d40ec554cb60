"""The evaluation of detection power: experiments, accuracies, plots, and the reference table."""

import joblib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import causalaudit as ca
from benchmarks.peers.subgroup_auditors import gerryfair, gerryfair_detector, multiaccuracy, multiaccuracy_detector
from causalaudit.bias_scan import evaluate_power, experiments
from causalaudit.bias_scan.power.semisynthetic import draw_fair_data, inject
from causalaudit.errors import DataError
from causalaudit.models import compas, german_credit

SCANS = [
    "separation of predictions",
    "separation of recommendations",
    "sufficiency of predictions",
    "sufficiency of recommendations",
]
# Of the reference page: for each of `experiments()`, the accuracy of each scan.
REFERENCE = [
    [0.17, 0.09, 0.07, 0.05],
    [0.97, 0.93, 0.94, 0.48],
    [0.98, 0.93, 0.95, 0.49],
    [0.38, 0.42, 0.92, 0.92],
    [0.59, 0.58, 0.93, 0.93],
    [0.97, 0.93, 0.06, 0.00],
]
COVARIATES = ["sex", "race", "c_charge_degree", "age_group", "priors"]


def people(n=1_500):
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "race": rng.choice(["a", "b", "c"], n, p=[0.5, 0.3, 0.2]),
            "sex": rng.choice(["f", "m"], n),
            "age": rng.choice(["old", "young"], n, p=[0.7, 0.3]),
        }
    )


@pytest.fixture(scope="module")
def power():
    return evaluate_power(people(), datasets=3, detectors={"everybody": everybody}, progress=False)


@pytest.fixture(scope="session")
def defendants(data_folder):
    return compas.scan_table(ca.datasets.load_compas(data_folder))


def everybody(dataset):
    return dataset.is_protected


def knows(dataset):
    return dataset.members(dataset.subgroup)


def test_there_is_a_row_for_each_data_set_experiment_and_detector(power):
    assert len(power.table) == 3 * 6 * 5
    assert power.table.groupby(["dataset", "detector"]).size().eq(6).all()
    assert power.table["detector"].unique().tolist() == [*SCANS, "everybody"]
    assert power.table["accuracy"].between(0, 1).all()


def test_means_and_intervals_are_over_data_sets(power):
    summary = power.summary()
    assert len(summary) == 6 * 5
    first = power.table[(power.table["mu_sep"] == 0.25) & (power.table["detector"] == SCANS[0])]["accuracy"]
    row = summary[(summary["mu_sep"] == 0.25) & (summary["detector"] == SCANS[0])].iloc[0]
    assert row["accuracy"] == pytest.approx(first.mean())
    assert row["standard_error"] == pytest.approx(first.std() / 3**0.5)
    assert row["wald_high"] == pytest.approx(min(1, first.mean() + 1.959964 * first.std() / 3**0.5))
    assert "mean of 3 data sets" in repr(power)


def test_strong_signals_are_found_by_the_scans_meant_for_them(power):
    means = power.summary().set_index(["mu_sep", "mu_suf", "delta", "detector"])["accuracy"]
    for scan in SCANS[:2]:
        assert means[0.5, 0, 0, scan] > 0.9
        assert means[0, 0, 0.25, scan] > 0.7
    for scan in SCANS[2:]:
        assert means[0, 0.5, 0, scan] > 0.8
        assert means[0, 0, 0.25, scan] < 0.5


def test_shifts_of_log_odds_are_experiments_too():
    """Appendix B.3: what they do to the accuracy is nearly what the shifts of probabilities do."""
    grid = pd.DataFrame({"mu_sep_logit": [0.0, 2.0, 0.0], "mu_suf_logit": [0.0, 0.0, 2.0]})
    power = evaluate_power(people(1000), grid, datasets=3, progress=False)
    means = power.summary().set_index(["mu_sep_logit", "mu_suf_logit", "detector"])["accuracy"]
    assert means[2.0, 0.0, SCANS[0]] > 0.9
    assert means[0.0, 2.0, SCANS[2]] > 0.8
    assert means[0.0, 0.0, SCANS[0]] < 0.5
    assert "μ′_sep" in power.plot("mu_sep_logit").get_xlabel()
    plt.close("all")


def test_a_detector_that_knows_is_always_right():
    grid = pd.DataFrame({"mu_sep": [0.1], "n_bias": [1], "sigma_true": [0.0]})
    power = evaluate_power(people(300), grid, datasets=4, detectors={"oracle": knows}, progress=False)
    assert (power.table.query("detector == 'oracle'")["accuracy"] == 1).all()
    assert power.table.columns.tolist() == ["mu_sep", "n_bias", "sigma_true", "dataset", "detector", "accuracy"]


def test_the_same_bits_for_any_number_of_workers(power):
    with joblib.parallel_config("threading", n_jobs=2):
        again = evaluate_power(people(), datasets=3, detectors={"everybody": everybody}, progress=False)
    pd.testing.assert_frame_equal(again.table, power.table)


def test_full_experiments_are_those_of_the_figures():
    full = experiments(full=True)
    assert not full.duplicated().any()
    fixed = (full["n_bias"] == 2) & (full["p_bias"] == 0.5)
    assert full[fixed & (full["mu_suf"] == 0) & (full["delta"] == 0)]["mu_sep"].tolist()[:3] == [0.0, 0.05, 0.1]
    assert sorted(full[fixed & (full["mu_suf"] == 0) & (full["mu_sep"] == 0)]["delta"])[0] == -0.5
    assert set(full["n_bias"]) == {1, 2, 3, 4}
    assert full["p_bias"].min() == 0.1


def test_power_is_drawn_against_a_signal(power):
    _, ax = plt.subplots()
    assert ca.plots.plot_power(power, "mu_sep", ax=ax) is ax
    lines = {line.get_label(): line for line in ax.get_lines()}
    assert list(lines) == [*SCANS, "everybody"]
    assert lines[SCANS[0]].get_xdata().tolist() == [0, 0.25, 0.5]
    ax = power.plot("delta")
    assert "δ" in ax.get_xlabel()
    plt.close("all")


def test_other_settings_are_held_at_the_values_given():
    grid = pd.DataFrame({"mu_sep": [0.0, 0.5, 0.5], "n_bias": [1, 1, 2]})
    power = evaluate_power(people(300), grid, datasets=2, progress=False)
    _, ax = plt.subplots()
    assert power.plot("n_bias", ax=ax, mu_sep=0.5).get_lines()[0].get_xdata().tolist() == [1, 2]
    with pytest.raises(DataError, match="'delta' is no setting of these experiments: mu_sep, n_bias"):
        power.plot("delta", ax=ax)
    with pytest.raises(DataError, match=r"No experiment has \{'mu_sep': 0.3\} beside 'n_bias'"):
        power.plot("n_bias", ax=ax, mu_sep=0.3)
    plt.close("all")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"grid": pd.DataFrame({"mu_sap": [0.5]})}, "a column 'mu_sap', which is no setting: did you mean 'mu_sep'"),
        ({"grid": pd.DataFrame({"mu_sep": []})}, "The grid has no rows"),
        ({"datasets": 0}, "datasets is 0"),
        ({"protected": {"sex": "x"}}, "Nobody in data has 'sex' equal to 'x'"),
    ],
)
def test_bad_input_is_refused(arguments, message):
    with pytest.raises(DataError, match=message):
        evaluate_power(people(60), **arguments)


def test_gerryfair_finds_who_is_above_everybody():
    table = people(4_000)
    hit = ((table["race"] == "b") & (table["sex"] == "f")).to_numpy()
    prediction = np.where(hit, 0.7, 0.4)
    outcome = np.arange(4_000) % 2
    above, below, either = (gerryfair(table, outcome, prediction, how) for how in ("positive", "negative", None))
    assert above[hit].all()
    assert (above != below).all()
    assert (either == above).all() or (either == below).all()


def test_multiaccuracy_finds_a_partition_that_is_wrong():
    table = people(4_000)
    outcome = np.random.default_rng(7).random(4_000) < 0.5
    wrong = np.where(table["sex"] == "f", 0.9, 0.5)
    found = multiaccuracy(table, outcome, wrong)
    assert found[(table["sex"] == "f").to_numpy()].all()
    assert not multiaccuracy(table, np.ones(4_000), np.full(4_000, 0.9)).any()  # too low is not too high


def test_gerryfair_finds_on_compas_what_the_reference_finds(defendants):
    arguments = defendants[["race", "sex", "age_group"]], defendants["two_year_recid"], defendants["prediction"]
    found = gerryfair(*arguments, direction=None)
    wanted = ~defendants["race"].isin(["African-American", "Native American"]) & (defendants["age_group"] != "under 25")
    assert (found == wanted).all()
    kept = defendants["two_year_recid"] == 0
    assert defendants.loc[kept & found, "prediction"].mean() == pytest.approx(0.328, abs=5e-4)
    assert defendants.loc[kept & ~found, "prediction"].mean() == pytest.approx(0.451, abs=5e-4)
    assert (gerryfair(*arguments) == ~wanted).all()


def test_comparators_find_only_protected_people():
    dataset = inject(draw_fair_data(people(), {"sex": "f"}, n_bias=1), mu_sep=0.5)
    for detector in (gerryfair_detector, multiaccuracy_detector):
        assert not detector(dataset)[~dataset.is_protected].any()


def test_the_compas_table_is_that_of_the_reference(defendants, reference_folder):
    # As text first: older versions of pandas miss the last digit.
    wanted = pd.read_csv(reference_folder / "bias_scan_compas.csv.gz", dtype={"P": str}).set_index("id")
    wanted["P"] = wanted["P"].astype(float)
    assert defendants.index.equals(wanted.index)
    assert (defendants["prediction"] == wanted["P"]).all()
    assert (defendants["recommendation"] == wanted["Pbin"]).all()
    assert ((defendants["age_group"] == "under 25") == (wanted["age25"] == "under25")).all()
    assert (defendants["priors"].str.replace(" ", "") == wanted["priors"]).all()


def test_the_german_table_has_the_rates_of_table_6(data_folder):
    table = german_credit.scan_table(ca.datasets.load_german_credit(data_folder))
    good, flagged = table[table["untrustworthy"] == 0], table[table["recommendation"] == 1]
    rates = [
        (good, "prediction", {"age_group": "under 26"}, 0.41, 110),
        (good, "prediction", {"age_group": "26 and over"}, 0.26, 590),
        (good, "recommendation", {"gender": "female"}, 0.11, 201),
        (good, "recommendation", {"gender": "male"}, 0.03, 499),
        (good, "prediction", {"credit_history": "all paid or none"}, 0.35, 397),
        (good, "prediction", {"housing": "free"}, 0.39, 64),
        (good, "recommendation", {"housing": "rent", "marital_status": "non-single"}, 0.42, 74),
        (good, "recommendation", {"housing": "rent", "marital_status": "single"}, 0.09, 35),
        (flagged, "untrustworthy", {"gender": "male"}, 0.46, 24),
        (flagged, "untrustworthy", {"marital_status": "single"}, 0.58, 12),
    ]
    for people, column, which, rate, n in rates:
        some = people[np.logical_and.reduce([people[name] == value for name, value in which.items()])]
        assert len(some) == n
        assert some[column].mean() == pytest.approx(rate, abs=0.0051)


def test_the_bias_of_invented_defendants_is_found():
    table = compas.scan_table(ca.datasets.make_compas(4_000, seed=1))
    arguments = {"recommendation": "recommendation", "criterion": "false positive rate"}
    features = [name for name in COVARIATES if name != "race"]
    found = ca.scan_bias(table, {"race": "African-American"}, "two_year_recid", features=features, **arguments)
    assert found.subgroup == {"sex": ["Male"]}
    assert table.equals(compas.scan_table(ca.datasets.make_compas(4_000, seed=1)))
    with pytest.raises(DataError, match="n is 0, but must be a whole number of at least 1"):
        ca.datasets.make_compas(0)


@pytest.mark.parametrize("table", [compas.scan_table, german_credit.scan_table])
def test_tables_of_something_else_are_refused(table):
    with pytest.raises(DataError, match="lacks the columns"):
        table(pd.DataFrame({"age": [30]}))


@pytest.mark.slow
def test_detection_power_is_that_of_the_reference(defendants):
    """Within two standard errors of the difference of two means of 30 data sets.

    The reference does not print its standard errors: a mean m of numbers in [0, 1] has one of sqrt(m (1 − m) / 30) at
    most, and the page says at most 0.07.
    """
    summary = evaluate_power(defendants[COVARIATES], datasets=30, scale="paper", progress=False).summary()
    reference = np.ravel(REFERENCE)
    known = np.minimum(0.07, np.sqrt(reference * (1 - reference) / 30))
    error = np.hypot(summary["standard_error"], known)
    assert summary["detector"].tolist() == SCANS * 6
    rounding = 0.005
    assert ((summary["accuracy"] - reference).abs() <= 2 * error + rounding).all()
