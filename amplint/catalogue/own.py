"""What amplint says about files and comments rather than about training: five rules that no example can be run for."""

from __future__ import annotations

from amplint.catalogue.rule import Rule, Tier

FAMILY = "amplint"

_SYNTAX_ERROR = """\
A file that holds words of training cannot be parsed, so nothing in it was checked.

Reported whichever rules are selected, unless it is ignored by its id: a file that was not read is not a clean file.
"""
_UNREADABLE_FILE = """\
A file or folder cannot be read, so nothing in it was checked.

It may not be opened, is not text in the encoding that it declares (UTF-8 without a declaration), holds a NUL byte, or
is larger than 1 MiB. What was found below a folder and holds no words of training is passed over in silence.

Reported whichever rules are selected, unless it is ignored by its id: a file that was not read is not a clean file.
"""
_BUDGET_EXCEEDED = """\
A file holds more functions that train, under more settings, than are run on the model in a few seconds: what is named
was not followed, so that a mistake in it is not told.

Split the file, or name the folders of such files in `exclude`. `amplint loops` follows every function, however long it
takes.
"""
_UNUSED_IGNORE = """\
An ignore comment hides nothing: the mistake that it spoke of is gone, or stands on another line.

A comment speaks for its own line and for the statement that begins or ends there; `ignore-file` speaks for the file.
Rules that a run does not select, and rules that only a run of the program can judge, are not called unused.
"""
_UNKNOWN_IGNORE = """\
An ignore comment names no rule, or is written in a way that nobody reads: it hides nothing.

Right are `# amplint: ignore[clip-before-unscale]`, `# amplint: ignore[clip-before-unscale, missing-step]`,
`# amplint: ignore` for every rule, and `ignore-file` in place of `ignore`. A reason may follow after ` -- `.
`# noqa` is not obeyed: other linters take the name of a rule in it for something else.
"""


def _rule(name: str, tier: Tier, message: str, advice: str, page: str) -> Rule:
    return Rule(tier, message, advice, id=name, family=FAMILY, page=page)


OWN = {
    rule.id: rule
    for rule in (
        _rule("syntax-error", Tier.ERROR, "the file cannot be parsed", "nothing in it was checked", _SYNTAX_ERROR),
        _rule("unreadable-file", Tier.ERROR, "the file cannot be read", "nothing in it was checked", _UNREADABLE_FILE),
        _rule("budget-exceeded", Tier.WARNING, "the file takes too long", "split it, or exclude it", _BUDGET_EXCEEDED),
        _rule("unused-ignore", Tier.WARNING, "an ignore hides nothing", "remove it", _UNUSED_IGNORE),
        _rule("unknown-ignore", Tier.WARNING, "no such rule to ignore", "name an existing rule", _UNKNOWN_IGNORE),
    )
}
