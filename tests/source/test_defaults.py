"""What is 1 unless somebody says otherwise is told from the text."""

import pytest

from amplint.source.defaults import ones


@pytest.mark.parametrize(
    "text",
    [
        "parser.add_argument('--accum-iter', '-a', default=1, type=int)",
        "@click.option('--accum-iter', default=1)\ndef main(accum_iter): pass",
        "parser.add_argument('accum_iter', nargs='?', default=1)",
        "def train(model, accum_iter=1): pass",
        "def train(model, *, accum_iter: int = 1, other): pass",
        "class Config:\n    accum_iter: int = 1\n",
        "class Config:\n    accum_iter: int = field(default=1)\n",
        "n = config.get('accum_iter', 1)",
        "n = getattr(args, 'accum_iter', 1)",
    ],
)
def test_a_default_of_one_is_found(text):
    assert ones(text) == {"accum_iter"}


@pytest.mark.parametrize(
    "text",
    [
        "parser.add_argument('--accum', default=4)\nf(1, )",
        "def train(accum=True, *, other=None): f(1, 2)",
        "class Config:\n    accum: int\n    self.x: int = 1\nf(1, 2)",
        "accum = 1\n",
        "n = one.get(1, 1)",
        "f(default=1)",
        "def train(accum=1, :",
        "",
    ],
)
def test_what_is_no_default_of_one_is_not(text):
    assert ones(text) == frozenset()
