"""What a finding is known by survives what people do to a file, and tells apart what is different."""

from __future__ import annotations

import pytest

from amplint.findings import Finding, Place, Severity
from amplint.fingerprint import fingerprints

BEFORE = """\
def train_step(model, batch):
    loss = model(batch)
    loss.backward( retain_graph = False )
    clip_grad_norm_(model.parameters(), max_norm = 1.0)

for batch in loader:
    train_step(model, batch)
"""
FORMATTED = """\
# a comment
import torch


def one_step(
    model,
    batch,
):
    loss = model(batch)
    loss.backward(retain_graph=False)
    clip_grad_norm_(
        model.parameters(),
        max_norm=1.0,
    )


for batch in loader:
    one_step(model, batch)
"""


def known(text: str, *rows: int, code: str = "clip-per-micro-step", filename: str = "a.py", column: int = 5):
    found = [Finding(filename, Place(row, column, row, column + 1), code, Severity.ERROR, "m") for row in rows]
    return fingerprints(found, {(filename, None): text})


def test_formatting_new_lines_and_a_renamed_function_change_nothing():
    assert known(BEFORE, 3, 4, 7) == known(FORMATTED, 10, 11, 18)
    assert known(BEFORE, 1, column=1) != known(BEFORE, 3)


@pytest.mark.parametrize("line", ["    clip_grad_norm_(model.parameters(), 2.0)", "    clip_grad_value_(p, 1.0)"])
def test_another_statement_is_another_finding(line):
    assert known(BEFORE, 4) != known(BEFORE.replace("    clip_grad_norm_(model.parameters(), max_norm = 1.0)", line), 4)


def test_two_findings_at_the_same_text_differ_and_so_do_two_rules():
    twice = "loss.backward()\nloss.backward()\n"
    first, second = known(twice, 1, 2, column=1)
    assert first != second
    assert [first] == known(twice, 1, column=1)
    assert known(twice, 1, column=1) != known(twice, 1, column=1, code="missing-step")


def test_a_compound_statement_is_known_by_its_header():
    text = "if (step + 1) % 4 == 0:\n    optimizer.step()\n"
    longer = "if (step+1) % 4 == 0:\n    optimizer.step()\n    more()\n"
    assert known(text, 1, column=1) == known(longer, 1, column=1)
    assert known(text, 1, column=1) != known(text, 2)


def test_of_two_statements_in_a_line_the_one_at_the_column_counts():
    assert known("a = 'ö'; loss.backward()\n", 1, column=10) == known("loss.backward()\n", 1, column=1)


def test_what_is_no_python_is_known_by_the_words_of_its_line():
    assert known("%magic\nloss.backward( )\n", 2, column=1) == known("%magic\n\n  loss.backward( ) \n", 3, column=3)
    assert len(known("", 9)) == 1
