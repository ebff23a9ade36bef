"""What is done with each name of a module, and what its functions therefore do."""

import pytest

from amplint.dialects.schedules import UNREAD
from amplint.lower.deeds import deeds_of
from amplint.lower.usage import usage_of
from tests.lower.lowered import body_of


def usage(text):
    return usage_of(body_of(text))


def deeds(text):
    body = body_of(text)
    return deeds_of(body, usage_of(body))


def test_methods_are_noted_by_the_last_part_of_the_name():
    assert usage("self.scaler.step(a)\nscaler.update()\n").methods == {
        "scaler": {"step", "update"},
        "a": {"step"},  # what a scaler steps is an optimizer
    }


@pytest.mark.parametrize(
    ("text", "scaler"),
    [
        ("a.scale(loss)\na.step(optimizer)", True),
        ("a.scale(loss)\na.update()", True),
        ("a.unscale_(optimizer)", True),
        ("a.scale(image)", False),
        ("a.step()\na.update()", False),
    ],
)
def test_a_scaler_is_what_is_used_as_one(text, scaler):
    assert usage(text).is_scaler("a") is scaler


@pytest.mark.parametrize(
    ("text", "name", "optimizer"),
    [
        ("a.zero_grad()\na.step()", "a", True),
        ("optimizer.step()", "optimizer", True),
        ("opt_g.step()", "opt_g", True),
        ("a.step()", "a", False),
        ("a.zero_grad()", "a", False),
        ("lr_sched.step()\nlr_sched.zero_grad()", "lr_sched", False),
        ("a.scale(loss)\na.step(b)\na.zero_grad()", "a", False),
    ],
)
def test_an_optimizer_is_what_is_used_or_called_as_one(text, name, optimizer):
    assert usage(text).is_optimizer(name) is optimizer
    assert usage(text).plays(name) is (optimizer or usage(text).is_scaler(name))


def test_a_clip_is_known_by_the_name_that_it_is_imported_under():
    assert usage("from torch.nn.utils import clip_grad_norm_ as clip").clips >= {"clip", "clip_grad_norm_"}


def test_losses_are_what_is_back_propagated_or_scaled():
    assert usage("total.backward()\nscaler.scale(self.loss)").losses >= {"total", "loss"}


def test_functions_do_what_the_functions_that_they_call_do():
    found = deeds(
        """\
        def back(loss):
            loss.backward()
        def update():
            optimizer.step()
            optimizer.zero_grad()
        def epoch():
            for x in loader:
                back(f(x))
                update()
        def run():
            epoch()
        def plot():
            figure.show()
        """
    )
    assert found.going_back == {"back", "epoch", "run"}
    assert found.stepping == found.zeroing == {"update", "epoch", "run"}
    assert found.looping == {"epoch", "run"}
    assert found.acting == {"back", "update", "epoch", "run"}


def test_methods_are_told_from_functions_of_the_same_name():
    found = deeds(
        """\
        class Trainer:
            def update(self):
                self.optimizer.step()
            def run(self):
                self.update()
        def update():
            pass
        """
    )
    assert found.stepping == {".update", ".run"}


def test_an_object_that_can_be_called_does_what_its_call_does():
    found = deeds(
        """\
        class Scaler:
            def __call__(self, loss, optimizer):
                loss.backward()
                optimizer.step()
        loss_scaler = Scaler()
        def train():
            loss_scaler(loss, optimizer)
        """
    )
    assert "train" in found.going_back
    assert "train" in found.stepping


@pytest.mark.parametrize("text", ["env.step(a)", "profiler.step()", "pbar.step()"])
def test_a_step_of_something_else_is_no_event(text):
    assert deeds(f"def run():\n    {text}\n").acting == frozenset()


@pytest.mark.parametrize(
    "line",
    [
        "p.grad = None",
        "p.grad /= n",
        "p.grad.div_(n)",
        "p.grad.data.zero_()",
        "clip_grad_norm_(p, 1.0)",
        "nn.utils.clip_grad_value_(p, 1.0)",
        "framework(optimizer, loss)\n    optimizer.step()",
        "model.register_comm_hook(None, hook)",
    ],
)
def test_what_changes_gradients_is_an_event(line):
    assert deeds(f"def run(p):\n    {line}\n").acting == {"run"}


CLEARS = "def clear(model):\n    for param in model.parameters():\n        param.grad = None\n"


def test_a_function_that_assigns_gradients_in_a_loop_acts():
    assert "clear" in deeds(CLEARS).acting


@pytest.mark.parametrize(
    "text",
    [
        "class Stepper:\n    def __init__(self, model, erase):\n        self.x = 1\ns = Stepper(model, clear)\n",
        "def work(erase=None):\n    erase(model)\nwork(erase=clear)\n",
        "erase = clear\n",
        "class Stepper:\n    def __init__(self, clear):\n        self.erase = clear\n",
    ],
)
def test_a_function_acts_by_every_name_that_it_is_called_by(text):
    assert {"erase", ".erase"} <= deeds(CLEARS + text).acting


def test_a_name_that_holds_no_function_of_the_module_is_no_other_name():
    assert "erase" not in deeds(CLEARS + "erase = other\nclass Empty:\n    pass\nEmpty(erase)\n").acting


def test_an_object_of_a_class_of_another_module_is_not_read():
    made = usage("from schedules import Poly\nimport torch\na = Poly(o)\nb = torch.optim.SGD(p)\n").methods
    assert made == {"a": {UNREAD}, "optim": {"SGD"}}
