"""What a file is, by its name: Python, a notebook with Python in its cells, or Markdown with Python in its blocks."""

from __future__ import annotations

from amplint.source.reading import decoded
from amplint.source.script import Script

PYTHON = (".py", ".pyi")
NOTEBOOK = ".ipynb"
MARKDOWN = (".md", ".markdown", ".mdx", ".qmd")


def is_notebook(filename: str) -> bool:
    """Whether a file of that name is read as a notebook."""
    return filename.endswith(NOTEBOOK)


def no_notebook(data: bytes) -> bool:
    """Whether it is plain that the bytes of a file are none of a notebook: they do not name what one holds."""
    return b'"cells"' not in data and b'"worksheets"' not in data


def is_markdown(filename: str) -> bool:
    """Whether a file of that name is read as Markdown."""
    return filename.endswith(MARKDOWN)


def script_of(data: bytes, filename: str) -> Script:
    """The Python of a file. Raises Unreadable."""
    if is_notebook(filename):
        from amplint.source.notebooks import notebook_of

        return notebook_of(data)
    text = decoded(data)
    return Script(text, {None: text})
