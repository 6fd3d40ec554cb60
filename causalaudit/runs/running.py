"""A run of a configuration: its stages, each computed once and kept in the folder of the run."""

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from causalaudit.configuration import Intervention, compared_audits, inside, uses_model
from causalaudit.counterfactuals import CounterfactualDraws
from causalaudit.errors import CausalAuditError, InferenceError
from causalaudit.inference import Posterior
from causalaudit.inference.fit import fit
from causalaudit.loading import load
from causalaudit.results import AuditResult
from causalaudit.runs.folder import Finished, RunFolder, Stage
from causalaudit.runs.keys import key_of, versions
from causalaudit.runs.prepared import Prepared
from causalaudit.worlds import WorldsResult, compare_worlds

Told = Callable[[int, int, str, Finished | None], None]


def silent(number: int, total: int, name: str, finished: Finished | None) -> None:
    """Tell nobody of a stage."""


@dataclass(frozen=True)
class Answers:
    """What a run found.

    Attributes
    ----------
    posterior
        Of the configuration's own world.
    results
        From the name of an audit to its result.
    worlds
        From the name of an audit to its comparison over worlds.
    finished
        From the name of each stage to how it went.
    """

    posterior: Posterior
    results: dict[str, AuditResult]
    worlds: dict[str, WorldsResult]
    finished: dict[str, Finished] = field(default_factory=dict)

    @property
    def flagged(self) -> dict[str, int]:
        """How many units each audit flags."""
        return {name: int(result.verdicts["flagged"].sum()) for name, result in self.results.items()}


