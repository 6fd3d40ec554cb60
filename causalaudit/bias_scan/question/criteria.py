"""The scans of the paper's Table 1 (section 2.1: event and conditioning variable), each under its common name."""

from dataclasses import dataclass
from typing import Any

from causalaudit.errors import DataError, nearest
from causalaudit.storage import storable


@storable
@dataclass(frozen=True)
class Criterion:
    """A fairness definition: which event is compared, given what.

    Attributes
    ----------
    criterion : str
        "separation": the event is the prediction or the recommendation, given the outcome. "sufficiency": the event is
        the outcome, given the prediction or the recommendation.
    of : str
        "prediction" or "recommendation".
    given : int or None
        The value of the conditioning variable that people are filtered on; None: it enters the outcome model.
    event : int
        The value of a binary event whose rate is compared.
    metric : str
        A short name of what is compared.
    """

    criterion: str
    of: str
    given: int | None
    event: int
    metric: str

    @property
    def probabilities(self) -> bool:
        """Whether the event is a probability."""
        return self.criterion == "separation" and self.of == "prediction"

    @property
    def log_odds(self) -> bool:
        """Whether the conditioning variable is a probability, which enters the outcome model as log-odds."""
        return self.criterion == "sufficiency" and self.of == "prediction"


_RECOMMENDATION = "recommendation"
COMMON_NAMES = {
    "balance for positive class": Criterion("separation", "prediction", 1, 1, "E[P | Y = 1]"),
    "balance for negative class": Criterion("separation", "prediction", 0, 1, "E[P | Y = 0]"),
    "true positive rate": Criterion("separation", _RECOMMENDATION, 1, 1, "TPR"),
    "false positive rate": Criterion("separation", _RECOMMENDATION, 0, 1, "FPR"),
    "false negative rate": Criterion("separation", _RECOMMENDATION, 1, 0, "FNR"),
    "true negative rate": Criterion("separation", _RECOMMENDATION, 0, 0, "TNR"),
    "calibration": Criterion("sufficiency", "prediction", None, 1, "P(Y = 1)"),
    "positive predictive value": Criterion("sufficiency", _RECOMMENDATION, 1, 1, "PPV"),
    "false discovery rate": Criterion("sufficiency", _RECOMMENDATION, 1, 0, "FDR"),
    "false omission rate": Criterion("sufficiency", _RECOMMENDATION, 0, 1, "FOR"),
    "negative predictive value": Criterion("sufficiency", _RECOMMENDATION, 0, 0, "NPV"),
}
_FAMILIES = ("separation", "sufficiency")


def choose_criterion(criterion: str, prediction: str | None, recommendation: str | None, given: Any) -> Criterion:
    """Return the scan that is asked for, by its family and columns or by its common name.

    Parameters
    ----------
    criterion
        "separation", "sufficiency", or a key of `COMMON_NAMES`.
    prediction, recommendation
        The columns; a family needs exactly one of them, a common name the one it is about.
    given
        The value of the conditioning variable to filter on, or None.

    References
    ----------
    Boxer, McFowland and Neill (2024), Table 1.

    Examples
    --------
    >>> choose_criterion("false positive rate", None, "high_risk", None).given
    0
    >>> choose_criterion("separation", None, "high_risk", 0) == choose_criterion("FPR", None, "high_risk", None)
    True
    """
    if not isinstance(criterion, str):
        raise DataError(f"criterion is {criterion!r}, but must be text: 'separation', 'sufficiency' or a common name.")
    if criterion in _FAMILIES:
        return _of_family(criterion, prediction, recommendation, given)
    wanted = criterion.lower()
    found = next((scan for name, scan in COMMON_NAMES.items() if wanted in (name, scan.metric.lower())), None)
    if found is None:
        raise DataError(
            f"There is no criterion {criterion!r}: {nearest(wanted, [*_FAMILIES, *COMMON_NAMES])} "
            f"Common names are {', '.join(map(repr, COMMON_NAMES))}."
        )
    if given is not None and given != found.given:
        raise DataError(f"given is {given!r}, but {criterion!r} is about {found.given!r}: leave given out.")
    if (prediction if found.of == "prediction" else recommendation) is None:
        raise DataError(f"{criterion!r} is about a {found.of}: give the column {found.of}=.")
    return found


def _of_family(criterion: str, prediction: str | None, recommendation: str | None, given: Any) -> Criterion:
    if (prediction is None) == (recommendation is None):
        raise DataError(
            f"{criterion.capitalize()} is about predictions or about recommendations: give exactly one of the columns "
            f"prediction= and recommendation= (given: {prediction!r} and {recommendation!r})."
        )
    of = "prediction" if prediction is not None else "recommendation"
    if criterion == "sufficiency" and of == "prediction" and given is not None:
        raise DataError(
            f"given is {given!r}, but sufficiency of predictions is given the prediction, a probability that nobody "
            "can be filtered on: leave given out, or give a recommendation."
        )
    if given not in (None, 0, 1):
        raise DataError(f"given is {given!r}, but must be 0, 1 or None: a value of the conditioning variable.")
    named = (scan for scan in COMMON_NAMES.values() if (scan.criterion, scan.of, scan.event) == (criterion, of, 1))
    same = next((scan for scan in named if scan.given == given), None)
    event = {"separation": "P" if of == "prediction" else "P_bin = 1", "sufficiency": "Y = 1"}[criterion]
    return same or Criterion(criterion, of, None, 1, f"E[{event}]" if event == "P" else f"P({event})")
