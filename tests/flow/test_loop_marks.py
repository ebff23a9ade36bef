"""What may stand beside the backward and the step of a training loop."""

from tests.flow.drawn import only

WINDOW = """
for i, (x, y) in enumerate(loader):
    loss = criterion(model(x), y){weight}
    loss.backward()
    if (i + 1) % args.accum == 0:
        optimizer.step()
        optimizer.zero_grad()
"""


def told(body):
    return [(place.row, what) for place, what in only(body).marks]


def test_the_window_its_weight_and_how_often_it_steps_are_told():
    assert told(WINDOW.format(weight="")) == [
        (9, "window of args.accum, weight 1"),
        (11, "every args.accum micro-steps"),
    ]


def test_a_division_is_told_as_it_is_written_and_a_number_as_a_fraction():
    assert told(WINDOW.format(weight=" / args.accum"))[0] == (9, "window of args.accum, weight 1 / args.accum")
    assert told(WINDOW.format(weight=" * 0.25"))[0] == (9, "window of args.accum, weight 1/4")


def test_a_weight_that_is_not_known_is_not_told():
    assert told(WINDOW.format(weight=" * helper(x)"))[0] == (9, "window of args.accum")


def test_a_step_for_every_batch_is_a_window_of_one():
    body = WINDOW.format(weight="").replace("    if (i + 1) % args.accum == 0:\n", "").replace("        ", "    ")
    assert told(body) == [(9, "window of 1, weight 1"), (10, "every micro-step")]


def test_nothing_is_told_of_a_window_that_is_not_known():
    assert told(WINDOW.format(weight="").replace("optimizer.step()", "pass")) == []
