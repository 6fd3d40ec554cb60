"""Posteriors on disk: what comes back, and what is refused."""

import stat

import numpy as np
import pandas as pd
import pyro
import pyro.distributions as dist
import pytest
import torch

import causalaudit as ca
from causalaudit.errors import DataError, SavedFileError

LEVELS = {"gender": ["male", "female"]}


def wages_with(prior=5.0, base=20.0, family=dist.Normal, last="wage"):
    def wages(n):
        gap = pyro.sample("gap", dist.Normal(0.0, prior))
        with pyro.plate("individuals", n):
            gender = pyro.sample("gender", dist.Bernoulli(0.45))
            hours = pyro.sample("hours", dist.Poisson(torch.exp(1.0 + 0.5 * gender)))
            pyro.sample(last, family(base + gap * gender + hours, 4.0))

    return wages


def table():
    return pd.DataFrame(
        {
            "gender": ["male", "female"] * 4,
            "hours": [2, 3, 1, 0, 4, 6, 2, 5],
            "wage": [21.5, 25.0, 19.0, 24.5, 26.0, 30.0, 17.25, 22.0],
        }
    )


def rich_table():
    """The modelled columns beside one of every type, missing values and a named index of text."""
    data = table().assign(
        gender=pd.Categorical(table().gender, categories=["female", "male"]),
        integer=np.arange(8) - 3,
        small=np.arange(8, dtype=np.int8),
        large=np.arange(8, dtype=np.uint64) + np.uint64(2**63),
        number=np.linspace(-1, 1, 8) / 3,
        single=np.float32(0.1),
        gaps=[np.nan, np.inf, -np.inf, 0.0, 1.0, 2.0, 3.0, 4.0],
        text=["a", "", "é", "日本", "nan", "None", "x", "a"],
        missing=["a", None] * 4,
        colour=pd.Categorical(["red", "blue"] * 4, categories=["green", "blue", "red"]),
        size=pd.Categorical(["S", "L", None, "M"] * 2, categories=["S", "M", "L"], ordered=True),
        score=pd.Categorical([3, 1] * 4),
        nullable=pd.array([1, None] * 4, dtype="Int64"),
        index=1.0,
        draw=2.0,
    )
    return data.set_index(pd.Index([f"person {number}" for number in range(8)], name="who"))


@pytest.fixture(scope="module")
def scm():
    return ca.SCM(wages_with(), levels=LEVELS)


@pytest.fixture(scope="module")
def posterior(scm):
    return ca.fit(scm, rich_table(), draws=30, chains=2, seed=5, progress=False)


@pytest.fixture(scope="module")
def file(posterior, tmp_path_factory):
    path = tmp_path_factory.mktemp("saved") / "posterior.nc"
    posterior.save(path)
    return path


@pytest.fixture(scope="module")
def loaded(scm, file):
    return ca.Posterior.load(file, scm)


def reload(posterior, folder):
    posterior.save(folder / "posterior.nc")
    return ca.Posterior.load(str(folder / "posterior.nc"), posterior.scm)


def point(scm, data):
    return ca.fit(scm, data, method="map", draws=2, chains=1, progress=False)


# Round trips


def test_draws_come_back(posterior, loaded):
    for name, values in posterior.parameters().items():
        np.testing.assert_array_equal(loaded.parameters()[name], values, strict=True)
    for group in ("posterior", "log_prior", "sample_stats", "observed_data"):
        assert loaded.idata[group].equals(posterior.idata[group])
    assert repr(loaded) == repr(posterior)


def test_settings_and_verdict_come_back(posterior, loaded):
    assert loaded.settings == posterior.settings == {"method": "laplace", "draws": 30, "chains": 2, "seed": 5}
    assert loaded.diagnostics() == posterior.diagnostics()
    assert loaded.log_evidence == posterior.log_evidence
    pd.testing.assert_frame_equal(loaded.summary(), posterior.summary())


def test_data_come_back(posterior, loaded):
    pd.testing.assert_frame_equal(loaded.data, posterior.data, check_exact=True)
    assert loaded.data["size"].cat.ordered
    assert list(loaded.data["colour"].cat.categories) == ["green", "blue", "red"]
    assert loaded.data.index.name == "who"


@pytest.mark.parametrize("coupling", [None, "independent"])
def test_counterfactuals_are_the_same_to_the_bit(posterior, loaded, coupling):
    before, after = (
        ca.counterfactuals(one, {"gender": "male"}, draws=20, coupling=coupling, seed=3, progress=False)
        for one in (posterior, loaded)
    )
    for name in before.dataset.data_vars:
        np.testing.assert_array_equal(after.dataset[name], before.dataset[name], strict=True)
    pd.testing.assert_frame_equal(after.point, before.point, check_exact=True)


