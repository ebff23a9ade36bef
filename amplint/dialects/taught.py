"""A team's own engine, taught by tables: `[tool.amplint.dialects."mylib.Engine.backward"]`.

A table becomes a method, or a function, of a small program like those of the frameworks: what the engine does happens
where it is called. What no table says is taken in the engine's favour: it zeroes what it steps, its scale is taken out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from textwrap import indent
from typing import Any

from amplint.dialects.dialect import Dialect

Tables = Mapping[str, Mapping[str, Any]]

FLAGS: Mapping[str, tuple[str, ...]] = {
    "backward": ("divides", "scales", "window"),
    "clip": ("unscales",),
    "step": ("gates", "unscales", "zeroes", "window"),
    "unscale": (),
    "zero_grad": ("gates",),
}
"""Event -> what a table may say of it."""

KINDS: Mapping[str, type] = {
    "event": str,
    "divides": bool,
    "scales": bool,
    "unscales": bool,
    "gates": bool,
    "zeroes": bool,
    "window": str,
}
"""Key of a table -> what its value is."""

WINDOWS = (
    "gradient_accumulation_steps",
    "grad_accumulation_steps",
    "accumulation_steps",
    "grad_accum_steps",
    "accum_steps",
    "accum_iter",
)
"""Arguments of a constructor that everybody gives the window in."""

_HEAD = """\
from torch.amp import GradScaler
from torch.nn.utils import clip_grad_norm_
"""
_CLASS = """\
class {name}:
    def __init__(self, *args, **kwargs):
        self.known = entry_of(kwargs, {windows})
        self.window = self.known if self.known is not None else unknown("the engine's window")
        self.micro_steps = 0
        self.scaler = GradScaler(enabled={enabled})
        self.held = {held}

    def inner(self, args, kwargs):
        return among("optimizer", args, kwargs) or self.held
"""
_HELD = 'played(among("optimizer", args, kwargs) or unknown("engine.optimizer"), "optimizer")'
_BACKWARD = """\
def {name}(self, loss, *args, **kwargs):
    {divide}
    {scale}.backward()
    return loss
"""
_STEP = """\
def {name}(self, *args, **kwargs):
    optimizer = self.inner(args, kwargs)
    self.micro_steps += 1
    {test}:
        {step}
        {zero}
"""
_GATED = """\
if self.known is not None:
        ask(optimizer, window=self.known)
    no_tail()
    if self.micro_steps % self.window == 0"""
_CLIP = """\
def {name}(self, *args, **kwargs):
    optimizer = self.inner(args, kwargs)
    {unscale}
    return clip_grad_norm_(parameters_of(optimizer), 1.0)
"""
_UNSCALE = """\
def {name}(self, *args, **kwargs):
    self.scaler.unscale_(self.inner(args, kwargs))
"""
_ZERO = """\
def {name}(self, *args, **kwargs):
    {test}:
        self.inner(args, kwargs).zero_grad()
