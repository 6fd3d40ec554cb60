"""A configuration made ready: data read, code executed, everything checked that can be before the long work."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from causalaudit.configuration import ConfigurationFile, Decision, ImpactRatios, Intervention, code_name
from causalaudit.counterfactuals.ask import encode_do
from causalaudit.decisions import decide
from causalaudit.errors import ConfigurationError, nearest
from causalaudit.people import check_features, levels_of, pick_column
from causalaudit.report.stated import checked_context
from causalaudit.runs.asking import Question, chosen_rows
from causalaudit.runs.code import Code
from causalaudit.runs.people import People, read_people
from causalaudit.runs.programs import Model, base_model, world_model

_SHOWN = 8  # levels in a message


@dataclass(frozen=True)
class Prepared:
    """A configuration made ready.

    Attributes
    ----------
    configuration
        What was read.
    people
        The table.
    models
        From the name of a world to its causal model; the first is that of the configuration itself.
    question
        What audits ask about.
    decision
        What the decision depends on, in plain values.
    code
        What was executed.
    """

    configuration: ConfigurationFile
    people: People
    models: dict[str, Model]
    question: Question
    decision: dict[str, Any]
    code: Code


def prepare(configuration: ConfigurationFile, data: Path | None = None) -> Prepared:
    """Read the data, execute the files that are named, and check what is said about them.

    Parameters
    ----------
    configuration
        What was read.
    data
        A file of people in place of the one that the configuration names; it may be anywhere.

    Raises
    ------
    CausalAuditError
        At the first thing that is wrong, with its line.
    """
    settings = configuration.settings
    people, code = read_people(configuration, data), Code()
    models = {settings.comparison.base: base_model(configuration, code)}
    for number, world in enumerate(settings.world):
        models[world.name] = world_model(configuration, code, number)
    decision, depends = _decision(configuration, code, people.table)
    favourable = settings.decision.favourable if settings.decision else 1
    question = Question(people.table, decision, favourable, settings.seed)
    prepared = Prepared(configuration, people, models, question, depends, code)
    _check(prepared)
    return prepared


def _decision(configuration: ConfigurationFile, code: Code, people: pd.DataFrame) -> tuple[Any, dict[str, Any]]:
    said = configuration.settings.decision
    if said is None:
        return None, {}
    depends = said.model_dump()
    with configuration.at("decision", "column" if said.rule is None else "rule"):
        decision: Any = said.column
        if said.rule is not None:
            name = code_name(configuration.folder, said.rule, "rule")
            if name.file is None:
                raise ConfigurationError(f'The rule is {said.rule!r}, but must be "file.py:function".')
            decision = code.find(name, "rule")
            depends["source"] = code.digest(name)
            if not callable(decision):
                raise ConfigurationError(f"The rule {said.rule!r} is no function, but {type(decision).__name__}.")
        with code.blamed():
            _check_decisions(decision, said, people)
    return decision, depends


def _check_decisions(decision: Any, said: Decision, people: pd.DataFrame) -> None:
    if isinstance(decision, str):
        there = levels_of(pick_column(people, decision, "decision"))
        if said.favourable not in there:
            raise ConfigurationError(
                f"Nobody has the decision {said.favourable!r}: set favourable to the good one of {_few(there)}."
            )
        return
    granted = decide(decision, people, said.favourable)
    if np.all(granted == granted[0]):
        share = "Everybody" if granted[0] else "Nobody"
        answers = list(dict.fromkeys(np.asarray(decision(people)).tolist()))
        raise ConfigurationError(
            f"{share} gets the favourable decision {said.favourable!r}: the rule returns {_few(answers)}. Set "
            "favourable, or mend the rule."
        )


def _check(prepared: Prepared) -> None:
    configuration, table = prepared.configuration, prepared.people.table
    settings = configuration.settings
    with configuration.at("context"):
        checked_context(settings.context)
    for number, model in enumerate(prepared.models.values()):
        with configuration.at(*(["world", number - 1] if number else ["model"])), prepared.code.blamed():
            model.scm.with_columns_of(table).encode_observed(table)
    if settings.fit.weights is not None:
        with configuration.at("fit", "weights"):
            pick_column(table, settings.fit.weights, "column of weights")
    for number, intervention in enumerate(settings.intervention):
        _check_intervention(prepared, number, intervention)
    for number, audit in enumerate(settings.audit):
        _check_audit(configuration, number, audit, table)
    for key, tables in (("intervention", settings.intervention), ("audit", settings.audit)):
        for number, one in enumerate(tables):
            with configuration.at(key, number, "draws"):
                _check_draws(getattr(one, "draws", None), settings.fit.draws * settings.fit.chains)


def _check_intervention(prepared: Prepared, number: int, intervention: Intervention) -> None:
    at: Callable[..., Any] = prepared.configuration.at
    people = prepared.people.table
    with at("intervention", number, "rows"):
        chosen = people if intervention.rows is None else people[chosen_rows(people, intervention.rows)]
    for model in prepared.models.values():
        with at("intervention", number, "do"):
            encode_do(model.scm.with_columns_of(people), intervention.do, chosen)
    base = next(iter(prepared.models.values())).scm
    with at("intervention", number, "edges"):
        for cause, effect in intervention.edges or []:
            if not base.graph.has_edge(cause, effect):
                edges = ", ".join(f'["{one}", "{other}"]' for one, other in base.graph.edges)
                raise ConfigurationError(f'["{cause}", "{effect}"] is no edge of the diagram: there are {edges}.')
    with at("intervention", number, "coupling"):
        base.couplings(intervention.coupling)


def _check_audit(configuration: ConfigurationFile, number: int, audit: Any, people: pd.DataFrame) -> None:
    def at(key: str) -> Any:
        return configuration.at("audit", number, key)

    if isinstance(audit, ImpactRatios):
        with at("columns"):
            check_features(people.columns, audit.columns)
        return
    with at("protected"):
        _check_protected(audit.protected, people)
    protected = [audit.protected] if isinstance(audit.protected, str) else list(audit.protected)
    for key in ("outcome", "prediction", "recommendation"):
        if getattr(audit, key, None) is not None:
            with at(key):
                pick_column(people, getattr(audit, key), key)
    if audit.features is not None and audit.kind != "error_rates":
        with at("features"):
            check_features(people, audit.features, dict.fromkeys(protected, "protected column"))


def _check_draws(draws: int | None, there: int) -> None:
    if draws is not None and draws > there:
        raise ConfigurationError(
            f"{draws} draws are asked for, but the fit has {there}: ask for fewer, or set draws and chains in [fit]."
        )


def _check_protected(protected: Any, people: pd.DataFrame) -> None:
    if isinstance(protected, str):
        levels = levels_of(pick_column(people, protected, "protected column"))
        if len(levels) != 2:
            raise ConfigurationError(
                f"{protected!r} has the levels {_few(levels)}: say which two are compared, as in "
                f'{{ {protected} = ["level", "reference"] }}.'
            )
        return
    for name, said in protected.items():
        there = levels_of(pick_column(people, name, "protected column"))
        asked = said if isinstance(said, list) else [said] if isinstance(said, str | int | float | bool) else []
        for level in asked:
            if level not in there:
                raise ConfigurationError(f"Nobody has {name!r} = {level!r}: {nearest(str(level), there[:_SHOWN])}")


def _few(values: list[Any]) -> str:
    return ", ".join(map(repr, values[:_SHOWN])) + (", …" if len(values) > _SHOWN else "")
