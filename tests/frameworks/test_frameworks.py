"""Accelerate, Lightning, Fabric, transformers' Trainer and TRL's SFTTrainer, really run on the CPU under the guard.

The right programs stand in `programs/`. A wrong one is a right one with a line or two written otherwise.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PROGRAMS = Path(__file__).parent / "programs"
SCALER = 'torch.amp.GradScaler("cpu", init_scale=64.0)'
FP16 = f'accelerator.state._mixed_precision = "fp16"\naccelerator.native_amp = True\naccelerator.scaler = {SCALER}\n'
PLUGIN = f'MixedPrecision("16-mixed", "cpu", {SCALER})'
IN_LIGHTNING = ("plugins=PLUGINS", f"plugins=[pl.plugins.precision.{PLUGIN}]")
IN_FABRIC = ("PLUGINS = None", f"from lightning.fabric.plugins import MixedPrecision\nPLUGINS = [{PLUGIN}]")
SUM = 'ignore_index=-100, reduction="sum"'
CALLBACK = "from runtime_guard.bridges.{0} import GuardCallback\n{1}"

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the children are forked")


@dataclass(frozen=True)
class Case:
    """A program with some text replaced; what is found in it, as (rule, part of the line); the weight of a window."""

    program: str
    changes: tuple[tuple[str, str], ...] = ()
    found: tuple[tuple[str, str], ...] = ()
    weight: float | None = 1.0
    words: tuple[str, ...] = field(default=())

    def source(self) -> str:
        text = (PROGRAMS / f"{self.program}.py").read_text(encoding="utf-8")
        for old, new in self.changes:
            assert old in text, f"{self.program}: {old}"
            text = text.replace(old, new)
        return text


def wrong(program: str, change: tuple[str, str], rule: str, at: str, weight: float | None = 1.0) -> Case:
    return Case(program, (change,), ((rule, at),), weight)


DIVIDED = "cross_entropy(model(x), y)", "cross_entropy(model(x), y) / 4"
ACCELERATE = {
    "right": Case("accelerate_loop"),
    "right_bf16": Case("accelerate_loop", (("cpu=True", 'cpu=True, mixed_precision="bf16"'),)),
    "right_fp16": Case("accelerate_loop", (("model = nn", f"{FP16}model = nn"),)),
    "right_tokens": Case("accelerate_tokens"),
    "right_as_one_of_two_processes": Case(
        "accelerate_loop",
        (("total_iters=12", "total_iters=24"),
         ("for epoch", "from accelerate.state import PartialState\nPartialState._shared_state['num_processes'] = 2\n"
          "for epoch")),
    ),
    "divided_twice": wrong("accelerate_loop", DIVIDED, "double-loss-division", "accelerator.backward(loss)", 0.25),
    "divided_twice_by_two": Case(
        "accelerate_loop",
        (("steps=4", "steps=2"), ("cross_entropy(model(x), y)", "cross_entropy(model(x), y) / 2")),
        (("double-loss-division", "accelerator.backward(loss)"),),
        0.5,
    ),
    "divided_twice_by_hand": Case(
        "accelerate_loop",
        (
            ("gradient_accumulation_steps=4, ", ""),
            ("for x, y in loader:\n        with accelerator.accumulate(model):", "for i, (x, y) in enumerate(loader):\n"
             "        if True:"),
            ("cross_entropy(model(x), y)", "cross_entropy(model(x), y) / 4 / 4"),
            ("            if accelerator.sync_gradients:\n", "            if i % 4 != 3:\n                continue\n"
             "            if True:\n"),
        ),
        (("wrong-loss-divisor", "accelerator.backward(loss)"),),
        0.25,
    ),
    "raw_backward": wrong(
        "accelerate_loop",
        ("accelerator.backward(loss)", "loss.backward()"),
        "bypassed-framework-backward",
        "loss.backward()",
        4.0,
    ),
    "scheduler_not_prepared": wrong(
        "accelerate_loop",
        ("model, optimizer, loader, scheduler = accelerator.prepare(model, optimizer, loader, scheduler)",
         "model, optimizer, loader = accelerator.prepare(model, optimizer, loader)"),
        "scheduler-per-micro-step",
        "scheduler.step()",
    ),
    "zeroed_at_the_top": Case(
        "accelerate_loop",
        (
            ("            optimizer.zero_grad()\n", ""),
            ("accumulate(model):\n", "accumulate(model):\n            optimizer.zero_grad()\n"),
        ),
        (("zero-grad-per-micro-step", "optimizer.zero_grad()"),),
        0.25,
    ),
    "context_not_entered": Case(
        "accelerate_loop",
        (("with accelerator.accumulate(model):", "if True:"),),
        (("missing-accumulate-context", "optimizer.step()"),),
        0.25,
    ),
    "clipped_on_every_micro_step": wrong(
        "accelerate_loop", ("if accelerator.sync_gradients:", "if True:"), "clip-per-micro-step", "clip_grad_norm_"
    ),
    "clipped_by_torch": Case(
        "accelerate_loop",
        (("model = nn", f"{FP16}model = nn"), ("accelerator.clip_grad_norm_", "nn.utils.clip_grad_norm_")),
        (("bypassed-framework-clip", "nn.utils.clip_grad_norm_"),),
    ),
    "watched": Case(
        "accelerate_loop",
        (
            ("for epoch", "from runtime_guard.bridges.loops import watch\nguarding = watch(accelerator, mode='record')"
             "\nguarding.__enter__()\nfor epoch"),
            ("            optimizer.zero_grad()\n", "            optimizer.zero_grad()\nguarding.__exit__(None, None, "
             "None)\nimport json\nopen('watched.json', 'w').write(json.dumps(guarding.report(), default=str))\n"),
        ),
    ),
}  # fmt: skip
LIGHTNING = {
    "right": Case("lightning_automatic"),
    "right_bf16": Case("lightning_automatic", (("accelerator=", 'precision="bf16-mixed", accelerator='),)),
    "right_fp16": Case("lightning_automatic", (("accelerator=", f"{IN_LIGHTNING[1]}, accelerator="),)),
    "divided_twice": wrong(
        "lightning_automatic",
        ("cross_entropy(self.net(x), y)", "cross_entropy(self.net(x), y) / 4"),
        "double-loss-division",
        "def training_step",
        0.25,
    ),
    "own_backward_hook": Case(
        "lightning_automatic",
        (("    def configure_optimizers", "    def backward(self, loss):\n        loss.backward()\n\n"
          "    def configure_optimizers"),),
    ),
    "manual_right": Case("lightning_manual"),
    "manual_right_fp16": Case("lightning_manual", (IN_LIGHTNING,)),
    "manual_undivided": wrong(
        "lightning_manual", (" / N", ""), "missing-loss-division", "self.manual_backward(loss)", 4.0
    ),
    "manual_scheduler_per_micro_step": wrong(
        "lightning_manual", ("            scheduler.step()", "        scheduler.step()"), "scheduler-per-micro-step",
        "scheduler.step()",
    ),
    "manual_clips_scaled": Case(
        "lightning_manual",
        (IN_LIGHTNING, ("            optimizer.step()",
                        '            self.clip_gradients(optimizer, 1.0, "norm")\n            optimizer.step()')),
        (("clip-before-unscale", "self.clip_gradients"),),
    ),
    "manual_raw_backward": Case(
        "lightning_manual",
        (("self.manual_backward(loss)", "loss.backward()"),),
        (("bypassed-framework-backward", "loss.backward()"),),
    ),
    "called_back": Case(
        "lightning_automatic",
        (
            ("trainer = pl.Trainer(", CALLBACK.format("lightning", "trainer = pl.Trainer(callbacks=[GuardCallback("
             "report='called_back.json', mode='record', tensorboard='board')], ")),
            ("accelerator=", f"{IN_LIGHTNING[1]}, accelerator="),
        ),
    ),
    "fabric_right": Case("fabric_loop"),
    "fabric_divided_twice": wrong(
        "fabric_loop", (" / N", " / N / N"), "wrong-loss-divisor", "fabric.backward(loss)", 0.25
    ),
    "fabric_undivided": wrong(
        "fabric_loop", (" / N", ""), "missing-loss-division", "fabric.backward(loss)", 4.0
    ),
    "fabric_raw_backward": wrong(
        "fabric_loop", ("fabric.backward(loss)", "loss.backward()"), "bypassed-framework-backward", "loss.backward()"
    ),
    "fabric_clipped_by_torch": Case(
        "fabric_loop",
        (IN_FABRIC, ("fabric.clip_gradients(model, optimizer, max_norm=1.0)",
                     "nn.utils.clip_grad_norm_(model.parameters(), 1.0)")),
        (("bypassed-framework-clip", "nn.utils.clip_grad_norm_"),),
    ),
}  # fmt: skip
HANDED = (
    ("class Mine(Trainer):\n", "class Mine(Trainer):\n    pass\n\n\n"
     "def summed(outputs, labels, num_items_in_batch=None):\n    return torch.nn.functional.cross_entropy(\n        "
     f"outputs.logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten(), {SUM}\n    ) / num_items_in_batch\n\n\n"
     "class Other:\n"),
    ("callbacks=CALLBACKS", "compute_loss_func=summed"),
)  # fmt: skip
IGNORED = ("        loss = loss / num_items_in_batch\n", "")
TRAINER = {
    "right": Case("trainer"),
    "num_items_ignored": Case(
        "trainer",
        ((SUM, "ignore_index=-100"), IGNORED),
        (("ignored-num-items-in-batch", "def compute_loss"),),
        4.0,
    ),
    "step_overridden": Case(
        "trainer",
        (
            (SUM, "ignore_index=-100"),
            IGNORED,
            ("class Mine(Trainer):\n", "class Mine(Trainer):\n    def training_step(self, model, inputs, "
             "num_items_in_batch=None):\n        loss = self.compute_loss(model, self._prepare_inputs(inputs))\n"
             "        self.accelerator.backward(loss)\n        return loss.detach()\n\n"),
        ),
        (
            ("mean-of-token-means", "accelerator.backward(loss)"),
            ("missing-loss-division", "accelerator.backward(loss)"),
        ),
        4.0,
    ),
    "function_that_ignores_num_items": Case(
        "trainer",
        (
            ("class Mine(Trainer):\n", "class Mine(Trainer):\n    pass\n\n\n"
             "def mean(outputs, labels, num_items_in_batch=None):\n    return torch.nn.functional.cross_entropy("
             "outputs.logits[:, :-1].flatten(0, 1), labels[:, 1:].flatten())\n\n\nclass Other:\n"),
            ("callbacks=CALLBACKS", "compute_loss_func=mean"),
        ),
        (("ignored-num-items-in-batch", "def mean"),),
        4.0,
    ),
    "clipped_on_every_micro_step": wrong(
        "trainer",
        ("class Mine(Trainer):\n", "class Mine(Trainer):\n    def training_step(self, model, inputs, "
         "num_items_in_batch=None):\n        loss = super().training_step(model, inputs, num_items_in_batch)\n"
         "        torch.nn.utils.clip_grad_norm_(model.parameters(), 0.01)\n        return loss\n\n"),
        "clip-per-micro-step",
        "nn.utils.clip_grad_norm_",
    ),
    "function_that_normalizes": Case("trainer", HANDED),
    "function_given_some_of_it": Case(
        "trainer",
        (
            *HANDED,
            ("def summed(outputs", "def summed(weight, outputs"),
            (f"{SUM}\n    ) / num_items_in_batch", "ignore_index=-100\n    ) * weight"),
            ("compute_loss_func=summed", "compute_loss_func=__import__('functools').partial(summed, 1.0)"),
        ),
        (("ignored-num-items-in-batch", "def summed"),),
        4.0,
    ),
    "module_that_divides_again": Case(
        "trainer",
        (
            *HANDED,
            ("def summed(outputs, labels, num_items_in_batch=None):\n    return",
             "class Summed(torch.nn.Module):\n  def forward(self, outputs, labels, num_items_in_batch=None):\n"
             "    return"),
            ("/ num_items_in_batch", "/ num_items_in_batch / arguments.gradient_accumulation_steps"),
            ("compute_loss_func=summed", "compute_loss_func=Summed()"),
        ),
        (("double-loss-division", "def forward"),),
        0.25,
    ),
    "called_back": Case(
        "trainer",
        (("CALLBACKS = []", CALLBACK.format("transformers", "CALLBACKS = [GuardCallback(report='called_back.json', "
          "mode='record', tensorboard='board')]")),),
    ),
    "sft_right": Case("sft"),
    "sft_num_items_ignored": Case(
        "sft",
        (("    pass\n", "    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):\n"
          "        made = model(**inputs)\n        return (made.loss, made) if return_outputs else made.loss\n"),),
        (("ignored-num-items-in-batch", "def compute_loss"),),
        4.0,
    ),
}  # fmt: skip
SUITES = {
    "accelerate": (ACCELERATE, ("accelerate",)),
    "lightning": (LIGHTNING, ("lightning.pytorch", "lightning.fabric")),
    "transformers": (TRAINER, ("transformers", "trl", "datasets", "transformers.trainer", "trl.trainer.sft_trainer")),
}


@pytest.mark.parametrize("suite", SUITES)
def test_right_programs_are_confirmed_and_wrong_ones_are_found_at_the_users_line(suite, tmp_path):
    cases, modules = SUITES[suite]
    for module in modules:
        if importlib.util.find_spec(module.partition(".")[0]) is None:
            pytest.skip(f"{module.partition('.')[0]} is not installed: pip install 'amplint[frameworks]'")
    for name, case in cases.items():
        (tmp_path / f"{name}.py").write_text(case.source(), encoding="utf-8")
    statuses = ran(modules, tmp_path)
    seen = {name: outcome(tmp_path, name, statuses[name]) for name in cases}
    assert seen == {name: (0, sorted(case.found), case.weight) for name, case in cases.items()}


def ran(modules: tuple[str, ...], folder: Path) -> dict[str, int]:
    """The status of every program of a folder."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    batch = [sys.executable, str(Path(__file__).parent / "batch.py"), ",".join(modules), str(folder)]
    done = subprocess.run(batch, env=environment, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return {name: int(status) for name, status in (line.split() for line in done.stdout.splitlines())}


def outcome(folder: Path, name: str, status: int) -> tuple[int, list[tuple[str, str]], float | None]:
    """How a program ended, what was found in it, each with the part of its line that is expected, and its weight."""
    file = folder / f"{name}.json"
    assert file.exists(), (folder / f"{name}.log").read_text(encoding="utf-8")
    report = json.loads(file.read_text(encoding="utf-8"))
    parts = {part for suite, _ in SUITES.values() for case in suite.values() for _, part in case.found}
    found = []
    for violation in report["violations"]:
        site = violation["site"]
        assert Path(site["file"]).name == f"{name}.py"
        known = [part for part in parts if part in (site["source"] or "")]
        found.append((violation["code"], max(known, key=len) if known else site["source"]))
    return status, sorted(found), weight(report)


def weight(report: dict) -> float | None:
    """What the windows of the first optimizer weigh, to a thousandth, if all of them weigh the same."""
    measured = report["optimizers"][0]["weight_sum"]["graph"]
    same = measured is not None and abs(measured["max"] - measured["min"]) < 1e-3
    return round(measured["max"], 3) if same else None
