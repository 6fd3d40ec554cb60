"""Arguments: what is wrong is named, shown and answered by what is expected, whichever function is asked."""

from collections.abc import Callable, Collection, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pytest

import causalaudit as ca
from causalaudit.arguments import (
    check_choice,
    check_count,
    check_kind,
    check_name,
    check_names,
    check_number,
    check_positive,
    check_types,
    check_value,
    shown,
)
from causalaudit.errors import CausalAuditError, CausalAuditWarning, DataError, ProgramError


def ask(
    names: Collection[str] = (),
    pairs: Collection[tuple[str, str]] = (),
    weights: Mapping[str, float] | None = None,
    sizes: int | Sequence[int] = 1,
    kind: Literal["one", "other"] = "one",
    share: float = 0.5,
    alone: bool = False,
    audit: Callable[[Any], Any] | None = None,
    path: str | Path | None = None,
    table: pd.DataFrame | None = None,
    outcome: str = "y",
    seed: int = 0,
    prob: float = 0.9,
    anything: Any = None,
) -> None:
    check_types(ask, locals())


@pytest.mark.parametrize(
    ("argument", "value", "message"),
    [
        ("names", "age", r"names is the text 'age', but must be a list of names: \['age'\]\."),
        ("names", 3, "names is 3, but must be a list of names."),
        ("names", {"age": 1}, "but must be a list of names."),
        ("names", [["age"]], "but must be a list of names."),
        ("names", np.zeros((2, 2)), r"names is ndarray of shape \(2, 2\), but must be a list"),
        ("pairs", [("a",)], r"pairs is \[\('a',\)\], but must be a list of pairs."),
        ("pairs", ("a", "b"), "but must be a list of pairs."),
        ("weights", ["age"], r"weights is \['age'\], but must be a mapping to a number or None."),
        ("weights", {"age": "much"}, "but must be a mapping to a number or None."),
        ("weights", {("a", "b"): 1.0}, "but must be a mapping"),
        ("sizes", 1.5, "sizes is 1.5, but must be a whole number or a list of whole numbers."),
        ("sizes", True, "sizes is True, but must be a whole number or a list of whole numbers."),
        ("kind", "third", "kind is 'third', but must be one of one, other."),
        ("kind", ["one"], "but must be one of one, other."),
        ("share", None, "share is None, but must be a number."),
        ("share", "0.5", "share is '0.5', but must be a number."),
        ("alone", 1, "alone is 1, but must be True or False."),
        ("alone", pd.NA, "alone is <NA>, but must be True or False."),
        ("audit", int, "audit is <class 'int'>, but must be a function or None."),
        ("path", 3, "path is 3, but must be text, a path or None."),
        ("table", {"a": [1]}, r"table is \{'a': \[1\]\}, but must be a DataFrame or None."),
        ("outcome", ["y"], r"outcome is \['y'\], but must be the name of a column."),
        ("seed", -1, "seed is -1, but must be a whole number of at least 0."),
        ("seed", {}, r"seed is \{\}, but must be a whole number of at least 0."),
        ("prob", 1.5, "prob is 1.5, but must be a number between 0 and 1."),
    ],
)
def test_other_types_than_the_signature_says(argument, value, message):
    with pytest.raises(DataError, match=message):
        ask(**{argument: value})


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("names", {"age"}),
        ("names", np.array(["age", "sex"])),
        ("names", pd.Index(["age", 7])),
        ("pairs", [["a", "b"]]),
        ("weights", {"age": np.float32(2), 7: 1}),
        ("sizes", np.int64(3)),
        ("sizes", range(3)),
        ("share", 1),
        ("alone", np.bool_(True)),
        ("audit", len),
        ("path", Path("somewhere")),
        ("outcome", 7),
        ("anything", object()),
    ],
)
def test_what_is_as_good(argument, value):
    ask(**{argument: value})


@pytest.mark.parametrize(
    ("check", "value", "message"),
    [
        (check_count, 0, "it is 0, but must be a whole number of at least 1."),
        (lambda name, value: check_count(name, value, most=9), 10, "it is 10, .*at least 1 and at most 9."),
        (
            lambda name, value: check_number(name, value, 0, 1),
            2,
            "it is 2, .*finite number of at least 0 and at most 1",
        ),
        (check_number, np.inf, "it is inf, but must be a finite number."),
        (check_positive, 0, "it is 0, but must be a finite number above 0."),
        (lambda name, value: check_choice(name, value, ["a", "b"]), {}, r"it is \{\}, but must be one of 'a', 'b'."),
        (check_name, ["a"], r"it is \['a'\], but must be the name of a column."),
        (check_names, [[1]], r"it lists \[1\], but must be a list of columns, by name."),
        (check_value, [1], r"it is \[1\], but must be a single value"),
        (check_value, 10**30, "but must be a single value"),
        (lambda name, value: check_kind(name, value, dict, "a dict"), 3, r"it is 3 \(int\), but must be a dict."),
    ],
)
def test_values(check, value, message):
    with pytest.raises(DataError, match=message):
        check("it", value)


