"""The generated loan data, and where the loaders look for their files."""

import gzip
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from causalaudit import datasets
from causalaudit.errors import DataError

LOAN = (
    "LoanApproval|AnnualSalary|AccountBalance|u1|u2|Gender\n"
    "-1.0|40000|9000.5|60000|-10.5|1\n"
    "1.0|120000|40000.25|120000|4.0|0\n"
)
LAW = (
    "race|sex|LSAT|UGPA|ZFYA|race_nonwhite|race_simpler\n"
    "White|Female|30.0|3.0|-0.5|White|White\n"
    "Black|Female|31.5|3.5|0.5|NonWhite|Black\n"
    "Asian|Male|32.0|2.5|0.0|NonWhite|Other\n"
)
COMPAS_HEADER = (
    "id,name,sex,age,age_cat,race,juv_fel_count,juv_misd_count,juv_other_count,priors_count,days_b_screening_arrest,"
    "c_charge_degree,is_recid,decile_score,score_text,two_year_recid"
)
COMPAS = (
    f"{COMPAS_HEADER}\n"
    "11,somebody,Male,40,25 - 45,Other,0,0,0,2,-1,F,0,3,Low,0\n"
    "15,another,Female,30,25 - 45,Other,0,1,0,0,,M,1,8,High,1\n"
)
ADULT_HEADER = (
    "age,workclass,fnlwgt,education,education-num,marital-status,occupation,relationship,race,sex,capital-gain,"
    "capital-loss,hours-per-week,native-country,income"
)
ADULT = (
    f"{ADULT_HEADER},split\n"
    "40,Private,1000,Bachelors,13,Divorced,Sales,Unmarried,White,Female,0,0,40,Canada,<=50K,train\n"
    "50, ?,2000,Masters,14,Divorced,?,Unmarried,White,Male,0,0,45,Canada, >50K,test\n"
)
STATLOG = "status,duration,personal_status_sex,class\nA11,10,A92,1\nA12,20,A93,2\n"
SOUTH = "status|duration|credit_risk|gender\n1|10|1|Female\n2|20|0|Male\n"

# What a loader is called, the name of its file, and a file in the published format.
LOADERS = {
    "loan": (datasets.load_loan, "loan_application.csv", LOAN),
    "law school": (datasets.load_law_school, "law_school.csv", LAW),
    "compas": (datasets.load_compas, "compas_two_years.csv", COMPAS),
    "compas, as published": (datasets.load_compas, "compas-scores-two-years.csv", COMPAS),
    "adult": (datasets.load_adult, "adult.csv", ADULT),
    "statlog": (datasets.load_german_credit, "german_credit_statlog.csv", STATLOG),
    "south": (lambda path=None: datasets.load_german_credit(path, version="south"), "german_credit.csv", SOUTH),
}


@pytest.fixture
def nowhere(monkeypatch, tmp_path):
    """No folder has data: neither the environment's nor the cache; OpenML cannot be reached."""

    def offline(*arguments, **options):
        raise OSError("no network")

    monkeypatch.delenv("CAUSALAUDIT_DATA", raising=False)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(datasets, "fetch_openml", offline)


# The generated data


@pytest.fixture(scope="module")
def loans():
    return datasets.make_loan(20_000, seed=7)


def test_make_loan_columns(loans):
    assert list(loans.columns) == [
        "gender",
        "salary",
        "balance",
        "approved",
        "salary_if_male",
        "balance_if_male",
        "approved_if_male",
    ]
    assert len(loans) == 20_000
    assert set(loans.gender) == {"male", "female"}
    assert loans.notna().all(axis=None)
    for suffix in ("", "_if_male"):
        approved = loans["salary" + suffix] + 5 * loans["balance" + suffix] > 225_000
        assert (loans["approved" + suffix] == approved).all()


def test_make_loan_default_size():
    assert len(datasets.make_loan()) == 5000


def test_make_loan_seed():
    pd.testing.assert_frame_equal(datasets.make_loan(50, seed=3), datasets.make_loan(50, seed=3))
    assert not datasets.make_loan(50, seed=3).equals(datasets.make_loan(50, seed=4))


def test_make_loan_leaves_the_global_generator_alone():
    before = np.random.get_state()[1].copy()  # noqa: NPY002
    datasets.make_loan(50, seed=3)
    np.testing.assert_array_equal(np.random.get_state()[1], before)  # noqa: NPY002


def test_make_loan_men_are_their_own_counterfactual(loans):
    men = loans[loans.gender == "male"]
    for name in ("salary", "balance", "approved"):
        np.testing.assert_array_equal(men[name], men[name + "_if_male"])


