from __future__ import annotations

import codecs
import os
from pathlib import Path

import pytest

from amplint.source.prefilter import holds_training_words
from amplint.source.reading import LIMIT, Unreadable, decoded, read


@pytest.mark.parametrize(
    ("data", "text"),
    [
        (b"x = 1\r\n", "x = 1\r\n"),
        (codecs.BOM_UTF8 + b"x = 1\n", "x = 1\n"),
        ("x = 'ä世'\n".encode(), "x = 'ä世'\n"),
        (b"# -*- coding: latin-1 -*-\nx = '\xe4'\n", "# -*- coding: latin-1 -*-\nx = 'ä'\n"),
        (
            b"#!/usr/bin/python\n# vim: set fileencoding=cp1252 :\n'\x80'",
            "#!/usr/bin/python\n# vim: set fileencoding=cp1252 :\n'€'",
        ),
        (b"", ""),
    ],
)
def test_text_is_what_python_would_read(data, text):
    assert decoded(data) == text


@pytest.mark.parametrize(
    ("data", "row", "why"),
    [
        (b"a\n\n\nb\n\xff\n", 5, "not valid utf-8: byte 0xff"),
        (b"\xff\n", 1, "cannot be decoded"),
        (b"# coding: no-such\n", 1, "no-such"),
        (b"# coding: hex\n", 1, "hex"),
        (codecs.BOM_UTF8 + b"# coding: latin-1\n", 1, "cannot be decoded"),
        (b"x = 1\ny\0\n", 2, "NUL"),
        ("x = 1".encode("utf-16"), 1, "NUL"),
    ],
)
def test_what_python_could_not_read_is_unreadable(data, row, why):
    with pytest.raises(Unreadable, match=why) as caught:
        decoded(data)
    assert caught.value.row == row


def test_only_a_wanted_file_can_be_too_large(tmp_path):
    file = tmp_path / "large.py"
    file.write_bytes(b"x = 1\n" * (LIMIT // 6 + 1) + b"loss.backward()\n")
    with pytest.raises(Unreadable, match="larger than 1 MiB"):
        read(str(file), holds_training_words)
    assert read(str(file), lambda data: False) is None


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="everything is readable for root")
def test_a_file_that_may_not_be_read_is_unreadable(tmp_path: Path):
    file = tmp_path / "closed.py"
    file.touch(mode=0)
    with pytest.raises(Unreadable, match="Permission denied"):
        read(str(file), holds_training_words)


def test_a_file_that_vanishes_is_unreadable(tmp_path):
    with pytest.raises(Unreadable, match="No such file"):
        read(str(tmp_path / "gone.py"), holds_training_words)


def test_words_of_training_are_found_in_bytes():
    assert holds_training_words(b"x = 1\nloss.backward()\n")
    assert holds_training_words(b"from torch.amp import GradScaler")
    assert not holds_training_words(b"import numpy as np\n")
