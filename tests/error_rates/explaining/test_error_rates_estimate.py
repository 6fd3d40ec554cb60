"""Error rates from data and a diagram: exact populations, the errata of the paper, influence, trimming."""

import itertools
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
from finite_programs import cells_of, classifier, draw_tables, measure, table_program

import causalaudit as ca
from causalaudit.error_rates.explaining.classifier import Rate
from causalaudit.error_rates.explaining.estimators import Estimator
from causalaudit.error_rates.explaining.question import RateQuestion
from causalaudit.error_rates.explaining.sample import Sample
from causalaudit.errors import CausalAuditWarning

PARTS = 6
SEED = 15  # of tables and classifiers none of whose terms vanishes


@dataclass(frozen=True)
class Population:
    """A finite SCM whose probabilities are sixths, so that a small table is its whole population."""

    parents: dict
    features: tuple
    latents: tuple = ()
    bidirected: tuple = ()
    explaining: frozenset | None = frozenset({"Z"})

    def tables(self, seed=SEED):
        rng = np.random.default_rng(seed)
        return {name: tuple(rng.integers(1, PARTS, 2 ** len(own)) / PARTS) for name, own in self.parents.items()}

    def scm(self, seed=SEED):
        return table_program(self.tables(seed), self.parents, self.latents)

    def graph(self):
        edges = [(parent, name) for name, own in self.parents.items() for parent in own if parent not in self.latents]
        return ca.diagram(edges, self.bidirected)

    def people(self, seed=SEED):
        """Every state, as often as its probability says."""
        names = list(self.parents)
        states = pd.DataFrame(list(itertools.product((0, 1), repeat=len(names))), columns=names)
        chance = np.ones(len(states))
        for name, table in self.tables(seed).items():
            one = np.asarray(table)[np.broadcast_to(cells_of(states, self.parents[name]), len(states))]
            chance *= np.where(states[name] == 1, one, 1 - one)
        counts = (chance * PARTS ** len(names)).round().astype(int)
        people = states.loc[states.index.repeat(counts)].drop(columns=list(self.latents))
        return people.set_axis(np.arange(len(people)) + 10)

    def rule(self, seed=SEED):
        theta = np.random.default_rng([seed, 1]).random(2 ** len(self.features))
        return classifier(theta, self.features)


EXPLAINABLE = {
    "A": Population({"Z": (), "X": ("Z",), "W": ("Z", "X"), "Y": ("Z", "X")}, ("X", "W", "Z")),
    "B": Population(
        {"U": (), "X": ("U",), "Z": ("U",), "Y": ("X", "Z"), "D": ("X", "Z", "Y")},
        ("X", "Z", "D"),
        latents=("U",),
        bidirected=(("X", "Z"),),
    ),
    "C": Population(
        {"Z": (), "C2": (), "X": ("Z",), "W": ("Z", "X", "C2"), "Y": ("Z", "X", "C2")},
        ("X", "W", "Z"),
        explaining=frozenset({"Z", "C2"}),
    ),
    "D": Population(
        {"Z": (), "X": ("Z",), "Y": ("Z", "X"), "W": ("Z", "X"), "D": ("Z", "W", "Y")}, ("X", "W", "D", "Z")
    ),
}
FIGURE_1 = Population({"Z": (), "X": ("Z",), "W": ("Z", "X"), "Y": ("Z", "X", "W")}, ("X", "W", "Z"), explaining=None)


def exact(population, y=0, seed=SEED):
    posterior = ca.fit(population.scm(seed), population.people(seed), draws=1, chains=1)
    return ca.decompose_error_rates(
        posterior, population.rule(seed), "X", outcome="Y", features=population.features, y=y, population="exact"
    )


def estimate(population, y=0, seed=SEED, people=None, **options):
    people = population.people(seed) if people is None else people
    return ca.estimate_error_rates(
        people,
        population.graph(),
        population.rule(seed),
        protected="X",
        outcome="Y",
        features=population.features,
        y=y,
        **options,
    )


