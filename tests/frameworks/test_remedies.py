"""What a finding says to do is right in the framework at hand: the wrong program is told so, the mended one runs.

Each slip is a right program of `programs/` with a line or two written otherwise. It is mended to the letter of what is
told, or, where nothing is written for that, back into the right program. Both halves call the mended program clean, it
trains on the CPU, and a run of the wrong one says the same words.

What is not installed here was read: DeepSpeed 0.19.6 (`deepspeed/runtime/engine.py`: `backward` divides by the window;
`_take_model_step` clips by `gradient_clipping`, 1.0 by default, steps, zeroes, keeps the norm, and moves the schedule
on unless the step overflowed), Apex of 2024 (`apex/amp/handle.py`, `scale_loss`: hands out the scaled loss, unscales at
its end, and has the optimizer skip a step after an overflow), MMEngine 0.10.7
(`mmengine/optim/optimizer/optimizer_wrapper.py`, `step`: clips as `clip_grad` says).
"""

from __future__ import annotations

import importlib.util
import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest

from amplint.analysis import findings_of
from amplint.catalogue import RULES
from amplint.dialects import REMEDIES
from tests.frameworks.test_frameworks import FP16, PROGRAMS, SCALER, SUM, ran

Changes = tuple[tuple[str, str], ...]

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the children are forked")


@dataclass(frozen=True)
class Slip:
    """What is changed in a right program (itself one of `programs/` with other changes), the rule that is broken then,
    what is told to do, and what that comes to in the wrong program; without any it is the right program again. `read`:
    rule and advice that a reader tells, whom nobody says that there is a loss scale."""

    program: str
    changes: Changes
    rule: str
    help: str
    mended: Changes = ()
    right: Changes = ()
    read: tuple[str, str] | None = None

    def texts(self) -> tuple[str, str, str]:
        """The right program, the wrong one, and that one mended."""
        right = changed((PROGRAMS / f"{self.program}.py").read_text(encoding="utf-8"), self.right)
        wrong = changed(right, self.changes)
        return right, wrong, changed(wrong, self.mended) if self.mended else right


def changed(text: str, changes: Changes) -> str:
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text


def told(text: str, folder: Path, noisy: bool = False) -> dict[str, str]:
    """Per rule that a program breaks, what is said to do; its settings are those of its folder."""
    path = folder / "program.py"
    path.write_text(text, encoding="utf-8")
    return {found.code: found.advice for found in findings_of(text, str(path), noisy=noisy)}


def without_new(text: str, right: str, folder: Path) -> set[str]:
    """The rules that a program breaks, and the right one does not."""
    return told(text, folder).keys() - told(right, folder).keys()


def indented(lines: str) -> str:
    return "".join(f"    {line}\n" for line in lines.splitlines())


# --- Accelerate -----------------------------------------------------------------------------------------------------

