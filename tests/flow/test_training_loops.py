"""What `amplint loops` says of a training loop: its window, its parts, one drawn line, and what was not followed."""

from textwrap import dedent

import pytest

from amplint.analysis import loops_of

HEAD = """\
import torch
from torch.nn.utils import clip_grad_norm_


def train(args, model, loader, criterion, optimizer, scaler, scheduler, epochs, helper):
"""


def drawn(body, head=HEAD):
    """The loops of a function with this body, and for the first one what a reader sees."""
    indented = "".join(f"    {line}" if line.strip() else line for line in dedent(body).splitlines(keepends=True))
    return loops_of(head + indented, "train.py")


def only(body):
    (loop,) = drawn(body)
    return loop


WINDOW = """
for i, (x, y) in enumerate(loader):
    loss = criterion(model(x), y) / args.accum
    scaler.scale(loss).backward()
    if (i + 1) % args.accum == 0:
        scaler.unscale_(optimizer)
        clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        scheduler.step()
"""


def test_a_window_is_drawn_with_what_every_micro_step_does_and_what_the_last_one_adds():
    loop = only(WINDOW)
    assert loop.drawn == "(backward) x args.accum -> unscale clip step update zero_grad scheduler"
    assert (loop.function, loop.place.row) == ("train", 7)
    assert (loop.window, loop.divisor, loop.scaler) == ("args.accum", "args.accum", "scaler")
    assert loop.clip == loop.step == loop.zero_grad == loop.scheduler == "once per window"
    assert loop.not_followed == ()


def test_a_clip_of_scaled_gradients_on_every_micro_step_is_said():
    loop = only(WINDOW.replace("    if (i + 1)", "    clip_grad_norm_(model.parameters(), 1.0)\n    if (i + 1)"))
    assert loop.clip == "every micro-step, on gradients that carry the loss scale"


def test_a_loop_without_a_window():
    loop = only(
        """
        for epoch in range(epochs):
            for x, y in loader:
                optimizer.zero_grad()
                criterion(model(x), y).backward()
                optimizer.step()
            scheduler.step()
        """
    )
    assert loop.drawn == "zero_grad backward step"
    assert (loop.window, loop.divisor, loop.scaler, loop.clip) == ("1", "none", "none", "none")
    assert (loop.step, loop.zero_grad, loop.scheduler) == ("every step", "every step", "once per epoch")


def test_a_loop_over_micro_batches_is_part_of_the_window():
    loop = only(
        """
        for batch in loader:
            optimizer.zero_grad()
            for x, y in batch.chunk(4):
                (criterion(model(x), y) / 4).backward()
            optimizer.step()
        """
    )
    assert loop.place.row == 7
    assert loop.drawn == "zero_grad (backward) x N -> step"
    assert loop.divisor == "4"


def test_two_losses_of_a_micro_step_are_drawn_one_after_the_other():
    loop = only(
        """
        for x, y in loader:
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            criterion(model(y), x).backward()
            optimizer.step()
        """
    )
    assert loop.drawn == "zero_grad backward backward step"


def test_micro_steps_that_differ_are_told_apart():
    loop = only(
        """
        for i, (x, y) in enumerate(loader):
            criterion(model(x), y).backward()
            if i % args.accum == 0:
                clip_grad_norm_(model.parameters(), 1.0)
            if (i + 1) % args.accum == 0:
                optimizer.step()
                optimizer.zero_grad()
        """
    )
    assert loop.drawn == "backward clip | backward | backward step zero_grad"


def test_what_was_not_followed_is_said_with_its_place():
    loop = only(
        """
        for i, (x, y) in enumerate(loader):
            loss = helper.compute(model, x, y)
            helper.scaled(loss).backward()
            if (i + 1) % args.accum == 0:
                optimizer.step()
                helper.after_step(optimizer)
                optimizer.zero_grad()
        """
    )
    assert (loop.divisor, loop.scaler) == ("unknown", "unknown")
    assert [(place.row, why.partition(" could")[0]) for place, why in loop.not_followed] == [
        (9, "the weight of this loss"),
        (12, "what this does to the gradients"),
    ]


def test_where_every_loss_is_stepped_with_there_is_nothing_to_divide_by_whoever_made_it():
    loop = only(
        """
        for x, y in loader:
            optimizer.zero_grad()
            helper.compute(model, x, y).backward()
            optimizer.step()
        """
    )
    assert (loop.window, loop.divisor, loop.not_followed) == ("1", "none", ())


