"""A counter of micro-steps, however it is kept: a right loop is told nothing, and what is counted in sight is followed.

`SEEN`: ways whose wrong twin, the losses added whole, is found; `UNSEEN`: ways that nobody can follow.
"""

from dataclasses import dataclass

import pytest

from amplint.analysis import findings_of


@dataclass(frozen=True)
class Way:
    """A way to keep a counter: what stands above, how it begins, counts, is read, and begins again."""

    name: str
    begin: str
    count: str
    read: str
    again: str
    above: str = "pass"


def kept_in(name: str, made: str, place: str, above: str = "pass") -> Way:
    """A counter that is kept in a place of what is made."""
    return Way(name, made, f"{place} += 1", place, f"{place} = 0", above)


NESTED = "n = 0\ndef put(value):\n    nonlocal n\n    n = value"
GLOBAL = "counted = 0\ndef put(value):\n    global counted\n    counted = value"
PROPERTY = """class Held:
    def __init__(self):
        self._n = 0
    @property
    def n(self):
        return self._n
    @n.setter
    def n(self, value):
        self._n = value"""
TUPLE = "from collections import namedtuple\nHeld = namedtuple('Held', 'n m')"
TYPED = "from typing import NamedTuple\nclass Held(NamedTuple):\n    n: int"
FROZEN = "import dataclasses\n@dataclasses.dataclass(frozen=True)\nclass Held:\n    n: int"
BARE = "class Held:\n    pass"
MADE = "class Held:\n    def __init__(self):\n        self.n = 0"
DEQUE = "from collections import deque"

SEEN = [
    Way("a name", "n = 0", "n += 1", "n", "n = 0"),
    Way("a function around", NESTED, "put(n + 1)", "n", "put(0)"),
    Way("the module", "put(0)", "put(counted + 1)", "counted", "put(0)", GLOBAL),
    kept_in("a property", "held = Held()", "held.n", PROPERTY),
    Way(
        "a named tuple", "held = Held(0, 0)", "held = held._replace(n=held.n + 1)", "held.n", "held = Held(0, 0)", TUPLE
    ),
    Way("a tuple class", "held = Held(n=0)", "held = held._replace(n=held.n + 1)", "held.n", "held = Held(n=0)", TYPED),
    Way(
        "a frozen object",
        "held = Held(0)",
        "held = dataclasses.replace(held, n=held.n + 1)",
        "held.n",
        "held = Held(0)",
        FROZEN,
    ),
    Way(
        "set by hand",
        "held = Held(0)",
        "object.__setattr__(held, 'n', held.n + 1)",
        "held.n",
        "object.__setattr__(held, 'n', 0)",
        FROZEN,
    ),
    kept_in("vars", "held = Held()\nvars(held)['n'] = 0", "vars(held)['n']", BARE),
    Way("attributes", "held = Held()", "vars(held).update(n=held.n + 1)", "held.n", "held.n = 0", MADE),
    Way("__dict__", "held = Held()", "held.__dict__.update(n=held.n + 1)", "held.n", "held.n = 0", MADE),
    Way("another name", "held = {'n': 0}\nother = held", "other['n'] += 1", "held['n']", "held['n'] = 0"),
    Way("a list in place", "held = [0]", "held[:] = [held[0] + 1]", "held[0]", "held[:] = [0]"),
    Way("what is gathered", "held = []", "held.append(x)", "len(held)", "held[:] = []"),
    Way("a text", "held = ''", "held += '.'", "len(held)", "held = ''"),
    Way("a short queue", "held = deque([0], maxlen=1)", "held.append(held[0] + 1)", "held[0]", "held.append(0)", DEQUE),
    Way(
        "the end of a queue",
        "held = deque([0], maxlen=1)",
        "held.extend([held[0] + 1])",
        "held[0]",
        "held.append(0)",
        DEQUE,
    ),
    Way(
        "a queue that is added to",
        "held = deque([0], maxlen=1)",
        "held += [held[0] + 1]",
        "held[0]",
        "held.append(0)",
        DEQUE,
    ),
    Way(
        "a number of its own",
        "n = Held(0)",
        "n = Held(n + 1)",
        "n",
        "n = Held(0)",
        "class Held(int):\n    pass",
    ),
    Way(
        "what counts by itself",
        "ticks, n = count(1), 0",
        "n = next(ticks)",
        "n",
        "ticks, n = count(1), 0",
        "from itertools import count",
    ),
]
STATE = "from elsewhere import State, advance"
UNSEEN = [
    Way(
        "another name of it",
        "held = State(n=0)\nother = held\nheld.n = 0",
        "other.n += 1",
        "held.n",
        "held.n = 0",
        STATE,
    ),
    Way("its own method", "held = State()\nheld.n = 0", "held.tick()", "held.n", "held.n = 0", STATE),
    Way("its own methods", "held = State()", "held.tick()", "held.n", "held.reset()", STATE),
    Way("a function of others", "held = State()\nheld.n = 0", "advance(held)", "held.n", "held.n = 0", STATE),
    Way("a function given ours", "held = Held()", "advance(held)", "held.n", "held.n = 0", f"{STATE}\n{MADE}"),
    Way("by keyword", "held = Held()", "advance(state=held)", "held.n", "held.n = 0", f"{STATE}\n{MADE}"),
    Way(
        "a method of its base",
        "held = Held()\nheld.n = 0",
        "held.tick()",
        "held.n",
        "held.n = 0",
        f"{STATE}\nclass Held(State):\n    pass",
    ),
    Way("a function made", "n, bump = 0, advance(1)", "n = bump(n)", "n", "n = 0", STATE),
    kept_in("a tensor", "n = torch.zeros(1)", "n"),
    kept_in("shared memory", "n = multiprocessing.Value('i', 0)", "n.value", "import multiprocessing"),
]
GATES = {
    "remainder": ("", "{read} % {window} == 0", ""),
    "reset": ("", "{read} >= {window}", "{again}"),
    "flag": ("due = {read} % {window} == 0", "due", ""),
    "inverted": ("", "not {read} % {window}", ""),
}


def loop(way, gate, window, divisor):
    """A training loop whose window is counted in a way."""
    before, test, after = (part.format(read=way.read, again=way.again, window=window) for part in GATES[gate])
    body = ["loss = criterion(model(x), y)" + divisor, "loss.backward()", way.count, before, f"if {test}:"]
    gated = ["optimizer.step()", "optimizer.zero_grad()", after]
    return "\n".join(
        [
            "import torch",
            way.above,
            "def train(model, criterion, loader, args):",
            "    optimizer = torch.optim.AdamW(model.parameters())",
            *(f"    {line}" for line in way.begin.split("\n")),
            "    for epoch in range(args.epochs):",
            "        for x, y in loader:",
            *(f"            {line}" for line in body if line),
            *(f"                {line}" for line in gated if line),
        ]
    )


@pytest.mark.parametrize("window", ["args.accum", "4"])
@pytest.mark.parametrize("gate", GATES)
@pytest.mark.parametrize("way", SEEN + UNSEEN, ids=lambda way: way.name)
def test_a_right_loop_is_told_nothing_however_it_counts(way, gate, window):
    assert findings_of(loop(way, gate, window, f" / {window}"), "train.py") == []


@pytest.mark.parametrize("way", SEEN, ids=lambda way: way.name)
def test_losses_that_are_added_whole_are_found_however_they_are_counted(way):
    found = findings_of(loop(way, "reset", "args.accum", ""), "train.py")
    assert [finding.code for finding in found] == ["missing-loss-division"]
