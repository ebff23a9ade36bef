"""Gradients that somebody reads, or steps with, after their step are not erased before that."""

from __future__ import annotations

import re

import pytest

from tests.fix.mended import changed, mended


def mended_text(source: str) -> str:
    """The program after its safe fixes."""
    return mended(source, ("safe",))[1].script.text


STEP = """\
import lib
import torch
from lib import do_bench, evaluate, log, plot_grad_flow, stats


def clipped(model):
    for p in model.parameters():
        p.grad.clamp_(-1, 1)


def train(model, loader, criterion, optimizer, accum_steps):
    for x, y in loader:
        BEFORE
        loss = criterion(model(x), y)
        loss.backward()
        clipped(model)
        optimizer.step()
        IN_LOOP
    BEHIND
"""
NORM_OF = """\


def norm_of(model):
    return sum(p.grad.norm() for p in model.parameters())
"""
IN_LOOP = {
    "a norm": "log([p.grad.norm() for p in model.parameters()])",
    "a check": "assert model.weight.grad is not None",
    "a helper that measures": "log(norm_of(model))",
    "a gradient by its name": 'log([getattr(p, "grad") for p in model.parameters()])',
    "a function of another file": "log(stats(model))",
    "a function of another module": "log(lib.stats(model))",
    "an unknown function of gradients": "plot_grad_flow(model.named_parameters())",
    "a clip that measures": 'log(torch.nn.utils.clip_grad_norm_(model.parameters(), float("inf")))',
}
BEHIND = {
    "a closure that steps": "return do_bench(lambda: optimizer.step())",
    "a step that is handed over": "do_bench(optimizer.step)",
    "gradients that are saved": 'torch.save({name: p.grad for name, p in model.named_parameters()}, "grads.pt")',
    **IN_LOOP,
}
LATER = [*(("BEFORE", line) for line in IN_LOOP.values()), *(("IN_LOOP", line) for line in IN_LOOP.values())]
LATER += [("BEHIND", line) for line in BEHIND.values()]


def program(place: str, line: str) -> str:
    text = STEP.replace(place, line).replace("BEFORE", "pass").replace("IN_LOOP", "pass").replace("BEHIND", "pass")
    return text + NORM_OF if "norm_of" in line else text


@pytest.mark.parametrize(("place", "line"), LATER)
def test_what_is_read_after_the_step_is_erased_before_the_next_backward(place, line):
    source = program(place, line)
    assert source.replace("        loss.back", "        optimizer.zero_grad()\n        loss.back") == mended_text(
        source
    )


HARMLESS = {
    "none of its own": "log(loss.item())",
    "a gradient that is thrown away": "for p in model.parameters(): p.grad = None",
    "one that is zeroed by hand": "if model.other.grad is not None: model.other.grad.zero_()",
    "a question for a gradient": 'log(hasattr(model.weight, "grad"))',
    "a function of another file that runs it": "log(evaluate(model))",
    "a region without gradients": "with torch.no_grad(): log(model(x))",
}


@pytest.mark.parametrize("line", HARMLESS.values(), ids=HARMLESS)
def test_what_reads_no_gradients_of_the_step_changes_nothing(line):
    source = program("BEHIND", line)
    step = "optimizer.step()\n"
    assert source.replace(step, f"{step}        optimizer.zero_grad()\n", 1) == mended_text(source)


WINDOW = """\
def train(model, loader, criterion, optimizer, accum_steps, log):
    for i, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        loss = criterion(model(x), y) / accum_steps
        loss.backward()
        if (i + 1) % accum_steps == 0:
            optimizer.step()
    READ
"""


@pytest.mark.parametrize(("read", "moves"), [("log(model.weight.grad)", False), ("log(model.weight)", True)])
def test_nothing_is_offered_where_the_gradients_of_a_window_are_read_later(read, moves):
    assert bool(changed(WINDOW.replace("READ", read))) is moves


METHODS = """\
class Trainer:
    def __init__(self, model, criterion, optimizer):
        self.model, self.criterion, self.optimizer = model, criterion, optimizer

    def train(self, loader):
        for x, y in loader:
            loss = self.criterion(self.model(x), y)
            loss.backward()
            self.clip()
            self.optimizer.step()

    def clip(self):
        for p in self.model.parameters():
            p.grad.clamp_(-1, 1)

    def norms(self):
        return [p.grad.norm() for p in self.model.parameters()]


def main(trainer, loader, log):
    trainer.train(loader)
    log(CALL)
"""