HALF = (("model = nn", f"{FP16}model = nn"),)
ASKED = "            if accelerator.sync_gradients:\n"
BACKWARD = "            accelerator.backward(loss)\n"
CLIP = f"{ASKED}                accelerator.clip_grad_norm_(model.parameters(), 1.0)\n"
EVERY = "            accelerator.clip_grad_norm_(model.parameters(), 1.0)\n"
STEP = "            optimizer.step()\n"
SCHEDULE = "            scheduler.step()\n"
ZERO = "            optimizer.zero_grad()\n"
NORM = "torch.stack([p.grad.norm() for p in model.parameters()]).norm()"
PREPARED = "model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)"
ALONE = (PREPARED, "model, optimizer, loader = accelerator.prepare(model, optimizer, loader)")
AVERAGE = ("data = torch", "average = torch.optim.swa_utils.AveragedModel(model)\ndata = torch")
FORWARD = "            loss = nn.functional.cross_entropy(model(x), y)\n"
REGION = '            with torch.autocast("cpu", dtype=torch.bfloat16):\n'
AT_BOUNDARY = "under `if accelerator.sync_gradients`"
BETWEEN = f"clip between `accelerator.backward(loss)` and `optimizer.step()`, {AT_BOUNDARY}"
BOTH_WAIT = "call `optimizer.zero_grad()` after `optimizer.step()`: prepared, both wait for the boundary"
ACCELERATE = {
    "raw backward": Slip(
        "accelerate_loop",
        (("accelerator.backward(loss)", "loss.backward()"),),
        "bypassed-framework-backward",
        "call `accelerator.backward(loss)` instead",
    ),
    "raw clip": Slip(
        "accelerate_loop",
        ((CLIP, EVERY.replace("accelerator", "nn.utils")),),
        "bypassed-framework-clip",
        f"call `accelerator.clip_grad_norm_(...)` instead, {AT_BOUNDARY}",
        right=HALF,
    ),
    "clip on each": Slip(
        "accelerate_loop",
        ((CLIP, EVERY),),
        "clip-per-micro-step",
        f"clip once per window, {AT_BOUNDARY}",
        right=(("cpu=True", 'cpu=True, mixed_precision="no"'),),
    ),
    "clip scaled on each": Slip(
        "accelerate_loop",
        ((CLIP, EVERY),),
        "repeated-unscale",
        f"let `accelerator.clip_grad_norm_(...)` unscale, in one call per window for all parameters, {AT_BOUNDARY}",
        right=HALF,
        read=("clip-per-micro-step", f"clip once per window, {AT_BOUNDARY}"),
    ),
    "clip after": Slip("accelerate_loop", ((CLIP + STEP, STEP + CLIP),), "clip-after-step", BETWEEN),
    "norm of scaled": Slip(
        "accelerate_loop",
        ((CLIP, f"{ASKED}                print({NORM})\n"),),
        "scaled-gradient-norm",
        f"use the norm that `accelerator.clip_grad_norm_(...)` returns {AT_BOUNDARY}: it unscales first, and with "
        '`float("inf")` it clips nothing',
        ((NORM, 'accelerator.clip_grad_norm_(model.parameters(), float("inf"))'),),
        HALF,
    ),
    "divided": Slip(
        "accelerate_loop",
        (("cross_entropy(model(x), y)", "cross_entropy(model(x), y) / 4"),),
        "double-loss-division",
        "leave the division to `accelerator.backward(loss)`",
    ),
    "no context": Slip(
        "accelerate_loop",
        (("with accelerator.accumulate(model):", "if True:"),),
        "missing-accumulate-context",
        "put the micro-step inside `with accelerator.accumulate(model):`",
    ),
    "backward at the boundary": Slip(
        "accelerate_loop",
        ((BACKWARD + CLIP, ASKED + indented(BACKWARD) + CLIP),),
        "backward-only-at-boundary",
        "call `accelerator.backward(loss)` on every micro-step: inside `accelerator.accumulate(model)` a prepared "
        "optimizer waits for the boundary by itself",
    ),
    "average": Slip(
        "accelerate_loop",
        ((STEP, f"{STEP}            average.update_parameters(model)\n"),),
        "ema-per-micro-step",
        f"update the average {AT_BOUNDARY}",
        (("            average.up", f"{ASKED}                average.up"),),
        (AVERAGE,),
    ),
    "schedule alone": Slip(
        "accelerate_loop",
        (ALONE,),
        "scheduler-per-micro-step",
        f"step it {AT_BOUNDARY}, or hand it to `accelerator.prepare`",
        ((SCHEDULE, f"{ASKED}    {SCHEDULE}"),),
    ),
    "schedule prepared": Slip(
        "accelerate_loop",
        (ALONE,),
        "scheduler-per-micro-step",
        f"step it {AT_BOUNDARY}, or hand it to `accelerator.prepare`",
        (ALONE[::-1],),
    ),
    "schedule of a skipped step": Slip(
        "accelerate_loop",
        (ALONE, (SCHEDULE, f"{ASKED}    {SCHEDULE}")),
        "scheduler-on-skipped-step",
        "hand it to `accelerator.prepare`, or step it only if `accelerator.optimizer_step_was_skipped` is False",
        ((f"    {SCHEDULE}", f"                if not accelerator.optimizer_step_was_skipped:\n        {SCHEDULE}"),),
        HALF,
    ),
    "update by hand": Slip(
        "accelerate_loop",
        ((STEP, f"{STEP}            accelerator.scaler.update()\n"),),
        "scaler-update-order",
        "take this update out: `optimizer.step()` updates the scaler",
        right=HALF,
    ),
    "optimizer alone": Slip(
        "accelerate_loop",
        ((PREPARED, "model, loader = accelerator.prepare(model, loader)"),),
        "step-bypasses-scaler",
        "step the optimizer that `accelerator.prepare` returns",
        right=HALF,
    ),
    "optimizer alone, each step": Slip(
        "accelerate_loop",
        ((PREPARED, "model, loader = accelerator.prepare(model, loader)"),),
        "step-per-micro-step",
        "step only on the micro-step that completes the window: inside `accelerator.accumulate(model)` a prepared "
        "optimizer does so by itself",
        right=(("cpu=True", 'cpu=True, mixed_precision="no"'),),
    ),
    "zero first": Slip(
        "accelerate_loop",
        ((BACKWARD + CLIP + STEP + SCHEDULE + ZERO, BACKWARD + CLIP + ZERO + STEP + SCHEDULE),),
        "zero-grad-before-step",
        BOTH_WAIT,
    ),
    "zero at the top": Slip(
        "accelerate_loop",
        ((ZERO, ""), (FORWARD, f"            model.zero_grad()\n{FORWARD}")),
        "zero-grad-per-micro-step",
        BOTH_WAIT,
    ),
    "no zero": Slip(
        "accelerate_loop", ((ZERO, ""),), "missing-zero-grad", "call `optimizer.zero_grad()` after every step"
    ),
    "own bfloat16": Slip(
        "accelerate_loop",
        ((FORWARD, REGION + indented(FORWARD)),),
        "scaler-with-bfloat16",
        'give the Accelerator `mixed_precision="bf16"`',
        ((FP16, ""), ("cpu=True", 'cpu=True, mixed_precision="bf16"')),
        HALF,
    ),
    "horizon in batches": Slip(
        "accelerate_loop",
        (("total_iters=12", "total_iters=2 * len(loader)"),),
        "scheduler-horizon-mismatch",
        "count it in updates",
    ),
    "schedule first": Slip(
        "accelerate_loop",
        ((STEP + SCHEDULE, SCHEDULE + STEP),),
        "scheduler-before-optimizer",
        "call `optimizer.step()` before `scheduler.step()`",
    ),
    "step twice": Slip(
        "accelerate_loop",
        ((STEP, STEP + STEP),),
        "repeated-step",
        "step once for each time that gradients were made, and zero them before others are made",
    ),
    "total": Slip(
        "accelerate_loop",
        (("for epoch", "total = 0.0\nfor epoch"), (BACKWARD, f"            total += loss\n{BACKWARD}")),
        "retained-graph",
        "add `.detach()` of the loss; `.item()` would wait for the device at every step",
        (("+= loss", "+= loss.detach()"),),
    ),
}  # fmt: skip

