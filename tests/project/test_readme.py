"""The README says what is true of the code."""

import re
import subprocess
import sys

import pytest

from tests.project.generated import COMMAND, EXAMPLE, README, README_SECTIONS, ROOT, SECTIONS, replaced


@pytest.mark.parametrize("name", sorted(README_SECTIONS))
def test_a_generated_section_is_current(name):
    text = README.read_text(encoding="utf-8")
    assert replaced(text, name, SECTIONS[name]()) == text, f"{name} is out of date: run `{COMMAND}`"


def test_a_section_that_is_out_of_date_would_be_seen():
    text = "<!-- generated: rules -->\nold\n<!-- end: rules -->"
    assert replaced(text, "rules", "new") == "<!-- generated: rules -->\nnew\n<!-- end: rules -->"


@pytest.mark.parametrize("text", ["", "<!-- generated: rules -->\na\n<!-- end: rules -->\n" * 2])
def test_a_section_without_its_one_pair_of_markers_is_an_error(text):
    with pytest.raises(ValueError, match="exactly once"):
        replaced(text, "rules", "new")


def test_the_test_command_of_the_readme_is_the_one_that_ci_runs():
    command = "-m pytest -n 2"
    assert command in README.read_text(encoding="utf-8")
    assert command in (ROOT / ".ci" / "run").read_text(encoding="utf-8")


def test_the_readme_is_read_in_two_minutes():
    assert len(README.read_text(encoding="utf-8").splitlines()) <= 150


def test_what_the_readme_leads_to_is_there():
    links = re.findall(r"\]\(([^)#]+)\)", README.read_text(encoding="utf-8"))
    assert len(links) > 10
    assert [link for link in links if not link.startswith("https://") and not (ROOT / link).exists()] == []


def test_the_bundled_example_is_executable():
    done = subprocess.run([sys.executable, EXAMPLE], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert len(done.stdout.splitlines()) == 3  # one line for each window


def test_the_bundled_example_gives_the_documented_rules():
    found = SECTIONS["output"]()
    for rule in ("missing-loss-division", "clip-before-unscale", "clip-per-micro-step", "dropped-tail-window"):
        assert found.count(rule) >= 1