def test_likelihoods_are_the_same(posterior, loaded):
    np.testing.assert_array_equal(loaded.log_likelihood(progress=False), posterior.log_likelihood(progress=False))


def test_saving_again_keeps_the_content(scm, loaded, tmp_path):
    again = reload(loaded, tmp_path)
    pd.testing.assert_frame_equal(again.data, loaded.data, check_exact=True)
    np.testing.assert_array_equal(again.parameters()["gap"], loaded.parameters()["gap"])


def test_saving_replaces_an_older_file(scm, posterior, tmp_path):
    (tmp_path / "posterior.nc").write_text("old")
    assert reload(posterior, tmp_path).settings == posterior.settings
    assert [path.name for path in tmp_path.iterdir()] == ["posterior.nc"]


@pytest.mark.parametrize("flags", [[True, False] * 4, pd.array([True, None] * 4, dtype="boolean")])
def test_flags_come_back(scm, tmp_path, flags):
    posterior = point(scm, table().assign(flag=flags))
    pd.testing.assert_frame_equal(reload(posterior, tmp_path).data, posterior.data)


@pytest.mark.parametrize("values", [["a", "b"] * 4, ["a", None] * 4, ["a", 1] * 4])
def test_objects_come_back(scm, tmp_path, values):
    posterior = point(scm, table().assign(thing=pd.Series(values, dtype=object)))
    pd.testing.assert_frame_equal(reload(posterior, tmp_path).data, posterior.data)


@pytest.mark.parametrize(
    "index",
    [
        pd.Index([10, 5, 3, 8, 1, 2, 7, 6]),
        pd.Index(np.arange(8) / 4, name="half"),
        pd.CategoricalIndex(list("abcdefgh")),
        pd.Index(list("abcdefgh"), dtype=object),
    ],
    ids=["integers", "floats", "categories", "objects"],
)
def test_index_comes_back(scm, tmp_path, index):
    posterior = point(scm, table().set_index(index))
    pd.testing.assert_frame_equal(reload(posterior, tmp_path).data, posterior.data, check_index_type="exact")


@pytest.mark.parametrize("method", ["map", "ml"])
def test_point_comes_back(scm, tmp_path, method):
    posterior = ca.fit(scm, table(), method=method, draws=2, chains=2, progress=False)
    loaded = reload(posterior, tmp_path)
    assert loaded.settings["method"] == method
    np.testing.assert_array_equal(loaded.parameters()["gap"], posterior.parameters()["gap"])


def test_vectors_latents_and_derived_parameters_come_back(tmp_path):
    def program(n):
        slopes = pyro.sample("slopes", dist.Normal(0.0, 1.0).expand([2]).to_event(1))
        steep = pyro.deterministic("steep", slopes.exp())
        with pyro.plate("individuals", n):
            hidden = pyro.sample("hidden", dist.Bernoulli(0.3))
            job = pyro.sample("job", dist.OneHotCategorical(torch.ones(2)))
            pyro.sample("x", dist.Normal((job * steep).sum(-1) + hidden, 1.0))

    data = pd.DataFrame({"job": ["a", "b"] * 3, "x": [0.3, 1.0, -0.4, 2.0, 1.5, 0.7]})
    posterior = point(ca.SCM(program, levels={"job": ["a", "b"]}, latents=["hidden"]), data)
    loaded = reload(posterior, tmp_path)
    assert loaded.parameters()["slopes"].shape == (2, 2)
    assert loaded.idata["posterior"].equals(posterior.idata["posterior"])
    pd.testing.assert_frame_equal(loaded.data, data)


def fixed(base):
    def program(n):
        with pyro.plate("individuals", n):
            x = pyro.sample("x", dist.Bernoulli(0.5))
            pyro.sample("y", dist.Normal(base + x, 1.0))

    return ca.SCM(program)


def test_program_without_parameters(tmp_path):
    scm = fixed(0.0)
    posterior = ca.fit(scm, pd.DataFrame({"x": [0, 1], "y": [0.5, 0.1]}), draws=3, chains=2, progress=False)
    loaded = reload(posterior, tmp_path)
    assert (loaded.parameters(), loaded.settings) == ({}, posterior.settings)
    before, after = (ca.counterfactuals(one, {"x": 1}, progress=False).dataset for one in (posterior, loaded))
    assert after.identical(before)
    with pytest.raises(SavedFileError, match="posterior of another program"):
        ca.Posterior.load(tmp_path / "posterior.nc", fixed(1.0))


def test_numpy_seed(scm, tmp_path):
    posterior = ca.fit(scm, table(), method="map", draws=2, chains=1, seed=np.int64(3), progress=False)
    assert reload(posterior, tmp_path).settings["seed"] == 3


