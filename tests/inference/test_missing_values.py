"""A missing value is a latent of that person: dropped, summed or integrated out, and the same numbers follow."""

import importlib
import itertools

import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import pytest
import torch
from scipy import stats
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

import causalaudit as ca
from causalaudit.errors import CausalAuditError, DataError
from causalaudit.inference.components.partition import components_of
from causalaudit.inference.density.chunked_density import ChunkedDensity, marginal_density
from causalaudit.inference.density.marginal_density import MarginalDensity

FIT = importlib.import_module("causalaudit.inference.fit")
CHUNKED = importlib.import_module("causalaudit.inference.density.chunked_density")


def log_likelihoods(scm, data, values=None):
    """Return log p(observed values) of each person at one draw."""
    density = MarginalDensity(scm, scm.encode_observed(data))
    draws = {name: np.asarray([value]) for name, value in (values or {}).items()}
    return density.likelihood_by_row(draws, 1)[0][density.rows.inverse]


def with_holes(data, share=0.3, seed=0, only=None):
    """Return a table in which values are missing, of every column or of some."""
    rng = np.random.default_rng(seed)
    holes = rng.random(data.shape) < share
    holes[:, [name not in (only or data.columns) for name in data.columns]] = False
    return data.mask(holes)


# Finite sites: enumeration

TREATED = np.array([[0.2, 0.3, 0.5], [0.6, 0.1, 0.3]])
HIRED = np.array([[0.1, 0.4, 0.8], [0.3, 0.5, 0.95]])
FINITE_LEVELS = {"group": ["a", "b"], "school": ["low", "mid", "high"], "hired": ["no", "yes"]}


def finite(n):
    with pyro.plate("individuals", n):
        group = pyro.sample("group", dist.Bernoulli(0.35))
        school = pyro.sample("school", dist.Categorical(torch.tensor(TREATED)[group.long()]))
        pyro.sample("hired", dist.Bernoulli(torch.tensor(HIRED)[group.long(), school]))


def finite_joint(group, school, hired):
    chance = HIRED[group, school]
    return (0.35, 0.65)[1 - group] * TREATED[group, school] * (chance if hired else 1 - chance)


def finite_people():
    """Every combination of the values and of what is missing."""
    choices = [[*levels, None] for levels in FINITE_LEVELS.values()]
    return pd.DataFrame(list(itertools.product(*choices)), columns=list(FINITE_LEVELS), dtype=object)


def states_of(person):
    for state in itertools.product(*(range(len(levels)) for levels in FINITE_LEVELS.values())):
        if all(
            value is None or levels.index(value) == code
            for value, levels, code in zip(person, FINITE_LEVELS.values(), state, strict=True)
        ):
            yield state


def test_finite_values_are_summed_out_exactly():
    people = finite_people()
    expected = [np.log(sum(finite_joint(*state) for state in states_of(person))) for person in people.to_numpy()]
    found = log_likelihoods(ca.SCM(finite, levels=FINITE_LEVELS), people)
    np.testing.assert_allclose(found, expected, atol=1e-12)


# Linear and Gaussian: closed forms


def linear(n):
    slope = pyro.sample("slope", dist.Normal(0.0, 1.0))
    effect = pyro.sample("effect", dist.Normal(0.0, 1.0))
    with pyro.plate("individuals", n):
        cause = pyro.sample("cause", dist.Normal(1.0, 1.5))
        mediator = pyro.sample("mediator", dist.Normal(0.5 + slope * cause, 0.8))
        pyro.sample("outcome", dist.Normal(effect * mediator - 0.4 * cause, 0.6))


LINEAR = {"slope": 0.7, "effect": -1.2}


def linear_normal(slope, effect):
    """The joint normal of cause, mediator and outcome."""
    loadings = np.array([[1.5, 0, 0], [1.5 * slope, 0.8, 0], [1.5 * (effect * slope - 0.4), effect * 0.8, 0.6]])
    mean = np.array([1.0, 0.5 + slope, effect * (0.5 + slope) - 0.4])
    return mean, loadings @ loadings.T


