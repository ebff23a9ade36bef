"""By what comparison a scaler is on, where that is never so in float16: the only precision that needs it.

`enabled=dtype == torch.bfloat16` is on in bfloat16 alone, `enabled=dtype == "float16"` never if `dtype` is one of
torch's. Whoever switches a scaler off by a flag has decided it; whoever compares a dtype wrongly has not.
"""

from __future__ import annotations

from amplint.dialects.public import DTYPES
from amplint.domains.precision import is_dtype
from amplint.protocol.precision import Precision
from amplint.state import truths
from amplint.state.run import Run
from amplint.state.values import Condition, Public, Value, text_of

_NAMES = {
    Precision.BFLOAT16: frozenset({"bf16", "bfloat16", "bf16-mixed"}),
    Precision.FLOAT16: frozenset({"fp16", "float16", "half", "16-mixed"}),
}


def misses_float16(enabled: Value) -> bool:
    """Whether a scaler is switched by a comparison that no run in float16 answers with yes."""
    if not isinstance(enabled, Condition):
        return False
    if enabled.op == "and":
        return any(map(misses_float16, enabled.parts))
    if enabled.op == "or":
        return all(map(misses_float16, enabled.parts))
    if enabled.op in ("!=", "is not"):
        return not _never_equal(enabled) and _named(enabled.parts[1]) is Precision.FLOAT16
    return enabled.op in ("==", "is") and (_never_equal(enabled) or _named(enabled.parts[1]) is Precision.BFLOAT16)


def off_by(run: Run, enabled: Value) -> str:
    """The comparison by which alone a scaler is off in this run, though the run may be one in float16; else empty."""
    if not isinstance(enabled, Condition) or not misses_float16(enabled):
        return ""
    parts = enabled.parts if enabled.op == "and" else (enabled,)
    wrong = next(part for part in parts if isinstance(part, Condition) and misses_float16(part))
    others = [part for part in parts if part is not wrong]
    return _text(wrong) if all(truths.truth(run, part) for part in others) else ""


def _never_equal(asked: Condition) -> bool:
    """Whether a dtype of torch's is compared with a text."""
    return any(isinstance(part, str) for part in asked.parts) and any(map(is_dtype, asked.parts))


def _named(value: Value) -> Precision | None:
    """The precision that a text or a public name names."""
    text = value if isinstance(value, str) else value.name if isinstance(value, Public) else ""
    said = DTYPES.get(text.lower())
    return said if said in _NAMES else next((one for one, names in _NAMES.items() if text.lower() in names), None)


def _text(asked: Condition) -> str:
    return f" {asked.op} ".join(asked.texts or map(text_of, asked.parts))
