"""Examples: fenced blocks on a rule's page (and in tests/cases/*.md), set on a stage and run by both halves.

    ```python bad
    ...  # expect: clip-before-unscale
    ```

The expectation stands on the line that a finding points at: `# expect: <id>` (several ids apart by commas),
`# missed: <id>` for a known gap (strict: once it is found, the mark must go). A line without a mark is a promise that
no rule speaks there. Words after `python`: `bad` or `good`; `static-only` for what cannot be run, `live-only` for what
only numbers that are measured in a run show, `whole` for a complete file that brings its own stage, `opt-in` where
the opt-in rules are asked too, as they are by a mark. Anything after
` -- ` is the reason, and is for people.

A whole file whose functions are handed everything ends with `# run: train(model, loader, accum_steps)`: the linter
reads a comment, and a run puts the stage before the file and the call behind it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

STAGE = """\
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import clip_grad_norm_, clip_grad_value_
torch.manual_seed(0)
model = nn.Linear(4, 3)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda update: 0.99**update)
loader = [(torch.randn(8, 4), torch.randint(3, (8,))) for _ in range(8)]  # two windows of four
accum_steps = 4
epochs = 2
"""  # the names that examples may use; never shown on a page

_SCHEDULER = re.compile(r"(?<![\w.-])scheduler(?![\w-])")
_FENCE = re.compile(r"^(?P<margin> *)```python(?P<head>[^\n]*)\n(?P<body>.*?)^(?P=margin)```$", re.M | re.S)
_WORDS = frozenset({"bad", "good", "static-only", "live-only", "whole", "opt-in"})
_CALL = re.compile(r"^# run: (.+)\n", re.M)
_MARK = re.compile(r"# (expect|missed): ([\w-]+(?:, *[\w-]+)*)")


@dataclass(frozen=True)
class Example:
    """One block: the source as it is run (stage included), where it stands, and what is expected of it."""

    source: str
    words: frozenset[str]
    reason: str
    row: int
    stage_rows: int

    @property
    def bad(self) -> bool:
        """Whether the example shows a mistake."""
        return "bad" in self.words

    @property
    def live(self) -> bool:
        """Whether the example can be executed."""
        return "static-only" not in self.words and ("whole" not in self.words or bool(_CALL.search(self.source)))

    @property
    def program(self) -> Example:
        """The example as it is executed: a whole file is set on the stage, and called as its last line says."""
        if "whole" not in self.words:
            return self
        stage = _stage("".join(_CALL.findall(self.source)))
        rows = stage.count("\n")
        return replace(self, source=stage + _CALL.sub(r"\1\n", self.source), stage_rows=rows)

    def marked(self, mark: str) -> set[tuple[str, int]]:
        """(rule id, row of `source`) of every mark of one kind, `expect` or `missed`."""
        return {
            (rule.strip(), row)
            for row, line in enumerate(self.source.splitlines(), 1)
            for kind, rules in _MARK.findall(line)
            for rule in rules.split(",")
            if kind == mark
        }


def examples(page: str) -> Iterator[Example]:
    """Every example of a page, in order. Raises ValueError for a word that nobody reads."""
    for found in _FENCE.finditer(page):
        head, _, reason = found["head"].partition(" -- ")
        words = frozenset(head.split())
        if unknown := words - _WORDS:
            raise ValueError(f"unknown word in ```python{found['head']}: {', '.join(sorted(unknown))}")
        margin = len(found["margin"])
        body = "".join(line[margin:] for line in found["body"].splitlines(keepends=True))
        stage = "" if "whole" in words else _stage(body)
        row = page.count("\n", 0, found.start("body")) + 1
        yield Example(stage + body, words, reason.strip(), row, stage.count("\n"))


def _stage(body: str) -> str:
    """The stage of a block; without the scheduler where nothing steps it, which would be a mistake."""
    lines = STAGE.splitlines(keepends=True)
    return "".join(line for line in lines if _SCHEDULER.search(body) or not _SCHEDULER.match(line))
