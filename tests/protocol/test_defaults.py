"""What conditions come out as under the defaults of options."""

import pytest

from amplint.protocol.defaults import Defaults

DEFAULTS = Defaults(frozenset({"args"}), {"dtype": "float16", "amp": True, "scale": None})


@pytest.mark.parametrize(
    ("condition", "answer"),
    [
        ("args.amp", True),
        ("args.scale", False),
        ("args.dtype == 'float16'", True),
        ("args.dtype == 'bfloat16'", False),
        ("args.scale is None", True),
        ("self.args.amp", True),
    ],
)
def test_a_condition_on_an_option_is_answered_by_its_default(condition, answer):
    assert DEFAULTS.of([condition]) == {condition: answer}


@pytest.mark.parametrize(
    "condition", ["args.dtype == wanted", "args.dtype == 'float", "args.other", "config.amp", "amp"]
)
def test_any_other_condition_is_left_open(condition):
    assert DEFAULTS.of([condition]) == {}
