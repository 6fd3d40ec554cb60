"""The documentation's blocks of code run, each page from top to bottom, as they are printed."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[1] / "docs"
PAGES = sorted(path for path in DOCS.rglob("*.md") if "_build" not in path.parts and "generated" not in path.parts)
BLOCK = re.compile(r"^```python\n(.*?)^```", flags=re.MULTILINE | re.DOTALL)
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
