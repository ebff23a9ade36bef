from __future__ import annotations

import pytest

from amplint.keys import KEYS
from amplint.selection import Selection, requests

DEFAULT = Selection().requests
BAD = "loss.backward()\nclip_grad_norm_(p)\nunscale_(o)\nwith tail(): x\n"
ALL_THREE = ["clip-before-unscale", "repeated-unscale", "dropped-tail-window"]


@pytest.fixture
def codes(amplint):
    """The rules that speak, in the order of the text."""

    def run(*arguments: str) -> list[str]:
        lines = amplint("--output-format", "concise", "-q", *arguments).out.splitlines()
        return [line.partition("[")[2].partition("]")[0] for line in lines]

    return run


@pytest.fixture
def configured(write):
    def configure(table: str, **files: str) -> None:
        write({"pyproject.toml": f"[tool.amplint]\n{table}\n", "train.py": BAD, **files})

    return configure


def test_rules_are_selected_by_id_family_and_all(codes, configured):
    configured("")
    assert codes() == ALL_THREE
    assert codes("--select", "repeated-unscale") == ["repeated-unscale"]
    assert codes("--select", "clipping,accumulation") == ["clip-before-unscale", "dropped-tail-window"]
    assert codes("--select", "clipping", "--select", "accumulation") == ["clip-before-unscale", "dropped-tail-window"]
    assert codes("--select", "ALL") == ALL_THREE
    assert codes("--ignore", "scaler") == ["clip-before-unscale", "dropped-tail-window"]
    assert codes("--select", "clipping", "--extend-select", "accumulation") == codes("--ignore", "scaler")


def test_the_more_exact_selector_wins(codes, configured):
    configured("")
    assert codes("--select", "clip-before-unscale", "--ignore", "clipping") == ["clip-before-unscale"]
    assert codes("--select", "ALL", "--ignore", "clip-before-unscale") == ALL_THREE[1:]
    assert codes("--select", "clip-before-unscale", "--ignore", "clip-before-unscale") == []


@pytest.mark.parametrize("select", [["scheduler-on-skipped-step"], ["ALL"]])
def test_a_rule_that_is_noisy_without_a_run_speaks_when_it_is_asked(select):
    rules = Selection(requests(select, (), (), DEFAULT)).rules("train.py")
    assert "scheduler-on-skipped-step" in rules
    assert "scheduler-on-skipped-step" not in Selection().rules("train.py")
    assert "scheduler-on-skipped-step" not in Selection(requests(["scheduler"], (), (), DEFAULT)).rules("train.py")


@pytest.mark.usefixtures("two_more_rules")
def test_opt_in_rules_speak_by_their_id_or_all_only():
    def speaks(*select: str, ignore: tuple[str, ...] = ()) -> bool:
        return "opt-in-rule" in Selection(requests(select or None, (), ignore, DEFAULT)).rules("train.py")

    assert not speaks()
    assert not speaks("scheduler")
    assert speaks("opt-in-rule")
    assert speaks("ALL")
    assert not speaks("ALL", ignore=("scheduler",))
    assert "live-rule" in Selection(requests(["scheduler"], (), ())).rules("train.py")


def test_the_configuration_selects_and_the_command_line_has_the_last_word(codes, configured):
    configured('select = ["clipping", "scaler"]\nignore = ["repeated-unscale"]\nextend-select = ["accumulation"]')
    assert codes() == ["clip-before-unscale", "dropped-tail-window"]
    assert codes("--isolated") == ALL_THREE
    assert codes("--select", "accumulation") == ["dropped-tail-window"]
    assert codes("--select", "ALL") == ["clip-before-unscale", "dropped-tail-window"]
    assert codes("--extend-select", "repeated-unscale") == ALL_THREE
    assert codes("--ignore", "clipping") == ["dropped-tail-window"]


def test_the_nearest_pyproject_that_speaks_to_amplint_is_found_upwards(codes, configured, project, monkeypatch):
    configured('ignore = ["clipping"]', **{"a/pyproject.toml": "[project]\n", "a/b/train.py": BAD})
    monkeypatch.chdir(project / "a" / "b")
    assert codes() == ALL_THREE[1:]


def test_another_file_can_be_named(codes, configured, write):
    configured('ignore = ["clipping"]')
    write({"lint/other.toml": '[tool.amplint]\nselect = ["clipping"]\n'})
    assert codes("--config", "lint/other.toml") == ["clip-before-unscale"]


def test_strict_can_be_configured(amplint, configured):
    configured('select = ["accumulation"]\nstrict = true')
    assert amplint().code == 1


@pytest.mark.parametrize(
    "pattern", ["train.py", "src/train.py", "src", "src/", "src/*", "src/**", "**/train.py", "t*.py"]
)
def test_files_are_excluded_unless_they_are_named(codes, configured, pattern):
    configured(f'exclude = ["{pattern}", "train.py"]', **{"src/train.py": BAD})
    assert codes() == []
    assert codes("src/train.py") == ALL_THREE


@pytest.mark.parametrize("pattern", ["src/train.py", "src", "src/**", "**/src/*.py", "**/src/train.py"])
def test_rules_are_ignored_in_the_files_that_a_pattern_names(amplint, configured, pattern):
    configured(f'per-file-ignores = {{ "{pattern}" = ["clipping", "accumulation"] }}', **{"src/train.py": BAD})
    out = amplint("--output-format", "concise", "-q").out
    assert [line.split(" ")[1] for line in out.splitlines() if line.startswith("src")] == ["error[repeated-unscale]"]
    assert out.count("\ntrain.py") == 3


