"""Which training loops a file has, and how many runs are tried to follow them."""

import pytest

from amplint.analysis import loops_of
from amplint.flow.loop_places import goes_back_itself
from amplint.lower.statements import Statements
from amplint.source.parse import parse
from tests.flow.drawn import HEAD, only


def test_what_happens_in_another_file_is_not_followed_at_the_call_that_leads_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "helpers.py").write_text("def after(optimizer, unknown):\n    unknown.change(optimizer)\n")
    text = (
        "from helpers import after\n\n\ndef train(model, loader, criterion, optimizer, unknown):\n"
        "    for x, y in loader:\n        optimizer.zero_grad()\n        criterion(model(x), y).backward()\n"
        "        after(optimizer, unknown)\n        optimizer.step()\n"
    )
    (loop,) = loops_of(text, "train.py")
    assert [place.row for place, _ in loop.not_followed] == [8]


MANY = "".join(f"    if args.a{n}:\n        loss = loss * {n + 2}\n" for n in range(8))


def test_with_more_patience_more_is_tried():
    text = f"for x, y in loader:\n    loss = criterion(model(x), y)\n{MANY}    loss.backward()\n    optimizer.step()\n"
    short, long = loops_of(text, "a.py"), loops_of(text, "a.py", patience=4)
    assert ([len(loop.not_followed) for loop in short], [len(loop.not_followed) for loop in long]) == ([1], [0])


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


def test_a_function_goes_back_itself_if_a_loss_is_back_propagated_in_it():
    text = "def f():\n    for x in y:\n        loss.backward()\n    opt.step()\n\n\ndef g():\n    f()\n"
    assert [goes_back_itself(node) for node in Statements(parse(text)).module()] == [True, False]
