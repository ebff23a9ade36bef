import torch


def log_lines(*parts):
    for part in parts:
        print(part)


def build_scaler(args):
    return torch.amp.GradScaler("cuda", enabled=True)


def build(model, args):
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    return optimizer, build_scaler(args)