# --- Lightning and Fabric -------------------------------------------------------------------------------------------

MIXED = "pl.plugins.precision.MixedPrecision"
PLUGIN = f'"16-mixed", "cpu", {SCALER}'
IN_LIGHTNING = (("PLUGINS = None", f"PLUGINS = [{MIXED}({PLUGIN})]"),)
IN_FABRIC = (
    ("PLUGINS = None", f"from lightning.fabric.plugins import MixedPrecision\nPLUGINS = [MixedPrecision({PLUGIN})]"),
)
HOOK = "    def on_before_optimizer_step(self, optimizer):\n        {0}\n\n    def configure_optimizers"
CONFIGURE = "    def configure_optimizers"
OWN_CLIP = 'self.clip_gradients(optimizer, gradient_clip_val=1.0, gradient_clip_algorithm="norm")'
TORCH_CLIP = "nn.utils.clip_grad_norm_(self.parameters(), 1.0)"
OWN_NORM = "print(torch.stack([p.grad.norm() for p in self.parameters()]).norm())"
GATE = "        if (index + 1) % N == 0:\n"
MANUAL = "        self.manual_backward(loss)\n"
LOSS = "        loss = nn.functional.cross_entropy(self.net(x), y) / N\n"
IN_STEP = "clip in `on_before_optimizer_step`, which Lightning calls in `optimizer.step()`"
UNSCALED = f"{IN_STEP} once it has unscaled; nothing else may unscale"
RETURNED = "        return nn.functional.cross_entropy(self.net(x), y)\n"
NAMED = "        loss = nn.functional.cross_entropy(self.net(x), y)\n{0}        return loss\n"
OWN_SCALER = ("        self.net =", f"        self.scaler = {SCALER}\n        self.net =")


def clipped(line: str, before: str = GATE) -> tuple[str, str]:
    return before, f"{before}            {line}\n"


