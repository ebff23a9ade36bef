"""No program crashes the analysis: not those of the project, and not what is left of them after an accident."""

import ast
import copy
from contextlib import suppress
from functools import cache
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amplint.analysis import findings_of
from amplint.catalogue import RULES
from amplint.catalogue.examples import examples
from amplint.findings import Finding
from amplint.source.reading import Unparsable

ROOT = Path(__file__).parents[2]
CASES = sorted(ROOT.glob("tests/cases/*.md"))
FILES = sorted([*ROOT.glob("amplint/*/*.py"), *ROOT.glob("tests/*/*.py")])


@cache
def corpus():
    """The statements of every example and case, loops and functions whole."""
    pages = [rule.page for rule in RULES.values()] + [path.read_text(encoding="utf-8") for path in CASES]
    return [ast.parse(example.source).body for page in pages for example in examples(page)]


def suites(body):
    """A body and every body inside it, as lists that can be changed."""
    found = [body]
    for statement in body:
        for node in ast.walk(statement):
            found += [
                part
                for name in ("body", "orelse", "finalbody")
                if isinstance(part := getattr(node, name, None), list) and part
            ]
    return found


WRAPPERS = (
    "if maybe:\n    pass",
    "while waiting():\n    pass",
    "try:\n    pass\nexcept RuntimeError:\n    continue_ = 1",
    "with context() as held:\n    pass",
    "def inner(*args, **kwargs):\n    pass",
    "for _ in range(accum_steps):\n    pass",
    "class Inner(Outer):\n    pass",
)


def accident(draw, body):
    """One slip: a statement is lost, doubled, moved, wrapped, or comes from elsewhere."""
    suite = draw(st.sampled_from(suites(body)))
    at = draw(st.integers(0, len(suite) - 1))
    what = draw(st.sampled_from(["lose", "double", "move", "wrap", "graft"]))
    if what == "lose":
        suite[at : at + 1] = [] if len(suite) > 1 else [ast.Pass()]
    elif what == "double":
        suite.insert(at, copy.deepcopy(suite[at]))
    elif what == "move":
        suite.append(suite.pop(at))
    elif what == "wrap":
        (wrapper,) = ast.parse(draw(st.sampled_from(WRAPPERS))).body
        wrapper.body = [suite[at]]
        suite[at] = wrapper
    else:
        other = draw(st.sampled_from(corpus()))
        suite.insert(at, copy.deepcopy(draw(st.sampled_from(draw(st.sampled_from(suites(other)))))))


@st.composite
def wrecks(draw):
    body = copy.deepcopy(draw(st.sampled_from(corpus())))
    for _ in range(draw(st.integers(1, 5))):
        accident(draw, body)
    return ast.unparse(ast.fix_missing_locations(ast.Module(body, [])))


def is_python(text):
    try:
        compile(text, "wreck.py", "exec", dont_inherit=True)
    except (SyntaxError, ValueError):
        return False
    return True


@settings(max_examples=20, deadline=None, database=None)
@given(wrecks())
def test_what_is_left_of_a_program_is_judged_and_does_not_crash(text):
    if is_python(text):
        found = findings_of(text, "wreck.py")
        assert all(isinstance(finding, Finding) and 1 <= finding.place.row <= text.count("\n") + 1 for finding in found)


@settings(max_examples=20, deadline=None, database=None)
@given(st.sampled_from(FILES), st.data())
def test_lines_of_a_file_that_are_lost_or_moved_do_not_crash_it(path, data):
    lines = path.read_text(encoding="utf-8").splitlines()
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(lines)))
        lines[at : at + data.draw(st.integers(0, 2))] = data.draw(
            st.sampled_from(
                [[], ["loss.backward()"], ["    scaler = GradScaler()"], ["if x:"], ["    optimizer.step()", ")"]]
            )
        )
    text = "\n".join(lines)
    if is_python(text):
        findings_of(text, "wreck.py")
    else:
        with suppress(Unparsable):  # LibCST reads some of what this interpreter refuses
            findings_of(text, "wreck.py")


@pytest.mark.parametrize("path", sorted(ROOT.glob("amplint/**/*.py")), ids=lambda path: path.stem)
def test_of_its_own_source_nothing_is_said(path):
    assert findings_of(path.read_text(encoding="utf-8"), str(path)) == []
