"""How a condition that is open is decided first: so that the run trains, and is not over before it does."""

from __future__ import annotations

from amplint.flow import program as ir
from amplint.protocol.values import with_changes
from amplint.state import truths
from amplint.state.run import Run
from amplint.state.values import Value


def truth(run: Run, node: ir.If, test: Value) -> bool:
    """The truth of a test; where it is open, one that neither passes a batch over nor refuses the run, if there is."""
    if not (_stops(run, node, True) or _stops(run, node, False)):
        return truths.truth(run, test)
    before, equal = set(run.decisions), dict(run.equal)
    answer = truths.truth(run, test)
    if not _stops(run, node, answer):
        return answer
    first, turned = (dict(run.decisions), dict(run.equal)), set[str]()
    while fresh := [key for key in run.decisions if key not in before | turned and key not in run.forced]:
        last = run.decisions[fresh[-1]]  # of `a or b`, b is asked once a does not hold
        turned.add(last.key)
        run.decisions[last.key], run.equal = with_changes(last, value=not last.value), dict(equal)
        if truths.truth(run, test) is not answer:
            return not answer
    run.decisions, run.equal = first
    return answer


def _stops(run: Run, node: ir.If, answer: bool) -> bool:
    """Whether a run would leave the batch, or be refused."""
    body = node.body if answer else node.orelse
    return _ends(body, "raise") or (answer and run.in_batches > 0 and continues(body))


def continues(body: tuple[ir.Stmt, ...]) -> bool:
    """Whether a body ends by going on to the next turn."""
    return _ends(body, "continue")


def _ends(body: tuple[ir.Stmt, ...], how: str) -> bool:
    return bool(body) and isinstance(body[-1], ir.Leave) and body[-1].how == how
