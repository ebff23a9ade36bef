import torch


def resumed(path, model):
    held = torch.load(path)
    model.load_state_dict(held["model"])
    optimizer = torch.optim.AdamW(model.parameters())
    optimizer.load_state_dict(held["optimizer"])
    return model, optimizer
