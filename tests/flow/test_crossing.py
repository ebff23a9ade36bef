"""Losses that go back through a model on their way to another one: whom each is for."""

from amplint.flow.attribution import attributed
from amplint.protocol.events import Event, Kind, Site

THROUGH = frozenset({("net", "net"), ("critic", "critic"), ("critic", "net")})
ALONE = frozenset({("critic", "critic")})


def at(kind, row, optimizer=None, **parts):
    return Event(kind, Site("train.py", row), optimizer, **parts)


def back(row, reach=THROUGH, scaler=None):
    return at(Kind.BACKWARD, row, reach=reach, scaler=scaler)


MADE = [
    at(Kind.CREATE, 1, "g", reach=frozenset({("net", "net")})),
    at(Kind.CREATE, 2, "d", reach=ALONE),
]


def told(*events):
    """The kinds and rows of backwards and of what passes, with the optimizer that each is given."""
    found = attributed([*MADE, *events])
    kinds = (Kind.BACKWARD, Kind.PASS)
    return [(event.kind.name, event.site.row, event.optimizer) for event in found if event.kind in kinds]


def zero(row, optimizer):
    return at(Kind.ZERO_GRAD, row, optimizer)


def step(row, optimizer):
    return at(Kind.STEP, row, optimizer)


def test_what_is_erased_unused_shows_whom_two_losses_are_for():
    cycle = [zero(10, "g"), back(11), zero(12, "d"), back(13), step(14, "g"), step(15, "d")]
    assert (
        told(*cycle, *cycle)
        == [
            ("BACKWARD", 11, "g"),
            ("PASS", 11, "d"),
            ("BACKWARD", 13, "d"),
            ("PASS", 13, "g"),
        ]
        * 2
    )


def test_a_loss_of_the_critic_alone_passes_nothing():
    cycle = [zero(10, "g"), back(11), zero(12, "d"), back(13, ALONE), step(14, "g"), step(15, "d")]
    assert ("PASS", 13, "g") not in told(*cycle, *cycle)


def test_a_loss_that_the_critic_does_not_step_for_is_not_taken_for_its_own():
    first = [zero(10, "g"), back(11), zero(12, "d"), back(13), step(14, "g"), step(15, "d")]
    other = [back(16), step(17, "g"), back(18, ALONE), step(19, "d")]
    assert ("BACKWARD", 16, "g") in told(*first, *other, *first, *other)


def test_the_scale_shows_whom_two_losses_are_for():
    cycle = [
        *(zero(10, "g"), zero(11, "d"), back(12, scaler="of g"), back(13, scaler="of d")),
        *(at(Kind.SCALER_STEP, 14, "g", scaler="of g"), at(Kind.SCALER_STEP, 15, "d", scaler="of d")),
    ]
    assert told(*cycle) == [("BACKWARD", 12, "g"), ("PASS", 12, "d"), ("BACKWARD", 13, "d"), ("PASS", 13, "g")]


def test_without_anything_that_shows_it_each_is_for_both():
    cycle = [zero(10, "g"), zero(11, "d"), back(12), back(13), step(14, "g"), step(15, "d")]
    assert {one for one in told(*cycle) if one[0] == "PASS"} == set()
