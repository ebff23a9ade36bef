"""Engines of a team's own, taught in `[tool.amplint.dialects]`: what is found through them, and what is not."""

import pytest

ENGINE = """
[tool.amplint.dialects."mylib.Engine.back"]
event = "backward"
divides = true
scales = true
[tool.amplint.dialects."mylib.Engine.advance"]
event = "step"
gates = true
unscales = true
"""
HALF = """
[tool.amplint.dialects."mylib.amp.back"]
event = "backward"
scales = true
[tool.amplint.dialects."mylib.amp.clip"]
event = "clip"
unscales = true
[tool.amplint.dialects."mylib.amp.step"]
event = "step"
unscales = true
zeroes = false
"""
LOOP = """\
import torch
from mylib import Engine


def train(args, model, loader, criterion):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    engine = Engine(model, optimizer, accum_steps=args.accum)
    for i, (x, y) in enumerate(loader):
        {loss}
        {backward}
        {step}
"""
RIGHT = {"loss": "loss = criterion(model(x), y)", "backward": "engine.back(loss)", "step": "engine.advance()"}
FUNCTIONS = """\
import torch
from mylib import amp


def train(model, loader, criterion):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        {zero}
        loss = criterion(model(x), y)
        {backward}
        {clip}
        amp.step(optimizer)
"""
FREE = {"zero": "optimizer.zero_grad()", "backward": "amp.back(loss)", "clip": "amp.clip(optimizer)"}


@pytest.fixture
def told(amplint, write):
    """The rules that speak of a file under some tables."""

    def ask(tables, text):
        write({"pyproject.toml": f"[tool.amplint]\n{tables}", "train.py": text})
        ended = amplint("--output-format", "concise", "-q", analysis=None)
        assert ended.err == ""
        assert ended.code in (0, 1)
        return [line.partition("[")[2].partition("]")[0] for line in ended.out.splitlines()]

    return ask


def test_a_loop_over_an_engine_is_right(told):
    assert told(ENGINE, LOOP.format(**RIGHT)) == []


@pytest.mark.parametrize(
    ("changed", "rule"),
    [
        ({"loss": "loss = criterion(model(x), y) / args.accum"}, "double-loss-division"),
        ({"step": "if (i + 1) % args.accum == 0: engine.advance()"}, "gated-framework-step"),
        ({"step": "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0); engine.advance()"}, "clip-before-unscale"),
    ],
)
def test_a_mistake_at_an_engine_is_found_and_without_its_tables_nothing_is_said(told, changed, rule):
    text = LOOP.format(**RIGHT | changed)
    assert rule in told(ENGINE, text)
    assert rule not in told("", text)


def test_a_message_calls_the_step_of_an_engine_as_the_table_does(amplint, write):
    text = LOOP.format(**RIGHT | {"step": "if (i + 1) % args.accum == 0: engine.advance()"})
    write({"pyproject.toml": f"[tool.amplint]\n{ENGINE}", "train.py": text})
    ended = amplint("--output-format", "concise", "-q", analysis=None)
    assert "`Engine.advance()` steps once in args.accum calls" in ended.out
    assert "engine.step()" not in ended.out


def test_a_backward_past_the_engine_is_found(told):
    assert told(ENGINE, LOOP.format(**RIGHT | {"backward": "loss.backward()"})) != []


def test_functions_are_taught_as_well(told):
    assert told(HALF, FUNCTIONS.format(**FREE)) == []
    assert told(HALF, FUNCTIONS.format(**FREE | {"zero": "pass"})) == ["missing-zero-grad"]
    clip = "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)"
    assert told(HALF, FUNCTIONS.format(**FREE | {"clip": clip})) == ["clip-before-unscale"]


def test_an_erasure_that_the_engine_gates_is_right_and_one_by_hand_is_not(told):
    tables = ENGINE + '[tool.amplint.dialects."mylib.Engine.clear"]\nevent = "zero_grad"\ngates = true\n'
    assert told(tables, LOOP.format(**RIGHT | {"step": "engine.advance(); engine.clear()"})) == []
    by_hand = LOOP.format(**RIGHT | {"step": "optimizer.zero_grad(); engine.advance()"})
    assert told(tables, by_hand) == ["zero-grad-before-step"]


def test_the_window_is_the_argument_that_a_table_names(told):
    text = LOOP.format(**RIGHT | {"step": "if (i + 1) % args.accum == 0: engine.advance()"}).replace(
        "accum_steps", "every"
    )
    assert told(ENGINE, text) == []
    assert "gated-framework-step" in told(ENGINE + 'window = "every"\n', text)


def test_an_unscale_that_was_taught_makes_a_clip_right(told):
    tables = ENGINE + '[tool.amplint.dialects."mylib.Engine.prepare"]\nevent = "unscale"\n'
    tables = tables.replace("gates = true\n", "")
    step = "engine.prepare(); torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0); engine.advance()"
    assert "clip-before-unscale" not in told(tables, LOOP.format(**RIGHT | {"step": step}))


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ('"Engine"]\nevent = "backward"', "is not the dotted name of a function or method"),
        ('"a.b"]\ndivides = true', "has no `event`; it is one of backward, clip, step"),
        ('"a.b"]\nevent = "forward"', "there is no event `forward`; it is one of backward, clip, step"),
        ('"a.b"]\nevent = "step"\ndivides = true', "`divides` says nothing about the event `step`"),
        ('"a.b"]\nevent = "step"\nwindow = 4', "`window` must be a string, not an integer"),
    ],
)
def test_a_bad_table_is_one_line_and_nothing_is_checked(amplint, write, table, said):
    write({"pyproject.toml": f"[tool.amplint.dialects.{table}\n", "train.py": "pass\n"})
    ended = amplint()
    assert (ended.code, ended.out) == (2, "")
    assert said in ended.err
    assert ended.err.count("\n") == 1
