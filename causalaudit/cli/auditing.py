"""Running audits and worlds, and writing their report."""

import json
import os
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

from causalaudit.cli.talking import Talk
from causalaudit.configuration import read_configuration
from causalaudit.errors import CausalAuditError
from causalaudit.report import write_report
from causalaudit.results import AuditResult
from causalaudit.runs import Answers, Finished, Run, RunFolder, prepare, run_folder
from causalaudit.runs.keys import key_of
from causalaudit.worlds import WorldsResult

_REPORT = "report.html"


def run_audit(talk: Talk, path: Path, data: Path | None, out: Path | None) -> Answers:
    """Compute what has not been, write the report, and say what was found."""
    run = _run(path, data, out)
    with run.folder.locked():
        _begin(run, data)
        finished = run.compute(_telling(talk))
        answers = run.answers(stages=finished)
        page = _reported(talk, run, answers, data)
    _say_answers(talk, answers)
    talk.result |= {"report": str(page), "run": str(run.folder.path)}
    talk.say(f"\nThe report: {page}")
    return answers


def run_worlds(talk: Talk, path: Path, data: Path | None, out: Path | None) -> dict[str, WorldsResult]:
    """Compute what worlds need, and say what was found."""
    run = _run(path, data, out)
    if not run.settings.world:
        raise CausalAuditError(f"{path.name} has no [[world]]: add one, with what it assumes.")
    with run.folder.locked():
        _begin(run, data)
        finished = run.compute(_telling(talk), only_worlds=True)
        answers = run.answers(only_worlds=True, stages=finished)
    _say_worlds(talk, answers)
    return answers.worlds


def report_again(talk: Talk, path: Path) -> None:
    """Write the report of a finished run again."""
    folder = RunFolder(path)
    said = folder.description()
    home = path.resolve()
    configuration = Path(os.path.normpath(home / said["configuration"]))
    talk.aside(f"configuration: {configuration}")
    data = None if said["data"] is None else home / said["data"]
    run = Run(prepare(read_configuration(configuration), data), folder)
    with folder.locked():
        page = _write(run, run.answers())
        _describe(run, data)
    talk.result = {"report": str(page), "run": str(path)}
    talk.say(f"The report: {page}")


def _run(path: Path, data: Path | None, out: Path | None) -> Run:
    prepared = prepare(read_configuration(path), data)
    return Run(prepared, run_folder(prepared, out))


def _begin(run: Run, data: Path | None) -> None:
    """Leave in the folder what it is the run of; a report that is there is kept in mind."""
    try:
        report = run.folder.description().get("report")
    except CausalAuditError:
        report = None
    _describe(run, data, report)


def _describe(run: Run, data: Path | None, report: str | None = None) -> None:
    """Leave in the folder where the configuration is, as seen from there, and what the report was made of."""
    home = run.folder.path.resolve()

    def relative(path: Path) -> str:
        return os.path.relpath(path.resolve(), home)

    configuration = run.prepared.configuration.path
    facts = {"configuration": relative(configuration), "data": None if data is None else relative(data)}
    run.folder.describe({**facts, **({} if report is None else {"report": report})})


def _reported(talk: Talk, run: Run, answers: Answers, data: Path | None) -> Path:
    """Write the report, unless it is there and was made of the same."""
    page = run.folder.path / _REPORT
    made_of = key_of(
        {
            "stages": [stage.file for stage in run.stages()],
            "context": json.loads(json.dumps(_context(run, answers), default=str)),
            "title": run.settings.report.title,
        }
    )
    if page.is_file() and run.folder.description().get("report") == made_of:
        talk.aside("report: kept")
        return page
    talk.aside("report …")
    _describe(run, data)  # it is no longer known what the report was made of, until it is whole
    page = _write(run, answers)
    _describe(run, data, made_of)
    return page


def _telling(talk: Talk) -> Any:
    def told(number: int, total: int, name: str, finished: Finished | None) -> None:
        start = f"[{number}/{total}] {name}"
        if finished is None:
            return talk.aside(f"{start} …")
        talk.aside(f"{start}: {'kept' if finished.reused else f'{finished.seconds:.1f} s'}")
        for note in finished.notes:
            talk.aside(f"  note: {note}")
        return None

    return told


def _write(run: Run, answers: Answers) -> Path:
    settings = run.settings
    with run.prepared.configuration.at("report"):
        return write_report(
            answers.results,
            run.folder.path / _REPORT,
            posterior={run.base: answers.posterior},
            worlds=answers.worlds or None,
            title=settings.report.title,
            context=_context(run, answers),
        )


def _context(run: Run, answers: Answers) -> dict[str, Any]:
    """Return what the configuration states, with what the run knows of itself."""
    prepared = run.prepared
    context = deepcopy(run.settings.context)
    software = {
        "data_sha256": prepared.people.digest,
        "command": f"causalaudit audit {prepared.configuration.path.name}",
    }
    context["software"] = {**software, **context.get("software", {})}
    notes = [f"{stage}: {note}" for stage, finished in answers.finished.items() for note in finished.notes]
    if notes:
        context["limits"] = {**context.get("limits", {}), "warnings": notes}
    return context


def _say_answers(talk: Talk, answers: Answers) -> None:
    verdict = answers.posterior.diagnostics().verdict
    talk.say(f"fit: {verdict}")
    talk.result = {
        "fit": verdict,
        "audits": {name: _summary(result, answers.flagged[name]) for name, result in answers.results.items()},
        "stages": {
            name: {"seconds": round(one.seconds, 3), "kept": one.reused, "notes": list(one.notes)}
            for name, one in answers.finished.items()
        },
    }
    for name, result in answers.results.items():
        talk.say(f"\n{name}: {answers.flagged[name]} of {len(result.verdicts)} flagged. {result.title}")
    _say_worlds(talk, answers)


def _summary(result: AuditResult, flagged: int) -> dict[str, Any]:
    headline = result.headline
    return {
        "title": result.title,
        "units": len(result.verdicts),
        "flagged": flagged,
        "headline": {"name": str(headline.name), "median": _plain(headline.median())},
    }


def _plain(number: Any) -> float | None:
    value = float(number)
    return value if value == value and abs(value) != float("inf") else None


def _say_worlds(talk: Talk, answers: Answers) -> None:
    found: dict[str, Any] = {}
    for name, result in answers.worlds.items():
        talk.say(f"\n{name}, in {len(result.worlds)} worlds: {result.settings['headline']}")
        rows: Mapping[Any, Any] = result.headline[["value", "credible_low", "credible_high"]].to_dict("index")
        for world, row in rows.items():
            numbers = {key: _plain(value) for key, value in row.items()}
            found.setdefault(name, {})[str(world)] = numbers
            low, high = numbers["credible_low"], numbers["credible_high"]
            interval = "" if low is None or high is None else f" ({low:.4g} to {high:.4g})"
            talk.say(f"  {world}: {row['value']:.4g}{interval}")
        agreed = result.agreement["flagged"]
        talk.say(f"  flagged in all worlds: {agreed['all']}, in some: {agreed['some']}, in none: {agreed['none']}")
    if found:
        talk.result["worlds"] = found
