"""The files of a report: whole or not there, the same bytes each time, and no cell or name that is code."""

import csv
import json
import re
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest
from reported import HOSTILE

import causalaudit as ca
from causalaudit.errors import DataError, SavedFileError
from causalaudit.report import files
from causalaudit.report.blocks import MOST_ROWS, NOT_STATED
from causalaudit.report.stated import FIELDS

VOID = {"meta", "wbr", "br", "input", "link", "img", "hr"}


class Page(HTMLParser):
    """Elements, attributes, text and nesting of a page."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements, self.text, self.open, self.broken = [], [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.broken.append(tag)

    def handle_data(self, data):
        self.text.append(data)


@pytest.fixture(scope="module")
def ratios():
    people = pd.DataFrame({"sex": ["f", "m"] * 20, "hired": [1, 1, 0, 1] * 10})
    return ca.impact_ratios(people, "hired", ["sex"])


@pytest.fixture(scope="module")
def page(written):
    return Page(written.read_text(encoding="utf-8"))


def test_all_files_are_there_and_nothing_else(written):
    assert sorted(one.name for one in written.parent.iterdir()) == [
        "report.html", "report.json", "report.md", "report_tables",
    ]  # fmt: skip


def test_hostile_names_are_text(page):
    assert not page.broken
    assert not page.open
    assert [tag for tag, _ in page.elements].count("script") == 1
    assert not {"img", "iframe", "object", "embed", "link", "base", "form"} & {tag for tag, _ in page.elements}
    assert not [name for _, attributes in page.elements for name in attributes if name.startswith("on")]
    text = "".join(page.text)
    for name in HOSTILE[:5]:
        assert name in text
    assert "{{ 7 * 7 }}" in text
    assert "window.hacked=8" in text  # the program is shown


def test_nothing_is_loaded(page):
    targets = [
        value
        for _, attributes in page.elements
        for name, value in attributes.items()
        if "href" in name or name == "src"
    ]
    assert all(value.startswith(("#", "report_tables/", "data:image/png;base64")) for value in targets)
    assert "url(http" not in "".join(page.text)
    policy = next(attributes["content"] for _, attributes in page.elements if "http-equiv" in attributes)
    assert policy.startswith("default-src 'none'")


def test_identifiers_are_unique_and_references_lead_somewhere(page):
    names = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(names) == len(set(names))
    for _, attributes in page.elements:
        for key in ("aria-labelledby", "aria-controls"):
            assert set(attributes.get(key, "").split()) <= set(names)
        for value in attributes.values():
            assert set(re.findall(r"url\(#([^)]*)\)", value or "")) <= set(names)


def test_headings_are_in_order(page):
    levels = [int(tag[1]) for tag, _ in page.elements if re.fullmatch("h[1-6]", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert max(np.diff(levels)) <= 1


def test_every_part_that_is_asked_for_is_there_in_order(page, written):
    content = json.loads(written.with_suffix(".json").read_text(encoding="utf-8"))
    assert [part["title"] for part in content["sections"]] == [
        "Identity", "People", "Data", "Association table", "Causal model", "Bayesian part", "Audits", "Robustness",
        "Limits", "Governance", "Software, seeds and data",
    ]  # fmt: skip
    text = "".join(page.text)
    for fields in FIELDS.values():
        for label in fields.values():
            assert label in text
    assert NOT_STATED in text
    assert list(content["answer"]) == [
        "What was asked", "The answer", "In which worlds it holds", "What would overturn it",
    ]  # fmt: skip


def test_no_cell_of_a_csv_file_is_a_formula(written):
    checked = 0
    for path in (written.parent / "report_tables").glob("*.csv"):
        with path.open(encoding="utf-8", newline="") as file:
            for cell in (cell for row in csv.reader(file) for cell in row):
                if cell.lstrip().startswith(("=", "+", "-", "@")):
                    float(cell)  # numbers alone may begin so
                    checked += 1
    assert checked
    assert "'=HYPERLINK" in "".join(
        path.read_text(encoding="utf-8") for path in (written.parent / "report_tables").glob("*.csv")
    )


def test_markdown_holds_no_html(written):
    text = written.with_suffix(".md").read_text(encoding="utf-8")
    for line in text.splitlines():
        assert line.startswith("    ") or "<" not in line.removeprefix("> ")
    assert all(target.startswith("report_tables/") for target in re.findall(r"(?<!\\)\]\(([^)]*)\)", text))


def test_the_same_arguments_give_the_same_bytes(ratios, tmp_path):
    (tmp_path / "one").mkdir()
    (tmp_path / "two").mkdir()
    one, two = (ca.write_report({"hiring": ratios}, tmp_path / name / "r.html") for name in ("one", "two"))
    for ending in (".html", ".md", ".json"):
        assert one.with_suffix(ending).read_bytes() == two.with_suffix(ending).read_bytes()


def test_a_long_table_is_cut_and_says_where_the_whole_is(tmp_path):
    groups = np.arange(MOST_ROWS + 50)
    people = pd.DataFrame({"group": np.repeat(groups, 2), "hired": np.tile([0, 1], len(groups))})
    path = ca.write_report(ca.impact_ratios(people, "hired", ["group"]), tmp_path / "r.html")
    text = path.read_text(encoding="utf-8")
    assert f"The first {MOST_ROWS} of {MOST_ROWS + 50} rows; the whole table is in" in text
    whole = max(len(pd.read_csv(one)) for one in (tmp_path / "r_tables").glob("*.csv"))
    assert whole == MOST_ROWS + 50


def test_what_is_stated_is_shown_and_the_rest_is_not_stated(ratios, tmp_path):
    stated = {
        "question": "Is it fair?",
        "identity": {"system": "H3", "licence": "MIT"},
        "limits": {"use": ["hiring", "pay"]},
    }
    path = ca.write_report([ratios, ratios], tmp_path / "r.html", context=stated)
    text = path.with_suffix(".md").read_text(encoding="utf-8")
    assert "# Audit of H3" in text
    assert "- Is it fair?" in text
    assert "- **Licence**: MIT" in text
    assert "hiring, pay" in text
    assert "- **Deployer**: not stated" in text
    assert "(2)" in text  # two results of one title are told apart


def test_a_report_that_fails_leaves_the_old_one(ratios, tmp_path, monkeypatch):
    path = ca.write_report(ratios, tmp_path / "r.html", title="first")
    before = {one.name: one.stat().st_mtime_ns for one in tmp_path.iterdir()}

    def fail(*_):
        raise OSError("no space left")

    monkeypatch.setattr(files, "write_csv", fail)
    with pytest.raises(OSError, match="no space"):
        ca.write_report(ratios, path, title="second")
    assert {one.name: one.stat().st_mtime_ns for one in tmp_path.iterdir()} == before
    monkeypatch.undo()
    ca.write_report(ratios, path, title="third")
    assert "third" in path.read_text(encoding="utf-8")
    assert sorted(one.name for one in tmp_path.iterdir()) == ["r.html", "r.json", "r.md", "r_tables"]


def test_files_of_others_are_not_replaced(ratios, tmp_path):
    (tmp_path / "r_tables").mkdir()
    (tmp_path / "r_tables" / "thesis.tex").write_text("mine")
    with pytest.raises(SavedFileError, match=r"thesis\.tex"):
        ca.write_report(ratios, tmp_path / "r.html")
    with pytest.raises(SavedFileError, match="make it first"):
        ca.write_report(ratios, tmp_path / "no" / "r.html")
    with pytest.raises(SavedFileError, match=r"name it r\.html"):
        ca.write_report(ratios, tmp_path / "r.pdf")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"results": 3}, "results is int"),
        ({"results": {"a": 3}}, r"results\['a'\] is int"),
        ({"posterior": 3}, "posterior is int"),
        ({"worlds": {"w": 3}}, r"worlds\['w'\] is int"),
        ({"context": {"identiy": {}}}, "did you mean 'identity'"),
        ({"context": {"identity": "H3"}}, "must map its fields"),
        ({"context": 3}, "context is int"),
    ],
)
def test_what_is_no_report_is_refused(ratios, tmp_path, arguments, message):
    asked = {"results": ratios, **arguments}
    with pytest.raises(DataError, match=message):
        ca.write_report(asked.pop("results"), tmp_path / "r.html", **asked)
    assert not list(tmp_path.iterdir())
