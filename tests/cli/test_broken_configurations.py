"""Broken configurations: no traceback, the code 2, and a message that says where it is and what to do."""

import pandas as pd
import pytest
from tiny_audits import CONFIGURATION, MODEL, people, write_audit
from typer.testing import CliRunner

from causalaudit.cli import app


def changed(old, new):
    assert old in CONFIGURATION
    return CONFIGURATION.replace(old, new, 1)


AUDIT = 'kind = "situation_testing"'
TEXTS = {
    "not TOML": (changed("k = 3", "k = = 3"), ["audit.toml is not TOML", "line 24"]),
    "text without quotes": (changed('"situation_testing"', "situation_testing"), ["not TOML", "Texts are in quotes"]),
    "empty": ("", ["lacks the key 'model': add it", "lacks the key 'data': add it", "lacks the key 'audit': add it"]),
    "unknown table": (changed("[fit]", "[fitt]"), ["audit.toml:10", "did you mean 'fit'?", "Allowed: "]),
    "unknown key": (changed("k = 3", "kk = 3"), ["audit.toml:24", "has no key 'kk'", "[[audit]] 'women'"]),
    "key of another audit": (changed("k = 3", "phi = [0.5]"), ["audit.toml:24", "has no key 'phi'"]),
    "unknown kind": (changed(AUDIT, 'kind = "situation_test"'), ["audit.toml:18", "did you mean 'situation_testing'?"]),
    "no kind": (changed(AUDIT, ""), ["audit.toml:18", "add kind, one of"]),
    "no features": (changed('features = ["wage"]\n', ""), ["audit.toml:18", "lacks the key 'features': add it"]),
    "features as text": (changed('["wage"]', '"wage"'), ["audit.toml:22", "features", "must be a list"]),
    "no features in the list": (changed('["wage"]', "[]"), ["audit.toml:22", "at least 1 values long"]),
    "k as text": (changed("k = 3", 'k = "3"'), ["audit.toml:24", "a whole number or a list"]),
    "k of nothing": (changed("k = 3", "k = 0"), ["audit.toml:24", "is 0, but must be a number at least 1"]),
    "alpha as percent": (changed("k = 3", "alpha = 5"), ["audit.toml:24", "is 5, but must be a number below 1"]),
    "tau not a number": (changed("k = 3", "tau = nan"), ["audit.toml:24", "finite number"]),
    "direction": (changed("k = 3", 'direction = "negativ"'), ["audit.toml:24", "did you mean 'negative'?"]),
    "draws as float": (changed("draws = 25", "draws = 25.5"), ["audit.toml:12", "must be a whole number"]),
    "seed below zero": ("seed = -1\n" + CONFIGURATION, ["audit.toml:1", "at least 0"]),
    "method": (changed('"laplace"', '"laplac"'), ["audit.toml:11", "did you mean 'laplace'?"]),
    "no such intervention": (changed('counterfactuals = "as men"', 'counterfactuals = "as man"'), ["did you mean"]),
    "two of a name": (CONFIGURATION + '[[world]]\nname = "no gap"\n', ["two of the name 'no gap'", "audit.toml:30"]),
    "world of the base": (changed('name = "no gap"', 'name = "as configured"'), ["another name", "audit.toml:25"]),
    "levels without a program": (CONFIGURATION + '[[world]]\nname = "b"\nlatents = ["u"]\n', ["add model"]),
    "no such audit to compare": (CONFIGURATION + 'audits = ["men"]\n', ["audit.toml:30", "no [[audit]] 'men'"]),
    "column and rule": (changed("favourable = 1", 'column = "x"'), ["audit.toml:7", "give one of the two"]),
    "no decision": (changed('[decision]\nrule = "model.py:hired"\nfavourable = 1\n', ""), ["add [decision]"]),
    "favourable": (changed("favourable = 1", 'favourable = "yes"'), ["Nobody gets the favourable decision 'yes'"]),
    "no such rule": (changed("model.py:hired", "model.py:hird"), ["audit.toml:8", "did you mean 'hired'?"]),
    "rule without a file": (changed('"model.py:hired"', '"hired"'), ["audit.toml:8", 'must be "file.py:function"']),
    "no such program": (changed("model.py:wages", "model.py:wage"), ["audit.toml:1", "did you mean 'wages'?"]),
    "no such model file": (changed("model.py:wages", "models.py:wages"), ["audit.toml:1", "There is no file"]),
    "no such shipped model": (changed("model.py:wages", "laon.linear"), ["did you mean 'loan'?"]),
    "no such builder": (changed("model.py:wages", "loan.linea"), ["did you mean 'loan.linear'?"]),
    "model without a function": (changed("model.py:wages", "model.py"), ['"model.py:function"']),
    "model outside": (changed("model.py:wages", "../model.py:wages"), ["audit.toml:1", "outside of the folder"]),
    "absolute model": (changed("model.py:wages", "/etc/model.py:wages"), ["outside of the folder"]),
    "data outside": (changed('"people.csv"', '"../../etc/passwd"'), ["audit.toml:5", "outside of the folder"]),
    "no such data": (changed('"people.csv"', '"person.csv"'), ["audit.toml:5", "There is no data file 'person.csv'"]),
    "data are a URL": (changed('"people.csv"', '"https://example.org/x.csv"'), ["There is no data file"]),
    "run outside": ('out = "../elsewhere"\n' + CONFIGURATION, ["audit.toml:1", "outside of the folder"]),
    "separator": (changed('index = "person"', 'separator = ";"'), ["set separator"]),
    "long separator": (changed('index = "person"', 'separator = "||"'), ["audit.toml:6", "at most 1 characters"]),
    "index": (changed('index = "person"', 'index = "persons"'), ["audit.toml:6", "did you mean 'person'?"]),
    "index that is not unique": (changed('index = "person"', 'index = "sex"'), ["is not unique", "Leave index out"]),
    "parquet that is none": (changed('index = "person"', 'format = "parquet"'), ["cannot be read as parquet"]),
    "levels that are not there": (changed('["m", "f"]', '["men", "women"]'), ["audit.toml:1", "sex"]),
    "levels of no variable": (changed('sex = ["m", "f"]', 'six = ["m", "f"]'), ["did you mean 'sex'?"]),
    "level of do": (changed('do = { sex = "m" }', 'do = { sex = "x" }'), ["audit.toml:15", "Impossible intervention"]),
    "variable of do": (changed('do = { sex = "m" }', 'do = { six = "m" }'), ["audit.toml:15", "did you mean 'sex'?"]),
    "rows of nobody": (changed('rows = { sex = "f" }', 'rows = { sex = "x" }'), ["audit.toml:16", "Nobody has 'sex'"]),
    "protected nobody": (changed('{ sex = "f" }\nfeat', '{ sex = "g" }\nfeat'), ["audit.toml:21", "Nobody"]),
    "no such feature": (changed('["wage"]', '["wages"]'), ["audit.toml:22", "did you mean 'wage'?"]),
    "protected as a feature": (changed('["wage"]', '["sex"]'), ["audit.toml:22", "cannot be a feature too"]),
    "too many draws": (changed("draws = 20", "draws = 2000"), ["audit.toml:17", "the fit has 100"]),
    "no such edge": (changed('["sex", "wage"]', '["wage", "sex"]'), ["audit.toml:27", "edge"]),
    "edge of three": (changed('["sex", "wage"]', '["sex", "wage", "x"]'), ["audit.toml:27", "2 values long"]),
    "rho": (changed('without = [["sex", "wage"]]', 'confounded = [{ between = ["sex", "wage"], rho = 2 }]'),
            ["audit.toml:27", "below 1"]),
    "coupling": (CONFIGURATION + '[[world]]\nname = "b"\ncoupling = "montone"\n', ["audit.toml:32", "monotone"]),
    "context": (CONFIGURATION + '[context.identiy]\nsystem = "x"\n', ["audit.toml:30", "did you mean 'identity'?"]),
    "lists of levels": (changed('{ sex = "f" }\nfeat', "{ sex = [[1], [2]] }\nfeat"), ["audit.toml:21"]),
    "audit is no table": ("audit = 3\n" + CONFIGURATION[: CONFIGURATION.index("[[audit]]")], ["must be a list"]),
}  # fmt: skip

