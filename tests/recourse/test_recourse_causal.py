"""Causal recourse: against counterfactuals one by one, closed forms, and independent recourse."""

import numpy as np
import pandas as pd
import pytest
import schooling
from recourse_people import assert_same_answers
from schooling import ARGUMENTS, BINNED, STANDS, actions, binned, classifier, learned_cuts, sample
from scipy import stats

import causalaudit as ca
from causalaudit.decisions import decide_draws
from causalaudit.errors import CausalAuditWarning, DataError, InferenceError, InterventionError
from causalaudit.recourse.causal.modelled_people import Bins, ModelledPeople
from causalaudit.recourse.intervals.credible import credible_interval
from causalaudit.recourse.intervals.scores import towards
from causalaudit.recourse.question.coding import code_people
from causalaudit.storage import same

FREE = ca.Actions(immutable=["region"])


@pytest.fixture(scope="module")
def people():
    return sample()


@pytest.fixture(scope="module")
def posterior(people):
    return ca.fit(schooling.scm(schooling.fitted), people, draws=10, chains=4, seed=0, progress=False)


@pytest.fixture(scope="module")
def result(people, posterior):
    return ca.audit_recourse(binned(people), classifier, posterior=posterior, **BINNED)


def few_draws(program, people, names):
    """Draws of a program without parameters, whose variables with levels are named."""
    scm = ca.SCM(program, levels={name: schooling.LEVELS[name] for name in names})
    return ca.fit(scm, people, draws=3, chains=1, progress=False)


def test_without_causes_among_features_it_is_independent_recourse_exactly(people):
    """Sex causes every feature, but the protected column does not change."""
    posterior = ca.fit(schooling.scm(schooling.unrelated), people, draws=10, chains=2, seed=0, progress=False)
    data = binned(people)
    independent = ca.audit_recourse(data, classifier, **ARGUMENTS)
    causal = ca.audit_recourse(data, classifier, posterior=posterior, **BINNED)
    columns = [name for name in independent.table if not name.startswith("credible")]
    pd.testing.assert_frame_equal(causal.table[columns], independent.table[columns], check_exact=True)
    np.testing.assert_array_equal(causal.candidates.flipped, independent.candidates.flipped)
    np.testing.assert_array_equal(causal.candidates.reached, independent.candidates.reached)
    np.testing.assert_array_equal(causal.table["credible_high"], causal.table["score"])
    np.testing.assert_array_equal(causal.table["credible_low"], causal.table["score"])
    assert independent.table[["credible_low", "credible_high"]].isna().all(axis=None)
    assert set(causal.probabilities()["prob_unfair"]) <= {0.0, 1.0}


def test_counts_are_those_of_counterfactuals_one_by_one(people, posterior, result):
    """The same noise, with which each person responds to every action."""
    data = binned(people)
    affected, cuts = data.index[classifier(data) == 0], learned_cuts(people)

    def decide(worlds, change):
        """The prediction of each draw, hours being read as bins."""

        def read(frame):
            return classifier(binned(frame, cuts).assign(**change))

        return decide_draws(read, worlds)

    candidates, counts, checked = result.candidates, result.draws, 0
    for subgroup in range(0, len(candidates), 7):
        before = result.vocabulary.predicate(candidates.subgroups[subgroup])
        own = (data.loc[affected, list(before)] == pd.Series(before)).all(axis=1).to_numpy()
        men = (data.loc[affected, "sex"] == result.groups[1]).to_numpy()
        reached = np.zeros((40, len(affected)), dtype=bool)
        for pair in range(candidates.pairs(subgroup).start, candidates.pairs(subgroup).stop):
            after = result.vocabulary.predicate(candidates.actions[pair])
            change = {name: value for name, value in after.items() if before[name] != value}
            do = {name: STANDS.get(name, {}).get(value, value) for name, value in change.items() if name != "region"}
            worlds = ca.counterfactuals(posterior, do, rows=affected, progress=False)
            good = decide(worlds, change) > 0
            reached |= good
            for group, members in enumerate((own & ~men, own & men)):
                np.testing.assert_array_equal(counts.flipped[:, group, pair], good[:, members].sum(axis=1))
                np.testing.assert_array_equal(counts.reached[:, group, pair], reached[:, members].sum(axis=1))
            checked += 1
    assert checked >= 15


