"""What a program is given, and what it has computed: the parameters, or the exception that ended it."""

from __future__ import annotations

import importlib
import inspect
import sys
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from torch import nn

from tests.fix.running.programs import Files, Flags

EPOCHS = 2
Outcome = list[torch.Tensor] | str


def written(files: Files, folder: Path) -> Path:
    """The folder with the files of a program in it."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        (folder / name).write_text(text, encoding="utf-8")
    return folder


def read(folder: Path) -> Files:
    """The files of a program as they are now."""
    return {file.name: file.read_text(encoding="utf-8") for file in sorted(folder.glob("*.py"))}


def outcome(folder: Path, flags: Flags, rank: int = 0) -> Outcome:
    """The parameters after the run of a program; the name of the exception if it raises one."""
    given = _stage(flags, rank)
    with _modules(folder), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        train = importlib.import_module("train").train
        try:
            train(**{name: given[name] for name in inspect.signature(train).parameters})
        except (AssertionError, RuntimeError, TypeError, ValueError) as error:
            return f"{type(error).__name__}: {error}"
    models = (given["model"], given["critic"])
    return [parameter.detach().clone() for model in models for parameter in model.parameters()]


@contextmanager
def _modules(folder: Path) -> Iterator[None]:
    """The modules of a folder can be imported, and are forgotten afterwards."""
    names = {file.stem for file in folder.glob("*.py")}
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        for name in names:
            sys.modules.pop(name, None)


def _stage(flags: Flags, rank: int) -> Mapping[str, Any]:
    """Everything that a program may ask for by the name of a parameter."""
    torch.manual_seed(0)
    model, critic = nn.Linear(4, 3), nn.Linear(4, 3)
    optimizer, critic_optimizer = (torch.optim.SGD(one.parameters(), lr=0.1, momentum=0.9) for one in (model, critic))
    amp = bool(flags.get("amp", True))
    batches = int(flags.get("batches", 6))
    source = torch.Generator().manual_seed(1 + rank)
    loader = [(torch.randn(8, 4, generator=source), torch.randint(3, (8,), generator=source)) for _ in range(batches)]
    if flags.get("overflow"):
        loader[2] = (loader[2][0] * 1e30, loader[2][1])
    return {
        "model": model,
        "critic": critic,
        "optimizer": optimizer,
        "critic_optimizer": critic_optimizer,
        "criterion": nn.CrossEntropyLoss(),
        "scaler": torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=2, enabled=amp),
        "scheduler": torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 0.9**step),
        "loader": loader,
        "epochs": EPOCHS,
        **flags,
    }
