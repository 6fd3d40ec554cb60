"""Simulation-based calibration: of programs whose answer is known, of the shipped models, and of itself."""

import json

import joblib
import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import pytest
from scipy import stats

import causalaudit as ca
from causalaudit.errors import DataError, InferenceError
from causalaudit.inference.calibration import Calibration, calibrate, simulation_based
from causalaudit.inference.calibration.uniformity import simultaneous_band
from causalaudit.models import law_school, loan, mediation


def program(n, scale=5.0, slope=1.0):
    mean = pyro.sample("mean", dist.Normal(20.0, scale))
    effects = pyro.sample("effects", dist.Normal(0.0, 1.0).expand([2]).to_event(1))
    with pyro.plate("individuals", n):
        sex = pyro.sample("sex", dist.Bernoulli(0.4))
        pyro.sample("wage", dist.Normal(mean + slope * effects[..., 0] * sex + effects[..., 1] * (1 - sex), 2.0))


def other_prior(n):
    program(n, scale=6.0)


def other_equations(n):
    program(n, slope=1.1)


LEVELS = {"sex": ["man", "woman"]}
SETTINGS = {"n": 20, "data_sets": 6, "draws": 9}


@pytest.fixture(scope="module")
def scm():
    return ca.SCM(program, levels=LEVELS)


@pytest.fixture(scope="module")
def short(scm):
    return calibrate(scm, **SETTINGS)


def pretend(ranks: dict, draws: int = 99, **more) -> Calibration:
    return Calibration("pretended", pd.DataFrame(ranks), more.get("failures", {}), {}, {"n": 10, "draws": draws})


# What comes out


def test_vectors_are_expanded_to_scalars(short):
    assert list(short.ranks.columns) == ["mean", "effects[0]", "effects[1]"]
    assert short.ranks.shape == (6, 3)
    assert short.ranks.to_numpy().min() >= 0
    assert short.ranks.to_numpy().max() <= 9
    assert list(short.table["parameter"]) == list(short.ranks.columns)
    assert not short.failures


def test_ranks_are_those_of_the_truth_among_the_draws(scm, short):
    truth = simulation_based.prior_draws(scm, 6, 0)
    one = simulation_based._one_data_set(scm, truth, 20, 9, "auto", 0, 3)
    assert one["ranks"] == short.ranks.loc[3].tolist()


@pytest.mark.slow
def test_two_workers_give_the_same(scm, short):
    with joblib.parallel_config(n_jobs=2):
        pd.testing.assert_frame_equal(calibrate(scm, **SETTINGS).ranks, short.ranks)


def test_more_data_sets_begin_with_the_same_ones(scm, short):
    longer = calibrate(scm, **{**SETTINGS, "data_sets": 8})
    pd.testing.assert_frame_equal(longer.ranks.head(6), short.ranks)
    assert not longer.ranks.loc[6].equals(longer.ranks.loc[0])


# On disk


def test_an_interrupted_run_goes_on(scm, short, tmp_path, monkeypatch):
    path = tmp_path / "ranks.jsonl"
    original, fitted = simulation_based._one_data_set, []

    def stops_at_three(*arguments):
        if arguments[-1] == 3 and not fitted:
            raise KeyboardInterrupt
        return original(*arguments)

    monkeypatch.setattr(simulation_based, "_one_data_set", stops_at_three)
    with pytest.raises(KeyboardInterrupt):
        calibrate(scm, **SETTINGS, path=path)
    assert len(path.read_text().splitlines()) == 4
    path.write_text(path.read_text() + '{"data_set": 3, "ran')  # the power went off in the middle of a line

    def counted(*arguments):
        fitted.append(arguments[-1])
        return original(*arguments)

    monkeypatch.setattr(simulation_based, "_one_data_set", counted)
    pd.testing.assert_frame_equal(calibrate(scm, **SETTINGS, path=path).ranks, short.ranks)
    assert fitted == [3, 4, 5]
    pd.testing.assert_frame_equal(calibrate(scm, **SETTINGS, path=str(path)).ranks, short.ranks)
    assert fitted == [3, 4, 5]
    fewer = calibrate(scm, **{**SETTINGS, "data_sets": 2}, path=path)
    pd.testing.assert_frame_equal(fewer.ranks, short.ranks.head(2))
    assert sorted(file.name for file in tmp_path.iterdir()) == ["ranks.jsonl"]


