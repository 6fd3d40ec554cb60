"""Data sets: three that are generated, and loaders of public ones.

A loader looks for its file in the `path` it is given (a file or a folder), then in the folder named by the environment
variable ``CAUSALAUDIT_DATA``, then in the cache folder (``causalaudit`` under ``XDG_CACHE_HOME`` or ``~/.cache``), then
on OpenML where that has the same table; otherwise the error says what to put where. No data are shipped.
"""

import os
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import fetch_openml

from causalaudit.arguments import check_count, check_types
from causalaudit.errors import DataError
from causalaudit.randomness import generator

__all__ = [
    "load_adult",
    "load_compas",
    "load_german_credit",
    "load_law_school",
    "load_loan",
    "make_compas",
    "make_law_school",
    "make_loan",
]


def make_loan(n: int = 5000, seed: int = 0) -> pd.DataFrame:
    """Draw the loan scenario of Alvarez and Ruggieri (2025), section 5.2, with its true counterfactuals.

    Parameters
    ----------
    n
        Number of applicants.
    seed
        Same seed, same applicants.

    Returns
    -------
    pandas.DataFrame
        `gender` (male, female), `salary` and `balance` in dollars, `approved` (1 if salary + 5 · balance > 225,000,
        else 0), and what the same applicant would have had as a man: `salary_if_male`, `balance_if_male`,
        `approved_if_male`.

    Notes
    -----
    The equations are those of `causalaudit.models.loan.true_process`.

    Examples
    --------
    >>> import causalaudit as ca
    >>> applicants = ca.datasets.make_loan(1000, seed=0)
    >>> women = applicants[applicants.gender == "female"]
    >>> bool((women.salary_if_male >= women.salary).all())
    True
    """
    check_types(make_loan, locals())
    check_count("n", n)
    rng = generator(seed, "make_loan")
    female = rng.random(n) < 0.35
    salary_if_male = 10_000.0 * rng.poisson(10, n)
    salary = salary_if_male - 1_500.0 * rng.poisson(10, n) * female
    noise = 2_500.0 * rng.standard_normal(n)
    balance_if_male = 0.3 * salary_if_male + noise
    balance = 0.3 * salary - 300.0 * rng.chisquare(4, n) * female + noise
    return pd.DataFrame(
        {
            "gender": np.where(female, "female", "male"),
            "salary": salary,
            "balance": balance,
            "approved": (salary + 5 * balance > 225_000).astype(int),
            "salary_if_male": salary_if_male,
            "balance_if_male": balance_if_male,
            "approved_if_male": (salary_if_male + 5 * balance_if_male > 225_000).astype(int),
        }
    )


def make_compas(n: int = 6000, seed: int = 0) -> pd.DataFrame:
    """Draw invented defendants with columns as `load_compas` has them, and scores of a known bias.

    Parameters
    ----------
    n
        Number of defendants.
    seed
        Same seed, same defendants.

    Returns
    -------
    pandas.DataFrame
        `sex, age, race, priors_count, days_b_screening_arrest, c_charge_degree, is_recid, decile_score,
        two_year_recid`; index `id`.

    Notes
    -----
    The log-odds of reoffending fall with age, rise with prior offences and are higher for men; race plays no part
    beside prior offences. The score is made of deciles of these log-odds with some noise, after 0.8 were added for
    African-American men: the subgroup that separation scans for race should find.

    Examples
    --------
    >>> import causalaudit as ca
    >>> people = ca.datasets.make_compas(1000, seed=0)
    >>> people.groupby("race").decile_score.mean().idxmax()
    'African-American'
    """
    check_types(make_compas, locals())
    check_count("n", n)
    rng = generator(seed, "make_compas")
    races = ["African-American", "Asian", "Caucasian", "Hispanic", "Native American", "Other"]
    race = rng.choice(races, n, p=[0.51, 0.01, 0.33, 0.08, 0.01, 0.06])
    male = rng.random(n) < 0.8
    age = 18 + np.floor(rng.gamma(1.5, 11.0, n)).clip(max=60).astype(int)
    black = race == "African-American"
    priors = rng.negative_binomial(0.8, 1 / (1 + np.exp(0.8 + 0.35 * black + 0.3 * male)), n)
    felony = rng.random(n) < np.where(priors > 0, 0.7, 0.55)
    log_odds = -0.9 - 0.03 * (age - 33) + 0.5 * np.log1p(priors) + 0.4 * male + rng.normal(0, 0.5, n)
    scored = log_odds + 0.8 * (black & male) + rng.normal(0, 0.3, n)
    reoffends = (rng.random(n) < 1 / (1 + np.exp(-log_odds))).astype(int)
    return pd.DataFrame(
        {
            "sex": np.where(male, "Male", "Female"),
            "age": age,
            "race": race,
            "priors_count": priors,
            "days_b_screening_arrest": 0.0,
            "c_charge_degree": np.where(felony, "F", "M"),
            "is_recid": reoffends,
            "decile_score": np.ceil(10 * (scored.argsort().argsort() + 1) / n).astype(int),
            "two_year_recid": reoffends,
        },
        index=pd.RangeIndex(1, n + 1, name="id"),
    )


