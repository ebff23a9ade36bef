import torch
from halves import DTYPE, dtype_of, region, region_or_not


def constant(model, loader):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for x, y in loader:
        with torch.autocast("cuda", dtype=DTYPE):
            loss = torch.nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()  # expect: float16-without-scaler
        optimizer.step()


def named(model, loader, args):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for x, y in loader:
        with torch.autocast("cuda", dtype=dtype_of(args.dtype)):
            loss = torch.nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()  # expect: float16-without-scaler
        optimizer.step()


def generator(model, loader, args):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for x, y in loader:
        with region(args.amp):
            loss = torch.nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()  # expect: float16-without-scaler
        optimizer.step()


def chosen(model, loader, args):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for x, y in loader:
        with region_or_not(args.amp):
            loss = torch.nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()  # expect: float16-without-scaler
        optimizer.step()
