"""However a loop holds the synchronisation back inside of a window, the same is said of it as on one process."""

from itertools import product

import pytest

from amplint.analysis import findings_of
from tests.mutants.boundaries import LOSSES, SHAPES, TAILS, WAYS, program

OF_THE_TAIL = {
    "stepped": "misnormalized-tail-window",
    "dropped": "dropped-tail-window",
    "leaking": "dropped-tail-window",
}
OF_THE_LOSS = {"undivided": "missing-loss-division", "divided twice": "wrong-loss-divisor"}


def _expected(tail: str, loss: str) -> list[str]:
    found = [OF_THE_LOSS[loss]] if loss in OF_THE_LOSS else []
    wrong_alike = tail == "stepped" and bool(found)  # then the last window is as wrong as all others
    return sorted(found if wrong_alike else [*found, OF_THE_TAIL[tail]])


@pytest.mark.parametrize(("way", "tail", "loss", "shape"), list(product(WAYS, TAILS, LOSSES, SHAPES)))
def test_each_way_to_hold_back_is_read(way, tail, loss, shape):
    source = program(way, tail, loss, shape)
    compile(source, "example.py", "exec")
    found = findings_of(source, "example.py")
    assert sorted(finding.code for finding in found) == _expected(tail, loss)
    marked = [source.splitlines()[finding.place.row - 1] for finding in found if finding.code in OF_THE_LOSS.values()]
    assert all("backward(" in line for line in marked)