def make_law_school(n: int = 20_000, seed: int = 0) -> pd.DataFrame:
    """Draw invented law-school applicants with columns as `load_law_school` has them, and their true counterfactuals.

    Parameters
    ----------
    n
        Number of applicants.
    seed
        Same seed, same applicants.

    Returns
    -------
    pandas.DataFrame
        `Gender` (Male, Female), `Race` (White, NonWhite), `GenderRace` (Female-NonWhite, Other), `LSAT` (whole numbers
        from 10 to 48), `UGPA` (tenths from 0 to 4.2), and what the same applicant would have had as a white person:
        `LSAT_if_white`, `UGPA_if_white`.

    Notes
    -----
    The equations are those of `causalaudit.models.law_school.level_3`, with parameters near those fitted to the survey
    (U are standard normal)::

        LSAT = 37.8 − 0.6 · female − 4.6 · nonwhite + 5.2 · U1
        UGPA = 3.21 + 0.13 · female − 0.22 · nonwhite + 0.40 · U2

    then rounded, and cut off at the ends of the scales. The scores of an applicant have no common cause but the two
    attributes, so that `level_2` is wrong here: its latent knowledge has nothing to explain.

    Examples
    --------
    >>> import causalaudit as ca
    >>> people = ca.datasets.make_law_school(1000, seed=0)
    >>> nonwhite = people[people.Race == "NonWhite"]
    >>> bool((nonwhite.LSAT_if_white >= nonwhite.LSAT).all())
    True
    """
    check_types(make_law_school, locals())
    check_count("n", n)
    rng = generator(seed, "make_law_school")
    female, nonwhite = rng.random(n) < 0.44, rng.random(n) < 0.16
    lsat = 37.8 - 0.6 * female + 5.2 * rng.standard_normal(n)
    ugpa = 3.21 + 0.13 * female + 0.40 * rng.standard_normal(n)
    return pd.DataFrame(
        {
            "Gender": np.where(female, "Female", "Male"),
            "Race": np.where(nonwhite, "NonWhite", "White"),
            "GenderRace": np.where(female & nonwhite, "Female-NonWhite", "Other"),
            "LSAT": (lsat - 4.6 * nonwhite).round().clip(10, 48),
            "UGPA": (ugpa - 0.22 * nonwhite).round(1).clip(0, 4.2),
            "LSAT_if_white": lsat.round().clip(10, 48),
            "UGPA_if_white": ugpa.round(1).clip(0, 4.2),
        }
    )


def load_loan(path: str | Path | None = None) -> pd.DataFrame:
    """Load the loan applications as the authors of situation testing drew them (4,993 people).

    Returns
    -------
    pandas.DataFrame
        `gender` (male, female), `salary` and `balance` in dollars, `approved` (0, 1).
    """
    check_types(load_loan, locals())
    columns = "Gender AnnualSalary AccountBalance LoanApproval"
    raw = _read("loan_application.csv", path, "the public repository of the paper", columns, sep="|")
    return pd.DataFrame(
        {
            "gender": raw["Gender"].map({0: "male", 1: "female"}),
            "salary": raw["AnnualSalary"].astype(float),
            "balance": raw["AccountBalance"],
            "approved": (raw["LoanApproval"] == 1).astype(int),
        }
    )


def load_law_school(path: str | Path | None = None) -> pd.DataFrame:
    """Load the survey of the Law School Admission Council (Wightman 1998; 21,790 people).

    Returns
    -------
    pandas.DataFrame
        `Gender` (Male, Female), `Race` (White, NonWhite), `GenderRace` (Female-NonWhite, Other), `race_detailed` (eight
        groups), `LSAT` (10 to 48, a tenth of the rows not whole), `UGPA` (0 to 4.2) and `ZFYA` (standardised
        first-year average).
    """
    check_types(load_law_school, locals())
    columns = "sex race_nonwhite race LSAT UGPA ZFYA"
    raw = _read("law_school.csv", path, "the public repository of the situation-testing paper", columns, sep="|")
    both = (raw["sex"] == "Female") & (raw["race_nonwhite"] == "NonWhite")
    return pd.DataFrame(
        {
            "Gender": raw["sex"],
            "Race": raw["race_nonwhite"],
            "GenderRace": np.where(both, "Female-NonWhite", "Other"),
            "race_detailed": raw["race"],
            "LSAT": raw["LSAT"],
            "UGPA": raw["UGPA"],
            "ZFYA": raw["ZFYA"],
        }
    )


