"""What is installed: the wheel has the models, and the rooms of the project are as documented."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
STYLE = ("causalaudit/markup/style.css", "causalaudit/report/templates/report.html.jinja")


@pytest.mark.slow
def test_the_wheel_has_the_models(tmp_path):
    command = [sys.executable, "-m", "pip", "wheel", str(ROOT), "--no-deps", "--quiet", "--wheel-dir", str(tmp_path)]
    subprocess.run(command, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    names = zipfile.ZipFile(wheel).namelist()
    for name in ("causalaudit/models/loan.py", "causalaudit/scm/program.py", "causalaudit/py.typed", *STYLE):
        assert name in names
    assert not [name for name in names if name.startswith(("tests", "benchmarks", "models/"))]


def test_models_is_a_link_to_the_folder_at_the_top():
    link = ROOT / "causalaudit" / "models"
    assert link.is_symlink()
    assert link.resolve() == ROOT / "models"
