"""Bad input to the explanation of error rates: every message says what was given, and what to do."""

import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import pytest
from finite_programs import classifier, draw_tables
from sklearn.linear_model import LogisticRegression

import causalaudit as ca
from causalaudit.errors import CausalAuditWarning, DataError

PEOPLE = draw_tables(np.random.default_rng(0), 400)
SCM = ca.models.standard_prediction.scm_b()
RULE = classifier((0.1, 0.5, 0.4, 0.9), ("X", "Z"))
EXPLAINABLE = ca.diagram([("Z", "X"), ("Z", "Y"), ("X", "Y")])
MEDIATED = ca.diagram([("Z", "X"), ("Z", "Y"), ("X", "Y"), ("X", "W"), ("Z", "W")])


@pytest.fixture(scope="module")
def posterior():
    return ca.fit(SCM, PEOPLE, draws=5, chains=1)


def decompose(posterior, rule=RULE, protected="X", outcome="Y", features=("X", "Z"), **options):
    options = {"population": "exact", "progress": False, **options}
    return ca.decompose_error_rates(posterior, rule, protected, outcome=outcome, features=features, **options)


def estimate(people=PEOPLE, rule=RULE, protected="X", outcome="Y", features=("X", "Z"), graph=EXPLAINABLE, **options):
    question = {"protected": protected, "outcome": outcome, "features": list(features)}
    return ca.estimate_error_rates(people, graph, rule, **question, **options)


# From a posterior


def test_attributes_that_are_not_in_the_scm(posterior):
    with pytest.raises(DataError, match=r"The protected column 'race' is not in data: there are 'Z', 'X'"):
        decompose(posterior, protected="race")
    with pytest.raises(DataError, match=r"The outcome 'y' is not in data"):
        decompose(posterior, outcome="y")
    more = ca.fit(SCM, PEOPLE.assign(race=PEOPLE["X"]), draws=2, chains=1)
    with pytest.raises(DataError, match=r"protected column 'race' is not a variable of the SCM 'standard prediction"):
        decompose(more, protected="race")
    with pytest.raises(DataError, match=r"The feature 'race' is not a variable of the SCM 'standard prediction"):
        decompose(more, features=["X", "race"])
    with pytest.raises(DataError, match=r"given as protected attribute and as outcome"):
        decompose(posterior, protected="Y")


def test_a_posterior_is_needed():
    with pytest.raises(DataError, match=r"posterior must come from causalaudit.fit, but is DataFrame"):
        decompose(PEOPLE)


@pytest.mark.parametrize("population", ["exact", "simulate"])
def test_a_classifier_that_reads_the_outcome(posterior, population):
    message = r"The classifier reads the outcome 'Y'.*to predict"
    with pytest.raises(DataError, match=r"'Y' is the outcome, so it cannot be a feature too"):
        decompose(posterior, features=["X", "Y"], population=population)
    with pytest.raises(DataError, match=message):
        decompose(posterior, lambda people: people["Y"] == 1, features=None, population=population)
    with pytest.raises(DataError, match=message):
        decompose(posterior, lambda people: people.Y == 1, features=None, population=population)
    fitted = LogisticRegression().fit(PEOPLE[["X", "Y"]], PEOPLE["D"])
    with pytest.raises(DataError, match=message):
        decompose(posterior, fitted, features=None, population=population)


def test_a_classifier_that_reads_what_is_not_there(posterior):
    with pytest.raises(DataError, match=r"failed with KeyError: 'income'. It is given the columns Z, X, W, D"):
        decompose(posterior, lambda people: people["income"] > 3, features=None)
    with pytest.raises(DataError, match=r"The feature 'income' is not in data"):
        decompose(posterior, features=["X", "income"])
    fitted = LogisticRegression().fit(PEOPLE[["X", "W"]], PEOPLE["Y"])
    with pytest.raises(DataError, match=r"was fitted on 'W', which features do not list"):
        decompose(posterior, fitted, features=["X"])


def test_a_classifier_that_answers_badly(posterior):
    with pytest.raises(DataError, match=r"returned shape \(1,\) for 2 people"):
        decompose(posterior, lambda people: np.ones(1))
    with pytest.raises(DataError, match=r"returned 1.5, which is neither a label nor a probability"):
        decompose(posterior, lambda people: np.full(len(people), 1.5))
    with pytest.raises(DataError, match=r"returned probabilities, which are those of the label 1, but yhat is 'high'"):
        decompose(posterior, lambda people: np.full(len(people), 0.5), yhat="high")
    with pytest.raises(DataError, match=r"yhat is 1, but the classifier gives the labels 'low'"):
        decompose(posterior, lambda people: np.where(people["X"] > 7, "high", "low"))
    with pytest.raises(DataError, match=r"decision is missing for 2 of 2 people"):
        decompose(posterior, lambda people: np.full(len(people), np.nan))
    fitted = LogisticRegression().fit(PEOPLE[["X", "W"]], PEOPLE["Y"])
    with pytest.raises(DataError, match=r"yhat is 2, but the labels of the classifier are"):
        decompose(posterior, fitted, features=None, yhat=2)
    with pytest.raises(DataError, match=r"classifier is the text 'score', but must be a function"):
        decompose(posterior, "score")