@pytest.mark.parametrize("method", ["doubly_robust", "ipw", "plugin"])
@pytest.mark.parametrize("y", [0, 1])
@pytest.mark.parametrize("name", EXPLAINABLE)
def test_estimates_of_the_whole_population_are_exact(name, y, method):
    population = EXPLAINABLE[name]
    truth, found = exact(population, y), estimate(population, y, method=method)
    assert (truth.table["mean"].abs() > 1e-3).all()
    assert found.explaining_set == population.explaining
    assert found.table["identified"].all()
    assert np.allclose(found.table["mean"], truth.table["mean"], atol=1e-12)
    given = truth.rates["given"].notna()
    assert np.allclose(found.rates["mean"], truth.rates.loc[given, "mean"], atol=1e-12)
    measures = truth.measures[~truth.measures["measure"].isin(["nde", "nie"])].reset_index(drop=True)
    assert (found.measures[["measure", "from", "to"]] == measures[["measure", "from", "to"]]).all(axis=None)
    assert np.allclose(found.measures["mean"], measures["mean"], atol=1e-12)


def test_a_saturated_logistic_model_is_the_same_as_cells():
    population = EXPLAINABLE["A"]  # one binary covariate: an intercept and a slope are all there is
    tables = [
        estimate(population, method=method, propensity=propensity).table[["mean", "sd", "wald_low", "wald_high"]]
        for method, propensity in [("ipw", "saturated"), ("ipw", "logistic"), ("plugin", "logistic")]
    ]
    assert np.allclose(tables[0], tables[1], atol=1e-6)
    assert np.allclose(tables[0], tables[2], atol=1e-6)


@pytest.mark.filterwarnings("ignore:method='plugin' with continuous covariates")
@pytest.mark.parametrize("method", ["doubly_robust", "ipw", "plugin"])
def test_estimates_converge_with_a_continuous_covariate(method):
    """Logistic propensities and a covariate with many values; the truth is that of the SCM."""
    import pyro
    import pyro.distributions as dist

    def program(n):
        with pyro.plate("individuals", n):
            z = pyro.sample("Z", dist.Normal(0.0, 1.0))
            x = pyro.sample("X", dist.Bernoulli(logits=0.8 * z))
            pyro.sample("Y", dist.Bernoulli(0.5))
            pyro.sample("W", dist.Bernoulli(logits=0.5 * z + x - 0.5))

    def rule(people):
        return (people["W"] + 0.5 * people["X"] > 0.9).to_numpy()

    scm = ca.SCM(program)
    drawn = scm.prior_predictive(40_000, draws=1, seed=3).isel(draw=0)
    people = pd.DataFrame({name: drawn[name].to_numpy() for name in scm.columns})
    posterior = ca.fit(scm, people.iloc[:500], draws=50, chains=1)
    truth = ca.decompose_error_rates(
        posterior, rule, "X", outcome="Y", features=["X", "W"], population="simulate", progress=False
    )
    found = ca.estimate_error_rates(
        people, scm.graph, rule, protected="X", outcome="Y", features=["X", "W"], method=method
    )
    assert found.settings["propensity"].startswith("logistic")
    gap = np.abs(found.table["mean"] - truth.table["mean"])
    assert (gap < 4 * found.table["sd"] + 1e-3).all()
    assert (found.summary()["mean"].abs() > 0.02).all() or found.summary().loc["direct", "mean"] == 0


# The errata


def counts(population, y):
    """θ(x, w, z), P(w | x, c, y) and P(c | x, y) of case A as arrays by (x, w, z), (x, z, w), (x, z)."""
    people = population.people()
    people = people[people["Y"] == y]
    joint = np.zeros((2, 2, 2))  # x, z, w
    np.add.at(joint, (people["X"], people["Z"], people["W"]), 1)
    grid = pd.DataFrame(list(itertools.product((0, 1), repeat=3)), columns=["X", "W", "Z"])
    theta = population.rule()(grid).reshape(2, 2, 2)
    w_given, c_given = joint / joint.sum(2, keepdims=True), joint.sum(2) / joint.sum((1, 2))[:, None]
    return theta, w_given, c_given


