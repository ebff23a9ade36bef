import torch
from rates import WarmPoly, WarmupCosine


def train(model, criterion, loader, args):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scheduler = WarmupCosine(optimizer, warmup_steps=args.warmup_steps, t_total=args.num_steps)
    updates = 0
    for step, (x, y) in enumerate(loader):
        loss = criterion(model(x), y) / args.accum_steps
        loss.backward()
        if (step + 1) % args.accum_steps == 0:  # expect: dropped-tail-window
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scheduler.step()  # expect: scheduler-before-optimizer
            optimizer.step()
            optimizer.zero_grad()
            updates += 1
            if updates == args.num_steps:
                break


def train_epochs(model, criterion, loader, epochs, accum_steps):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    rates = WarmPoly(optimizer, epochs * len(loader), 10)  # expect: scheduler-horizon-mismatch
    for epoch in range(epochs):
        for step, (x, y) in enumerate(loader):
            loss = criterion(model(x), y) / accum_steps
            loss.backward()
            if (step + 1) % accum_steps == 0:  # expect: dropped-tail-window
                optimizer.step()
                optimizer.zero_grad()
                rates.step()


def train_by_micro_batches(model, criterion, loader, epochs, accum_steps):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    rates = WarmPoly(optimizer, epochs * len(loader), 10)
    for epoch in range(epochs):
        for step, (x, y) in enumerate(loader):
            loss = criterion(model(x), y) / accum_steps
            loss.backward()
            if (step + 1) % accum_steps == 0:  # expect: dropped-tail-window
                optimizer.step()
                optimizer.zero_grad()
            rates.step()
