"""The causal model and its posterior, as sections."""

import inspect
import textwrap
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from causalaudit.arviz_versions import effective_size
from causalaudit.errors import CausalAuditError
from causalaudit.inference import Posterior
from causalaudit.inference.posterior.plots import plot_predictive
from causalaudit.report.blocks import Block, Code, Section, Sentence
from causalaudit.report.drafting import DRAWS, PEOPLE, Material
from causalaudit.report.stated import fields_of
from causalaudit.scm import SCM
from causalaudit.scm.svg import svg
from causalaudit.worlds import DiagramTest, PriorSensitivity, test_diagram

if TYPE_CHECKING:
    import xarray as xr

_ENOUGH = 4  # draws, of which an effective size can be told
_ASSUMED = (
    "The diagram (which arrows there are, and that no hidden cause is missing), the form of the equations, and how "
    "the worlds of a person share their noise (the couplings below) are assumed; data can refute some diagrams, and "
    "confirm none."
)


def model_section(material: Material) -> Section:
    """Return the causal model of each posterior: diagram, program, assumptions, implied independencies."""
    known = {"assumptions": _ASSUMED} if material.posteriors else {}
    blocks: list[Block] = [fields_of("model", material.context, known)]
    if not material.posteriors:
        blocks.append(Sentence("Causal model: not stated. Hand over posterior= to show diagram and program."))
    parts = tuple(_model(material, name, one) for name, one in material.posteriors.items())
    return Section("Causal model", tuple(blocks), parts)


def _model(material: Material, name: str, posterior: Posterior) -> Section:
    scm = posterior.scm
    edges = ", ".join(f"{cause} to {effect}" for cause, effect in scm.graph.edges) or "none"
    description = f"A directed graph. Its arrows: {edges}. Latent variables are dashed."
    blocks = [
        material.pictures.embedded(svg(scm.graph), f"{name}: causal diagram", description),
        material.table(f"{name}: variables and what is assumed of them", _variables(scm)),
        *_program(scm),
        *_independencies(material, name, posterior),
    ]
    return Section(f"Model: {name}", tuple(blocks))


def _variables(scm: SCM) -> pd.DataFrame:
    couplings = scm.couplings()
    rows = [
        (one, scm.families[one], ", ".join(map(str, scm.graph.predecessors(one))) or "none", couplings.get(one, "none"),
         ", ".join(map(str, scm.levels.get(one, []))), one in scm.latents)
        for one in scm.variables
    ]  # fmt: skip
    return pd.DataFrame(
        rows, columns=["variable", "distribution", "causes", "coupling of its noise", "levels", "latent"]
    )


def _program(scm: SCM) -> list[Block]:
    source = _source(scm.written)
    if source is None:
        return [Sentence("The text of the program is not known: it was not written in a file.")]
    return [Code(f"The program {scm.name}", source)]


def _source(program: Callable[..., Any]) -> str | None:
    try:
        return textwrap.dedent(inspect.getsource(program))
    except (OSError, TypeError):
        return None


def _independencies(material: Material, name: str, posterior: Posterior) -> list[Block]:
    given = list(material.worlds_of(DiagramTest).values())
    try:
        tested = given[0] if given and len(material.posteriors) == 1 else _tested(posterior)
    except CausalAuditError as error:
        return [Sentence(f"The independencies that the diagram implies were not tested. {error}")]
    said: list[Block] = [Sentence(tested.verdict, warning=tested.refuted)]
    columns = ["independence", "n", "missing", "association", "p_value", "p_adjusted", "refuted"]
    if len(tested.table):
        said.append(material.table(f"{name}: implied independencies, tested", tested.table[columns]))
    return said


def _tested(posterior: Posterior) -> DiagramTest:
    return test_diagram(posterior.scm, posterior.data, progress=False)


