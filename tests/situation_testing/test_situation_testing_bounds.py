"""P(delta > tau) under every coupling: linear programs over profiles, couplings that can be asked for, refusals."""

import itertools
from dataclasses import replace

import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import pytest
import torch
from finite_programs import posterior_of
from scipy.optimize import linprog

import causalaudit as ca
from causalaudit.errors import CausalAuditError, DataError
from causalaudit.storage import same

pytestmark = pytest.mark.filterwarnings("ignore:.*rest on a poor match")
LEVELS = {"sex": ["m", "f"], "rank": ["low", "middle", "high"]}


def office(n):
    """The rank sees sex; the grade sees both: whoever is decided later sees all that is left to decide."""
    with pyro.plate("individuals", n):
        pyro.sample("team", dist.Bernoulli(torch.full((n,), 0.5)))
        sex = pyro.sample("sex", dist.Bernoulli(torch.full((n,), 0.5)))
        rank = pyro.sample("rank", dist.Categorical(torch.stack([0.3 + 0.2 * sex, 0.3 + 0 * sex, 0.4 - 0.2 * sex], -1)))
        pyro.sample("grade", dist.Binomial(2, 0.3 + 0.2 * rank - 0.1 * sex))


def blind_office(n):
    """The grade does not see the rank."""
    with pyro.plate("individuals", n):
        pyro.sample("team", dist.Bernoulli(torch.full((n,), 0.5)))
        sex = pyro.sample("sex", dist.Bernoulli(torch.full((n,), 0.5)))
        pyro.sample("rank", dist.Categorical(torch.stack([0.3 + 0.2 * sex, 0.3 + 0 * sex, 0.4 - 0.2 * sex], -1)))
        pyro.sample("grade", dist.Binomial(2, 0.6 - 0.2 * sex))


def people_of(n, seed=0):
    rng = np.random.default_rng(seed)
    sex = rng.integers(2, size=n)
    rank = np.array([rng.choice(3, p=[0.3 + 0.2 * one, 0.3, 0.4 - 0.2 * one]) for one in sex])
    grade = rng.binomial(2, 0.3 + 0.2 * rank - 0.1 * sex)
    team = rng.integers(2, size=n)
    hired = (rank + grade + team - sex + rng.integers(2, size=n) >= 3).astype(int)
    names = {name: np.array(levels) for name, levels in LEVELS.items()}
    return pd.DataFrame(
        {"sex": names["sex"][sex], "rank": names["rank"][rank], "grade": grade, "team": team, "hired": hired},
        index=[f"p{i}" for i in range(n)],
    )


def posterior_on(people, program=office, draws=2):
    return ca.fit(ca.SCM(program, levels=LEVELS), people, draws=draws, chains=1, progress=False)


def audit(people, worlds, decision="hired", features=("rank", "grade", "team"), k=5, **options):
    return ca.situation_testing(
        people, decision, {"sex": "f"}, features=list(features), counterfactuals=worlds, k=k, progress=False, **options
    )


def worlds_of(posterior, **options):
    women = posterior.data.sex == "f"
    return ca.counterfactuals(posterior, {"sex": "m"}, rows=women, progress=False, **options)


@pytest.fixture(scope="module")
def people():
    return people_of(50)


@pytest.fixture(scope="module")
def posterior(people):
    return posterior_on(people)


@pytest.fixture(scope="module")
def bounded(people, posterior):
    return audit(people, worlds_of(posterior), k=[3, 5], tau=0.1, bounds=True)


def profiles_of(people):
    """Every profile of rank and grade that women could have, and the table in which all of them have it."""
    women = people[people.sex == "f"]
    for rank, grade in itertools.product(LEVELS["rank"], range(3)):
        frame = women.assign(sex="m", rank=rank, grade=grade)
        yield rank, grade, ca.CounterfactualDraws.from_frame(frame, {"sex": "m"})


def chance_of(rank, grade, sex):
    ranks = [0.3 + 0.2 * sex, 0.3, 0.4 - 0.2 * sex]
    share = 0.3 + 0.2 * rank - 0.1 * sex
    return ranks[rank], [(1 - share) ** 2, 2 * share * (1 - share), share**2][grade]


def coupled(cost, row, column):
    """The least mean cost of pairs of values, the laws of which are known: a linear program."""
    rows = [np.repeat(np.eye(3)[i], 3) for i in range(3)] + [np.tile(np.eye(3)[j], 3) for j in range(3)]
    return linprog(cost.ravel(), A_eq=np.array(rows), b_eq=[*row, *column]).fun


