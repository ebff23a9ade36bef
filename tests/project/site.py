"""The documentation site: what is written in `docs/`, and what is made from the code whenever the site is built.

MkDocs calls the functions `on_...` (https://www.mkdocs.org/dev-guide/plugins/#events); tests call the rest.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from typing import Any

from amplint import toml
from amplint.catalogue.pages import page, unfilled
from amplint.catalogue.rule import Rule
from amplint.catalogue.table import summary
from amplint.keys import KEYS
from amplint.selection import found_by_reading, known_rules
from tests.project.generated import ROOT, SECTIONS

DOCS = ROOT / "docs"
GENERATED = re.compile(r"^<!-- generated: ([\w-]+) -->$", re.M)
_NAME = re.compile(r"(?<![\[`])`([a-z0-9]+(?:-[a-z0-9]+)+)`(?!`)")
_BENCHMARKS = ROOT / "benchmarks"
_COPIED = {
    "changelog.md": ROOT / "CHANGELOG.md",
    "benchmarks.md": _BENCHMARKS / "README.md",
    "first-sight.md": _BENCHMARKS / "first-sight.md",
}


def configuration_keys() -> str:
    """What the configuration takes, key by key."""
    rows = [f"| `{name}` | {key.about} | `{name} = {key.example}` |" for name, key in KEYS.items()]
    return "\n".join(["| key | what it does | for example |", "|---|---|---|", *rows])


PARTS = {**SECTIONS, "keys": configuration_keys}
"""What stands at `<!-- generated: ... -->` in a page."""


def families() -> dict[str, list[Rule]]:
    """All rules, by family."""
    found: dict[str, list[Rule]] = {}
    for rule in known_rules().values():
        found.setdefault(rule.family, []).append(rule)
    return found


def pages() -> dict[str, str]:
    """The pages that are made from the code, by their place in the site."""
    rules = {f"rules/{rule.id}.md": rule_page(rule) for rule in known_rules().values()}
    copied = {name: file.read_text(encoding="utf-8") for name, file in _COPIED.items()}
    return {"rules/index.md": rules_page(), **rules, **copied}


def rules_page() -> str:
    """The table of rules, family by family."""
    told = (DOCS / "_rules.md").read_text(encoding="utf-8")
    return told + "".join(_family(name, rules) for name, rules in families().items())


def _family(name: str, rules: list[Rule]) -> str:
    rows = "".join(f"| `{rule.id}` | {_tier(rule)} | {_cell(summary(rule.page))} |\n" for rule in rules)
    return f"\n## {name}\n\n| rule | tier | what happens |\n|---|---|---|\n{rows}"


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _tier(rule: Rule) -> str:
    return f"opt-in; {rule.tier.value} in a run" if rule.noisy_unrun else rule.tier.value


def rule_page(rule: Rule) -> str:
    """A rule's page as `amplint rule` tells it, with what it says in a terminal and who can say it."""
    text = page(rule, "markdown").rstrip()
    reads = rule.id in found_by_reading()
    runs = bool(rule.when or rule.observe)
    who = {(True, True): "The linter and the guard", (True, False): "The linter"}.get((reads, runs), "The guard")
    told = f"> {unfilled(rule.message)}\n>\n> *help:* {unfilled(rule.advice)}\n" if rule.message else ""
    silence = f"`amplint rule {rule.id}` tells this page; `# amplint: ignore[{rule.id}]` silences it at a line."
    return f"{text}\n\n## What is told\n\n{told}\n{who} can tell it. {silence}\n"


def filled(text: str) -> str:
    """A page with what is generated in it."""
    return GENERATED.sub(lambda found: PARTS[found[1]](), text)


def linked(text: str, at: str) -> str:
    """A page in which the names of rules lead to their pages; in code, headings and links they stay as they are."""
    fenced, lines = False, []
    for line in text.splitlines():
        fenced ^= line.lstrip().startswith("```")
        lines.append(line if fenced or line.startswith("#") else _NAME.sub(lambda found: _link(found, at), line))
    return "\n".join(lines) + "\n"


def _link(found: re.Match[str], at: str) -> str:
    target = f"rules/{found[1]}.md"
    if found[1] not in known_rules() or target == at:
        return found[0]
    return f"[{found[0]}]({posixpath.relpath(target, posixpath.dirname(at) or '.')})"


def address() -> str:
    """Where the site is, as pyproject.toml says; empty as long as it says nothing."""
    project = toml.table((ROOT / "pyproject.toml").read_bytes())["project"]
    return str(project.get("urls", {}).get("Documentation", ""))


def _navigation() -> Iterator[Any]:
    yield "rules/index.md"
    for name, rules in families().items():
        yield {name: [{rule.id: f"rules/{rule.id}.md"} for rule in rules]}


# --- what MkDocs asks for --------------------------------------------------------------------------------------------


def on_config(config: Any) -> Any:
    """The address, and the rules in the navigation."""
    config.site_url = address() or None
    config.nav = [{"Rules": list(_navigation())} if one == {"Rules": "rules/index.md"} else one for one in config.nav]
    return config


def on_files(files: Any, config: Any) -> Any:
    """The pages that are made from the code."""
    from mkdocs.structure.files import File

    for place, text in pages().items():
        files.append(File.generated(config, place, content=text))
    return files


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """What is generated in a page, and its links to rules."""
    return linked(filled(markdown), page.file.src_uri)
