"""Values of the protocol that hold nothing but what they are given."""

import pytest

from amplint.protocol.diagram import diagram
from amplint.protocol.events import Event, Kind, Site
from amplint.protocol.facts import Fact


def test_a_fact_can_be_kept_in_a_set_whatever_its_arguments():
    site = Site("train.py", 1)
    assert len({Fact("torch.autocast", site, {0: []}), Fact("torch.autocast", site, {0: []})}) == 1


def test_what_a_message_may_quote_does_not_make_two_events_different():
    site = Site("train.py", 1)
    assert Event(Kind.CLIP, site, detail={"n": "4"}) == Event(Kind.CLIP, site)


def test_sites_are_sorted_by_where_they_stand():
    assert sorted([Site("b.py", 1), Site("a.py", 9), Site("a.py", 2, 5)])[0] == Site("a.py", 2, 5)


def test_there_are_pictures_of_the_parts_with_more_than_two_values_alone():
    assert diagram("stage").startswith("stateDiagram-v2\n")
    assert "ready --> unscaled: unscale_" in diagram("stage")
    with pytest.raises(ValueError, match="no diagram of 'clipped'"):
        diagram("clipped")
