"""The front door: results, and what else is known → the files of a report."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from causalaudit.errors import DataError
from causalaudit.inference import Posterior
from causalaudit.report.document import document_of
from causalaudit.report.drafting import Material
from causalaudit.report.files import check_place, write_files
from causalaudit.report.rendering import as_html, as_json, as_markdown
from causalaudit.report.robust import KINDS
from causalaudit.report.stated import checked_context
from causalaudit.results import AuditResult


def write_report(
    results: AuditResult | Mapping[str, AuditResult] | Sequence[AuditResult],
    path: str | Path,
    *,
    posterior: Posterior | Mapping[str, Posterior] | None = None,
    worlds: Any = None,
    title: str | None = None,
    context: Mapping[str, Any] | None = None,
) -> Path:
    """Write a report of audits: one self-contained HTML file, with Markdown, JSON and tables as CSV beside it.

    Parameters
    ----------
    results
        The results of audits, by the names that they shall have; or a list of them, or one. Impact ratios
        (`causalaudit.impact_ratios`) are the association table.
    path
        The HTML file. Markdown and JSON have its name with other endings, and tables are in a folder of its name with
        ``_tables``; all are replaced if they are there.
    posterior
        What the causal part rests on: a posterior, or several by the names of their worlds.
    worlds
        Which other assumptions were tried: what `compare_worlds`, the sweeps, `prior_sensitivity`, `compare_edges` or
        `test_diagram` returned, or several of these by name.
    title
        Default: of the audited system, if it is stated.
    context
        What regulators and reviewers ask for and only the user knows: tables (identity, people, data, association,
        model, bayesian, robustness, limits, governance, software) of fields, and ``question``, a text. Fields of which
        nothing is known are "not stated"; those that the report does not ask for are shown as well.

    Returns
    -------
    pathlib.Path
        The HTML file. It loads nothing, runs no code but its own small script (to sort and filter tables), and has the
        same bytes for the same arguments.

    Raises
    ------
    DataError
        If something of another kind was handed over.
    SavedFileError
        If the folder is not there, or that of the tables holds other files.

    Examples
    --------
    >>> import tempfile, pandas as pd, causalaudit as ca
    >>> people = pd.DataFrame({"sex": ["f", "m"] * 20, "hired": [1, 1, 0, 1] * 10})
    >>> ratios = ca.impact_ratios(people, "hired", ["sex"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = ca.write_report({"hiring": ratios}, f"{folder}/report.html", context={"identity": {"system": "H3"}})
    ...     sorted(file.name for file in path.parent.iterdir())
    ['report.html', 'report.json', 'report.md', 'report_tables']
    """
    place = check_place(Path(path))
    named = _named_posteriors(posterior)
    audits = _named_results(results)
    material = Material(audits, named, _named_worlds(worlds), checked_context(context), _protected(audits, named))
    document = document_of(material, title)
    folder = place.tables.name
    write_files(
        place,
        {
            place.json: as_json(document, folder),
            place.markdown: as_markdown(document, folder),
            place.html: as_html(document, folder),
        },
        document.tables,
    )
    return place.html


def _named_results(results: Any) -> dict[str, AuditResult]:
    if isinstance(results, AuditResult):
        results = [results]
    if not isinstance(results, Mapping):
        if isinstance(results, str) or not isinstance(results, Sequence):
            raise DataError(
                f"results is {type(results).__name__}, but must be results of audits, by name or in a list."
            )
        results = _numbered([getattr(one, "title", "audit") for one in results], list(results))
    for name, one in results.items():
        if not isinstance(one, AuditResult):
            raise DataError(f"results[{name!r}] is {type(one).__name__}, but must be the result of an audit.")
    return {str(name): one for name, one in results.items()}


def _numbered(names: list[str], values: list[Any]) -> dict[str, Any]:
    """Return values by their names, of which those that are taken get a number."""
    found: dict[str, Any] = {}
    for name, value in zip(names, values, strict=True):
        count = 2
        label = name
        while label in found:
            label, count = f"{name} ({count})", count + 1
        found[label] = value
    return found


def _named_posteriors(posterior: Any) -> dict[str, Posterior]:
    named = {posterior.scm.name: posterior} if isinstance(posterior, Posterior) else (posterior or {})
    if not isinstance(named, Mapping) or not all(isinstance(one, Posterior) for one in named.values()):
        raise DataError(f"posterior is {type(posterior).__name__}, but must be what fit returned, or several by name.")
    return {str(name): one for name, one in named.items()}


def _named_worlds(worlds: Any) -> dict[str, Any]:
    if isinstance(worlds, KINDS):
        worlds = {"worlds": worlds}
    kinds = ", ".join(kind.__name__ for kind in KINDS)
    if not isinstance(worlds or {}, Mapping):
        raise DataError(f"worlds is {type(worlds).__name__}, but must be one of {kinds}, or several by name.")
    for name, one in (worlds or {}).items():
        if not isinstance(one, KINDS):
            raise DataError(f"worlds[{name!r}] is {type(one).__name__}, but must be one of {kinds}.")
    return {str(name): one for name, one in (worlds or {}).items()}


def _protected(results: Mapping[str, AuditResult], posteriors: Mapping[str, Posterior]) -> str | None:
    """Return the protected column that the audits name first and a program has."""
    for result in results.values():
        asked = result.settings.get("protected")
        for one in asked if isinstance(asked, list) else [asked]:
            names = list(one) if isinstance(one, Mapping) else [one]
            for name in names:
                if any(name in posterior.scm.columns for posterior in posteriors.values()):
                    return str(name)
    return None
