"""A GradScaler is configured with factors that torch refuses."""

from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.facts import Fact


def _invalid(fact: Fact) -> dict[str, str] | None:
    if not fact.called.endswith("GradScaler") or fact.arguments.get("enabled") is False:
        return None
    first = 1 if fact.called in _WITH_DEVICE else 0
    growth = _number(fact, "growth_factor", first + 1)
    backoff = _number(fact, "backoff_factor", first + 2)
    if growth is not None and growth <= 1:
        return {"why": f"a growth factor of {growth:g} never lets the scale grow"}
    if backoff is not None and backoff >= 1:
        return {"why": f"a backoff factor of {backoff:g} never lets the scale shrink"}
    return None


_WITH_DEVICE = frozenset({"torch.amp.GradScaler", "torch.amp.grad_scaler.GradScaler", "torch.GradScaler"})


def _number(fact: Fact, name: str, position: int) -> float | None:
    value = fact.arguments.get(name, fact.arguments.get(position))
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None

RULE = Rule(
    tier=Tier.ERROR,
    message="{why}: torch raises an AssertionError when the scaler is made",
    advice="a growth factor is greater than 1 (2.0), a backoff factor less than 1 (0.5)",
    find=_invalid,
)
