"""What keeps a model that is cast from being float16 as a whole."""

import pytest

from amplint.lower.half_models import keeps_copies, wider_classes
from tests.lower.lowered import body_of, program


@pytest.mark.parametrize(
    ("text", "keeps"),
    [
        ("for parameter in parameters:\n    parameter.data = parameter.data.float()", True),
        ("convert_to_fp32()", True),
        ("optimizer._unscale_grads_ = unscale", True),
        ("model = Net().half()", False),
        ("def later():\n    model.float()", False),
    ],
)
def test_where_a_copy_may_be_kept(text, keeps):
    assert keeps_copies(body_of(text)) is keeps


@pytest.mark.parametrize(
    ("body", "wider"),
    [
        ("self.layer = nn.Linear(4, 4)", False),
        ("self.layer = nn.Linear(4, 4).half()", False),
        ("self.layer = nn.Linear(4, 4).float()", True),
        ("self.layer = nn.Linear(4, 4).to(torch.float32)", True),
        ("self.layer = nn.Linear(4, 4, dtype=dtype)", True),
        ("self.size = float(size)", False),
    ],
)
def test_a_class_that_names_another_dtype(body, wider):
    text = f"class Net(nn.Module):\n    def __init__(self):\n        {body}\n"
    assert list(wider_classes(body_of(text))) == (["Net"] if wider else [])


@pytest.mark.parametrize("made", ["AdamW(**options)", "AdamW()", "AdamW(lr=0.1, groups=groups)"])
def test_an_optimizer_may_be_given_nothing_that_is_written(made):
    assert program(f"import torch\nmodel.half()\noptimizer = torch.optim.{made}\nloss.backward()\noptimizer.step()\n")