LIGHTNING = {
    "raw backward": Slip(
        "lightning_manual",
        (("self.manual_backward(loss)", "loss.backward()"),),
        "bypassed-framework-backward",
        "call `self.manual_backward(loss)` instead",
        right=IN_LIGHTNING,
    ),
    "own clip": Slip(
        "lightning_manual",
        (clipped(OWN_CLIP),),
        "clip-before-unscale",
        UNSCALED,
        ((f"            {OWN_CLIP}\n", ""), (CONFIGURE, HOOK.format(OWN_CLIP))),
        IN_LIGHTNING,
    ),
    "clip by torch": Slip(
        "lightning_manual",
        (clipped(TORCH_CLIP),),
        "clip-before-unscale",
        UNSCALED,
        ((f"            {TORCH_CLIP}\n", ""), (CONFIGURE, HOOK.format(TORCH_CLIP))),
        IN_LIGHTNING,
    ),
    "clip after": Slip(
        "lightning_manual",
        (("            optimizer.step()\n", f"            optimizer.step()\n            {OWN_CLIP}\n"),),
        "clip-after-step",
        IN_STEP,
        ((f"            {OWN_CLIP}\n", ""), (CONFIGURE, HOOK.format(OWN_CLIP))),
        IN_LIGHTNING,
    ),
    "clip before": Slip(
        "lightning_manual",
        ((MANUAL, f"        {OWN_CLIP}\n{MANUAL}"),),
        "clip-before-backward",
        IN_STEP,
        ((f"        {OWN_CLIP}\n", ""), (CONFIGURE, HOOK.format(OWN_CLIP))),
        IN_LIGHTNING,
    ),
    "unscale by hand": Slip(
        "lightning_manual",
        (clipped("self.trainer.precision_plugin.scaler.unscale_(optimizer)"),),
        "repeated-unscale",
        f"take `unscale_()` out, and {IN_STEP} once it has unscaled",
        right=IN_LIGHTNING,
    ),
    "norm of scaled": Slip(
        "lightning_manual",
        (clipped(OWN_NORM),),
        "scaled-gradient-norm",
        "measure it in `on_before_optimizer_step`, which Lightning calls in `optimizer.step()` once it has unscaled",
        ((f"            {OWN_NORM}\n", ""), (CONFIGURE, HOOK.format(OWN_NORM))),
        IN_LIGHTNING,
    ),
    "own bfloat16": Slip(
        "lightning_manual",
        ((LOSS, '        with torch.autocast("cpu", dtype=torch.bfloat16):\n' + indented(LOSS)),),
        "scaler-with-bfloat16",
        'give the Trainer `precision="bf16-mixed"`',
        (("plugins=PLUGINS", 'precision="bf16-mixed"'), tuple(reversed(IN_LIGHTNING[0]))),
        IN_LIGHTNING,
    ),
    "own scaler scales": Slip(
        "lightning_manual",
        (("self.manual_backward(loss)", "self.manual_backward(self.scaler.scale(loss))"), OWN_SCALER),
        "step-bypasses-scaler",
        'take the scaler of your own out, and give the Trainer `precision="16-mixed"`',
    ),
    "own scaler steps": Slip(
        "lightning_manual",
        (("optimizer.step()\n", "self.scaler.step(optimizer)\n            self.scaler.update()\n"), OWN_SCALER),
        "unscaled-backward",
        'take the scaler of your own out, and give the Trainer `precision="16-mixed"`',
    ),
    "undivided": Slip(
        "lightning_manual", ((" / N", ""),), "missing-loss-division", "divide the loss by 4 before its backward"
    ),
    "divided twice": Slip(
        "lightning_manual",
        ((" / N", " / N / N"),),
        "wrong-loss-divisor",
        "divide a mean by the number of micro-batches in its window",
    ),
    "schedule on each": Slip(
        "lightning_manual",
        (("            scheduler.step()", "        scheduler.step()"),),
        "scheduler-per-micro-step",
        "step the scheduler where the optimizer steps",
    ),
    "zero on each": Slip(
        "lightning_manual",
        (("            optimizer.zero_grad()\n            scheduler.step()\n", "            scheduler.step()\n        "
          "optimizer.zero_grad()\n"),),
        "zero-grad-per-micro-step",
        "zero the gradients once per window, after the optimizer's step",
    ),
    "divided by the loop's window": Slip(
        "lightning_automatic",
        ((RETURNED, NAMED.format("        loss = loss / self.trainer.accumulate_grad_batches\n")),),
        "double-loss-division",
        "return the loss undivided: Lightning divides it",
    ),
    "backward in the loop's step": Slip(
        "lightning_automatic",
        ((RETURNED, NAMED.format("        loss.backward()\n")),),
        "bypassed-framework-backward",
        "return the loss, and leave its backward to Lightning; or set `self.automatic_optimization = False`, and call "
        "`self.manual_backward(loss)`",
    ),
    "clip in the loop's step": Slip(
        "lightning_automatic",
        ((RETURNED, NAMED.format(f"        {TORCH_CLIP}\n")), ("    gradient_clip_val=1.0,\n", "")),
        "clip-before-backward",
        f"give the Trainer `gradient_clip_val`, or {IN_STEP}",
        ((f"        {TORCH_CLIP}\n", ""), (CONFIGURE, HOOK.format(TORCH_CLIP))),
    ),
    "step in the loop's step": Slip(
        "lightning_automatic",
        ((RETURNED, NAMED.format("        self.optimizers().step()\n")),),
        "gated-framework-step",
        "leave it to Lightning",
    ),
    "horizon in epochs": Slip(
        "lightning_automatic",
        (("total_iters=12", "total_iters=self.trainer.max_epochs"),),
        "scheduler-horizon-mismatch",
        "count it in updates, of which there are `self.trainer.estimated_stepping_batches`, or hand it over with "
        '`"interval": "epoch"`',
        (("self.trainer.max_epochs", "self.trainer.estimated_stepping_batches"),),
    ),
    "horizon in epochs, per epoch": Slip(
        "lightning_automatic",
        (("total_iters=12", "total_iters=self.trainer.max_epochs"),),
        "scheduler-horizon-mismatch",
        "count it in updates, of which there are `self.trainer.estimated_stepping_batches`, or hand it over with "
        '`"interval": "epoch"`',
        (('"interval": "step"', '"interval": "epoch"'),),
    ),
    "schedule per epoch": Slip(
        "lightning_automatic",
        (("LinearLR(optimizer, total_iters=12)",
          "OneCycleLR(optimizer, 0.1, total_steps=self.trainer.estimated_stepping_batches)"),
         ('{"scheduler": scheduler, "interval": "step"}', "scheduler")),
        "batch-scheduler-per-epoch",
        'hand it over as `{"scheduler": scheduler, "interval": "step"}`',
        (('"lr_scheduler": scheduler', '"lr_scheduler": {"scheduler": scheduler, "interval": "step"}'),),
    ),
}  # fmt: skip
FABRIC_CLIP = "fabric.clip_gradients(model, optimizer, max_norm=1.0)"
CAREFUL = "fabric.clip_gradients(model, optimizer, max_norm=1.0, error_if_nonfinite=False)"
MADE = "model, optimizer = fabric.setup(model, optimizer)"
FABRIC_LOSS = "            loss = nn.functional.cross_entropy(model(x), y) / N\n"
OVERFLOWS = (
    ("init_scale=64.0", "init_scale=1e38"),
    ("scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, total_iters=12)\n", ""),
    ("            scheduler.step()\n", ""),
)
FABRIC = {
    "raw backward": Slip(
        "fabric_loop",
        (("fabric.backward(loss)", "loss.backward()"),),
        "bypassed-framework-backward",
        "call `fabric.backward(loss)` instead",
    ),
    "raw clip": Slip(
        "fabric_loop",
        ((CAREFUL, "nn.utils.clip_grad_norm_(model.parameters(), 1.0)"),),
        "bypassed-framework-clip",
        "call `fabric.clip_gradients(model, optimizer, max_norm=..., error_if_nonfinite=False)` instead",
        (("nn.utils.clip_grad_norm_(model.parameters(), 1.0)", CAREFUL),),
        OVERFLOWS,
    ),
    "clip on each": Slip(
        "fabric_loop",
        ((f"        if not is_accumulating:\n            {CAREFUL}\n",
          f"        {CAREFUL}\n        if not is_accumulating:\n"),),
        "repeated-unscale",
        "let `fabric.clip_gradients(...)` unscale, once per window, where the optimizer steps",
        read=("clip-per-micro-step", "clip once per window, on the micro-step on which the optimizer steps"),
    ),
    "norm of scaled": Slip(
        "fabric_loop",
        ((CAREFUL, f"print({NORM})"),),
        "scaled-gradient-norm",
        "use the norm that `fabric.clip_gradients(...)` returns: it unscales first, and with "
        '`max_norm=float("inf"), error_if_nonfinite=False` it clips nothing',
        ((NORM, CAREFUL.replace("1.0", 'float("inf")')),),
    ),
    "optimizer alone": Slip(
        "fabric_loop",
        ((MADE, "model = fabric.setup(model)"), (f"            {CAREFUL}\n", "")),
        "step-bypasses-scaler",
        "step the optimizer that `fabric.setup` returns",
    ),
    "own bfloat16": Slip(
        "fabric_loop",
        ((FABRIC_LOSS, REGION + indented(FABRIC_LOSS)),),
        "scaler-with-bfloat16",
        'give Fabric `precision="bf16-mixed"`',
        (("plugins=PLUGINS", 'precision="bf16-mixed"'),),
    ),
    "schedule of a skipped step": Slip(
        "fabric_loop",
        (),
        "scheduler-on-skipped-step",
        "step it only if `fabric.strategy.precision.scaler.get_scale()` has not fallen in `optimizer.step()`",
        (("            optimizer.step()\n            scheduler.step()\n",
          "            scale = fabric.strategy.precision.scaler.get_scale()\n            optimizer.step()\n            "
          "if fabric.strategy.precision.scaler.get_scale() >= scale:\n                scheduler.step()\n"),),
    ),
    "undivided": Slip(
        "fabric_loop", ((" / N", ""),), "missing-loss-division", "divide the loss by 4 before its backward"
    ),
    "clip after": Slip(
        "fabric_loop",
        ((f"            {CAREFUL}\n            optimizer.step()\n",
          f"            optimizer.step()\n            {CAREFUL}\n"),),
        "clip-after-step",
        "clip between the backward and the optimizer's step",
    ),
    "zero before": Slip(
        "fabric_loop",
        (("            optimizer.zero_grad()\n", ""), ("            optimizer.step()\n",
          "            optimizer.zero_grad()\n            optimizer.step()\n")),
        "zero-grad-before-step",
        "zero the gradients after the step, or before the first backward of the window",
    ),
}  # fmt: skip
FABRIC = {name: replace(slip, right=(*IN_FABRIC, (FABRIC_CLIP, CAREFUL), *slip.right)) for name, slip in FABRIC.items()}

