"""The ready-made models: their diagrams, and the published counterfactuals."""

import re

import numpy as np
import pandas as pd
import pytest

import causalaudit as ca
from causalaudit.models import law_school, loan, standard_prediction

BUILDERS = {
    "loan.linear": loan.linear,
    "law_school.level_3": law_school.level_3,
    "law_school.level_3_interaction": law_school.level_3_interaction,
    "law_school.intersectional": law_school.intersectional,
    "standard_prediction.xor": standard_prediction.xor,
    "standard_prediction.xor_exogenous": standard_prediction.xor_exogenous,
    "standard_prediction.plain_bernoulli": standard_prediction.plain_bernoulli,
    "standard_prediction.scm_b": standard_prediction.scm_b,
}


def documented_edges(module, builder: str) -> set[tuple[str, str]]:
    """Read the diagram of a builder off the docstring of its module: the block that names it."""
    blocks = re.split(r"\n(?=Diagram of )", module.__doc__)[1:]
    block = next(b for b in blocks if f"`{builder}`" in b.split("::")[0])
    return set(re.findall(r"^    (\w+) -> (\w+)$", block, flags=re.MULTILINE))


@pytest.mark.parametrize("name", BUILDERS)
def test_the_diagram_is_the_documented_one(name):
    module_name, builder = name.split(".")
    module = getattr(ca.models, module_name)
    graph = BUILDERS[name]().graph
    observed = graph.subgraph([node for node, latent in graph.nodes(data="latent") if not latent])
    assert set(observed.edges) == documented_edges(module, builder)
    latent = set(graph.edges) - set(observed.edges)
    assert latent == ({(f"U_{v}", v) for v in "ZXWYD"} if builder == "xor_exogenous" else set())


def test_the_diagrams_are_those_of_the_papers():
    assert set(loan.linear().graph.edges) == {("gender", "salary"), ("gender", "balance"), ("salary", "balance")}
    assert set(law_school.level_3().graph.edges) == {(a, b) for a in ("Gender", "Race") for b in ("LSAT", "UGPA")}
    order = "ZXWYD"
    figure_6 = {(a, b) for i, a in enumerate(order) for b in order[i + 1 :]}
    assert set(standard_prediction.scm_b().graph.edges) == figure_6


def test_the_true_loan_process_has_the_moments_of_make_loan():
    simulated = loan.true_process().prior_predictive(n=20_000, draws=1, seed=0).isel(draw=0)
    made = ca.datasets.make_loan(20_000, seed=1)
    for column in ("salary", "balance"):
        for code, gender in enumerate(("male", "female")):
            one = simulated[column].to_numpy()[simulated["gender"].to_numpy() == code]
            two = made.loc[made.gender == gender, column]
            error = np.hypot(one.std() / np.sqrt(len(one)), two.std() / np.sqrt(len(two)))
            assert abs(one.mean() - two.mean()) < 4 * error
            assert one.std() == pytest.approx(two.std(), rel=0.05)


def test_maximum_likelihood_reproduces_the_published_loan_counterfactuals(data_folder):
    applicants = ca.datasets.load_loan(data_folder)
    posterior = ca.fit(loan.linear(), applicants, method="ml", draws=1, chains=1)
    point = ca.counterfactuals(posterior, {"gender": "male"}).point
    published = pd.read_csv(data_folder / "counterfactuals" / "loan_application_do_male.csv", sep="|")
    assert np.abs(point["salary"].to_numpy() - published["AnnualSalary"].to_numpy()).max() <= 0.02
    assert np.abs(point["balance"].to_numpy() - published["AccountBalance"].to_numpy()).max() <= 0.02
    assert (point["gender"] == "male").all()


