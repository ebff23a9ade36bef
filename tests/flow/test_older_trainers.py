"""A trainer whose arguments only older releases take may never be handed the count: that is a warning."""

import pytest

from amplint.analysis import findings_of
from amplint.findings import Severity

TRAINING = """\
from transformers import Trainer, TrainingArguments


class Weighted(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False):
        return self.weighted(model(inputs["values"]), inputs["labels"])


def main(model, train, val):
    arguments = TrainingArguments(output_dir="out", {strategy}="epoch")
    Weighted(model=model, args=arguments, train_dataset=train, eval_dataset=val).train()
"""


@pytest.mark.parametrize(
    ("strategy", "severity"), [("evaluation_strategy", Severity.WARNING), ("eval_strategy", Severity.ERROR)]
)
def test_an_argument_of_older_releases_makes_it_a_warning(strategy, severity):
    (found,) = findings_of(TRAINING.format(strategy=strategy), "example.py")
    assert found.code == "ignored-num-items-in-batch"
    assert found.severity is severity
    assert "4.46 and later" in found.message