@pytest.mark.parametrize("x", [0, 1])
def test_equation_6_as_printed_is_minus_the_reversed_measure(x):
    truth = exact(EXPLAINABLE["A"])
    theta, w_given, c_given = counts(EXPLAINABLE["A"], 0)

    def equation_6(read):
        return np.einsum("wz,zw,z->", theta[read], w_given[1] - w_given[0], c_given[x])

    assert equation_6(0) == pytest.approx(measure(truth, "indirect", 0, 1, x), abs=1e-12)
    assert equation_6(1) != pytest.approx(measure(truth, "indirect", 0, 1, x), abs=0.01)
    assert equation_6(1) == pytest.approx(-measure(truth, "indirect", 1, 0, x), abs=1e-12)


def test_equation_7_as_printed_is_minus_the_reversed_measure():
    truth = exact(EXPLAINABLE["A"])
    theta, w_given, c_given = counts(EXPLAINABLE["A"], 0)

    def equation_7(level):
        return np.einsum("wz,zw,z->", theta[level], w_given[level], c_given[1] - c_given[0])

    assert equation_7(0) == pytest.approx(measure(truth, "spurious", 0, 1), abs=1e-12)
    assert equation_7(1) != pytest.approx(measure(truth, "spurious", 0, 1), abs=0.01)
    assert equation_7(1) == pytest.approx(-measure(truth, "spurious", 1, 0), abs=1e-12)


@pytest.mark.parametrize("x", [0, 1])
def test_the_weights_of_the_indirect_measure_as_printed_are_wrong(x):
    population = EXPLAINABLE["A"]
    truth, people = exact(population), population.people()
    people = people[people["Y"] == 0]
    theta = population.rule()(people.assign(X=0))
    chance = people.groupby("Z")["X"].transform("mean").to_numpy()
    chances = {0: 1 - chance, 1: chance}
    has = {level: (people["X"] == level).to_numpy() for level in (0, 1)}

    def weighted(own, other):
        parts = [(theta * chances[x] / chances[bottom] * has[level]).sum() for level, bottom in ((1, own), (0, other))]
        return (parts[0] - parts[1]) / has[x].sum()

    assert weighted(1, 0) == pytest.approx(measure(truth, "indirect", 0, 1, x), abs=1e-12)
    assert abs(weighted(0, 1) - measure(truth, "indirect", 0, 1, x)) > 0.01


def test_that_terms_sum_to_the_total_does_not_validate_the_adjustment():
    """Z does not explain W where W acts on Y, and the sum of the terms is the total all the same."""
    population = FIGURE_1
    truth, people = exact(population), population.people()
    wrong = ca.diagram([("Z", "X"), ("Z", "W"), ("X", "W"), ("Z", "Y"), ("X", "Y")])
    rule = population.rule()
    found = ca.estimate_error_rates(
        people, wrong, rule, protected="X", outcome="Y", features=population.features
    ).summary()["mean"]
    assert found[["direct", "indirect", "spurious"]].sum() == pytest.approx(found["total"], abs=1e-12)
    assert found["total"] == pytest.approx(truth.summary().loc["total", "mean"], abs=1e-12)
    assert abs(found["indirect"] - truth.summary().loc["indirect", "mean"]) > 0.005


# What is always identified


@pytest.mark.parametrize("interval", ["wald", "bootstrap"])
@pytest.mark.parametrize("y", [0, 1])
def test_the_direct_term_of_the_baseline_needs_no_explaining_set(y, interval):
    truth = exact(FIGURE_1, y)
    with pytest.warns(CausalAuditWarning, match=r"a path stays open, Y <- W.*not identified; the total and the direct"):
        found = estimate(FIGURE_1, y, interval=interval, resamples=50)
    assert found.explaining_set is None
    assert found.weights.empty
    table = found.table
    known = (table["term"] == "total") | ((table["term"] == "direct") & table["decomposition"].isin([1, 4]))
    assert (table["identified"] == known).all()
    assert np.allclose(table.loc[known, "mean"], truth.table.loc[known, "mean"], atol=1e-12)
    assert table.loc[known, ["sd", f"{interval}_low", f"{interval}_high"]].notna().all(axis=None)
    assert table.loc[~known, ["mean", "sd", f"{interval}_low", f"{interval}_high"]].isna().all(axis=None)


# Influence and intervals


