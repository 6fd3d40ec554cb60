"""The README's code runs as it is printed, and finds the true number of cases."""

import re
from pathlib import Path

import pytest

README = Path(__file__).parents[1] / "README.md"
TEXT = README.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    """The names that the README's blocks define, run in order in a folder of their own."""
    found = {}
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("readme"))
        for block in re.findall(r"^```python\n(.*?)^```", TEXT, flags=re.MULTILINE | re.DOTALL):
            exec(compile(block, "README.md", "exec"), found)
        found["report"] = Path("report.html").read_text(encoding="utf-8")
    return found


def test_it_ends_with_a_report(names):
    assert names["worlds"].dataset["salary"].dims == ("draw", "individual")
    assert "situation testing" in names["report"]


def test_the_audit_finds_the_true_number_of_cases(names):
    """The truth is the same test with the counterfactuals that the applicants were made with."""
    ca, applicants, women = names["ca"], names["applicants"], names["women"]
    true = applicants[women].assign(salary=applicants.salary_if_male[women], balance=applicants.balance_if_male[women])
    truth = ca.situation_testing(
        applicants, names["bank"], {"gender": "female"}, features=["salary", "balance"], k=15,
        counterfactuals=ca.CounterfactualDraws.from_frame(true[["salary", "balance"]]),
    ).summary()["cases"]  # fmt: skip
    assert truth.tolist() == [462]
    found = names["result"].summary()
    assert (found["expected_low"] <= truth).all()
    assert (truth <= found["expected_high"]).all()


@pytest.mark.parametrize("path", sorted(set(re.findall(r"\]\(([^)#:]+)\)", TEXT))))
def test_what_it_links_to_is_there(path):
    assert (README.parent / path).exists()


def test_functions_that_it_names_are_public():
    import causalaudit as ca

    assert set(re.findall(r"`ca\.(\w+)`", TEXT)) <= set(ca.__all__)


def test_it_is_two_screens():
    assert len(TEXT.split()) < 1000
