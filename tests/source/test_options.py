"""What the options of a command line are by default is told from the text."""

import pytest

from amplint.protocol.defaults import NOTHING
from amplint.source.options import options_of

AROUND = "import argparse\nparser = argparse.ArgumentParser()\n{declared}\nargs = parser.parse_args()\n"


def told(declared: str) -> dict[str, object]:
    return dict(options_of("train.py", AROUND.format(declared=declared)).values)


@pytest.mark.parametrize(
    ("declared", "value"),
    [
        ("parser.add_argument('--a-b', default='float16')", "float16"),
        ("parser.add_argument('-a', '--a-b', default='float16', type=str)", "float16"),
        ("parser.add_argument('--a-b', default=2, type=int)", 2),
        ("parser.add_argument('--a-b', default=-1)", -1),
        ("parser.add_argument('--a-b')", None),
        ("parser.add_argument('--a-b', action='store_true')", False),
        ("parser.add_argument('--a-b', action='store_true', default=True)", True),
        ("parser.add_argument('--a-b', action='store_false')", True),
        ("parser.add_argument('--no-a-b', action='store_false', dest='a_b')", True),
        ("parser.add_argument('--a-b', action=argparse.BooleanOptionalAction, default=True)", True),
        ("group = parser.add_argument_group()\ngroup.add_argument('--a-b', default='x', choices=['x', 'y'])", "x"),
    ],
)
def test_a_default_that_is_written_is_known(declared, value):
    assert told(declared) == {"a_b": value}


@pytest.mark.parametrize(
    "declared",
    [
        "parser.add_argument('a_b', default=1)",
        "parser.add_argument('--a-b', required=True)",
        "parser.add_argument('--a-b', default='1', type=int)",
        "parser.add_argument('--a-b', default='no', type=truth)",
        "parser.add_argument('--a-b', default=DEFAULT)",
        "parser.add_argument('--a-b', default=argparse.SUPPRESS)",
        "parser.add_argument('--a-b', nargs='+', default='x')",
        "parser.add_argument('--a-b', action='append')",
        "parser.add_argument('--a-b', **more)",
        "parser.add_argument('--a-b', dest=name, default=1)",
        "parser.add_argument('--a-b', default=1)\nother.add_argument('--a-b', default=2)",
    ],
)
def test_one_that_is_not_written_is_not(declared):
    assert told(declared) == {}


@pytest.mark.parametrize(
    "text",
    [
        AROUND.format(declared="parser.set_defaults(**config)"),
        AROUND.format(declared="") + "vars(args).update(config)",
        AROUND.format(declared="") + "args.__dict__['a_b'] = True",
        AROUND.format(declared="") + "for name, value in config: setattr(args, name, value)",
        AROUND.format(declared="") + "merge_config(args)",
        AROUND.format(declared="") + "args = with_settings_of_the_file(path)",
        AROUND.format(declared="").replace("parse_args()", "parse_args(['--a-b'])"),
        AROUND.format(declared="").replace("parse_args()", "parse_args(namespace=known)"),
        AROUND.format(declared="").replace("argparse", "configargparse"),
        "args = parse(",
        "",
    ],
)
def test_nothing_is_known_where_they_may_be_set_from_elsewhere(text):
    assert options_of("train.py", text.replace("()\n\n", "()\nparser.add_argument('--a-b')\n")) == NOTHING


@pytest.mark.parametrize(
    "parsed",
    [
        "args = parser.parse_args()",
        "args, rest = parser.parse_known_args()",
        "args = parser.parse_known_args()[0]",
        "self.args = parser.parse_args(argv)",
        "def ask():\n    return parser.parse_args()\nargs = ask()",
        "def ask():\n    found = parser.parse_args()\n    return found\nargs = ask()\nargs = args",
    ],
)
def test_what_holds_them_is_known_by_its_name(parsed):
    text = f"import argparse\nparser = argparse.ArgumentParser()\nparser.add_argument('--fast')\n{parsed}\n"
    found = options_of("train.py", text)
    assert found.of(["args.fast", "args.fast == 'x'", "self.args.fast"]) == {
        "args.fast": False,
        "args.fast == 'x'": False,
        "self.args.fast": False,
    }
    assert found.of(["config.fast", "args.slow", "fast", "args.fast > 1", "args.fast == other"]) == {}


def test_they_are_those_of_a_neighbour_that_parses_them(tmp_path):
    declared = "import argparse\ndef get_args():\n    parser = argparse.ArgumentParser()\n"
    declared += "    parser.add_argument('--fast', action='store_true')\n    return parser.parse_args()\n"
    (tmp_path / "options.py").write_text(declared)
    text = "from options import get_args\nopt = get_args()\n"
    assert options_of(str(tmp_path / "train.py"), text).of(["opt.fast"]) == {"opt.fast": False}
    assert options_of(str(tmp_path / "train.py"), text + "opt.__dict__.update(config)\n") == NOTHING


@pytest.mark.parametrize(
    "text",
    [
        "args.fast = args.fast or torch.cuda.is_available()",
        "def check(found):\n    found.fast = bool(found.fast)\ncheck(args)",
        "same = args\nsame.fast, same.slow = choose()",
        "for args.fast in (True, False): pass",
    ],
)
def test_one_that_is_set_to_what_is_computed_is_not_known(text):
    declared = "parser.add_argument('--fast')\nparser.add_argument('--other')"
    found = options_of("train.py", AROUND.format(declared=declared) + text)
    assert dict(found.values) == {"other": None}


@pytest.mark.parametrize(
    ("neighbour", "known"),
    [
        ("def check(opt):\n    opt.fast = True\n", {"other"}),
        ("def check(opt):\n    print(opt.fast)\n", {"fast", "other"}),
        ("def check(opt):\n    vars(opt).update(settings)\n", set()),
        ("def check(opt):\n    opt.__dict__[name] = value\n", set()),
        (None, set()),
    ],
)
def test_what_a_neighbour_sets_is_not_known(tmp_path, neighbour, known):
    if neighbour is not None:
        (tmp_path / "checks.py").write_text(neighbour)
    declared = "parser.add_argument('--fast')\nparser.add_argument('--other')"
    text = "from checks import check\n" + AROUND.format(declared=declared) + "check(args)\n"
    assert set(options_of(str(tmp_path / "train.py"), text).values) == known
