"""A window of 1, one that the launcher fills in, one that the program changes, and files that cannot be read."""

import json

import deepspeed
import torch


def trained(engine, inner, loader):
    for x, y in loader:
        inner.zero_grad()
        loss = torch.nn.functional.mse_loss(engine(x), y)
        engine.backward(loss)
        engine.step()


def of_one(model, loader):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    engine, inner, _, _ = deepspeed.initialize(model=model, optimizer=optimizer, config="ds/one.json")
    trained(engine, inner, loader)


def left(model, loader):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    engine, inner, _, _ = deepspeed.initialize(model=model, optimizer=optimizer, config="ds/left.json")
    for x, y in loader:
        loss = torch.nn.functional.mse_loss(engine(x), y)
        engine.backward(loss)
        engine.step()


def changed(model, loader):
    config = json.load(open("ds/two.json"))
    config["gradient_accumulation_steps"] = 1
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    engine, inner, _, _ = deepspeed.initialize(model=model, optimizer=optimizer, config=config)
    trained(engine, inner, loader)


def unread(model, loader, path):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    for config in ("ds/none.json", path):
        print(config)
    first, inner, _, _ = deepspeed.initialize(model=model, optimizer=optimizer, config="ds/none.json")
    other, inner, _, _ = deepspeed.initialize(model=model, optimizer=optimizer, config="ds/list.json")
    third, inner, _, _ = deepspeed.initialize(model=model, optimizer=optimizer, config="/ds/two.json")
    broken, inner, _, _ = deepspeed.initialize(model=model, optimizer=optimizer, config="ds/broken.json")
    named, inner, _, _ = deepspeed.initialize(model=model, optimizer=optimizer, config=path)
    rows = json.loads(path), json.loads(path.strip()), json.load(path), json.loads(repr("x.json"))
    for x, y in loader:
        loss = torch.nn.functional.mse_loss(named(x), y)
        named.backward(loss)
        named.step()
    return first, other, third, broken, rows
