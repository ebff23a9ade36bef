"""What is made from the code: parts of the README and files, which `python -m tests.project.generated` writes anew, and
parts of the documentation site, which are made whenever it is built."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

from amplint.protocol.diagram import diagram

ROOT = Path(__file__).parents[2]
README = ROOT / "README.md"
COMMAND = "python -m tests.project.generated"
EXAMPLE = "tests/example/train.py"


def rules() -> str:
    """The table of rules, family by family."""
    from amplint.catalogue import RULES
    from amplint.catalogue.table import table

    return table(RULES.values())


def frameworks() -> str:
    """Who does what in a training step, framework by framework."""
    from amplint.dialects import DIALECTS
    from amplint.dialects.account import table

    return table(account for dialect in DIALECTS for account in dialect.accounts)


def output(*options: str) -> str:
    """What the command line prints about the bundled example, as a fenced block."""
    command = [sys.executable, "-m", "amplint", "check", "--isolated", *options, EXAMPLE]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 1, done.stderr
    assert done.stdout, done.stderr
    words = " ".join(["amplint", *options, EXAMPLE])
    return f"```console\n$ {words}\n{done.stdout.rstrip()}\n```"


def finding() -> str:
    """One finding of it."""
    return output("--select", "clip-before-unscale")


def picture(part: str) -> Callable[[], str]:
    """A fenced mermaid diagram of one part of the ledger."""
    return lambda: f"```mermaid\n{diagram(part)}\n```"


def measured() -> str:
    """What the last rounds on code that was never shown have measured."""
    from benchmarks import first_sight

    told = first_sight.latest(first_sight.read()["rounds"]).rstrip()
    return "\n".join(textwrap.wrap(told, 120, break_long_words=False, break_on_hyphens=False))


README_SECTIONS: dict[str, Callable[[], str]] = {"finding": finding, "measured": measured}
"""What is generated in the README."""
SECTIONS: dict[str, Callable[[], str]] = {
    **README_SECTIONS,
    "output": output,
    "rules": rules,
    "frameworks": frameworks,
    "grads": picture("grads"),
    "stage": picture("stage"),
}


def _marked(name: str) -> re.Pattern[str]:
    return re.compile(rf"(<!-- generated: {name} -->\n).*?(\n<!-- end: {name} -->)", re.S)


def replaced(text: str, name: str, content: str) -> str:
    """The text with one marked section replaced. Raises ValueError unless the section stands there exactly once."""
    pattern = _marked(name)
    if len(pattern.findall(text)) != 1:
        raise ValueError(f"the markers of {name!r} do not stand in the text exactly once")
    return pattern.sub(lambda found: f"{found[1]}{content}{found[2]}", text)


def schema() -> str:
    """The JSON Schema of the configuration."""
    from amplint.schema import as_json

    return as_json()


def first_sight() -> str:
    """How often the linter is right, and how much it finds, in code that it has never been shown."""
    from benchmarks import first_sight

    return first_sight.page(first_sight.read())


FILES: dict[str, Callable[[], str]] = {"amplint.schema.json": schema, "benchmarks/first-sight.md": first_sight}


def main() -> None:
    """Write every generated file, and every generated section of the README, anew."""
    for name, make in FILES.items():
        (ROOT / name).write_text(make(), encoding="utf-8")
    text = README.read_text(encoding="utf-8")
    for name, make in README_SECTIONS.items():
        text = replaced(text, name, make())
    README.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
