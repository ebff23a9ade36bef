"""Attributes that are looked up by a name: `getattr(torch, args.dtype)`."""

from __future__ import annotations

from amplint.flow import program as ir
from amplint.machine import attributes
from amplint.protocol.ranks import Wrapper
from amplint.state.run import Run
from amplint.state.values import Keywords, Origin, Public, Symbol, Value, text_of


def look_up(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """`getattr(owner, name)`: by a name that an option gives, what the default names is one of those that are tried."""
    if len(args) == 3 and args[2] is None and attributes.lacks(run, args[0], args[1]):
        return None
    if args[1:] == ["module", args[0]] and getattr(args[0], "wrapper", Wrapper.NONE) is Wrapper.NONE:
        return args[0]  # of a model that nothing wraps, the model
    if len(args) > 1 and (name := _name(run, args[0], args[1])) is not None:
        return attributes.read(run, args[0], name)
    return Symbol(f"getattr({text_of(args[0])}, ...)", Origin.OPAQUE)


def _name(run: Run, owner: Value, name: Value) -> str | None:
    """The name in this run, None where it is not known."""
    if isinstance(name, str) or not isinstance(owner, Public) or not isinstance(name, Symbol):
        return name if isinstance(name, str) else None
    default = run.model.defaults.named(name.text) if name.origin is Origin.RUN else None
    known = default is not None and run.equals(name.text, text_of(default), name.origin)
    return default if known else None
