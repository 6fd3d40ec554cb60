"""The documentation's blocks of code run, each page from top to bottom, as they are printed."""

import re
from importlib import import_module
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if "_build" not in path.parts and "generated" not in path.parts)
BLOCK = re.compile(r"^```python\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)
ROW = re.compile(r"^\| (.+) \|$", flags=re.MULTILINE)
LABEL = re.compile(r"([A-Z][a-z]+?)s? ([A-Z]?\.?\d[\d.]*)(?: (?:and|to) (\d+))?")
# What each paper numbers, all of which its page has to map: how many, or which numbers.
SECTION_4 = ["4.1", "4.2", "4.3", "4.4", "4.5", "4.6", "4.7"]
PAPERS = {
    ("situation_testing", "Alvarez and Ruggieri (2025)"): {
        "Definition": [*SECTION_4, "B.1", "B.2"], "Proposition": ["4.1"], "Remark": SECTION_4[:3], "Example": ["1.1"],
        "Equation": 11, "Algorithm": 1, "Table": 18, "Figure": 8,
    },
    ("situation_testing", "Alvarez and Ruggieri (2023)"): {
        "Definition": ["3.1", "3.2"], "Remark": ["3.1", "3.2"], "Equation": 9, "Algorithm": 2, "Table": 1, "Figure": 2,
    },
    ("error_rates", "Zhang and Bareinboim (2018)"): {
        "Definition": 5, "Theorem": 10, "Lemma": 9, "Corollary": 2, "Proposition": 1, "Equation": 37, "Algorithm": 3,
        "Figure": 8, "Experiment": 2,
    },
    ("recourse", "Kavouras et al. (2023)"): {"Table": 19, "Figure": 7},
    ("bias_scan", "Boxer, McFowland and Neill (2024)"): {
        "Definition": ["A.1"], "Theorem": ["B.1"], "Equation": 4, "Algorithm": 2, "Table": 6, "Figure": 12,
    },
}  # fmt: skip
# What the paper on recourse names instead of numbering it, with its section.
NAMED = [
    "affected individuals D (2.1)", "action a (2.1)", "cost(a, x) (2.1)", "rc(A, x), c∞ (2.1)",
    "predicate p, group G_p (2.1)", "eff(a, G) (2.2)", "aeff_μ (2.2)", "aeff_M (2.2)", "A_c (2.2)", "ecd (2.2)",
    "ecd⁻¹ (2.2)", "Equal Effectiveness (2.3)", "Equal Choice for Recourse (2.3)",
    "Equal Effectiveness within Budget (2.3)", "Equal Cost of Effectiveness (2.3)",
    "Fair Effectiveness-Cost Trade-Off (2.3)", "mean recourse cost (2.3)", "Equal (Conditional) Mean Recourse (2.3)",
    "FACTS, step (a) (3)", "FACTS, step (b) (3)", "FACTS, step (c) (3)", "budgets (appendix A)",
]  # fmt: skip
WITH_CODE = [path for path in PAGES if BLOCK.search(path.read_text(encoding="utf-8"))]


def name_of(path):
    return path.relative_to(DOCS).as_posix()


@pytest.mark.notebook
@pytest.mark.filterwarnings("ignore::causalaudit.errors.CausalAuditWarning")
@pytest.mark.parametrize("path", WITH_CODE, ids=name_of)
def test_a_page_runs_as_printed(path, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "page"}
    for block in BLOCK.findall(path.read_text(encoding="utf-8")):
        exec(compile(block, name_of(path), "exec"), names)


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_tests_and_files_that_a_page_names_are_there(path):
    root = DOCS.parent
    for named in re.findall(
        r"`((?:tests|benchmarks|notebooks|causalaudit|models)/[\w/.]*)(?:::(\w+))?`", path.read_text()
    ):
        file, test = named
        assert (root / file).exists(), file
        if test:
            assert f"def {test}(" in (root / file).read_text(encoding="utf-8"), f"{file}::{test}"


def test_every_plot_is_drawn_in_the_documentation():
    import causalaudit as ca

    shown = (DOCS / "plots.md").read_text(encoding="utf-8")
    assert not [name for name in ca.plots.__all__ if f"`causalaudit.plots.{name}`" not in shown]


def test_every_public_name_is_in_the_api_pages():
    import causalaudit as ca

    listed = (DOCS / "api" / "index.md").read_text(encoding="utf-8")
    modules = {"datasets", "models", "plots", "distributions"}
    names = [name for name in ca.__all__ if name not in modules]
    names += [f"plots.{name}" for name in ca.plots.__all__] + [f"datasets.{name}" for name in ca.datasets.__all__]
    assert not [name for name in names if f"   causalaudit.{name}\n" not in listed]


def resolve(name):
    """Import what a dotted name names: a room, something in it, or a field of a dataclass in it."""
    parts = name.split(".")
    for size in range(len(parts), 0, -1):
        try:
            found = import_module(".".join(parts[:size]))
        except ModuleNotFoundError:
            continue
        for part in parts[size:]:
            fields = getattr(found, "__dataclass_fields__", {})
            found = fields[part] if part in fields and not hasattr(found, part) else getattr(found, part)
        return found
    raise ModuleNotFoundError(name)


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_dotted_names_of_a_page_are_there(path):
    for name in sorted(set(re.findall(r"`(causalaudit(?:\.\w+)+)(?:\(|`)", path.read_text(encoding="utf-8")))):
        assert resolve(name) is not None


def mapped(page, paper):
    """The rows of a paper's table: in the paper, what it says, function, test or reason."""
    text = (DOCS / "auditors" / f"{page}.md").read_text(encoding="utf-8")
    part = text.split("## From the paper to the code\n")[1].split(f"### {paper}\n")[1].split("\n\n")[0]
    return [[cell.strip() for cell in row.split(" | ")] for row in ROW.findall(part)[1:]]


def labels_of(cell):
    """The labels that a cell stands for: "Equations 12 to 14" are three."""
    match = LABEL.fullmatch(cell)
    if match is None:
        return [cell]
    kind, first, last = match.groups()
    return [f"{kind} {n}" for n in (range(int(first), int(last) + 1) if last else [first])]


@pytest.mark.parametrize(("page", "paper"), PAPERS)
def test_everything_that_a_paper_numbers_is_mapped_once(page, paper):
    wanted = [
        f"{kind} {number}"
        for kind, numbers in PAPERS[page, paper].items()
        for number in (range(1, numbers + 1) if isinstance(numbers, int) else numbers)
    ] + (NAMED if page == "recourse" else [])
    found = [label for row in mapped(page, paper) for label in labels_of(row[0])]
    assert sorted(found) == sorted(wanted)


@pytest.mark.parametrize(("page", "paper"), PAPERS)
def test_what_is_mapped_has_a_function_and_a_test_or_a_reason(page, paper):
    before = ""
    for row in mapped(page, paper):
        assert len(row) == 4, row
        label, says, function, shown = row
        assert says
        assert shown, label
        assert "`causalaudit." in function or function == "—", label
        if shown.startswith("the same"):
            assert "tests/" in before, f"{label}: the same as what?"
        else:
            before = shown