def test_levels_and_options(posterior):
    with pytest.raises(DataError, match=r"Nobody in data has 'X' equal to 2; its levels are 0, 1"):
        decompose(posterior, contrast=2)
    with pytest.raises(DataError, match=r"baseline and contrast are both 1"):
        decompose(posterior, baseline=1, contrast=1)
    with pytest.raises(DataError, match=r"Nobody in data has 'X' equal to 7; its levels are 0, 1"):
        decompose(posterior, protected={"X": (0, 7)})
    with pytest.raises(DataError, match=r"must be \{column: level\} or .* the protected level first"):
        decompose(posterior, protected={"X": (0, 1), "Z": (0, 1)})
    with pytest.raises(DataError, match=r"so the contrast is 1, but contrast is 0: leave it out"):
        decompose(posterior, protected={"X": (1, 0)}, contrast=0)
    with pytest.raises(DataError, match="must be one of standardise, simulate, exact, bootstrap"):
        decompose(posterior, population="people")
    with pytest.raises(DataError, match=r"prob is 90, but must be a number between 0 and 1"):
        decompose(posterior, prob=90)
    with pytest.raises(DataError, match=r"'Y' has the value 3.0 .*cannot give"):
        decompose(posterior, y=3)
    with pytest.raises(DataError, match=r"draws is 6, but the posterior has 5"):
        decompose(posterior, draws=6)
    with pytest.raises(DataError, match=r"features is the text 'X', but must be a list"):
        decompose(posterior, features="X")
    with pytest.raises(DataError, match=r"features is empty"):
        decompose(posterior, features=[])


def test_what_cannot_be_enumerated():
    scm = ca.models.mediation.true_process()
    people = scm.prior_predictive(50, draws=1).isel(draw=0).to_dataframe()[list(scm.columns)]
    posterior = ca.fit(scm, people, draws=2, chains=1)
    with pytest.raises(DataError, match=r"'Z' \(Normal\) has infinitely many values.*population=\"simulate\""):
        decompose(posterior, lambda people: people["W"] > 0, features=["X", "W"])
    with pytest.raises(DataError, match=r"'W' is continuous \(Normal\), but must have distinct values"):
        decompose(posterior, lambda people: people["Z"] > 0, outcome="W", features=["Z"])


def test_values_that_depend_on_parameters_cannot_be_enumerated():
    def program(n):
        shift = pyro.sample("shift", dist.Normal(0.0, 1.0))
        with pyro.plate("individuals", n):
            x = pyro.sample("X", dist.Bernoulli(0.5))
            w = pyro.deterministic("W", x + shift)
            pyro.sample("Y", dist.Bernoulli(logits=w))

    scm = ca.SCM(program, latents=["W"])
    people = pd.DataFrame({"X": [0, 1] * 20, "Y": [0, 0, 1, 1] * 10})
    posterior = ca.fit(scm, people, draws=20, chains=1)
    with pytest.raises(DataError, match=r"values of 'W' depend on the parameters"):
        decompose(posterior, lambda people: people["X"] == 1, features=["X"])


def test_too_many_states_to_enumerate(monkeypatch, posterior):
    from causalaudit.counterfactuals import enumerated as exact

    monkeypatch.setattr(exact, "MOST_STATES", 10)
    with pytest.raises(DataError, match=r"too much to enumerate: .* joint states. Use population=\"simulate\""):
        decompose(posterior, classifier(np.linspace(0, 1, 16)), features=["X", "W", "Z", "D"])


@pytest.mark.parametrize("population", ["exact", "simulate"])
def test_nobody_with_the_outcome(population):
    def program(n):
        with pyro.plate("individuals", n):
            x = pyro.sample("X", dist.Bernoulli(0.5))
            pyro.deterministic("Y", x)

    people = pd.DataFrame({"X": [0, 1] * 10})
    posterior = ca.fit(ca.SCM(program), people.assign(Y=people["X"]), draws=2, chains=1)
    with pytest.raises(DataError, match=r"gives nobody with 'X' = 1 and 'Y' = 0: there is no error rate to explain"):
        decompose(posterior, lambda people: people["X"] == 1, features=["X"], population=population)


def test_too_few_people_in_a_cell():
    few = pd.concat(
        [PEOPLE[(PEOPLE["X"] == 1) | (PEOPLE["Y"] == 1)], PEOPLE[(PEOPLE["X"] == 0) & (PEOPLE["Y"] == 0)][:3]]
    )
    message = r"Only 3 people have 'X' = 0 and 'Y' = 0; at least 5 are needed"
    with pytest.raises(DataError, match=message):
        estimate(few)
    with pytest.raises(DataError, match=message):
        decompose(ca.fit(SCM, few, draws=2, chains=1), population="bootstrap")