def test_a_loss_of_unknown_making_that_is_divided_by_the_window_has_its_divisor():
    loop = only(
        """
        for i, (x, y) in enumerate(loader):
            loss = helper.compute(model, x, y)
            if args.accum > 1:
                loss = loss / args.accum
            loss.backward()
            if (i + 1) % args.accum == 0:
                optimizer.step()
                optimizer.zero_grad()
        """
    )
    assert (loop.divisor, loop.not_followed) == ("args.accum", ())


EPOCHS = (
    HEAD.replace("helper", "helper, lines=()")
    + """    for x, y in loader:
        loss = criterion(model(x), y)
        for line in lines:
            print(line)
            print(line, line)
            print(line, line, line)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def run(args, model, loader, criterion, optimizer, scheduler):
    for epoch in range(args.epochs):
        train(args, model, loader, criterion, optimizer, None, scheduler, 1, None)
        scheduler.step()
"""
)


def test_a_loop_that_calls_another_one_is_not_the_training_loop_however_short_it_is():
    found = loops_of(EPOCHS, "train.py")
    assert [(loop.function, loop.place.row) for loop in found] == [("train", 6)]
    assert found[0].drawn == "zero_grad backward step"


def test_a_loop_whose_caller_steps_is_part_of_its_caller_s_window():
    text = """\
import torch

class Trainer:
    def fit(self):
        while self.more():
            self.optimizer.zero_grad()
            self.forward_backward(self.batch)
            self.optimizer.step()

    def forward_backward(self, batch):
        for x, y in batch.chunk(4):
            (self.criterion(self.model(x), y) / 4).backward()
"""
    (loop,) = loops_of(text, "a.py")
    assert (loop.function, loop.place.row, loop.drawn) == ("fit", 5, "zero_grad (backward) x N -> step")


def test_a_loss_that_may_be_scaled_is_said():
    loop = only(
        """
        for x, y in loader:
            optimizer.zero_grad()
            args.scaled_loss.backward()
            optimizer.step()
        """
    )
    assert loop.scaler == "unknown"


def test_a_loop_that_only_goes_back_has_a_window_that_nobody_knows():
    loop = only(
        """
        for x, y in loader:
            criterion(model(x), y).backward()
        """
    )
    assert (loop.window, loop.step) == ("unknown", "none")


def test_a_step_on_top_belongs_to_the_window_before():
    loop = only(
        """
        for x, y in loader:
            optimizer.step()
            optimizer.zero_grad()
            criterion(model(x), y).backward()
        """
    )
    assert loop.drawn == "zero_grad backward step"


def test_a_function_that_only_steps_is_no_loop():
    text = (
        HEAD + "    pass\n\ndef after(loss, optimizer):\n    optimizer.step()\n\ndef back(loss):\n    loss.backward()\n"
    )
    assert [loop.function for loop in loops_of(text, "train.py")] == []


def test_a_step_whose_caller_loops_stands_at_its_function():
    loop = only(
        """
        loss = criterion(model(args.x), args.y)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        """
    )
    assert (loop.place.row, loop.function) == (5, "train")


def test_a_loop_that_no_run_reaches_is_told_all_the_same():
    loop = only(
        """
        for name in []:
            for x, y in loader:
                criterion(model(x), y).backward()
                optimizer.step()
        """
    )
    assert loop.drawn == ""
    assert [why for _, why in loop.not_followed] == ["no run of this program reached its backward"]


def test_a_module_and_the_methods_of_its_classes_have_loops_of_their_own():
    text = """\
import torch

class Trainer:
    def fit(self):
        try:
            while True:
                self.criterion(self.model(self.x), self.y).backward()
                self.optimizer.step()
                self.optimizer.zero_grad()
        finally:
            pass

for x in loader:
    criterion(model(x)).backward()
    optimizer.step()
    optimizer.zero_grad()
"""
    assert [(loop.function, loop.place.row) for loop in loops_of(text, "a.py")] == [("fit", 6), ("", 13)]


def test_more_combinations_than_are_tried_are_said():
    tests = "".join(f"    if args.a{n}:\n        loss = loss * {n + 2}\n" for n in range(9))
    loop = only(
        f"for x, y in loader:\n    loss = criterion(model(x), y)\n{tests}    loss.backward()\n    optimizer.step()\n"
    )
    assert "there are more combinations of conditions than are tried" in [why for _, why in loop.not_followed]


@pytest.mark.parametrize("text", ["x = 1\n", "def f(): pass\n"])
def test_a_file_without_a_training_step_has_no_loops(text):
    assert loops_of(text, "a.py") == []
