"""Questions about what several ranks know of the windows of one optimizer, whose gradients are averaged over them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isclose

from amplint.protocol.events import Event, Kind
from amplint.protocol.ranks import SET_LATE, Wrapper
from amplint.protocol.readings import RankFacts, RanksReading, TokenShare
from amplint.protocol.state import Moment

_UNEVEN = 1.05
_FAR_FROM_EVEN = 2.0


def boundary_words(moment: Moment) -> dict[str, str]:
    """By what the last backward of a window is kept from reducing, and what the ranks see of the window."""
    own = "the gradients of the window's last micro-step stay on their rank"
    if _set_late(moment.last.get(Kind.BACKWARD)):
        return {"held": f"{_LATE}: {own}", "result": _APART, "cure": _EARLIER}
    sharing = moment.ledger.sharing
    seen = "no rank ever sees the gradients of the others" if sharing.alone else own
    if sharing.wrapper is Wrapper.BY_PARAMETER:
        held = "the last backward before the step runs after `set_requires_gradient_sync(False)`"
        return {"held": f"{held}: {seen}", "result": _WITHOUT, "cure": _SWITCHED}
    result = _WITHOUT if sharing.wrapper is Wrapper.SHARDED else _APART
    return {"held": f"the last backward before the step runs in `no_sync`: {seen}", "result": result, "cure": _OUTSIDE}


def outside_words(moment: Moment) -> dict[str, str]:
    """What was set after the forward that a backward belongs to, and how to set it in time."""
    reduced = "all-reduces the gradients of this micro-step all the same"
    if _set_late(moment.event):
        return {"held": f"{_LATE}: DistributedDataParallel {reduced}", "cure": _EARLIER}
    decided = f"DistributedDataParallel has already decided, and {reduced}"
    return {
        "held": f"the backward runs in `no_sync`, but the forward did not: {decided}",
        "cure": "begin the `no_sync` block before the forward",
    }


_LATE = (
    "`require_backward_grad_sync` is set after the forward, which reads it, and each micro-step obeys the value of the "
    "one before"
)
_APART = "the copies of the model drift apart"
_WITHOUT = "the step is made without them"
_SWITCHED = "call `set_requires_gradient_sync(True)` before the backward of the micro-step that completes the window"
_EARLIER = "set it before the forward"
_OUTSIDE = "run forward and backward of the micro-step that completes the window outside of `no_sync`"


def _set_late(backward: Event | None) -> bool:
    return backward is not None and SET_LATE in backward.detail


def _ranks(moment: Moment) -> tuple[RankFacts, ...]:
    reading = moment.event.reading
    return reading.ranks if isinstance(reading, RanksReading) and len(reading.ranks) > 1 else ()


def disagreement(moment: Moment) -> dict[str, str] | None:
    """In what the ranks differ first: the length of a window, a skipped step, the number of windows, or what they have
    in the end."""
    ranks = _ranks(moment)
    if not ranks:
        return None
    return _of_lengths(ranks) or _of_skips(ranks) or _of_counts(ranks) or _of_replicas(ranks)


def _of_lengths(ranks: tuple[RankFacts, ...]) -> dict[str, str] | None:
    at = _first_difference([facts.lengths for facts in ranks])
    if at is None:
        return None
    told = _by_rank(ranks, [f"{facts.lengths[at]} micro-steps" for facts in ranks])
    return {"what": f"window {at + 1} holds {told}", "remedy": "gate the step by something that all ranks share"}


def _of_skips(ranks: tuple[RankFacts, ...]) -> dict[str, str] | None:
    at = _first_difference([facts.skips for facts in ranks])
    if at is None:
        return None
    told = _by_rank(ranks, ["skipped" if facts.skips[at] else "taken" for facts in ranks])
    remedy = "let the ranks agree on what overflows: step gradients that are all-reduced, or use ShardedGradScaler"
    return {"what": f"step {at + 1} through the scaler is {told}", "remedy": remedy}


def _of_counts(ranks: tuple[RankFacts, ...]) -> dict[str, str] | None:
    counts = [str(len(facts.lengths)) for facts in ranks]
    if len(set(counts)) == 1 or not all(facts.whole for facts in ranks):
        return None
    told = _by_rank(ranks, counts)
    return {"what": f"the number of windows is {told}", "remedy": "give every rank the same number of batches"}


def _of_replicas(ranks: tuple[RankFacts, ...]) -> dict[str, str] | None:
    copies = [facts.replica for facts in ranks]
    if None in copies or len(set(copies)) == 1 or not all(facts.whole for facts in ranks):
        return None
    other = next(facts for facts in ranks if facts.replica != copies[0])
    what = f"in the end the parameters of rank {ranks[0].rank} are not those of rank {other.rank}"
    return {"what": what, "remedy": "look for what one rank does alone: a step, a clip, a reduction that is left out"}


def _first_difference(found: Sequence[Sequence[object]]) -> int | None:
    """Where sequences differ first, as far as all of them go."""
    pairs = enumerate(zip(*found, strict=False))
    return next((at for at, values in pairs if any(value != values[0] for value in values)), None)


def _by_rank(ranks: Sequence[RankFacts], told: Sequence[str]) -> str:
    """What is true on which rank: of the first rank, and of the first one that differs."""
    other = next(at for at, one in enumerate(told) if one != told[0])
    return f"{told[0]} on rank {ranks[0].rank} and {told[other]} on rank {ranks[other].rank}"


def local_tokens(moment: Moment) -> dict[str, str] | None:
    """How much more a token of one rank weighs than one of another, where each rank divides by its own tokens."""
    return _first_uneven(moment, _of_sums) or _first_uneven(moment, _of_means)


def only_means(moment: Moment) -> bool:
    """Whether what makes tokens weigh unlike is the mean that each rank makes of its batch, as most programs do."""
    return bool(_ranks(moment)) and _first_uneven(moment, _of_sums) is None


def _first_uneven(
    moment: Moment, words: Callable[[Sequence[TokenShare]], dict[str, str] | None]
) -> dict[str, str] | None:
    """The words for the first window of which every rank knows what its tokens weigh."""
    for shares in zip(*(facts.shares for facts in _ranks(moment)), strict=False):
        known = [share for share in shares if share is not None]
        if len(known) == len(shares) and (said := words(known)) is not None:
            return said
    return None


def _of_sums(shares: Sequence[TokenShare]) -> dict[str, str] | None:
    return _uneven(shares, _UNEVEN) if all(share.meant for share in shares) else None


def _of_means(shares: Sequence[TokenShare]) -> dict[str, str] | None:
    return _uneven(shares, _FAR_FROM_EVEN)


def _uneven(shares: Sequence[TokenShare], least: float) -> dict[str, str] | None:
    weights = [share.weight for share in shares]
    counts = [share.tokens for share in shares]
    whole = [share.weight * share.tokens for share in shares]
    own = all(isclose(one, whole[0], rel_tol=1e-3) for one in whole)
    if min(weights) <= 0 or max(weights) / min(weights) < least or not own:
        return None
    spread = max(weights) / min(weights)
    said = " and ".join(f"{count:g}" for count in counts[:4])
    return {"spread": f", {spread:.2f} times as much", "counts": f" ({said})"}


def all_tokens_once(moment: Moment) -> dict[str, str] | None:
    """That the losses are divided by the tokens of all ranks, and by nothing that makes up for the average."""
    windows = list(zip(*(facts.shares for facts in _ranks(moment)), strict=False))
    totals = [total for shares in windows if (total := _divided_by_all(shares)) is not None]
    if not totals or len(totals) < len(windows):
        return None
    return {
        "what": f"the number of tokens of all ranks ({totals[0]:g})",
        "cure": "multiply the loss by the number of ranks: `loss_sum * world_size / all_tokens`",
    }


def _divided_by_all(shares: Sequence[TokenShare | None]) -> float | None:
    """The tokens of all ranks, if each token of a window weighs one part of them; of ranks that have unlike numbers,
    so that it is no other divisor by chance."""
    known = [share for share in shares if share is not None]
    total = sum(share.tokens for share in known)
    if len(known) < len(shares) or len({share.tokens for share in known}) == 1:
        return None
    return total if all(isclose(share.weight * total, 1, rel_tol=1e-3) for share in known) else None


def twice_words(moment: Moment) -> dict[str, str]:
    """By what a loss is divided, and what to do."""
    divisor = moment.event.detail.get("ranks", "")
    cure = "back-propagate the loss undivided, and average a detached copy for the log"
    return {"what": f"`{divisor}`", "cure": cure}


def by_own_tokens(moment: Moment) -> bool:
    """Whether the summed losses of a window were divided by this rank's number of tokens, and by nothing else."""
    backward = moment.last.get(Kind.BACKWARD)
    return backward is not None and "tokens" in backward.detail and "divisor" not in backward.detail


def token_words(moment: Moment) -> dict[str, str]:
    """What is not known without a run."""
    return {"spread": "", "counts": ""}
