"""What a message says of the numbers is true of the program that it speaks of."""

import pytest

from amplint.analysis import findings_of


def found(source, rule):
    every = [one for one in findings_of(source, "train.py") if one.code == rule]
    assert len(every) == 1
    return every[0]


def told(source, rule):
    return found(source, rule).message


RANKS = """
import contextlib
import torch
from torch.nn.parallel import DistributedDataParallel as DDP

model, criterion = DDP(torch.nn.Linear(4, 3)), torch.nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

def train(batches, n):
    for step in range(1000):
        for k in range(n):
            x, y = next(batches)
            {}
            loss = criterion(model(x), y) / n
            {}
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()
"""


@pytest.mark.parametrize(
    ("before", "after", "rule", "words"),
    [
        ("pass", "model.require_backward_grad_sync = k == n - 1", "no-sync-on-boundary", "is set after the forward"),
        ("pass", "model.require_backward_grad_sync = k > 0", "forward-outside-no-sync", "is set after the forward"),
        ("model.require_backward_grad_sync = k != n - 1", "pass", "no-sync-on-boundary", "last micro-step stay on"),
        ("model.require_backward_grad_sync = False", "pass", "no-sync-on-boundary", "no rank ever sees"),
    ],
)
def test_what_the_ranks_see_of_a_window_is_told_as_it_is(before, after, rule, words):
    assert words in told(RANKS.format(before, after), rule)


CLIPPED = """
import torch
from accelerate import Accelerator

accelerator = Accelerator()
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.AdamW(model.parameters())
loader = torch.utils.data.DataLoader(torch.randn(64, 4))
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
accelerator.clip_grad_norm_(model.parameters(), 0.5)
for x in loader:
    accelerator.backward(model(x).pow(2).mean())
    {}
    optimizer.step()
    optimizer.zero_grad()
"""


def test_a_clip_too_early_is_an_error_unless_another_one_clips_what_is_stepped():
    alone = found(CLIPPED.format("pass"), "clip-before-backward")
    assert alone.message.endswith("the new gradients are stepped unclipped")
    assert (alone.severity.value, "accelerator.backward" in alone.advice) == ("error", True)
    again = found(CLIPPED.format("accelerator.clip_grad_norm_(model.parameters(), 1.0)"), "clip-before-backward")
    assert again.message.endswith("the new gradients are clipped after their backward")
    assert (again.severity.value, again.advice.startswith("leave it out")) == ("warning", True)


def test_a_clip_of_a_part_of_the_window_is_no_clip_of_what_is_stepped():
    lines = CLIPPED.replace("    accelerator.backward", "    accelerator.clip_grad_norm_(model.parameters(), 1.0)\n\\g")
    program = lines.replace("\\g", "    with accelerator.accumulate(model):\n        accelerator.backward")
    program = program.replace("accelerator.clip_grad_norm_(model.parameters(), 0.5)\n", "", 1)
    program = program.replace("Accelerator()", "Accelerator(gradient_accumulation_steps=4)")
    program = program.replace("    optimizer.", "        optimizer.").replace("    {}", "        pass")
    assert found(program, "clip-before-backward").severity.value == "error"


SCALED = """
import torch

model = torch.nn.Linear(4, 1)
optimizer = torch.optim.AdamW(model.parameters())
scaler = torch.amp.GradScaler("cuda")
for x in torch.randn(10, 8, 4):
    with torch.autocast("cuda", dtype=torch.float16):
        loss = model(x).pow(2).mean()
    scaler.scale(loss).backward()
    {}
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
"""


@pytest.mark.parametrize(
    ("clip", "words"),
    [
        ("torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)", "shrunk to the same tiny norm"),
        ("torch.nn.utils.clip_grad_value_(model.parameters(), 1.0)", "every element of a gradient that is larger"),
        ("[p.grad.clamp_(-1.0, 1.0) for p in model.parameters()]", "every element of a gradient that is larger"),
    ],
)
def test_a_clip_of_each_element_knows_no_norm(clip, words):
    assert words in told(SCALED.format(clip), "clip-before-unscale")


TRAINER = """
from transformers import Trainer


class Own(Trainer):
    def training_step(self, model, inputs{}):
        if inputs is None:
            return super().training_step(model, inputs)
        loss = self.compute_loss(model, inputs)
        {}
        loss.backward()
        return loss.detach()

    def compute_loss(self, model, inputs, return_outputs=False):
        outputs = model(**inputs)
        return (outputs.loss, outputs) if return_outputs else outputs.loss
"""


