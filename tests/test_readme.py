"""The README's blocks of code run, in order, on generated data."""

import re
from pathlib import Path

import pytest
from readme_people import bank_of_before, binned_people, people_with_recourse

README = Path(__file__).parents[1] / "README.md"
FIRST = "The ten lines that matter"
# What the reader brings to a block, by words that it holds.
BROUGHT = {
    "bank, {": bank_of_before,
    'increasing=["age", "education-num"]': people_with_recourse,
    "binned,": binned_people,
}
# What takes long is made shorter: text in the README, and what is run instead.
SHORTER = {
    "make_compas(seed=0)": "make_compas(1500, seed=0)",
    "draws=100": "draws=20",
    "data_sets=200": "data_sets=3",
    "[-0.3, 0.3]": "[0.3]",
    "[1.0, 0.5]": "[0.5]",
    'path="ranks.jsonl"': "draws=9",
}


def sections():
    """The title of each section that has code, and its blocks."""
    text = README.read_text(encoding="utf-8")
    for part in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        blocks = re.findall(r"^```python\n(.*?)^```", part, flags=re.MULTILINE | re.DOTALL)
        if blocks:
            yield part.splitlines()[0], blocks


SECTIONS = dict(sections())


@pytest.fixture(scope="module")
def first():
    """The names that the first section defines: the others go on from it."""
    names = {}
    run(SECTIONS[FIRST][0], names)
    return names


def run(block, names):
    for words, brought in BROUGHT.items():
        if words in block:
            names.update(brought())
    for long, short in SHORTER.items():
        block = block.replace(long, short)
    exec(compile(block, "README.md", "exec"), names)


@pytest.mark.parametrize("title", [title for title in SECTIONS if title != FIRST])
def test_the_code_runs(title, first, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    names = dict(first)
    for block in SECTIONS[title]:
        run(block, names)


def test_the_first_section_answers(first):
    worlds = first["worlds"]
    assert worlds.dataset["salary"].dims == ("draw", "individual")
    assert len(worlds.point) == worlds.dataset.sizes["individual"]


def test_the_first_audit_finds_the_true_number_of_cases(first):
    """The truth is the same test with the counterfactuals that the applicants were made with."""
    names = dict(first)
    run(SECTIONS["Who was discriminated?"][0], names)
    ca, applicants, found = names["ca"], names["applicants"], names["result"]
    women = applicants[applicants.gender == "female"]
    true = women.assign(salary=women.salary_if_male, balance=women.balance_if_male)
    truth = ca.situation_testing(
        applicants, names["bank"], {"gender": "female"}, features=["salary", "balance"], k=[15, 50],
        counterfactuals=ca.CounterfactualDraws.from_frame(true[["salary", "balance"]]),
    ).summary()["cases"]  # fmt: skip
    assert truth.tolist() == [462, 513]
    summary = found.summary()
    assert (summary["expected_low"] <= truth).all()
    assert (truth <= summary["expected_high"]).all()


@pytest.mark.parametrize("words", [*BROUGHT, *SHORTER])
def test_what_is_brought_or_shortened_is_there(words):
    assert any(words in block for blocks in SECTIONS.values() for block in blocks)