def linear_people(n=60, seed=1):
    mean, covariance = linear_normal(**LINEAR)
    drawn = np.random.default_rng(seed).multivariate_normal(mean, covariance, n)
    people = pd.DataFrame(drawn, columns=["cause", "mediator", "outcome"])
    for place, columns in enumerate((["cause"], ["mediator"], ["outcome"], ["mediator", "outcome"])):
        people.loc[place::6, columns] = np.nan
    people.loc[n - 1] = np.nan  # of whom nothing is known
    return people


def test_missing_root_mediator_and_outcome_have_their_closed_form():
    people, (mean, covariance) = linear_people(), linear_normal(**LINEAR)
    known = people.notna().to_numpy()
    expected = [
        multivariate_normal(mean[seen], covariance[np.ix_(seen, seen)]).logpdf(person[seen]) if seen.any() else 0.0
        for person, seen in zip(people.to_numpy(), known, strict=True)
    ]
    np.testing.assert_allclose(log_likelihoods(ca.SCM(linear), people, LINEAR), expected, atol=1e-9)


def test_numbers_of_a_vector_are_missing():
    """The order in which they are drawn is not in the diagram, but the first one's value is used by the second."""
    covariance = np.array([[1.0, 0.6, 0.2], [0.6, 1.5, -0.3], [0.2, -0.3, 0.8]])

    def program(n):
        with pyro.plate("individuals", n):
            pyro.sample("marks", dist.MultivariateNormal(torch.zeros(3), torch.tensor(covariance)))

    scm = ca.SCM(program, columns={"marks": ["maths", "reading", "music"]})
    people = pd.DataFrame(np.random.default_rng(0).normal(size=(12, 3)), columns=["maths", "reading", "music"])
    for place in range(3):
        people.iloc[place::4, place] = np.nan
    known = people.notna().to_numpy()
    expected = [
        multivariate_normal(np.zeros(seen.sum()), covariance[np.ix_(seen, seen)]).logpdf(person[seen])
        for person, seen in zip(people.to_numpy(), known, strict=True)
    ]
    np.testing.assert_allclose(log_likelihoods(scm, people), expected, atol=1e-9)


# A mixed pattern: brute force


def mixed(n):
    with pyro.plate("individuals", n):
        hidden = pyro.sample("hidden", dist.Bernoulli(0.3))
        group = pyro.sample("group", dist.Categorical(torch.tensor([0.5, 0.2, 0.3])))
        wage = pyro.sample("wage", dist.Gamma(2.0 + group, 1.0 + hidden))
        double = pyro.deterministic("double", 2 * wage)  # no column
        visits = pyro.sample("visits", dist.Poisson(torch.exp(0.3 * double - 1.0 + 0.5 * hidden)))
        pyro.sample("grade", dist.OrderedLogistic(0.2 * visits, torch.tensor([-1.0, 0.5])))


def mixed_people(n=15, seed=0):
    rng = np.random.default_rng(seed)
    columns = {
        "group": rng.integers(0, 3, n).astype(float),
        "wage": rng.gamma(2.0, 1.0, n),
        "visits": rng.integers(0, 4, n).astype(float),
        "grade": rng.integers(0, 3, n).astype(float),
    }
    people = pd.DataFrame(columns)
    for place, missing in enumerate((["group", "wage"], ["wage", "grade"], ["visits", "grade"], ["group", "grade"])):
        people.loc[place::5, missing] = np.nan
    return people