def test_files_of_other_calibrations_are_refused(scm, tmp_path):
    path = tmp_path / "ranks.jsonl"
    small = {"n": 20, "data_sets": 1, "draws": 9}
    calibrate(scm, **small, path=path)
    before = path.read_text()
    with pytest.raises(DataError, match="seed is 0, not 1"):
        calibrate(scm, **small, seed=1, path=path)
    with pytest.raises(DataError, match="n is 20, not 30"):
        calibrate(scm, **{**small, "n": 30}, path=path)
    with pytest.raises(DataError, match="draws is 9, not 19"):
        calibrate(scm, **{**small, "draws": 19}, path=path)
    with pytest.raises(DataError, match="method is 'auto', not 'laplace'"):
        calibrate(scm, **small, method="laplace", path=path)
    with pytest.raises(DataError, match=r"parameters is \['mean', "):
        calibrate(loan.linear(), **small, path=path)
    with pytest.raises(DataError, match="with the same seed, the mean of 'mean' in its prior is"):
        calibrate(ca.SCM(other_prior, levels=LEVELS), **small, path=path)
    with pytest.raises(DataError, match="with the same seed, the mean of 'wage' in its people is"):
        calibrate(ca.SCM(other_equations, levels=LEVELS), **small, path=path)
    assert path.read_text() == before


@pytest.mark.parametrize(
    "text", ["hello", "hello\n", "hello\nthere", "[]\nthere", '["a"]\n', '{"a": 1}\n', '{"a"\n{"b": 1}\n']
)
def test_other_files_are_refused_and_left_alone(scm, tmp_path, text):
    path = tmp_path / "notes.txt"
    path.write_text(text)
    with pytest.raises(DataError, match=r"notes\.txt"):
        calibrate(scm, n=20, data_sets=1, draws=9, path=path)
    assert path.read_text() == text


def test_a_damaged_line_in_the_middle_is_refused(scm, tmp_path):
    path = tmp_path / "ranks.jsonl"
    calibrate(scm, n=20, data_sets=2, draws=9, path=path)
    header, first, second = path.read_text().splitlines()
    path.write_text("\n".join([header, first[:10], second, ""]))
    with pytest.raises(DataError, match="damaged"):
        calibrate(scm, n=20, data_sets=2, draws=9, path=path)


def test_a_missing_folder_is_named(scm, tmp_path):
    with pytest.raises(DataError, match="there is no folder"):
        calibrate(scm, n=20, data_sets=1, draws=9, path=tmp_path / "nowhere" / "ranks.jsonl")


# Bad input and bad fits


def test_failed_fits_are_counted_and_never_dropped(scm, tmp_path, monkeypatch):
    original = simulation_based.fit

    def fails_once(scm, people, *arguments, seed, **more):
        if seed == int(simulation_based.spawn(0, "fit", 2).generate_state(1)[0]):
            raise InferenceError("no luck")
        return original(scm, people, *arguments, seed=seed, **more)

    monkeypatch.setattr(simulation_based, "fit", fails_once)
    found = calibrate(scm, **SETTINGS, path=tmp_path / "ranks.jsonl")
    assert found.failures == {2: "InferenceError: no luck"}
    assert found.ranks.loc[2].isna().all()
    assert len(found.ranks) == 6
    assert not found.ok
    assert "1 of 6 fits failed" in found.verdict
    assert "no luck" in found.verdict
    again = calibrate(scm, **SETTINGS, path=tmp_path / "ranks.jsonl")
    assert again.failures == found.failures


def test_no_fit_at_all_is_an_error(scm, monkeypatch):
    def fails(*arguments, **more):
        raise ValueError("never")

    monkeypatch.setattr(simulation_based, "fit", fails)
    with pytest.raises(InferenceError, match=r"None of 3 data sets could be fitted\. The first: ValueError: never"):
        calibrate(scm, n=20, data_sets=3, draws=9)


