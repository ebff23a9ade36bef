from __future__ import annotations

import json

LOOP = """\
for i, (x, y) in enumerate(loader):
    loss = criterion(model(x), y) / accum_steps
    loss.backward()
    if (i + 1) % accum_steps == 0:
        optimizer.step()
        optimizer.zero_grad()
"""


def test_every_loop_is_drawn_with_its_parts(amplint, write):
    write({"train.py": LOOP, "other.py": "x = 1\n"})
    ended = amplint("loops")
    assert (ended.code, ended.err) == (0, "")
    lines = ended.out.splitlines()
    assert lines[0] == "train.py:1:1: module"
    assert lines[1] == "    (backward) x accum_steps -> step zero_grad"
    assert "    divisor:   accum_steps" in lines
    assert "    clip:      none" in lines


def test_the_json_has_one_object_for_each_loop(amplint, write, project):
    write({"train.py": LOOP, "more/again.py": f"\n{LOOP}"})
    listed = json.loads(amplint("loops", "--output-format", "json", ".").out)
    assert [loop["filename"] for loop in listed] == [str(project / "more" / "again.py"), str(project / "train.py")]
    assert [loop["location"]["row"] for loop in listed] == [2, 1]
    assert listed[0]["window"] == "accum_steps"
    assert listed[0]["not_followed"] == []


def test_the_loop_of_a_notebook_has_a_cell(amplint, write):
    cells = [{"cell_type": "code", "metadata": {}, "outputs": [], "source": source} for source in ("n = 1\n", LOOP)]
    write({"train.ipynb": json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5})})
    (loop,) = json.loads(amplint("loops", "--output-format", "json").out)
    assert (loop["cell"], loop["location"]["row"]) == (2, 1)


def test_what_cannot_be_read_is_said_and_the_others_are_drawn(amplint, write):
    write({"train.py": LOOP, "broken.py": "loss.backward(\n"})
    ended = amplint("loops")
    assert ended.code == 0
    assert "train.py:1:1" in ended.out
    assert "broken.py: " in ended.err


def test_a_path_that_does_not_exist_is_an_error(amplint, write):
    write({"train.py": LOOP})
    ended = amplint("loops", "train.py", "missing.py")
    assert ended.code == 2
    assert "missing.py: no such file or folder" in ended.err


def test_one_process_and_two_say_the_same(amplint, write):
    write({f"train{number}.py": LOOP for number in range(3)})
    assert amplint("loops", "--jobs", "1") == amplint("loops", "--jobs", "2")
