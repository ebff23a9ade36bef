"""After how many steps a schedule is over, as its own numbers and those of its function say."""

import torch
from torch.optim.lr_scheduler import LambdaLR, LinearLR, LRScheduler, MultiStepLR, StepLR

from amplint.protocol.cadence import HOLDS
from runtime_guard.planned import said_of

num_training_steps = 40


def optimizer():
    return torch.optim.SGD(torch.nn.Linear(2, 2).parameters(), lr=0.1)


def linear(handed, total_steps):
    return LambdaLR(handed, lambda step: 1 - step / total_steps)


def cosine(handed, t_total):
    def factor(step):
        return 1 - step / t_total if t_total else later

    made = LambdaLR(handed, factor)
    if not t_total:
        later = 1.0
    return made


class Poly(LRScheduler):
    def __init__(self, handed, max_iters):
        self.max_iters = max_iters
        super().__init__(handed)

    def get_lr(self):
        return [rate * (1 - self.last_epoch / self.max_iters) for rate in self.base_lrs]


def told(scheduler):
    found = said_of(scheduler)
    return found.get("argument"), found.get("horizon")


def test_a_function_closes_over_its_horizon():
    assert told(linear(optimizer(), 12)) == ("total_steps", "12")


def test_a_name_that_stands_for_nothing_yet_says_nothing():
    assert told(cosine(optimizer(), 30)) == ("t_total", "30")


def test_a_function_reads_its_horizon_from_the_module():
    assert told(LambdaLR(optimizer(), lambda step: 1 - step / num_training_steps)) == ("num_training_steps", "40")


def test_a_class_of_the_user_s_own_may_call_it_otherwise():
    assert told(Poly(optimizer(), 50)) == ("max_iters", "50")


def test_the_length_of_a_warm_up_is_none():
    assert told(LinearLR(optimizer(), total_iters=5)) == (None, None)


def test_a_decay_by_steps_begins_with_a_value_that_holds():
    holding = StepLR(optimizer(), 30), MultiStepLR(optimizer(), [5, 20])
    changing = StepLR(optimizer(), 1), MultiStepLR(optimizer(), [20, 1]), LinearLR(optimizer())
    assert all(HOLDS in said_of(one) for one in holding)
    assert not any(HOLDS in said_of(one) for one in changing)
