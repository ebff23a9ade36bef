"""The run of a program under the defaults of its options is played however many other settings there are."""

import pytest

from amplint.analysis import findings_of

MANY = 14
"""Options that each change what happens: far more runs than are tried."""

PROGRAM = """
import argparse

import torch
from torch import nn


def main(loader):
    parser = argparse.ArgumentParser()
{options}
    parser.add_argument("--scale", action="store_true")
    args = parser.parse_args()
    model = nn.Linear(4, 3)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for x, y in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16{enabled}):
            loss = nn.functional.cross_entropy(model(x), y)
{clips}
        if args.scale{other}:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        else:
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    main(torch.utils.data.DataLoader(DATA))
"""


def told(enabled: str = "", other: str = "", text: str = PROGRAM) -> list[tuple[str, str]]:
    options = "\n".join(f'    parser.add_argument("--o{at}", action="store_true")' for at in range(MANY))
    clips = "\n".join(
        f"        if args.o{at}:\n            nn.utils.clip_grad_norm_(model.parameters(), {at + 1}.0)"
        for at in range(MANY)
    )
    found = findings_of(text.format(options=options, clips=clips, enabled=enabled, other=other), "train.py")
    return [(one.code, one.severity.value) for one in found if one.code == "float16-without-scaler"]


def test_a_mistake_in_it_is_found_behind_many_settings():
    assert told(enabled=", enabled=not (args.o0 or args.o1 or args.o2 or args.o3)") == [
        ("float16-without-scaler", "error")
    ]


def test_none_is_told_where_what_has_no_default_may_remedy_it():
    assert told(other=" or config.scale") == []


@pytest.mark.parametrize(
    "text", [PROGRAM.replace("argparse", "configargparse"), PROGRAM.replace("args =", "args = f() or")]
)
def test_none_is_told_where_no_defaults_are_known(text):
    assert told(text=text) == []
