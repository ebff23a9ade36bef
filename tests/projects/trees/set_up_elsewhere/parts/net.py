import torch
from torch import nn


class Net(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.body = nn.Linear(width, width)

    @classmethod
    def restored(cls, path):
        made = cls(3)
        state = torch.load(path)
        made.load_state_dict(state)
        return made

    def forward(self, x, y):
        return nn.functional.cross_entropy(self.body(x), y)


def build(args):
    made = Net(args.width)
    made.to(args.device)
    print(made)
    return made
