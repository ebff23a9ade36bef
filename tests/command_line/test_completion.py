"""What a shell offers, asked of the shell itself."""

from __future__ import annotations

import subprocess

import pytest


@pytest.fixture
def offered(amplint, project):
    """What bash offers for the last of some words."""
    script = project / "completion.bash"
    script.write_text(amplint("generate-shell-completion", "bash").out)

    def offer(*words: str) -> list[str]:
        asked = f'source "$0"; COMP_WORDS=("$@"); COMP_CWORD={len(words) - 1}; _shtab_amplint; echo "${{COMPREPLY[@]}}"'
        told = subprocess.run(["bash", "-c", asked, str(script), *words], capture_output=True, text=True, check=True)
        return told.stdout.split()

    return offer


def test_options_and_commands_are_offered(offered):
    assert offered("amplint", "--unsafe") == ["--unsafe-fixes"]
    assert offered("amplint", "lo") == ["loops"]
    assert offered("amplint", "loops", "--output-f") == ["--output-format"]


def test_rules_and_families_are_offered_where_they_can_stand(offered):
    assert offered("amplint", "rule", "clip-before-u") == ["clip-before-unscale"]
    assert offered("amplint", "--select", "schedul")[0] == "scheduler"
    assert offered("amplint", "config", "per-") == ["per-file-ignores"]


def test_files_are_offered(offered, write):
    write({"train.py": ""})
    assert offered("amplint", "check", "tra") == ["train.py"]
    assert offered("amplint", "--baseline", "tra") == ["train.py"]


def test_a_shell_that_is_not_known_is_refused_with_those_that_are(amplint):
    ended = amplint("generate-shell-completion", "nonsense")
    assert ended.code == 2
    assert "bash, zsh" in ended.err


def test_without_the_writer_it_says_what_to_install(amplint, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "shtab", None)
    ended = amplint("generate-shell-completion", "bash")
    assert (ended.code, ended.out) == (2, "")
    assert "pip install shtab" in ended.err