# --- the Trainer ----------------------------------------------------------------------------------------------------

DIVISION = "        loss = loss / num_items_in_batch\n"
COUNT = ", num_items_in_batch=None"
MEAN = ((SUM, "ignore_index=-100"), (DIVISION, ""))
TRAINER_CLIP = "        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n"
STEP_OF_OURS = (
    "class Mine(Trainer):\n",
    f"class Mine(Trainer):\n    def training_step(self, model, inputs{COUNT}):\n        inputs = self._prepare_inputs("
    "inputs)\n        loss = self.compute_loss(model, inputs, num_items_in_batch=num_items_in_batch)\n"
    "        self.accelerator.backward(loss)\n        return loss.detach()\n\n",
)
TRAINER = {
    "backward": Slip(
        "trainer",
        ((DIVISION, f"{DIVISION}        loss.backward()\n"),),
        "bypassed-framework-backward",
        "return the loss: `training_step` back-propagates it",
    ),
    "raw backward of a step": Slip(
        "trainer",
        (("self.accelerator.backward(loss)", "loss.backward()"),),
        "bypassed-framework-backward",
        "call `self.accelerator.backward(loss)` instead",
        right=(STEP_OF_OURS,),
    ),
    "clip": Slip(
        "trainer",
        ((DIVISION, f"{DIVISION}{TRAINER_CLIP}"),),
        "clip-before-backward",
        "set `max_grad_norm` in the TrainingArguments: the Trainer clips",
        ((TRAINER_CLIP, ""), ("max_steps=3,", "max_steps=3,\n    max_grad_norm=1.0,")),
    ),
    "divided twice": Slip(
        "trainer",
        ((DIVISION, DIVISION + DIVISION),),
        "double-loss-division",
        "normalize over the window once: by `num_items_in_batch`, and by nothing else",
    ),
    "step": Slip(
        "trainer",
        ((DIVISION, f"{DIVISION}        self.optimizer.step()\n"),),
        "gated-framework-step",
        "leave it to the Trainer",
    ),
    "count ignored": Slip(
        "trainer",
        MEAN,
        "ignored-num-items-in-batch",
        "normalize by it, pass it on to `super().compute_loss`, or declare `loss_is_scaled_for_ga = False`",
    ),
    "count ignored, declared": Slip(
        "trainer",
        MEAN,
        "ignored-num-items-in-batch",
        "normalize by it, pass it on to `super().compute_loss`, or declare `loss_is_scaled_for_ga = False`",
        (("class Mine(Trainer):\n", "class Mine(Trainer):\n    loss_is_scaled_for_ga = False\n\n"),),
        (("labels[2 + index % 9 :]", "labels[9:]"),),
    ),
    "no place for the count": Slip(
        "trainer",
        (*MEAN, (COUNT, "")),
        "ignored-num-items-in-batch",
        "take `num_items_in_batch=None`, and normalize by it or pass it on to `super().compute_loss`",
    ),
}  # fmt: skip