MODELS = {
    "syntax": (MODEL.replace("def wages(n):", "def wages(n)"), ["model.py:6: SyntaxError"]),
    "import": ("import no_such_package\n" + MODEL, ["model.py:1: ModuleNotFoundError", "Mend the code there"]),
    "ends the process": ("raise SystemExit(0)\n" + MODEL, ["ends the process"]),
    "name in the program": (
        MODEL.replace("gap * sex", "gp * sex"),
        ["model.py:10: ", "audit.toml:1", "name 'gp' is not defined"],
    ),
    "no plate": (MODEL.replace('pyro.plate("individuals", n)', "pyro.plate_stack('x', (1,))"), ["audit.toml:1"]),
    "rule": (
        MODEL.replace('people["wage"]', 'people["wag"]'),
        ["model.py:14: The decision failed with KeyError: 'wag'", "audit.toml:8"],
    ),
    "rule of another length": (MODEL.replace(".astype(int)", ".astype(int)[:3]"), ["lacks 37 of 40 people"]),
    "rule that grants all": (MODEL.replace("> 20", "> -1"), ["Everybody gets the favourable decision"]),
    "no function": ("wages = 3\n" + MODEL[MODEL.index("def hired") :], ["must be a Pyro program"]),
}

TABLES = {
    "empty": (pd.DataFrame(columns=["person", "sex", "wage"]), ["has no rows"]),
    "a column less": (people().drop(columns="wage"), ["wage"]),
    "text in numbers": (
        people().astype({"wage": object}).replace({"wage": {people().wage[0]: "many"}}),
        ["model.py:14: TypeError"],
    ),
    "missing outcome": (people().assign(sex=lambda table: table.sex.where(table.index > 2)), ["missing", "sex"]),
}


