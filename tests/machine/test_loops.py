"""How often loops run on the model: epochs of two windows and a tail, windows of three micro-steps."""

import pytest

from amplint.protocol.events import Kind
from tests.machine.played import only, runs_of, story

EPOCH = "for i, (x, y) in enumerate(loader):\n"


def loop(gate, head=EPOCH, body=""):
    return f"{head}    criterion(model(x), y).backward()\n    if {gate}:\n        optimizer.step()\n{body}"


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("for x, y in loader:\n    criterion(model(x), y).backward()\n    optimizer.step()\n", "bs" * 7 + "|"),
        (
            "for epoch in range(90):\n    for x, y in loader:\n        loss.backward()\n        optimizer.step()\n",
            ("bs" * 7 + "|") * 2,
        ),
        ("while True:\n    criterion(model(x), y).backward()\n    optimizer.step()\n", "bs" * 7 + "|"),
        ("for x in [a, b]:\n    criterion(model(x), y).backward()\n    optimizer.step()\n", "bsbs|"),
        ("for x in table:\n    optimizer.zero_grad()\n", "z"),
    ],
)
def test_a_loop_over_batches_runs_for_an_epoch(text, told):
    assert story(only(text)) == told


@pytest.mark.parametrize(
    "gate",
    [
        "(i + 1) % accum_steps == 0",
        "not (i + 1) % accum_steps",
        "(i + 1) % args.accum_steps == 0",
        "(i + 1) % config['accum_steps'] == 0",
        "i % accum_steps == accum_steps - 1",
        "0 == (i + 1) % n",
    ],
)
def test_a_gate_opens_at_the_end_of_each_window(gate):
    run = only(loop(gate))
    assert story(run) == "bbbsbbbsb|"
    assert all(event.gate is not None for event in run.events if event.kind is Kind.STEP)


def test_a_gate_knows_how_the_length_of_its_window_is_written():
    steps = [event for event in only(loop("(i + 1) % args.accum == 0")).events if event.kind is Kind.STEP]
    assert {event.gate.length for event in steps} == {"args.accum"}
    assert {event.gate.restarts for event in steps} == {True}


def test_an_index_from_zero_opens_on_the_first_micro_step():
    assert story(only(loop("i % accum_steps == 0"))) == "bsbbbsbbbs|"


def test_the_last_batch_may_open_a_gate_too():
    assert story(only(loop("(i + 1) % accum_steps == 0 or i + 1 == len(loader)"))) == "bbbsbbbsbs|"


@pytest.mark.parametrize("length", [2, 5, 8])
def test_a_literal_window_is_as_long_as_it_says(length):
    run = only(loop(f"(i + 1) % {length} == 0"))
    windows = story(run).split("s")
    assert windows[:2] == ["b" * length] * 2


@pytest.mark.parametrize(
    "guard", ["assert len(loader) % accum_steps == 0\n", "if len(loader) % accum_steps:\n    raise ValueError\n"]
)
def test_a_program_that_rules_out_a_tail_has_none(guard):
    assert story(only(guard + loop("(i + 1) % accum_steps == 0"))) == "bbbsbbbs|"


def test_a_counter_is_followed():
    head = "count = 0\nfor x, y in loader:\n    count += 1\n"
    assert story(only(loop("count % accum_steps == 0", head))) == "bbbsbbbsb|"
    assert story(only(loop("count == accum_steps", head, "        count = 0\n"))) == "bbbsbbbsb|"


def test_a_counter_that_nobody_set_runs_on_over_epochs():
    text = """\
    for epoch in range(3):
        for x, y in loader:
            criterion(model(x), y).backward()
            state.count += 1
            if state.count % accum_steps == 0:
                optimizer.step()
    """
    windows = story(only(text)).replace("|", "").split("s")
    assert windows[:-1] == ["bbb"] * 4  # the first one is whole too: what is added before the test is followed


def test_an_inner_loop_over_a_window_is_one():
    text = """\
    for update in range(updates):
        for micro in range(accum_steps):
            criterion(model(x), y).backward()
        optimizer.step()
    """
    run = only(text)
    assert story(run).startswith("bbbsbbbs")
    assert {event.gate.length for event in run.events if event.kind is Kind.STEP} == {"accum_steps"}