def mixed_log_likelihood(person):
    grid = np.linspace(1e-6, 40.0, 40_001)
    terms = []
    for hidden, group in itertools.product((0, 1), range(3)):
        if not np.isnan(person.group) and person.group != group:
            continue
        wages = grid if np.isnan(person.wage) else np.array([person.wage])
        height = np.log((0.3, 0.7)[1 - hidden] * (0.5, 0.2, 0.3)[group])
        height = height + stats.gamma(2.0 + group, scale=1 / (1.0 + hidden)).logpdf(wages)
        if not np.isnan(person.visits):
            height = height + stats.poisson(np.exp(0.6 * wages - 1.0 + 0.5 * hidden)).logpmf(person.visits)
            if not np.isnan(person.grade):
                ends = 1 / (1 + np.exp(0.2 * person.visits - np.array([-np.inf, -1.0, 0.5, np.inf])))
                height = height + np.log(np.diff(ends)[int(person.grade)])
        width = 0.0 if len(wages) == 1 else np.log(grid[1] - grid[0])
        terms.append(logsumexp(height) + width)
    return logsumexp(terms)


def test_finite_and_continuous_missing_values_beside_a_latent_agree_with_brute_force():
    people = mixed_people()
    scm = ca.SCM(mixed, latents=["hidden"]).with_columns_of(people)
    expected = [mixed_log_likelihood(person) for person in people.itertuples()]
    np.testing.assert_allclose(log_likelihoods(scm, people), expected, atol=1e-5)


def test_what_follows_through_a_computed_site_is_part_of_the_integral():
    """A latent enters its effects directly or through what is computed from it: the program is the same."""

    def program(n, named):
        with pyro.plate("individuals", n):
            latent = pyro.sample("latent", dist.Normal(0.0, 1.0))
            twice = pyro.deterministic("twice", 2 * latent) if named else 2 * latent
            pyro.sample("score", dist.Normal(twice, 1.0))

    people = pd.DataFrame({"score": [0.5, -1.0, 2.0]})
    for named in (True, False):
        scm = ca.SCM(lambda n, named=named: program(n, named), latents=["latent"]).with_columns_of(people)
        expected = stats.norm(0.0, np.sqrt(5.0)).logpdf(people["score"])
        np.testing.assert_allclose(log_likelihoods(scm, people), expected, atol=1e-9)


# Fits


@pytest.fixture(scope="module")
def linear_scm():
    return ca.SCM(linear)


@pytest.fixture(scope="module")
def linear_posterior(linear_scm):
    return ca.fit(linear_scm, linear_people(90), seed=0, progress=False)


def test_a_missing_cause_joins_the_parameters_of_what_it_enters(linear_scm):
    def parameters(missing):
        people = linear_people().dropna()
        people.loc[people.index[:3], missing] = np.nan
        return {component.parameters for component in components_of(linear_scm, linear_scm.encode_observed(people))}

    apart = {("slope",), ("effect",), ()}
    assert parameters([]) == apart
    assert parameters(["outcome"]) == apart
    assert parameters(["mediator", "outcome"]) == apart
    assert ("slope", "effect") in parameters(["mediator"])
    assert ("slope", "effect") in parameters(["cause"])


def test_posterior_agrees_with_the_closed_form_on_a_grid(linear_posterior):
    people = linear_posterior.data.to_numpy()
    slopes, effects = np.meshgrid(np.linspace(0.2, 1.2, 61), np.linspace(-2.0, -0.4, 61), indexing="ij")
    height = stats.norm.logpdf(slopes) + stats.norm.logpdf(effects)
    laws = [linear_normal(*place) for place in zip(slopes.ravel(), effects.ravel(), strict=True)]
    means, covariances = (np.stack(part) for part in zip(*laws, strict=True))
    for seen in np.unique(~np.isnan(people), axis=0):
        own = people[(~np.isnan(people) == seen).all(axis=1)][:, seen]
        covariance = covariances[:, seen][:, :, seen]
        residuals = own - means[:, None, seen]
        squares = np.einsum("gpi,gij,gpj->g", residuals, np.linalg.inv(covariance), residuals)
        height -= (squares + len(own) * np.linalg.slogdet(covariance)[1]).reshape(height.shape) / 2
    weights = np.exp(height - logsumexp(height))
    summary = linear_posterior.summary()
    for name, grid in (("slope", slopes), ("effect", effects)):
        mean = (weights * grid).sum()
        sd = np.sqrt((weights * (grid - mean) ** 2).sum())
        assert summary["mean"][name] == pytest.approx(mean, abs=0.06 * sd)
        assert summary["sd"][name] == pytest.approx(sd, rel=0.06)


