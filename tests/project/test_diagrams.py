"""The pictures show every change of the tables, and no other."""

import re

import pytest

from amplint.protocol.diagram import PARTS, diagram
from amplint.protocol.ledger import TABLES, Feed, Ledger

ARROW = re.compile(r"^ {4}(\w+) --> (\w+): (.+)$", re.M)


def drawn(part):
    return {
        (before, after, feed) for before, after, feeds in ARROW.findall(diagram(part)) for feed in feeds.split(" / ")
    }


def told(part):
    changes = ((feed, before, after) for feed, row in TABLES[part].items() for before, after in row.items())
    return {
        (before.name.lower(), after.name.lower(), feed.value) for feed, before, after in changes if before is not after
    }


@pytest.mark.parametrize("part", PARTS)
def test_every_change_of_the_table_is_one_arrow(part):
    assert drawn(part) == told(part)


@pytest.mark.parametrize("part", PARTS)
def test_every_state_is_named_and_the_first_one_is_marked(part):
    start = getattr(Ledger(), part)
    text = diagram(part)
    assert text.startswith("stateDiagram-v2\n")
    assert f"[*] --> {start.name.lower()}\n" in text
    assert all(f'state "{state.value}" as {state.name.lower()}\n' in text for state in type(start))


def test_every_part_with_more_than_two_values_has_a_picture():
    assert set(PARTS) == {part for part in TABLES if not isinstance(getattr(Ledger(), part), bool)}


def test_a_label_never_holds_what_mermaid_reads_as_syntax():
    assert all(not set(feed.value) & set(':;/"') for feed in Feed)


@pytest.mark.parametrize("part", ["clipped", "no_such_part"])
def test_a_part_without_states_has_no_picture(part):
    with pytest.raises(ValueError, match="choose one of grads, stage"):
        diagram(part)
