"""Worlds side by side: scores, weights, verdicts, shares of the variance, sentences, files."""

import arviz as az
import joblib
import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import pytest
import torch
from scipy.stats import norm
from stated import Stated

import causalaudit as ca
from causalaudit.errors import CausalAuditWarning, DataError, InferenceError, InterventionError
from causalaudit.worlds.leave_one_out import leave_one_out
from causalaudit.worlds.scored_columns import ScoredColumns
from causalaudit.worlds.units import UnitsByWorld, variance_parts
from causalaudit.worlds.weighting import evidence_weights, stacking_weights


def normal_score(n):
    base, gap = pyro.sample("base", dist.Normal(10.0, 5.0)), pyro.sample("gap", dist.Normal(0.0, 5.0))
    spread = pyro.sample("spread", dist.HalfNormal(5.0))
    with pyro.plate("individuals", n):
        sex = pyro.sample("sex", dist.Bernoulli(0.5))
        pyro.sample("score", dist.Normal(base + gap * sex, spread))


def equal_score(n):
    base, spread = pyro.sample("base", dist.Normal(10.0, 5.0)), pyro.sample("spread", dist.HalfNormal(5.0))
    with pyro.plate("individuals", n):
        pyro.sample("sex", dist.Bernoulli(0.5))
        pyro.sample("score", dist.Normal(base, spread))


def counted_score(n):
    base, gap = pyro.sample("base", dist.Normal(2.0, 1.0)), pyro.sample("gap", dist.Normal(0.0, 1.0))
    with pyro.plate("individuals", n):
        sex = pyro.sample("sex", dist.Bernoulli(0.5))
        pyro.sample("score", dist.Poisson(torch.exp(base + gap * sex)))


def given_sex(n):
    with pyro.plate("individuals", n):
        sex = pyro.sample("sex", ca.Given())
        pyro.sample("score", dist.Normal(10.0 + sex, 3.0))


LEVELS = {"sex": ["m", "f"]}


def people_of(n, seed=0):
    rng = np.random.default_rng(seed)
    sex = rng.integers(2, size=n)
    score = rng.poisson(np.exp(2.3 - 0.3 * sex))
    return pd.DataFrame({"sex": np.array(LEVELS["sex"])[sex], "score": score}, index=[f"p{i}" for i in range(n)])


def fitted(program, people, draws=100, **more):
    return ca.fit(ca.SCM(program, levels=LEVELS), people, draws=draws, chains=2, seed=0, progress=False, **more)


def audit(posterior):
    people = posterior.data
    worlds = ca.counterfactuals(posterior, {"sex": "m"}, rows=people.sex == "f", progress=False)
    return ca.situation_testing(
        people, hire, {"sex": "f"}, features=["score"], counterfactuals=worlds, k=5, progress=False
    )


def hire(people):
    return (people.score > 9).astype(int)


@pytest.fixture(scope="module")
def people():
    return people_of(150)


@pytest.fixture(scope="module")
def posteriors(people):
    return {
        "gap": fitted(normal_score, people),
        "equal": fitted(equal_score, people),
        "count": fitted(counted_score, people),
    }


@pytest.fixture(scope="module")
def result(posteriors):
    return ca.compare_worlds(posteriors, audit, progress=False)


def test_leave_one_out_is_that_of_arviz_where_all_columns_are_scored(posteriors):
    """ArviZ, from the likelihood of everybody; sex enters by its own constant, which is no prediction of it."""
    posterior = posteriors["gap"]
    posterior.log_likelihood(progress=False)
    efficiency = min(1.0, posterior.idata["sample_stats"].attrs["ess"] / 200)
    expected = az.loo(posterior.idata, pointwise=True, reff=efficiency)
    found = leave_one_out(posterior, posterior.data.index, ScoredColumns.of({"gap": posterior}))
    assert np.allclose(found.elpd - np.log(2) * 1.0, expected.loo_i.to_numpy(), atol=1e-8)
    assert found.pareto_k == pytest.approx(float(expected.pareto_k.max()), abs=1e-8)