def test_components_give_the_joint_posterior(linear_scm, linear_posterior, monkeypatch):
    monkeypatch.setattr(FIT, "components_of", lambda scm, values: [])
    joint = ca.fit(linear_scm, linear_posterior.data, seed=1, progress=False)
    one, two = linear_posterior.log_evidence, joint.log_evidence
    assert one.value == pytest.approx(two.value, abs=4 * np.hypot(one.error, two.error) + 1e-3)


def test_large_tables_are_summed_in_pieces(linear_scm, monkeypatch):
    values = linear_scm.encode_observed(linear_people())
    whole = marginal_density(linear_scm, values)
    monkeypatch.setattr(CHUNKED, "_PIECE", 200)
    parts = marginal_density(linear_scm, values)
    assert isinstance(parts, ChunkedDensity)
    vectors = np.random.default_rng(0).normal(size=(4, 2))
    np.testing.assert_allclose(parts.value(vectors), whole.value(vectors), rtol=1e-6)
    assert parts.integrates
    assert parts.of_few(10, 0) is not None


def test_samplers_see_the_slope_of_the_density(linear_scm):
    density = MarginalDensity(linear_scm, linear_scm.encode_observed(linear_people()))
    place = np.array([0.6, -1.0])
    placed = density.placed_at(place)
    steps = 1e-4 * np.eye(2)
    height, slope = placed.gradient(place)
    expected = [float(np.diff(placed.value(np.stack([place - step, place + step])))[0]) / 2e-4 for step in steps]
    np.testing.assert_allclose(slope, expected, rtol=1e-5)
    assert height == pytest.approx(placed.value(place[None])[0])


def test_log_likelihood_accounts_for_every_person_and_is_saved(linear_scm, linear_posterior, tmp_path):
    people = linear_posterior.data
    found = linear_posterior.log_likelihood(progress=False)
    assert found.sizes["individual"] == len(people)
    first = {name: value[0] for name, value in linear_posterior.parameters().items()}
    np.testing.assert_allclose(found[0, 0], log_likelihoods(linear_scm, people, first), atol=1e-6)
    observed = linear_posterior.idata["observed_data"]
    np.testing.assert_array_equal(observed["mediator"], people["mediator"])
    linear_posterior.save(tmp_path / "linear.nc")
    loaded = ca.Posterior.load(tmp_path / "linear.nc", linear_scm)
    pd.testing.assert_frame_equal(loaded.data, people)
    assert loaded.diagnostics() == linear_posterior.diagnostics()


def test_diagnostics_say_what_is_missing(linear_posterior):
    people = linear_posterior.data
    words = str(linear_posterior.diagnostics())
    counts = ", ".join(f"{name!r} for {count}" for name, count in people.isna().sum().items())
    lacking = int(people.isna().any(axis=1).sum())
    assert f"Missing: {counts} of {len(people)} people ({lacking} lack at least one value)" in words
    assert "missing at random" in words
    complete = ca.fit(ca.SCM(linear), people.dropna(), draws=50, chains=1, progress=False)
    assert complete.diagnostics().missing is None