def sample_of(people, features, covariates):
    rate = Rate(classifier(np.linspace(0.1, 0.9, 8), features), 1, "Y", features)
    return Sample.of(RateQuestion("X", (0, 1), "Y", 0, rate), people, list(covariates), mediators=["W"])


@pytest.mark.filterwarnings("ignore:method='plugin' with continuous covariates")
@pytest.mark.parametrize("kind", ["saturated", "weights", "responses", "robust"])
def test_the_influence_of_a_person_is_the_slope_in_their_weight(kind):
    people = draw_tables(np.random.default_rng(3), 400)
    noise = np.random.default_rng(4).normal(size=len(people))
    sample = sample_of(
        people.assign(C=people["Z"] + noise.round(1)), ("X", "W", "Z"), ["Z"] if kind == "saturated" else ["Z", "C"]
    )
    method = {"responses": "plugin", "robust": "doubly_robust"}.get(kind, "ipw")
    adjustment = Estimator.of(method, "logistic" if kind == "robust" else "auto", None, 0).fit(sample)
    assert adjustment.form == ("saturated" if kind == "saturated" else "logistic")
    equal = np.ones((1, len(sample)))
    rates = adjustment.crossed(equal)[0]
    influence = adjustment.influence(rates)
    own = sample.own_influence(sample.own_rates(equal)[0])
    for person in (0, 5, 17, 100):
        step = np.zeros(len(sample))
        step[person] = 1e-4
        for function, known in ((adjustment.crossed, influence), (sample.own_rates, own)):
            slope = (function(equal + step) - function(equal - step))[0] / 2e-4 * len(sample)
            assert np.allclose(slope, known[person], rtol=1e-4, atol=1e-5)


def test_wald_and_bootstrap_intervals_agree():
    people = draw_tables(np.random.default_rng(0), 3000, EXPLAINABLE["A"].tables(), EXPLAINABLE["A"].parents)
    wald = estimate(EXPLAINABLE["A"], people=people)
    drawn = estimate(EXPLAINABLE["A"], people=people, interval="bootstrap", resamples=2000)
    assert np.allclose(drawn.table["mean"], wald.table["mean"])
    assert np.allclose(drawn.table["sd"], wald.table["sd"], rtol=0.1, atol=1e-12)
    assert np.allclose(drawn.table["bootstrap_low"], wald.table["wald_low"], atol=0.3 * wald.table["sd"].max())
    assert drawn.draws.shape == (2000, 2, 2, 2)
    assert drawn.to_inference_data()["posterior"]["rate"].shape == (1, 2000, 2, 2, 2)


@pytest.mark.filterwarnings("ignore:method='plugin' with continuous covariates")
@pytest.mark.parametrize("method", ["ipw", "plugin"])
def test_wald_and_bootstrap_intervals_agree_for_logistic_propensities(method):
    rng = np.random.default_rng(0)
    people = draw_tables(rng, 2000, EXPLAINABLE["A"].tables(), EXPLAINABLE["A"].parents)
    people["Z"] = people["Z"] + rng.normal(size=len(people)) / 3
    options = {"protected": "X", "outcome": "Y", "features": ["X", "W", "Z"], "method": method}
    rule = lambda frame: (frame["W"] + 0.3 * frame["X"] + 0.2 * frame["Z"] > 0.6).to_numpy()  # noqa: E731
    graph = EXPLAINABLE["A"].graph()
    wald = ca.estimate_error_rates(people, graph, rule, **options)
    drawn = ca.estimate_error_rates(people, graph, rule, interval="bootstrap", resamples=500, **options)
    assert np.allclose(drawn.table["sd"], wald.table["sd"], rtol=0.15, atol=1e-12)
    assert np.allclose(drawn.table["mean"], wald.table["mean"])


def test_the_same_seed_gives_the_same_intervals():
    one, same, other = (
        estimate(EXPLAINABLE["A"], interval="bootstrap", resamples=50, seed=seed).table for seed in (1, 1, 2)
    )
    pd.testing.assert_frame_equal(one, same)
    assert (one["bootstrap_low"] != other["bootstrap_low"]).any()


# Weights and trimming


