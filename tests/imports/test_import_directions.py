"""Imports point one way, and what is heavy stays where it belongs. Every check is also shown to be able to fail."""

from pathlib import Path

import pytest

from tests.imports.arrows import astray, circles, forbidden, loaded_by, loaded_with, modules, put_off

ROOT = Path(__file__).parents[2]

VALUES = ("__version__", "findings", "settings", "selection")
COMMANDS = ("checking", "completion", "drawing", "run")
ROOMS = {
    "__main__": ("cli",),
    "cli": ("__version__", "commands", "run"),
    "commands": (
        "schema",
        "arguments",
        "cache",
        "console",
        "keys",
        *COMMANDS,
        "report",
        "catalogue",
        "server.serving",
        *VALUES,
    ),
    "drawing": ("outcome", "run", "analysis", "dialects.taught", "source", "workers", *VALUES),
    "checking": (
        "arguments",
        "baseline",
        "console",
        "fix",
        "outcome",
        "run",
        "report",
        "runtime_report",
        "watching",
        *VALUES,
    ),
    "completion": ("arguments", "keys", "selection"),
    "console": ("arguments",),
    "watching": (),
    "since": ("settings", "source.discover", "source.importing"),
    "baseline": ("fingerprint", *VALUES),
    "runtime_report": ("catalogue", *VALUES),
    "schema": ("keys", "report", "selection"),
    "keys": ("report", "selection", "catalogue.versions", "dialects.taught"),
    "arguments": ("report",),
    "outcome": ("findings", "source"),
    "server": (
        *("analysis", "baseline", "console", "drawing", "fix", "outcome", "run", "workers"),
        *("report", "source", "catalogue", *VALUES),
    ),
    "cache": ("findings", "source.asked", "source.importing"),
    "remembered": ("findings", "source.asked", "source.importing"),
    "run": (
        "analysis",
        "outcome",
        "since",
        "cache",
        "remembered",
        "dialects.taught",
        "fix",
        "report",
        "source",
        "catalogue",
        "workers",
        *VALUES,
    ),
    "analysis": (
        "budget",
        "garbage",
        "source",
        "lower",
        "dialects",
        "domains",
        "flow",
        "catalogue",
        "protocol",
        "findings",
        "own_names",
        "played",
        "callers",
        "readings",
    ),
    "callers": ("flow", "protocol", "source"),
    "garbage": (),
    "readings": ("dialects", "flow", "lower", "played", "source"),
    "played": ("budget", "flow", "lower", "machine", "protocol", "state"),
    "budget": ("catalogue", "findings", "machine"),
    "workers": (),
    "report": ("catalogue", "flow", "fingerprint", *VALUES),
    "fingerprint": ("findings",),
    "fix": ("catalogue", "dialects", "protocol", "source", *VALUES),
    "flow": ("catalogue", "protocol"),
    "lower": ("source", "flow.program", "flow.spelling", "protocol", "dialects"),
    "machine": ("state", "domains", "flow.program", "flow.spelling", "protocol", "dialects"),
    "domains": ("state", "flow.program", "flow.spelling", "protocol", "dialects"),
    "state": ("flow.program", "flow.spelling", "protocol", "dialects"),
    "source": ("dialects", "protocol", *VALUES),
    "settings": ("keys", "selection", "catalogue", "dialects", "requirements", "toml"),
    "requirements": ("catalogue", "dialects", "toml"),
    "toml": (),
    "selection": ("catalogue", "findings", "source.globs"),
    "catalogue": ("protocol",),
    "dialects": ("protocol",),
    "protocol": (),
    "findings": ("protocol.scene",),
    "own_names": ("dialects", "protocol"),
}
LIVE_ROOMS = ("catalogue", "dialects", "protocol")
HOMES_OF_LIBCST = ("amplint.source.parse", "amplint.source.positions", "amplint.lower", "amplint.fix")
LIGHT_ROOMS = ("protocol", "catalogue", "dialects", "flow", "state", "domains", "machine", "report")
INTERPRETER = ("state", "domains", "machine", "lower", "flow")
HEAVY = {"libcst", "torch"}
QUIET_RUN = """
from amplint.cli import main
try:
    code = main([{path!r}])
except SystemExit as left:
    code = left.code
assert not code, code
"""


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def light(root: Path, room: str) -> set[str]:
    """The heavy libraries that a room of amplint loads."""
    names = modules(root, f"amplint/{room}")
    assert names, f"there is no room called {room}"
    return loaded_with(names, root) & HEAVY