def bayesian_section(material: Material) -> Section:
    """Return the Bayesian part of each posterior: priors, sampler, diagnostics, predictive checks, sensitivity."""
    sensitivities = material.worlds_of(PriorSensitivity)
    known = {"sensitivity": " ".join(one.verdict for one in sensitivities.values())} if sensitivities else {}
    blocks: list[Block] = [fields_of("bayesian", material.context, known)]
    if not material.posteriors:
        blocks.append(Sentence("Posterior: not stated. Hand over posterior= to show sampler, diagnostics and checks."))
    blocks += [material.table(f"{name}: sensitivity to the prior", one.table) for name, one in sensitivities.items()]
    if material.posteriors and material.results:
        blocks.append(material.table("Headlines of the audits, over their draws", _headlines(material)))
    parts = tuple(_posterior(material, name, one) for name, one in material.posteriors.items())
    return Section("Bayesian part", tuple(blocks), parts)


def _posterior(material: Material, name: str, posterior: Posterior) -> Section:
    by = material.by if material.by in posterior.scm.columns else None
    judged = posterior.diagnostics(by=by)
    blocks: list[Block] = [Sentence(str(judged), warning=not judged.ok or judged.fits is False)]
    numbers = pd.DataFrame({"figure": list(judged.numbers), "value": list(judged.numbers.values())})
    blocks.append(material.table(f"{name}: diagnostics of the draws", numbers))
    settings = pd.DataFrame(posterior.settings.items(), columns=["setting", "value"])
    blocks.append(material.table(f"{name}: sampler", settings))
    summary = posterior.summary().rename_axis("parameter").dropna(axis="columns", how="all")
    blocks.append(material.table(f"{name}: parameters, 90 % credible intervals", summary))
    blocks += _priors(material, name, posterior, by)
    simulated = posterior.predictive(min(DRAWS, len(posterior.draw_numbers())))
    blocks += _checks(material, f"{name}: posterior predictive check", simulated, posterior, by)
    return Section(f"Posterior: {name}", tuple(blocks))


def _priors(material: Material, name: str, posterior: Posterior, by: str | None) -> list[Block]:
    scm, people = posterior.scm, min(PEOPLE, len(posterior.data))
    try:
        simulated = scm.prior_predictive(people, DRAWS, data=posterior.data)
    except CausalAuditError as error:
        return [Sentence(f"Priors were not simulated. {error}")]
    rows = []
    for parameter in scm.parameters:
        draws = simulated[parameter].to_numpy().reshape(DRAWS, -1)
        for place in range(draws.shape[1]):
            label = parameter if draws.shape[1] == 1 else f"{parameter}[{place}]"
            low, middle, high = pd.Series(draws[:, place]).quantile([0.05, 0.5, 0.95])
            rows.append((label, middle, low, high))
    caption = f"{name}: priors, from {DRAWS} draws"
    table = material.table(caption, pd.DataFrame(rows, columns=["parameter", "median", "5 %", "95 %"]))
    return [table, *_checks(material, f"{name}: prior predictive check", simulated, posterior, by)]


def _checks(
    material: Material, caption: str, simulated: "xr.Dataset", posterior: Posterior, by: str | None
) -> list[Block]:
    scm = posterior.scm
    shown = [one for one in scm.columns if one not in (by, *scm.given) and one in posterior.data]

    def described(variable: str) -> str:
        groups = "" if by is None else f", by {by}"
        return f"What the program simulates of {variable}{groups}, beside what was observed."

    return [
        material.pictures.draw(
            lambda variable=variable: plot_predictive(simulated, variable, by, posterior.data),  # type: ignore[misc]
            f"{caption} of {variable}",
            described(variable),
        )
        for variable in shown
    ]


def _headlines(material: Material) -> pd.DataFrame:
    """Return how well the draws of a posterior determine the number of each audit."""
    rows = []
    for name, result in material.results.items():
        draws = result.headline.to_numpy(dtype=float)
        known = len(draws) >= _ENOUGH and np.isfinite(draws).all() and np.ptp(draws) > 0
        sd = float(draws.std(ddof=1)) if known else np.nan
        sizes = [effective_size(draws[None], kind) if known else np.nan for kind in ("bulk", "tail")]
        rows.append((name, result.headline.name, draws.mean(), sd, len(draws), *sizes, sd / sizes[0] ** 0.5))
    columns = ["audit", "number", "mean", "sd", "draws", "ESS, bulk", "ESS, tail", "Monte-Carlo error of the mean"]
    return pd.DataFrame(rows, columns=columns)
