"""Which optimizers are made with the parameters of a model that was cast to float16 as a whole."""

import pytest

from amplint.lower.half_models import half_optimizers, keeps_copies
from tests.lower.lowered import body_of

HEAD = "import torch\nfrom torch.optim import SGD\n"
MADE = "\noptimizer = SGD(model.parameters(), lr=0.1)\n"


@pytest.mark.parametrize(
    "text",
    [
        "model = Net().half()",
        "model = Net()\nmodel.half()",
        "model = Net()\nmodel = model.to(torch.float16)",
        "model = Net().to(device, dtype=torch.half).to('cuda:0').train()",
        "model = Net().half().to(torch.device('cuda'))",
        "model = Net().half()\nmodel.load_state_dict(torch.load(path))\ny = model(x)\nprint(x)",
        "model = Net().half()\nfor x in loader:\n    y = model(x)",
        "try:\n    n = 1\nexcept ValueError:\n    n = 2\nmodel = Net().half()",
        "with torch.device('cuda'):\n    model = Net().half()",
    ],
)
def test_a_model_that_is_cast_stays_so(text):
    assert len(half_optimizers(body_of(HEAD + text + MADE))) == 1


@pytest.mark.parametrize(
    "text",
    [
        "model = Net()",
        "model = Net().to(torch.bfloat16)",
        "model = Net().half().to(*args)",
        "model = Net().half().to(what)",
        "model = Net().half().to(call())",
        "model = Net().half().float()",
        "model = Net().half()\nmodel.to(torch.float32)",
        "model = Net().half()\nprepare(model)",
        "model = Net().half()\nmodel.head = head",
        "model = Net().half()\nmodel.apply(init)",
        "model = Net().half()\nwith summon(model):\n    pass",
        "model = Net().half()\nmodel = wrap(model)",
        "model = Net().half()\nmodel, other = wrap(other)",
        "model = Net().half()\nother = model",
        "model = Net()\nif args.half:\n    model.half()",
        "model = Net().half()\nif args.full:\n    model = Net()",
        "model = Net().half()\nwhile (model := build()) is None:\n    pass",
        "model = Net().half()\ndef later():\n    model.float()",
    ],
)
def test_what_may_change_it_makes_it_unknown(text):
    assert half_optimizers(body_of(HEAD + text + MADE)) == frozenset()


@pytest.mark.parametrize(
    ("text", "keeps"),
    [
        ("for parameter in parameters:\n    parameter.data = parameter.data.float()", True),
        ("convert_to_fp32()", True),
        ("model = Net().half()", False),
    ],
)
def test_where_a_copy_may_be_kept_nothing_is_known(text, keeps):
    assert keeps_copies(body_of(HEAD + text + MADE)) is keeps


@pytest.mark.parametrize(
    "made",
    [
        "SGD(*every)",
        "SGD(params)",
        "SGD(make(model))",
        "SGD(model.parameters(recurse=False))",
        "SGD(model.named_parameters())",
        "SGD([{'params': model.parameters()}])",
        "SGD(model.parameters(), fused=True)",
        "Lamb(model.parameters())",
        "torch.optim.lr_scheduler.StepLR(model.parameters())",
    ],
)
def test_only_all_parameters_in_an_optimizer_of_torch_count(made):
    assert half_optimizers(body_of(f"{HEAD}model = Net().half()\noptimizer = {made}\n")) == frozenset()


def test_a_method_of_the_same_object_may_change_its_model():
    body = "self.model = Net().half()\n    {}\n    self.optimizer = SGD(self.model.parameters())\n"
    text = f"def __init__(self):\n    {body}"
    assert len(half_optimizers(body_of(HEAD + text.format("pass")))) == 1
    assert half_optimizers(body_of(HEAD + text.format("self.freeze()"))) == frozenset()
    assert half_optimizers(body_of(HEAD + text.format("self = other"))) == frozenset()
