"""Whose a file is, by where it lies."""

import sys

from runtime_guard.sites import Owner, Sites


def test_what_is_installed_for_the_user_alone_is_a_library(monkeypatch, tmp_path):
    folder = tmp_path / "lib" / "site-packages"
    file = str(folder / "lightning" / "pytorch" / "loops" / "loop.py")
    assert Sites("/torch").owner(file) is Owner.USER
    monkeypatch.setattr(sys, "path", [*sys.path, str(folder)])
    sites = Sites("/torch")
    assert sites.owner(file) is Owner.LIBRARY
    assert sites.inside(file) == "lightning/pytorch/loops/loop.py"
    assert sites.owner(str(tmp_path / "train.py")) is Owner.USER
