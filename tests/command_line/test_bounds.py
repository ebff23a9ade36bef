"""The bounds of a project's own dependencies decide what is right, unless `versions` says otherwise."""

import pytest

OVERRIDE = """\
from transformers import Trainer


class OwnTrainer(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False):
        return model(**inputs).loss
"""


@pytest.mark.parametrize(
    ("document", "code", "isolated"),
    [
        ('[project]\nname = "own"\nversion = "1"\ndependencies = ["transformers>=4.40,<4.46"]\n', 0, 0),
        ('[project]\nname = "own"\nversion = "1"\ndependencies = ["transformers>=4.40"]\n', 1, 1),
        ('[tool.poetry.dependencies]\ntransformers = "4.44.0"\n', 0, 0),
        (
            '[tool.poetry.dependencies]\ntransformers = "4.44.0"\n[tool.amplint.versions]\ntransformers = "5"\n',
            1,
            0,  # what a project depends on is no configuration of amplint's, and is read all the same
        ),
        ("[build-system]\nrequires = []\n", 1, 1),
        ("not TOML\n", 1, 1),
    ],
)
def test_a_rule_about_a_later_version_is_silent_where_the_project_stays_below(amplint, write, document, code, isolated):
    write({"pyproject.toml": document, "train.py": OVERRIDE})
    assert amplint("-q", analysis=None).code == code
    assert amplint("-q", "--isolated", analysis=None).code == isolated
