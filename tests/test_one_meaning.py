"""The same question means the same to every auditor: good ones are answered, bad ones refused in the same words."""

import numpy as np
import pandas as pd
import pytest
from auditors import (
    AUDITORS,
    Decompose,
    Estimate,
    Fair,
    Recourse,
    Scan,
    SituationTesting,
    fit_posterior,
    make_people,
    rule,
)

import causalaudit as ca
from causalaudit.errors import DataError


@pytest.fixture(scope="module")
def people():
    return make_people()


@pytest.fixture(scope="module")
def posterior(people):
    return fit_posterior(people)


EVERY = pytest.mark.parametrize("auditor", AUDITORS, ids=lambda auditor: auditor.__name__)


def those_with(argument):
    chosen = [auditor for auditor in AUDITORS if argument in auditor.arguments]
    return pytest.mark.parametrize("auditor", chosen, ids=lambda auditor: auditor.__name__)


@EVERY
@pytest.mark.parametrize(
    ("protected", "message"),
    [
        ({"gender": "f"}, r"The protected column 'gender' is not in data: "),
        ({"sex": "x"}, r"Nobody in data has 'sex' equal to 'x'; its levels are "),
        ({"sex": ("f", "x")}, r"Nobody in data has 'sex' equal to 'x'; its levels are "),
        ({"sex": ("f", "f")}, r"must name one level, or it and one other: \{column: level\} or "),
        ({"sex": "f", "skill": 1}, r"protected is .*, but must be \{column: level\} or \{column: \(level, ref"),
        (["sex"], r"protected is \['sex'\], but must be \{column: level\} or \{column: \(level, reference\)\}"),
    ],
)  # fmt: skip
def test_bad_protected(auditor, protected, message, people, posterior):
    with pytest.raises(DataError, match=message):
        auditor(people, posterior)(protected=protected)


@EVERY
def test_a_bare_column_is_for_equal_footing(auditor, people, posterior):
    asked = auditor(people, posterior)
    if auditor.bare:
        asked(protected="sex")
    else:
        with pytest.raises(DataError, match=r"bare column 'sex', but must say which level is protected"):
            asked(protected="sex")


@those_with("data")
@pytest.mark.parametrize("column", ["sex", "skill"])
def test_missing_values(auditor, column, people, posterior):
    holes = people.assign(**{column: people[column].where(people.index != people.index[5])})
    with pytest.raises(DataError, match=rf"'{column}' is missing for 1 of 400 people\. Drop or impute them first"):
        auditor(people, posterior)(data=holes)


@those_with("data")
def test_bad_tables(auditor, people, posterior):
    """An estimator of scikit-learn asks for rows, not for labels of people."""
    asked = auditor(people, posterior)
    if auditor is Fair:
        assert asked(data=people.set_axis([0] * len(people))).terms_ is not None
        return
    with pytest.raises(DataError, match=r"index of data is not unique"):
        asked(data=people.set_axis([0] * len(people)))


@those_with("features")
@pytest.mark.parametrize(
    ("features", "message"),
    [
        ("skill", r"features is the text 'skill', but must be a list of columns: \['skill'\]"),
        ([], "features is empty: list at least one column"),
        (["skill", "skill"], "The feature 'skill' is given twice"),
        (["skil"], r"The feature 'skil' is not .*: did you mean 'skill'\?"),
    ],
)
def test_bad_features(auditor, features, message, people, posterior):
    with pytest.raises(DataError, match=message):
        auditor(people, posterior)(features=features)


@pytest.mark.parametrize("value", [0, 1, -0.1, True, "0.1", None, np.nan])
@pytest.mark.parametrize(
    ("auditor", "name"),
    [(auditor, name) for auditor in AUDITORS for name in ("alpha", "prob", "confidence") if name in auditor.arguments],
    ids=lambda part: getattr(part, "__name__", part),
)
def test_bad_shares(auditor, name, value, people, posterior):
    with pytest.raises(DataError, match=rf"{name} is .*, but must be a number between 0 and 1\."):
        auditor(people, posterior)(**{name: value})


@those_with("seed")
@pytest.mark.parametrize("seed", [-1, 0.5, "0", True])
def test_bad_seeds(auditor, seed, people, posterior):
    with pytest.raises(DataError, match=r"seed is .*, but must be a whole number of at least 0\."):
        auditor(people, posterior)(seed=seed)


@those_with("draws")
@pytest.mark.parametrize("draws", [0, -1, 1.5, True, "all", 51])
def test_bad_draws(auditor, draws, people, posterior):
    asked = auditor(people, posterior)
    if auditor is Scan and draws == 0:  # a scan needs no draws: none are used
        assert asked(draws=draws).settings["draws"] == 0
        return
    message = rf"draws is {draws!r}, but (must be a whole number of at least|the \w+ ha(s|ve) 50)"
    with pytest.raises(DataError, match=message):
        asked(draws=draws)


