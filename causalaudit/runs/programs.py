"""Causal models as a configuration states them: the program, and what a world changes of it."""

import inspect
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from causalaudit.configuration import CodeName, Configuration, ConfigurationFile, World, code_name
from causalaudit.errors import CausalAuditError, ConfigurationError
from causalaudit.runs.code import Code
from causalaudit.scm import SCM


@dataclass(frozen=True)
class Model:
    """A causal model, and what it depends on.

    Attributes
    ----------
    scm
        The model, as it is fitted.
    coupling
        How worlds share noise, which changes nothing about the fit; None: as the families have it.
    depends
        What it is made of, in plain values: the digest of its source, and what was said of it.
    """

    scm: SCM
    coupling: Any
    depends: dict[str, Any]


def base_model(configuration: ConfigurationFile, code: Code) -> Model:
    """Return the model of the configuration itself."""
    settings = configuration.settings
    with configuration.at("model"):
        scm, depends = _program(configuration, code, settings.model, settings)
    return Model(scm, None, depends)


def world_model(configuration: ConfigurationFile, code: Code, number: int) -> Model:
    """Return the model of the world with this number."""
    settings, world = configuration.settings, configuration.settings.world[number]
    with configuration.at("world", number, "model"):
        said: Configuration | World = settings if world.model is None else world
        scm, depends = _program(configuration, code, world.model or settings.model, said)
    with configuration.at("world", number, "without"):
        if world.without:
            scm = scm.without(*[(cause, effect) for cause, effect in world.without])
    with configuration.at("world", number, "confounded"):
        for pair in world.confounded:
            scm = scm.confounded(pair.between[0], pair.between[1], rho=pair.rho)
    with configuration.at("world", number, "coupling"):
        scm.couplings(world.coupling)
    changes = {"without": world.without, "confounded": [[*pair.between, pair.rho] for pair in world.confounded]}
    return Model(scm, world.coupling, {**depends, **{key: value for key, value in changes.items() if value}})


def model_named(code: Code, name: CodeName, latents: Sequence[str]) -> SCM:
    """Return the model of a name, for its diagram: levels are not needed."""
    found = code.find(name, "model")
    with code.blamed():
        return _scm(found, {"latents": list(latents)} if latents else {})


def _program(
    configuration: ConfigurationFile, code: Code, text: str, said: Configuration | World
) -> tuple[SCM, dict[str, Any]]:
    name = code_name(configuration.folder, text, "model")
    found = code.find(name, "program")
    options = {key: getattr(said, key) for key in ("levels", "latents", "columns") if getattr(said, key) is not None}
    with code.blamed():
        scm = _scm(found, options)
    return scm, {"source": code.digest(name), **options}


def _scm(found: Any, options: dict[str, Any]) -> SCM:
    """Return the SCM of a program, of a function that builds one, or one that is there."""
    if isinstance(found, SCM) or (callable(found) and not _needed(found)):
        if options:
            raise ConfigurationError(
                f"{', '.join(options)} are said of a model that is built already: leave them out, or name the program."
            )
        built = found if isinstance(found, SCM) else found()
        if not isinstance(built, SCM):
            raise ConfigurationError(
                f"The model must be a Pyro program, a function of the number of people, or a function that returns an "
                f"SCM; but what it names returned {type(built).__name__}."
            )
        return built
    if not callable(found) or len(_needed(found)) != 1:
        raise ConfigurationError(
            "The model must be a Pyro program, which takes the number of people (def program(n): …), or a function "
            "without arguments that returns an SCM."
        )
    return SCM(found, **options)


def _needed(function: Any) -> list[str]:
    """Return the arguments without a default."""
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError) as error:
        raise CausalAuditError(f"{function!r} is no function.") from error
    named = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return [one.name for one in parameters if one.default is one.empty and one.kind in named]