def test_predictive_check_leaves_out_what_is_missing():
    def program(n):
        with pyro.plate("individuals", n):
            group = pyro.sample("group", dist.Bernoulli(0.5))
            wage = pyro.sample("wage", dist.Normal(group, 1.0))
            pyro.sample("tax", dist.Normal(wage, 1.0))

    people = ca.SCM(program).prior_predictive(200, 1, seed=0).isel(draw=0).to_dataframe()[["group", "wage", "tax"]]
    posterior = ca.fit(ca.SCM(program), people.assign(wage=people["wage"].where(people["wage"] < 0.5)))
    diagnostics = posterior.diagnostics(by="group")
    assert diagnostics.fits
    assert "in every other variable" in diagnostics.predictive
    assert "Not compared, because values are missing: 'wage'" in diagnostics.predictive
    with pytest.raises(DataError, match="by is 'wage', which is missing for"):
        posterior.diagnostics(by="wage")
    legend = ca.plots.plot_predictive(posterior, "wage", by="group").get_legend()
    assert any("missing)" in text.get_text() for text in legend.get_texts())


# Refusals


def refused(scm, data, message, **options):
    with pytest.raises(CausalAuditError, match=message):
        ca.fit(scm, data, progress=False, **options)


def test_two_continuous_missing_values_are_refused(linear_scm, linear_posterior):
    people = linear_people().set_axis([f"person {number}" for number in range(60)])
    people.loc[["person 7", "person 13"], ["cause", "mediator"]] = np.nan
    message = (
        r"'cause', 'mediator' are missing for 2 people \('person 7', 'person 13'\), of whom something that follows is "
        r"observed, and 'cause', 'mediator' are continuous.*Impute all but one"
    )
    refused(linear_scm, people, message)
    with pytest.raises(DataError, match=message):
        ca.counterfactuals(linear_posterior, {"cause": 0.0}, people)


def test_a_continuous_missing_value_beside_a_continuous_latent_is_refused():
    def program(n):
        with pyro.plate("individuals", n):
            skill = pyro.sample("skill", dist.Normal(0.0, 1.0))
            wage = pyro.sample("wage", dist.Normal(skill, 1.0))
            pyro.sample("tax", dist.Normal(wage, 1.0))

    scm = ca.SCM(program, latents=["skill"])
    people = pd.DataFrame({"wage": [1.0, np.nan], "tax": [0.0, 1.0]})
    refused(scm, people, r"'wage' is missing for 1 people \(1\).*'skill', 'wage' are continuous and not known")
    outcome = people.assign(wage=[1.0, 2.0], tax=[np.nan, 1.0])  # nothing follows from it
    np.testing.assert_allclose(log_likelihoods(scm, outcome)[0], stats.norm(0.0, np.sqrt(2.0)).logpdf(1.0), atol=1e-9)


def test_a_count_without_an_end_is_refused_unless_nothing_follows():
    def program(n):
        with pyro.plate("individuals", n):
            visits = pyro.sample("visits", dist.Poisson(2.0))
            pyro.sample("cost", dist.Normal(visits, 1.0))

    people = pd.DataFrame({"visits": [1.0, np.nan], "cost": [2.0, 3.0]})
    refused(ca.SCM(program), people, r"'visits' \(Poisson\) has neither finitely many values nor a continuous range")
    nothing = people.assign(cost=[2.0, np.nan])
    assert log_likelihoods(ca.SCM(program), nothing)[1] == 0.0


def test_values_that_a_column_determines_are_refused():
    def program(n):
        with pyro.plate("individuals", n):
            weight = pyro.sample("weight", dist.Normal(70.0, 5.0))
            height = pyro.sample("height", dist.Normal(1.7, 0.1))
            pyro.deterministic("bmi", weight / height**2)

    people = pd.DataFrame({"weight": [70.0, np.nan], "height": [1.7, 1.8]})
    people["bmi"] = [70.0 / 1.7**2, 20.0]
    refused(ca.SCM(program), people, "'bmi', which is computed from 'weight', determines it: fill it in")
    unknown = people.assign(bmi=[np.nan, np.nan]).assign(bmi=[people["bmi"][0], np.nan])
    expected = stats.norm(1.7, 0.1).logpdf(1.8)  # nothing is known that follows from the weight
    np.testing.assert_allclose(log_likelihoods(ca.SCM(program), unknown)[1], expected)