@pytest.mark.parametrize("r", [1, 0.5, 0, -1])
def test_what_an_action_keeps_responds(people, r):
    """More schooling may give a better job to those of whom only schooling and a bad job are known."""
    posterior = ca.fit(schooling.scm(schooling.known), people, draws=4, chains=50, seed=1, progress=False)
    posterior = posterior.with_coupling({"job": r})
    rule = lambda table: (table["job"] == "high") | (table["region"] == "n")  # noqa: E731
    arguments = {**ARGUMENTS, "features": ["school", "job", "region"], "actions": FREE, "support": 0.01}
    hired = ca.audit_recourse(people, rule, posterior=posterior, **arguments)
    assert (
        hired.settings["coupling"] == {"sex": "monotone", "school": "gumbel", "job": r, "hours": "monotone"} or r == 1
    )
    actions = hired.actions({"school": "none", "job": "low"})
    (row,) = [place for place, action in enumerate(actions["action"]) if action == {"school": "much"}]
    # The chance of the noise of who was not hired with no schooling that hires with much of it.
    low, high = (1 / (1 + np.exp(-(-1.0 + 1.2 * school))) for school in (0, 2))
    # Noise above 1 - p gives a job; that in the other world has the correlation r with it, on the normal scale.
    ends = stats.norm.ppf([1 - low, high])
    both = stats.multivariate_normal([0, 0], [[1, -r], [-r, 1]], allow_singular=True).cdf(ends)
    expected = both / (1 - low)
    assert r != 1 or expected == pytest.approx((high - low) / (1 - low))
    sizes = hired.candidates.sizes[:, hired.place({"school": "none", "job": "low"})]
    for group in (0, 1):
        error = np.sqrt(expected * (1 - expected) / sizes[group] / 200)
        assert abs(actions[f"effectiveness{group}"][row] - expected) <= 4 * error


def test_numbers_that_are_not_binned_respond_as_they_are(people):
    posterior = ca.fit(schooling.scm(schooling.known), people, draws=2, chains=1, seed=0, progress=False)
    rule = lambda table: (table["hours"] > 33.0).astype(int)  # noqa: E731
    arguments = {**ARGUMENTS, "features": ["job", "hours"], "actions": ca.Actions()}
    found = ca.audit_recourse(people, rule, posterior=posterior, **arguments)
    actions = found.actions({"job": "low"})
    affected = people[(people["hours"] <= 33.0) & (people["job"] == "low")]
    for group, level in enumerate(found.groups):
        own = affected.loc[affected["sex"] == level, "hours"]
        assert actions[f"effectiveness{group}"].tolist() == [(own + schooling.TRUTH["pay"] > 33.0).mean()]


@pytest.mark.filterwarnings("ignore:The .* draws of the posterior differ")
def test_people_outside_the_fit_are_asked_about_by_their_own_columns(people):
    others = sample(500, seed=5).set_axis([f"q{number}" for number in range(500)])
    posterior = ca.fit(schooling.scm(schooling.fitted), people, draws=5, chains=2, seed=0, progress=False)
    arguments = {**ARGUMENTS, "features": ["school", "job", "region"], "actions": FREE}
    rule = lambda table: classifier(table.assign(hours="mid"))  # noqa: E731
    found = ca.audit_recourse(others, rule, posterior=posterior, **arguments)
    assert found.table["credible_low"].notna().all()