def test_leave_one_out_is_what_refitting_without_a_person_finds(people, posteriors):
    posterior = posteriors["count"]
    scored = ScoredColumns.of({"count": posterior})
    elpd = leave_one_out(posterior, people.index, scored).elpd
    for person in people.index[:2]:
        without = fitted(counted_score, people.drop(index=person), draws=2000)
        base, gap = without.parameters()["base"], without.parameters()["gap"]
        mean = torch.from_numpy(np.exp(base + gap * (people.sex[person] == "f")))
        density = dist.Poisson(mean).log_prob(torch.tensor(float(people.score[person]))).exp().mean().log()
        assert elpd[people.index.get_loc(person)] == pytest.approx(float(density), abs=0.02)


def test_a_continuous_world_is_scored_by_rounding_cells(people, posteriors):
    scored = ScoredColumns.of(posteriors)
    assert scored == ScoredColumns(("score",), frozenset({"score"}))
    posterior = posteriors["gap"]
    found = leave_one_out(posterior, people.index, scored).elpd
    theta = posterior.parameters()
    mean = theta["base"][:, None] + theta["gap"][:, None] * (people.sex == "f").to_numpy()
    law, x = norm(mean, theta["spread"][:, None]), people.score.to_numpy()
    cells, densities = law.cdf(x + 0.5) - law.cdf(x - 0.5), law.pdf(x)
    weights, _ = az.psislw(-np.log(densities).T, 1.0)
    assert np.allclose(found, np.log((np.exp(weights) * cells.T).sum(axis=1)), atol=0.02)


def test_cells_are_exact_in_both_tails():
    from causalaudit.worlds.scored_likelihood import RoundingCell

    law = dist.Normal(torch.zeros((), dtype=torch.float64), 1.0)
    values = torch.tensor([-30.0, -9.0, 0.0, 9.0, 30.0], dtype=torch.float64)
    low, high = norm.logcdf(-np.abs(values.numpy()) - 0.5), norm.logcdf(-np.abs(values.numpy()) + 0.5)
    assert np.allclose(RoundingCell(law).log_prob(values).numpy(), high + np.log1p(-np.exp(low - high)), rtol=1e-12)


def test_people_are_aligned_by_their_labels(people, posteriors, result):
    shuffled = people.sample(frac=1, random_state=1)
    mixed = {**posteriors, "gap": fitted(normal_score, shuffled)}
    again = ca.compare_worlds(mixed, audit, progress=False)
    assert np.allclose(again.loo["elpd"], result.loo["elpd"], atol=0.2)
    assert np.allclose(again.loo["stacking"], result.loo["stacking"], atol=0.02)


def test_worlds_are_ranked_and_weighed(result):
    loo = result.loo
    assert list(loo.columns) == ["elpd", "se", "difference", "difference_se", "pareto_k", "stacking", "evidence"]
    assert loo["elpd"].idxmax() == "count"
    assert loo.loc["count", "difference"] == 0
    assert (loo["difference"] <= 0).all()
    assert loo["stacking"].sum() == pytest.approx(1)
    assert loo["evidence"].isna().all()
    assert "count in one world and continuous in another" in result.settings["no_evidence"]


def test_stacking_satisfies_the_conditions_of_the_maximum():
    """At the maximum of a concave function no world promises more than those with weight."""
    rng = np.random.default_rng(0)
    for worlds in (2, 4, 8):
        elpd = rng.normal(size=(500, worlds)) * rng.uniform(0.1, 3)
        weights = stacking_weights(elpd)
        density = np.exp(elpd)
        slopes = (density / (density @ weights)[:, None]).mean(axis=0)
        assert slopes.max() < 1 + 1e-5
        assert np.allclose(slopes[weights > 1e-4], 1, atol=1e-4)