def test_a_while_that_counts_to_the_window_is_one():
    text = """\
    for update in range(updates):
        count = 0
        while count < accum_steps:
            criterion(model(x), y).backward()
            count += 1
        optimizer.step()
    """
    assert story(only(text)).startswith("bbbsbbbs")


@pytest.mark.parametrize("gate", ["should_update(i)", "is_boundary", "need_sync", "self.is_last_micro_step"])
def test_a_gate_that_cannot_be_followed_opens_at_the_end_of_a_window(gate):
    assert story(only(loop(gate))) == "bbbsbbbsb|"


def test_its_opposite_opens_on_the_other_micro_steps():
    assert story(only(loop("not should_update(i)"))) == "bsbsbbsbsbbs|"


def test_a_condition_of_which_nothing_is_known_is_decided_once_per_run():
    assert sorted(map(story, runs_of(loop("verbose")))) == ["b" * 7 + "|", "bs" * 7 + "|"]


def test_a_jump_leaves_the_loop_or_the_rest_of_the_body():
    text = "for i, x in enumerate(loader):\n    loss.backward()\n    if i % 2 == 0:\n        {}\n    optimizer.step()\n"
    assert story(only(text.format("continue"))) == "bbsbbsbbsb|"
    assert story(only(text.format("break"))) == "b"


def test_a_program_that_does_not_end_is_cut():
    run = only("while True:\n    while True:\n        loss.backward()\n        optimizer.step()\n")
    assert "bs" in story(run)


TRAINING = """
def train(rate):
    optimizer = torch.optim.SGD(model.parameters(), lr=rate)
    for x, y in loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        optimizer.step()

"""


@pytest.mark.parametrize("rates", ["[0.1 * k for k in range(50)]", "[1, 2, 3, 4, 5]", "range(9)", "rates"])
def test_of_many_trainings_with_optimizers_of_their_own_two_are_run(rates):
    run = only(f"import torch\n{TRAINING}for rate in {rates}:\n    train(rate)\n")
    assert len({event.optimizer for event in run.events if event.kind is Kind.STEP}) == 2


def test_a_list_of_batches_is_gone_through_to_its_end():
    inner = "    for part in batch:\n        criterion(model(part), y).backward()\n    optimizer.step()\n"
    run = only(f"for batch in [a, b, c, d, e]:\n{inner}")
    assert sum(event.kind is Kind.STEP for event in run.events) == 5


CRITIC = """\
for i in range(args.steps):
    {before}
    for _ in range(args.inner):
        criterion(model(x), y).backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("before", "unit"), [("pass", "epochs"), ("criterion(other(x), y).backward()", "several"), ("look(x)", "epochs")]
)
def test_a_turn_that_trains_beside_its_inner_loop_is_no_epoch(before, unit):
    assert only(CRITIC.format(before=before)).turns["args.steps"] == {unit}


@pytest.mark.parametrize(("length", "turns"), [(7, 7), (24, 24), (600, 12), (601, 13), (2500, 16)])
def test_a_long_loop_is_played_as_long_as_short_windows_need(length, turns):
    told = story(only(f"for _ in range({length}):\n    criterion(model(x), y).backward()\n    optimizer.step()\n"))
    assert told == "bs" * turns + "|"


@pytest.mark.parametrize("window", [2, 3, 5, 32])
def test_a_long_loop_has_the_tail_that_it_has(window):
    told = story(only(loop(f"(i + 1) % {window} == 0", "for i in range(3201):\n"))).rstrip("|")
    tail = len(told) - 1 - told.rindex("s")
    assert (told.count("s") >= 2, tail) == (True, 3201 % window)


ASKED = """\
for x in loader:
    criterion(model(x), 1).backward()
    norm = model.size(x)
    if norm == float("inf") or norm != norm:
        continue
    optimizer.step()
"""


def test_a_number_is_one_unless_a_run_says_otherwise():
    first = runs_of(ASKED)[0]
    assert (first.choices["norm == norm"], story(first)[:4]) == (True, "bsbs")
