"""The guard's JSON as one page: violations, the timeline of a window, curves. No network, no script, no other file.

Whatever the report does not hold is left out, so that the page of an old or partial report is still a page.
"""

from __future__ import annotations

import linecache
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import files
from pathlib import PurePath
from typing import Any

from runtime_guard.report.charts import charts
from runtime_guard.report.curves import curves_of
from runtime_guard.report.joined import lines
from runtime_guard.report.markup import Markup, element, joined, number
from runtime_guard.report.timeline import timeline

CONTEXT = 2  # lines of source on either side of a place
Report = Mapping[str, Any]


def page(report: Report) -> str:
    """A complete HTML document, light or dark as the reader's system is."""
    style = files("runtime_guard.report").joinpath("page.css").read_text(encoding="utf-8")
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", f"runtime_guard: {_verdict(report)}"),
        element("style", Markup(style)),
    )
    sections = (
        _header(report),
        _violations(report),
        _timelines(report),
        _curves(report),
        _confirmed(report),
        _list("Ranks", lines(report), "ranks"),
        _open(report),
    )
    body = element("body", element("main", *sections))
    return f'<!doctype html>\n<html lang="en">{head}{body}</html>\n'


def _verdict(report: Report) -> str:
    """The whole report in one line."""
    found = report.get("violations", ())
    errors = sum(one.get("severity") == "error" for one in found)
    warnings = len(found) - errors
    told = [
        f"{count} {word}{'s' * (count > 1)}" for count, word in ((errors, "mistake"), (warnings, "warning")) if count
    ]
    if told:
        return " and ".join(told)
    return "no mistake seen" if report.get("windows", {}).get("count") else "nothing was trained"


def _header(report: Report) -> Markup:
    tone = "bad" if any(one.get("severity") == "error" for one in report.get("violations", ())) else "fine"
    if tone == "fine" and report.get("violations"):
        tone = "mild"
    script = report.get("script") or report.get("command") or ""
    what = element(
        "p", "runtime_guard", *([" \u00b7 ", element("code", _short(str(script)))] if script else []), class_="what"
    )
    verdict = element("h1", _verdict(report).capitalize(), class_=tone)
    ended = report.get("ended")
    end = element("p", "Ended: ", _ended(ended), class_=f"ended {ended['how']}") if ended else ""
    return element(
        "header", what, verdict, end, element("dl", *(_tile(*tile) for tile in _tiles(report)), class_="tiles")
    )


def _ended(ended: Mapping[str, Any]) -> str:
    """How the run has ended, and where."""
    site = ended.get("site")
    return f"{ended['told']}, at {_short(site['file'])}:{site['line']}" if site else str(ended["told"])


def _tile(name: str, value: str) -> Markup:
    return element("div", element("dt", name), element("dd", value))


def _tiles(report: Report) -> Iterator[tuple[str, str]]:
    """The readings that sum up a run, each with its name."""
    windows = report.get("windows", {})
    if windows:
        yield "windows", number(windows.get("count", 0))
        lengths = windows.get("micro_steps") or {}
        if lengths:
            yield "micro-steps per window", ", ".join(lengths)
        multiplier = windows.get("effective_lr_multiplier")
        if isinstance(multiplier, Mapping):
            yield from ((f"learning rate \u00d7, {name}", number(value)) for name, value in multiplier.items() if value)
        elif multiplier is not None:
            yield "learning rate \u00d7", number(multiplier)
    skipped = [scaler.get("skipped") for scaler in _entries(report.get("scalers"))]
    if any(one is not None for one in skipped):
        yield "skipped steps", number(sum(one or 0 for one in skipped))
    if report.get("world_size", 1) > 1:
        yield "processes", number(report["world_size"])
    if report.get("torch"):
        yield "torch", str(report["torch"])


def _entries(value: Any) -> list[Mapping[str, Any]]:
    entries = list(value.values()) if isinstance(value, Mapping) else list(value or ())
    return [entry for entry in entries if isinstance(entry, Mapping)]


def _violations(report: Report) -> Markup:
    found: Sequence[Mapping[str, Any]] = report.get("violations", ())
    ranks = {one.get("rank") for one in found} - {None, 0} != set() or report.get("world_size", 1) > 1
    return joined(*(_violation(one, ranks) for one in found))


def _violation(one: Mapping[str, Any], ranks: bool) -> Markup:
    """One violation: what happens to the numbers, where, and where it began."""
    severity = str(one.get("severity", "error"))
    title = element("h2", element("span", severity, class_=f"badge {severity}"), " ", element("code", str(one["code"])))
    places = [_place("the mistake", one.get("site"))]
    previous = one.get("previous")
    if previous:
        places.insert(0, _place(str(previous.get("event") or "before"), previous))
    advice = element("p", "\u2192 ", *_spoken(str(one["advice"])), class_="advice") if one.get("advice") else ""
    return element(
        "section",
        title,
        element("p", *_spoken(str(one.get("message", "")))),
        element("div", *places, class_="places"),
        advice,
        element("p", _when(one, ranks), class_="when"),
        class_=f"violation {severity}",
    )


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _spoken(text: str) -> list[str]:
    """A message, what stands between backticks as code."""
    pieces = _sentence(text).split("`")
    return [element("code", piece) if index % 2 else piece for index, piece in enumerate(pieces)]


