"""How many programs are told the same after rewrites that keep their meaning.

    python -m tests.rewrites.measure [--of examples,cases,FOLDER] [--deep 2] [--share 0.1] [--only REWRITE]

The rewrites are applied singly, or in combinations of `--deep`; a hash of the names chooses those that are the share. A
program that nothing is told of is *good*: it stays silent, or there is a false alarm. Of a *bad* one each rule that was
told is told again, as often, or it is lost.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path

from amplint.analysis import findings_of
from amplint.catalogue import RULES
from amplint.catalogue.examples import examples
from amplint.source.asked import instead
from tests.rewrites.table import REWRITES, rewritten
from tests.rewrites.writing import Program, read, written

ROOT = Path(__file__).parents[2]
Told = Counter[tuple[str, int]]
"""Rules that were told, each with the row where the statement stood before; 0 where nothing is known of that."""


@dataclass(frozen=True)
class Source:
    """A program to be rewritten: its name, its text, and the folder that its neighbours stand in, if there are any."""

    name: str
    text: str
    folder: str | None = None
    noisy: bool = False


@dataclass(frozen=True)
class Outcome:
    """What became of one program by one combination of rewrites. `error`: what went wrong on the way."""

    source: str
    names: tuple[str, ...]
    good: bool
    false: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    moved: bool = False
    error: str = ""

    @property
    def same(self) -> bool:
        """Whether nothing was lost, and nothing is told that was not told before."""
        return not (self.false or self.lost or self.error)


def sources(which: str) -> Iterator[Source]:
    """The programs of a set: `examples` of the rules' pages, `cases`, or the files of a folder."""
    if which in ("examples", "cases"):
        pages = (
            [(rule.id, rule.page) for rule in RULES.values()]
            if which == "examples"
            else [(path.stem, path.read_text(encoding="utf-8")) for path in sorted((ROOT / "tests/cases").glob("*.md"))]
        )
        for title, page in pages:
            for example in examples(page):
                if "live-only" not in example.words:
                    yield Source(f"{title}:{example.row}", example.source, noisy="opt-in" in example.words)
        return
    for path in sorted(Path(which).rglob("*.py")):
        text = path.read_text(encoding="utf-8", errors="ignore")
        if "backward" in text and ".step(" in text:
            yield Source(str(path), text, str(path.parent))


def told(program: Program, source: Source, folder: str) -> Told:
    """What is told of a program and of the files beside it, by rule and by the row where the statement stood."""
    stem = "example.py" if source.folder is None else Path(source.name).name
    texts = {stem: written(program.tree)} | {f"{key}.py": written(tree) for key, tree in program.beside.items()}
    made = [Path(folder) / key for key in texts]
    try:
        for key, (text, _) in texts.items():
            if source.folder is None or key != stem:
                (Path(folder) / key).write_text(text, encoding="utf-8")
        found: Told = Counter()
        with instead(os.path.join(folder, stem), texts[stem][0].encode()):
            for key, (text, rows) in texts.items():
                for one in findings_of(text, os.path.join(folder, key), noisy=source.noisy):
                    found[one.code, rows.get(one.place.row, 0)] += 1
        return found
    finally:
        for path in made:
            if source.folder is None or path.name != stem:
                path.unlink(missing_ok=True)


def compared(source: Source, deep: int, share: float, only: Sequence[str] = ()) -> list[Outcome]:
    """What becomes of a program by each combination of rewrites that is its share."""
    try:
        program = read(source.text, alone=source.folder is None)
    except SyntaxError:
        return []
    with tempfile.TemporaryDirectory() as made:
        folder = source.folder or made
        before: Told | None = None
        found = []
        for names in combinations(list(REWRITES), deep):
            if only and not any(one in only for one in names):
                continue
            if part_of(source.text, names) > share:
                continue
            try:
                after = rewritten(program, names)
                if after is not None:
                    before = told(program, source, folder) if before is None else before
                    found.append(_outcome(source, names, before, told(after, source, folder)))
            except Exception as error:
                found.append(Outcome(source.name, names, not before, error=f"{type(error).__name__}: {error}"))
        return found


def part_of(text: str, names: Sequence[str]) -> float:
    """A number between 0 and 1 that only depends on what a program says and on the rewrites."""
    digest = hashlib.sha256("|".join((text, *names)).encode()).hexdigest()
    return int(digest[:8], 16) / 0xFFFFFFFF


def _outcome(source: Source, names: tuple[str, ...], before: Told, after: Told) -> Outcome:
    old, new = _by_rule(before), _by_rule(after)
    false, lost = tuple((new - old).elements()), tuple((old - new).elements())
    rows = {row for _, row in before} | {0}
    return Outcome(source.name, names, not before, false, lost, any(row not in rows for _, row in after))


def _by_rule(told: Told) -> Counter[str]:
    found: Counter[str] = Counter()
    for (rule, _), times in told.items():
        found[rule] += times
    return found


def _compared(job: tuple[Source, int, float, Sequence[str]]) -> list[Outcome]:
    return compared(*job)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--of", default="examples,cases")
    options.add_argument("--deep", type=int, default=1)
    options.add_argument("--share", type=float, default=1.0)
    options.add_argument("--only", default="")
    options.add_argument("--jobs", type=int, default=2)
    options.add_argument("--programs", default="")
    options.add_argument("--json", default="")
    given = options.parse_args()
    found: list[Outcome] = []
    for which in given.of.split(","):
        only = [one for one in REWRITES if given.only and given.only in one]
        jobs = [(one, given.deep, given.share, only) for one in sources(which) if given.programs in one.name]
        with ProcessPoolExecutor(given.jobs) as pool:
            here = [one for each in pool.map(_compared, jobs, chunksize=4) for one in each]
        _report(which, here)
        found += here
    if given.json:
        rows = [vars(one) | {"same": one.same} for one in found if not one.same or one.moved]
        Path(given.json).write_text(json.dumps(rows, indent=0), encoding="utf-8")


def _report(which: str, found: list[Outcome]) -> None:
    by: dict[str, list[Outcome]] = defaultdict(list)
    for one in found:
        for each in one.names:
            by[each].append(one)
    sys.stdout.write(f"\n{which}: good ones silent, bad ones found, bad ones without more\n")
    for title, of in (*sorted(by.items()), ("all", found)):
        good, bad = [one for one in of if one.good], [one for one in of if not one.good]
        shares = (_share(good, "false"), _share(bad, "lost"), _share(bad, "false"))
        sys.stdout.write(f"  {title:30}{'    '.join(shares)}   moved {sum(one.moved for one in of)}\n")
    sys.stdout.flush()


def _share(of: list[Outcome], without: str) -> str:
    fine = sum(not getattr(one, without) and not one.error for one in of)
    return f"{fine:6} of {len(of):6} {100 * fine / len(of) if of else 100:6.2f} %"


if __name__ == "__main__":
    main()
