"""The schema says what the functions take, and nothing else."""

import inspect
import json

import pytest
from tiny_audits import write_audit

import causalaudit as ca
from causalaudit.configuration import json_schema, read_configuration
from causalaudit.configuration.audits import (
    ActionsTable,
    BiasScan,
    Distance,
    ErrorRates,
    ImpactRatios,
    Recourse,
    ShiftTable,
    SituationTesting,
)
from causalaudit.configuration.schema import Fit, Intervention
from causalaudit.errors import ConfigurationError, InferenceError
from causalaudit.situation_testing import Shift

# Of each function, the arguments that come from other tables, or that are code.
SAID_ELSEWHERE = {
    SituationTesting: (ca.situation_testing, {"data", "decision", "favourable", "progress"}),
    ErrorRates: (ca.decompose_error_rates, {"posterior", "classifier", "progress"}),
    Recourse: (ca.audit_recourse, {"data", "classifier", "favourable", "progress"}),
    BiasScan: (ca.scan_bias, {"data", "propensity", "expectation", "progress"}),
    ImpactRatios: (ca.impact_ratios, {"data", "decision", "favourable"}),
    Intervention: (ca.counterfactuals, {"posterior", "data", "bounds", "chunk", "path", "progress"}),
    Fit: (ca.fit, {"scm", "data", "seed", "progress"}),
    ActionsTable: (ca.Actions, set()),
    Distance: (ca.Gower, set()),
    ShiftTable: (Shift, set()),
}


@pytest.mark.parametrize("table", SAID_ELSEWHERE)
def test_keys_are_the_arguments(table):
    function, elsewhere = SAID_ELSEWHERE[table]
    arguments = set(inspect.signature(function).parameters)
    assert elsewhere <= arguments
    assert set(table.model_fields) - {"kind", "name"} == arguments - elsewhere


@pytest.mark.parametrize("table", [SituationTesting, ErrorRates, Recourse, BiasScan, ImpactRatios, Fit])
def test_defaults_are_those_of_the_functions(table):
    parameters = inspect.signature(SAID_ELSEWHERE[table][0]).parameters
    for name, field in table.model_fields.items():
        if name in parameters and not field.is_required() and name not in ("seed", "distance", "actions"):
            default = field.get_default(call_default_factory=True)
            expected = parameters[name].default
            assert default == (
                list(expected) if isinstance(expected, tuple) else bool(expected) if name == "posterior" else expected
            )


def test_every_key_is_described():
    schema = json_schema()
    json.dumps(schema)
    tables = [schema, *schema["$defs"].values()]
    assert len(tables) > 12
    for table in tables:
        assert table["additionalProperties"] is False
        for name, one in table["properties"].items():
            assert one.get("description") or "$ref" in one, (table["title"], name)


def test_the_innermost_line_is_told_and_the_kind_of_error_kept(tmp_path):
    configuration = read_configuration(write_audit(tmp_path))
    said = r"^audit.toml:24 \(k of \[\[audit\]\] 'women'\): no$"
    with pytest.raises(InferenceError, match=said), configuration.at("audit"), configuration.at("audit", 0, "k"):
        raise InferenceError("no")
    said = r"^audit.toml:5 \(path of \[data\]\): no$"
    with pytest.raises(ConfigurationError, match=said), configuration.at("data", "path"):
        raise ConfigurationError("no")