def test_evidence_is_the_posterior_of_worlds(people):
    posteriors = {"gap": fitted(normal_score, people), "equal": fitted(equal_score, people)}
    result = ca.compare_worlds(posteriors, audit, "evidence", progress=False)
    ratio = np.exp(posteriors["gap"].log_evidence.value - posteriors["equal"].log_evidence.value)
    assert result.headline.loc["gap", "weight"] == pytest.approx(ratio / (1 + ratio))
    assert np.allclose(evidence_weights(np.log([3.0, 1.0])), [0.75, 0.25])


def test_the_table_says_what_each_world_says(posteriors, result):
    table, own = result.table.set_index("words"), {world: audit(one) for world, one in posteriors.items()}
    weights = result.headline["weight"]
    for world, answer in own.items():
        verdicts = answer.verdicts
        words = verdicts["unit"].map(str)
        assert (table.loc[words, f"verdict_{world}"] == "flagged").tolist() == verdicts["flagged"].tolist()
        assert np.array_equal(table.loc[words, f"case_{world}"], answer.at()["beyond_tau"])
        assert np.array_equal(table.loc[words, f"probability_{world}"], verdicts["probability"])
    each = np.column_stack([table[f"probability_{world}"] for world in own])
    assert np.allclose(table["probability"], each @ weights.to_numpy())
    assert np.array_equal(table["probability_max"], each.max(axis=1))
    assert result.agreement["case"].sum() == len(table)
    assert result.headline.loc["gap", "value"] == np.median(own["gap"].headline)
    assert result.average["min"] == result.headline["value"].min()


def test_shares_add_up_to_one(result):
    parts = result.table[["between", "structural", "sampling"]]
    uncertain = result.table["variance"] > 0
    assert uncertain.any()
    assert np.allclose(parts[uncertain].sum(axis=1), 1, atol=1e-12)
    assert (result.table.loc[~uncertain, "mostly"] == "certain").all()


def test_parts_add_up_to_the_variance_over_all_worlds():
    """By brute force: worlds, draws and samples of equal probability, pooled."""
    rng = np.random.default_rng(0)
    values = rng.normal(size=(3, 5, 7)) * rng.uniform(1, 3, size=(3, 1, 1)) + rng.normal(size=(3, 1, 1))
    weights = np.array([[0.2, 0.5, 0.3]])
    mean, by_draw = values.mean(axis=(1, 2)), values.mean(axis=2)
    parts = variance_parts(weights, mean[None], by_draw.var(axis=1)[None], values.var(axis=2).mean(axis=1)[None])
    each = np.repeat(weights[0] / 35, 35)
    pooled = values.reshape(-1)
    assert parts.sum() == pytest.approx(each @ (pooled - each @ pooled) ** 2, rel=1e-12)


def test_the_variance_goes_where_it_comes_from():
    one = Stated(
        [("apart", True, 1.0, 1.0, 0.0, 0.0), ("inside", True, 0.5, 1.0, 4.0, 0.0), ("sure", True, 1.0, 2.0, 0.0, 0.0)]
    )
    two = Stated(
        [
            ("apart", False, 0.0, -1.0, 0.0, 0.0),
            ("inside", True, 0.5, 1.0, 4.0, 0.0),
            ("sure", True, 1.0, 2.0, 0.0, 0.0),
        ]
    )
    table = UnitsByWorld.of([one, two]).table(["one", "two"], np.array([0.5, 0.5])).set_index("unit")
    assert table["mostly"].tolist() == ["between", "structural", "certain"]
    assert table["between"].tolist()[:2] == [1.0, 0.0]
    assert table["agreement"].tolist() == ["some", "all", "all"]


