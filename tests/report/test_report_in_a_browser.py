"""A report in headless chromium: no errors, no requests, tables sort and filter, hostile names run no code.

`tools/browser/install.sh` installs what this needs.
"""

import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from reported import HOSTILE

ROOT = Path(__file__).parents[2]
MODULES = Path(os.environ.get("CAUSALAUDIT_BROWSER", ROOT / ".browser"))
NAMES = ("chromium", "chromium-browser", "google-chrome")
SLOW = 240  # seconds after which a browser is taken to hang

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def seen(written, tmp_path_factory):
    """What a browser saw."""
    chromium = next(filter(None, map(shutil.which, NAMES)), None)
    if chromium is None:
        pytest.skip("there is no chromium: tools/browser/install.sh installs it as root on Debian")
    if shutil.which("node") is None or not (MODULES / "node_modules" / "axe-core").is_dir():
        pytest.skip("there is no node with puppeteer-core and axe-core: run tools/browser/install.sh")
    folder = tmp_path_factory.mktemp("pictures")
    command = ["node", ROOT / "tools" / "browser" / "visit.mjs", MODULES, chromium, written, folder]
    done = subprocess.run([str(part) for part in command], capture_output=True, text=True, timeout=SLOW)
    assert done.returncode == 0, done.stderr
    return {**json.loads(done.stdout), "folder": folder}


def test_nothing_goes_wrong_and_nothing_is_asked_for(seen):
    assert seen["console"] == []
    assert seen["requests"] == []
    assert seen["dialogs"] == []


def test_hostile_names_run_no_code(seen):
    page = seen["page"]
    assert page["ran"] == "undefined"
    assert (page["scripts"], page["handlers"], page["foreign"]) == (1, 0, 0)
    shown = re.sub(r"\s+", " ", page["text"])
    for name in (HOSTILE[0], HOSTILE[3], HOSTILE[4], HOSTILE[5], HOSTILE[11]):
        assert name in shown


def test_it_is_accessible(seen):
    assert [one for one in seen["axe"]["light"] if one["impact"] in ("serious", "critical")] == []
    assert seen["axe"] == {"light": [], "dark": []}
    page = seen["page"]
    assert (page["unnamed"], page["twice"], page["captions"]) == (0, 0, 0)


@pytest.mark.parametrize("width", ["1280", "390"])
def test_a_page_is_as_wide_as_the_screen(seen, width):
    assert seen["widths"][width]["scrolls"] == 0
    assert (seen["folder"] / f"first-{width}.png").stat().st_size > 10_000


def test_tables_sort_by_keyboard(seen):
    assert len(seen["tables"]) > 10
    for table in seen["tables"]:
        (up, rising), (down, falling) = table["up"], table["down"]
        assert (up, down) == ("ascending", "descending")
        assert sorted(rising) == sorted(falling) == sorted(table["before"]), table["caption"]
        assert table["after"] == table["before"], table["caption"]  # the third time brings the first order back
        numbers = [float(value) for value in rising if re.fullmatch(r"-?\d+(\.\d+)?(e[+-]?\d+)?", value)]
        if len(numbers) == len(rising):
            assert numbers == sorted(numbers), table["caption"]
            assert [float(value) for value in falling] == numbers[::-1]


def test_tables_are_filtered(seen):
    filtered = [table for table in seen["tables"] if "filter" in table]
    assert filtered
    for table in filtered:
        words = table["filter"]["word"].lower().split()
        assert 0 < len(table["filter"]["left"]) <= table["rows"]
        assert table["filter"]["said"] == f"{len(table['filter']['left'])} of {table['rows']} rows"
        assert words
        assert table["filter"]["back"] == table["rows"]
    assert any(len(table["filter"]["left"]) < table["rows"] for table in filtered)


def test_it_can_be_printed(seen):
    assert (seen["folder"] / "printed.pdf").read_bytes().startswith(b"%PDF")