def _when(one: Mapping[str, Any], ranks: bool) -> str:
    count = int(one.get("count") or 1)
    told = ["once" if count == 1 else f"{number(count)} times"]
    if count > 1 and one.get("windows", count) != count:
        told[0] += f" in {number(one['windows'])} window{'s' * (one['windows'] != 1)}"
    if one.get("window") is not None:
        told.append(f"in window {one['window']}" if count == 1 else f"first in window {one['window']}")
    if ranks and one.get("rank") is not None:
        told.append(f"on rank {one['rank']}")
    return ", ".join(told)


def _place(what: str, site: Mapping[str, Any] | None) -> Markup:
    """A place with the lines around it, the line itself marked."""
    if not site:
        return Markup()
    file, line = str(site.get("file", "?")), int(site.get("line") or 0)
    function = site.get("function")
    words: list[str] = [
        element("b", _sentence(what)),
        element("br"),
        element("span", f"{_short(file)}:{line}", title=file),
    ]
    if function and function != "<module>":
        words += [" in ", element("code", str(function))]
    return element("div", element("p", *words, class_="site"), _listing(file, line, site.get("source")), class_="place")


def _short(path: str) -> str:
    return "/".join(PurePath(path).parts[-2:])


def _listing(file: str, line: int, source: Any) -> Markup:
    """The lines around a place as they are on disk now; the recorded line alone where they are not what was run."""
    found = linecache.getline(file, line).strip()
    if not found or (source and found != str(source).strip()):
        rows = [(line, str(source))] if source else []
    else:
        lines = linecache.getlines(file)
        span = range(max(1, line - CONTEXT), min(len(lines), line + CONTEXT) + 1)
        rows = _trimmed([(row, lines[row - 1].rstrip()) for row in span])
    if not rows:
        return Markup()
    return element("pre", *(_source_row(row, text, row == line) for row, text in rows))


def _trimmed(rows: list[tuple[int, str]]) -> list[tuple[int, str]]:
    """The rows without empty ones at either end and without the margin that all share."""
    while rows and not rows[-1][1].strip():
        rows = rows[:-1]
    while rows and not rows[0][1].strip():
        rows = rows[1:]
    margin = min((len(text) - len(text.lstrip()) for _, text in rows if text.strip()), default=0)
    return [(row, text[margin:]) for row, text in rows]


def _source_row(row: int, text: str, here: bool) -> Markup:
    return element("span", element("i", str(row)), text or " ", class_="here" if here else "row")


def _timelines(report: Report) -> Markup:
    drawn = [_timeline(window) for window in report.get("timeline", ()) if window.get("events")]
    return joined(*drawn)


def _timeline(window: Mapping[str, Any]) -> Markup:
    words = [f"Window {window.get('window', '?')}"]
    if window.get("optimizer"):
        words.append(f" of {window['optimizer']}")
    about = "every event as it happened, left to right; rest the pointer on one to see its line"
    rows = element("details", element("summary", "the events as a list"), _table(window["events"]))
    return element("section", element("h2", *words), element("p", about, class_="when"), timeline(window), rows)


def _table(events: Sequence[Mapping[str, Any]]) -> Markup:
    head = element("tr", *(element("th", name) for name in ("micro-step", "event", "where", "numbers")))
    return element("table", head, *(_table_row(event) for event in events))


def _table_row(event: Mapping[str, Any]) -> Markup:
    where = f"{_short(str(event.get('file', '?')))}:{event.get('line', '?')}"
    cells = (str(event.get("micro_step", "")), str(event["event"]), where, str(event.get("detail") or ""))
    return element("tr", *(element("td", cell) for cell in cells), class_="wrong" if event.get("violation") else None)


def _curves(report: Report) -> Markup:
    drawn = charts(curves_of(report))
    if not drawn:
        return drawn
    return element("section", element("h2", "Over the run"), element("div", drawn, class_="charts"))


def _confirmed(report: Report) -> Markup:
    confirmed = report.get("confirmed", ())
    return _list("Confirmed", confirmed, "confirmed") if confirmed else _list("Seen", report.get("seen", ()), "seen")


def _open(report: Report) -> Markup:
    return _list("Could not be followed", report.get("not_covered", ()), "open")


def _list(title: str, entries: Sequence[Any], kind: str) -> Markup:
    if not entries:
        return Markup()
    return element(
        "section", element("h2", title), element("ul", *(element("li", _told(entry)) for entry in entries), class_=kind)
    )


def _told(entry: Any) -> str:
    if isinstance(entry, Mapping):
        return ": ".join(str(value) for value in entry.values() if value)
    return str(entry)
