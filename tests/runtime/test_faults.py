"""Whatever fails in the guard: the run goes on as without it, to the last bit, and is told what was switched off.

Every function of the guard and of the rules that runs below a shield is made to raise, a share of them in each run of
the tests: which ones are drawn by chance. None is listed, so that none can be forgotten.
"""

import gc
import random
import sys
from collections import Counter
from types import FunctionType

import pytest

from runtime_guard import guard
from runtime_guard.hooks import Listener, Shield
from tests.runtime.test_good_guest import result, train

SHARE = 24
SHIELDED = {method.__code__ for method in (Shield.run, Listener.before, Listener.after, Listener.abandon)}
ENTRIES = SHIELDED | {Shield.fails.__code__, Shield.__init__.__code__}


class Fault(Exception):
    """Raised in the guard's own code."""


def own(code):
    return "/runtime_guard/" in code.co_filename or "/amplint/" in code.co_filename


def below_a_shield(frame):
    while (frame := frame.f_back) is not None and frame.f_code is not train.__code__:
        if frame.f_code in SHIELDED:
            return True
    return False


def called():
    """The functions that run below a shield and nowhere else, and how often each does."""
    inside, outside = Counter(), set()

    def hears(frame, event, _):
        if event == "call" and own(frame.f_code) and frame.f_code not in ENTRIES:
            if below_a_shield(frame):
                inside[frame.f_code] += 1
            else:
                outside.add(frame.f_code)

    sys.setprofile(hears)
    try:
        result(guard(mode="record"))
    finally:
        sys.setprofile(None)
    functions = [one for one in gc.get_objects() if type(one) is FunctionType and inside[one.__code__]]
    return [(one, inside[one.__code__]) for one in functions if one.__code__ not in outside]


def failing(function, at):
    """The function's code, and the code of one that raises at one of its calls and does the same at the others."""
    code, calls = function.__code__, Counter()
    same = FunctionType(
        code, function.__globals__, function.__name__, function.__defaults__, function.__closure__
    )  # fmt: skip
    same.__kwdefaults__ = function.__kwdefaults__

    def instead(*args, **kwargs):
        calls["all"] += 1
        if calls["all"] == at:
            raise Fault(code.co_name)
        return same(*args, **kwargs)

    def passing(*args, **kwargs):
        return "instead"(*args, **kwargs)  # noqa: the constant is what is called

    raising = passing.__code__
    consts = tuple(instead if one == "instead" else one for one in raising.co_consts)
    return code, raising.replace(co_consts=consts, co_freevars=code.co_freevars, co_filename=code.co_filename), calls
