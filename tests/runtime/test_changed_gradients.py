"""Gradients that are scaled or divided where no call says so, in ways that the linter does not follow: nothing is told.

What both halves know of is in `tests/cases/gradients-by-hand.md` and `scales-by-hand.md`.
"""

import pytest

from amplint.catalogue.examples import STAGE
from tests.runtime.live import guarded, told

STAGE_ALONE = "".join(line for line in STAGE.splitlines(keepends=True) if not line.startswith("scheduler"))
WINDOWS = """
for i, (x, y) in enumerate(loader * 4):
    {loss}.backward()
    if (i + 1) % accum_steps == 0:
        {before}
        optimizer.step()
        optimizer.zero_grad()
"""
WHOLE = WINDOWS.format(loss="criterion(model(x), y)", before="pass")
UNDIVIDED = ["missing-loss-division"]

FUNCTION = """
class Share(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, count):
        ctx.count = count
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        return {backward}, None
"""
EVERY = """
from torch.optim.optimizer import register_optimizer_step_pre_hook


def average(opt, args, kwargs):
    for p in opt.param_groups[0]["params"]:
        {edit}


handle = register_optimizer_step_pre_hook(average)
"""
ARRAYS = "{body} for a in [p.grad.numpy() for p in model.parameters()]]"
SCALED = """
scaler.scale(torch.zeros(1))
for i, (x, y) in enumerate(loader):
    optimizer.zero_grad()
    {loss}.backward()
    scaler.step(optimizer)
    scaler.update()
"""
ONE_BY_ONE = 'F.cross_entropy(model(x), y, reduction="none")'

PROGRAMS = {
    "a function divides": (
        FUNCTION.format(backward="gradient / ctx.count")
        + WINDOWS.format(loss="criterion(Share.apply(model(x), accum_steps), y)", before="pass"),
        [],
    ),
    "a function hands on": (
        FUNCTION.format(backward="gradient")
        + WINDOWS.format(loss="criterion(Share.apply(model(x), accum_steps), y)", before="pass"),
        UNDIVIDED,
    ),
    "a hook of all optimizers divides": (
        EVERY.format(edit="p.grad.div_(accum_steps)") + WHOLE + "handle.remove()\n",
        [],
    ),
    "a hook of all optimizers looks": (
        EVERY.format(edit="print(p.grad.norm())") + WHOLE + "handle.remove()\n",
        UNDIVIDED,
    ),
    "arrays are divided": (
        WINDOWS.format(loss="criterion(model(x), y)", before="[" + ARRAYS.format(body="a.__itruediv__(accum_steps)")),
        [],
    ),
    "arrays are read": (
        WINDOWS.format(loss="criterion(model(x), y)", before="[" + ARRAYS.format(body="a.sum()")),
        UNDIVIDED,
    ),
    "a hook of modules divides on a condition": (
        "model.register_full_backward_pre_hook("
        "lambda module, given: tuple(one / accum_steps for one in given) if module is model else None)\n" + WHOLE,
        [],
    ),
    "a hook is given to a node": (
        WINDOWS.format(
            loss="(out := model(x), out.grad_fn.register_prehook(lambda given: (given[0] / accum_steps,)),"
            " criterion(out, y))[2]",
            before="pass",
        ),
        [],
    ),
    "a hook is given to a node by a function": (
        "def divided(out):\n"
        "    out.grad_fn.register_hook(lambda given, _: (given[0] / accum_steps, *given[1:]))\n"
        "    return out\n" + WINDOWS.format(loss="criterion(divided(model(x) + 0.0), y)", before="pass"),
        [],
    ),
    "a module is given a hook late": (
        WINDOWS.format(loss="(criterion(model(x), y) / (accum_steps if i < 12 else 1))", before="pass")
        .replace("    (crit", "    if i == 12:\n        model.register_full_backward_pre_hook(divide)\n    (crit")
        .replace("\nfor", "\ndef divide(module, given):\n    return given[0] / accum_steps,\n\n\nfor"),
        [],
    ),
    "a module is given a hook late that looks": (
        WINDOWS.format(loss="criterion(model(x), y)", before="pass").replace(
            "    crit",
            "    if i == 12:\n        model.register_full_backward_pre_hook(lambda _, given: print(given))\n    crit",
        ),
        UNDIVIDED,
    ),
    "each element is scaled": (SCALED.format(loss=f"({ONE_BY_ONE} * scaler.get_scale()).mean()"), []),
    "each element is scaled by its scaler": (SCALED.format(loss=f"scaler.scale({ONE_BY_ONE}).mean()"), []),
    "the scale is divided as well": (SCALED.format(loss="(criterion(model(x), y) * (scaler.get_scale() / 4))"), []),
    "the output is handed a gradient": (
        "class Handed:\n"
        "    def __init__(self, out, loss):\n"
        "        self.out, self.given = out, torch.autograd.grad(loss, out, retain_graph=True)[0]\n\n"
        "    def backward(self):\n"
        "        self.out.backward(self.given * scaler.get_scale())\n\n"
        + SCALED.format(loss="Handed(out := model(x), criterion(out, y))"),
        [],
    ),
    "nothing is scaled": (SCALED.format(loss=f"{ONE_BY_ONE}.mean()"), ["unscaled-backward"]),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_what_was_changed_is_not_called_unchanged(name, tmp_path):
    source, rules = PROGRAMS[name]
    assert [one.partition(": ")[2] for one in told(guarded(STAGE_ALONE + source, tmp_path))] == rules


def test_what_is_not_judged_is_said(tmp_path):
    source, _ = PROGRAMS["a function divides"]
    said = guarded(STAGE_ALONE + source, tmp_path).report()["not_covered"]
    assert any("may change on their way" in one for one in said)