def load_compas(path: str | Path | None = None) -> pd.DataFrame:
    """Load ProPublica's two-year COMPAS file (7,214 people), unfiltered.

    Returns
    -------
    pandas.DataFrame
        The publisher's columns: `sex, age, age_cat, race, juv_fel_count, juv_misd_count, juv_other_count, priors_count,
        days_b_screening_arrest, c_charge_degree, is_recid, decile_score, score_text, two_year_recid`; index `id`.
        `days_b_screening_arrest` is missing for 307 people.
    """
    check_types(load_compas, locals())
    names = ("compas_two_years.csv", "compas-scores-two-years.csv")
    columns = (
        "sex age age_cat race juv_fel_count juv_misd_count juv_other_count priors_count days_b_screening_arrest "
        "c_charge_degree is_recid decile_score score_text two_year_recid"
    )
    raw = _read(names, path, "ProPublica's repository compas-analysis", f"id {columns}")
    return raw.set_index("id")[columns.split()]


_ADULT = (
    "age workclass fnlwgt education education-num marital-status occupation relationship race sex capital-gain "
    "capital-loss hours-per-week native-country income"
)


def load_adult(path: str | Path | None = None) -> pd.DataFrame:
    """Load the Adult census data (48,842 people), from OpenML if there is no file.

    Returns
    -------
    pandas.DataFrame
        The publisher's columns: `age, workclass, fnlwgt, education, education-num, marital-status, occupation,
        relationship, race, sex, capital-gain, capital-loss, hours-per-week, native-country, income` (<=50K, >50K), and,
        if read from a file that has it, `split` (train, test). Unknown values are missing.
    """
    check_types(load_adult, locals())
    found = _find("adult.csv.gz", path) or _find("adult.csv", path)
    if found is not None:
        return _read_csv(found, _ADULT, "the UCI repository", na_values="?", skipinitialspace=True)
    try:
        table = fetch_openml("adult", version=2, as_frame=True, data_home=str(_cache()), parser="pandas").frame
    except OSError as error:
        raise _missing(("adult.csv.gz",), "the UCI repository, train and test parts together") from error
    table = table.rename(columns={"class": "income"})
    text = table.select_dtypes("category").columns
    return table.assign(**{name: table[name].astype(object).where(table[name].notna(), None) for name in text})


def load_german_credit(path: str | Path | None = None, version: str = "statlog") -> pd.DataFrame:
    """Load German credit data (1,000 people).

    Parameters
    ----------
    path
        A file or a folder.
    version
        "statlog": UCI Statlog, coded as published (A11, ...), with `personal_status_sex` and `class` (1 good, 2 bad).
        "south": the corrected South German Credit data, with `gender` and `credit_risk` (1 good, 0 bad).

    Returns
    -------
    pandas.DataFrame
        `status, duration, credit_history, purpose, amount, savings, ..., foreign_worker`, as the publisher names them,
        and the two columns named above.
    """
    check_types(load_german_credit, locals())
    if version == "statlog":
        return _read(
            "german_credit_statlog.csv", path, "the UCI repository, with a header", "personal_status_sex class"
        )
    if version == "south":
        source = "the UCI repository (South German Credit)"
        return _read("german_credit.csv", path, source, "gender credit_risk", sep="|")
    raise DataError(f"version is {version!r}, but must be 'statlog' or 'south'.")


def _cache() -> Path:
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "causalaudit"


def _read(
    names: str | tuple[str, ...], path: str | Path | None, source: str, columns: str, **options: Any
) -> pd.DataFrame:
    candidates = (names,) if isinstance(names, str) else names
    found = next((file for file in (_find(name, path) for name in candidates) if file is not None), None)
    if found is None:
        raise _missing(candidates, source)
    return _read_csv(found, columns, source, **options)


def _read_csv(found: Path, columns: str, source: str, **options: Any) -> pd.DataFrame:
    """Read a file, and refuse one that is no table, or another one."""
    try:
        table = pd.read_csv(found, **options)
    except (ValueError, OSError, EOFError) as error:  # no csv, no text, not compressed as its name says
        raise DataError(
            f"{found.name!r} cannot be read as a table ({error}): it is not the file from {source}."
        ) from error
    lacking = [column for column in columns.split() if column not in table.columns]
    if lacking:
        raise DataError(f"{found.name!r} lacks the columns {', '.join(lacking)}: it is not the file from {source}.")
    return table


def _find(name: str, path: str | Path | None) -> Path | None:
    if path is not None:
        if not str(path):
            raise DataError("path is empty, but must be a file or a folder; None looks where the data usually are.")
        given = Path(path)
        if given.is_file():
            return given
        if not given.is_dir():
            raise DataError(f"path is {str(given)!r}, but there is no such file or folder.")
    folders = [Path(path)] if path is not None else []
    if os.environ.get("CAUSALAUDIT_DATA"):
        folders.append(Path(os.environ["CAUSALAUDIT_DATA"]))
    return next((folder / name for folder in [*folders, _cache()] if (folder / name).is_file()), None)


def _missing(names: tuple[str, ...], source: str) -> DataError:
    return DataError(
        f"{' or '.join(map(repr, names))} was not found. Get it from {source} and either pass its path, or put it into "
        f"the folder named by the environment variable CAUSALAUDIT_DATA, or into {str(_cache())!r}."
    )