def test_a_unit_that_a_world_lacks_was_not_examined(posteriors):
    def some(posterior):
        rows = [("both", True, 0.9, 0.5, 0.1, 0.1)]
        seen = posterior.scm is posteriors["gap"].scm
        return Stated([*rows, ("alone", True, 0.8, 0.4, 0.1, 0.1)] if seen else rows)

    two = {name: posteriors[name] for name in ("gap", "equal")}
    result = ca.compare_worlds(two, some, {"gap": 1, "equal": 3}, progress=False)
    alone = result.table.set_index("unit").loc["alone"]
    assert (alone["verdict_gap"], alone["verdict_equal"], alone["worlds_examined"]) == ("flagged", "not examined", 1)
    assert alone["probability"] == 0.8
    assert alone["agreement"] == "all"
    assert np.isnan(alone["value_equal"])
    assert result.headline["weight"].tolist() == [0.25, 0.75]
    assert "(“equal” did not examine it)" in result.statement("alone")


def test_sentences_have_numbers(result):
    disputed = result.table[result.table["agreement"] == "some"].iloc[0]
    told = result.statement(disputed["unit"])
    assert told == result.statement(disputed["words"]) == result.statement(disputed["unit"][0])
    assert told.startswith(f"{disputed['unit'][0]} (sex = f against m, negative discrimination) is flagged in ")
    assert "averaged by stacking weights and between" in told
    assert "would be overturned were" in told
    united = result.table[result.table["agreement"] == "none"].iloc[0]
    assert "only a world that is not among these would overturn that" in result.statement(united["unit"])
    with pytest.raises(DataError, match="'nobody' is not a unit of this comparison; there are"):
        result.statement("nobody")


class Bounded(Stated):
    """An audit that says between what its value lies under any coupling, too."""

    BOUNDED = "difference"

    def __init__(self, rows, low, high):
        super().__init__(rows)
        object.__setattr__(self, "ends", {"coupling_low": low, "coupling_high": high})

    def by_unit(self, beside=()):
        return super().by_unit(beside).assign(**self.ends)


def test_sentences_say_between_which_bounds_over_couplings(posteriors):
    rows = [("moved", True, 0.9, 0.5, 0.1, 0.1), ("fixed", True, 0.9, 0.5, 0.1, 0.1)]

    def some(posterior):
        there = posterior.scm is posteriors["gap"].scm
        return Bounded(rows, [0.1, 0.3 + there], [0.4 + there, 0.3 + there])

    two = {name: posteriors[name] for name in ("gap", "equal")}
    result = ca.compare_worlds(two, some, "equal", progress=False)
    assert result.table["coupling_low_gap"].tolist() == [0.1, 1.3]
    assert result.table["coupling_high_equal"].tolist() == [0.4, 0.3]
    moved, fixed = (result.statement(unit) for unit in ("moved", "fixed"))
    assert "under any coupling of the noise its difference lies between 0.1 and 1.4" in moved
    assert moved.endswith("only a world or a coupling that is not among these would overturn that.")
    assert "no coupling of the noise changes its difference" in fixed
    assert fixed.endswith("only a world that is not among these would overturn that.")


def test_results_are_saved(result, tmp_path):
    from causalaudit.storage import same

    result.save(tmp_path / "worlds.nc")
    loaded = ca.load(tmp_path / "worlds.nc")
    assert same(
        [loaded.loo, loaded.table, loaded.headline, loaded.settings],
        [result.loo, result.table, result.headline, result.settings],
    )
    assert loaded.statement(result.table["unit"][0]) == result.statement(result.table["unit"][0])
    assert repr(loaded) == repr(result)


@pytest.mark.slow
def test_workers_are_those_of_joblib(posteriors, result):
    with joblib.parallel_config("loky", n_jobs=2):
        again = ca.compare_worlds(posteriors, audit, progress=False)
    pd.testing.assert_frame_equal(again.table, result.table)
    pd.testing.assert_frame_equal(again.loo, result.loo)


def test_results_say_that_fit_is_not_causal_truth(result):
    for shown in (repr(result), result._repr_html_()):
        assert "rank how worlds predict what was observed, not which of them is causally true" in shown


