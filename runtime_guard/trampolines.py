"""Functions that pass a call on, listen before and after it, and stay out of the way of torch's own warnings.

torch warns with `stacklevel=2`: the warning names the line that called torch. A function of ours in between would be
named instead of the user's line. CPython leaves frames out of that count whose file name holds both `importlib` and
`_bootstrap` (`warnings._is_internal_frame`, the same in C; CPython 3.10 to 3.14), so the code of the functions below
says that it comes from such a file.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from types import CodeType, FunctionType
from typing import Any

from runtime_guard.frames import PASSED_OVER
from runtime_guard.lane import Lane

Arguments = tuple[Any, ...]
Before = Callable[[Arguments, dict[str, Any]], tuple[Any, Arguments, dict[str, Any]]]
After = Callable[[Any, Any], None]
Abandon = Callable[[Any], None]
Tracer = Callable[[], object]

_hidden_code: dict[CodeType, CodeType] = {}


def _nobody() -> object:
    """Who traces where nobody does."""
    return None


def around(
    original: Callable[..., Any],
    before: Before,
    after: After,
    abandon: Abandon,
    tracer: Tracer = _nobody,
    traced: Callable[..., Any] | None = None,
    lane: Lane | None = None,
    listener: Any = None,
) -> Callable[..., Any]:
    """A function that does what `original` does.

    `before` sees the arguments and returns a token and the arguments to pass on; `after` gets the token and the result
    and may raise; `abandon` gets the token when `original` raises, and that exception goes on unchanged. While `tracer`
    returns something, `traced` is called instead. Calls of `listener` that pass by in a `lane` go through none of
    these.
    """

    @functools.wraps(original)
    def passing(*args: Any, **kwargs: Any) -> Any:
        if traced is not None and tracer() is not None:
            return traced(*args, **kwargs)
        if lane is not None and lane.steps is not None and lane.begins(listener, args, kwargs):
            try:
                result = original(*args, **kwargs)
            except BaseException:
                lane.raised(listener)
                raise
            lane.ends(listener, result)
            return result
        token, args, kwargs = before(args, kwargs)
        try:
            result = original(*args, **kwargs)
        except BaseException:
            abandon(token)
            raise
        after(token, result)
        return result

    return passed_over(passing)


def passed_over(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same function, with code that warnings do not count as a caller."""
    assert isinstance(function, FunctionType)
    code = function.__code__
    if code not in _hidden_code:
        _hidden_code[code] = code.replace(co_filename=PASSED_OVER)
    function.__code__ = _hidden_code[code]
    return function
