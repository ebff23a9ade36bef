from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

BAD = "loss.backward()\nclip_grad_norm_(p)\n"
REAL = Path(__file__).parent.parent.parent


def test_check_is_the_default_command(amplint, write):
    write({"train.py": BAD})
    assert amplint("check", "train.py") == amplint("train.py")
    assert amplint("check") == amplint() == amplint(".")


def test_a_folder_called_like_a_command_needs_check(amplint, write):
    write({"rule/train.py": BAD})
    assert "train.py" not in amplint("rule").out
    assert "rule/train.py:2:1" in amplint("check", "rule").out


def test_rule_lists_all_rules_with_their_tiers(amplint):
    ended = amplint("rule")
    assert ended.code == 0
    lines = [line.split() for line in ended.out.splitlines()]
    assert ["clip-before-unscale", "error"] in lines
    assert ["dropped-tail-window", "warning"] in lines
    listed = json.loads(amplint("rule", "--output-format", "json").out)
    assert {"clip-before-unscale", "dropped-tail-window"} <= {rule["id"] for rule in listed}
    assert "- `clip-before-unscale` (error)" in amplint("rule", "--output-format", "markdown").out


def test_rule_knows_what_amplint_says_of_files_and_comments(amplint):
    for name in ("syntax-error", "unreadable-file", "unused-ignore", "unknown-ignore"):
        assert amplint("rule", name).out.startswith(f"{name}: amplint rule, ")


def test_rule_shows_a_page_in_three_formats(amplint):
    told = amplint("rule", "clip-before-unscale").out
    assert told.startswith("clip-before-unscale: clipping rule, error, with a safe fix\n")
    markdown = amplint("rule", "clip-before-unscale", "--output-format", "markdown").out
    assert markdown.startswith("# clip-before-unscale\n")
    page = json.loads(amplint("rule", "clip-before-unscale", "--output-format", "json").out)
    assert (page["id"], page["family"], page["tier"]) == ("clip-before-unscale", "clipping", "error")


def test_stdin_is_checked_under_the_name_that_it_is_given(tmp_path):
    ended = subprocess.run(
        [sys.executable, "-m", "amplint", "-", "--stdin-filename", "src/train.py", "--output-format", "concise"],
        input=b"loss.backward(\n",
        cwd=tmp_path,
        env={"PYTHONPATH": str(REAL), "PATH": ""},
        capture_output=True,
    )
    assert ended.returncode == 1
    assert ended.stdout.startswith(b"src/train.py:")
    assert b"error[syntax-error]" in ended.stdout


def test_output_file_takes_all_that_stdout_would_have_got(amplint, write, project):
    write({"train.py": BAD})
    told = amplint("--output-format", "json")
    ended = amplint("--output-format", "json", "--output-file", "report.json")
    assert (ended.code, ended.out) == (1, "")
    assert (project / "report.json").read_text() == told.out


def test_several_reports_each_go_to_a_file_of_their_own(amplint, write, project):
    write({"train.py": BAD})
    told = amplint("--output-format", "concise").out
    ended = amplint(
        "--output-format", "sarif:out.sarif", "--output-format", "junit:o.xml", "--output-format", "concise"
    )
    assert (ended.code, ended.out) == (1, told)
    assert json.loads((project / "out.sarif").read_text())["version"] == "2.1.0"
    assert "<testsuites" in (project / "o.xml").read_text()


def test_reports_that_exclude_each_other_are_refused(amplint, monkeypatch):
    assert "cannot both go to stdout" in amplint("--output-format", "json", "--output-format", "sarif").err
    assert "is for one report" in amplint("--output-format", "json:a", "--output-file", "b").err
    assert "did you mean `sarif`?" in amplint("--output-format", "sarf").err
    monkeypatch.setenv("AMPLINT_OUTPUT_FORMAT", "yaml")
    ended = amplint()
    assert (ended.code, "AMPLINT_OUTPUT_FORMAT is `yaml`" in ended.err) == (2, True)


def test_the_environment_names_a_format_that_the_command_line_overrides(amplint, write, monkeypatch):
    write({"train.py": BAD})
    monkeypatch.setenv("AMPLINT_OUTPUT_FORMAT", "json")
    assert json.loads(amplint().out)
    assert amplint("--output-format", "concise").out.startswith("train.py:2:1: ")


def test_colours_are_used_where_they_are_asked_for(amplint, write):
    write({"train.py": BAD})
    assert "\x1b" in amplint("--color", "always").out
    assert "\x1b" not in amplint("--color", "never").out
    assert "\x1b" not in amplint().out


def test_json_is_pure_even_if_nothing_is_found(amplint, write):
    write({"train.py": "loss.backward()\n"})
    assert amplint("--output-format", "json").out == "[]\n"
    assert amplint("--output-format", "json", "nosuch.py", "-v").out == "[]\n"
    assert json.loads(amplint("--output-format", "json", "--statistics").out) == []


def test_quiet_says_findings_only(amplint, write):
    write({"train.py": BAD})
    assert amplint("-q", "--output-format", "concise").out.count("\n") == 1
    write({"train.py": "loss.backward()\n"})
    assert amplint("-q") == (0, "", "")


def test_verbose_says_how_many_files_came_through_each_stage(amplint, write):
    write({"train.py": BAD, "other.py": "x = 1\n", "comment.py": "x = 1  # amplint: ignore\n"})
    assert "3 files found, 2 with words of training, 1 analysed; " in amplint("-v").err


def test_statistics_count_the_findings_of_each_rule(amplint, write):
    write({"a.py": BAD + "clip_grad_norm_(p)\n", "b.py": BAD + "with tail(): x\n"})
    assert amplint("--statistics", "-q").out == "3  error    clip-before-unscale\n1  warning  dropped-tail-window\n"
    counts = json.loads(amplint("--statistics", "--output-format", "json").out)
    assert counts[0] == {"code": "clip-before-unscale", "severity": "error", "count": 3}


def test_a_folder_without_python_files_is_mentioned(amplint, write):
    write({"notes.txt": "autocast"})
    ended = amplint()
    assert (ended.code, ended.out) == (0, "")
    assert "no Python files found" in ended.err


def test_a_cache_may_be_refused_or_placed(amplint, write):
    write({"train.py": BAD})
    assert amplint("--no-cache", "--cache-dir", "elsewhere") == amplint()


def test_the_cache_is_removed_and_nothing_else(amplint, write, project):
    write({"train.py": "import torch\ntorch.cuda.amp.GradScaler()\n", "other/data.txt": ""})
    amplint(analysis=None)
    assert (project / ".amplint_cache").is_dir()
    assert "removed the cache" in amplint("clean").err
    assert not (project / ".amplint_cache").exists()
    assert "there is no cache" in amplint("clean").err
    assert amplint("clean", "--cache-dir", "other").code == 0
    assert (project / "other/data.txt").exists()


def test_help_and_version_are_commands_too(amplint):
    assert amplint("version").out == amplint("--version").out
    assert amplint("help").out == amplint("--help").out


def test_an_option_that_does_not_exist_is_answered_with_the_nearest(amplint):
    assert "did you mean `--add-ignores`?" in amplint("--add-noqa").err
    assert "did you mean `--show-files`?" in amplint("--show-file").err
    assert "did you mean" not in amplint("--zzz").err
