"""What `[tool.amplint]` takes, as JSON Schema, so that editors complete it and mark what is wrong in it.

Draft 7 is the newest that editors' TOML plugins and https://www.schemastore.org read everywhere.
"""

from __future__ import annotations

import json

from amplint.keys import KEYS, Schema
from amplint.report import FORMATS
from amplint.selection import ALL, known_rules


def schema() -> Schema:
    """The schema of the table."""
    rules = known_rules()
    names = [ALL, *dict.fromkeys(rule.family for rule in rules.values()), *rules]
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "amplint",
        "description": "The table [tool.amplint] of a pyproject.toml.",
        "type": "object",
        "additionalProperties": False,
        "definitions": {"rule": {"enum": names}, "format": {"enum": list(FORMATS)}},
        "properties": {name: {"description": key.about, **key.schema} for name, key in KEYS.items()},
    }


def as_json() -> str:
    """The schema as a file."""
    return json.dumps(schema(), indent=2) + "\n"