def test_what_is_shown_is_short():
    assert len(shown("x" * 10_000)) < 100
    assert len(shown(list(range(10_000)))) < 100
    assert shown(pd.DataFrame({"a": [1, 2]})) == "DataFrame of shape (2, 1)"


def test_values_are_plain():
    assert type(check_value("y", np.int64(1))) is int


@pytest.fixture
def people():
    return ca.datasets.make_loan(60, seed=0)


def test_every_argument_of_an_auditor(people):
    """A dict, a text or a table for whatever it is not for is refused by the name of the argument."""
    asked = {"decision": "approved", "protected": {"gender": "female"}, "features": ["salary"], "k": 3}
    for name, value in {
        "k": "five", "alpha": {}, "prob": "0.9", "tau": [0], "centres": "yes", "direction": 1, "distance": 1.0,
        "max_distance": "far", "favourable": [1], "seed": 1.5, "progress": "no", "features": 1.5,
        "counterfactuals": pd.DataFrame(),
    }.items():  # fmt: skip
        with pytest.raises(CausalAuditError, match=rf"{name} (is|lists) "):
            ca.situation_testing(people, **asked | {name: value})


@pytest.mark.parametrize("name", ["draw", "chain", "individual", "a/b", "", 7])
def test_names_of_sites(name):
    import pyro
    import pyro.distributions as dist

    def program(n):
        mean = pyro.sample("mean", dist.Normal(0.0, 1.0))
        with pyro.plate("individuals", n):
            pyro.sample(name, dist.Normal(mean, 1.0))

    with pytest.raises(ProgramError, match=rf"is named {name!r}, but must have a text for a name.*Rename it"):
        ca.SCM(program)


@pytest.mark.parametrize("pair", [("a", None), ("a", 1), ("a", ("b",)), ("", "a")])
def test_nodes_of_diagrams(pair):
    with pytest.raises(CausalAuditError, match=r"A variable of the diagram is .*, but must have a text for a name"):
        ca.diagram([pair])


@pytest.mark.parametrize("cell", [[1, 2], {"a": 1}, (1, 2)])
def test_cells_that_hold_several_values(people, cell):
    lists = people.assign(salary=[cell] + [1] * 59)
    with pytest.raises(DataError, match=r"The feature 'salary' holds .* for the person 0, but a cell must be a number"):
        ca.situation_testing(lists, "approved", {"gender": "female"}, features=["salary"], k=3)


@pytest.mark.parametrize("content", [b"", b"a|b\n1|2\n", b"\xff\xfe\x00junk\x80", b'"never closed'])
@pytest.mark.parametrize("load", ["load_adult", "load_compas", "load_german_credit", "load_law_school", "load_loan"])
def test_files_that_are_none_of_ours(load, content, tmp_path):
    path = tmp_path / "any.csv"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"'any.csv' (lacks the columns|cannot be read as a table).*it is not the file"):
        getattr(ca.datasets, load)(path)


class TestManyValues:
    """A name or an identifier is no feature, unless one asks for it."""

    @pytest.fixture
    def people(self):
        rng = np.random.default_rng(0)
        people = pd.DataFrame({name: rng.choice(list("ab"), 300) for name in ("group", "sex")})
        return people.assign(y=rng.integers(0, 2, 300), f=rng.integers(0, 2, 300))

    def test_identifiers_are_left_out_by_default(self, people):
        named = people.assign(name=[f"person {number}" for number in range(300)])
        with pytest.warns(CausalAuditWarning, match=r"Left out of the features: 'name' \(300 values\)"):
            result = ca.scan_bias(named, {"group": "a"}, "y", recommendation="f")
        assert result.settings["features"] == ["sex"]

    def test_values_that_hardly_anybody_shares_are_left_out_too(self, people):
        sparse = people.assign(town=[f"town {number % 50}" for number in range(300)])
        with pytest.warns(CausalAuditWarning, match=r"'town' \(50 values\).* fewer than 10 people for each"):
            ca.scan_bias(sparse, {"group": "a"}, "y", recommendation="f")

    def test_nothing_is_left(self, people):
        named = people.drop(columns="sex").assign(name=[f"person {number}" for number in range(300)])
        with pytest.raises(DataError, match="hardly anybody shares the values of 'name'"):
            ca.scan_bias(named, {"group": "a"}, "y", recommendation="f")

    def test_too_many_values_are_refused_before_they_take_memory(self, people):
        many = pd.concat([people] * 4, ignore_index=True)
        many["name"] = [f"person {number}" for number in range(len(many))]
        with pytest.raises(DataError, match="'name' has 1,200 values, but at most 1,000 can be scanned"):
            ca.scan_bias(many, {"group": "a"}, "y", recommendation="f", features=["name"])

    def test_a_long_search_is_announced(self):
        from causalaudit.bias_scan.evidence.search import SubgroupSearch

        search = SubgroupSearch.plan(np.zeros((1, 1), dtype=int), (40,), 1.0, 500, 0)
        with pytest.warns(CausalAuditWarning, match=r"1,000 tables .* from 500 starts each: some \d+ minutes"):
            search.announce(1000)
        search.announce(1)  # not worth a word
