"""Loops that nobody wrote: what is said of them does not depend on how they are written."""

from textwrap import indent

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tests.machine.grown import IRRELEVANT, LINES, NEUTRAL, loops, renamed, told

some = settings(max_examples=12, deadline=None, database=None)
EVERYTHING = "model, criterion, optimizer, scaler, scheduler, loader, loss, i, x, y"


@some
@given(loops)
def test_names_do_not_matter_where_constructors_are_visible(loop):
    source = loop.source()
    expected = [(rule, severity, renamed(row, NEUTRAL)) for rule, severity, row in told(source)]
    assert told(renamed(source, NEUTRAL)) == sorted(expected)


@some
@given(loops, st.lists(st.tuples(st.integers(0, 9), st.sampled_from(IRRELEVANT)), min_size=1, max_size=4))
def test_logging_does_not_matter(loop, more):
    statements = list(loop.statements)
    for at, line in more:
        statements.insert(at, line)
    assert told(loop.source(statements=tuple(statements))) == told(loop.source())


def handed_on(found):
    """The findings but for those about a scheduler that nobody steps: of one that is handed on that is not said."""
    return [one for one in found if one[0] != "scheduler-never-stepped"]


@some
@given(loops, st.integers(0, 9), st.integers(1, 5), st.sampled_from(["", EVERYTHING]))
def test_a_helper_says_what_its_lines_say(loop, start, count, names):
    before, part, after = (
        loop.statements[:start],
        loop.statements[start : start + count],
        loop.statements[start + count :],
    )
    assume(part)
    assume(not any(LINES[name] in line for name in ("forward", "divide") for line in part))  # these bind a name
    helper = f"\n\ndef helper({names}):\n{indent(chr(10).join(part), '    ')}\n\n\n"
    called = loop.source(before=helper, statements=(*before, f"helper({names})", *after))
    assert handed_on(told(called)) == handed_on(told(loop.source()))


@some
@given(loops)
def test_a_loop_in_a_function_that_is_called_says_what_it_says_in_a_script(loop):
    source = loop.source()
    head, loop_head, body = source.partition("for ")
    function = f"{head}\n\ndef train():\n{indent(loop_head + body, '    ')}\n\ntrain()\n"
    assert told(function) == told(source)


@some
@given(loops)
def test_the_same_text_gives_the_same_findings(loop):
    assert told(loop.source()) == told(loop.source())
