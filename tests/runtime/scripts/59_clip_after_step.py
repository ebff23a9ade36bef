"""A training class whose clip comes after the step: it changes nothing."""
# wrong: clip-after-step

import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_


class Learner:
    def __init__(self):
        self.model = nn.Linear(4, 2)
        self.opt = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def learn(self, x, y):
        self.opt.zero_grad()
        nn.functional.cross_entropy(self.model(x), y).backward()
        self.opt.step()
        clip_grad_norm_(self.model.parameters(), 1.0)  # expect: clip-after-step


torch.manual_seed(0)
learner = Learner()
for _ in range(4):
    learner.learn(torch.randn(4, 4), torch.randint(2, (4,)))