# --- what is not installed here: the wrong program alone ------------------------------------------------------------

ENGINE = """\
import deepspeed
import torch


def train(model, loader, criterion, optimizer, scheduler, ema):
    config = {"gradient_accumulation_steps": 4, "fp16": {"enabled": True}, "zero_optimization": {"stage": 1}}
    engine, optimizer, _, _ = deepspeed.initialize(model=model, optimizer=optimizer, config=config)
    for x, y in loader:
        loss = criterion(engine(x), y)
        engine.backward(loss)
        engine.step()
"""
BLOCKS = """\
import torch
from apex import amp


def train(model, loader, criterion, scaler):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model, optimizer = amp.initialize(model, optimizer, opt_level="O1")
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        with amp.scale_loss(loss, optimizer) as scaled:
            scaled.backward()
        optimizer.step()
"""
WRAPPED = """\
import torch
from mmengine.optim import AmpOptimWrapper


def train(model, loader, criterion):
    wrapper = AmpOptimWrapper(optimizer=torch.optim.SGD(model.parameters(), lr=0.1))
    for x, y in loader:
        loss = criterion(model(x), y)
        wrapper.backward(loss)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        wrapper.step()
        wrapper.zero_grad()
"""
OF_ENGINE = "        engine.step()\n"
CLIP_OF_TORCH = "torch.nn.utils.clip_grad_norm_(engine.parameters(), 1.0)\n"
ENGINE_CLIPS = (
    "set `gradient_clipping` in the configuration of DeepSpeed, and take this clip out: `engine.step()` clips"
)
MOVED_ON = "hand it to `deepspeed.initialize(..., lr_scheduler=scheduler)`: `engine.step()` moves it on {0}"
HANDED_OUT = (
    "back-propagate what the block hands out: `with amp.scale_loss(loss, optimizer) as scaled: scaled.backward()`"
)
NO_SCALER = "take the GradScaler out: `amp.scale_loss` scales and unscales, and an overflow skips `optimizer.step()`"
UNINSTALLED = [
    (ENGINE, (OF_ENGINE, f"        {CLIP_OF_TORCH}{OF_ENGINE}"), "bypassed-framework-clip", ENGINE_CLIPS),
    (ENGINE, (OF_ENGINE, f"{OF_ENGINE}        {CLIP_OF_TORCH}"), "clip-after-step", ENGINE_CLIPS),
    (
        ENGINE,
        ("engine(x), y)", "engine(x), y) / 4"),
        "double-loss-division",
        "leave the division to `engine.backward(loss)`",
    ),
    (
        ENGINE,
        ("engine.backward(loss)", "loss.backward()"),
        "bypassed-framework-backward",
        "call `engine.backward(loss)` instead",
    ),
    (
        ENGINE,
        (OF_ENGINE, f"{OF_ENGINE}        scheduler.step()\n"),
        "scheduler-per-micro-step",
        MOVED_ON.format("once per window"),
    ),
    (
        ENGINE,
        (OF_ENGINE, f"        print(torch.stack([p.grad.norm() for p in model.parameters()]).norm())\n{OF_ENGINE}"),
        "scaled-gradient-norm",
        "use `engine.get_global_grad_norm()` after `engine.step()`",
    ),
    (BLOCKS, ("scaled.backward()", "loss.backward()"), "discarded-scaled-loss", HANDED_OUT),
    (
        BLOCKS,
        ("        with amp.scale_loss(loss, optimizer) as scaled:\n            scaled", "        loss"),
        "bypassed-framework-backward",
        HANDED_OUT,
    ),
    (
        BLOCKS,
        (
            "scaled.backward()\n",
            "scaled.backward()\n            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n",
        ),
        "clip-before-unscale",
        "clip after the block of `amp.scale_loss`, which unscales the gradients at its end",
    ),
    (BLOCKS, ("optimizer.step()", "scaler.step(optimizer)\n        scaler.update()"), "unscaled-backward", NO_SCALER),
    (
        WRAPPED,
        ("criterion(model", "criterion(model"),
        "bypassed-framework-clip",
        "give the optimizer wrapper `clip_grad`, and take this clip out: the wrapper clips",
    ),
]


