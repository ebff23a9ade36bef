"""What leads to the documentation site once it has an address, which is that of the installed package."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from amplint.report.paint import leading

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "tests" / "example" / "train.py"
SITE = "https://docs.example.org/amplint"


@pytest.fixture
def told(tmp_path):
    """What amplint says of the example in a format, where the package names an address."""

    def run(form: str, address: str) -> str:
        about = tmp_path / "amplint-0.1.0.dist-info"
        about.mkdir(exist_ok=True)
        lines = ["Metadata-Version: 2.4", "Name: amplint", "Version: 0.1.0", *([address] if address else [])]
        (about / "METADATA").write_text("\n".join(lines) + "\n")
        command = [sys.executable, "-m", "amplint", "--isolated", "--no-cache", "--output-format", form, str(EXAMPLE)]
        search = os.pathsep.join([str(tmp_path), str(ROOT), *sys.path])
        done = subprocess.run(command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": search})
        assert done.returncode == 1, done.stderr
        return done.stdout

    return run


def test_findings_and_rules_lead_to_their_pages(told):
    address = f"Project-URL: Documentation, {SITE}/"
    assert {one["url"] for one in json.loads(told("json", address))} >= {f"{SITE}/rules/clip-before-unscale/"}
    driver = json.loads(told("sarif", address))["runs"][0]["tool"]["driver"]
    assert driver["informationUri"] == SITE
    assert all(rule["helpUri"] == f"{SITE}/rules/{rule['id']}/" for rule in driver["rules"])
    assert f"[`clip-before-unscale`]({SITE}/rules/clip-before-unscale/)" in told("github-summary", address)


def test_without_an_address_nothing_leads_anywhere(told):
    assert {one["url"] for one in json.loads(told("json", ""))} == {None}
    driver = json.loads(told("sarif", ""))["runs"][0]["tool"]["driver"]
    assert "informationUri" not in driver
    assert not any("helpUri" in rule for rule in driver["rules"])


def test_a_text_in_a_terminal_leads_where_there_is_an_address():
    assert leading("x", SITE, True) == f"\x1b]8;;{SITE}\x1b\\x\x1b]8;;\x1b\\"
    assert leading("x", None, True) == leading("x", SITE, False) == "x"