def test_same_seed_same_bits_for_any_size_of_batches(people, posterior, result, monkeypatch):
    monkeypatch.setattr("causalaudit.recourse.causal.tried_changes._CELLS", 40 * 300)
    monkeypatch.setattr("causalaudit.recourse.causal.draw_counts._COUNTED", 10_000)
    monkeypatch.setattr("causalaudit.recourse.causal.draw_counts._NOTION_CELLS", 500)
    monkeypatch.setattr("causalaudit.recourse.causal.counterfactual_answers.ROWS", 7)
    monkeypatch.setattr("causalaudit.recourse.evidence.row_keys._LARGEST", 10)
    again = ca.audit_recourse(binned(people), classifier, posterior=posterior, **BINNED)
    pd.testing.assert_frame_equal(again.table, result.table, check_exact=True)
    np.testing.assert_array_equal(again.draws.reached, result.draws.reached)
    pd.testing.assert_frame_equal(again.individuals(), result.individuals(), check_exact=True)
    monkeypatch.undo()
    other = ca.audit_recourse(binned(people), classifier, posterior=posterior, seed=1, **BINNED)
    assert (other.draws.reached != result.draws.reached).any()


def test_as_many_draws_as_asked_for(people, posterior):
    with pytest.warns(CausalAuditWarning, match=r"The 7 draws .* too few .* at the level 0\.05.*: 40 are needed"):
        few = ca.audit_recourse(binned(people), classifier, posterior=posterior, draws=7, **BINNED)
    assert few.draws.flipped.shape[0] == 7
    assert few.settings["draws"] == 7
    # Of a fair world 22 % were flagged with 8 draws: so few do not tell how far the parameters may be.
    assert few.table[["simultaneous_low", "simultaneous_high"]].isna().all(axis=None)
    assert not few.verdicts["flagged"].any()
    assert few.table["credible_low"].notna().all()
    axes = ca.plots.plot_effectiveness_cost(few, few.table["subgroup"][0])
    assert not any(path.vertices[:, 1].any() for band in axes.collections for path in band.get_paths())
    assert "interval, for all" not in str(few.explain(few.table["subgroup"][0]))


def test_intervals_and_probabilities_are_those_of_the_draws(result):
    idata = result.to_inference_data()
    draws = idata["posterior"]["difference"].to_numpy()[0]
    assert draws.shape == (40, len(result.notions), len(result.candidates))
    for place, (notion, rows) in enumerate(zip(result.notions, result.by_notion(), strict=True)):
        values = result.values.loc[rows.index].to_numpy().T
        sign = np.where(notion.is_cost, 1, -1) * notion.disadvantage(values)
        ends = towards(credible_interval(draws[:, place], 0.9), sign)
        np.testing.assert_array_equal(rows[["credible_low", "credible_high"]].to_numpy().T, ends)
        chances = result.probabilities(tolerance=0.02).loc[rows.index]
        worse = draws[:, place] * (1 if notion.is_cost else -1)
        np.testing.assert_allclose(chances["prob_against0"], (worse > 0.02).mean(axis=0))
        np.testing.assert_allclose(chances["prob_against1"], (worse < -0.02).mean(axis=0))
        against = rows["bias_against"].map({result.groups[0]: "prob_against0", result.groups[1]: "prob_against1"})
        for (_, chance), name in zip(chances.iterrows(), against, strict=True):
            expected = chance[name] if isinstance(name, str) else chance[["prob_against0", "prob_against1"]].max()
            assert chance["prob_unfair"] == expected
        scores = np.abs(draws[:, place]).round(12)
        np.testing.assert_allclose(
            chances["prob_first"], ((scores == scores.max(axis=1)[:, None]) & (scores > 0)).mean(axis=0)
        )
    assert result.summary()["prob_first"].between(0, 1).all()
    assert result.probabilities(tolerance=np.inf)["prob_unfair"].eq(0).all()