@pytest.mark.parametrize(("text", "change", "rule", "help_"), UNINSTALLED)
def test_what_to_do_is_told_for_frameworks_that_are_not_installed(text, change, rule, help_, tmp_path):
    assert told(changed(text, (change,)), tmp_path, noisy=True).get(rule) == help_


def test_no_backquote_is_left_open_in_what_to_do():
    assert [words for words in every_help() if words.count("`") % 2] == []


def test_what_frameworks_say_is_said_of_rules():
    assert {rule for remedies in REMEDIES.values() for rule in remedies} <= RULES.keys()


SUITES = {
    "accelerate": (ACCELERATE, ("accelerate",)),
    "lightning": (LIGHTNING, ("lightning.pytorch", "lightning.fabric")),
    "fabric": (FABRIC, ("lightning.pytorch", "lightning.fabric")),
    "transformers": (TRAINER, ("transformers", "transformers.trainer")),
}
IN_A_RUN = {"bypassed-framework-clip", "clip-before-unscale", "double-loss-division"}
"""The rules whose wrong programs are run as well; that the Trainer divides twice is not seen in a run."""
SLIPS = [
    pytest.param(slip, id=f"{suite}: {name}") for suite, (slips, _) in SUITES.items() for name, slip in slips.items()
]


@pytest.mark.parametrize("slip", SLIPS)
def test_a_slip_is_told_with_what_to_do_in_its_framework(slip, tmp_path):
    rule, advice = slip.read or (slip.rule, slip.help)
    assert told(slip.texts()[1], tmp_path, noisy=True).get(rule) == advice


