import torch


def load_checkpoint(path, state):
    state.load_state_dict(torch.load(path))