def test_verdicts_and_the_headline_are_by_draw(result):
    drawn = result.to_inference_data()["posterior"]["difference"].to_numpy()[0]
    verdicts = result.verdicts.set_index("unit")
    for place, notion in enumerate(result.notions):
        worse = drawn[:, place] * (1 if notion.is_cost else -1)
        for at in range(0, len(result.labels), 5):
            name, own = f"{notion.label}: {result.labels[at]}", worse[:, at]
            if notion.is_distance:
                units = {f"{name}, f and m differ": np.abs(own)}
            else:
                units = {
                    f"{name}, against {group}": sign * own for group, sign in zip(result.groups, (1, -1), strict=True)
                }
            for unit, values in units.items():
                assert verdicts.loc[unit, "probability"] == (values > 0).mean()
                expected = values.var() if np.isfinite(values).all() else np.nan
                np.testing.assert_allclose(verdicts.loc[unit, "structural"], expected, atol=1e-12)
    assert verdicts["sampling"].isna().all()
    sizes = result.candidates.sizes.sum(axis=0)
    np.testing.assert_allclose(result.headline, drawn[:, 0] @ sizes / sizes.sum())
    told = result.intervals["known"].str.contains("the parameters of the causal model are not")
    assert told.tolist() == [True, False]


def test_a_causal_result_is_saved_and_loaded(result, tmp_path):
    result.save(tmp_path / "causal.nc")
    loaded = ca.load(tmp_path / "causal.nc")
    assert same(result, loaded)
    assert_same_answers(result, loaded)
    pd.testing.assert_frame_equal(loaded.probabilities(0.05), result.probabilities(0.05), check_exact=True)
    with pytest.raises(DataError, match="asks the classifier about twins is code, which is never saved: run the audit"):
        loaded.individuals()


def test_credible_intervals_of_infinite_draws():
    draws = np.array([[1.0, np.inf, -np.inf], [1.0, np.inf, 2.0], [2.0, np.inf, 2.0], [np.inf, np.inf, 3.0]])
    np.testing.assert_array_equal(credible_interval(draws, 0.75), [[1, np.inf, 2], [2, np.inf, 3]])
    np.testing.assert_array_equal(credible_interval(draws, 1.0), [[1, np.inf, -np.inf], [np.inf, np.inf, 3]])


def test_draws_with_and_without_recourse_warn_of_nothing_and_score_by_the_expected_effectiveness(result):
    for notion in result.notions:
        expected = notion.disadvantage(notion.values(result.candidates))
        np.testing.assert_array_equal(result.rows(notion)["score"], np.abs(expected))
    np.testing.assert_allclose(result.candidates.flipped, result.draws.flipped.mean(axis=0))


def test_the_protected_column_never_responds():
    """Even where the model lets a feature cause it."""

    def program(n):
        with schooling.pyro.plate("individuals", n):
            job = schooling.pyro.sample("job", schooling.dist.Bernoulli(0.5))
            schooling.pyro.sample("sex", schooling.dist.Bernoulli(0.2 + 0.6 * job))

    people = sample(400)
    posterior = few_draws(program, people, ("sex", "job"))
    rule = lambda table: ((table["job"] == "high") & (table["sex"] == "m")) | (table["region"] == "n")  # noqa: E731
    arguments = {"protected": "sex", "features": ["job", "region"], "actions": FREE, "progress": False}
    causal = ca.audit_recourse(people, rule, posterior=posterior, **arguments)
    independent = ca.audit_recourse(people, rule, **arguments)
    np.testing.assert_array_equal(causal.candidates.flipped, independent.candidates.flipped)


def test_people_who_lack_values_in_the_fit_are_audited_as_they_were_completed(people):
    def program(n):
        with schooling.pyro.plate("individuals", n):
            sex = schooling.pyro.sample("sex", schooling.dist.Bernoulli(0.5))
            schooling.pyro.sample("job", schooling.dist.Bernoulli(0.3 + 0.2 * sex))

    known = people.assign(job=people["job"].mask(np.arange(len(people)) % 5 == 0))
    posterior = few_draws(program, known, ("sex", "job"))
    rule = lambda table: (table["job"] == "high") | (table["region"] == "n")  # noqa: E731
    arguments = {"protected": "sex", "features": ["job", "region"], "actions": FREE, "progress": False}
    with pytest.raises(DataError, match=r"'job' is missing for .*\.completions\(\)"):
        ca.audit_recourse(known, rule, posterior=posterior, **arguments)
    completed, _ = next(ca.counterfactuals(posterior, {}, draws=1, progress=False).completions())
    found = ca.audit_recourse(completed, rule, posterior=posterior, **arguments)
    assert found.draws is not None


