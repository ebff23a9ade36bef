"""Notebooks for tests, as Jupyter writes them."""

from __future__ import annotations

import json
from typing import Any

PYTHON = {"kernelspec": {"language": "python", "name": "python3"}, "language_info": {"name": "python"}}


def notebook(*cells: str | dict[str, Any], metadata: dict[str, Any] = PYTHON) -> bytes:
    """A notebook of format 4; a cell is the source of a code cell, or written out."""
    written = [code(cell) if isinstance(cell, str) else cell for cell in cells]
    return json.dumps({"cells": written, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}).encode()


def code(text: str, **more: Any) -> dict[str, Any]:
    """A code cell, its source a list of lines."""
    source = text.splitlines(keepends=True)
    return {"cell_type": "code", "execution_count": None, "metadata": {}, "outputs": [], "source": source, **more}


def markdown(text: str) -> dict[str, Any]:
    """A cell of prose."""
    return {"cell_type": "markdown", "metadata": {}, "source": text}
