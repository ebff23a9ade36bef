"""A run that is played beside another one ends as soon as it is told from it."""

from amplint.lower.prune import program_of
from amplint.lower.statements import Statements
from amplint.machine.entry_points import entries, play
from amplint.source.parse import parse
from amplint.state.model import Model
from tests.machine.played import HEAD, story

LOOP = """\
def train(loader, args):
    for x, y in loader:
        if args.mixup:
            x = args.mixed(x)
        criterion(model(x), y).backward()
        if args.clip:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()

train(loader, args)
"""


def played(choices, beside=(), entry=0):
    program = program_of("train.py", Statements(parse(HEAD + LOOP)).module())
    return play(program, list(entries(program))[entry], Model(), choices, beside)


def test_a_run_in_which_something_else_happens_ends_with_its_micro_step():
    for entry in (0, 1):
        plain = played({}, entry=entry)
        other = played({"args.clip": False}, plain.events, entry)
        assert story(plain).startswith("bcszbcsz")
        assert story(other) == "bsz"
        assert other.happened != plain.happened


def test_a_run_in_which_the_same_happens_is_played_to_its_end():
    for entry in (0, 1):
        plain = played({}, entry=entry)
        assert played({"args.mixup": False}, plain.events, entry).happened == plain.happened
