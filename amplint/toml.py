"""TOML, by the standard library or what stands in for it before Python 3.11."""

from __future__ import annotations

import sys
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


def table(data: bytes) -> dict[str, Any]:
    """The table of a document. Raises ValueError for what is not TOML or not UTF-8."""
    return tomllib.loads(data.decode())
