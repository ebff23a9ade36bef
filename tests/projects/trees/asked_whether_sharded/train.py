import torch
from sharding import is_fsdp_model, wrap


def right(model, loader, criterion, args):
    model = wrap(model, args.strategy)
    optimizer = torch.optim.AdamW(model.parameters())
    for x, y in loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        if is_fsdp_model(model):
            model.clip_grad_norm_(1.0)
        else:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


def wrong(model, loader, criterion, args):
    model = wrap(model, args.strategy)
    optimizer = torch.optim.AdamW(model.parameters())
    for x, y in loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        if not is_fsdp_model(model):
            print("all of it is here")
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # expect: fsdp-local-clip
        optimizer.step()
