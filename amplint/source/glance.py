"""Whether a text can hold a training step at all, told from its words: most that hold a word of training cannot, and
to parse them takes ten times as long. What passes here, `scout` looks at."""

from __future__ import annotations

import re
from collections.abc import Collection

from amplint.dialects import LOSS_ARGUMENTS, LOSS_BASES, OVERRIDES, SEEDS, TABLES

SEEDING = frozenset({"backward", "manual_backward", "zero_grad"}) | SEEDS
"""What makes a training step wherever it is called."""

_SETTINGS = {
    ("cuda.amp", "cuda import amp"): r"\bcuda\.amp\b|\bcuda import amp\b",
    ("bf16",): r"(?s)\b(fp16\w*\s*=\s*True\b.*\bbf|bf16\w*\s*=\s*True\b.*\bfp)16\w*\s*=\s*True\b",
    ("fp16", "bf16"): r"(?s)^(?=.*\bfrom_pretrained\b)(?=.*\bdtype\s*=|.*\btorch_dtype\s*=).*\b(fp|bf)16\s*=\s*True\b",
    ("caler", "CALER"): r"(?i)scaler\w*\.state_dict\b(?!\s*\()",
}
"""What is looked at without a training step, by words of which one occurs there: a spelling of old, two precisions at
once, a precision for a model that was loaded in another, a state that is not asked for."""

_COMPILED = tuple((hints, re.compile(pattern)) for hints, pattern in _SETTINGS.items())

MAKES_OPTIMIZERS = re.compile(r"(?i)(?:build|configure|create|get|init|make|setup|set_up)_?(?:\w*_)?optimi[sz]ers?$")
"""What functions are called that make one, of another file perhaps."""

HELD = re.compile(r"\b\w+\.\w+\.parameters\(\)")


def _called(word: str, unlike: str = "") -> str:
    """A word that is called, not defined. It stands first, for a literal is searched for as fast as memory is."""
    return rf"{word}(?<!\w{word})(?<!def {word})[\s\\]*\({unlike}"


_CALLS = tuple(re.compile(_called(word)) for word in sorted(SEEDING))
_AUTOCAST = re.compile(_called("autocast", r"(?!\s*(?:device_type\s*=|[\"']))"))
"""A region that may have no device; one that has is fine, unless it is of the old spelling."""

_OVERRIDES = re.compile(rf"\b(?:def|class)\s+(?:{'|'.join(sorted(OVERRIDES))})\b")
REPLICATED = "DistributedDataParallel"
"""What stands in a text that wraps a model for several processes, perhaps for functions of another file that train."""
_PARTS = frozenset({"GradScaler", REPLICATED}) | LOSS_ARGUMENTS | LOSS_BASES | TABLES
_PARAMETERS = re.compile(_called("parameters"))
_OPTIMIZER = re.compile(r"\boptim(?:\.[A-Z]\w*\s*\(|,)|\bfrom torch\.optim import\b|\bparams\s*=")
_CALLED_SO = re.compile(r"(?<!def )\b(\w*[oO]ptimi[sz]ers?)\(")
_GONE_OVER = re.compile(r"\bin [\w.]+\.$")
"""What stands before the parameters that a loop goes over, and that are not handed on."""


def may_hold_a_step(text: str, seeds: Collection[str] = ()) -> bool:
    """Whether a text may hold something that `scout` looks for. `seeds`: what else makes a training step.

    A word is looked for before a pattern is: one `in` is a memory search, and most texts hold few of them.
    """
    return (
        any(call.search(text) for call in _CALLS)
        or any(part in text for part in _PARTS)
        or (any(name in text for name in OVERRIDES) and _OVERRIDES.search(text) is not None)
        or _AUTOCAST.search(text) is not None
        or sets_a_precision(text)
        or any(seed in text for seed in seeds)
        or ("clip_grad_norm_" in text and HELD.search(text) is not None)
        or _hands_parameters_on(text)
    )


def sets_a_precision(text: str) -> bool:
    """Whether a text holds a setting that is looked at without a training step."""
    return any(any(hint in text for hint in hints) and found.search(text) for hints, found in _COMPILED)


def _hands_parameters_on(text: str) -> bool:
    """Whether an optimizer may be made, or the parameters of a model handed to something."""
    if "parameters(" in text and _OPTIMIZER.search(text) is not None:
        return True
    if any(MAKES_OPTIMIZERS.match(name) for name in _CALLED_SO.findall(text)):
        return True
    for found in _PARAMETERS.finditer(text):
        begin = text.rfind("\n", 0, found.start()) + 1
        if _GONE_OVER.search(text, begin, found.start()) is None:
            return True
    return False