class TestIndividuals:
    def test_a_twin_with_another_job_pays_less(self, people):
        """With known equations and one action, costs are those of the noise."""
        posterior = ca.fit(schooling.scm(schooling.known), people, draws=3, chains=1, seed=0, progress=False)
        rule = lambda table: (table["hours"] > 33.0 + 2.0 * (table["sex"] == "f")).astype(int)  # noqa: E731
        arguments = {**ARGUMENTS, "features": ["job", "hours"], "actions": ca.Actions(immutable=["hours"])}
        found = ca.audit_recourse(people, rule, posterior=posterior, **arguments)
        table = found.individuals()
        own = people.loc[table.index]
        assert (own["job"] == "low").any()
        limit = np.where(own["sex"] == "f", 35.0, 33.0)
        other = lambda frame: np.where(frame["sex"] == "f", "m", "f")  # noqa: E731
        affected = people.index[rule(people) == 0]
        worlds = ca.counterfactuals(posterior, {"sex": other}, rows=affected, progress=False).dataset
        job, hours = (worlds[name].sel(individual=table.index.to_numpy()).to_numpy() for name in ("job", "hours"))

        def costs(job, hours, threshold):
            hired = hours + schooling.TRUTH["pay"] * (job == 0)
            return np.where(hours > threshold, 0.0, np.where((hired > threshold) & (job == 0), 1.0, np.inf))

        ours = costs((own["job"] == "high").to_numpy().astype(int), own["hours"].to_numpy(), limit)
        theirs = costs(job, hours, 68.0 - limit)
        np.testing.assert_array_equal(table["cost"], ours)
        np.testing.assert_array_equal(table["twin_cost"], np.median(theirs, axis=0))
        both = np.isinf(ours) & np.isinf(theirs)
        apart = np.where(both, 0.0, ours - np.where(both, 0.0, theirs))
        np.testing.assert_allclose(table["prob_worse"], (apart > 0).mean(axis=0))
        np.testing.assert_allclose(table["prob_better"], (apart < 0).mean(axis=0))

    def test_twins_of_a_world_without_effects_of_sex_differ_by_the_classifier_alone(self, people):
        def program(n):
            with schooling.pyro.plate("individuals", n):
                schooling.pyro.sample("sex", schooling.dist.Bernoulli(0.5))
                schooling.pyro.sample("job", schooling.dist.Bernoulli(0.5))

        posterior = ca.fit(
            ca.SCM(program, levels={name: schooling.LEVELS[name] for name in ("sex", "job")}),
            people,
            draws=2,
            chains=1,
            progress=False,
        )
        arguments = {"protected": "sex", "features": ["job", "region"], "actions": FREE, "progress": False}
        fair = ca.audit_recourse(people, lambda table: table["job"] == "high", posterior=posterior, **arguments)
        assert fair.individuals()[["credible_low", "credible_high", "prob_worse", "prob_better"]].eq(0).all(axis=None)
        harsh = ca.audit_recourse(
            people,
            lambda table: (table["job"] == "high") & ((table["sex"] == "m") | (table["region"] == "n")),
            posterior=posterior,
            **arguments,
        ).individuals()
        south = people.loc[harsh.index, "region"] == "s"
        women = harsh["sex"] == "f"
        assert harsh.loc[women & south, "prob_worse"].eq(1).all()
        assert harsh.loc[~women & south, "prob_better"].eq(1).all()
        assert harsh.loc[~south, ["prob_worse", "prob_better"]].eq(0).all(axis=None)

    def test_all_features_at_once(self, result, people):
        table = result.individuals(tolerance=0.5)
        assert table.index.isin(people.index).all()
        assert (table["prob_worse"] + table["prob_better"] <= 1).all()
        assert (table.loc[table["sex"] == "f", "prob_worse"].mean()) > table.loc[
            table["sex"] == "m", "prob_worse"
        ].mean()
        assert (table["cost"] > 0).all()