# Posteriors of other programs


def without_hours(n):
    gap = pyro.sample("gap", dist.Normal(0.0, 5.0))
    with pyro.plate("individuals", n):
        gender = pyro.sample("gender", dist.Bernoulli(0.45))
        pyro.sample("wage", dist.Normal(20.0 + gap * gender, 4.0))


def without_an_edge(n):
    gap = pyro.sample("gap", dist.Normal(0.0, 5.0))
    with pyro.plate("individuals", n):
        gender = pyro.sample("gender", dist.Bernoulli(0.45))
        hours = pyro.sample("hours", dist.Poisson(torch.exp(torch.tensor(1.0))))
        pyro.sample("wage", dist.Normal(20.0 + gap * gender + hours, 4.0))


def more_parameters(n):
    pyro.sample("extra", dist.Normal(0.0, 5.0))
    wages_with()(n)


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (without_hours, "its variables are"),
        (wages_with(last="income"), "its variables are"),
        (more_parameters, r"its parameters are \['gap'\], those of the given one \['extra', 'gap'\]"),
        (wages_with(family=dist.Laplace), "its variables are .*'wage': 'Normal'.*'wage': 'Laplace'"),
        (without_an_edge, "its edges are"),
        (wages_with(prior=5.5), "same sites, but gives the stored draws another density.*equations or priors differ"),
        (wages_with(base=20.001), "same sites, but gives the stored draws another density.*equations or priors differ"),
    ],
    ids=["sites", "name of a site", "parameters", "family", "edges", "prior", "equation"],
)
def test_other_program(file, program, message):
    with pytest.raises(SavedFileError, match=f"'posterior.nc' is the posterior of another program: .*{message}"):
        ca.Posterior.load(file, ca.SCM(program, levels=LEVELS))


def test_other_levels(file):
    message = r"another program: its levels are .*\['male', 'female'\].*\['female', 'male'\]"
    with pytest.raises(SavedFileError, match=message):
        ca.Posterior.load(file, ca.SCM(wages_with(), levels={"gender": ["female", "male"]}))
    with pytest.raises(SavedFileError, match="another program: its levels are"):
        ca.Posterior.load(file, ca.SCM(wages_with()))


def test_other_latents(file):
    with pytest.raises(SavedFileError, match=r"another program: its (latents|levels) are"):
        ca.Posterior.load(file, ca.SCM(wages_with(), latents=["gender"]))


def test_the_same_program_written_again(file):
    ca.Posterior.load(file, ca.SCM(wages_with(), levels=LEVELS, name="another name"))


# Damaged files

# h5netcdf complains to itself when it closes a file that it could not open.
noisy = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")


def test_missing_file(scm, tmp_path):
    with pytest.raises(SavedFileError, match=r"There is no file 'nothing\.nc' in "):
        ca.Posterior.load(tmp_path / "nothing.nc", scm)


def test_folder_is_not_a_file(scm, tmp_path):
    with pytest.raises(SavedFileError, match="There is no file"):
        ca.Posterior.load(tmp_path, scm)


@noisy
@pytest.mark.parametrize("share", [0.0, 0.01, 0.3, 0.7, 0.99])
def test_truncated_file(scm, file, tmp_path, share):
    content = file.read_bytes()
    (tmp_path / "cut.nc").write_bytes(content[: int(len(content) * share)])
    with pytest.raises(SavedFileError, match=r"'cut\.nc' is damaged"):
        ca.Posterior.load(tmp_path / "cut.nc", scm)


@noisy
@pytest.mark.parametrize("start", [b"", b"\x89HDF\r\n\x1a\n", b"CDF\x01"])
def test_random_bytes(scm, tmp_path, start):
    (tmp_path / "noise.nc").write_bytes(start + np.random.default_rng(0).bytes(5000))
    with pytest.raises(SavedFileError, match=r"'noise\.nc' is damaged"):
        ca.Posterior.load(tmp_path / "noise.nc", scm)


def test_netcdf_of_something_else(scm, posterior, tmp_path):
    posterior.idata["posterior"].to_netcdf(tmp_path / "other.nc", engine="h5netcdf")
    with pytest.raises(SavedFileError, match=r"'other\.nc' is damaged, or was not saved by causalaudit"):
        ca.Posterior.load(tmp_path / "other.nc", scm)


def altered(file, folder, old, new):
    """Copy a file with one text in it replaced by another of the same length."""
    content = file.read_bytes()
    assert old in content
    (folder / "altered.nc").write_bytes(content.replace(old, new, 1))
    return folder / "altered.nc"


