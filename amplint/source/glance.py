"""Whether a text can hold a training step at all, told from its words: most that hold a word of training cannot, and
to parse them takes ten times as long. What passes here, `scout` looks at."""

from __future__ import annotations

import re
from collections.abc import Collection

from amplint.dialects import LOSS_BASES, OVERRIDES, SEEDS

SEEDING = frozenset({"backward", "manual_backward", "zero_grad"}) | SEEDS
"""What makes a training step wherever it is called."""

SETTINGS = tuple(
    map(
        re.compile,
        (
            r"\bcuda\.amp\b|\bcuda import amp\b",
            r"(?s)\b(fp16\w*\s*=\s*True\b.*\bbf|bf16\w*\s*=\s*True\b.*\bfp)16\w*\s*=\s*True\b",
            r"(?s)^(?=.*\bfrom_pretrained\b)(?=.*\bdtype\s*=|.*\btorch_dtype\s*=).*\b(fp|bf)16\s*=\s*True\b",
            r"(?i)scaler\w*\.state_dict\b(?!\s*\()",
        ),
    )
)
"""What is looked at without a training step: a spelling of old, two precisions at once, a precision for a model that
was loaded in another, a state that is not asked for."""

HELD = re.compile(r"\b\w+\.\w+\.parameters\(\)")

_OPENS = r"[\s\\]*\("
_CALLS = re.compile(
    rf"(?<!def )\b(?:{'|'.join(sorted(SEEDING))}){_OPENS}|GradScaler|{'|'.join(sorted(LOSS_BASES))}"
    rf"|\b(?:def|class)\s+(?:{'|'.join(sorted(OVERRIDES))})\b"
)
_AUTOCAST = re.compile(rf"\bautocast{_OPENS}(?!\s*(?:device_type\s*=|[\"']))")
"""A region that may have no device; one that has is fine, unless it is of the old spelling."""

_PARAMETERS = re.compile(rf"\bparameters{_OPENS}")
_GONE_OVER = re.compile(r"(?:\bin [\w.]+\.|\bdef )$")
"""What stands before the parameters of a loop, and before the definition of such a method: neither is handed on."""


def may_hold_a_step(text: str, seeds: Collection[str] = ()) -> bool:
    """Whether a text may hold something that `scout` looks for. `seeds`: what else makes a training step."""
    return (
        any(found.search(text) for found in (_CALLS, _AUTOCAST, *SETTINGS))
        or any(seed in text for seed in seeds)
        or ("clip_grad_norm_" in text and HELD.search(text) is not None)
        or _hands_parameters_on(text)
    )


def _hands_parameters_on(text: str) -> bool:
    """Whether the parameters of a model may be handed to something: an optimizer, perhaps."""
    for found in _PARAMETERS.finditer(text):
        begin = text.rfind("\n", 0, found.start()) + 1
        if _GONE_OVER.search(text, begin, found.start()) is None:
            return True
    return False