def test_make_loan_women_lose(loans):
    women = loans[loans.gender == "female"]
    assert (women.salary <= women.salary_if_male).all()
    assert (women.balance <= women.balance_if_male).all()
    assert (women.approved <= women.approved_if_male).all()
    lost = (women.salary_if_male - women.salary) / 1500
    assert lost.mean() == pytest.approx(10, abs=4 * np.sqrt(10 / len(women)))
    assert lost.var() == pytest.approx(10, rel=0.1)
    fees = 0.3 * (women.salary - women.salary_if_male) - (women.balance - women.balance_if_male)
    assert (fees / 300).mean() == pytest.approx(4, abs=4 * np.sqrt(8 / len(women)))


def test_make_loan_shares(loans):
    assert (loans.gender == "female").mean() == pytest.approx(0.35, abs=4 * np.sqrt(0.35 * 0.65 / len(loans)))
    # As a man, everybody has salary + 5 · balance = 25,000 · U1 + 12,500 · U2.
    counts = np.arange(100)
    chances = stats.norm.sf((225_000 - 25_000 * counts) / 12_500)
    share = stats.poisson.pmf(counts, 10) @ chances
    assert loans.approved_if_male.mean() == pytest.approx(share, abs=4 * np.sqrt(share * (1 - share) / len(loans)))
    assert loans[loans.gender == "female"].approved.mean() < share - 0.2


@pytest.mark.parametrize("n", [0, -5])
def test_make_loan_needs_somebody(n):
    with pytest.raises(DataError, match=f"n is {n}, but must be a whole number of at least 1"):
        datasets.make_loan(n)


@pytest.fixture(scope="module")
def students():
    return datasets.make_law_school(20_000, seed=7)


def test_make_law_school_columns(students):
    scores = ["LSAT", "UGPA", "LSAT_if_white", "UGPA_if_white"]
    assert list(students.columns) == ["Gender", "Race", "GenderRace", *scores]
    assert len(students) == 20_000
    assert set(students.Gender) == {"Male", "Female"}
    assert set(students.Race) == {"White", "NonWhite"}
    both = (students.Gender == "Female") & (students.Race == "NonWhite")
    assert (students.GenderRace == np.where(both, "Female-NonWhite", "Other")).all()
    assert students.notna().all(axis=None)
    assert (students.LSAT.between(10, 48) & (students.LSAT % 1 == 0)).all()
    assert students.UGPA.between(0, 4.2).all()
    assert len(datasets.make_law_school()) == 20_000


def test_make_law_school_seed():
    pd.testing.assert_frame_equal(datasets.make_law_school(50, seed=3), datasets.make_law_school(50, seed=3))
    assert not datasets.make_law_school(50, seed=3).equals(datasets.make_law_school(50, seed=4))


def test_make_law_school_counterfactuals(students):
    """White people are their own counterfactual; the others lose what the equations take from them."""
    white, nonwhite = (students[students.Race == race] for race in ("White", "NonWhite"))
    for score, loss, step in (("LSAT", 4.6, 1.0), ("UGPA", 0.22, 0.1)):
        np.testing.assert_array_equal(white[score], white[f"{score}_if_white"])
        lost = nonwhite[f"{score}_if_white"] - nonwhite[score]
        inside = nonwhite[f"{score}_if_white"] < (48 if score == "LSAT" else 4.2)  # not cut off at the end of the scale
        assert (lost[inside] - loss).abs().max() <= step + 1e-9
        # Two roundings add a variance of at most step² / 2 to the constant loss.
        assert lost[inside].mean() == pytest.approx(loss, abs=4 * step / np.sqrt(2 * inside.sum()) + 0.02 * loss)


def test_make_law_school_follows_its_equations(students):
    """Least squares find the coefficients, but for rounding and the few at the ends of the scales."""
    design = np.column_stack([np.ones(len(students)), students.Gender == "Female", students.Race == "NonWhite"])
    for score, truth, spread in (("LSAT", [37.8, -0.6, -4.6], 5.2), ("UGPA", [3.21, 0.13, -0.22], 0.4)):
        found, *_ = np.linalg.lstsq(design.astype(float), students[score].to_numpy(), rcond=None)
        errors = 4 * spread * np.sqrt(np.diag(np.linalg.inv(design.T.astype(float) @ design)))
        assert (np.abs(found - truth) < errors + 0.03 * spread).all()  # the ends take less than 3 % of a spread


@pytest.mark.parametrize("n", [0, -5])
def test_make_law_school_needs_somebody(n):
    with pytest.raises(DataError, match=f"n is {n}, but must be a whole number of at least 1"):
        datasets.make_law_school(n)


# Where files are looked for


@pytest.mark.usefixtures("nowhere")
@pytest.mark.parametrize("loader", LOADERS)
def test_explicit_file(tmp_path, loader):
    load, _, text = LOADERS[loader]
    file = tmp_path / "any name.csv"
    file.write_text(text)
    assert len(load(file)) == len(load(str(file))) == text.count("\n") - 1


