"""The notebooks run from top to bottom, with the real data if they are there and without them if not."""

from pathlib import Path

import pytest

nbclient = pytest.importorskip("nbclient")
nbformat = pytest.importorskip("nbformat")

ROOT = Path(__file__).parents[1]


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("path", sorted((ROOT / "notebooks").glob("*.ipynb")), ids=lambda path: path.stem)
@pytest.mark.parametrize("real", [True, False], ids=["real data", "generated data"])
def test_notebook(path, real, request, monkeypatch, tmp_path):
    if real:
        request.getfixturevalue("data_folder")
    else:
        monkeypatch.delenv("CAUSALAUDIT_DATA", raising=False)
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    notebook = nbformat.read(path, as_version=4)
    client = nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(ROOT)}}
    )
    client.execute()
    figures = sum(
        "image/png" in output.get("data", {}) for cell in notebook.cells for output in cell.get("outputs", [])
    )
    assert figures == sum("subplots(" in cell.source for cell in notebook.cells)
