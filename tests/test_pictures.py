"""Every plot looks as it did: the pictures of the documentation beside those that are stored in `tests/pictures`.

`make test-notebooks` compares them; without ``--mpl`` they are only drawn. After a change that is meant, look at what
``pytest -m notebook --mpl --mpl-generate-path=tests/pictures tests/test_pictures.py`` writes.
"""

import pytest

from docs.figures import FIGURES

pytestmark = pytest.mark.notebook


@pytest.mark.filterwarnings("ignore::causalaudit.errors.CausalAuditWarning")
@pytest.mark.mpl_image_compare(baseline_dir="pictures", tolerance=12, savefig_kwargs={"dpi": 60})
@pytest.mark.parametrize("name", FIGURES)
def test_a_plot_looks_as_it_did(name):
    return FIGURES[name]().figure