@pytest.mark.usefixtures("nowhere")
@pytest.mark.parametrize("loader", LOADERS)
def test_explicit_folder(tmp_path, loader):
    load, name, text = LOADERS[loader]
    (tmp_path / name).write_text(text)
    assert len(load(tmp_path)) == text.count("\n") - 1


@pytest.mark.usefixtures("nowhere")
@pytest.mark.parametrize("loader", LOADERS)
def test_folder_of_the_environment(monkeypatch, tmp_path, loader):
    load, name, text = LOADERS[loader]
    (tmp_path / name).write_text(text)
    monkeypatch.setenv("CAUSALAUDIT_DATA", str(tmp_path))
    assert len(load()) == text.count("\n") - 1


@pytest.mark.usefixtures("nowhere")
@pytest.mark.parametrize("loader", LOADERS)
def test_cache_folder(tmp_path, loader):
    load, name, text = LOADERS[loader]
    folder = tmp_path / "cache" / "causalaudit"
    folder.mkdir(parents=True)
    (folder / name).write_text(text)
    assert len(load()) == text.count("\n") - 1


@pytest.mark.usefixtures("nowhere")
def test_cache_folder_in_the_home(monkeypatch, tmp_path):
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setenv("HOME", str(tmp_path))
    folder = tmp_path / ".cache" / "causalaudit"
    folder.mkdir(parents=True)
    (folder / "loan_application.csv").write_text(LOAN)
    assert len(datasets.load_loan()) == 2


@pytest.mark.usefixtures("nowhere")
def test_folders_are_searched_in_order(monkeypatch, tmp_path):
    header, row = LAW.splitlines()[:2]
    folders = [tmp_path / "given", tmp_path / "environment", tmp_path / "cache" / "causalaudit"]
    for count, folder in enumerate(folders, start=1):
        folder.mkdir(parents=True)
        (folder / "law_school.csv").write_text("\n".join([header, *[row] * count]))
    monkeypatch.setenv("CAUSALAUDIT_DATA", str(folders[1]))
    assert len(datasets.load_law_school(folders[0])) == 1
    assert len(datasets.load_law_school()) == 2
    (folders[1] / "law_school.csv").unlink()
    assert len(datasets.load_law_school()) == 3


@pytest.mark.usefixtures("nowhere")
@pytest.mark.parametrize("loader", LOADERS)
def test_missing_file(tmp_path, loader):
    load, name, _ = LOADERS[loader]
    with pytest.raises(DataError) as refused:
        load()
    message = str(refused.value)
    for part in (name.removesuffix(".csv"), "Get it from", "pass its path", "CAUSALAUDIT_DATA"):
        assert part in message
    assert repr(str(tmp_path / "cache" / "causalaudit")) in message


@pytest.mark.usefixtures("nowhere")
@pytest.mark.parametrize("loader", LOADERS)
def test_path_that_does_not_exist(tmp_path, loader):
    with pytest.raises(DataError, match=r"path is '.*typo\.csv', but there is no such file or folder"):
        LOADERS[loader][0](tmp_path / "typo.csv")


@pytest.mark.usefixtures("nowhere")
@pytest.mark.parametrize("loader", ["loan", "law school", "compas"])
def test_file_of_something_else(tmp_path, loader):
    file = tmp_path / "else.csv"
    file.write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match=r"else\.csv"):
        LOADERS[loader][0](file)


# What comes out


@pytest.mark.usefixtures("nowhere")
def test_loan(tmp_path):
    (tmp_path / "loan_application.csv").write_text(LOAN)
    expected = {
        "gender": ["female", "male"],
        "salary": [40000.0, 120000.0],
        "balance": [9000.5, 40000.25],
        "approved": [0, 1],
    }
    pd.testing.assert_frame_equal(datasets.load_loan(tmp_path), pd.DataFrame(expected))


@pytest.mark.usefixtures("nowhere")
def test_law_school(tmp_path):
    (tmp_path / "law_school.csv").write_text(LAW)
    loaded = datasets.load_law_school(tmp_path)
    expected = {
        "Gender": ["Female", "Female", "Male"],
        "Race": ["White", "NonWhite", "NonWhite"],
        "GenderRace": ["Other", "Female-NonWhite", "Other"],
        "race_detailed": ["White", "Black", "Asian"],
        "LSAT": [30.0, 31.5, 32.0],
        "UGPA": [3.0, 3.5, 2.5],
        "ZFYA": [-0.5, 0.5, 0.0],
    }
    pd.testing.assert_frame_equal(loaded, pd.DataFrame(expected), check_dtype=False)


@pytest.mark.usefixtures("nowhere")
def test_compas(tmp_path):
    (tmp_path / "compas_two_years.csv").write_text(COMPAS)
    loaded = datasets.load_compas(tmp_path)
    assert list(loaded.columns) == COMPAS_HEADER.split(",")[2:]
    assert (loaded.index.name, list(loaded.index)) == ("id", [11, 15])
    assert loaded.days_b_screening_arrest.isna().tolist() == [False, True]


