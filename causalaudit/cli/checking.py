"""Checking a configuration before the long work."""

from pathlib import Path
from typing import Any

import numpy as np

from causalaudit.cli.talking import Talk
from causalaudit.configuration import read_configuration
from causalaudit.errors import ProgramError
from causalaudit.runs import Prepared, prepare, run_folder
from causalaudit.runs.estimating import Estimate, Estimator
from causalaudit.scm import SCM

_PRIOR_PEOPLE, _PRIOR_DRAWS = 50, 20


def check_configuration(talk: Talk, path: Path, data: Path | None, estimate: bool) -> None:
    """Say what is asked and executed, whether models can be run, and what the audit will cost."""
    prepared = prepare(read_configuration(path), data)
    run_folder(prepared, None)
    table = prepared.people.table
    executed = [file.name for file in prepared.code.files]
    talk.say(f"{path.name} is fine: {len(table):,} people, {len(table.columns)} columns.")
    talk.say(f"executed: {', '.join(executed) or 'nothing'}")
    missing = table.isna().sum()
    for name, count in missing[missing > 0].items():
        talk.say(f"missing: {name} of {count:,} people")
    talk.result = {
        "people": len(table), "executed": executed, "data_sha256": prepared.people.digest,
        "missing": {str(name): int(count) for name, count in missing.items() if count},
        "models": _models(talk, prepared),
    }  # fmt: skip
    if estimate:
        found = Estimator(prepared, lambda stage: talk.aside(f"timing {stage} …")).estimate()
        _say_costs(talk, found)


def _models(talk: Talk, prepared: Prepared) -> dict[str, Any]:
    """Run each model from its prior, and say what it is."""
    found = {}
    for number, (world, model) in enumerate(prepared.models.items()):
        with prepared.configuration.at(*(("world", number - 1) if number else ("model",))), prepared.code.blamed():
            _run_from_prior(model.scm.with_columns_of(prepared.people.table), prepared)
        talk.say(f"{world}: {model.scm!r}")
        found[world] = repr(model.scm)
    return found


def _run_from_prior(scm: SCM, prepared: Prepared) -> None:
    """Refuse a model whose prior makes people with impossible values."""
    prior = scm.prior_predictive(_PRIOR_PEOPLE, _PRIOR_DRAWS, data=prepared.people.table)
    for name in scm.variables:
        values = prior[name].to_numpy()
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            share = 1 - np.isfinite(values).mean()
            raise ProgramError(
                f"Of the people that the prior of {scm.name!r} makes, {share:.0%} have no finite {name!r}: tighten the "
                "priors of what causes it."
            )


def _say_costs(talk: Talk, estimate: Estimate) -> None:
    talk.say("\nWith one process, on this machine as busy as it is now:")
    for cost in estimate.costs:
        talk.say(f"  {_duration(cost.seconds):>10}  {cost.stage}")
    talk.say(f"  {_duration(estimate.seconds):>10}  in all, and {estimate.memory / 2**30:.1f} GiB of memory")
    talk.result["estimate"] = {
        "seconds": round(estimate.seconds, 1),
        "computing_seconds": round(estimate.seconds / estimate.busy, 1),
        "memory_bytes": int(estimate.memory),
        "stages": {cost.stage: round(cost.seconds, 2) for cost in estimate.costs},
    }


def _duration(seconds: float) -> str:
    return (
        f"{seconds:.1f} s"
        if seconds < 120
        else f"{seconds / 60:.1f} min"
        if seconds < 7200
        else f"{seconds / 3600:.1f} h"
    )