def by_programs(rank, grade, event, sign):
    """Chained: the grade for each rank, which it may choose anew; then the rank."""
    laws = {sex: [chance_of(one, 0, sex)[0] for one in range(3)] for sex in (0, 1)}
    grades = {(one, sex): [chance_of(one, two, sex)[1] for two in range(3)] for one in range(3) for sex in (0, 1)}
    ahead = np.empty(3)
    for other in range(3):
        cost = np.zeros((3, 3))
        cost[grade] = sign * event[other] / grades[rank, 1][grade]
        ahead[other] = coupled(cost, grades[rank, 1], grades[other, 0])
    cost = np.zeros((3, 3))
    cost[rank] = ahead / laws[1][rank]
    return sign * coupled(cost, laws[1], laws[0])


def test_bounds_are_linear_programs_over_the_profiles_beyond_tau(people, bounded):
    """Delta at each profile by an audit of a table in which every woman has it."""
    found = {k: {} for k in (3, 5)}
    for rank, grade, frame in profiles_of(people):
        point = audit(people, frame, k=[3, 5], tau=0.1)
        for k in (3, 5):
            found[k][LEVELS["rank"].index(rank), grade] = point.at(k)["beyond_tau"]
    women, known = people[people.sex == "f"], {}
    for k in (3, 5):
        table = bounded.at(k)
        for place, (label, row) in enumerate(women.iterrows()):
            event = np.zeros((3, 3))
            for profile, beyond in found[k].items():
                event[profile] = beyond.iloc[place]
            own = LEVELS["rank"].index(row["rank"]), row["grade"]
            key = *own, event.tobytes()
            if key not in known:
                known[key] = [by_programs(*own, event, sign) for sign in (1.0, -1.0)]
            expected = known[key]
            assert table.loc[label, ["coupling_low", "coupling_high"]].tolist() == pytest.approx(expected, abs=1e-9)
    kind = bounded.intervals.set_index("kind").loc["coupling"]
    assert (kind["type"], kind["level"]) == ("sharp", 1.0)
    assert "the probability that delta > 0.1, under any coupling" in kind["about"]


def test_bounds_are_of_use(bounded):
    width = bounded.table["coupling_high"] - bounded.table["coupling_low"]
    assert ((width >= 0) & (width <= 1)).all()
    assert (width > 0.1).any()
    assert (width < 0.9).any()


COUPLINGS = [
    {"rank": "gumbel", "grade": "monotone"},
    {"rank": "independent", "grade": "independent"},
    {"rank": "monotone", "grade": -0.5},
    {"rank": "gumbel", "grade": -1.0},
    {"rank": "independent", "grade": 0.5},
]


@pytest.mark.slow
@pytest.mark.parametrize("program", [office, blind_office])
@pytest.mark.parametrize("coupling", COUPLINGS, ids=str)
def test_the_answer_of_every_coupling_is_inside(people, program, coupling):
    """By the share of 600 draws, each complainant within its error; of these programs all draws have the same law."""
    posterior = posterior_on(people, program, draws=600)
    drawn = audit(people, worlds_of(posterior, coupling=coupling), tau=0.1)
    table = audit(people, worlds_of(posterior, draws=2), tau=0.1, bounds=True).table
    share, size = drawn.table["prob_beyond_tau"].to_numpy(), 600
    slack = 4 * np.sqrt(np.maximum(share * (1 - share), 1e-12) / size) + 1e-9
    assert (table["coupling_low"] <= share + slack).all()
    assert (share <= table["coupling_high"] + slack).all()


def test_the_probability_under_every_coupling_is_inside_exactly(people, posterior, bounded):
    """The probability of each profile, without draws: the two sites' joint laws of both worlds, multiplied."""
    from causalaudit.counterfactuals.finite_sites import tabulate

    sites = tabulate(posterior.scm, {}, 1, {})
    women = people[people.sex == "f"]
    codes = np.array([LEVELS["rank"].index(one) for one in women["rank"]]), women["grade"].to_numpy()
    beyond = {
        (LEVELS["rank"].index(rank), grade): audit(people, frame, k=3, tau=0.1).at(3)["beyond_tau"].to_numpy()
        for rank, grade, frame in profiles_of(people)
    }
    ones, table = np.ones(len(women), dtype=int), bounded.at(3)
    for kind in ("monotone", "gumbel", "independent", -1.0, -0.5, 0.5):
        total = np.zeros(len(women))
        rank_site, grade_site = (replace(sites[name], coupling=kind) for name in ("rank", "grade"))
        own_rank, own_grade = ((ones,), codes[0]), (_parents(grade_site, ones, codes[0]), codes[1])
        had = [site.probability(slice(0, 1), *own)[0] for site, own in ((rank_site, own_rank), (grade_site, own_grade))]
        for (rank, grade), event in beyond.items():
            there = ((0 * ones,), rank * ones), (_parents(grade_site, 0 * ones, rank * ones), grade * ones)
            both = rank_site.joint(slice(0, 1), own_rank, there[0])[0]
            both = both * grade_site.joint(slice(0, 1), own_grade, there[1])[0]
            total += event * both / had[0] / had[1]
        assert (table["coupling_low"] <= total + 1e-9).all()
        assert (total <= table["coupling_high"] + 1e-9).all()