# From data and a diagram


def test_a_classifier_that_nothing_explains_names_the_open_path():
    rule = classifier(np.linspace(0, 1, 8), ("X", "W", "Z"))
    with pytest.warns(CausalAuditWarning, match=r"a path stays open, Y <- W: nothing lies between Y and the feature W"):
        estimate(rule=rule, features=["X", "W", "Z"], graph=SCM.graph)


def test_no_overlap_names_the_level():
    people = PEOPLE.assign(Z=np.where(PEOPLE["X"] == 1, 2 * PEOPLE["Z"], PEOPLE["Z"]))
    message = (
        r"no overlap: the propensity of 'X' = 0, among those with 'Y' = 0, is 0 for \d+ of \d+ people, for "
        r"example with Z = 2.* "
        r"Leave such people out by `trim`"
    )
    rule = lambda people: people["W"] == 1  # noqa: E731
    with pytest.raises(DataError, match=message):
        estimate(people, rule, features=["W", "Z"], graph=MEDIATED)


def test_columns_and_options_of_an_estimate():
    with pytest.raises(DataError, match=r"'Z' is missing for 1 of 400 people"):
        estimate(PEOPLE.astype(float).mask((PEOPLE.index.to_numpy()[:, None] == 3) & (PEOPLE.columns == "Z")))
    with pytest.raises(DataError, match=r"The protected column 'race' is not in data"):
        estimate(protected="race")
    with pytest.raises(DataError, match=r"The outcome 'V' is not in data"):
        estimate(outcome="V")
    with pytest.raises(DataError, match=r"'Y' is the outcome, so it cannot be a feature too"):
        estimate(features=["X", "Y"])
    with pytest.raises(DataError, match=r"The feature 'V' is not in data"):
        estimate(features=["X", "V"])
    with pytest.raises(DataError, match=r"The feature 'W' is not in the diagram"):
        estimate(features=["X", "W"])
    with pytest.raises(DataError, match=r"method is 'both', but must be one of doubly_robust, ipw, plugin"):
        estimate(method="both")
    with pytest.raises(DataError, match=r"interval is 'hdi', but must be one of wald, bootstrap"):
        estimate(interval="hdi")
    with pytest.raises(
        DataError, match=r"propensity is 'forest', but must be one of auto, saturated, logistic, or a cl"
    ):
        estimate(propensity="forest")
    with pytest.raises(DataError, match=r"expectation is 'forest', but must be a classifier or regressor"):
        estimate(expectation="forest")
    for models in ({"propensity": LogisticRegression()}, {"expectation": LogisticRegression()}):
        with pytest.raises(DataError, match=r"Models of scikit-learn are for method='doubly_robust', but method is 'i"):
            estimate(method="ipw", **models)
    with pytest.raises(DataError, match=r"propensity='saturated' expectations are tables too"):
        estimate(propensity="saturated", expectation=LogisticRegression())
    with pytest.raises(DataError, match=r"alpha is 5, but must be a number between 0 and 1"):
        estimate(alpha=5)
    with pytest.raises(DataError, match=r"trim is 0.7, but must be a propensity"):
        estimate(trim=0.7)
    with pytest.raises(DataError, match=r"resamples is 0, but must be a whole number of at least 1"):
        estimate(resamples=0)
    with pytest.raises(DataError, match=r"data must be a pandas DataFrame"):
        estimate(PEOPLE.to_numpy())
    with pytest.raises(DataError, match=r"index of data is not unique"):
        estimate(pd.concat([PEOPLE, PEOPLE]))


def test_a_covariate_without_a_column():
    graph = ca.diagram([("C", "W"), ("C", "Y"), ("X", "W"), ("X", "Y")])
    rule = classifier((0.1, 0.5, 0.4, 0.9), ("X", "W"))
    with pytest.raises(DataError, match=r"The covariate 'C' is not in data"):
        estimate(rule=rule, features=["X", "W"], graph=graph)


def test_everybody_is_trimmed():
    with pytest.raises(DataError, match=r"With trim=0.49, \d+ of \d+ people are left out"):
        estimate(trim=0.49, rule=lambda people: people["W"] == 1, features=["W", "Z"], graph=MEDIATED)


def test_answers_to_different_questions(posterior):
    one, other = decompose(posterior), decompose(posterior, y=1)
    with pytest.raises(DataError, match=r"different questions: y is 0 here and 1 there"):
        one.beside(other)
    with pytest.raises(DataError, match=r"beside takes another answer about error rates, but was given DataFrame"):
        one.beside(one.table)


def test_plots(posterior):
    with pytest.raises(DataError, match=r"decomposition is 5, but must be 1, 2, 3 or 4"):
        ca.plots.plot_contributions(decompose(posterior), decomposition=5)
    with pytest.raises(DataError, match=r"The feature 'V' is not in the diagram"):
        ca.plots.plot_conditional_diagram(SCM.graph, ["V"], "X", outcome="Y")
