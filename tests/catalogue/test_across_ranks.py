"""What the rules ask of the facts of several ranks."""

import pytest

from amplint.catalogue.across_ranks import (
    all_tokens_once,
    boundary_words,
    by_own_tokens,
    disagreement,
    local_tokens,
    only_means,
    token_words,
    twice_words,
)
from amplint.protocol.cadence import Cadence
from amplint.protocol.events import Event, Kind, Site
from amplint.protocol.ledger import Ledger
from amplint.protocol.ranks import Sharing, Wrapper
from amplint.protocol.readings import RankFacts, RanksReading, TokenShare
from amplint.protocol.state import Moment


def moment(*ranks, **last):
    event = Event(Kind.STEP, Site("train.py", 1), reading=RanksReading(ranks))
    return Moment(event, Ledger(), Cadence(), {Kind.BACKWARD: Event(Kind.BACKWARD, Site("train.py", 1), **last)})


def what(*ranks):
    found = disagreement(moment(*ranks))
    return None if found is None else found["what"]


def test_the_first_window_that_differs_is_told():
    assert what(RankFacts(0, (4, 4)), RankFacts(1, (4, 3))) == (
        "window 2 holds 4 micro-steps on rank 0 and 3 micro-steps on rank 1"
    )


def test_the_rank_that_differs_is_named():
    same = [RankFacts(rank, (4, 4)) for rank in range(2)]
    assert what(*same, RankFacts(2, (4, 8))) == "window 2 holds 4 micro-steps on rank 0 and 8 micro-steps on rank 2"


def test_a_step_that_one_rank_has_skipped_is_told():
    assert what(RankFacts(0, (4,), (False,)), RankFacts(1, (4,), (True,))) == (
        "step 1 through the scaler is taken on rank 0 and skipped on rank 1"
    )


def test_the_number_of_windows_counts_where_every_rank_has_ended_by_itself():
    assert what(RankFacts(0, (4, 4)), RankFacts(1, (4,))) == "the number of windows is 2 on rank 0 and 1 on rank 1"
    assert what(RankFacts(0, (4, 4)), RankFacts(1, (4,), whole=False)) is None


def test_ranks_that_do_the_same_agree_and_a_rank_alone_does():
    assert what(RankFacts(0, (4, 4), (False,)), RankFacts(1, (4, 4), (False,))) is None
    assert what(RankFacts(0, (4, 4))) is None
    assert disagreement(Moment(Event(Kind.STEP, Site("train.py", 1)), Ledger(), Cadence(), {})) is None


def test_copies_of_the_parameters_that_differ_in_the_end_are_told_by_rank():
    ends = [RankFacts(0, (4,), replica="a"), RankFacts(1, (4,), replica="a"), RankFacts(2, (4,), replica="b")]
    assert what(*ends) == "in the end the parameters of rank 0 are not those of rank 2"
    assert what(*ends[:2]) is None
    assert what(ends[0], RankFacts(1, (4,), replica="b", whole=False)) is None
    assert what(ends[0], RankFacts(1, (4,))) is None


@pytest.mark.parametrize(("alone", "seen"), [(True, "no rank ever sees"), (False, "stay on their rank")])
def test_a_switch_of_the_parameters_is_named_where_they_reduce_by_themselves(alone, seen):
    ledger = Ledger(sharing=Sharing(alone=alone, wrapper=Wrapper.BY_PARAMETER))
    words = boundary_words(Moment(Event(Kind.STEP, Site("train.py", 1)), ledger, Cadence(), {}))
    assert "set_requires_gradient_sync(False)" in words["held"]
    assert seen in words["held"]
    assert "set_requires_gradient_sync(True)" in words["cure"]


def shares(*pairs, meant=True):
    return moment(*(RankFacts(rank, (4,), (), (TokenShare(*pair, meant),)) for rank, pair in enumerate(pairs)))


def test_ranks_that_divide_by_their_own_tokens_weigh_them_differently():
    words = local_tokens(shares((100.0, 0.01), (400.0, 0.0025)))
    assert words == {"spread": ", 4.00 times as much", "counts": " (100 and 400)"}


@pytest.mark.parametrize(
    "pairs",
    [
        [(100.0, 0.004), (400.0, 0.004)],  # divided by all tokens
        [(100.0, 0.01), (102.0, 1 / 102)],  # nearly as many
        [(100.0, 0.01), (400.0, 0.005)],  # the ranks' totals differ: something else
        [(100.0, 0.0), (400.0, 0.0025)],
    ],
)
def test_other_weights_of_tokens_say_nothing(pairs):
    assert local_tokens(shares(*pairs)) is None


def test_means_over_unlike_numbers_of_tokens_are_told_mildly():
    seen = shares((100.0, 0.01), (400.0, 0.0025), meant=False)
    assert local_tokens(seen) == {"spread": ", 4.00 times as much", "counts": " (100 and 400)"}
    assert only_means(seen)
    assert not only_means(shares((100.0, 0.01), (400.0, 0.0025)))
    assert not only_means(Moment(Event(Kind.STEP, Site("train.py", 1)), Ledger(), Cadence(), {}))


def test_means_over_nearly_as_many_and_what_is_not_known_say_nothing():
    assert local_tokens(shares((100.0, 0.01), (150.0, 1 / 150), meant=False)) is None
    assert local_tokens(moment(RankFacts(0, (4,), (), (None,)), RankFacts(1, (4,), (), (None,)))) is None


def test_a_sum_divided_by_the_tokens_of_all_ranks_is_averaged_again():
    assert all_tokens_once(shares((100.0, 0.002), (400.0, 0.002)))["what"] == "the number of tokens of all ranks (500)"


@pytest.mark.parametrize(
    "pairs",
    [
        [(100.0, 0.004), (400.0, 0.004)],  # the number of ranks makes up for it
        [(100.0, 0.01), (400.0, 0.0025)],  # their own tokens
        [(100.0, 0.005), (100.0, 0.005)],  # half of each mean, for whatever reason
    ],
)
def test_other_divisors_of_tokens_say_nothing_of_an_average(pairs):
    assert all_tokens_once(shares(*pairs)) is None


def test_one_window_that_is_not_known_is_no_proof():
    known = [TokenShare(100.0, 0.002), TokenShare(400.0, 0.002)]
    ranks = [RankFacts(rank, (1, 1), (), (one, None)) for rank, one in enumerate(known)]
    assert all_tokens_once(moment(*ranks)) is None
    assert all_tokens_once(Moment(Event(Kind.STEP, Site("train.py", 1)), Ledger(), Cadence(), {})) is None


def test_what_a_mean_is_divided_by_is_named():
    seen = Moment(Event(Kind.BACKWARD, Site("train.py", 1), detail={"ranks": "world"}), Ledger(), Cadence(), {})
    assert twice_words(seen)["what"] == "`world`"


def test_a_sum_divided_by_tokens_alone_is_by_this_ranks_own():
    assert by_own_tokens(moment(detail={"tokens": "n"}))
    assert not by_own_tokens(moment(detail={"tokens": "n", "divisor": "N"}))
    assert not by_own_tokens(moment(detail={}))
    assert not by_own_tokens(Moment(Event(Kind.STEP, Site("train.py", 1)), Ledger(), Cadence(), {}))
    assert set(token_words(moment())) == {"spread", "counts"}
