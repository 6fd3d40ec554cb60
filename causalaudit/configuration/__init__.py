"""Configurations of audits: a schema, TOML with lines, and which files may be named. Nothing is executed here."""

from causalaudit.configuration.audits import BiasScan, ErrorRates, ImpactRatios, Recourse, SituationTesting
from causalaudit.configuration.files import CodeName, code_name, file_inside, inside
from causalaudit.configuration.reading import ConfigurationFile, read_configuration
from causalaudit.configuration.references import compared_audits, uses_model
from causalaudit.configuration.schema import Configuration, Decision, Intervention, World, json_schema

__all__ = [
    "BiasScan",
    "CodeName",
    "Configuration",
    "ConfigurationFile",
    "Decision",
    "ErrorRates",
    "ImpactRatios",
    "Intervention",
    "Recourse",
    "SituationTesting",
    "World",
    "code_name",
    "compared_audits",
    "file_inside",
    "inside",
    "json_schema",
    "read_configuration",
    "uses_model",
]