def refused(path):
    """Run an audit that must be refused; return what was said."""
    result = CliRunner().invoke(app, ["audit", str(path)])
    assert result.exit_code == 2, (result.exit_code, result.stderr)
    assert result.stdout == ""
    assert "Traceback" not in result.stderr
    assert "error: " in result.stderr
    assert not (path.parent / "run" / "report.html").exists()
    return result.stderr


@pytest.mark.parametrize("broken", TEXTS)
def test_a_broken_configuration(broken, tmp_path):
    text, expected = TEXTS[broken]
    said = refused(write_audit(tmp_path, text))
    for words in expected:
        assert words in said


@pytest.mark.parametrize("broken", MODELS)
def test_a_broken_model(broken, tmp_path):
    model, expected = MODELS[broken]
    said = refused(write_audit(tmp_path, model=model))
    for words in expected:
        assert words in said


@pytest.mark.parametrize("broken", TABLES)
def test_a_broken_table(broken, tmp_path):
    table, expected = TABLES[broken]
    said = refused(write_audit(tmp_path, table=table))
    for words in expected:
        assert words in said


def test_files_that_are_no_configuration(tmp_path):
    (tmp_path / "binary.toml").write_bytes(b"\xff\xfe\x00")
    (tmp_path / "large.toml").write_text("# " + "x" * 2**21, encoding="utf-8")
    for name, words in {
        "none.toml": "causalaudit new",
        "binary.toml": "UTF-8",
        "large.toml": "that is no configuration",
        ".": "is a folder",
    }.items():
        assert words in refused(tmp_path / name)


def test_a_link_that_leads_outside_is_followed_before_it_is_refused(tmp_path):
    outside = write_audit(tmp_path / "outside").parent
    path = write_audit(tmp_path / "audit")
    for name in ("model.py", "people.csv"):
        (path.parent / name).unlink()
        (path.parent / name).symlink_to(outside / name)
        assert "outside of the folder" in refused(path)
        (path.parent / name).unlink()
        (path.parent / name).write_bytes((outside / name).read_bytes())


def test_nothing_is_executed_but_the_files_that_are_named(tmp_path):
    path = write_audit(tmp_path)
    for name in ("conftest.py", "pandas.py", "people.py", "sitecustomize.py", "__init__.py"):
        (tmp_path / name).write_text("raise SystemExit('executed')", encoding="utf-8")
    result = CliRunner().invoke(app, ["check", str(path), "--quick"])
    assert result.exit_code == 0, result.stderr
    assert "executed: model.py\n" in result.stdout
    assert not list(tmp_path.rglob("*.pyc"))


@pytest.mark.parametrize("level", ['=HYPERLINK("http://x")', "<script>alert(1)</script>", "[bold]f[/bold]", "{{7*7}}"])
def test_names_in_data_are_only_names(level, tmp_path):
    table = people().replace({"sex": {"f": level}})
    text = CONFIGURATION.replace('"f"', f"'{level}'")
    result = CliRunner().invoke(app, ["check", str(write_audit(tmp_path, text, table=table)), "--quick"])
    assert result.exit_code == 0, result.stderr
