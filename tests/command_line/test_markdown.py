"""Markdown is read where it is named, and below folders on request."""

from __future__ import annotations

WRONG = "loss.backward()\nclip_grad_norm_(p)\n"
LIST = "* again:\n\n  ```python\n  a.backward()\n  clip_grad_norm_(p)\n  ```\n"
DOCUMENT = f"# Training\n\n```python\n{WRONG}```\n\n{LIST}"


def places(told: str) -> list[str]:
    return [line.partition(": ")[0] for line in told.splitlines()]


def test_a_document_given_by_name_is_read(amplint, write):
    write({"guide.md": DOCUMENT})
    ended = amplint("guide.md", "-q", "--output-format", "concise")
    assert (ended.code, places(ended.out)) == (1, ["guide.md:5:1", "guide.md:12:3"])


def test_a_finding_is_shown_in_the_document(amplint, write):
    write({"guide.md": DOCUMENT})
    shown = amplint("guide.md").out
    assert "4 | loss.backward()" in shown
    assert "11 |   a.backward()" in shown


def test_documents_below_a_folder_are_read_on_request(amplint, write):
    write({"docs/guide.md": DOCUMENT, "train.py": WRONG})
    assert places(amplint("-q", "--output-format", "concise").out) == ["train.py:2:1"]
    assert len(places(amplint("-q", "--output-format", "concise", "--markdown").out)) == 3
    write({"pyproject.toml": "[tool.amplint]\nmarkdown = true\n"})
    assert len(places(amplint("-q", "--output-format", "concise").out)) == 3


def test_a_block_is_not_read_into_the_next(amplint, write):
    halves = ["loss.backward()\n", "clip_grad_norm_(p)\n"]
    write({"guide.md": "".join(f"```python\n{half}```\n" for half in halves)})
    assert "scaled here" not in amplint("guide.md").out


def test_a_comment_in_a_block_silences(amplint, write):
    write({"guide.md": DOCUMENT})
    ended = amplint("guide.md", "--add-ignores")
    assert "2 findings silenced in 1 file" in ended.err
    assert amplint("guide.md").code == 0


def test_a_document_is_told_of_and_not_mended(amplint, write, project):
    document = "```python\nimport torch\n\nscaler = torch.cuda.amp.GradScaler()\n```\n"
    write({"guide.md": document})
    told = amplint("guide.md", "--fix", analysis=None)
    assert "deprecated-cuda-amp" in told.out
    assert (project / "guide.md").read_text() == document


def test_a_document_comes_from_stdin(amplint, monkeypatch):
    from io import BytesIO, TextIOWrapper

    monkeypatch.setattr("sys.stdin", TextIOWrapper(BytesIO(DOCUMENT.encode())))
    ended = amplint("-", "--stdin-filename", "guide.md", "-q", "--output-format", "concise")
    assert places(ended.out) == ["guide.md:5:1", "guide.md:12:3"]
