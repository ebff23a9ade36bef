"""The extension for Visual Studio Code offers what the server understands."""

from __future__ import annotations

import json

from amplint.server.options import options_of
from tests.project.generated import ROOT

ABOUT = json.loads((ROOT / "editors" / "vscode" / "package.json").read_text(encoding="utf-8"))
SETTINGS = {
    name.removeprefix("amplint."): told["default"]
    for name, told in ABOUT["contributes"]["configuration"]["properties"].items()
}


def test_what_the_settings_are_at_first_is_what_the_server_takes_for_granted():
    at_first, wrong = options_of(SETTINGS)
    assert (at_first, wrong) == (options_of({})[0], [])


def test_every_setting_but_the_command_changes_something():
    other = {"inlayHints": True, "unsafeFixes": True, "configuration": "a.toml"}
    for name in SETTINGS.keys() - {"command"}:
        assert options_of({name: other.get(name, ["clipping"])})[0] != options_of({})[0], name


def test_the_command_starts_the_server():
    assert SETTINGS["command"] == ["amplint", "server"]
