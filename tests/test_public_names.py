"""Public names: all are there, and what is heavy is imported when it is needed."""

import subprocess
import sys

import pytest

import causalaudit as ca

HEAVY = {"torch", "pyro", "matplotlib", "sklearn", "arviz", "scipy", "pandas", "xarray", "networkx"}


def printed(code):
    """What a fresh interpreter prints."""
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.split()


def test_importing_the_package_imports_nothing_heavy():
    assert not HEAVY & set(printed("import sys, causalaudit; print(*sys.modules)"))


def test_a_program_needs_no_plots_and_no_estimators():
    loaded = set(printed("import sys, causalaudit; causalaudit.SCM; print(*sys.modules)"))
    assert "pyro" in loaded
    assert not {"matplotlib", "sklearn", "arviz"} & loaded


@pytest.mark.parametrize("name", ca.__all__)
def test_a_public_name_is_there_and_documented(name):
    assert name in dir(ca)
    assert getattr(ca, name).__doc__


def test_a_star_imports_all_of_them():
    names = {}
    exec("from causalaudit import *", names)
    assert set(ca.__all__) <= set(names)


@pytest.mark.slow
def test_a_function_is_not_hidden_by_the_room_of_its_name():
    rooms = "import causalaudit.counterfactuals, causalaudit.situation_testing, causalaudit as ca"
    assert printed(f"{rooms}; print(*(type(x).__name__ for x in (ca.counterfactuals, ca.situation_testing)))") == [
        "function",
        "function",
    ]


def test_rooms_are_attributes():
    assert printed("import causalaudit as ca; print(ca.errors.DataError.__name__)") == ["DataError"]


@pytest.mark.parametrize("name", ["situation_test", "_private"])
def test_other_names_are_no_attributes(name):
    with pytest.raises(AttributeError, match=f"has no attribute '{name}'"):
        getattr(ca, name)