def test_states_are_bounded():
    def program(n):
        with pyro.plate("individuals", n):
            total = 0.0
            for number in range(9):
                total = total + pyro.sample(f"x{number}", dist.Bernoulli(0.5))
            pyro.sample("y", dist.Normal(total, 1.0))

    people = pd.DataFrame({f"x{number}": [0.0, np.nan] for number in range(9)} | {"y": [0.0, 1.0]})
    refused(ca.SCM(program), people, "have 512 joint states; at most 256 are summed over")


def test_given_columns_must_be_known():
    def program(n):
        slope = pyro.sample("slope", dist.Normal(0.0, 1.0))
        with pyro.plate("individuals", n):
            age = pyro.sample("age", ca.Given())
            pyro.sample("wage", dist.Normal(slope * age, 1.0))

    people = pd.DataFrame({"age": [1.0, np.nan, 2.0], "wage": [1.0, 2.0, np.nan]})
    refused(ca.SCM(program), people, r"'age' is missing for 1 of 3 people, but the program conditions on it \(Given\)")
    assert ca.fit(ca.SCM(program), people.assign(age=1.0), draws=10, chains=1).diagnostics().missing


def test_latents_that_are_drawn_jointly_need_complete_people():
    def program(n):
        with pyro.plate("individuals", n):
            one = pyro.sample("one", dist.Normal(0.0, 1.0))
            two = pyro.sample("two", dist.Normal(0.0, 1.0))
            three = pyro.sample("three", dist.Normal(0.0, 1.0))
            pyro.sample("sum", dist.Normal(one + two + three, 1.0))
            pyro.sample("difference", dist.Normal(one - two, 1.0))

    people = pd.DataFrame({"sum": [1.0, np.nan], "difference": [0.0, 1.0]})
    scm = ca.SCM(program, latents=["one", "two", "three"])
    refused(scm, people, "'sum' is missing for some people, but the latents 'one', 'two', 'three' are drawn jointly")


@pytest.mark.parametrize("missing", [np.nan, None, pd.NA])
def test_a_column_of_nothing_but_missing_values_is_refused(linear_scm, missing):
    refused(linear_scm, linear_people().assign(mediator=missing), "'mediator' is missing for everybody.*`latents`")


def test_known_values_are_checked_where_others_are_missing(linear_scm):
    scm = ca.SCM(finite, levels=FINITE_LEVELS)
    people = finite_people()
    refused(scm, people.assign(group=[None, "c"] * 18), r"'group' has the values 'c', but its levels are")
    refused(linear_scm, linear_people().assign(outcome=["a", None] * 30), "'outcome' holds .* values")


@pytest.mark.parametrize("kind", ["float", "Float64", "Int64", "object", "boolean"])
def test_columns_of_any_type_may_have_missing_values(kind):
    def program(n):
        with pyro.plate("individuals", n):
            pyro.sample("x", dist.Bernoulli(0.25))

    column = pd.Series([True, False, None, True], dtype=object)
    column = column if kind == "object" else column.astype("boolean").astype(kind)
    people = pd.DataFrame({"x": column})
    np.testing.assert_allclose(log_likelihoods(ca.SCM(program), people), np.log([0.25, 0.75, 1.0, 0.25]))


def test_values_of_a_confounded_pair_must_be_known():
    scm = ca.models.loan.linear().confounded("salary", "balance", rho=0.3)
    people = ca.datasets.make_loan(50, seed=0)
    people.loc[people.index[:3], "balance"] = np.nan
    with pytest.raises(DataError, match="'balance' is missing for 3 people, and has a hidden common cause"):
        ca.fit(scm, people, draws=5, chains=1)