class TestBadInput:
    def test_values_without_a_posterior(self, people):
        with pytest.raises(DataError, match="values say what bins stand for in a model, but there is no posterior"):
            ca.audit_recourse(binned(people), classifier, **BINNED)

    @pytest.mark.parametrize(
        ("values", "message"),
        [
            (
                None,
                r"'hours' differs between data and the posterior's data .* Actions\(values={'hours': {bin: value}}\)",
            ),
            ({"hour": {}}, "values names 'hour', which is not a feature that the model has: did you mean 'hours'"),
            ({"region": {}}, "values names 'region', which is not a feature that the model has"),
            ({"hours": {"short": 25.0, "mid": 32.0}}, "does not say what 'long' stands for"),
            ({"hours": {"short": 25.0, "mid": 32.0, "long": 33.0}}, "33.0 is to stand for 'long' .* not in that bin"),
        ],
    )
    def test_wrong_values(self, people, posterior, values, message):
        with pytest.raises(DataError, match=message):
            ca.audit_recourse(
                binned(people), classifier, posterior=posterior, **{**ARGUMENTS, "actions": actions(values=values)}
            )

    def test_bins_that_are_no_ranges(self, people, posterior):
        mixed = binned(people).assign(hours=np.resize(schooling.ORDERS["hours"], len(people)))
        with pytest.raises(DataError, match="The bins of 'hours' are not ranges of its values in the model"):
            ca.audit_recourse(mixed, classifier, posterior=posterior, **BINNED)

    def test_binned_people_outside_the_fit(self, people, posterior):
        others = binned(people).set_axis(range(len(people)))
        with pytest.raises(DataError, match="some people are not in the fit"):
            ca.audit_recourse(others, classifier, posterior=posterior, **BINNED)

    def test_people_outside_the_fit_without_the_columns_of_the_model(self, people, posterior):
        others = people.drop(columns="school").set_axis(range(len(people)))
        arguments = {**ARGUMENTS, "features": ["job", "region"], "actions": FREE}
        with pytest.raises(DataError, match="'school', but data has no such column"):
            ca.audit_recourse(others, lambda table: table["job"] == "high", posterior=posterior, **arguments)

    def test_a_model_of_other_things(self, people):
        posterior = ca.fit(ca.models.loan.linear(), ca.datasets.make_loan(60), draws=2, chains=1, progress=False)
        with pytest.raises(DataError, match="The posterior has none of the features as a variable; it has gender"):
            ca.audit_recourse(binned(people), classifier, posterior=posterior, **ARGUMENTS)

    def test_no_posterior_no_probabilities(self, people):
        found = ca.audit_recourse(binned(people), classifier, **ARGUMENTS)
        for question in (found.probabilities, found.individuals):
            with pytest.raises(DataError, match="Probabilities need a posterior"):
                question()

    def test_twins_need_the_protected_column_in_the_model(self, people):
        def program(n):
            with schooling.pyro.plate("individuals", n):
                schooling.pyro.sample("job", schooling.dist.Bernoulli(0.5))

        posterior = few_draws(program, people, ("job",))
        rule = lambda table: table["job"] == "high"  # noqa: E731
        found = ca.audit_recourse(people, rule, "sex", ["job"], posterior=posterior, progress=False)
        with pytest.raises(DataError, match="The model has no variable 'sex'"):
            found.individuals()

    def test_twins_need_one_other_level(self, people):
        posterior = ca.fit(schooling.scm(schooling.known), people, draws=2, chains=1, seed=0, progress=False)
        rule = lambda table: table["hours"] == "long"  # noqa: E731
        arguments = {"features": ["job", "hours"], "actions": ca.Actions(values=STANDS), "progress": False}
        found = ca.audit_recourse(
            binned(people), rule, {"school": "none"}, posterior=posterior, support=0.05, **arguments
        )
        assert found.groups == ("everyone else", "none")
        with pytest.raises(DataError, match=r"a twin has one other level: name it, .*\('none', reference\)"):
            found.individuals()

    def test_a_response_whose_bin_nobody_tells(self):
        """It was read as the last bin."""
        people = code_people(pd.DataFrame({"sex": ["f", "m"], "job": ["a", "b"]}), "sex", ["job"])
        bins = {"job": Bins(None, np.array([0, -1, 1]))}
        modelled = ModelledPeople(None, people, None, None, {}, bins, joint=False)
        with pytest.raises(InterventionError, match="'job' has a level that nobody has"):
            modelled.column("job", np.array([[0, 1]]))

    def test_an_action_that_leads_to_a_level_whose_bin_nobody_tells(self):
        """Schooling makes nearly everybody "mid", which nobody is: it was read as the last bin, which is favourable."""

        def program(n):
            with schooling.pyro.plate("individuals", n):
                schooling.pyro.sample("sex", schooling.dist.Bernoulli(0.5))
                taught = schooling.pyro.sample("taught", schooling.dist.Bernoulli(0.1))[..., None]
                logits = schooling.torch.tensor([2.0, -8.0, 0.0]) + taught * schooling.torch.tensor([0.0, 14.0, 1.0])
                schooling.pyro.sample("job", schooling.dist.Categorical(logits=logits))

        rng = np.random.default_rng(0)
        people = pd.DataFrame(
            {
                "sex": rng.choice(["m", "f"], 400),
                "taught": rng.choice(["no", "yes"], 400),
                "job": rng.choice(["low", "high"], 400, p=[0.8, 0.2]),
            }
        )
        levels = {"sex": ["m", "f"], "taught": ["no", "yes"], "job": ["low", "mid", "high"]}
        posterior = ca.fit(ca.SCM(program, levels=levels), people, draws=3, chains=1, progress=False)
        data = people.assign(job=people["job"].map({"low": "bad", "high": "good"}))
        actions = ca.Actions(values={"job": {"bad": "low", "good": "high"}})
        arguments = {"posterior": posterior, "actions": actions, "progress": False}
        with pytest.raises(InterventionError, match="'job' has a level that nobody has: its bin is unknown"):
            ca.audit_recourse(data, lambda table: table["job"] == "good", "sex", ["taught", "job"], **arguments)

    def test_an_action_that_the_model_cannot_take(self, people):
        def program(n):
            with schooling.pyro.plate("individuals", n):
                hours = schooling.pyro.sample("hours", schooling.dist.LogNormal(3.0, 1.0))
                schooling.pyro.sample("job", schooling.dist.Bernoulli(logits=hours / 30.0))

        people = people[people["hours"] > 0]
        posterior = few_draws(program, people, ("job",))
        stands = {"hours": {"short": -1.0, "mid": 32.0, "long": 42.0}}
        with pytest.raises(InterventionError, match=r"impossible in the model: 'hours' has the value -1\.0"):
            ca.audit_recourse(
                binned(people), classifier, posterior=posterior, **{**ARGUMENTS, "actions": actions(values=stands)}
            )


def test_posteriors_of_weighted_people_are_refused(people):
    weighted = people.assign(w=np.arange(len(people)) % 3)
    program = schooling.scm(schooling.unrelated)
    posterior = ca.fit(program, weighted, "map", draws=1, chains=1, weights="w", progress=False)
    with pytest.raises(InferenceError, match=r"have weights \('w'\): recourse counts people .* Fit without weights"):
        ca.audit_recourse(binned(people), classifier, posterior=posterior, **BINNED)
