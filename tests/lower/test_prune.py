"""What remains of a module: what matters to the training step, with notes on what it does."""

import pytest

from amplint.flow import program as ir
from tests.lower.lowered import first, program, rows

LOOP = """\
for i, (x, y) in enumerate(loader):
    loss = criterion(model(x), y) / accum
    loss.backward()
    if (i + 1) % accum == 0:
        optimizer.step()
        optimizer.zero_grad()
"""


def test_everything_of_a_plain_loop_matters():
    assert rows(LOOP) == [1, 2, 3, 4, 5, 6]


@pytest.mark.parametrize(
    "line",
    [
        "print(loss.item())",
        "meter.update(loss.item())",
        "started = time.time()",
        "history.append(x)",
        "writer.add_scalar('a', 1)",
    ],
)
def test_what_nothing_of_the_step_reads_is_left_out(line):
    assert rows(LOOP + f"    {line}\n") == [1, 2, 3, 4, 5, 6]


def test_what_the_step_reads_stays_however_far_away():
    text = "unused = 3\nsteps = read()\naccum = steps * 2\n" + LOOP
    assert rows(text)[:2] == [2, 3]


def test_a_branch_that_matters_keeps_what_it_asks_for():
    text = "use_amp = config.amp\nverbose = config.verbose\n" + LOOP + "    if use_amp:\n        optimizer.step()\n"
    assert rows(text) == [1, 3, 4, 5, 6, 7, 8, 9, 10]


def test_a_jump_stays_in_a_loop_that_matters_alone():
    kept = rows(LOOP + "    if bad(loss):\n        continue\nfor row in table:\n    if row:\n        continue\n")
    assert kept == [1, 2, 3, 4, 5, 6, 7, 8]


def test_a_function_that_nobody_needs_keeps_its_name_and_loses_its_body():
    text = "def plot(a):\n    b = a\n    return b\n\n\n" + LOOP
    function = first(text, ir.Function)
    assert (function.name, function.body, function.relevant) == ("plot", (), False)


def test_a_function_that_acts_is_relevant_and_says_what_it_does():
    text = "def update(loss):\n    loss.backward()\n    optimizer.step()\n    optimizer.zero_grad()\n"
    function = first(text, ir.Function)
    assert (function.relevant, function.backward, function.steps, function.zeroes) == (True, True, True, True)
    assert not function.loops


def test_what_a_function_does_through_another_one_counts():
    text = "def inner(loss):\n    loss.backward()\ndef outer():\n    for x in loader:\n        inner(f(x))\n"
    inner, outer = program(text).body
    assert (inner.backward, inner.loops) == (True, False)
    assert (outer.backward, outer.loops) == (True, True)
    assert program(text).called == {"inner", "f"}


@pytest.mark.parametrize(
    ("body", "gates"),
    [
        ("optimizer.step()", True),
        ("scaler.step(optimizer)", True),
        ("optimizer.zero_grad()", False),
        ("loss.backward()\n    optimizer.step()", False),
        ("optimizer.step()\nelse:\n    optimizer.step()", False),
        ("print(i)\nelse:\n    optimizer.step()", True),
    ],
)
def test_an_if_is_a_gate_when_one_branch_alone_steps(body, gates):
    found = first(f"optimizer.zero_grad()\nscaler.unscale_(optimizer)\nif i % n == 0:\n    {body}\n", ir.If)
    assert found.gates is gates


def test_a_remainder_that_decides_nothing_of_the_window_says_nothing_of_it():
    assert first(LOOP, ir.If).test.left.gates
    logging = LOOP + "    if i % 50 == 0:\n        scheduler.step()\n"
    last = program(logging).body[-1].body[-1]
    assert isinstance(last, ir.If)
    assert not last.test.left.gates


def test_a_counter_that_the_gate_resets_says_how_long_the_window_is():
    text = (
        "loss.backward()\ncount += 1\nif count == n:\n    optimizer.step()\n    optimizer.zero_grad()\n    count = 0\n"
    )
    assert first(text, ir.If).test.gates
    assert not first(text.replace("    count = 0\n", ""), ir.If).test.gates


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        (LOOP, ir.Shape(backward=True, steps=True, anew=frozenset({"loss"}))),
        ("for x in loader:\n    loss.backward()\n", ir.Shape(backward=True)),
        ("while True:\n    loss.backward()\n", ir.Shape(backward=True)),
        (
            "for epoch in range(3):\n    for x in loader:\n        loss.backward()\n    optimizer.step()\n",
            ir.Shape(True, True, True),
        ),
        ("for optimizer in optimizers:\n    optimizer.zero_grad()\n", ir.Shape()),
    ],
)
def test_a_loop_says_what_its_body_does(text, shape):
    assert first(text, (ir.For, ir.While)).shape == shape


def test_a_branch_that_only_leaves_is_told_from_one_that_skips():
    assert first("for x in loader:\n    if bad:\n        break\n    loss.backward()\n", ir.If).leaves
    assert not first("for x in loader:\n    if bad:\n        continue\n    loss.backward()\n", ir.If).leaves


def test_a_guard_of_the_window_stays():
    text = "if len(loader) % accum:\n    raise ValueError\nassert len(loader) % accum == 0\nassert loader\n" + LOOP
    assert rows(text)[:3] == [1, 2, 3]
    assert 4 not in rows(text)


def test_a_try_keeps_what_matters_of_each_of_its_parts():
    text = """\
    try:
        loss.backward()
        a = 1
    except E:
        optimizer.zero_grad()
    else:
        b = 1
    finally:
        optimizer.step()
    """
    found = first(text, ir.Try)
    assert [len(part) for part in (found.body, found.handlers[0], found.orelse, found.final)] == [1, 1, 0, 1]
