"""Counterfactual draws in a folder on disk are those in memory, bit for bit, to auditors too."""

import sys

import numpy as np
import pytest
import xarray as xr

import causalaudit as ca
from causalaudit.errors import CausalAuditError, InterventionError, SavedFileError
from causalaudit.storage import folders
from causalaudit.storage.values import same


def bank(people):
    return people.salary + 5 * people.balance > 225_000


@pytest.fixture(scope="module")
def applicants():
    return ca.datasets.make_loan(300, seed=0)


@pytest.fixture(scope="module")
def posterior(applicants):
    return ca.fit(ca.models.loan.linear(), applicants, method="laplace", draws=10, chains=4, seed=0)


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of seven draws and chunks of fifty people, so that both are several, and the last one is not full."""
    monkeypatch.setattr(folders, "_BLOCK", 7 * 300)
    monkeypatch.setattr(folders, "_PEOPLE", 50)


@pytest.fixture(params=["dask", "no dask"])
def both(request, applicants, posterior, small_blocks, monkeypatch, tmp_path):
    """The same draws in memory and on disk, read by dask or without."""
    if request.param == "no dask":
        monkeypatch.setitem(sys.modules, "dask", None)
    asked = {"do": {"gender": "male"}, "draws": 33, "seed": 3}
    return ca.counterfactuals(posterior, **asked), ca.counterfactuals(posterior, **asked, path=tmp_path / "worlds.zarr")


def test_draws_on_disk_are_those_in_memory(both, tmp_path):
    memory, disk = both
    loaded = ca.load(tmp_path / "worlds.zarr")
    assert loaded.path == tmp_path / "worlds.zarr"
    assert "on disk in 'worlds.zarr'" in repr(loaded)
    for draws in (disk, loaded):
        assert not any(array.variable._in_memory for array in draws.dataset.data_vars.values())
        assert same(draws.dataset.load(), memory.dataset)
        for name in ("factual", "point", "do", "settings"):
            assert same(getattr(draws, name), getattr(memory, name)), name
    assert same(list(disk.frames()), list(memory.frames()))
    assert same(disk.noise["salary"].to_dataset(), memory.noise["salary"].to_dataset())


def test_the_folder_is_an_ordinary_zarr_store(both, tmp_path):
    memory, _ = both
    found = xr.open_zarr(str(tmp_path / "worlds.zarr"), chunks=None)
    np.testing.assert_array_equal(found["salary"], memory.dataset["salary"])
    assert found["salary"].dims == ("draw", "individual")


def test_no_more_than_a_block_is_in_memory(both):
    memory, disk = both
    parts = [part.dataset.sizes["draw"] for part in disk.in_memory(["salary"])]
    assert parts == [7, 7, 7, 7, 5]
    assert list(memory.in_memory()) == [memory]
    assert set(next(disk.in_memory(["salary"])).dataset.data_vars) == {"salary"}


def test_situation_testing_finds_the_same(both, applicants):
    memory, disk = both
    found = [
        ca.situation_testing(
            applicants, bank, protected={"gender": "female"}, features=["salary", "balance"], counterfactuals=draws,
            k=5, centres=centres,
        ).table
        for centres in (False, True) for draws in (memory, disk)
    ]  # fmt: skip
    assert "prob_beyond_tau" in found[0]
    assert same(found[0], found[1])
    assert same(found[2], found[3])


def test_a_bias_scan_finds_the_same(both, applicants):
    memory, disk = both
    data = applicants.assign(
        rich=(applicants.salary > 60_000).astype(int), granted=bank(applicants).astype(int), part=applicants.index % 3
    )
    found = []
    for draws in (memory, disk):
        held = draws.dataset.assign(granted=(draws.dataset["salary"] > 50_000).astype(np.int8))
        worlds = ca.CounterfactualDraws(held, draws.factual, draws.do, draws.point, draws.settings, path=draws.path)
        scanned = ca.scan_bias(
            data, {"gender": "female"}, "rich", recommendation="granted", features=["part"], counterfactuals=worlds,
            criterion="separation", draws=5, iterations=2, seed=0,
        )  # fmt: skip
        found.append((scanned.score, scanned.subgroup, scanned.table))
    assert same(found[0], found[1])


def test_an_interrupted_run_leaves_nothing(posterior, small_blocks, tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(folders, "_array", interrupted)
    with pytest.raises(KeyboardInterrupt):
        ca.counterfactuals(posterior, {"gender": "male"}, draws=5, path=tmp_path / "worlds.zarr")
    assert not list(tmp_path.iterdir())


def test_what_is_there_is_not_overwritten_and_what_is_damaged_is_not_read(posterior, small_blocks, tmp_path):
    path = tmp_path / "worlds.zarr"
    worlds = ca.counterfactuals(posterior, {"gender": "male"}, draws=9, path=path)
    with pytest.raises(SavedFileError, match=r"already.*remove it, or give another name"):
        ca.counterfactuals(posterior, {"gender": "male"}, draws=9, path=path)
    with pytest.raises(SavedFileError, match="no folder"):
        ca.counterfactuals(posterior, {"gender": "male"}, draws=9, path=tmp_path / "none" / "worlds.zarr")
    with pytest.raises(SavedFileError, match="saved already"):
        worlds.save(tmp_path / "worlds.nc")
    with pytest.raises(SavedFileError, match="did not write"):
        ca.load(tmp_path)
    (path / "salary" / "1.2").unlink()
    with pytest.raises(SavedFileError, match=r"damaged: 1 of the 12 chunks of 'salary' are missing"):
        ca.load(path)


def test_without_zarr_the_error_says_what_to_install(posterior, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "zarr", None)
    assert ca.counterfactuals(posterior, {"gender": "male"}, draws=2).path is None
    with pytest.raises(CausalAuditError, match=r"pip install 'causalaudit\[large\]'"):
        ca.counterfactuals(posterior, {"gender": "male"}, draws=2, path=tmp_path / "worlds.zarr")


def test_people_with_missing_values_are_refused(applicants, tmp_path):
    table = applicants.assign(salary=applicants["salary"].mask(applicants.index % 10 == 0))
    posterior = ca.fit(ca.models.loan.linear(), table, method="laplace", draws=5, seed=0)
    with pytest.raises(InterventionError, match=r"'salary' are missing.*Leave path out"):
        ca.counterfactuals(posterior, {"gender": "male"}, draws=2, path=tmp_path / "worlds.zarr")
    assert not list(tmp_path.iterdir())
