"""Values on disk: what is written comes back, in every bit and type."""

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import xarray as xr

from causalaudit.errors import DataError, SavedFileError
from causalaudit.storage import Unsaved, pack, read_artefact, same, unpack, write_artefact

FRAME = pd.DataFrame(
    {
        "whole": np.array([3, -1], dtype=np.int8),
        "number": [0.1, np.nan],
        "flag": [True, False],
        "text": ["ä", "b"],
        "mixed": pd.Series([1, "one"], dtype=object),
        "group": [{"sex": ["f"]}, {}],
        "level": pd.Categorical(["lo", "hi"], categories=["lo", "mid", "hi"], ordered=True),
        "nullable": pd.array([1, None], dtype="Int64"),
        "bin": pd.cut([1.0, 2.0], [0, 1, 3]),
        "when": pd.to_datetime(["2020-01-01", "2021-05-06"]),
    },
    index=pd.Index(["p", "q"], name="person"),
)
VALUES = {
    "scalars": [None, True, 3, 0.1, float("inf"), -0.0, "x", np.float64(0.3), np.int32(4)],
    "tuple": (1, (2, "b"), frozenset({"a"})),
    "dict": {1: "a", "b": {2.5: None}, ("x", 1): True},
    "arrays": [np.arange(6.0).reshape(2, 3), np.array([], dtype=np.int64), np.array([True, False]), np.ones(())],
    "bits": np.array([2**63], dtype=np.uint64),
    "text": np.array(["a", "bc"]),
    "objects": np.array([{"a": 1}, None], dtype=object),
    "frame": FRAME,
    "empty": FRAME.iloc[:0],
    "several": pd.DataFrame({"k": [1, 2], "who": ["a", "b"], "x": [1.0, 2.0]}).set_index(["k", "who"]),
    "series": pd.Series([1.5, 2.5], index=[4, 7], name="delta"),
    "range": pd.DataFrame({"x": [1]}),
    "dataset": xr.Dataset({"a": (("draw",), [1, 2], {"levels": ["m", "f"]})}, {"draw": [0, 1]}, {"seed": 0}),
    "interval": pd.Interval(-np.inf, 2.0, closed="right"),
    "slice": slice(1, 5),
}  # fmt: skip


@pytest.mark.parametrize("name", VALUES)
def test_what_is_packed_comes_back(name, tmp_path):
    value = VALUES[name]
    skeleton, arrays = pack(value)
    write_artefact(tmp_path / "x.nc", "value", {"value": skeleton}, {"arrays": arrays})
    found = read_artefact(tmp_path / "x.nc")
    back = unpack(found.header["value"], found.groups["arrays"])
    assert same(value, back)
    if isinstance(value, pd.DataFrame):
        pd.testing.assert_frame_equal(value, back, check_exact=True)
    if isinstance(value, pd.Series):
        pd.testing.assert_series_equal(value, back, check_exact=True)
    if isinstance(value, xr.Dataset):
        xr.testing.assert_identical(value, back)


def test_diagrams_come_back():
    graph = nx.DiGraph([("a", "b")])
    graph.add_node("u", latent=True)
    back = unpack(*pack(graph))
    assert nx.utils.graphs_equal(graph, back)


def test_differences_are_seen():
    assert not same(np.array([1.0]), np.array([1]))
    assert not same(np.array([0.0]), np.array([-0.0]))
    assert not same({"a": 1}, {"a": True})
    assert not same(FRAME, FRAME.rename(columns={"text": "words"}))
    assert not same([np.zeros(2)], [np.zeros((2, 1))])


def test_code_is_never_saved():
    back = unpack(*pack({"rule": lambda people: people}))["rule"]
    assert isinstance(back, Unsaved)
    with pytest.raises(DataError, match=r"code, which is never saved: run the audit again"):
        back(3)
    with pytest.raises(DataError, match="never saved"):
        back.predict(3)


def test_what_cannot_be_saved_is_named():
    with pytest.raises(DataError, match=r"the value\['a'\]\[1\] is of the type complex, which cannot be saved"):
        pack({"a": [1, 2j]})


def test_only_known_classes_are_made():
    with pytest.raises(SavedFileError, match=r"'os\.system', which this version does not know"):
        unpack({"~": "object", "class": "os.system", "fields": {}}, xr.Dataset())


def test_files_that_are_damaged_or_foreign_are_refused(tmp_path):
    path = tmp_path / "x.nc"
    write_artefact(path, "value", {}, {})
    whole = path.read_bytes()
    for content in (whole[:-1], whole[:100], b"", whole[:50] + b"?" + whole[51:], whole + b"x"):
        path.write_bytes(content)
        with pytest.raises(SavedFileError, match=r"'x\.nc' is damaged, or was not saved by causalaudit"):
            read_artefact(path)
    with pytest.raises(SavedFileError, match=r"There is no file 'y\.nc'"):
        read_artefact(tmp_path / "y.nc")


def test_nothing_is_half_written(tmp_path):
    path = tmp_path / "x.nc"
    write_artefact(path, "value", {"seed": 0}, {})
    before = path.read_bytes()
    with pytest.raises(ValueError, match="not JSON compliant"):
        write_artefact(path, "value", {"seed": float("nan")}, {})
    broken = xr.Dataset({"a": ("n", np.array([object()], dtype=object))})
    with pytest.raises(ValueError, match="infer dtype"):
        write_artefact(path, "value", {}, {"broken": broken})
    assert path.read_bytes() == before
    assert [file.name for file in tmp_path.iterdir()] == ["x.nc"]
    with pytest.raises(SavedFileError, match="There is no folder"):
        write_artefact(tmp_path / "no" / "x.nc", "value", {}, {})
    with pytest.raises(SavedFileError, match="is a folder"):
        write_artefact(tmp_path, "value", {}, {})
