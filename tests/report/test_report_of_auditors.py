"""A report of what every auditor says: with its table, plot, intervals, verdicts and settings."""

import json
import warnings

import pandas as pd
import pytest
from auditors import AUDITORS, Fair, fit_posterior, make_people

import causalaudit as ca
from causalaudit.errors import CausalAuditWarning

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    people = make_people()
    posterior = fit_posterior(people)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CausalAuditWarning)  # of small samples; the auditors' own tests are about them
        results = {one.__name__: one(people, posterior)() for one in AUDITORS if one is not Fair}
    results["Ratios"] = ca.impact_ratios(people, "rank", ["sex", "race"])
    path = tmp_path_factory.mktemp("auditors") / "report.html"
    ca.write_report(results, path, posterior=posterior)
    return results, json.loads(path.with_suffix(".json").read_text(encoding="utf-8")), path


def test_every_audit_has_its_section(written):
    results, content, _ = written
    parts = {part["title"]: part for section in content["sections"] for part in section["sections"]}
    for name, result in results.items():
        blocks = parts[name]["blocks"]
        tables = [block["table"].removeprefix(f"{name}: ") for block in blocks if "table" in block]
        assert "the whole table" in tables
        assert "what was asked for" in tables
        assert ("what each interval is about" in tables) != result.intervals.empty
        assert ("verdicts" in tables) != result.verdicts.empty
        assert any("picture" in block or "no picture" in block.get("text", "") for block in blocks)
        rules = set(result.verdicts["rule"])
        assert all(any(rule in block.get("text", "") for block in blocks) for rule in rules)


def test_the_whole_table_of_each_is_there_as_csv(written):
    results, content, path = written
    for section in content["sections"]:
        for part in section["sections"]:
            for block in part["blocks"]:
                if block.get("table", "").endswith(": the whole table"):
                    kept = pd.read_csv(path.parent / block["file"])
                    assert len(kept) == len(results[part["title"]].table) == block["rows"]


def test_the_first_screen_has_a_sentence_for_each_and_says_that_one_model_was_tried(written):
    results, content, _ = written
    answer = content["answer"]
    for name in results:
        assert any(sentence.startswith(f"{name}: ") for sentence in answer["The answer"])
    estimate = results["Estimate"].table.iloc[0]
    low, high = (f"{estimate[f'wald_{end}']:.4g}" for end in ("low", "high"))
    assert f"(95% confidence interval from {low} to {high})" in " ".join(answer["The answer"])
    assert "No other was compared" in " ".join(answer["In which worlds it holds"])
    assert "Not stated" in answer["What would overturn it"][0]
