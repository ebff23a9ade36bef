"""What the ranks know of each other's gradients."""

from amplint.protocol.events import Kind
from amplint.protocol.ranks import NO_SHARING, Sync, Wrapper
from tests.protocol.histories import after, of


def back(sync, row=1, wrapper=Wrapper.DDP):
    return of(Kind.BACKWARD, row, sync=sync, wrapper=wrapper)


def sharing(*history):
    return after(*history).sharing


def test_every_micro_step_that_all_reduces_is_counted():
    assert sharing(back(Sync.REDUCED), back(Sync.REDUCED)).reductions == 2
    assert sharing(back(Sync.LOCAL), back(Sync.REDUCED)).reductions == 1
    assert sharing(back(Sync.TOO_LATE), back(Sync.UNKNOWN)).reductions == 0


def test_two_losses_of_one_micro_step_count_once():
    assert sharing(back(Sync.REDUCED), back(Sync.REDUCED, row=2)).reductions == 1


def test_only_data_parallel_counts_reductions():
    assert sharing(back(Sync.REDUCED, wrapper=Wrapper.SHARDED)).reductions == 0


def test_gradients_are_local_when_every_loss_of_the_micro_step_leaves_them_there():
    assert sharing(back(Sync.REDUCED), back(Sync.LOCAL)).local
    assert sharing(back(Sync.LOCAL), back(Sync.LOCAL, row=2)).local
    assert not sharing(back(Sync.REDUCED), back(Sync.LOCAL, row=2)).local
    assert not sharing(back(Sync.LOCAL), back(Sync.REDUCED)).local


def test_the_wrapper_is_that_of_the_last_backward():
    assert sharing(back(Sync.UNKNOWN, wrapper=Wrapper.SHARDED)).wrapper is Wrapper.SHARDED


def test_steps_and_erasures_begin_anew():
    for kind in (Kind.STEP, Kind.SCALER_STEP, Kind.ZERO_GRAD, Kind.OPAQUE):
        assert sharing(back(Sync.REDUCED), of(kind)) == NO_SHARING
    assert sharing(back(Sync.REDUCED), of(Kind.CLIP)).reductions == 1


def test_a_program_that_reduces_by_hand_counts_once_for_each_micro_step():
    plain = of(Kind.BACKWARD)
    assert sharing(plain, of(Kind.REDUCE), of(Kind.REDUCE, 2)).by_hand == 1
    assert sharing(plain, of(Kind.REDUCE), plain, of(Kind.REDUCE)).by_hand == 2
    assert sharing(plain, of(Kind.REDUCE), of(Kind.STEP)) == NO_SHARING
