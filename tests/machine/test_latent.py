"""What a constant of 1 hides is told, as a warning that says so."""

import pytest

from amplint.analysis import findings_of
from amplint.catalogue import examples
from amplint.findings import Severity

STAGE = "\n".join(line for line in examples.STAGE.splitlines() if "scheduler" not in line) + "\n"
LOOP = """\
for i, (x, y) in enumerate(loader):
    loss = criterion(model(x), y)
    loss.backward()
    if (i + 1) % {length} == 0:
        optimizer.step()
        optimizer.zero_grad()
"""


KEPT = """\
from dataclasses import dataclass


@dataclass
class Config:
    lr: float = 0.1
    grad_accum{annotation} = 1


config = Config()
"""


@pytest.mark.parametrize(
    ("constant", "length"),
    [
        ("grad_accum = 1\n", "grad_accum"),
        ("class CFG:\n    grad_accum = 1\n\n\n", "CFG.grad_accum"),
        (KEPT.format(annotation=""), "config.grad_accum"),  # without an annotation it is no field: no argument sets it
    ],
)
def test_what_a_constant_of_one_hides_is_a_warning_that_says_latent(constant, length):
    (finding,) = findings_of(STAGE + constant + LOOP.format(length=length), "train.py")
    assert (finding.code, finding.severity) == ("missing-loss-division", Severity.WARNING)
    assert "latent: `grad_accum` is 1 here" in finding.message


@pytest.mark.parametrize(
    "text",
    [
        "grad_accum = 2\n" + LOOP.format(length="grad_accum"),
        LOOP.format(length="accum_steps"),
    ],
)
def test_what_happens_anyhow_is_an_error_and_not_latent(text):
    (finding,) = findings_of(STAGE + text, "train.py")
    assert (finding.code, finding.severity) == ("missing-loss-division", Severity.ERROR)
    assert "latent" not in finding.message


@pytest.mark.parametrize(("divisor", "found"), [("", ["missing-loss-division"]), (" / grad_accum", [])])
def test_what_a_script_sets_to_one_hides_as_much(divisor, found):
    loop = LOOP.format(length="grad_accum").replace("y)\n", f"y){divisor}\n")
    inside = "".join(f"    {line}\n" for line in loop.splitlines())
    script = 'if __name__ == "__main__":\n    grad_accum = 1\n    train()\n'
    text = f"{STAGE}def train():\n{inside}\n\n{script}"
    told = findings_of(text, "train.py")
    assert [one.code for one in told] == found
    assert all("latent: `grad_accum` is 1 here" in one.message for one in told)
    assert all(one.severity is Severity.WARNING for one in told)


def test_the_default_of_a_field_is_no_constant():
    text = KEPT.format(annotation=": int") + LOOP.format(length="config.grad_accum")
    found = {one.code: one for one in findings_of(STAGE + text, "train.py")}
    assert found["missing-loss-division"].severity is Severity.ERROR
    assert "latent" not in found["missing-loss-division"].message


def test_a_constant_that_is_set_again_hides_nothing():
    text = "grad_accum = 1\ngrad_accum = 1\n" + LOOP.format(length="grad_accum")
    assert findings_of(STAGE + text, "train.py") == []