def test_doubtful_fits_count_and_are_mentioned(scm, monkeypatch):
    from causalaudit.inference.posterior import Diagnostics, Posterior

    verdict = Diagnostics(False, "Not trustworthy: pretended.", {})
    monkeypatch.setattr(Posterior, "diagnostics", lambda self: verdict)
    found = calibrate(scm, n=20, data_sets=2, draws=9)
    assert found.doubts == {0: "Not trustworthy: pretended.", 1: "Not trustworthy: pretended."}
    assert not found.ranks.isna().any().any()
    assert "2 fits warned; their ranks are counted" in found.verdict


def test_what_has_no_posterior_is_refused(scm):
    with pytest.raises(InferenceError, match="no free parameters"):
        calibrate(mediation.true_process(), n=10)
    with pytest.raises(InferenceError, match="'map' gives a point"):
        calibrate(scm, n=10, method="map")
    with pytest.raises(DataError, match="data_sets is 0"):
        calibrate(scm, n=10, data_sets=0)


# The tests of uniformity


def test_uniform_ranks_pass_as_often_as_they_should():
    rng = np.random.default_rng(0)
    passed = sum(pretend({f"p{k}": rng.integers(0, 100, 200) for k in range(3)}).ok for _ in range(100))
    assert passed >= stats.binom.ppf(0.001, 100, 0.99)


def test_the_band_holds_a_share_of_uniform_curves():
    band = simultaneous_band(150, 100, 0.1)
    rng = np.random.default_rng(1)
    left = sum(band.leaves(rng.integers(0, 100, 150)) for _ in range(2000))
    low, high = stats.binom.ppf([0.001, 0.999], 2000, 0.1)
    assert low - 60 <= left <= high  # counts are discrete: the band is a little too wide


@pytest.mark.parametrize(
    ("wrong", "where"),
    [
        (lambda z: stats.norm.cdf(z + 0.5), "biased"),
        (lambda z: stats.norm.cdf(1.6 * z), "too narrow"),
        (lambda z: stats.norm.cdf(z / 1.7), "too wide"),
    ],
)
def test_wrong_posteriors_are_found(wrong, where):
    z = np.random.default_rng(0).standard_normal(200)
    found = pretend({"right": np.floor(100 * stats.norm.cdf(z)), "wrong": np.floor(100 * wrong(z))})
    assert found.table["uniform"].tolist() == [True, False], where
    assert not found.ok
    assert "'wrong'" in found.verdict
    labels = [line.get_label() for line in found.plot().lines]
    assert any(label.startswith("wrong") for label in labels)


def test_the_plot_takes_axes_and_parameters(short):
    import matplotlib.pyplot as plt

    _, ax = plt.subplots()
    assert short.plot(parameters=["mean"], ax=ax) is ax
    assert len(ax.lines) == 2  # zero, and the parameter
    assert "20 people" in ax.get_title()


@pytest.mark.parametrize(("data_sets", "draws"), [(1, 1), (3, 2), (15, 7), (200, 1000)])
def test_any_number_of_data_sets_and_draws_has_a_table(data_sets, draws):
    ranks = np.random.default_rng(0).integers(0, draws + 1, data_sets)
    table = pretend({"p": ranks}, draws=draws).table
    assert table.notna().all().all()
    assert table["p_value"].between(0, 1).all()


def test_the_file_is_json_lines(scm, tmp_path):
    path = tmp_path / "ranks.jsonl"
    calibrate(scm, n=20, data_sets=2, draws=9, path=path)
    header, *records = map(json.loads, path.read_text().splitlines())
    assert header["settings"]["parameters"] == ["mean", "effects[0]", "effects[1]"]
    assert [record["data_set"] for record in records] == [0, 1]


# The shipped models


@pytest.mark.slow
@pytest.mark.parametrize("builder", [loan.linear, mediation.linear], ids=["loan", "mediation"])
def test_ranks_are_uniform(builder):
    """200 data sets of 300 people drawn from the prior of each."""
    found = calibrate(builder(), n=300, data_sets=200, draws=99, seed=1)
    assert found.ok, found


@pytest.mark.slow
@pytest.mark.longest
def test_ranks_of_level_2_are_uniform():
    """Where LSAT tells little of knowledge, eta_u and sigma_g are a curved ridge."""
    found = calibrate(law_school.level_2(), n=300, data_sets=200, draws=99, method="laplace", seed=1)
    assert found.ok, found
    assert len(found.doubts) <= 5, found.doubts
