"""Comments that speak to amplint: what they hide, and what they hide in vain.

    loss.backward()  # amplint: ignore[missing-loss-division]    this line, or the statement it begins or ends
    loss.backward()  # amplint: ignore                           every rule
    loss.backward()  # amplint: ignore[accumulation]             every rule of a family
    # amplint: ignore-file[missing-loss-division]                the whole file; ignore-file alone hides all rules

A reason may follow after ` -- `, and what is for other tools stand before or after a `;`. A statement here is what
Python's tokenizer calls a logical line: the header of a `with` is one, its body another. Findings are judged before any
rule is selected, so that an ignore counts as used whichever rules a run asks for.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import lru_cache

from amplint.findings import Finding, Place, Severity

UNUSED, UNKNOWN = "unused-ignore", "unknown-ignore"

_SPOKEN = re.compile(r"(?:(?:^|(?<=\s))#|;)\s*amplint:\s*(?P<text>.*)$")
_NOQA = re.compile(r"#\s*noqa\s*:(?P<names>[^#]*)", re.IGNORECASE)
_ID = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)+")
_IGNORE = re.compile(r"(?P<verb>ignore-file|ignore)\s*(?:\[(?P<rules>[^\]]*)\](?=\s|$|;)|(?=$|--|#|;))")


@dataclass(frozen=True)
class Ignore:
    """One comment: the rules that it names (None: all), where each is written, and the rows that it speaks for.

    `rows` is None for the whole file. `place` is the comment from `amplint:` on.
    """

    place: Place
    rules: tuple[tuple[str, Place], ...] | None
    rows: frozenset[int] | None
    text: str

    def names(self, rule: str, family: str | None) -> bool:
        """Whether the comment speaks of a rule, or of its family."""
        return self.rules is None or any(name in (rule, family) for name, _ in self.rules)


@dataclass(frozen=True)
class Comments:
    """All that the comments of one file say: the ignores, what could not be understood as one, and the names that
    `# noqa` comments give, which other linters misread and amplint does not obey.
    """

    ignores: tuple[Ignore, ...] = ()
    unclear: tuple[tuple[Place, str], ...] = ()
    foreign: tuple[tuple[Place, tuple[str, ...]], ...] = ()


def comments_of(text: str) -> Comments:
    """The comments that speak to amplint. Where the text is no longer Python, those before that point."""
    found: list[tuple[int, int, str]] = []
    statements: dict[int, range] = {}  # by first and by last row
    for kind, row, column, value in _tokens(text):
        if kind == "comment":
            found.append((row, column, value))
        else:
            statements[row] = statements[column] = range(row, column + 1)
    ignores: list[Ignore] = []
    unclear: list[tuple[Place, str]] = []
    foreign: list[tuple[Place, tuple[str, ...]]] = []
    for row, column, comment in found:
        if noqa := _NOQA.search(comment):
            place = Place(row, column + noqa.start(), row, column + len(comment.rstrip()))
            foreign.append((place, tuple(_ID.findall(noqa["names"]))))
        for spoken in _SPOKEN.finditer(comment):
            place = Place(row, column + spoken.start(), row, column + len(comment.rstrip()))
            ignore = _ignore(place, spoken["text"], column + spoken.start("text"), statements)
            if isinstance(ignore, Ignore):
                ignores.append(ignore)
            else:
                unclear.append((place, ignore))
    return Comments(tuple(ignores), tuple(unclear), tuple(foreign))


def statements_of(text: str) -> list[range]:
    """The rows of each statement (a logical line), in order. Where the text is no longer Python, those before that."""
    return [range(row, last + 1) for kind, row, last, _ in _tokens(text) if kind == "statement"]


@lru_cache(maxsize=4)
def _tokens(text: str) -> tuple[tuple[str, int, int, str], ...]:
    """Comments with row and column, statements with first and last row; columns count from 1."""
    return tuple(_read(text))


def _read(text: str) -> Iterator[tuple[str, int, int, str]]:
    import tokenize

    first: int | None = None
    lines = re.split(r"(?<=\n)|(?<=\r)(?!\n)", text)
    try:
        for token in tokenize.generate_tokens(iter([*lines, ""]).__next__):
            if token.type == tokenize.COMMENT:
                yield "comment", token.start[0], token.start[1] + 1, token.string
            elif token.type == tokenize.NEWLINE and first is not None:
                yield "statement", first, token.end[0], ""
                first = None
            elif first is None and token.type not in (tokenize.NL, tokenize.INDENT, tokenize.DEDENT):
                first = token.start[0]
    except (tokenize.TokenError, SyntaxError, StopIteration):
        return


def _ignore(place: Place, text: str, column: int, statements: dict[int, range]) -> Ignore | str:
    """The ignore that a comment spells, or what is wrong with it."""
    found = _IGNORE.match(text)
    if not found:
        return "write `# amplint: ignore[rule-id]` or `# amplint: ignore`; a reason may follow after ` -- `"
    rules = None
    if found["rules"] is not None:
        start = column + found.start("rules")
        rules = tuple(
            (rule[0], Place(place.row, start + rule.start(), place.row, start + rule.end()))
            for rule in re.finditer(r"[^\s,]+(?: +[^\s,]+)*", found["rules"])
        )
        if not rules:
            return "the brackets name no rule; write `# amplint: ignore` to ignore all of them"
    own = statements.get(place.row, range(place.row, place.row + 1))
    rows = None if found["verb"] == "ignore-file" else frozenset(own)
    return Ignore(place, rules, rows, found.group().strip())


def without_ignored(
    findings: Collection[Finding], comments: Comments, filename: str, known: Mapping[str, str], judged: Collection[str]
) -> list[Finding]:
    """The findings that no comment hides, and those about comments that hide nothing or name an unknown rule.

    `known` are all rule ids, each with its family; `judged` are those that would have been found here if they had
    something to say, so that an ignore of one can be called unused: none of them in a file that could not be parsed.
    """
    own = {UNUSED, UNKNOWN}
    named = [ignore for ignore in comments.ignores if ignore.rules is not None]
    kept, used = _sifted(findings, comments.ignores, known)
    about = [
        *_unknown(comments, filename, known),
        *(_idle(comments.ignores, used, filename) if set(judged) - own else ()),
        *_idle_names(named, used, filename, set(judged) - own, known),
    ]
    # Only an ignore that names the rule can hide a finding about an ignore; else each would hide its own.
    visible, used = _sifted(about, named, known)
    return [*kept, *visible, *_idle_names(named, used, filename, own & set(judged), {})]


Used = set[tuple[Place, str]]  # an ignore, and a rule that it hides, or the family of one


def _sifted(
    findings: Iterable[Finding], ignores: Iterable[Ignore], families: Mapping[str, str]
) -> tuple[list[Finding], Used]:
    """The findings that no ignore hides, and what the ignores were used for."""
    speaking: dict[int | None, list[Ignore]] = {}
    for ignore in ignores:
        for row in (None,) if ignore.rows is None else ignore.rows:
            speaking.setdefault(row, []).append(ignore)
    kept: list[Finding] = []
    used: Used = set()
    for finding in findings:
        here = [*speaking.get(finding.place.row, ()), *speaking.get(None, ())]
        family = families.get(finding.code)
        hiding = [ignore.place for ignore in here if ignore.names(finding.code, family)]
        used.update((place, name) for place in hiding for name in (finding.code, family or finding.code))
        if not hiding:
            kept.append(finding)
    return kept, used


def _idle(ignores: Iterable[Ignore], used: Used, filename: str) -> Iterator[Finding]:
    """Ignores of every rule, where no rule speaks."""
    busy = {place for place, _ in used}
    for ignore in ignores:
        if ignore.rules is None and ignore.place not in busy:
            yield _about(filename, ignore.place, UNUSED, f"`# amplint: {ignore.text}` hides nothing", "remove it")


def _idle_names(
    ignores: Iterable[Ignore], used: Used, filename: str, judged: Collection[str], families: Mapping[str, str]
) -> Iterator[Finding]:
    """Names of judged rules in ignores, or of their families, where no such rule speaks."""
    looked_for = {families[rule] for rule in judged if rule in families}
    for ignore in ignores:
        for name, place in ignore.rules or ():
            if (name in judged or name in looked_for) and (ignore.place, name) not in used:
                who = f"{name} does not speak" if name in judged else f"no rule of {name} speaks"
                message = f"`# amplint: {ignore.text}` hides nothing: {who} here"
                yield _about(filename, place, UNUSED, message, "remove it")


def _unknown(comments: Comments, filename: str, known: Mapping[str, str]) -> Iterable[Finding]:
    for place, why in comments.unclear:
        yield _about(filename, place, UNKNOWN, "this comment is not understood, and hides nothing", why)
    for place, names in comments.foreign:
        if meant := [name for name in names if name in known]:
            why = f"`# noqa` hides nothing of amplint's, and other linters misread `{meant[0]}` in it"
            yield _about(filename, place, UNKNOWN, why, f"write `# amplint: ignore[{', '.join(meant)}]`")
    for ignore in comments.ignores:
        for rule, place in ignore.rules or ():
            if rule not in known and rule not in known.values():
                near = get_close_matches(rule, [*known, *set(known.values())], 1)
                advice = f"did you mean `{near[0]}`?" if near else "`amplint rule` lists the rules"
                yield _about(filename, place, UNKNOWN, f"no rule is called `{rule}`", advice)


def _about(filename: str, place: Place, code: str, message: str, advice: str) -> Finding:
    return Finding(filename, place, code, Severity.WARNING, message, advice)