def beyond(root: Path, statement: str, package: str, alone: set[str]) -> set[str]:
    """What a statement loads of a package, other than the modules named."""
    return {name for name in loaded_by(statement, root) if name.partition(".")[0] == package} - alone


def strangers(root: Path) -> list[str]:
    """What the live half imports of amplint and may not."""
    allowed = {f"amplint.{room}" for room in LIVE_ROOMS}
    found = forbidden(root, "runtime_guard", "amplint")
    return [str(arrow) for arrow in found if ".".join(arrow.imported.split(".")[:2]) not in allowed]


def test_every_arrow_between_rooms_is_one_that_the_table_allows():
    assert list(map(str, astray(ROOT, "amplint", ROOMS))) == []


def test_every_room_is_in_the_table():
    present = {name.split(".")[1] for name in modules(ROOT, "amplint") if "." in name}
    assert present <= set(ROOMS)


def test_libcst_is_imported_only_where_trees_are_read_or_written():
    assert list(map(str, forbidden(ROOT, "amplint", "libcst", HOMES_OF_LIBCST))) == []


@pytest.mark.parametrize("library", ["pygls", "lsprotocol"])
def test_what_only_an_editor_needs_is_imported_for_an_editor_alone(library):
    assert list(map(str, forbidden(ROOT, "amplint", library, ("amplint.server",)))) == []


def test_nothing_in_amplint_imports_torch():
    assert list(map(str, forbidden(ROOT, "amplint", "torch"))) == []


def test_the_live_half_imports_only_the_rooms_that_both_halves_share():
    assert strangers(ROOT) == []


@pytest.mark.parametrize("room", LIGHT_ROOMS)
def test_a_light_room_loads_neither_libcst_nor_torch(room):
    assert light(ROOT, room) == set()


@pytest.mark.parametrize("room", INTERPRETER)
def test_no_modules_of_the_interpreter_import_one_another_in_a_circle(room):
    assert circles(ROOT, f"amplint/{room}") == []


@pytest.mark.parametrize("room", INTERPRETER)
def test_no_import_of_the_interpreter_waits_for_a_function_to_run(room):
    assert list(map(str, put_off(ROOT, f"amplint/{room}"))) == []


def test_importing_amplint_loads_nothing_else_of_the_package():
    assert beyond(ROOT, "import amplint", "amplint", {"amplint"}) == set()


def test_importing_runtime_guard_loads_no_libcst():
    assert beyond(ROOT, "import runtime_guard", "libcst", set()) == set()


def test_a_run_over_files_without_training_code_loads_no_libcst(tmp_path):
    write(tmp_path, {"plain.py": "def add(left, right):\n    return left + right\n"})
    assert beyond(ROOT, QUIET_RUN.format(path=str(tmp_path)), "libcst", set()) == set()


def test_a_run_over_files_with_training_code_loads_libcst():
    run = QUIET_RUN.format(path="tests/example/train.py").replace("assert not code", "assert code == 1")
    assert "libcst" in loaded_by(run, ROOT)


@pytest.mark.parametrize(
    "statement",
    [
        "import amplint.flow.walk",
        "from amplint import flow",
        "from amplint.flow import walk",
        "from ..flow import walk",
        "from .. import flow",
        "def late():\n    from amplint.flow.walk import walk",
    ],
)
def test_an_arrow_that_points_the_wrong_way_is_seen(tmp_path, statement):
    write(tmp_path, {"amplint/__init__.py": "", "amplint/protocol/ledger.py": statement})
    assert [arrow.importer for arrow in astray(tmp_path, "amplint", ROOMS)] == ["amplint.protocol.ledger"]


@pytest.mark.parametrize("late", ["from amplint.flow.a import x", "def f():\n    from amplint.flow.a import x"])
def test_a_circle_is_seen_even_if_one_of_its_imports_waits(tmp_path, late):
    write(tmp_path, {"amplint/flow/a.py": "from amplint.flow import b", "amplint/flow/b.py": late})
    assert sorted(set(circles(tmp_path, "amplint/flow")[0])) == ["amplint.flow.a", "amplint.flow.b"]


