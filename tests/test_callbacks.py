"""Functions of the user get copies: whatever they do to what they are given, answers and the user's objects stay."""

import numpy as np
import pandas as pd
import pytest
from auditors import GRAPH, fit_posterior, make_people, rule
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

import causalaudit as ca
from causalaudit.bias_scan import evaluate_power
from causalaudit.callbacks import answer_of
from causalaudit.decisions import decide, decide_draws
from causalaudit.errors import DataError, InterventionError

# what is tested is deprecated in pandas 3.1, but users have it
pytestmark = pytest.mark.filterwarnings("ignore:The inplace keyword")

SCORES = pd.DataFrame({"score": [3.0, 1.0, 2.0, 1.0]}, index=["ann", "bob", "cem", "dua"])


def overwrite(table):
    for name in table.columns:
        table[name] = table[name].iloc[0]


def write_into(table):
    for name in table.columns:
        values = table[name].to_numpy()
        if values.flags.writeable:
            values[:] = values[0]


def put_first(table):
    for place in range(table.shape[1]):
        table.iloc[1:, place] = table.iloc[0, place]


def add(table):
    table["added"] = 1


def sort(table):
    table.sort_values(table.columns[0], ascending=False, inplace=True)  # noqa: PD002, what is tested


def drop(table):
    table.drop(index=table.index[:1], inplace=True)  # noqa: PD002
    table.drop(columns=table.columns[0], inplace=True)  # noqa: PD002


def index_by_column(table):
    table.set_index(table.columns[0], inplace=True)  # noqa: PD002


def rename(table):
    table.index.name, table.columns.name = "who", "what"
    table.attrs["seen"] = True
    table.columns = [f"{name}!" for name in table.columns]


WAYS = [overwrite, write_into, put_first, add, sort, index_by_column, rename, drop]


def spoil(table):
    for way in WAYS[:-1]:
        way(table)
    table.drop(index=table.index, inplace=True)  # noqa: PD002


def spoiling(function):
    """Do to the tables that a function is given, once it has answered, all that can be done."""

    def spoiled(*tables):
        answer = function(*tables)
        for table in tables:
            spoil(table)
        return answer

    return spoiled


@pytest.fixture(scope="module")
def people():
    return make_people().drop(columns=["hole", "race", "rank"])


@pytest.fixture(scope="module")
def posterior(people):
    return fit_posterior(people)


@pytest.fixture(autouse=True)
def _nothing_changed(people, posterior):
    table, data = people.copy(), posterior.data.copy()
    draws = posterior.summary()
    yield
    for now, before in ((people, table), (posterior.data, data), (posterior.summary(), draws)):
        pd.testing.assert_frame_equal(now, before, check_exact=True)
        assert (now.index.name, now.columns.name, now.attrs) == (before.index.name, before.columns.name, before.attrs)


@pytest.mark.parametrize("way", WAYS)
def test_whatever_a_function_does_to_its_table_it_does_to_a_copy(way):
    people = SCORES.copy()

    def high(table):
        answer = table.score > 1
        way(table)
        return answer

    assert decide(high, people).tolist() == [1, 0, 1, 0]
    pd.testing.assert_frame_equal(people, SCORES)
    assert (people.index.name, people.columns.name, people.attrs) == (None, None, {})


def test_a_series_in_another_order_is_aligned_by_label():
    def best_half(table):
        ranked = table.score.sort_values()
        return pd.Series(np.arange(len(ranked)) >= len(ranked) / 2, index=ranked.index)

    def sorted_in_place(table):
        sort(table)
        return table.score > 1

    assert decide(best_half, SCORES).tolist() == [1, 0, 1, 0]
    assert decide(sorted_in_place, SCORES).tolist() == [1, 0, 1, 0]
    everybody = pd.Series([0, 0, 1, 1], index=["dua", "bob", "cem", "ann"])
    assert decide(lambda table: everybody, SCORES.iloc[:3]).tolist() == [1, 0, 1]


