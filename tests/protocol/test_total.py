"""What a running total holds."""

from amplint.protocol.events import Event, Kind, Site
from amplint.protocol.state import State
from amplint.protocol.total import NO_TOTAL, Total, advance_total

HERE = Site("train.py", 7)


def keep(**detail):
    return Event(Kind.KEEP, HERE, total="total", detail=detail)


def after(*events):
    total = NO_TOTAL
    for event in events:
        total = advance_total(total, event)
    return total


def test_a_total_holds_as_many_losses_as_it_is_told_of():
    assert after(keep(held="4"), keep(held="2")) == Total(held=4)


def test_a_total_counts_what_it_is_not_told():
    assert after(keep(), keep()) == Total(held=2)


def test_a_total_that_begins_anew_in_its_loop_is_bounded():
    assert after(keep(bounded="yes"), keep()).bounded


def test_a_total_that_is_back_propagated_is_spent():
    assert after(keep(), Event(Kind.SPEND, HERE, total="total")) == Total(held=1, spent=True)


def test_a_total_does_not_care_about_the_end():
    assert after(keep(), Event(Kind.END, HERE)) == Total(held=1)


def test_a_total_concerns_no_optimizer_and_is_shown_at_the_end():
    state = State()
    list(state.moments(Event(Kind.CREATE, HERE, optimizer="optimizer")))
    list(state.moments(Event(Kind.CREATE, HERE, optimizer="optimizer", scheduler="scheduler")))
    assert [moment.name for moment in state.moments(keep())] == ["total"]
    last = [moment for moment in state.moments(Event(Kind.END, HERE)) if moment.name == "total"]
    assert [(moment.total, moment.last[Kind.KEEP].site) for moment in last] == [(Total(held=1), HERE)]
