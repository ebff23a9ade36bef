"""What the files of settings of a project say of one setting."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from amplint.source.asked import recorded
from amplint.source.shipped import MAX_NODES, Differs, shipped

UNKNOWN = Differs.DIFFERS


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "pyproject.toml").touch()
    (tmp_path / "train.py").touch()
    return tmp_path


def of(project: Path, *keys: str) -> object:
    return shipped(str(project / "train.py"), keys)


def test_a_setting_is_what_the_one_file_says_that_has_it(project):
    (project / "config.json").write_text(json.dumps({"optimizer": {"type": "SGD", "args": {"lr": 0.1}}}))
    (project / "other.yaml").write_text("model: {depth: 4}\n")
    assert of(project, "optimizer", "type") == "SGD"
    assert of(project, "optimizer", "args") == {"lr": 0.1}
    assert of(project, "optimizer", "missing") is UNKNOWN


def test_what_files_do_not_agree_about_is_not_known_and_the_rest_is(project):
    for name, step in (("one", 5), ("two", 50)):
        (project / f"{name}.yaml").write_text(f"schedule: {{type: StepLR, args: {{step_size: {step}, gamma: 0.1}}}}\n")
    assert of(project, "schedule", "type") == "StepLR"
    assert of(project, "schedule", "args") == {"step_size": UNKNOWN, "gamma": 0.1}
    (project / "two.yaml").write_text("schedule: none\n")
    assert of(project, "schedule") is UNKNOWN


@pytest.mark.parametrize("truth", ["1", "1.0", "true"])
def test_a_truth_and_a_number_are_not_the_same(project, truth):
    (project / "one.yaml").write_text(f"x: {truth}\n")
    (project / "two.yaml").write_text("x: yes\n")
    assert of(project, "x") is (True if truth == "true" else UNKNOWN)


def test_a_list_of_defaults_names_the_option_of_a_group(project):
    (project / "conf" / "schedule").mkdir(parents=True)
    (project / "conf" / "train.yaml").write_text("defaults:\n  - override /schedule: fast\n  - _self_\n")
    for name, step in (("fast", 2), ("slow", 200)):
        (project / "conf" / "schedule" / f"{name}.yaml").write_text(f"step_size: {step}\n")
    assert of(project, "schedule", "step_size") == 2


def test_folders_of_settings_one_level_below_are_looked_into_and_no_others(project):
    for folder, value in (("src/configs", 1), ("data", 2), ("data/labels", 3)):
        (project / folder).mkdir(parents=True, exist_ok=True)
        (project / folder / "file.json").write_text(json.dumps({"value": value}))
    assert of(project, "value") == 1


def test_numbers_that_yaml_takes_for_texts_are_numbers_and_what_it_makes_besides_is_not_known(project):
    (project / "a.yaml").write_text("lr: 1e-4\nday: 2026-01-01\nname: 1e-4x\n1: first\n")
    assert of(project, "lr") == 1e-4
    assert of(project, "name") == "1e-4x"
    assert of(project, "day") is UNKNOWN
    assert of(project, "1") is UNKNOWN


BOMB = "a: &a [x, x]\n" + "".join(
    f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join([f'*{chr(97 + n)}'] * 8)}]\n" for n in range(9)
)


@pytest.mark.parametrize(
    "text",
    [
        BOMB,
        "x: &x\n  y: *x\n",
        "x: [" + ", ".join("1" for _ in range(MAX_NODES)) + "]\n",
        "x: " + "[" * 5000,
        "x: {",
        "\x00",
        "- x\n",
        "x: 1\n" + "#" * 30_000,
    ],
)
def test_what_is_no_small_document_says_nothing(project, text):
    (project / "conf.yaml").write_text(text)
    assert of(project, "x") is UNKNOWN


def test_nothing_that_a_document_asks_for_is_run(project):
    (project / "conf.yaml").write_text(f"x: !!python/object/apply:pathlib.Path.touch ['{project / 'run'}']\n")
    assert of(project, "x") is UNKNOWN
    assert not (project / "run").exists()


def test_what_was_asked_is_written_down_so_that_an_answer_can_be_told_to_hold(project):
    (project / "conf.yaml").write_text("x: 1\n")
    with recorded() as asked:
        assert of(project, "x") == 1
    assert ("stamp", str(project / "conf.yaml")) in asked
    assert ("stamp", str(project)) in asked
    (project / "conf.yaml").write_text("x: 23\n")
    assert of(project, "x") == 23