def test_a_series_in_another_order_is_aligned_where_draws_are_below_one_another(posterior):
    worlds = ca.counterfactuals(posterior, {"sex": "m"}, draws=4, progress=False)
    backwards = decide_draws(lambda table: rule(table).iloc[::-1], worlds)
    ranked = decide_draws(lambda table: rule(table.sort_values(["skill", "job"])), worlds)
    assert np.array_equal(backwards, decide_draws(rule, worlds))
    assert np.array_equal(ranked, backwards)


@pytest.mark.parametrize(
    ("decision", "message"),
    [
        (lambda table: pd.Series([1, 0, 1, 0]), r"lacks 4 of 4 people, such as 'ann': .* values\.to_numpy\(\)"),
        (lambda table: (table.score > 1).iloc[1:], "lacks 1 of 4 people"),
        (lambda table: pd.concat([table.score, table.score]) > 1, "the label 'ann' occurs twice"),
        (lambda table: sort(table) or (table.score > 1).to_numpy(), "changed the order of its table in place"),
    ],
)
def test_answers_of_which_it_is_not_known_whose_they_are(decision, message):
    with pytest.raises(DataError, match=f"The decision .*{message}"):
        decide(decision, SCORES)


def test_an_intervention_that_is_a_function(people, posterior):
    def other(table):
        return np.where(table.sex == "m", "f", "m")

    ask = {"draws": 5, "seed": 2, "progress": False}
    expected = ca.counterfactuals(posterior, {"sex": other}, **ask).dataset

    def labelled(table):
        return pd.Series(other(table), table.index)

    for function in (spoiling(labelled), lambda table: labelled(table).iloc[::-1]):
        assert ca.counterfactuals(posterior, {"sex": function}, **ask).dataset.identical(expected)
    with pytest.raises(InterventionError, match="The function given for 'sex' changed the order of its table"):
        ca.counterfactuals(posterior, {"sex": lambda table: sort(table) or other(table)}, **ask)


def same_tables(one, two):
    pd.testing.assert_frame_equal(one.table, two.table, check_exact=True)


def test_decisions_and_distances_of_situation_testing(people, posterior):
    worlds = ca.counterfactuals(posterior, {"sex": "m"}, draws=3, progress=False)

    def apart(some, others):
        return np.abs(some.skill.to_numpy()[:, None] - others.skill.to_numpy()[None])

    def tested(decision, distance):
        return ca.situation_testing(
            people, decision, {"sex": "f"}, features=["skill", "job"], counterfactuals=worlds, distance=distance, k=5,
            progress=False,
        )  # fmt: skip

    same_tables(tested(spoiling(rule), spoiling(apart)), tested(rule, apart))


def test_classifiers_of_error_rates(people, posterior):
    def decomposed(classifier, population):
        return ca.decompose_error_rates(
            posterior, classifier, {"sex": "f"}, outcome="good", features=["sex", "skill"], population=population,
            draws=4, progress=False,
        )  # fmt: skip

    def estimated(classifier):
        return ca.estimate_error_rates(
            people, GRAPH, classifier, protected={"sex": "f"}, outcome="good", features=["sex", "skill"]
        )

    for population in ("standardise", "exact"):
        same_tables(decomposed(spoiling(rule), population), decomposed(rule, population))
    same_tables(estimated(spoiling(rule)), estimated(rule))


def test_classifiers_and_costs_of_recourse(people, posterior):
    def whole(old, new):
        cost = float(sum(abs(new[name] - old[name]) for name in new))
        old.clear()
        new.clear()
        return cost

    def kept(old, new):
        return float(sum(abs(new[name] - old[name]) for name in new))

    def audited(classifier, weights, **more):
        return ca.audit_recourse(
            people, classifier, {"sex": "f"}, features=["skill", "job"], actions=ca.Actions(weights=weights),
            support=0.05, progress=False, **more,
        )  # fmt: skip

    same_tables(audited(spoiling(rule), whole), audited(rule, kept))
    causal = {"posterior": posterior, "draws": 3}
    spoiled, expected = audited(spoiling(rule), kept, **causal), audited(rule, kept, **causal)
    same_tables(spoiled, expected)
    pd.testing.assert_frame_equal(spoiled.individuals(progress=False), expected.individuals(progress=False))