def test_a_scan_is_compared_by_the_subgroups_that_any_world_found(people):
    rng = np.random.default_rng(1)
    people = people.assign(
        region=rng.choice(["north", "south"], len(people)),
        hired=rng.integers(2, size=len(people)),
        rank=rng.integers(2, size=len(people)),
    )
    posteriors = {"gap": fitted(normal_score, people), "equal": fitted(equal_score, people)}

    def scan(posterior):
        penalty = 0.1 if posterior.scm is posteriors["gap"].scm else 0.3
        return ca.scan_bias(
            people, {"sex": "f"}, "hired", recommendation="rank", features=["region"], penalty=penalty,
            criterion="separation", draws=50, seed=0, progress=False,
        )  # fmt: skip

    results = [scan(one) for one in posteriors.values()]
    found = {str(one) for answer in results for one in answer.subgroups}
    table = ca.compare_worlds(posteriors, scan, "equal", progress=False).table
    assert len(table) == len(found)
    assert (table["worlds_examined"] == 2).all()
    for answer, world in zip(results, posteriors, strict=True):
        for subgroup in answer.subgroups:
            row = answer.disparity(subgroup)
            own = table[np.isclose(table[f"value_{world}"], row["disparity"])].iloc[0]
            assert (own[f"verdict_{world}"] == "flagged") == (row["credible_low"] > 0)


def test_different_columns_are_refused(people, posteriors):
    def more(n):
        base = pyro.sample("base", dist.Normal(10.0, 5.0))
        with pyro.plate("individuals", n):
            sex = pyro.sample("sex", dist.Bernoulli(0.5))
            pyro.sample("score", dist.Normal(base + sex, 4.0))
            pyro.sample("other", dist.Normal(sex, 1.0))

    wide = people.assign(other=0.5)
    two = {"gap": posteriors["gap"], "more": fitted(more, wide)}
    with pytest.raises(DataError, match=r"explain different columns: 'other' is no variable of 'gap'"):
        ca.compare_worlds(two, audit, progress=False)
    result = ca.compare_worlds(two, audit, "equal", progress=False)
    assert result.loo["elpd"].isna().all()
    assert "'other' is no variable of 'gap'" in result.settings["not_scored"]


def test_a_rounding_cell_of_a_confounded_score_is_refused(people, posteriors):
    two = {"gap": fitted(normal_score, people), "count": posteriors["count"]}
    scm = two["gap"].scm.confounded("sex", "score", rho=0.2)
    two["gap"] = ca.fit(scm, people, draws=50, chains=2, seed=0, progress=False)
    with pytest.raises(DataError, match=r"confounded in 'gap', where the probability of a rounding cell is not known"):
        ca.compare_worlds(two, audit, progress=False)


def test_a_root_may_be_given_in_one_world(people, posteriors):
    two = {"gap": posteriors["gap"], "given": fitted(given_sex, people)}
    scored = ScoredColumns.of(two)
    assert scored.names == ("score",)
    elpd = leave_one_out(two["given"], people.index, scored).elpd
    assert np.allclose(elpd, norm(10.0 + (people.sex == "f"), 3.0).logpdf(people.score))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ("best", r"weights is 'best', but must be one of 'stacking', 'evidence', 'equal'"),
        (3, r"weights is 3, but must be one of"),
        ({"gap": 1.0}, r"weights leave out 'equal'"),
        ({"gap": 1.0, "equa": 1.0}, r"weights name 'equa', which is not a world: did you mean 'equal'\?"),
        ({"gap": -1.0, "equal": 1.0, "count": 0.0}, r"must be numbers of at least 0"),
        ("evidence", r"weights=\"evidence\" cannot be had: 'score' is a count in one world"),
    ],
)
def test_bad_weights(weights, message, posteriors):
    with pytest.raises(DataError, match=message):
        ca.compare_worlds(posteriors, lambda _: Stated([("a", True, 1.0, 1.0, 0.0, 0.0)]), weights, progress=False)


