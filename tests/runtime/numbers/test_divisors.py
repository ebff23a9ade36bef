"""What a loss is divided by, where it is not the window's length."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from runtime_guard import guard
from tests.runtime.live import guarded, told

BATCH = 8


def found(divisor, *, window=4, batches=8, epochs=2, flush=False, accumulation_steps=None, factor=1.0):
    """The rules that speak of a loop that divides by `divisor(index)`, with the words of the divisor's."""
    model = nn.Linear(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data = torch.utils.data.TensorDataset(torch.randn(BATCH * batches, 4), torch.randint(3, (BATCH * batches,)))
    loader = torch.utils.data.DataLoader(data, batch_size=BATCH)
    with guard(optimizer, mode="record", accumulation_steps=accumulation_steps) as watching:
        for _ in range(epochs):
            for index, (x, y) in enumerate(loader):
                (factor * F.cross_entropy(model(x), y) / divisor(index)).backward()
                if (index + 1) % window == 0 or (flush and index + 1 == batches):
                    optimizer.step()
                    optimizer.zero_grad()
    return {violation.code: violation.message for violation in watching.violations}


def test_the_batch_size_is_recognized():
    assert "divided by the batch size, 8: the gradient is 0.5 times" in found(lambda _: BATCH)["wrong-loss-divisor"]


def test_the_number_of_batches_is_recognized_once_an_epoch_is_over():
    assert "the number of batches in an epoch, 12" in found(lambda _: 12, batches=12)["wrong-loss-divisor"]
    assert found(lambda _: 12, batches=12, epochs=1) == {}


def test_a_running_index_is_recognized():
    assert "a running index" in found(lambda index: index + 1)["wrong-loss-divisor"]


def test_an_index_that_runs_on_is_recognized_in_later_windows():
    assert "a running index, from 1" in found(lambda index: index + 11)["wrong-loss-divisor"]


def test_two_divisions_are_recognized():
    assert " twice: the gradient is 0.25 times" in found(lambda _: 16)["wrong-loss-divisor"]


@pytest.mark.parametrize("window", [1, 2, 4])
def test_the_windows_length_is_right(window):
    assert found(lambda _: window, window=window) == {}


def test_the_windows_length_may_be_the_batch_size():
    assert found(lambda _: BATCH, window=BATCH, batches=16) == {}


def test_a_tail_of_such_a_window_is_only_a_tail():
    assert set(found(lambda _: BATCH, window=BATCH, batches=11, flush=True)) == {"misnormalized-tail-window"}


def test_half_a_loss_in_a_window_of_two_is_no_second_division():
    assert found(lambda _: 2, window=2, factor=0.5) == {}


def test_an_odd_divisor_is_a_reading_unless_the_length_was_named():
    assert found(lambda _: 5) == {}
    named = found(lambda _: 5, accumulation_steps=4)["wrong-loss-divisor"]
    assert "divided by 5: the gradient is 0.8 times" in named


BY_BATCHES = """\
import torch
from torch.nn.functional import cross_entropy
batches = [(torch.randn(4, 4), torch.randint(3, (4,))) for _ in range(8)]
model = torch.nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for index, (x, y) in enumerate(batches):
    loss = {loss}
    loss.backward()
    if (index + 1) % 4 == 0:
        optimizer.step()
        optimizer.zero_grad()
    mean = loss.item() / len(batches)
"""
LOSS = "cross_entropy(model(x), y)"


@pytest.mark.parametrize(
    ("loss", "said"),
    [
        (f"{LOSS} / len(batches)", ["8: wrong-loss-divisor"]),
        (f"{LOSS} / 4", []),
        (f"{LOSS} * 0.125", []),
        (f"({LOSS} + {LOSS}) / 8", []),
    ],
)
def test_the_number_of_batches_in_a_list_is_recognized_where_the_text_divides_by_it(tmp_path, loss, said):
    assert told(guarded(BY_BATCHES.format(loss=loss), tmp_path, optimizer=[])) == said


def test_what_is_left_of_a_window_is_not_judged_by_its_size(tmp_path):
    erased = "    if index % 4 == 0:\n        optimizer.zero_grad()\n"
    source = BY_BATCHES.format(loss=f"{LOSS} / 4").replace("    if (", f"{erased}    if (")
    assert told(guarded(source, tmp_path, optimizer=[])) == ["10: zero-grad-before-step"]
