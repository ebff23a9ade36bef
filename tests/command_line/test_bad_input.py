from __future__ import annotations

import os

import pytest

from amplint.source.reading import LIMIT


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"loss.backward()\n'\xff'\n", "train.py:2:1: error[unreadable-file] the file is not valid utf-8: byte 0xff"),
        (b"loss.backward()\0\n", "train.py:1:1: error[unreadable-file] the file holds a NUL byte"),
        ("loss.backward()\n".encode("utf-16"), "train.py:1:1: error[unreadable-file] the file holds a NUL byte"),
        (b"# coding: no\nautocast\n", "train.py:1:1: error[unreadable-file] the file cannot be decoded"),
        (b"autocast\n" + b"#" * LIMIT, "train.py:1:1: error[unreadable-file] the file is larger than 1 MiB"),
        (b"autocast\nbroken syntax\n", "train.py:2:5: error[syntax-error] the file cannot be parsed: expected"),
    ],
)
def test_a_file_that_cannot_be_checked_is_one_finding(amplint, write, content, said):
    write({"train.py": content, "other.py": "clip_grad_norm_(autocast)\n"})
    ended = amplint("--output-format", "concise", "-q", "train.py", "other.py", "--select", "clipping")
    assert ended.code == 1
    other, line = ended.out.splitlines()
    assert other.startswith("other.py:1:1: error[clip-before-unscale]")
    assert line.startswith(said)
    assert ended.err == ""
    assert amplint("train.py", "--ignore", "ALL").code == 1
    assert amplint("train.py", "--ignore", "syntax-error,unreadable-file").code == 0
    assert amplint("train.py", "--ignore", "amplint").code == 0


def test_files_that_are_none_of_our_business_may_be_unreadable(amplint, write):
    write({"data.py": b"'\xff'\n", "large.py": b"#" * (LIMIT + 1), "nul.py": b"\0"})
    assert amplint() == (0, "All checks passed!\n", "")


@pytest.mark.parametrize("coding", ["utf-8", "utf-8-sig", "latin-1"])
@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_columns_count_characters_whatever_the_bytes(amplint, write, coding, end):
    text = f"# coding: {'utf-8' if coding == 'utf-8-sig' else coding}{end}'äö'; clip_grad_norm_('é', autocast){end}"
    write({"train.py": text.encode(coding)})
    assert "train.py:2:7: error[clip-before-unscale]" in amplint("--output-format", "concise").out
    assert "'äö'; clip_grad_norm_('é', autocast)" in amplint().out


def test_a_folder_called_like_a_file_is_a_folder(amplint, write):
    write({"train.py/inner.py": "clip_grad_norm_(autocast)"})
    assert os.path.join("train.py", "inner.py") in amplint().out


def test_an_empty_path_does_not_exist(amplint):
    assert amplint("").code == 2
