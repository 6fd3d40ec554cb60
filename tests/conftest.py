"""Fixtures and paths that several tests share."""

import os
from pathlib import Path

import pyro
import pytest
from hypothesis import HealthCheck, settings

from causalaudit.arviz_versions import import_arviz

import_arviz()  # before the workers do, and before any test asks for it by name

settings.register_profile(
    "causalaudit",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.load_profile("causalaudit")

ROOT = Path(__file__).parents[1]


def pytest_collection_modifyitems(items):
    """Begin with the longest test, so that no worker is left alone with its file."""
    items.sort(key=lambda item: item.get_closest_marker("longest") is None)


@pytest.fixture(autouse=True)
def _clean_pyro():
    """Pyro validates what users write, and nothing is left in its parameter store."""
    pyro.enable_validation(True)
    pyro.clear_param_store()
    yield
    assert not list(pyro.get_param_store().keys())


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of real data sets."""
    folder = os.environ.get("CAUSALAUDIT_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("needs the real data sets: set CAUSALAUDIT_DATA to their folder")
    return Path(folder)


@pytest.fixture(scope="session")
def reference_folder() -> Path:
    """The folder of reference numbers."""
    folder = Path(os.environ.get("CAUSALAUDIT_REFERENCE", ROOT.parent / "shared" / "reference"))
    if not folder.is_dir():
        pytest.skip("needs the reference numbers: set CAUSALAUDIT_REFERENCE to their folder")
    return folder
