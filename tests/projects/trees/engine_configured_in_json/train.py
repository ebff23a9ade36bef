"""The window of 2 stands in a file that the program names."""

import json
from pathlib import Path

import deepspeed
import torch

CONFIG = "ds/two.json"


def named(model, loader):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    engine, inner, _, _ = deepspeed.initialize(model=model, optimizer=optimizer, config="ds/two.json")
    for x, y in loader:
        inner.zero_grad()  # expect: zero-grad-per-micro-step
        loss = torch.nn.functional.mse_loss(engine(x), y)
        engine.backward(loss)
        engine.step()


def loaded(model, loader):
    config = json.load(open("ds/two.json"))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    engine, inner, _, _ = deepspeed.initialize(model=model, optimizer=optimizer, config=config)
    for x, y in loader:
        inner.zero_grad()  # expect: zero-grad-per-micro-step
        loss = torch.nn.functional.mse_loss(engine(x), y)
        engine.backward(loss)
        engine.step()


def opened(model, loader):
    with open(CONFIG) as file:
        config = json.load(file)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    engine, inner, _, _ = deepspeed.initialize(model=model, optimizer=optimizer, config_params=config)
    for i, (x, y) in enumerate(loader):
        loss = torch.nn.functional.mse_loss(engine(x), y)
        engine.backward(loss)
        if (i + 1) % 2 == 0:
            engine.step()  # expect: gated-framework-step


def read(model, loader):
    config = json.loads(Path("ds/two.json").read_text())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    engine, inner, _, _ = deepspeed.initialize(model=model, optimizer=optimizer, config=config)
    for x, y in loader:
        inner.zero_grad()  # expect: zero-grad-per-micro-step
        loss = torch.nn.functional.mse_loss(engine(x), y)
        engine.backward(loss)
        engine.step()


def of_a_path(model, loader):
    with Path("ds/two.json").open() as file:
        config = json.loads(file.read())
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5)
    engine, inner, _, _ = deepspeed.initialize(model=model, optimizer=optimizer, config=config)
    for x, y in loader:
        inner.zero_grad()  # expect: zero-grad-per-micro-step
        loss = torch.nn.functional.mse_loss(engine(x), y)
        engine.backward(loss)
        engine.step()
