"""What is said of a gradient that is too large, by the optimizer that steps with it."""

import pytest

from amplint.catalogue.felt import consequence, hardly_felt
from amplint.protocol.cadence import Cadence
from amplint.protocol.events import Event, Kind, Site
from amplint.protocol.ledger import Ledger
from amplint.protocol.state import Moment

HERE = Site("train.py", 1)


def moment(algorithm, *others, **created):
    last = {Kind.CREATE: Event(Kind.CREATE, HERE, detail=created), **{kind: Event(kind, HERE) for kind in others}}
    return Moment(Event(Kind.STEP, HERE), Ledger(algorithm=algorithm), Cadence(), last)


@pytest.mark.parametrize(
    ("seen", "hidden", "words"),
    [
        (moment("AdamW"), True, "AdamW hides it as long as nothing is clipped"),
        (moment("Adam"), True, "Adam hides it as long as nothing is clipped"),
        (moment("Adam", decays="yes"), False, "Adam hides it, but not from its weight decay"),
        (moment("SGD"), False, "the step of SGD"),
        (moment("AdamW", Kind.CLIP), False, "the norm that the clip compares"),
    ],
)
def test_what_an_optimizer_makes_of_a_constant_factor(seen, hidden, words):
    assert hardly_felt(seen) is hidden
    assert words in consequence(seen)