@pytest.mark.parametrize("slip", SLIPS)
def test_a_program_that_is_mended_as_told_is_clean(slip, tmp_path):
    right, _, mended = slip.texts()
    assert without_new(mended, right, tmp_path) == set()
    assert slip.rule not in told(mended, tmp_path, noisy=True)


@pytest.mark.parametrize("suite", ["accelerate", "lightning and fabric", "transformers"])
def test_what_is_mended_as_told_trains_and_a_run_says_the_same(suite, tmp_path):
    chosen = [SUITES[name] for name in suite.split(" and ")]
    modules = chosen[0][1]
    if importlib.util.find_spec(modules[0].partition(".")[0]) is None:
        pytest.skip(f"{suite} is not installed: pip install 'amplint[frameworks]'")
    slips = {f"{at}_{name.replace(' ', '_').replace(',', '')}": slip for at, (every, _) in enumerate(chosen)
             for name, slip in every.items()}  # fmt: skip
    programs = {slip.texts()[2]: f"right_{name}" for name, slip in slips.items()}
    wrong = {name: slip for name, slip in slips.items() if slip.rule in IN_A_RUN and slip.program != "trainer"}
    for name, slip in wrong.items():
        (tmp_path / f"wrong_{name}.py").write_text(slip.texts()[1], encoding="utf-8")
    for text, name in programs.items():
        (tmp_path / f"{name}.py").write_text(text, encoding="utf-8")
    statuses = ran(modules, tmp_path)
    seen = {name: (statuses[name], broken(tmp_path, name)) for name in programs.values()}
    assert seen == {name: (0, {}) for name in programs.values()}
    for name, slip in wrong.items():
        assert broken(tmp_path, f"wrong_{name}").get(slip.rule) == slip.help


def every_help() -> set[str]:
    """What is said to do in some framework, and not with torch alone."""
    return {words for remedies in REMEDIES.values() for words in remedies.values()}


def broken(folder: Path, name: str) -> Mapping[str, str]:
    """Per rule that a run broke, what was said to do."""
    report = folder / f"{name}.json"
    assert report.exists(), (folder / f"{name}.log").read_text(encoding="utf-8")
    return {one["code"]: one["advice"] for one in json.loads(report.read_text(encoding="utf-8"))["violations"]}