@noisy
@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"seed": 5', b'"seed": 6'),
        (b'"draws": 30', b'"draws": 20'),
        (b'"red"]', b'"rad"]'),
        (b'"who"', b'"why"'),
        (b'"nullable"', b'"nillable"'),
    ],
)
def test_altered_text(scm, file, tmp_path, old, new):
    with pytest.raises(SavedFileError, match=r"'altered\.nc' is damaged"):
        ca.Posterior.load(altered(file, tmp_path, old, new), scm)


def test_altered_verdict(scm, posterior, file, tmp_path):
    old = str(posterior.idata["sample_stats"].attrs["pareto_k"]).encode()
    with pytest.raises(SavedFileError, match=r"'altered\.nc' is damaged"):
        ca.Posterior.load(altered(file, tmp_path, old, b"9" * len(old)), scm)


def test_altered_draw(scm, posterior, file, tmp_path):
    old = posterior.idata["posterior"]["gap"].to_numpy()[0, 7].tobytes()
    with pytest.raises(SavedFileError, match=r"'altered\.nc' is damaged.*digest"):
        ca.Posterior.load(altered(file, tmp_path, old, np.float64(1.0).tobytes()), scm)


@noisy
@pytest.mark.parametrize("seed", range(8))
def test_flipped_bits(scm, posterior, file, tmp_path, seed):
    """A flipped bit is an error, or it is where nothing is stored and changes nothing."""
    content = file.read_bytes()
    rng = np.random.default_rng(seed)
    for place, bit in zip(rng.integers(len(content), size=4), rng.integers(8, size=4), strict=True):
        damaged = bytearray(content)
        damaged[place] ^= 1 << int(bit)
        (tmp_path / "flipped.nc").write_bytes(damaged)
        try:
            loaded = ca.Posterior.load(tmp_path / "flipped.nc", scm)
        except SavedFileError:
            continue
        pd.testing.assert_frame_equal(loaded.data, posterior.data, check_exact=True)
        assert loaded.settings == posterior.settings
        for group in ("posterior", "sample_stats"):
            assert loaded.idata[group].equals(posterior.idata[group])


# Saving that fails


@pytest.mark.parametrize(
    "data",
    [
        table().assign(odd=pd.date_range("2020-01-01", periods=8)),
        table().assign(odd=pd.Categorical(pd.date_range("2020-01-01", periods=8))),
        table().assign(odd=pd.Series([(1, 2)] * 8)),
        table().assign(odd=pd.Series([[1, 2]] * 8)),
        table().assign(odd=1).rename(columns={"odd": 7}),
        table().set_index(pd.date_range("2020-01-01", periods=8)),
        table().set_index(pd.MultiIndex.from_product([[1, 2], list("abcd")])),
        table().rename_axis(3),
        table().set_index(pd.Index(["a", 1, 2, 3, 4, 5, 6, 7])),
        pd.concat([table(), table()[[]].assign(a=1), table()[[]].assign(a=2)], axis=1),
    ],
    ids=["dates", "categories of dates", "tuples", "lists", "column named by a number", "index of dates", "levels",
         "index named by a number", "mixed index", "a column twice"],
)  # fmt: skip
def test_unusual_tables_come_back(scm, tmp_path, data):
    posterior = point(scm, data)
    pd.testing.assert_frame_equal(reload(posterior, tmp_path).data, posterior.data, check_freq=False)


def test_column_that_cannot_be_saved(scm, tmp_path):
    posterior = point(scm, table().assign(odd=np.full(8, 1j)))
    with pytest.raises(DataError, match=r"\['odd'\] is an array of complex128, which cannot be saved"):
        posterior.save(tmp_path / "posterior.nc")
    assert not list(tmp_path.iterdir())


def test_nothing_half_written_is_left(posterior, monkeypatch, tmp_path):
    (tmp_path / "posterior.nc").write_text("old")

    def full(*arguments, **options):
        raise OSError("No space left on device")

    monkeypatch.setattr("xarray.Dataset.to_netcdf", full)
    with pytest.raises(OSError, match="No space left"):
        posterior.save(tmp_path / "posterior.nc")
    assert [path.name for path in tmp_path.iterdir()] == ["posterior.nc"]
    assert (tmp_path / "posterior.nc").read_text() == "old"


def test_saving_onto_a_folder_leaves_nothing(posterior, tmp_path):
    (tmp_path / "posterior.nc").mkdir()
    with pytest.raises(SavedFileError, match="is a folder"):
        posterior.save(tmp_path / "posterior.nc")
    assert [path.name for path in tmp_path.iterdir()] == ["posterior.nc"]


def test_a_saved_file_is_its_owners_alone_and_keeps_the_mode_that_it_was_given(posterior, tmp_path):
    path = tmp_path / "posterior.nc"
    posterior.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    path.chmod(0o640)
    posterior.save(path)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