@pytest.mark.parametrize(
    ("line", "divided"),
    [
        ("pass", False),
        ("loss = loss * self.args.weight", False),
        ("loss /= 2", False),
        ("loss = loss / self.args.gradient_accumulation_steps", True),
        ("loss /= self.args.gradient_accumulation_steps", True),
    ],
)
def test_a_division_by_hand_is_not_said_to_be_missing(line, divided):
    said = found(TRAINER.format("", line), "bypassed-framework-backward")
    assert ("neither divided by the window" in said.message) is not divided
    assert ("leave the division out" in said.advice) is divided


@pytest.mark.parametrize(("more", "method"), [("", "training_step"), (", count=None", "compute_loss")])
def test_of_two_methods_the_one_is_named_that_fails_first(more, method):
    assert told(TRAINER.format(more, "pass"), "ignored-num-items-in-batch").startswith(f"this `{method}` has no place")


SAVED = """
import argparse
import torch

parser = argparse.ArgumentParser()
parser.add_argument("--amp", action="store_true")
args = parser.parse_args()
model = torch.nn.Linear(4, 1)
optimizer = torch.optim.AdamW(model.parameters())
if model is not None:
{}
    for x in torch.randn(10, 8, 4):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(x).pow(2).mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    torch.save({{"model": model.state_dict(), "optimizer": optimizer.state_dict()}}, "c.pt")
"""
_MADE = "scaler = torch.amp.GradScaler("


@pytest.mark.parametrize(
    ("lines", "when"),
    [
        ([f"{_MADE}'cuda')"], ""),
        ([f"{_MADE}'cuda') if args.amp else None"], " (when `args.amp`)"),
        ([f"{_MADE}'cuda', enabled=args.amp)"], " (when `args.amp`)"),
        ([f"{_MADE}'cuda', enabled=args.mode == 'half')"], " (when `args.mode == 'half'`)"),
        ([f"{_MADE}'cuda', enabled=args.mode in ('a', 'b'))"], ""),
        ([f"{_MADE}'cuda', enabled=bool(args.amp))"], ""),
        (["if args.full:", "    pass", "else:", f"    {_MADE}'cuda')"], " (when `not args.full`)"),
        (["if args.amp:", f"    {_MADE}'cuda', enabled=args.half)"], ""),
    ],
)
def test_what_there_is_under_a_condition_is_missing_under_it(lines, when):
    said = told(SAVED.format("\n".join("    " + line for line in lines)), "scaler-not-saved")
    assert said.endswith(f"at the initial scale again{when}")


ENGINE = """
def train_one_epoch(model, loader, optimizer, args):
    optimizer.zero_grad()
    for i, x in enumerate(loader):
        loss = model(x).pow(2).mean() / args.accum_iter
        loss.backward()
        if (i + 1) % args.accum_iter == 0:
            optimizer.step()
            optimizer.zero_grad()
"""
MAIN = """
import argparse
from engine import train_one_epoch

def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--accum_iter", default=DEFAULT, type=int)
    return parser.parse_args()
"""


def of_the_tail(path):
    (told,) = [one.message for one in findings_of(ENGINE, str(path)) if one.code == "dropped-tail-window"]
    return told


@pytest.mark.parametrize(
    ("defaults", "said"), [(("1",), True), (("1", "1"), True), (("1", "4"), False), (("4",), False)]
)
def test_a_default_of_a_file_that_imports_the_loop_is_named(defaults, said, tmp_path):
    (tmp_path / "engine.py").write_text(ENGINE, encoding="utf-8")
    for number, default in enumerate(defaults):
        (tmp_path / f"main_{number}.py").write_text(MAIN.replace("DEFAULT", default), encoding="utf-8")
    words = "(with `args.accum_iter` above its default of 1)"
    assert of_the_tail(tmp_path / "engine.py").endswith(words) is said


def test_a_file_that_imports_the_loop_and_cannot_be_read_says_nothing(tmp_path):
    (tmp_path / "engine.py").write_text(ENGINE, encoding="utf-8")
    (tmp_path / "main.py").write_text(MAIN.replace("DEFAULT", "1"), encoding="utf-8")
    assert "default" in of_the_tail(tmp_path / "engine.py")
    (tmp_path / "main.py").write_bytes(b"\0" + MAIN.replace("DEFAULT", "1").encode())
    assert "default" not in of_the_tail(tmp_path / "engine.py")


OF_AN_ENGINE = """
import deepspeed

def train(args, model, loader, criterion):
    engine, _, _, _ = deepspeed.initialize(args=args, model=model, model_parameters=model.parameters())
    for x, y in loader:
        loss = criterion(engine(x), y) / args.accum
        engine.backward(loss)
        engine.step()
"""


def test_what_a_framework_calls_its_window_is_not_told():
    message = told(OF_AN_ENGINE, "double-loss-division")
    assert "divided by args.accum by hand" in message
    assert "self." not in message