def _parents(site, sex, rank):
    return tuple({"sex": sex, "rank": rank}[name] for name in site.parents)


def test_bounds_that_no_coupling_need_attain_are_labelled(people):
    posterior = posterior_on(people, blind_office)
    result = audit(people, worlds_of(posterior), bounds=True)
    assert result.intervals.set_index("kind").loc["coupling", "type"] == "outer"
    alone = audit(people, worlds_of(posterior), features=["grade", "team"], bounds=True)
    assert alone.intervals.set_index("kind").loc["coupling", "type"] == "sharp"


def test_what_no_intervention_reaches_is_certain(people, posterior):
    result = audit(people, worlds_of(posterior), features=["team"], bounds=True)
    assert result.table["coupling_low"].tolist() == result.table["coupling_high"].tolist()
    assert result.table["coupling_low"].tolist() == result.table["prob_beyond_tau"].tolist()


@pytest.mark.parametrize("options", [{"centres": True}, {"max_distance": 0.2}, {"direction": "positive"}])
@pytest.mark.filterwarnings("ignore:.*complainants have a group without anyone")
def test_other_questions_have_bounds_of_their_own(people, posterior, options):
    """With centres the decision on the counterfactual is part of delta; it reads all that the program models."""
    rule = lambda table: (table["rank"].map(LEVELS["rank"].index).astype(int) + table.grade >= 2).astype(int)  # noqa: E731
    result = audit(people, worlds_of(posterior_on(people, draws=400)), rule, ["grade", "team"], bounds=True, **options)
    share = result.table["prob_beyond_tau"]
    slack = 4 * np.sqrt(np.maximum(share * (1 - share), 1e-12) / 400) + 1e-9
    assert (result.table["coupling_low"] <= share + slack).all()
    assert (share <= result.table["coupling_high"] + slack).all()


def test_it_is_averaged_over_draws_of_the_parameters(people):
    def free(n):
        gap = pyro.sample("gap", dist.Normal(0.0, 1.0))
        with pyro.plate("individuals", n):
            sex = pyro.sample("sex", dist.Bernoulli(torch.full((n,), 0.5)))
            pyro.sample("grade", dist.Binomial(2, torch.sigmoid(gap * sex)))

    scm, gaps = ca.SCM(free, levels={"sex": ["m", "f"]}), [-1.0, 0.5, 2.0]
    each = [
        audit(people, worlds_of(posterior_of(scm, people, {"gap": np.array(some)})), features=["grade"], bounds=True)
        for some in (gaps, *([gap] for gap in gaps))
    ]
    mean = np.mean([one.table[["coupling_low", "coupling_high"]].to_numpy() for one in each[1:]], axis=0)
    np.testing.assert_allclose(each[0].table[["coupling_low", "coupling_high"]].to_numpy(), mean, atol=1e-12)


def test_the_rest_is_the_same_with_bounds_and_without(people, posterior, bounded):
    plain = audit(people, worlds_of(posterior), k=[3, 5], tau=0.1)
    pd.testing.assert_frame_equal(plain.table, bounded.table[plain.table.columns])
    assert plain.evidence.bounds is None
    assert "coupling" not in set(plain.intervals["kind"])


def test_bounds_are_saved_and_part_of_the_units(bounded, tmp_path):
    bounded.save(tmp_path / "cases.nc")
    assert same(ca.load(tmp_path / "cases.nc").table, bounded.table)
    units = bounded.by_unit()
    assert units["coupling_low"].tolist() == bounded.at(3)["coupling_low"].tolist()
    assert "coupling_low" not in bounded.verdicts


def test_what_has_no_bounds_is_refused(people, posterior, tmp_path):
    with pytest.raises(DataError, match="bounds=True is about counterfactuals under any coupling: give counterfactual"):
        audit(people, None, bounds=True)
    women = people[people.sex == "f"].assign(sex="m")
    with pytest.raises(CausalAuditError, match="loaded or computed elsewhere"):
        audit(people, ca.CounterfactualDraws.from_frame(women), bounds=True)
    with pytest.raises(DataError, match="cannot be had with scale='authors'"):
        audit(people, worlds_of(posterior), distance=ca.Gower(scale="authors"), bounds=True)
    loans = ca.datasets.make_loan(100, seed=0)
    worlds = ca.counterfactuals(
        ca.fit(ca.models.loan.linear(), loans, "map", draws=1, chains=1), {"gender": "male"}, progress=False
    )
    with pytest.raises(DataError, match="infinitely many values, which cannot be enumerated: ask without bounds=True"):
        ca.situation_testing(
            loans, "approved", {"gender": "female"}, features=["salary", "balance"], counterfactuals=worlds, k=5,
            bounds=True, progress=False,
        )  # fmt: skip
