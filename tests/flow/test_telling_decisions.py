"""Which decisions most likely matter: those where something happens in the branch taken, or the other branch leaves."""

from amplint.lower.statements import Statements
from amplint.played import Played
from amplint.readings import program
from amplint.source.parse import parse

TEXT = """\
def train(model, loader, optimizer, clips, skips, scales):
    for x in loader:
        loss = model(x).loss
        factor = 1.0
        if scales:
            factor = 0.5
        if not skips:
            continue
        loss.backward()
        if clips:
            clip_grad_norm_(model.parameters(), factor)
        optimizer.step()
        optimizer.zero_grad()
"""


def first_run(text):
    played = Played(program("train.py", text, Statements(parse(text)).module()))
    at = next(at for at, entry in enumerate(played.entries) if entry.function is not None)
    return played.runs(at)[0][0]


def test_a_decision_tells_by_what_happens_where_it_is_taken_or_by_a_branch_that_leaves():
    run = first_run("from torch.nn.utils import clip_grad_norm_\n" + TEXT)
    assert {"clips", "skips"} == run.telling & {"clips", "skips", "scales"}
