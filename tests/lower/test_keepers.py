"""What methods keep of what they are handed, and what is put into lists."""

from amplint.lower.keepers import appended, handed, keepers
from amplint.lower.statements import Statements
from amplint.source.parse import parse

METER = """
class Meter:
    def update(self, value, n=1):
        self.value = value
        self.sum += value * n

    def log(self, key, value):
        self.values[key].append(value)

    def count(self, value):
        self.sum += float(value)

meter.update(loss, 1)
meter.log("loss", loss)
meter.count(loss)
meter.update(loss.item())
"""


def lowered(text):
    return Statements(parse(text)).module()


def test_what_adds_a_parameter_keeps_what_is_handed():
    body = lowered(METER)
    names, statements = keepers(body, {"loss"})
    assert names == {".update", ".log"}
    assert {id(body[1]), id(body[2])} <= statements
    assert id(body[3]) not in statements
    assert id(body[4]) not in statements


def test_nothing_is_kept_where_no_loss_is_handed_over():
    assert keepers(lowered(METER), {"total"}) == (frozenset(), frozenset())


def test_what_is_called_a_loss_is_handed():
    assert handed(lowered(METER)) == {"update", "log", "count"}


def test_what_is_put_into_a_list_is_asked_for_with_it():
    (node,) = lowered("losses.append(loss)\n")
    assert appended(node) == {"loss"}
    (other,) = lowered("losses.extend(rest)\n")
    assert appended(other) == set()
