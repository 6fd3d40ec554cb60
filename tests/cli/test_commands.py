"""The commands, in process: what they print, the codes that they end with, and the files that they leave."""

import json
import tomllib
from pathlib import Path

import pytest
from tiny_audits import CONFIGURATION, MODEL, write_audit
from typer.testing import CliRunner

from causalaudit.cli import app

RUNNER = CliRunner()


def run(*arguments):
    return RUNNER.invoke(app, [str(one) for one in arguments])


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A configuration whose audit has finished, and what was printed."""
    path = write_audit(tmp_path_factory.mktemp("tiny"))
    return path, run("audit", path, "--json")


def test_an_audit_leaves_a_report_and_says_what_it_found(finished):
    path, result = finished
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["exit_code"] == 0
    assert set(found["audits"]) == {"women"}
    assert set(found["worlds"]["women"]) == {"as configured", "no gap"}
    assert Path(found["report"]) == path.parent / "run" / "report.html"
    page = Path(found["report"]).read_text(encoding="utf-8")
    assert "women" in page
    assert not any(stage["kept"] for stage in found["stages"].values())
    assert "[1/7] fit" in result.stderr


def test_what_has_finished_is_kept(finished):
    path, first = finished
    page = (path.parent / "run" / "report.html").read_bytes()
    again = json.loads(run("audit", path, "--json").stdout)
    assert all(stage["kept"] for stage in again["stages"].values())
    assert again["audits"] == json.loads(first.stdout)["audits"]
    assert (path.parent / "run" / "report.html").read_bytes() == page


def test_flagged_people_fail_only_if_asked(finished):
    path, result = finished
    assert json.loads(result.stdout)["audits"]["women"]["flagged"] > 0
    assert run("audit", path, "--fail-on", "nothing").exit_code == 0
    assert run("audit", path, "--fail-on", "flagged").exit_code == 1


def test_a_report_can_be_written_again_and_says_what_the_configuration_says_now(finished):
    path, _ = finished
    path.write_text(CONFIGURATION + '[report]\ntitle = "Another name"\n', encoding="utf-8")
    result = run("report", path.parent / "run")
    assert result.exit_code == 0, result.stderr
    assert "Another name" in (path.parent / "run" / "report.html").read_text(encoding="utf-8")


def test_a_report_of_what_has_changed_is_refused(finished):
    path, _ = finished
    path.write_text(CONFIGURATION.replace("k = 3", "k = 4"), encoding="utf-8")
    result = run("report", path.parent / "run")
    path.write_text(CONFIGURATION, encoding="utf-8")
    assert result.exit_code == 2
    assert "has not finished, or the configuration, its files or the data have changed" in result.stderr


def test_worlds_alone(finished):
    path, _ = finished
    result = run("worlds", path)
    assert result.exit_code == 0, result.stderr
    assert "no gap" in result.stdout
    assert "flagged in all worlds" in result.stdout
    assert run("worlds", path, "--fail-on", "flagged").exit_code == 1


def test_the_table_of_people_may_be_elsewhere_if_the_user_says_so(finished, tmp_path):
    path, _ = finished
    (tmp_path / "others.csv").write_bytes((path.parent / "people.csv").read_bytes())
    found = json.loads(run("audit", path, "--data", tmp_path / "others.csv", "--json").stdout)
    assert all(stage["kept"] for stage in found["stages"].values())


def test_a_check_says_what_is_executed_and_estimates(finished):
    path, _ = finished
    result = run("check", path, "--json")
    assert result.exit_code == 0, result.stderr
    found = json.loads(result.stdout)
    assert found["executed"] == ["model.py"]
    assert found["people"] == 40
    assert set(found["estimate"]["stages"]) >= {"fit", "audit 'women'", "fit in 'no gap'", "worlds of 'women'"}
    assert found["estimate"]["memory_bytes"] > 2**27


def test_a_fit_that_cannot_be_trusted_ends_with_3(tmp_path):
    path = write_audit(tmp_path, CONFIGURATION.replace('"laplace"\ndraws = 25', '"nuts"\ndraws = 5'))
    result = run("audit", path)
    assert result.exit_code == 3, result.stderr
    assert "cannot be trusted" in result.stderr
    assert "audit.toml:10 ([fit])" in result.stderr


def test_the_starter_is_valid_and_never_overwrites(tmp_path):
    assert run("new", tmp_path / "x").exit_code == 0
    assert {path.name for path in (tmp_path / "x").iterdir()} == {"audit.toml", "model.py", "people.csv"}
    checked = run("check", tmp_path / "x" / "audit.toml", "--quick")
    assert checked.exit_code == 0, checked.stderr
    again = run("new", tmp_path / "x")
    assert again.exit_code == 2
    assert "There is already 'audit.toml'" in again.stderr


def test_schema_is_json_schema():
    schema = json.loads(run("schema").stdout)
    assert schema["additionalProperties"] is False
    assert {"model", "data", "audit", "world", "context"} <= set(schema["properties"])


def test_graph_shows_shipped_models_files_and_configurations(finished, tmp_path, monkeypatch):
    path, _ = finished
    shipped = json.loads(run("graph", "loan.linear", "--json").stdout)["models"]["loan.linear"]
    assert ["salary", "balance"] in shipped["edges"]
    worlds = run("graph", path).stdout
    assert worlds.count("sex -> wage") == 1  # the other world has no edge
    monkeypatch.chdir(path.parent)
    picture = tmp_path / "graph.svg"
    assert run("graph", "model.py:wages", "--svg", picture).exit_code == 0
    assert picture.read_text(encoding="utf-8").startswith("<svg")


def test_a_traceback_is_shown_only_if_asked(tmp_path):
    path = write_audit(tmp_path, model=MODEL.replace('people["wage"] > 20', 'people["wag"] > 20'))
    assert "Traceback" not in run("audit", path).stderr
    assert isinstance(run("audit", path, "--traceback").exception, Exception)


def test_two_runs_in_one_folder_are_refused(finished):
    from causalaudit.runs import RunFolder

    path, _ = finished
    with RunFolder(path.parent / "run").locked():
        result = run("audit", path)
    assert result.exit_code == 2
    assert "Another run (process" in result.stderr


def test_what_a_terminal_would_obey_is_not_printed(tmp_path):
    text = CONFIGURATION.replace('name = "women"', 'name = "\\u001b[2Jwomen"')
    result = run("check", write_audit(tmp_path, text), "--quick")
    assert result.exit_code == 0
    assert "\x1b" not in result.stdout + result.stderr


def test_the_commented_parts_of_the_starter_are_toml_too():
    text = (Path(__file__).parents[2] / "causalaudit" / "starter" / "audit.toml").read_text(encoding="utf-8")
    lines = text.splitlines()
    start = lines.index("# [[world]]")
    commented = "\n".join(line.removeprefix("# ") for line in lines[start : start + 3])
    assert tomllib.loads(commented)["world"][0]["confounded"]