@pytest.mark.usefixtures("nowhere")
@pytest.mark.parametrize("name", ["adult.csv", "adult.csv.gz"])
def test_adult_from_a_file(tmp_path, name):
    (tmp_path / name).write_bytes(gzip.compress(ADULT.encode()) if name.endswith("gz") else ADULT.encode())
    loaded = datasets.load_adult(tmp_path)
    assert list(loaded.columns) == [*ADULT_HEADER.split(","), "split"]
    assert loaded.workclass.isna().tolist() == [False, True]
    assert loaded.occupation.isna().tolist() == [False, True]
    assert loaded.income.tolist() == ["<=50K", ">50K"]


def test_adult_from_openml(nowhere, monkeypatch, tmp_path):
    asked = {}

    def fetch(name, **options):
        asked.update(options, name=name)
        columns = {column: pd.Categorical(["a", None]) for column in ADULT_HEADER.split(",")[:-1]}
        return SimpleNamespace(
            frame=pd.DataFrame({**columns, "age": [40, 50], "class": pd.Categorical(["<=50K", ">50K"])})
        )

    monkeypatch.setattr(datasets, "fetch_openml", fetch)
    loaded = datasets.load_adult()
    assert (asked["name"], asked["version"]) == ("adult", 2)
    assert asked["data_home"] == str(tmp_path / "cache" / "causalaudit")
    assert list(loaded.columns) == ADULT_HEADER.split(",")
    assert loaded.income.tolist() == ["<=50K", ">50K"]
    assert loaded.age.tolist() == [40, 50]
    assert loaded.workclass.isna().tolist() == [False, True]
    assert not any(isinstance(dtype, pd.CategoricalDtype) for dtype in loaded.dtypes)


@pytest.mark.usefixtures("nowhere")
def test_adult_without_network():
    with pytest.raises(DataError, match=r"'adult\.csv\.gz' was not found.*UCI.*CAUSALAUDIT_DATA") as refused:
        datasets.load_adult()
    assert isinstance(refused.value.__cause__, OSError)


@pytest.mark.usefixtures("nowhere")
def test_german_credit_versions(tmp_path):
    (tmp_path / "german_credit_statlog.csv").write_text(STATLOG)
    (tmp_path / "german_credit.csv").write_text(SOUTH)
    statlog = datasets.load_german_credit(tmp_path)
    assert statlog.personal_status_sex.tolist() == ["A92", "A93"]
    pd.testing.assert_frame_equal(statlog, datasets.load_german_credit(tmp_path, version="statlog"))
    south = datasets.load_german_credit(tmp_path, version="south")
    assert (south.gender.tolist(), south.credit_risk.tolist()) == (["Female", "Male"], [1, 0])
    with pytest.raises(DataError, match="version is 'north', but must be 'statlog' or 'south'"):
        datasets.load_german_credit(tmp_path, version="north")


# The real files


@pytest.mark.parametrize(
    ("load", "rows", "columns"),
    [
        (datasets.load_loan, 4993, 4),
        (datasets.load_law_school, 21_790, 7),
        (datasets.load_compas, 7214, 14),
        (datasets.load_adult, 48_842, 16),
        (datasets.load_german_credit, 1000, 21),
        (LOADERS["south"][0], 1000, 21),
    ],
    ids=["loan", "law school", "compas", "adult", "statlog", "south"],
)
def test_real_file(data_folder, load, rows, columns):
    assert load(data_folder).shape == (rows, columns)


def test_real_values(data_folder):
    loan = datasets.load_loan(data_folder)
    assert (set(loan.gender), set(loan.approved)) == ({"male", "female"}, {0, 1})
    assert (loan.gender == "female").mean() == pytest.approx(0.35, abs=0.02)
    assert (loan.approved == (loan.salary + 5 * loan.balance > 225_000)).all()
    school = datasets.load_law_school(data_folder)
    assert school.race_detailed.nunique() == 8
    assert school.LSAT.between(10, 48).all()
    assert school.UGPA.between(0, 4.2).all()
    assert (school.LSAT % 1 != 0).mean() == pytest.approx(0.1, abs=0.03)
    assert datasets.load_compas(data_folder).days_b_screening_arrest.isna().sum() == 307
    adult = datasets.load_adult(data_folder)
    assert set(adult.income) == {"<=50K", ">50K"}
    assert set(adult.split) == {"train", "test"}
    assert adult.isna().any(axis=None)
    assert set(datasets.load_german_credit(data_folder)["class"]) == {1, 2}
    assert set(datasets.load_german_credit(data_folder, version="south").credit_risk) == {0, 1}
