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


HANDED = """\
class Trainer:
    def __init__(self, model, accum):
        self.model, self.accum = model, accum
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def fit(self, loader, criterion):
        for i, (x, y) in enumerate(loader):
            loss = criterion(self.model(x), y)
            loss.backward()
            if (i + 1) % self.accum == 0:
                self.optimizer.step()
                self.optimizer.zero_grad()


def train(model, optimizer, loader, criterion, accum):
    for i, (x, y) in enumerate(loader):
        loss = criterion(model(x), y)
        loss.backward()
        if (i + 1) % accum == 0:
            optimizer.step()
            {zeroes}
"""
CALLED = [
    ("Trainer(model, {}).fit(loader, criterion)\n", "self.accum"),
    ("train(model, optimizer, loader, criterion, {})\n", "accum"),
]


@pytest.mark.parametrize(("call", "name"), CALLED)
def test_what_a_file_hands_a_window_of_one_is_latent(call, name):
    text = STAGE + HANDED.format(zeroes="optimizer.zero_grad()")
    handed = [one for one in findings_of(text + call.format(1), "train.py") if f"`{name}` is 1 here" in one.message]
    assert {one.code for one in handed} == {"missing-loss-division", "dropped-tail-window"}
    assert {one.severity for one in handed} == {Severity.WARNING}
    for more in (call.format("accum_steps"), call.format(1) + call.format("accum_steps")):
        found = findings_of(text + more, "train.py")
        assert not any(f"`{name}` is 1 here" in one.message for one in found)
        assert any(one.severity is Severity.ERROR for one in found)


BY_DEFAULT = """\
WINDOW = {value}


def train(model, optimizer, loader, criterion, accum=WINDOW):
    for i, (x, y) in enumerate(loader):
        loss = criterion(model(x), y)
        loss.backward()
        if (i + 1) % accum == 0:
            optimizer.step()
            optimizer.zero_grad()


train(model, optimizer, loader, criterion)
"""


@pytest.mark.parametrize(("value", "severities"), [("1", {Severity.WARNING}), ("2", {Severity.ERROR})])
def test_a_default_may_be_a_constant_by_its_name(value, severities):
    found = findings_of(STAGE + BY_DEFAULT.format(value=value), "train.py")
    assert {one.severity for one in found if one.code == "missing-loss-division"} == severities


def test_what_happens_in_a_window_of_one_as_well_is_not_latent():
    text = STAGE + HANDED.format(zeroes="pass") + CALLED[1][0].format(1)
    (finding,) = [one for one in findings_of(text, "train.py") if one.code == "missing-zero-grad"]
    assert (finding.severity, "latent" in finding.message) == (Severity.ERROR, False)