class Run:
    """A run of a configuration in a folder.

    Parameters
    ----------
    prepared
        What is asked.
    folder
        Where finished stages are kept.
    progress
        Whether to show bars.
    """

    def __init__(self, prepared: Prepared, folder: RunFolder, progress: bool = True) -> None:
        self.prepared, self.folder, self.progress = prepared, folder, progress
        self.settings = prepared.configuration.settings
        self.base = self.settings.comparison.base
        self._posteriors: dict[str, Posterior] = {}

    # Stages

    def fit_stage(self, world: str) -> Stage:
        """Return the fit of a world."""
        model, people = self.prepared.models[world], self.prepared.people
        options = self.settings.fit.said()

        def compute() -> Posterior:
            with self._at_world(world, "fit"), self.prepared.code.blamed():
                return fit(model.scm, people.table, seed=self.settings.seed, progress=self.progress, **options)

        depends = {
            "stage": "fit", "model": model.depends, "fit": self.settings.fit.model_dump(), "seed": self.settings.seed,
            **self._data(),
        }  # fmt: skip
        return Stage(self._named("fit", world), depends, compute, lambda path: Posterior.load(path, model.scm))

    def draws_stage(self, world: str, intervention: Intervention) -> Stage:
        """Return the counterfactuals of an intervention in a world."""

        def compute() -> CounterfactualDraws:
            number = self.settings.intervention.index(intervention)
            with self.prepared.configuration.at("intervention", number), self.prepared.code.blamed():
                return self.prepared.question.draws(self.posterior(world), intervention)

        depends = {
            "stage": "counterfactuals", "fit": key_of(self.fit_stage(world).depends), "seed": self.settings.seed,
            "intervention": intervention.model_dump(exclude={"name"}), "coupling": self._coupling(world),
        }  # fmt: skip
        return Stage(self._named(f"counterfactuals {intervention.name!r}", world), depends, compute, load)

    def audit_stage(self, world: str, audit: Any) -> Stage:
        """Return an audit in a world."""
        intervention = self._intervention(getattr(audit, "counterfactuals", None))

        def compute() -> AuditResult:
            number = self.settings.audit.index(audit)
            with self.prepared.configuration.at("audit", number), self.prepared.code.blamed():
                return self.prepared.question.audit(
                    audit,
                    lambda: self.posterior(world),
                    lambda _: self._draws(world, intervention, getattr(audit, "bounds", False)),
                    progress=self.progress,
                )

        depends = {
            "stage": "audit", "audit": audit.model_dump(exclude={"name", "counterfactuals"}),
            "decision": self.prepared.decision, "seed": self.settings.seed, **self._data(),
            **({"draws": key_of(self.draws_stage(world, intervention).depends)} if intervention else {}),
            **({"fit": key_of(self.fit_stage(world).depends)} if uses_model(audit) else {}),
            **({"coupling": self._coupling(world)} if uses_model(audit) else {}),
        }  # fmt: skip
        return Stage(self._named(f"audit {audit.label!r}", world), depends, compute, load)

    def worlds_stage(self, audit: Any) -> Stage:
        """Return the comparison of an audit over worlds."""
        comparison, stages = self.settings.comparison, {one: self.audit_stage(one, audit) for one in self._worlds()}

        def compute() -> WorldsResult:
            results = {world: self.folder.read(stage) for world, stage in stages.items()}
            posteriors = {world: _called(self.posterior(world), world) for world in stages}
            with self.prepared.configuration.at("comparison"), self.prepared.code.blamed():
                return compare_worlds(
                    posteriors, _Known(results), comparison.weights, prob=comparison.prob, progress=self.progress
                )

        depends = {
            "stage": "worlds", "audits": {world: key_of(stage.depends) for world, stage in stages.items()},
            "comparison": comparison.model_dump(exclude={"audits", "base"}), "versions": versions(),
        }  # fmt: skip
        return Stage(f"worlds of {audit.label!r}", depends, compute, load)

    def stages(self, only_worlds: bool = False) -> Iterator[Stage]:
        """Yield all stages in the order in which they are computed."""
        compared = compared_audits(self.settings) if self.settings.world else []
        for world in self._worlds():
            everything = world == self.base and not only_worlds
            asked = [audit for audit in self.settings.audit if everything or audit.label in compared]
            named = [getattr(audit, "counterfactuals", None) for audit in asked]
            yield self.fit_stage(world)
            for intervention in self.settings.intervention:
                if everything or intervention.name in named:
                    yield self.draws_stage(world, intervention)
            yield from (self.audit_stage(world, audit) for audit in asked)
        yield from (self.worlds_stage(audit) for audit in self.settings.audit if audit.label in compared)

    # Running

    def posterior(self, world: str) -> Posterior:
        """Return the posterior of a world, under its coupling; one that cannot be trusted is refused."""
        if world not in self._posteriors:
            posterior: Posterior = self.folder.read(self.fit_stage(world))
            diagnostics = posterior.diagnostics()
            if not diagnostics.ok:
                with self._at_world(world, "fit"):
                    raise InferenceError(
                        f"The fit cannot be trusted, and nothing is asked of it. {diagnostics.verdict}"
                    )
            coupling = self._coupling(world)
            self._posteriors[world] = posterior if coupling is None else posterior.with_coupling(coupling)
        return self._posteriors[world]

    def compute(self, told: Told = silent, only_worlds: bool = False) -> dict[str, Finished]:
        """Compute what has not been, and return how each stage went."""
        stages = list(self.stages(only_worlds))
        finished = {}
        for number, stage in enumerate(stages, start=1):
            told(number, len(stages), stage.name, None)
            finished[stage.name] = self.folder.ensure(stage)
            if stage.depends["stage"] == "fit":
                self.posterior(next(world for world in self._worlds() if self._named("fit", world) == stage.name))
            told(number, len(stages), stage.name, finished[stage.name])
        return finished

    def answers(self, only_worlds: bool = False, stages: dict[str, Finished] | None = None) -> Answers:
        """Return what finished stages found.

        Raises
        ------
        CausalAuditError
            If one has not finished.
        """
        for stage in self.stages(only_worlds):
            if not self.folder.has(stage):
                raise CausalAuditError(
                    f"The stage {stage.name!r} has not finished, or the configuration, its files or the data have "
                    f"changed since: run `causalaudit audit {self.prepared.configuration.path.name}`."
                )
        compared = compared_audits(self.settings) if self.settings.world else []
        results: dict[str, AuditResult] = {}
        worlds: dict[str, WorldsResult] = {}
        for audit in self.settings.audit:
            if not only_worlds or audit.label in compared:
                results[audit.label] = self.folder.read(self.audit_stage(self.base, audit))
            if audit.label in compared:
                worlds[audit.label] = self.folder.read(self.worlds_stage(audit))
        finished = stages or {stage.name: self.folder.ensure(stage) for stage in self.stages(only_worlds)}
        return Answers(self.posterior(self.base), results, worlds, finished)

    # What stages have in common

    def _worlds(self) -> list[str]:
        return list(self.prepared.models)

    def _named(self, name: str, world: str) -> str:
        return name if world == self.base else f"{name} in {world!r}"

    def _coupling(self, world: str) -> Any:
        return self.prepared.models[world].coupling

    def _data(self) -> dict[str, Any]:
        data = self.settings.data.model_dump(exclude={"path"})
        return {"data": self.prepared.people.digest, "reading": data, "versions": versions()}

    def _draws(self, world: str, intervention: Intervention, bounds: bool) -> CounterfactualDraws:
        """Return counterfactuals from their file; what holds under any coupling is known of new ones alone."""
        if bounds:
            return self.prepared.question.draws(self.posterior(world), intervention)
        draws: CounterfactualDraws = self.folder.read(self.draws_stage(world, intervention))
        return draws

    def _intervention(self, name: str | None) -> Any:
        return next((one for one in self.settings.intervention if one.name == name), None)

    def _at_world(self, world: str, key: str) -> Any:
        at = self.prepared.configuration.at
        return at(key) if world == self.base else at("world", self._worlds().index(world) - 1)


@dataclass(frozen=True)
class _Known:
    """An audit whose answers are there already: it looks up the one of the world that it is asked in."""

    results: dict[str, AuditResult]

    def __call__(self, posterior: Posterior) -> AuditResult:
        return self.results[str(posterior.scm.name)]


def _called(posterior: Posterior, world: str) -> Posterior:
    scm = copy(posterior.scm)
    scm.name = world
    return replace(posterior, scm=scm)


def run_folder(prepared: Prepared, out: Path | None) -> RunFolder:
    """Return the folder of a run: that of the user, or that of the configuration, beside or below it."""
    configuration = prepared.configuration
    with configuration.at("out"):
        return RunFolder(out or inside(configuration.folder, configuration.settings.out, "folder of the run"))
