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


AGAIN = """\
from torch.nn.utils import clip_grad_norm_


def train(model, loader, optimizer, clips):
    limit = 0.5 if clips else 1.0
    for x in loader:
        model(x).loss.backward()
        if clips:
            clip_grad_norm_(model.parameters(), limit)
        optimizer.step()
        optimizer.zero_grad()
"""


def test_a_decision_that_was_taken_before_tells_where_it_is_asked_for_again():
    assert "clips" in first_run(AGAIN).telling


LEFT = """\
from accelerate import Accelerator
from accelerate.utils import DistributedType

accelerator = Accelerator()
limit = 0.5 if accelerator.distributed_type == DistributedType.DEEPSPEED else 1.0


def train(model, loader, optimizer):
    model, loader, optimizer = accelerator.prepare(model, loader, optimizer)
    for x in loader:
        accelerator.backward(model(x).loss)
        accelerator.clip_grad_norm_(model.parameters(), limit)
        optimizer.step()
        optimizer.zero_grad()
"""


def test_a_run_may_leave_its_backward_to_somebody_else_by_what_was_decided_before():
    run = first_run(LEFT)
    assert run.passed[0] == 0
    assert run.elsewhere
    assert any("DEEPSPEED" in key for key in run.telling)