def test_patterns_are_relative_to_the_configuration(codes, configured, project, monkeypatch):
    configured('exclude = ["src/old"]\nper-file-ignores = { "src/new.py" = ["ALL"] }')
    for name in ("src/old/train.py", "src/new.py"):
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text(BAD)
    monkeypatch.chdir(project / "src")
    assert codes() == []


def test_versions_and_dialects_are_accepted(amplint, configured):
    dialect = '[tool.amplint.dialects."mylib.Engine.backward"]\nevent = "backward"\ndivides = true'
    configured(f'versions = {{ torch = ">=2.4" }}\n{dialect}')
    assert amplint().err == ""


@pytest.mark.parametrize(
    ("table", "said"),
    [
        ("selct = []", "[tool.amplint] has an unknown key `selct`; did you mean `select`?"),
        ("extend_select = []", "did you mean `extend-select`?"),
        ('select = "ALL"', "`select`: must be a list of strings, not a string"),
        ("ignore = [1]", "`ignore`: must be a list of strings, not a list that holds an integer"),
        ('ignore = ["clip-before-unscal"]', "`ignore`: no rule or family is called `clip-before-unscal`; did you mean"),
        ("strict = 1", "`strict`: must be true or false, not an integer"),
        ("exclude = 1.5", "`exclude`: must be a list of strings, not a float"),
        ("per-file-ignores = []", "`per-file-ignores`: must be a table, not a list"),
        ('per-file-ignores = { "a.py" = ["clip"] }', '`per-file-ignores."a.py"`: no rule or family is called `clip`'),
        ("versions = { torch = 2 }", '`versions."torch"`: must be a string, not an integer'),
        ('dialects."a.b".divide = true', '`dialects."a.b"`: has an unknown key `divide`; did you mean `divides`?'),
        ('dialects."a.b".divides = "yes"', '`dialects."a.b"`: `divides` must be true or false, not a string'),
        ("strict = ", "not valid TOML"),
    ],
)
def test_a_setting_that_is_wrong_is_one_line_that_names_file_and_key(amplint, configured, table, said):
    configured(table)
    ended = amplint()
    assert (ended.code, ended.out) == (2, "")
    assert ended.err.startswith("amplint: pyproject.toml: ")
    assert said in ended.err
    assert ended.err.count("\n") == 1


def test_a_named_file_without_settings_for_amplint_is_an_error(amplint, write):
    write({"other.toml": "[tool.ruff]\n"})
    assert "there is no [tool.amplint] in it" in amplint("--config", "other.toml").err


def test_what_is_excluded_is_left_out_by_name_too_if_that_is_asked_for(codes, configured):
    configured('exclude = ["src/*"]', **{"src/train.py": BAD, "venv/train.py": BAD})
    assert codes("src/train.py", "venv/train.py") == ALL_THREE * 2
    assert codes("--force-exclude", "src/train.py", "venv/train.py", "src") == []
    configured('extend-exclude = ["src/*"]\nforce-exclude = true', **{"src/train.py": BAD})
    assert codes("src/train.py") == []


def test_the_command_line_replaces_what_is_excluded_or_adds_to_it(codes, configured):
    configured('exclude = ["train.py"]', **{"src/new.py": BAD, "src/old.py": BAD})
    assert codes("--exclude", "src") == ALL_THREE
    assert codes("--extend-exclude", "new.py") == ALL_THREE


def test_a_configuration_may_stand_on_another(amplint, codes, configured, write):
    write({"all.toml": '[tool.amplint]\nstrict = true\nselect = ["repeated-unscale"]\nextend = "below.toml"\n'})
    write({"below.toml": '[tool.amplint]\nexclude = ["old"]\nselect = ["scheduler"]\n'})
    configured('extend = "all.toml"', **{"old/train.py": BAD})
    assert codes() == ["repeated-unscale"]
    write({"all.toml": '[tool.amplint]\nextend = "pyproject.toml"\n'})
    assert "`extend` leads back to this file" in amplint().err
    configured('extend = "nosuch.toml"')
    assert "nosuch.toml: No such file" in amplint().err


def test_the_configuration_names_the_format(amplint, configured):
    configured('output-format = "json"')
    assert amplint().out.startswith("[")
    assert amplint("--output-format", "concise").out.startswith("train.py:")
    configured('output-format = "sarf"')
    assert "there is no format `sarf`; did you mean `sarif`?" in amplint().err


def test_files_and_settings_are_shown_instead_of_checked(amplint, configured):
    configured('exclude = ["old"]\nignore = ["clipping"]', **{"src/a.py": BAD, "old/b.py": BAD})
    assert amplint("--show-files") == (0, "src/a.py\ntrain.py\n", "")
    assert amplint("--show-files", "nosuch").code == 2
    ended = amplint("--show-settings")
    assert ended.code == 0
    assert "configuration: pyproject.toml\n" in ended.out
    assert "exclude: old\n" in ended.out
    assert "  repeated-unscale\n" in ended.out
    assert "clip-before-unscale" not in ended.out


def test_config_tells_every_key(amplint, configured):
    told = amplint("config").out
    assert len(told.splitlines()) == len(KEYS)
    assert amplint("config", "strict").out == "strict  Warnings fail too. strict = true\n"
    assert "did you mean `select`?" in amplint("config", "selct").err


@pytest.mark.parametrize("key", KEYS)
def test_the_example_of_every_key_is_right(amplint, configured, key):
    configured(f"{key} = {KEYS[key].example}")
    err = amplint().err
    assert "`" not in err or key in ("extend", "baseline")