def test_a_circle_that_only_the_type_checker_goes_round_is_none(tmp_path):
    typed = "if TYPE_CHECKING:\n    from amplint.flow.a import A"
    write(tmp_path, {"amplint/flow/a.py": "from amplint.flow import b", "amplint/flow/b.py": typed})
    assert circles(tmp_path, "amplint/flow") == []


def test_an_import_that_waits_for_a_function_is_seen(tmp_path):
    write(tmp_path, {"amplint/flow/a.py": "import ast\ndef f():\n    from amplint.flow.b import x"})
    assert [arrow.row for arrow in put_off(tmp_path, "amplint/flow")] == [3]


@pytest.mark.parametrize("statement", ["from . import rule", "from ..protocol import events", "import ast"])
def test_an_arrow_inside_the_room_or_along_the_table_is_allowed(tmp_path, statement):
    write(tmp_path, {"amplint/__init__.py": "", "amplint/catalogue/__init__.py": statement})
    assert astray(tmp_path, "amplint", ROOMS) == []


def test_only_the_module_that_the_table_names_is_open_to_another_room(tmp_path):
    write(
        tmp_path,
        {"amplint/machine/calls.py": "from amplint.flow.program import A\nfrom amplint.flow.judge import B"},
    )
    assert [arrow.imported for arrow in astray(tmp_path, "amplint", ROOMS)] == ["amplint.flow.judge.B"]


@pytest.mark.parametrize("library", ["libcst", "torch"])
@pytest.mark.parametrize("statement", ["import {}", "import {}.nn as x", "from {} import x", "from {}.x import y"])
def test_a_heavy_import_outside_its_home_is_seen(tmp_path, statement, library):
    line = statement.format(library)
    write(tmp_path, {"amplint/flow/walk.py": line, "amplint/lower/names.py": line, "amplint/source/parse.py": line})
    found = {arrow.importer for arrow in forbidden(tmp_path, "amplint", library, HOMES_OF_LIBCST)}
    assert found == {"amplint.flow.walk"}


def test_a_library_that_only_begins_with_the_same_letters_is_not_meant(tmp_path):
    write(tmp_path, {"amplint/flow/walk.py": "import torchness"})
    assert forbidden(tmp_path, "amplint", "torch") == []


def test_a_live_half_that_reaches_too_far_is_seen(tmp_path):
    write(tmp_path, {"runtime_guard/hooks.py": "from amplint.catalogue import RULES\nfrom amplint.flow import judge"})
    assert strangers(tmp_path) == ["runtime_guard.hooks:2 imports amplint.flow.judge"]


@pytest.mark.parametrize("library", sorted(HEAVY))
def test_a_light_room_that_loads_something_heavy_by_a_detour_is_seen(tmp_path, library):
    write(
        tmp_path,
        {
            "amplint/__init__.py": "",
            "amplint/flow/walk.py": "from amplint.source import trees",
            "amplint/source/trees.py": f"import {library}",
            f"{library}.py": "",
        },
    )
    assert light(tmp_path, "flow") == {library}


def test_a_package_that_loads_its_rooms_is_seen(tmp_path):
    write(tmp_path, {"amplint/__init__.py": "from amplint import cli", "amplint/cli.py": ""})
    assert beyond(tmp_path, "import amplint", "amplint", {"amplint"}) == {"amplint.cli"}


def test_a_live_half_that_loads_libcst_is_seen(tmp_path):
    write(tmp_path, {"runtime_guard/__init__.py": "import libcst", "libcst.py": ""})
    assert beyond(tmp_path, "import runtime_guard", "libcst", set()) == {"libcst"}


def test_a_quiet_run_that_loads_libcst_is_seen(tmp_path):
    program = "import libcst\ndef main(arguments):\n    return 0\n"
    write(tmp_path, {"amplint/__init__.py": "", "amplint/cli.py": program, "libcst.py": ""})
    assert beyond(tmp_path, QUIET_RUN.format(path=str(tmp_path)), "libcst", set()) == {"libcst"}


def test_a_run_that_fails_is_told_with_its_own_words(tmp_path):
    with pytest.raises(AssertionError, match="No module named 'missing_here'"):
        loaded_by("import missing_here", tmp_path)