def test_weights_are_described():
    found = estimate(EXPLAINABLE["A"])
    people = EXPLAINABLE["A"].people()
    people = people[people["Y"] == 0]
    assert list(found.weights["of"]) == [0, 1]
    assert list(found.weights["standing_for"]) == [1, 0]
    assert list(found.weights["people"]) == [(people["X"] == 0).sum(), (people["X"] == 1).sum()]
    assert (found.weights["effective_people"] <= found.weights["people"]).all()
    shares = people.groupby("Z")["X"].mean()
    assert found.weights["smallest_propensity"].to_numpy() == pytest.approx([1 - shares.max(), shares.min()])
    assert (found.weights["largest_weight"] > 1).all()


def test_people_without_likes_of_both_levels_are_trimmed_and_counted():
    people = EXPLAINABLE["A"].people()
    alone = people.iloc[:30].assign(Z=2, X=1, Y=0)
    both = pd.concat([people, alone.set_axis(np.arange(30) + 10_000)])
    rule = lambda frame: (frame["W"] + frame["X"] + (frame["Z"] == 1) >= 2).to_numpy()  # noqa: E731
    options = {"protected": "X", "outcome": "Y", "features": ["X", "W", "Z"]}
    graph = EXPLAINABLE["A"].graph()
    without = ca.estimate_error_rates(people, graph, rule, **options)
    trimmed = ca.estimate_error_rates(both, graph, rule, trim=0.05, **options)
    assert trimmed.trimmed == 30
    assert without.trimmed == 0
    pd.testing.assert_frame_equal(trimmed.table, without.table)
    assert trimmed.settings["trim"] == 0.05


# Columns and types


def test_levels_of_text_category_and_truth_values_are_kept():
    people = EXPLAINABLE["A"].people()
    plain = estimate(EXPLAINABLE["A"])
    told = people.assign(
        X=pd.Categorical(people["X"].map({0: "white", 1: "black"}), categories=["white", "black", "other"]),
        Y=people["Y"] == 1,
        Z=people["Z"].map({0: "old", 1: "young"}),
    )
    table = EXPLAINABLE["A"].rule()

    def rule(frame):
        assert frame["X"].dtype == told["X"].dtype
        codes = frame.assign(X=(frame["X"] == "black").astype(int), Z=(frame["Z"] == "young").astype(int))
        return table(codes)

    found = ca.estimate_error_rates(
        told, EXPLAINABLE["A"].graph(), rule, protected="X", outcome="Y", features=["X", "W", "Z"], y=False
    )
    assert np.allclose(found.table["mean"], plain.table["mean"], atol=1e-12)
    assert found.settings["contrast"] == "black"
    assert set(found.rates["read"]) == {"white", "black"}


def test_two_of_three_levels_are_compared():
    people = EXPLAINABLE["A"].people()
    third = pd.concat([people, people.assign(X=2).set_axis(people.index + 10_000)])
    two = ca.estimate_error_rates(
        third,
        EXPLAINABLE["A"].graph(),
        EXPLAINABLE["A"].rule(),
        protected={"X": (1, 0)},
        outcome="Y",
        features=["X", "W", "Z"],
    )
    plain = estimate(EXPLAINABLE["A"])
    assert np.allclose(two.table[["mean", "sd"]], plain.table[["mean", "sd"]], atol=1e-12)


def test_a_classifier_that_does_not_read_the_attribute():
    population = EXPLAINABLE["A"]
    rule = classifier((0.1, 0.5, 0.4, 0.9), ("W", "Z"))
    found = ca.estimate_error_rates(
        population.people(), population.graph(), rule, protected="X", outcome="Y", features=["W", "Z"]
    )
    assert (found.table.loc[found.table["term"] == "direct", ["mean", "sd"]] == 0).all(axis=None)


def test_nothing_to_adjust_for_is_an_answer():
    population = EXPLAINABLE["A"]
    found = ca.estimate_error_rates(
        population.people(),
        population.graph(),
        classifier((0.2, 0.7), ("X",)),
        protected="X",
        outcome="Y",
        features=["X"],
    )
    assert found.explaining_set == frozenset()
    assert found.summary()["mean"].to_numpy() == pytest.approx([0.5, 0.5, 0, 0], abs=1e-12)
