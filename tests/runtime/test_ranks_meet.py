"""Which rank tells of what another one has told, whichever of them is first."""

import pytest
from torch.distributed import HashStore

from runtime_guard.distributed import Ranks


class Prompt:
    """A store of which rank 0 hears what is told before the one who tells it goes on."""

    def __init__(self, store, hears):
        self.store, self.hears = store, hears

    def set(self, key, value):
        self.store.set(key, value)
        self.hears()

    def check(self, keys):
        return self.store.check(keys)

    def get(self, key):
        return self.store.get(key)


@pytest.fixture
def ranks(monkeypatch):
    monkeypatch.setenv("WORLD_SIZE", "2")
    made = []
    for rank in ("0", "1"):
        monkeypatch.setenv("RANK", rank)
        made.append(Ranks(patience=0.0))
    return made


def test_what_rank_0_has_heard_is_told_by_it_alone_although_it_is_over(ranks):
    store, (first, second) = HashStore(), ranks
    second._tell(Prompt(store, lambda: first._hear(store, ended=True)), ended=True)
    assert (list(first.others), first.missing, second.delivered) == ([1], [], True)


def test_what_comes_when_rank_0_waits_no_longer_is_told_by_its_own_rank(ranks):
    store, (first, second) = HashStore(), ranks
    first._hear(store, ended=True)
    second._tell(store, ended=True)
    assert (first.others, first.missing, second.delivered) == ({}, [1], False)
