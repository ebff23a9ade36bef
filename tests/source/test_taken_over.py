"""A package that takes over the names of many modules: only those are parsed that may bind what is asked for."""

from amplint.analysis import findings_of
from amplint.source import definitions

LOOP = """\
import torch
from many import advance

model = torch.nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for x, y in loader:
    advance(torch.nn.functional.cross_entropy(model(x), y), optimizer)
"""
HELPER = """\
def advance(loss, optimizer):
    loss.backward()
    optimizer.step()
"""
OTHERS = 60


def test_only_modules_that_say_a_name_are_parsed(tmp_path, monkeypatch):
    package = tmp_path / "many"
    package.mkdir()
    names = [f"module_{number}" for number in range(OTHERS)]
    (package / "__init__.py").write_text("".join(f"from .{name} import *\n" for name in (*names, "helping")))
    for name in names:
        (package / f"{name}.py").write_text("import torch\n\n\ndef loss_of(x):\n    return torch.sum(x)\n")
    (package / "helping.py").write_text(HELPER)
    (tmp_path / "train.py").write_text(LOOP)
    monkeypatch.chdir(tmp_path)
    definitions._outline.cache_clear()
    found = findings_of(LOOP, "train.py")
    assert [one.code for one in found] == ["missing-zero-grad"], "the one that does is followed"
    assert definitions._outline.cache_info().misses < OTHERS / 4
