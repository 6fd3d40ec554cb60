"""Reading back what was saved, whatever it is."""

from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from causalaudit.arguments import check_types
from causalaudit.errors import SavedFileError
from causalaudit.storage import believing, read_artefact

if TYPE_CHECKING:
    from causalaudit.scm import SCM

# What a file may hold, and the class that reads it: nothing else is ever imported because a file says so.
_READERS = {
    "counterfactual draws": ("causalaudit.counterfactuals", "CounterfactualDraws"),
    "situation testing": ("causalaudit.situation_testing", "SituationTestingResult"),
    "multiple discrimination": ("causalaudit.situation_testing", "MultipleDiscriminationResult"),
    "error rates": ("causalaudit.error_rates", "ErrorRateResult"),
    "error rate estimate": ("causalaudit.error_rates", "ErrorRateEstimate"),
    "recourse": ("causalaudit.recourse", "RecourseResult"),
    "impact ratios": ("causalaudit.association", "ImpactRatiosResult"),
    "bias scan": ("causalaudit.bias_scan", "BiasScanResult"),
    "detection power": ("causalaudit.bias_scan", "PowerResult"),
    "edges": ("causalaudit.worlds", "EdgesResult"),
    "prior sensitivity": ("causalaudit.worlds", "PriorSensitivity"),
    "sweep": ("causalaudit.worlds", "SweepResult"),
    "worlds": ("causalaudit.worlds", "WorldsResult"),
}


def load(path: str | Path, scm: "SCM | None" = None) -> Any:
    """Read a result, a posterior or counterfactual draws from the file that ``.save(path)`` wrote.

    The folder that ``counterfactuals(..., path=)`` wrote is opened: its draws are read when they are needed.

    Parameters
    ----------
    path
        The file, or the folder.
    scm
        The program, if the file holds a posterior: programs are code, which is never saved.

    Raises
    ------
    SavedFileError
        If the file is damaged, of another version, or a posterior of another program.

    Notes
    -----
    Nothing in a file is run, and what it claims of itself is checked before it is believed: a file that was altered is
    refused or read as what it says, and takes no more memory than some times its size. But it carries a checksum, which
    finds damage, and no signature: who alters numbers on purpose can compute it anew. Load what you trust.

    Examples
    --------
    >>> import tempfile, pandas as pd, causalaudit as ca
    >>> worlds = ca.CounterfactualDraws.from_frame(pd.DataFrame({"salary": [51.0, 43.5]}), do={"gender": "male"})
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     worlds.save(f"{folder}/worlds.nc")
    ...     ca.load(f"{folder}/worlds.nc")
    Counterfactuals under do(gender): 1 draws of 2 people
    """
    check_types(load, locals())
    if Path(path).is_dir():
        return import_module("causalaudit.counterfactuals").open_draws(path)
    artefact = read_artefact(path)
    if artefact.kind == "posterior":
        if scm is None:
            raise SavedFileError(
                f"{Path(path).name!r} holds a posterior, whose program is not saved: give it by load(path, scm=scm)."
            )
        return import_module("causalaudit.inference").Posterior.load(path, scm)
    if artefact.kind not in _READERS:
        raise SavedFileError(f"{Path(path).name!r} holds a {artefact.kind!r}, which this version does not know.")
    module, name = _READERS[artefact.kind]
    reader = getattr(import_module(module), name)
    with believing(Path(path).name):
        return reader.from_artefact(artefact)