@pytest.mark.parametrize(
    ("builder", "do", "file"),
    [
        (law_school.level_3, {"Gender": "Male"}, "male"),
        (law_school.level_3, {"Race": "White"}, "white"),
        (law_school.intersectional, {"GenderRace": "Other"}, "male_white"),
    ],
)
def test_maximum_likelihood_reproduces_the_published_law_school_counterfactuals(data_folder, builder, do, file):
    people = ca.datasets.load_law_school(data_folder).assign(LSAT=lambda frame: frame["LSAT"].round())
    point = ca.counterfactuals(ca.fit(builder(), people, method="ml", draws=1, chains=1), do).point
    path = data_folder / "counterfactuals" / f"law_school_level3_do_{file}.csv"
    published = pd.read_csv(path, sep="|", index_col=0)
    for column, (low, high) in {"LSAT": (10, 48), "UGPA": (0, 4)}.items():
        # They rounded to three decimals and clipped; ours must agree before that.
        theirs = published[f"scf_{column}"].to_numpy()
        ours = point[column].to_numpy()
        inside = (theirs > low) & (theirs < high)
        assert np.abs(ours - theirs)[inside].max() <= 0.002
        assert (np.abs(ours.clip(low, high) - theirs) <= 0.002).all()


def flipped(scm, people):
    """Ask what would have been, had X been the other value; the true answer is known."""
    posterior = ca.fit(scm, people, draws=1, chains=1)
    worlds = ca.counterfactuals(posterior, {"X": lambda frame: 1 - frame["X"]}, seed=0)
    return next(iter(worlds.frames()))


@pytest.fixture(scope="module")
def experiment_1():
    """People of experiment 1, and the same people under do(X := 1 - X)."""
    rng = np.random.default_rng(0)
    noise = {name: (rng.random(20_000) < share).astype(int) for name, share in standard_prediction._NOISE.items()}

    def world(x_of):
        z = noise["Z"]
        x = x_of(z ^ noise["X"])
        w = x ^ z ^ noise["W"]
        y = x ^ z ^ w ^ noise["Y"]
        return pd.DataFrame({"Z": z, "X": x, "W": w, "Y": y, "D": x ^ z ^ w ^ y ^ noise["D"]})

    return world(lambda x: x), world(lambda x: 1 - x)


@pytest.mark.parametrize("builder", [standard_prediction.xor, standard_prediction.xor_exogenous])
def test_experiment_1_with_its_own_noise_is_right_for_everybody(experiment_1, builder):
    people, truth = experiment_1
    pd.testing.assert_frame_equal(flipped(builder(), people), truth, check_dtype=False)


def test_plain_bernoulli_sites_are_right_for_80_and_84_percent(experiment_1):
    people, truth = experiment_1
    answer = flipped(standard_prediction.plain_bernoulli(), people)
    error = 4 * np.sqrt(0.8 * 0.2 / len(people))
    assert (answer["W"] == truth["W"]).mean() == pytest.approx(0.80, abs=error)
    assert (answer["Y"] == truth["Y"]).mean() == pytest.approx(0.84, abs=error)


def test_the_three_programs_of_experiment_1_give_the_data_the_same_likelihood(experiment_1):
    people = experiment_1[0].head(200)
    builders = (standard_prediction.xor, standard_prediction.xor_exogenous, standard_prediction.plain_bernoulli)
    each = [ca.fit(builder(), people, draws=1, chains=1).log_likelihood().to_numpy() for builder in builders]
    np.testing.assert_allclose(each[1], each[0], rtol=1e-12)
    np.testing.assert_allclose(each[2], each[0], rtol=1e-12)


def test_scm_b_has_the_published_distribution(reference_folder):
    """P(Y = 1) and P(D = 1) by enumeration of the reference's table of conditional probabilities."""
    import itertools
    import json

    table = json.loads((reference_folder / "error_rates.json").read_text())["scmB"]["cpt"]

    def share(name, **values):
        terms = table[name].replace("-", "+-").split("+")
        return sum(float(t[: -len(v)]) * values[v] if (v := t.strip("0123456789.")) else float(t) for t in terms)

    exact = dict.fromkeys("ZXWYD", 0.0)
    for z, x, w, y, d in itertools.product((0, 1), repeat=5):
        state = {"z": z, "x": x, "w": w, "y": y, "d": d}
        p = 1.0
        for name in "ZXWYD":
            q = share(name, **state)
            p *= q if state[name.lower()] else 1 - q
        for name in exact:
            exact[name] += p * state[name.lower()]
    simulated = standard_prediction.scm_b().prior_predictive(n=100_000, draws=1, seed=0)
    for name, probability in exact.items():
        assert float(simulated[name].mean()) == pytest.approx(probability, abs=0.007)