def test_a_method_that_measures_is_called_after_the_loop():
    text = mended_text(METHODS.replace("CALL", "trainer.norms()"))
    assert "self.optimizer.zero_grad()\n            loss.backward()" in text


def test_a_method_that_clips_is_called_before_the_step():
    text = mended_text(METHODS.replace("CALL", "trainer.model").replace("p.grad.norm()", "p.norm()"))
    assert "self.optimizer.step()\n            self.optimizer.zero_grad()" in text


def test_a_function_that_nobody_calls_here_may_be_called_afterwards():
    assert "zero_grad()\n        loss.backward()" in mended_text(program("BEHIND", "pass") + NORM_OF)


def test_a_function_that_goes_back_itself_reads_its_own_gradients():
    own = NORM_OF.replace("    return", "    model.loss().backward()\n    return")
    assert "step()\n        optimizer.zero_grad()" in mended_text(program("BEHIND", "pass") + own)


TWO_LOSSES = """\
def train(model, loader, criterion, optimizer, log):
    for x, y in loader:
        loss, aux = criterion(model(x), y)
        loss.backward(retain_graph=True)
        aux.backward()
        optimizer.step()
        log(model.weight.grad)
"""


def test_no_gradient_of_the_same_step_is_erased():
    assert "zero_grad()\n        loss.backward(retain" in mended_text(TWO_LOSSES)


EITHER = """\
def train(model, loader, criterion, optimizer, scaler, amp, log):
    for x, y in loader:
        loss = criterion(model(x), y)
        if amp:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        else:
            loss.backward()
            optimizer.step()
        READ
"""


@pytest.mark.parametrize(
    ("read", "behind", "count"),
    [("log(model.weight.grad)", r"y\)", 1), ("log(model.weight)", r"    optimizer.step\(\)", 2)],
)
def test_no_branch_is_left_out(read, behind, count):
    text = mended_text(EITHER.replace("READ", read))
    assert re.search(rf"{behind}\n +optimizer.zero_grad\(\)\n", text)
    assert text.count("zero_grad") == count


CLIPPED = """\
def train(model, loader, criterion, optimizer, scaler, amp):
    for x, y in loader:
        loss = criterion(model(x), y)
        scaler.scale(loss).backward()
        if amp:
            scaler.unscale_(optimizer)
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
        else:
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
"""


def test_the_other_branch_reads_in_another_turn():
    assert changed(CLIPPED) == ["+         optimizer.zero_grad()"]
    assert mended_text(CLIPPED).endswith("optimizer.step()\n        optimizer.zero_grad()\n")


GAN = """\
def train(gen, disc, loader, criterion, opt_g, opt_d, log):
    for z, x in loader:
        opt_g.zero_grad()
        g_loss = criterion(disc(gen(z)))
        g_loss.backward()
        opt_g.step()
        d_loss = criterion(disc(x)) + criterion(disc(gen(z).detach()))
        d_loss.backward()
        opt_d.step()
    log(disc.weight.grad)
"""


def test_gradients_that_another_loss_has_left_are_erased_too():
    back = "        d_loss.backward"
    assert mended_text(GAN) == GAN.replace(back, f"        opt_d.zero_grad()\n{back}")


SEVERAL = """\
def train(model, loader, criterion, optimizer, log):
    for x, y in loader:
        first, second, third = criterion(model(x), y)
        for loss in (first, second):
            loss.backward()
        third.backward()
        optimizer.step()
        log(model.weight.grad)
"""


def test_what_a_loop_has_made_for_the_step_stays():
    assert "optimizer.zero_grad()\n        for loss in" in mended_text(SEVERAL)


def test_what_a_function_has_made_for_the_step_is_not_erased():
    own = SEVERAL.replace(
        "        for loss in (first, second):\n            loss.backward()\n", "        back(first)\n"
    )
    assert changed(f"def back(loss):\n    loss.backward()\n\n\n{own}") == []


CRITICS = """\
def train(gen, disc, data, opt_g, opt_d, n_critic, noise):
    while True:
        for _ in range(n_critic):
            loss_d = disc(gen(noise()).detach()).mean() - disc(next(data)).mean()
            loss_d.backward()
            opt_d.step()
        opt_g.zero_grad()
        loss_g = -disc(gen(noise())).mean()
        loss_g.backward()
        opt_g.step()
"""


def test_what_another_loss_fills_after_the_step_is_zeroed_before_the_backward():
    back = "            loss_d.backward"
    assert mended_text(CRITICS) == CRITICS.replace(back, f"            opt_d.zero_grad()\n{back}")


