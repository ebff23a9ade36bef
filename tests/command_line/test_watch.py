"""A check is made again when a file changes, appears or goes."""

from __future__ import annotations

import os

import pytest

from amplint.watching import watch


class Ended(Exception):
    """Nothing more happens."""


@pytest.mark.parametrize("change", ["written", "new", "gone"])
def test_each_change_leads_to_one_more_check(tmp_path, change):
    one, other = tmp_path / "one.py", tmp_path / "other.py"
    one.write_text("x = 1\n")
    checks = []
    looks = []

    def files():
        return [str(path) for path in (one, other)]

    def pause():
        looks.append(len(checks))
        if len(looks) == 2:
            {"written": lambda: os.utime(one, (1, 1)), "new": lambda: other.write_text(""), "gone": one.unlink}[
                change
            ]()
        if len(looks) > 4:
            raise Ended

    with pytest.raises(Ended):
        watch(files, lambda: checks.append(1), pause)
    assert looks == [1, 1, 2, 2, 2]


def test_watching_ends_as_an_interrupted_command_does(amplint, write, monkeypatch):
    write({"train.py": "loss.backward()\nclip_grad_norm_(p)\n"})
    rounds = []

    def interrupted():
        rounds.append(1)
        raise KeyboardInterrupt

    monkeypatch.setattr("amplint.watching.time.sleep", lambda seconds: interrupted())
    ended = amplint("--watch", "--output-format", "concise")
    assert (ended.code, len(rounds)) == (130, 1)
    assert "train.py:2:1: error[clip-before-unscale]" in ended.out
    assert "needs files, not stdin" in amplint("-", "--watch").err


def test_the_pages_of_all_rules_can_be_read_at_once(amplint):
    told = amplint("rule", "--all").out
    assert "clip-before-unscale: clipping rule, error, with a safe fix\n" in told
    assert "unknown-ignore: amplint rule, warning\n" in told
    assert amplint("rule", "--all", "--output-format", "json").out == amplint("rule", "--output-format", "json").out
