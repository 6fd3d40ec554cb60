"""Writing the starter into a folder."""

from importlib.resources import files
from pathlib import Path

import numpy as np
import pandas as pd

from causalaudit.errors import CausalAuditError
from causalaudit.randomness import generator

FILES = ("audit.toml", "model.py", "people.csv")
_PEOPLE = 1500


def write_starter(folder: Path) -> list[Path]:
    """Write a configuration, a model and invented people; nothing that is there is overwritten.

    Parameters
    ----------
    folder
        Made if it is needed.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [path.name for path in write_starter(Path(folder))]
    ['audit.toml', 'model.py', 'people.csv']
    """
    there = [name for name in FILES if (folder / name).exists()]
    if there:
        raise CausalAuditError(f"There is already {there[0]!r} in {str(folder)!r}: give the name of a new folder.")
    if folder.exists() and not folder.is_dir():
        raise CausalAuditError(f"{str(folder)!r} is a file: give the name of a new folder.")
    folder.mkdir(parents=True, exist_ok=True)
    for name in FILES[:2]:
        (folder / name).write_text(files("causalaudit.starter").joinpath(name).read_text(encoding="utf-8"), "utf-8")
    make_people(_PEOPLE, seed=0).to_csv(folder / FILES[2], index=False)
    return [folder / name for name in FILES]


def make_people(n: int, seed: int) -> pd.DataFrame:
    """Draw the applicants of the starter, with the decision of its bank.

    Examples
    --------
    >>> list(make_people(3, seed=0).columns)
    ['applicant', 'gender', 'education', 'income', 'debts', 'repaid', 'approved']
    """
    rng = generator(seed, "starter")
    female, college = rng.random(n) < 0.45, rng.random(n) < 0.4
    income = rng.poisson(np.exp(1.3 - 0.25 * female + 0.3 * college))
    debts = rng.random(n) < 1 / (1 + np.exp(-(0.5 - 0.3 * income)))
    repaid = rng.random(n) < 1 / (1 + np.exp(-(-0.5 + 0.5 * income - 0.8 * debts)))
    approved = income >= 3 + 2 * debts + (female & debts)
    return pd.DataFrame(
        {
            "applicant": [f"A{number:04d}" for number in range(1, n + 1)],
            "gender": np.where(female, "female", "male"),
            "education": np.where(college, "college", "school"),
            "income": income,
            "debts": np.where(debts, "yes", "no"),
            "repaid": repaid.astype(int),
            "approved": approved.astype(int),
        }
    )
