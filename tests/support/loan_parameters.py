"""The linear loan program as fitted: what least squares finds in the published file, to a few digits."""

FITTED = {
    "share": 0.343,
    "base": 100_655.0,
    "penalty": -15_796.0,
    "spread": 32_206.0,
    "start": 121.0,
    "gap": -1_183.0,
    "saving": 0.2989,
    "swing": 2_553.0,
}
