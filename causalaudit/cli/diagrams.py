"""Showing the diagram of a model."""

from pathlib import Path
from typing import Any

from causalaudit.cli.talking import Talk
from causalaudit.configuration import code_name, read_configuration
from causalaudit.errors import CausalAuditError
from causalaudit.runs.code import Code
from causalaudit.runs.programs import base_model, model_named, world_model
from causalaudit.scm import SCM
from causalaudit.scm.svg import svg


def show_graph(talk: Talk, model: str, latents: list[str], picture: Path | None) -> None:
    """Show the diagram of a model, or of every world of a configuration."""
    found = _models(model, latents)
    talk.result = {"models": {name: _described(scm) for name, scm in found.items()}}
    for name, model_of in talk.result["models"].items():
        _say(talk, name, model_of)
    if picture is not None:
        if len(found) > 1:
            raise CausalAuditError("--svg is one picture: name one model, and not a configuration with worlds.")
        picture.write_text(svg(next(iter(found.values())).graph), encoding="utf-8")
        talk.say(f"The picture: {picture}")


def _models(model: str, latents: list[str]) -> dict[str, SCM]:
    code = Code()
    if not model.endswith(".toml"):
        return {model: model_named(code, code_name(Path(), model, "model"), latents)}
    configuration = read_configuration(model)
    settings = configuration.settings
    found = {settings.comparison.base: base_model(configuration, code).scm}
    for number, world in enumerate(settings.world):
        found[world.name] = world_model(configuration, code, number).scm
    return found


def _described(scm: SCM) -> dict[str, Any]:
    return {
        "edges": [[str(cause), str(effect)] for cause, effect in scm.graph.edges],
        "latents": list(scm.latents),
        "parameters": list(scm.parameters),
        "inert": list(scm.inert),
        "families": scm.families,
        "noise": {name: str(one) for name, one in scm.couplings().items()},
    }


def _say(talk: Talk, name: str, model: dict[str, Any]) -> None:
    talk.say(f"{name}")
    for cause, effect in model["edges"]:
        talk.say(f"  {cause} -> {effect}")
    for variable, family in model["families"].items():
        hidden = ", latent" if variable in model["latents"] else ""
        talk.say(f"  {variable}: {family}, noise {model['noise'].get(variable, 'none')}{hidden}")
    talk.say(f"  parameters: {', '.join(model['parameters']) or 'none'}")
