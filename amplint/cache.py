"""Findings kept from one run to the next: a file that has not changed, among neighbours that have not, is not analysed.

An entry is found by the file, and holds for one text, one set of declared versions and one amplint (its own source
files are part of the key). With it stands all that was asked of the file system on the way: which neighbours were
there, and what they held. A cache that cannot be read or written is none, and nothing worse.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from amplint.findings import Finding, Place, Severity, Witness
from amplint.source import importing
from amplint.source.asked import Answers, answered_by, digest, recorded, stamp, still_so

answered_by(importing.QUESTION, importing.state)

_TAG = """\
Signature: 8a477f597d28d172789f06886806bc55
# What amplint has found, kept for the next run; it can be removed at any time. See https://bford.info/cachedir/
"""

Analysis = Callable[[str, str], list[Finding]]


def kept(folder: Path, analysis: Analysis, versions: Mapping[str, str], scenes: bool) -> Analysis:
    """The same analysis, asking the cache in a folder first. `versions`: what is declared of libraries. `scenes`: what
    remedies need is wanted too, and that is not kept, so that a file with something to mend is analysed."""

    def asked(text: str, filename: str) -> list[Finding]:
        path = folder / f"{_hashed(os.path.abspath(filename), os.getcwd())}.json"
        key = _hashed(text, filename, os.getcwd(), json.dumps(sorted(versions.items())), _own_state())
        entry = _read(path, key)
        if entry is not None and not (scenes and entry["scenes"]):
            return [_finding(item) for item in entry["findings"]]
        with recorded() as answers:
            found = analysis(text, filename)
        with suppress(OSError):
            _write(path, key, found, answers)
        return found

    return asked


def _hashed(*parts: str) -> str:
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()


@cache
def _own_state() -> str:
    """What this amplint is: its files, when they were written, and the Python that runs it."""
    files = sorted(Path(__file__).parent.rglob("*"))
    stamps = [(str(file), stamp(str(file))) for file in files if file.suffix in (".py", ".behaviour")]
    return json.dumps([sys.version, stamps])


def _read(path: Path, key: str) -> dict[str, Any] | None:
    """The entry of a file, if it is about this text and its neighbours are as they were."""
    try:
        entry = json.loads(path.read_text(encoding="utf-8"))
        holds = entry["key"] == key and all(_same(*asked) for asked in entry["asked"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return entry if holds else None


def _same(kind: str, path: str, answer: Any, content: str) -> bool:
    """Whether a question is answered as it was; a file that was written anew may hold what it held."""
    before = tuple(answer) if isinstance(answer, list) else answer
    if still_so({(kind, path): before}):
        return True
    return bool(content) and digest(path) == content


def _write(path: Path, key: str, found: list[Finding], answers: Answers) -> None:
    asked = [(kind, name, answer, digest(name) if kind == "stamp" else "") for (kind, name), answer in answers.items()]
    if not still_so(answers):
        return  # somebody writes to the files that were just read
    entry = {
        "key": key,
        "asked": asked,
        "scenes": any(finding.scene is not None for finding in found),
        "findings": [_as_json(finding) for finding in found],
    }
    _prepared(path.parent)
    descriptor, temporary = tempfile.mkstemp(dir=path.parent)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            json.dump(entry, file)
        os.replace(temporary, path)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def _prepared(folder: Path) -> None:
    """Make the folder, which git and backups pass over."""
    if not (folder / "CACHEDIR.TAG").exists():
        folder.mkdir(parents=True, exist_ok=True)
        (folder / ".gitignore").write_text("*\n", encoding="utf-8")
        (folder / "CACHEDIR.TAG").write_text(_TAG, encoding="utf-8")


def removed(folder: Path) -> bool:
    """Whether a cache was there; it is not any more. A folder that is none is left alone."""
    try:
        if (folder / "CACHEDIR.TAG").read_text(encoding="utf-8") != _TAG:
            return False
    except (OSError, ValueError):
        return False
    shutil.rmtree(folder)
    return True


# --- findings as JSON ------------------------------------------------------------------------------------------------


def _as_json(finding: Finding) -> dict[str, Any]:
    bare = replace(finding, scene=None)
    return {
        **{name: getattr(bare, name) for name in ("filename", "code", "message", "advice", "conditional")},
        "severity": bare.severity.value,
        "place": _numbers(bare.place),
        "witness": [(_numbers(event.place), event.what, event.filename) for event in bare.witness],
    }


def _numbers(place: Place) -> tuple[int | None, ...]:
    return (place.row, place.column, place.end_row, place.end_column, place.cell)


def _finding(item: dict[str, Any]) -> Finding:
    witness = tuple(Witness(Place(*place), what, filename) for place, what, filename in item["witness"])
    told = {name: item[name] for name in ("filename", "code", "message", "advice", "conditional")}
    return Finding(place=Place(*item["place"]), severity=Severity(item["severity"]), witness=witness, **told)
