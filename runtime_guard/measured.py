"""What was measured, told: for the JSON report, for the summary in the terminal, and as curves."""

from __future__ import annotations

from collections import Counter
from math import isclose
from typing import Any

from amplint.protocol.ledger import LEAST_SCALE
from runtime_guard.figures import Figure
from runtime_guard.normalization import Normalization
from runtime_guard.scales import ScaleAccount
from runtime_guard.windows import Account

_SUMS = {
    "graph": "weight_sum_by_graph",
    "arithmetic": "weight_sum_by_arithmetic",
    "ledger": "multiplier_by_ledger",
}


def as_json(measured: Normalization) -> dict[str, Any]:
    """`windows`, `optimizers`, `scalers` and `not_covered` of the report."""
    accounts = measured.opened
    lengths: Counter[int] = sum((account.lengths for account in accounts), Counter())
    return {
        "windows": {
            "count": sum(lengths.values()),
            "micro_steps": {str(length): count for length, count in sorted(lengths.items())},
            "effective_lr_multiplier": _multiplier(accounts),
        },
        "optimizers": [_of_account(account) for account in accounts],
        "scalers": [scale.as_json() for scale in measured.scales.opened],
        "not_covered": not_covered(measured),
    }


def not_covered(measured: Normalization) -> list[str]:
    """What could not be measured, and why."""
    lost = [f"{measured.lost} windows whose numbers did not reach the host in time"] if measured.lost else []
    return [*measured.not_covered, *lost]


def summary(measured: Normalization) -> list[str]:
    """What was confirmed, a line for each optimizer and scaler."""
    opened = sorted(measured.opened, key=lambda account: int(account.name.rpartition("#")[2]))
    lines = [_line(account) for account in opened if account.lengths]
    return [*lines, *(_scale_line(scale) for scale in measured.scales.opened if scale.steps)]


def even(measured: Normalization) -> bool:
    """Whether the losses of each optimizer had the same weight in all its windows, as far as it is known."""
    found = [account.figures.get(_SUMS["graph"], Figure()) for account in measured.opened if account.lengths]
    return all(figure.high - figure.low <= 1e-2 * abs(figure.high) for figure in found if figure.count)


def stepped(measured: Normalization, low: float, high: float) -> list[str]:
    """How large the gradient was that was stepped, where it was looked at apart and is another one than the weights of
    the losses, between `low` and `high`, let expect."""
    apart = [account for account in measured.opened if account.ledger.gathering is not None]
    found = [account.figures[_SUMS["ledger"]] for account in apart if _SUMS["ledger"] in account.figures]
    other = [figure for figure in found if figure.count and not 0.99 * low <= figure.low <= figure.high <= 1.01 * high]
    return [f"stepped with {_range(figure)} times the gradient of the equivalent batch" for figure in other]


def series(measured: Normalization) -> dict[str, list[tuple[int, float]]]:
    """The curves, each by its name: points of (window or update, value)."""
    found = {
        f"{account.name}/{name}": curve.points for account in measured.opened for name, curve in account.curves.items()
    }
    for scale in measured.scales.opened:
        found[f"{scale.name}/loss_scale"] = scale.curve.points
        found[f"{scale.name}/skipped_steps"] = scale.skips.points
    return {name: points for name, points in sorted(found.items()) if points}


def _multiplier(accounts: list[Account]) -> float | None:
    """The multiplier that the first optimizer with windows really got, else what the graph says: of gradients that were
    clipped, or that come of several losses, the ledger says something else."""
    for account in accounts:
        clipped = account.several or "clip" in account.touches
        for name in list(_SUMS.values())[:2] if clipped else list(_SUMS.values())[::-1]:
            if account.figures.get(name, Figure()).last is not None:
                return account.figures[name].last
    return None


def _of_account(account: Account) -> dict[str, Any]:
    figures = {name: figure.as_json() for name, figure in account.figures.items()}
    return {
        "name": account.name,
        "windows": sum(account.lengths.values()),
        "skipped": account.skipped,
        "weight_sum": {witness: figures.get(name) for witness, name in _SUMS.items()},
        "token_weight_spread": figures.get("token_weight_spread"),
        "gradient_error": figures.get("gradient_error"),
        "gradient_norm": figures.get("gradient_norm"),
        "touches": [{"what": what, **(figure.as_json() or {})} for what, figure in account.touches.items()],
    }


def _line(account: Account) -> str:
    windows = sum(account.lengths.values())
    lengths = " or ".join(str(length) for length in sorted(account.lengths))
    parts = [f"{account.name}: {windows} window{'s'[: windows != 1]} of {lengths} micro-step{'s'[: lengths != '1']}"]
    parts += [weight] if (weight := _weight(account, windows)) else []
    spread = account.figures.get("token_weight_spread")
    if spread is not None and spread.count:
        parts.append(f"heaviest token / lightest {_range(spread)}")
    parts += [stepped] if (stepped := _stepped(account, windows)) else []
    if account.skipped:
        parts.append(f"{account.skipped} step{'s'[: account.skipped != 1]} skipped by the scaler")
    return "; ".join(parts)


def _weight(account: Account, windows: int) -> str:
    """What the losses were multiplied by on their way to `backward()`: by the graph, and by the numbers of the code
    where these say something else."""
    graph, reckoned = (account.figures.get(_SUMS[witness], Figure()) for witness in ("graph", "arithmetic"))
    if not graph.count and not reckoned.count:
        return ""
    shown = graph if graph.count else reckoned
    told = f"weight {_range(shown)}{_sampled(shown, windows)}"
    if shown.low >= LEAST_SCALE:
        told += ", a loss scale by hand in it"
    if graph.count and reckoned.count and not _alike(graph, reckoned):
        told += f" by the graph, {_range(reckoned)} by the numbers that the code multiplies and divides by"
    return told


def _stepped(account: Account, windows: int) -> str:
    """What the gradient that was stepped is, of that of the equivalent batch; and what has multiplied it meanwhile."""
    ledger, graph = account.figures.get(_SUMS["ledger"], Figure()), account.figures.get(_SUMS["graph"], Figure())
    touched = [
        f"{what} multiplied the gradient by {_range(figure)}"
        for what, figure in account.touches.items()
        if what != "unscale"
    ]
    if not ledger.count or account.several:
        return "; ".join(touched)
    seen = _sampled(ledger, windows)
    if graph.count and _alike(ledger, graph):
        return "; ".join([f"stepped with the gradient of that weight{seen}", *touched])
    told = f"stepped with {_range(ledger)} times the gradient of the equivalent batch{seen}"
    return "; ".join([told, *touched])


def _alike(one: Figure, other: Figure) -> bool:
    return isclose(one.low, other.low, rel_tol=1e-2) and isclose(one.high, other.high, rel_tol=1e-2)


def _sampled(figure: Figure, windows: int) -> str:
    """In how many of the windows it was measured, where not in all."""
    return f" (in {figure.count} of them)" if figure.count < windows else ""


def _scale_line(scale: ScaleAccount) -> str:
    bounds = f", scale {_range(scale.figure)}" if scale.figure.count else ""
    return f"{scale.name}: {scale.steps} steps, {scale.skipped} skipped{bounds}"


def _range(figure: Figure) -> str:
    low, high = _short(figure.low), _short(figure.high)
    return low if low == high else f"{low} to {high}"


def _short(value: float) -> str:
    """Three decimals where a weight is near one, three digits elsewhere."""
    return f"{value:.3f}" if 0.0995 <= abs(value) < 100 else f"{value:.3g}"