class InPlace(TransformerMixin, BaseEstimator):
    """A step that works in place, as those with copy=False."""

    def fit(self, rows, events=None):
        self.fitted_ = True
        return self

    def transform(self, rows):
        rows[:] = rows * 2 - 1
        return rows


class Copying(InPlace):
    def transform(self, rows):
        return rows * 2 - 1


@pytest.mark.filterwarnings("ignore::causalaudit.errors.CausalAuditWarning")
def test_models_that_work_in_place(people):
    def scanned(step):
        model = make_pipeline(step, LogisticRegression())
        return ca.scan_bias(
            people.assign(rank=rule(people)), {"sex": "f"}, "good", recommendation="rank", features=["skill", "job"],
            propensity=model, expectation=model, progress=False,
        )  # fmt: skip

    def estimated(step):
        model = make_pipeline(step, LogisticRegression())
        return ca.estimate_error_rates(
            people, GRAPH, rule, protected={"sex": "f"}, outcome="good", features=["sex", "skill"], propensity=model,
            expectation=model,
        )  # fmt: skip

    one, two = scanned(InPlace()), scanned(Copying())
    assert (one.score, one.subgroup) == (two.score, two.subgroup)
    same_tables(estimated(InPlace()), estimated(Copying()))


def test_scorers_and_splitters(people):
    def accuracy(estimator, rows, truth):
        return float((estimator.predict(rows) == truth).mean())

    class Halves:
        def split(self, rows, truth=None, groups=None):
            half = len(rows) // 2
            yield np.arange(half), np.arange(half, len(rows))
            spoil(rows)
            truth.iloc[:] = 1

        def get_n_splits(self, *_):
            return 1

    class Quiet(Halves):
        def split(self, rows, truth=None, groups=None):
            half = len(rows) // 2
            yield np.arange(half), np.arange(half, len(rows))

    def selected(scoring, cv):
        return ca.select_explainable_features(
            people, GRAPH, "sex", outcome="good", candidates=["sex", "skill"], scoring=scoring, cv=cv, progress=False
        )

    def spoiled(estimator, rows, truth):
        score = accuracy(estimator, rows, truth)
        spoil(rows)
        truth.iloc[:] = 0
        return score

    assert selected(spoiled, Halves()) == selected(accuracy, Quiet())


def audit(posterior):
    people = posterior.data
    worlds = ca.counterfactuals(posterior, {"sex": "m"}, draws=5, progress=False)
    return ca.situation_testing(
        people, rule, {"sex": "f"}, features=["skill", "job"], counterfactuals=worlds, k=5, progress=False
    )


def spoiled_audit(posterior):
    result = audit(posterior)
    posterior.idata["posterior"]["gap"].values[:] = 0.0
    posterior.settings["draws"] = 1
    spoil(posterior.data)
    return result


@pytest.mark.filterwarnings("ignore:Not trustworthy")
def test_audits_of_worlds(posterior):
    two = {"one": posterior, "two": posterior}
    worlds = [ca.compare_worlds(two, one, "equal", untrusted=True, progress=False) for one in (spoiled_audit, audit)]
    same_tables(*worlds)
    sweeps = [
        ca.coupling_sensitivity(posterior, one, ["skill"], [1.0, 0.5], threshold=1.0, progress=False)
        for one in (spoiled_audit, audit)
    ]
    same_tables(*sweeps)


def test_detectors(people):
    def nobody(data):
        return np.zeros(len(data.data), dtype=bool)

    def spoiled(data):
        found = nobody(data)
        data.true[:] = True
        data.subgroup.clear()
        spoil(data.data)
        return found

    covariates = people[["sex", "skill", "job"]].astype(str)
    grid = pd.DataFrame({"mu_sep": [0.5]})
    tables = [
        evaluate_power(covariates, grid, detectors={"first": one, "second": nobody}, datasets=1, progress=False).table
        for one in (spoiled, nobody)
    ]
    pd.testing.assert_frame_equal(*tables)


def test_each_batch_is_copied_once(monkeypatch):
    copies = []
    monkeypatch.setattr(pd.DataFrame, "copy", lambda table, deep=True: copies.append(len(table)) or table[:])
    assert answer_of(lambda table: table.score > 1, SCORES, "The rule").tolist() == [True, False, True, False]
    assert copies == [4]
