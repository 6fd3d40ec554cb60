"""Every result is saved, loaded in another process, and equal."""

import hashlib
import json
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from auditors import Decompose, Estimate, Recourse, Scan, SituationTesting, fit_posterior, make_people, rule

import causalaudit as ca
from causalaudit.errors import SavedFileError
from causalaudit.storage import pack, same

# What the other process does: load each file, and tell what is in it.
READER = """
import hashlib, json, sys
import causalaudit as ca
from causalaudit.storage import pack

def digest(value):
    skeleton, arrays = pack(value)
    found = hashlib.sha256(json.dumps(skeleton).encode())
    for name in sorted(arrays):
        found.update(arrays[name].to_numpy().tobytes())
    return found.hexdigest()

def look(path):
    result = ca.load(path)
    if isinstance(result, ca.CounterfactualDraws):
        return digest([result.dataset, result.factual, result.do, result.point, result.settings])
    parts = [result.table, result.settings, result.summary(), result.intervals, result.verdicts, result.headline]
    result.plot()
    result.to_inference_data()
    return digest([repr(result), result._repr_html_(), *parts, result])

import matplotlib
matplotlib.use("Agg")
print(json.dumps({path: look(path) for path in sys.argv[1:]}))
"""


def digest(value):
    skeleton, arrays = pack(value)
    found = hashlib.sha256(json.dumps(skeleton).encode())
    for name in sorted(arrays):
        found.update(arrays[name].to_numpy().tobytes())
    return found.hexdigest()


def look(result):
    if isinstance(result, ca.CounterfactualDraws):
        return digest([result.dataset, result.factual, result.do, result.point, result.settings])
    parts = [result.table, result.settings, result.summary(), result.intervals, result.verdicts, result.headline]
    return digest([repr(result), result._repr_html_(), *parts, result])


@pytest.fixture(scope="module")
def results():
    people = make_people()
    posterior = fit_posterior(people)
    asked = {kind: kind(people, posterior) for kind in (SituationTesting, Decompose, Estimate, Recourse, Scan)}
    women = people.sex == "f"
    worlds = ca.counterfactuals(posterior, {"sex": "m"}, rows=women, draws=20, progress=False)
    by_sex = asked[SituationTesting](counterfactuals=worlds, centres=True)
    by_race = asked[SituationTesting](protected={"race": "Black"}, decision="rank")
    far = ca.CounterfactualDraws.from_frame(people[women].assign(sex="m"), {"sex": "m"})
    return {
        "worlds": worlds,
        "from a frame": far,
        "situation testing": by_sex,
        "standard situation testing": by_race,
        "another distance": asked[SituationTesting](distance=apart),
        "multiple discrimination": ca.multiple_discrimination([asked[SituationTesting](), by_race]),
        "enumerated": asked[Decompose](),
        "simulated": ca.decompose_error_rates(
            posterior, rule, "sex", outcome="good", population="simulate", draws=10, progress=False
        ),
        "estimate": asked[Estimate](),
        "bootstrap": asked[Estimate](interval="bootstrap"),
        "recourse": asked[Recourse](),
        "causal recourse": asked[Recourse](draws=10),
        "scan": asked[Scan](),
        "nothing found": asked[Scan](features=["skill"], penalty=1e6),
    }


def apart(one, other):
    return np.abs(one["skill"].to_numpy()[:, None] - other["skill"].to_numpy()[None])


def test_results_are_equal_in_another_process(results, tmp_path):
    paths = {name: tmp_path / f"{name}.nc" for name in results}
    for name, result in results.items():
        result.save(paths[name])
    done = subprocess.run([sys.executable, "-c", READER, *map(str, paths.values())], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    for name, result in results.items():
        assert found[str(paths[name])] == look(result), name


def test_settings_are_json(results):
    for name, result in results.items():
        assert json.loads(json.dumps(result.settings, allow_nan=False)) == result.settings, name


def test_a_damaged_file_is_a_clear_error(results, tmp_path):
    for name, result in results.items():
        path = tmp_path / f"{name}.nc"
        result.save(path)
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(bytes(content))
        with pytest.raises(SavedFileError, match="is damaged, or was not saved by causalaudit"):
            ca.load(path)


def test_a_posterior_needs_its_program(tmp_path):
    posterior = fit_posterior(make_people())
    posterior.save(tmp_path / "posterior.nc")
    with pytest.raises(SavedFileError, match=r"holds a posterior, whose program is not saved: give it by load"):
        ca.load(tmp_path / "posterior.nc")
    loaded = ca.load(tmp_path / "posterior.nc", scm=posterior.scm)
    assert same(loaded.parameters(), posterior.parameters())
    pd.testing.assert_frame_equal(loaded.data, posterior.data)