def test_worlds_on_different_people_are_refused(people, posteriors):
    fewer = {**posteriors, "equal": fitted(equal_score, people.iloc[:-1])}
    with pytest.raises(DataError, match=r"'gap' and 'equal' are on different people \(150 and 149, by index\)"):
        ca.compare_worlds(fewer, audit, progress=False)
    others = {**posteriors, "equal": fitted(equal_score, people.assign(score=people.score + 1))}
    with pytest.raises(DataError, match=r"on different people: 'score' of row 'p0' is"):
        ca.compare_worlds(others, audit, progress=False)


def test_bad_worlds_and_audits(people, posteriors):
    with pytest.raises(DataError, match="names of at least two worlds"):
        ca.compare_worlds({"gap": posteriors["gap"]}, audit)
    with pytest.raises(DataError, match=r"posterior must come from causalaudit.fit, but is int"):
        ca.compare_worlds({"gap": posteriors["gap"], "bad": 3}, audit)
    with pytest.raises(DataError, match="audit must be a function of a posterior"):
        ca.compare_worlds(posteriors, "situation testing")
    with pytest.raises(DataError, match="audit must return the result of an auditor, but returned int in 'gap'"):
        ca.compare_worlds(posteriors, lambda _: 3, progress=False)
    with pytest.raises(InterventionError, match=r"In the world 'gap': There is no variable 'sexx' to intervene on"):
        ca.compare_worlds(posteriors, lambda one: ca.counterfactuals(one, {"sexx": "m"}), progress=False)
    point = {**posteriors, "gap": fitted(normal_score, people, method="map")}
    with pytest.raises(InferenceError, match="fitted by 'map', a point without draws"):
        ca.compare_worlds(point, audit)


def test_a_world_that_was_not_fitted_well_is_refused_unless_asked(people, posteriors):
    bad = fitted(normal_score, people)
    statistics = bad.idata["sample_stats"].attrs
    statistics["pareto_k"] = 0.9
    two = {"equal": posteriors["equal"], "bad": bad}
    answer = Stated([("a", True, 1.0, 1.0, 0.0, 0.0)])
    with pytest.raises(InferenceError, match=r"The world 'bad' was not fitted well: .*untrusted=True"):
        ca.compare_worlds(two, lambda _: answer, "equal", progress=False)
    assert len(ca.compare_worlds(two, lambda _: answer, "equal", untrusted=True, progress=False).headline) == 2


def test_somebody_whom_no_world_foresees_is_warned_of(people):
    """One person a dozen spreads away carries the posterior: nobody can be left out in her place."""
    odd = people.assign(score=people.score.where(people.index != "p3", 200))
    two = {"gap": fitted(normal_score, odd), "equal": fitted(equal_score, odd)}
    answer = Stated([("a", True, 1.0, 1.0, 0.0, 0.0)])
    with pytest.warns(CausalAuditWarning, match="leave-one-out density of somebody is not to be trusted in"):
        ca.compare_worlds(two, lambda _: answer, progress=False)


def test_plots_show_what_the_tables_say(result):
    drawn = ca.plots.plot_verdict_map(result)
    assert [label.get_text() for label in drawn.get_xticklabels()] == result.worlds
    assert drawn.images[0].get_array().shape == ((result.table["worlds_flagged"] > 0).sum(), 3)
    assert result.plot().get_ylabel() == drawn.get_ylabel()
    bars = ca.plots.plot_variance_shares(result, most=5)
    assert len(bars.get_yticklabels()) == 5
    totals = sum(np.array([bar.get_width() for bar in part]) for part in bars.containers)
    assert np.allclose(np.sort(totals)[::-1], result.table["variance"].nlargest(5))
    numbers = ca.plots.plot_headlines(result)
    assert numbers.get_xlabel() == "cases at k = 5"
    with pytest.raises(DataError, match="There is nothing to draw"):
        ca.plots.plot_verdict_map(result, units=[])
