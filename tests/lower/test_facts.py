"""Facts of the text: which calls of public functions there are, and what is known of their arguments."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.lower.lowered import facts


def only(text):
    (fact,) = facts(text)
    return fact


@pytest.mark.parametrize(
    "text",
    [
        "import torch\ntorch.amp.autocast()",
        "import torch as t\nt.amp.autocast()",
        "from torch import amp\namp.autocast()",
        "from torch.amp import autocast\nautocast()",
        "from torch.amp import autocast as cast\ncast()",
        "def train():\n    from torch.amp import autocast\n    autocast()",
    ],
)
def test_a_call_is_known_by_its_public_name(text):
    assert only(text).called == "torch.amp.autocast"


@pytest.mark.parametrize(
    "text",
    [
        "autocast()",
        "torch.amp.autocast()",
        "from torch.amp import autocast\nautocast = other\nautocast()",
        "from torch.amp import autocast\ndef autocast(): pass\nautocast()",
        "from torch.amp import autocast\ndef train(autocast):\n    autocast()",
        "from torch.amp import autocast\nclass autocast: pass\nautocast()",
        "try:\n    from torch.amp import autocast\nexcept ImportError:\n    from apex import autocast\nautocast()",
        "import torch\ntorch[0].autocast()",
    ],
)
def test_a_name_that_is_bound_in_no_one_way_is_nobody(text):
    assert facts(text) == []


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("4", 4),
        ("-4", -4),
        ("+4", 4),
        ("2.5", 2.5),
        ("'cuda'", "cuda"),
        ("'cu' 'da'", "cuda"),
        ("True", True),
        ("None", None),
        ("2 ** 16", 65536.0),
        ("2.0 * 3 - 1", 5.0),
        ("1 / 4", 0.25),
        ("1 / 0", None),
        ("7 // 2", None),
        ("2 ** 100", None),
        ("2 ** size", None),
        ("'a' + 'b'", None),
        ("scale", None),
        ("f'{a}'", None),
        ("[1]", None),
    ],
)
def test_an_argument_is_known_if_it_is_a_literal_or_arithmetic_of_numbers(argument, value):
    fact = only(f"import torch\ntorch.GradScaler({argument}, init_scale={argument})")
    assert fact.arguments == {0: value, "init_scale": value}


@pytest.mark.parametrize("argument", ["0 ** -1", "0.0 ** -2", "1e300 ** 2", "(-8) ** 0.5"])
def test_arithmetic_that_has_no_real_value_is_not_known(argument):
    assert only(f"import torch\ntorch.GradScaler({argument})").arguments == {0: None}


_numbers = st.integers(-100, 100) | st.floats(-100, 100).map(lambda value: round(value, 3))
_terms = st.recursive(
    _numbers.map(repr), lambda inner: st.tuples(inner, st.sampled_from("+-*"), inner).map(lambda t: f"({' '.join(t)})")
)


@settings(max_examples=60, deadline=None, database=None)
@given(_terms)
def test_arithmetic_is_that_of_python(text):
    assert only(f"import torch\ntorch.GradScaler({text})").arguments == {0: pytest.approx(eval(text))}


def test_whether_anything_receives_the_result_is_known():
    used, dropped = facts("import torch\nwith torch.autocast('cuda'):\n    torch.autocast('cpu')\n")
    assert (used.used, dropped.used) == ("used", "dropped")


def test_unpacked_arguments_are_said_to_be_missing():
    assert only("import torch\ntorch.autocast('cuda')").whole
    assert not only("import torch\ntorch.autocast(*given)").whole
    assert not only("import torch\ntorch.autocast(**given)").whole


def test_a_fact_stands_where_its_call_stands():
    site = only("import torch\n\nscaler = torch.GradScaler(\n    'cuda',\n)\n").site
    assert (site.path, site.row, site.column, site.end_row, site.end_column) == ("train.py", 3, 10, 5, 2)


def test_calls_inside_calls_and_functions_are_found():
    text = "import torch\ndef make():\n    return [torch.GradScaler(torch.device('cpu')) for _ in range(2)]\n"
    assert [fact.called for fact in facts(text)] == ["torch.GradScaler", "torch.device"]