IN_TURN = """\
def train(gen, disc, loader, opt_g, opt_d):
    for i, (x, z) in enumerate(loader):
        if i % 2 == 0:
            loss = disc(gen(z).detach()).mean() - disc(x).mean()
            loss.backward()
            opt_d.step()
            opt_d.zero_grad()
        else:
            loss = -disc(gen(z)).mean()
            loss.backward()
            opt_g.step()
"""


def test_of_two_that_step_in_turn_each_is_zeroed_in_its_own_turn():
    step = "            loss.backward()\n            opt_g.step"
    assert mended_text(IN_TURN) == IN_TURN.replace(step, f"            opt_g.zero_grad()\n{step}")


WATCHED = """\
import functools

import torch
import zoo, torch.nn
from lib import Probe, Schedule, evaluate, log, make_probe, stats


def train(model, loader, criterion, optimizer, on):
    MADE
    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        CALLED
"""
WATCHERS = {
    "an object of another file": ("probe = Probe(model)", "probe.sample()"),
    "one that is called": ("probe = Probe(net=model)", "probe()"),
    "one of its parameters": ("probe = Probe(list(model.named_parameters()))", "probe.sample()"),
    "one of the optimizer": ("probe: Probe = Probe([optimizer])", "probe.sample()"),
    "one that a function makes": ("probe = make_probe(model)", "log(probe.sample())"),
    "one of another module": ("probe = zoo.Probe(model)", "probe.sample()"),
    "a context": ("probe = on", "with Probe(model) as probe: probe.sample()"),
    "one that is handed on": ("probe = Probe(model)", "log(probe)"),
    "one of several": ("probes = [Probe(model)]", "for probe in probes: probe.sample()"),
    "one under a key": ('probes = {"a": Probe(model)}', 'probes["a"].sample()'),
    "one of several by key": ('probes = {"a": Probe(model)}', "for _, probe in probes.items(): probe.sample()"),
    "one that may be there": ("probe = Probe(model)\n    seen = probe if on else None", "if seen: seen.sample()"),
    "a method under a name": ("look = Probe(model).sample", "look()"),
    "an attribute": ("on.probe = Probe(model)", "on.probe.sample()"),
    "a function with the model in it": ("look = functools.partial(stats, model)", "look()"),
    "a function that is handed parameters": ("pass", "stats(model.parameters())"),
    "a step under a name": ("again = optimizer.step", "if loss > 3: again()"),
}


def watched(made: str, called: str) -> str:
    return WATCHED.replace("MADE", made).replace("CALLED", called)


@pytest.mark.parametrize(("made", "called"), WATCHERS.values(), ids=WATCHERS)
def test_what_another_file_has_made_of_a_model_may_look_at_its_gradients(made, called):
    source = watched(made, called)
    assert source.replace("        loss.back", "        optimizer.zero_grad()\n        loss.back") == mended_text(
        source
    )


BESIDE = {
    "a schedule": ("rate = Schedule(optimizer)", "log(rate.value())"),
    "an optimizer": ("opt_b = Probe(model)", "log(opt_b.value())"),
    "a model": ("twin = zoo.Net(model)", "log(twin(x))"),
    "an average": ("ema = Probe(model)", "log(ema.value())"),
    "a number": ("score = evaluate(model)", "log(score.item())"),
    "what is made of something else": ("probe = Probe(on)", "probe.sample()"),
    "another object of that name": ("on = [Probe(model) for probe in on]", "probe.sample()"),
    "what the model gives": ("pass", "log(stats(model(x)))"),
    "one that nobody asks": ("probe = Probe(model)", "pass"),
    "one of torch": ("probe = torch.nn.Flatten(model)", "probe.sample()"),
}


@pytest.mark.parametrize(("made", "called"), BESIDE.values(), ids=BESIDE)
def test_what_has_no_model_or_is_a_part_of_the_training_reads_nothing(made, called):
    source = watched(made, called)
    step = "optimizer.step()\n"
    assert source.replace(step, f"{step}        optimizer.zero_grad()\n", 1) == mended_text(source)


ELSEWHERE = """\
from lib import Probe


def other(model):
    model.loss().backward()
    probe = Probe(model)
    return probe


def train(model, loader, criterion, optimizer, probe):
    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        probe.sample()
"""


def test_a_name_of_another_function_is_another_thing():
    assert "step()\n        optimizer.zero_grad()" in mended_text(ELSEWHERE)