"""


@dataclass(frozen=True)
class _Called:
    """One table: where its method or function stands, and what it says. `klass` is empty for a function."""

    package: str
    klass: str
    name: str
    said: Mapping[str, Any]


def wrong_with(name: str, table: Mapping[str, Any]) -> str | None:
    """What is wrong with a table whose keys and types are right; None if nothing is."""
    parts = name.split(".")
    if len(parts) < 2 or not all(part.isidentifier() for part in parts):
        return "is not the dotted name of a function or method, such as `mylib.Engine.backward`"
    event = table.get("event")
    if not isinstance(event, str) or event not in FLAGS:
        said = "has no `event`" if event is None else f"there is no event `{event}`"
        return f"{said}; it is one of {', '.join(FLAGS)}"
    for key in table:
        if key != "event" and key not in FLAGS[event]:
            return f"`{key}` says nothing about the event `{event}`"
    return None


def words_of(tables: Tables) -> frozenset[str]:
    """What a file says that calls an engine that was taught."""
    return frozenset(f"{name.rpartition('.')[2]}(" for name in tables)


def taught(tables: Tables) -> tuple[Dialect, ...]:
    """One dialect per package, made of the tables of a configuration."""
    frozen = tuple(sorted((name, tuple(sorted(table.items()))) for name, table in tables.items()))
    return _dialects(frozen)


@cache
def _dialects(tables: tuple[tuple[str, tuple[tuple[str, Any], ...]], ...]) -> tuple[Dialect, ...]:
    called = [_called(name, dict(said)) for name, said in tables]
    packages = dict.fromkeys(one.package.partition(".")[0] for one in called)
    return tuple(
        _dialect(package, [one for one in called if one.package.partition(".")[0] == package]) for package in packages
    )


def _called(name: str, said: Mapping[str, Any]) -> _Called:
    """A method if what stands before the last name begins like a class."""
    owner, _, last = name.rpartition(".")
    above, _, klass = owner.rpartition(".")
    is_class = bool(above) and klass.lstrip("_")[:1].isupper()
    return _Called(above, klass, last, said) if is_class else _Called(owner, "", last, said)


def _dialect(package: str, called: list[_Called]) -> Dialect:
    owners = dict.fromkeys((one.package, one.klass) for one in called)
    defines, parts = {}, [_HEAD]
    for number, (module, klass) in enumerate(owners):
        own = [one for one in called if (one.package, one.klass) == (module, klass)]
        name = f"{klass or 'Functions'}_{number}"
        parts.append(_class(name, own))
        if klass:
            defines[f"{module}.{klass}"] = name
            continue
        parts.append(f"functions_{number} = {name}()")
        for one in own:
            parts.append(f"{one.name}_{number} = functions_{number}.{one.name}")
            defines[f"{module}.{one.name}"] = f"{one.name}_{number}"
    return Dialect(
        name=package,
        program="\n\n".join(parts),
        defines=defines,
        spelling=_spelling(called),
        seeds=frozenset(one.name for one in called if one.said["event"] in ("backward", "step")),
    )


def _spelling(called: list[_Called]) -> dict[str, str]:
    """How messages name what steps: the last of several."""
    steps = [one for one in called if one.said["event"] == "step"]
    return {"step": f"{'.'.join(filter(None, (steps[-1].klass, steps[-1].name)))}()"} if steps else {}


def _class(name: str, own: list[_Called]) -> str:
    """The class of one engine, its methods in the order of the tables."""
    events = {one.said["event"] for one in own}
    unscaled = "unscale" in events or any(one.said.get("unscales") for one in own)
    windows = tuple(one.said["window"] for one in own if "window" in one.said) or WINDOWS
    enabled = "True" if unscaled else 'perhaps("the engine\'s scale")'
    held = _HELD if events - {"backward"} else "None"
    head = _CLASS.format(name=name, windows=repr(windows), enabled=enabled, held=held)
    return head + "".join("\n" + indent(_method(one, events, unscaled), "    ") for one in own)


def _method(one: _Called, events: set[str], unscaled: bool) -> str:
    said = one.said
    make = _MAKERS[said["event"]]
    return make(one.name, said, events, unscaled)


def _backward(name: str, said: Mapping[str, Any], events: set[str], unscaled: bool) -> str:
    divide = "loss = loss / self.window" if said.get("divides") else "pass"
    return _BACKWARD.format(name=name, divide=divide, scale="self.scaler.scale(loss)" if said.get("scales") else "loss")


def _step(name: str, said: Mapping[str, Any], events: set[str], unscaled: bool) -> str:
    through = said.get("unscales")
    step = "self.scaler.step(optimizer)\n        self.scaler.update()" if through else "optimizer.step()"
    zeroes = said.get("zeroes", "zero_grad" not in events)
    test = _GATED if said.get("gates") else "if True"
    return _STEP.format(name=name, test=test, step=step, zero="optimizer.zero_grad()" if zeroes else "pass")


def _clip(name: str, said: Mapping[str, Any], events: set[str], unscaled: bool) -> str:
    return _CLIP.format(name=name, unscale="self.scaler.unscale_(optimizer)" if said.get("unscales") else "pass")


def _unscale(name: str, said: Mapping[str, Any], events: set[str], unscaled: bool) -> str:
    return _UNSCALE.format(name=name)


def _zero_grad(name: str, said: Mapping[str, Any], events: set[str], unscaled: bool) -> str:
    return _ZERO.format(name=name, test="if self.micro_steps % self.window == 0" if said.get("gates") else "if True")


_MAKERS = {"backward": _backward, "clip": _clip, "step": _step, "unscale": _unscale, "zero_grad": _zero_grad}
