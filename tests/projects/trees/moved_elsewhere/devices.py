"""Moves what an optimizer keeps to a device, and leaves its methods what they are."""


def put_on(optimizer, device):
    for kept in optimizer.state.values():
        for name, value in kept.items():
            if hasattr(value, "to"):
                kept[name] = value.to(device)


def silence(optimizer):
    optimizer.step = lambda: None
