"""An example as it is executed: the stage, the file, the call that its last line says."""

from amplint.catalogue.examples import examples

PAGE = """\
```python good whole
def train(model, optimizer):
    optimizer.step()
# run: train(model, optimizer)
```
"""


def test_a_whole_file_is_set_on_the_stage_and_called():
    (example,) = examples(PAGE)
    assert example.live
    rows = example.program.source.splitlines()
    assert rows[-1] == "train(model, optimizer)"
    assert rows[example.program.stage_rows] == "def train(model, optimizer):"
    assert "scheduler" not in example.program.source, "a scheduler that nothing steps is a mistake"


def test_a_whole_file_without_a_call_is_only_read():
    (example,) = examples(PAGE.replace("# run:", "# so:"))
    assert not example.live


def test_an_example_on_the_stage_is_its_own_program():
    (example,) = examples(PAGE.replace(" whole", ""))
    assert example.program is example
