"""The schema of the configuration takes what amplint takes."""

from __future__ import annotations

import jsonschema
import pytest

from amplint import toml
from amplint.keys import KEYS
from amplint.schema import schema
from tests.project.generated import COMMAND, FILES, ROOT


@pytest.mark.parametrize("name", sorted(FILES))
def test_a_generated_file_is_current(name):
    assert (ROOT / name).read_text(encoding="utf-8") == FILES[name](), f"run `{COMMAND}`"


def test_it_is_a_schema():
    jsonschema.Draft7Validator.check_schema(schema())


@pytest.mark.parametrize("name", sorted(KEYS))
def test_the_example_of_each_key_is_right_by_both(name):
    table = toml.table(f"{name} = {KEYS[name].example}".encode())
    jsonschema.Draft7Validator(schema()).validate(table)
    assert list(KEYS[name].wrongs(table[name])) == []


@pytest.mark.parametrize("name", sorted(KEYS))
def test_a_value_of_another_kind_is_wrong_by_both(name):
    assert not jsonschema.Draft7Validator(schema()).is_valid({name: 3})
    assert list(KEYS[name].wrongs(3)) != []


@pytest.mark.parametrize(
    "table",
    [
        {"selct": []},
        {"select": ["no-such-rule"]},
        {"severity": {"clipping": "fatal"}},
        {"severity": {"no-such-rule": "error"}},
        {"output-format": "xml"},
        {"dialects": {"a.B.c": {"evnt": "backward"}}},
    ],
)
def test_what_amplint_refuses_is_wrong(table):
    assert not jsonschema.Draft7Validator(schema()).is_valid(table)
