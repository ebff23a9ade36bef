"""HTML and SVG elements as text. What is not markup is escaped, whoever wrote it."""

from __future__ import annotations

from html import escape
from math import floor, isfinite, log10

_VOID = frozenset({"meta", "br", "line", "rect", "path", "circle", "polyline", "use"})


class Markup(str):
    """Text that is markup already. Plain strings are escaped when they are put into an element."""

    __slots__ = ()


def element(name: str, /, *children: str, **attributes: str | float | None) -> Markup:
    """One element. An attribute that is None is left out; `class_` and `stroke_width` are spelled as in markup."""
    spelled = "".join(
        f' {_spelling(key)}="{escape(_value(value))}"' for key, value in attributes.items() if value is not None
    )
    if name in _VOID and not children:
        return Markup(f"<{name}{spelled}/>")
    return Markup(f"<{name}{spelled}>{joined(*children)}</{name}>")


def joined(*children: str) -> Markup:
    """Several pieces, one after the other."""
    return Markup("".join(child if isinstance(child, Markup) else escape(child, quote=False) for child in children))


def _spelling(key: str) -> str:
    return "viewBox" if key == "view_box" else key.rstrip("_").replace("_", "-")


def _value(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")


def number(value: float) -> str:
    """A number for people: four significant digits, whole numbers whole, very large and small ones with an exponent."""
    if not isfinite(value):
        return {"inf": "\u221e", "-inf": "-\u221e"}.get(str(value), "NaN")
    if value == int(value) and abs(value) < 1e7:
        return f"{int(value):,}"
    if value and not -5 < floor(log10(abs(value))) < 7:
        return f"{value:.2e}"
    return f"{value:.4g}"
