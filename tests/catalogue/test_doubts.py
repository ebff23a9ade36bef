"""When a rule does not know whether a moment breaks it."""

import pytest

from amplint.catalogue import RULES
from amplint.protocol.cadence import Cadence
from amplint.protocol.events import Event, Kind, Site
from amplint.protocol.ledger import Grads, Ledger, Stage
from amplint.protocol.state import Moment


def clip(**known):
    return Moment(Event(Kind.CLIP, Site("train.py", 9)), Ledger(**known), Cadence(), {})


@pytest.mark.parametrize("unknown", [{"grads": Grads.UNKNOWN}, {"grads": Grads.UNKNOWN, "stage": Stage.UNKNOWN}])
def test_a_rule_doubts_where_what_it_asks_about_is_not_known(unknown):
    assert RULES["clip-before-unscale"].doubts(clip(**unknown))


def test_it_does_not_where_all_of_it_is_known():
    assert not RULES["clip-before-unscale"].doubts(clip())


def test_nor_where_nothing_is_asked_of_such_an_event():
    moment = Moment(Event(Kind.UPDATE, Site("train.py", 9)), Ledger(grads=Grads.UNKNOWN), Cadence(), {})
    assert not RULES["clip-before-unscale"].doubts(moment)
