"""What is installed: the wheel has the models, and the rooms of the project are as documented."""

import re
import subprocess
import sys
import zipfile
from configparser import ConfigParser
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


def oldest_admitted():
    """From each dependency that setup.cfg gives a lower bound to the bound."""
    config = ConfigParser()
    config.read(ROOT / "setup.cfg", encoding="utf-8")
    wanted = [config["options"]["install_requires"], *config["options.extras_require"].values()]
    return dict(re.findall(r"^([\w.-]+)>=([\d.]+)", "\n".join(wanted), flags=re.MULTILINE))


@pytest.mark.parametrize(("name", "bound"), oldest_admitted().items())
def test_the_oldest_versions_are_those_that_setup_cfg_admits(name, bound):
    """`make test-oldest` would try others otherwise."""
    pins = re.findall(r"^([\w.-]+)==(\S+)", (ROOT / "constraints-oldest.txt").read_text(), flags=re.MULTILINE)
    pinned = {other.lower(): version for other, version in pins}[name.lower()]
    assert re.fullmatch(rf"{re.escape(bound)}(\.0)*", pinned)
