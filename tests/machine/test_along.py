"""A program on another model, played along the runs that were played before."""

from amplint.lower.prune import program_of
from amplint.lower.statements import Statements
from amplint.played import Played
from amplint.source.parse import parse
from tests.machine.played import HEAD

LOOP = """\
for i, (x, y) in enumerate(loader):
    if args.mixup:
        x = args.mixed(x)
    loss = criterion(model(x), y)
    if args.weighted:
        loss = loss * args.weight
    loss.backward()
    if args.clip:
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    if (i + 1) % accum_steps == 0:
        optimizer.step()
        optimizer.zero_grad()
"""


def played(text, **model):
    return Played(program_of("train.py", Statements(parse(HEAD + text)).module()), **model)


def chosen(program):
    return [run.choices for run in program.runs(0)[0]]


def test_only_what_was_decided_before_is_decided_again_and_only_what_differs_is_kept():
    before = played(LOOP)
    along = Played(before.program, ones=frozenset({"accum_steps"}), along=before)
    decided = chosen(before)
    assert len(decided) > 2
    assert all(choices in decided for choices in chosen(along))
    assert len({run.happened for run in along.runs(0)[0]}) == len(along.runs(0)[0])
    assert along.runs(0)[1] is before.runs(0)[1] is True


def test_a_window_of_one_is_one_in_the_runs_along_others():
    before = played(LOOP)
    before.runs(0)
    along = Played(before.program, ones=frozenset({"accum_steps"}), along=before)
    steps = [sum(event.optimizer is not None for event in run.events) for run in along.runs(0)[0]]
    assert min(steps) > max(sum(event.optimizer is not None for event in run.events) for run in before.runs(0)[0])


def test_where_nothing_was_played_before_all_is_tried():
    before = played(LOOP)
    along = Played(before.program, along=before)
    assert chosen(along) == chosen(Played(before.program))
