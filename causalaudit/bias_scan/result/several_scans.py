"""Several scans, judged together."""

from collections.abc import Sequence
from typing import Any

import pandas as pd

from causalaudit.arguments import check_share, check_types
from causalaudit.bias_scan.result.result import BiasScanResult
from causalaudit.errors import DataError


def bonferroni(results: Sequence[BiasScanResult], alpha: float | None = None) -> pd.DataFrame:
    """Judge several scans together: each at `alpha` divided by their number, not by the number of subgroups.

    Parameters
    ----------
    results
        Scans with p-values (``permutations`` above 0).
    alpha
        The level of all scans together; default that of the first.

    Returns
    -------
    pandas.DataFrame
        `scan, subgroup, score, p_value, level, significant`, and `attainable`: whether so many null draws could have
        given a p-value as small as the level.

    References
    ----------
    Boxer, McFowland and Neill (2024), section 2.4.

    Examples
    --------
    >>> import numpy as np, pandas as pd, causalaudit as ca
    >>> from causalaudit.bias_scan import bonferroni
    >>> names = {"sex": ["F", "M"], "region": ["north", "south"], "y": [0, 1], "flagged": [0, 1]}
    >>> rng = np.random.default_rng(0)
    >>> people = pd.DataFrame({name: rng.choice(values, 500) for name, values in names.items()})
    >>> scans = [
    ...     ca.scan_bias(people, {"sex": "F"}, "y", recommendation="flagged", given=given, permutations=19)
    ...     for given in (0, 1)
    ... ]
    >>> bonferroni(scans)["level"].tolist()
    [0.025, 0.025]
    """
    check_types(bonferroni, locals())
    scans = list(results)
    if not scans or any(scan.p_value is None for scan in scans):
        raise DataError("Bonferroni's correction needs scans with p-values: give permutations= to each of them.")
    level = (scans[0].settings["alpha"] if alpha is None else check_share("alpha", alpha)) / len(scans)
    rows: list[dict[str, Any]] = [
        {
            "scan": scan.title,
            "subgroup": scan.subgroup,
            "score": scan.score,
            "p_value": scan.p_value,
            "level": level,
            "significant": scan.p_value is not None and scan.p_value <= level,
            "attainable": 1 / (1 + scan.settings["permutations"]) <= level,
        }
        for scan in scans
    ]
    return pd.DataFrame(rows)
