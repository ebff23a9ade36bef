"""Children of a guarded run that `multiprocessing` starts or forks, and what becomes of their reports.

`python -m` does not reach a spawned child: it is a new interpreter. What reaches it is the environment. While the
script runs, a folder with a `sitecustomize` stands on `PYTHONPATH`, and a directory for the parts of the report in
`RUNTIME_GUARD_CHILDREN`. Each child that trains writes its part when it ends; the parent joins them to its own.

A child that `multiprocessing` forks has the hooks of its parent, and what they recorded: it takes them back and begins
a guard of its own. Workers of a DataLoader do not train, and only take them back. A bare `os.fork()` is not followed.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing import current_process, util
from pathlib import Path
from typing import TYPE_CHECKING, Any

from runtime_guard.report.reached import joined_files
from runtime_guard.unchecked import of_report
from runtime_guard.written import replace

if TYPE_CHECKING:
    from runtime_guard.guarding import guard

VARIABLE = "RUNTIME_GUARD_CHILDREN"
_FOLDER = Path(__file__).parent / "children"
_BEFORE_QUEUES_CLOSE = 100  # exit priority: multiprocessing's own finalizers have less


@contextmanager
def reaching_children(directory: str | os.PathLike[str], options: Mapping[str, Any]) -> Iterator[None]:
    """While the block runs, spawned children guard themselves with `guard(**options)`.

    `options` must survive JSON. `directory` must exist, and receives `<pid>.json` of each child that trains.
    """
    wanted = {
        VARIABLE: json.dumps({"directory": os.path.abspath(directory), "options": dict(options)}),
        "PYTHONPATH": os.pathsep.join(filter(None, (str(_FOLDER), os.environ.get("PYTHONPATH")))),
    }
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def follow_forks(parent: guard) -> None:
    """From now on, children that are forked guard themselves, as long as the environment says so."""
    util.register_after_fork(parent, _forked)


def _forked(parent: guard) -> None:
    """In the child: the optimizers that the parent knows may be those that it trains."""
    if VARIABLE not in os.environ:
        return
    known = parent.leave_to_child()
    target = getattr(current_process(), "_target", None)
    if not str(getattr(target, "__module__", "")).startswith("torch.utils.data"):
        begin(known)


def begin(known: Sequence[Any] = ()) -> None:
    """Guards this child until it ends. Its part of the report is written by a finalizer: children skip `atexit`.

    `known`: optimizers that were made before.
    """
    from runtime_guard.guarding import guard

    told = json.loads(os.environ[VARIABLE])
    begun = Path(told["directory"], f"{os.getpid()}.begun")

    class Telling(guard):
        """Leaves a mark with the first backward: of a child that trains, somebody expects a report."""

        told = False
        whole = False

        def _admit(self) -> None:
            if not self.told:
                self.told = True
                begun.touch()
            super()._admit()

    listening = Telling(**told["options"], optimizer=list(known))
    listening.__enter__()

    def write() -> None:
        listening.__exit__(None, None, None)
        report = listening.report()
        if report["steps"] or report["violations"] or report["off"]:
            part = {**_ranked(report), "summary": listening.summary()}
            replace(begun.with_suffix(".json"), json.dumps(part, default=str))
        begun.unlink(missing_ok=True)

    util.Finalize(None, write, exitpriority=_BEFORE_QUEUES_CLOSE)


def _ranked(report: dict[str, Any]) -> dict[str, Any]:
    """The report with this child's number on every violation, unless torch.distributed numbers the processes."""
    identity = current_process()._identity
    if report["world_size"] > 1 or not identity:
        return report
    return {**report, "violations": [{**one, "rank": identity[-1] - 1} for one in report["violations"]]}


def collected(directory: str | os.PathLike[str], over: bool = True) -> list[dict[str, Any]]:
    """The parts that children left, by rank; one without numbers for all children that never ended properly, if the
    run is over."""
    parts = [json.loads(path.read_text(encoding="utf-8")) for path in sorted(Path(directory).glob("*.json"))]
    lost = len(list(Path(directory).glob("*.begun"))) if over else 0
    if lost:
        parts.append({"not_covered": [f"{lost} child process{'es'[: 2 * (lost > 1)]} ended without a report"]})
    return sorted(parts, key=lambda part: min((one.get("rank") or 0 for one in part.get("violations", ())), default=0))


def joined(report: Mapping[str, Any], parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """One report of a parent and its children: counts are added, lists follow one another."""
    if not parts:
        return dict(report)
    every = [report, *parts]
    result = dict(report)
    result["violations"] = _violations(every)
    result["windows"] = _windows([one["windows"] for one in every if one.get("windows")])
    for name in ("optimizers", "scalers", "schedulers", "timeline", "passes", "seen", "confirmed"):
        result[name] = [entry for one in every for entry in one.get(name) or ()]
    for name in ("off", "unfollowed"):
        result[name] = list(dict.fromkeys(str(entry) for one in every for entry in one.get(name) or ()))
    result["not_covered"] = list(dict.fromkeys(str(entry) for one in every for entry in one.get("not_covered") or ()))
    result["steps"] = sum(one.get("steps") or 0 for one in every)
    result["unchecked"] = of_report(result)
    result["files"] = joined_files(every)
    curves: dict[str, dict[str, Any]] = {}
    for number, one in enumerate(every):
        for quantity, owners in (one.get("curves") or {}).items():
            named = {f"{owner} of child {number}" if number else owner: points for owner, points in owners.items()}
            curves.setdefault(quantity, {}).update(named)
    result["curves"] = curves
    return result


def _violations(reports: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Each rule once per place; the first child that met it gives the words."""
    found: dict[tuple[Any, ...], dict[str, Any]] = {}
    for report in reports:
        for one in report.get("violations", ()):
            key = (one["site"]["file"], one["site"]["line"], one["code"])
            if key in found:
                found[key]["count"] += one["count"]
                found[key]["windows"] = found[key].get("windows", 0) + one.get("windows", 0)
            else:
                found[key] = dict(one)
    return [found[key] for key in sorted(found)]


def _windows(parts: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    lengths: Counter[str] = Counter()
    for part in parts:
        lengths.update(part.get("micro_steps") or {})
    multipliers = [part["effective_lr_multiplier"] for part in parts if part.get("effective_lr_multiplier") is not None]
    return {
        **(parts[0] if parts else {}),
        "count": sum(part.get("count", 0) for part in parts),
        "micro_steps": dict(sorted(lengths.items(), key=lambda entry: int(entry[0]))),
        "effective_lr_multiplier": multipliers[0] if multipliers else None,
    }