@those_with("decision")
@pytest.mark.parametrize(
    ("decision", "message"),
    [
        (lambda people: np.ones(7), r"The decision returned shape \(7,\) for \d+ people"),
        (lambda people: np.where(people.skill == 1, 1.0, np.nan), r"The decision is missing for \d+ of \d+ people"),
        (lambda people: np.where(people.skill == 1, 0.5, 7.5), r"7\.5, which is neither a label nor a probability"),
        (7, r"A decision is a column, a function of a table or a fitted classifier, but this is int"),
        (lambda people: people["pay"] > 1, r"decision failed with KeyError: 'pay'\. It is given the columns .*skill"),
        (lambda people: people.pay > 1, r"The decision failed with AttributeError: .* It is given the columns .*skill"),
        (lambda people: np.where(people.skill == 1, np.inf, 0.0), r"inf, which is neither a label nor a probability"),
    ],
)
def test_bad_decisions(auditor, decision, message, people, posterior):
    with pytest.raises(DataError, match=message):
        auditor(people, posterior)(decision=decision)


@those_with("decision")
def test_probabilities_are_read_alike(auditor, people, posterior):
    """Answers of .25 and .75 are probabilities: those who judge labels refuse them, and show the fix."""
    asked = auditor(people, posterior)

    def chances(people):
        return np.where(rule(people) == 1, 0.75, 0.25)

    if auditor.takes_probabilities:
        total = asked(decision=chances).table.query("term == 'total' and decomposition == 1")["mean"].item()
        labels = asked(decision=rule).table.query("term == 'total' and decomposition == 1")["mean"].item()
        assert total == pytest.approx(labels / 2, abs=1e-9)
    else:
        with pytest.raises(
            DataError, match=r"probabilities, for example 0\.[27]5.*decision=lambda people: rule\(people\) > 0\.5"
        ):
            asked(decision=chances)


@EVERY
def test_the_protected_level_comes_first(auditor, people, posterior):
    """One level against everyone else is the same as against the only other one, and the order is its meaning."""
    asked = auditor(people, posterior)

    def answer(protected):
        result = asked(protected=protected)
        if isinstance(result, ca.FairClassifier):
            return result.terms_
        return result.table

    one, pair, turned = (answer(protected) for protected in ({"sex": "f"}, {"sex": ("f", "m")}, {"sex": ("m", "f")}))
    same(one, pair)
    if auditor is SituationTesting:
        assert set(one.index.get_level_values(-1)) == set(people.index[people.sex == "f"])
        assert set(turned.index.get_level_values(-1)) == set(people.index[people.sex == "m"])
    elif auditor in (Decompose, Estimate):
        total = [table.query("term == 'total' and decomposition == 1")["mean"].item() for table in (one, turned)]
        assert total[0] == pytest.approx(-total[1], abs=1e-9)
        assert total[0] < 0  # women are called good less often, whatever they are
    elif auditor is Scan:
        assert set(one.columns) == set(turned.columns)
    elif auditor is Recourse:
        assert one["n1"].sum() == turned["n0"].sum()


def same(one, other):
    if isinstance(one, pd.DataFrame):
        pd.testing.assert_frame_equal(one, other)
    elif isinstance(one, pd.Series):
        pd.testing.assert_series_equal(one, other)
    else:
        assert one == other


@pytest.mark.parametrize("auditor", [SituationTesting, Recourse, Scan], ids=lambda auditor: auditor.__name__)
def test_one_of_several_levels_is_against_everyone_else(auditor, people, posterior):
    rule = {"decision": lambda people: people.job} if "decision" in auditor.arguments else {}
    for protected in ({"race": "Black"}, {"race": ("Black", "White")}):
        assert auditor(people, posterior)(protected=protected, **rule) is not None


@pytest.mark.parametrize("auditor", [Estimate], ids=lambda auditor: auditor.__name__)
def test_worlds_need_one_reference(auditor, people, posterior):
    """What people would be as "everyone else" is not defined where these have several levels."""
    graph_people = people.drop(columns=["sex"]).rename(columns={"race": "sex"})
    asked = auditor(graph_people, posterior)
    with pytest.raises(DataError, match=r"2 other levels \('Asian', 'White'\).*name it, as in"):
        asked(protected={"sex": "Black"}, decision=lambda people: people.skill > 0)
    with pytest.raises(DataError, match=r"has 3 levels .*, but two are compared: name them, the protected one first"):
        asked(protected="sex", decision=lambda people: people.skill > 0)
    asked(protected={"sex": ("Black", "White")}, decision=lambda people: people.skill > 0)


RESULTS = [SituationTesting, Decompose, Estimate, Recourse, Scan]


@pytest.mark.parametrize("auditor", RESULTS, ids=lambda auditor: auditor.__name__)
def test_results_say_the_same_things(auditor, people, posterior):
    result = auditor(people, posterior)()
    verdicts = result.verdicts
    assert list(verdicts.columns) == ["unit", "flagged", "probability", "value", "structural", "sampling", "rule"]
    assert verdicts["flagged"].dtype == bool
    assert verdicts["rule"].map(lambda text: isinstance(text, str) and bool(text)).all()
    assert list(result.intervals.columns) == ["kind", "level", "type", "scope", "about", "known"]
    ends = [name for name in result.table.columns if str(name).endswith(("_low", "_high"))]
    kinds = {name.rsplit("_", 1)[0] for name in ends}
    assert kinds == set(result.intervals["kind"])
    assert result.headline.index.name == "draw"
    assert result.headline.name
    assert result == result
    assert hash(result) == hash(result)
    assert "<table" in result._repr_html_() or result.summary().empty
