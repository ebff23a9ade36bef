"""Which optimizers belong to other threads: their gradients are not looked at while those threads live. What is kept of
all threads is read and written by one at a time."""

import os
import threading

import pytest

from runtime_guard.hooks import Listener, Shield
from runtime_guard.threads import Homes, lock


def in_a_thread(action):
    """Runs an action in a thread, which then waits to be let go."""
    done, go = threading.Event(), threading.Event()

    def run():
        action()
        done.set()
        go.wait(30)

    thread = threading.Thread(target=run)
    thread.start()
    assert done.wait(30)

    def end():
        go.set()
        thread.join(30)

    return end


def test_what_a_thread_has_made_is_its_own_before_it_steps():
    homes = Homes()
    end = in_a_thread(lambda: homes.made("theirs"))
    homes.made("mine")
    assert homes.strange() == {"theirs"}
    assert not homes.alone
    end()
    assert homes.strange() == set()


def test_what_the_main_thread_has_made_may_be_any_thread_s():
    homes, seen = Homes(), []
    homes.made("shared")
    in_a_thread(lambda: seen.append(homes.strange()))()
    assert seen == [set()]


def test_it_belongs_to_whoever_steps_it():
    homes = Homes()
    end = in_a_thread(lambda: homes.made("handed over"))
    homes.stepped("handed over")
    assert homes.strange() == set()
    assert homes.alone
    end()


def test_a_thread_that_does_not_train_disturbs_nobody():
    homes = Homes()
    homes.fills()
    end = in_a_thread(lambda: None)
    assert homes.undisturbed
    end()


def test_a_thread_that_back_propagates_disturbs_the_others_while_it_lives():
    homes = Homes()
    end = in_a_thread(homes.fills)
    assert not homes.undisturbed
    end()
    assert homes.undisturbed


def test_a_thread_that_has_an_optimizer_disturbs_the_others():
    homes = Homes()
    end = in_a_thread(lambda: homes.stepped("theirs"))
    assert not homes.undisturbed
    end()


def test_one_that_nobody_has_stepped_may_be_filled_by_another_thread_that_back_propagates():
    homes = Homes()
    assert not homes.unclaimed("new")
    end = in_a_thread(homes.fills)
    assert homes.unclaimed("new")
    homes.stepped("new")
    assert not homes.unclaimed("new")
    end()
    assert not homes.unclaimed("another")


def test_nobody_is_alone_once_another_thread_has_back_propagated():
    homes = Homes()
    homes.fills()
    homes.stepped("mine")
    assert homes.alone
    in_a_thread(homes.fills)()
    assert not homes.alone
    homes.stepped("mine")
    assert not homes.alone


def taken(one):
    """Whether another thread holds a lock."""
    seen = []
    in_a_thread(lambda: seen.append(one.acquire(blocking=False) and one.release() is None))()
    return seen == [False]


def test_a_listener_keeps_other_threads_out_while_it_listens_and_not_while_the_call_runs():
    held, during = lock(), []
    note = lambda *_: during.append(taken(held))  # noqa: E731
    listener = Listener(Shield("a test", pytest.fail), note, note, note)
    listener.lock = held
    token, _, _ = listener.before((), {})
    assert not taken(held)
    listener.after(token, None)
    listener.abandon(token)
    assert during == [True, True, True]
    assert not taken(held)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
@pytest.mark.filterwarnings("ignore:.*multi-threaded, use of fork:DeprecationWarning")
def test_a_process_that_is_forked_while_another_thread_holds_a_lock_does_not_find_it_taken():
    held, go = lock(), threading.Event()
    has, end = threading.Event(), threading.Event()

    def hold():
        with held:
            has.set()
            go.wait(0.5)
        end.wait(30)

    thread = threading.Thread(target=hold)
    thread.start()
    assert has.wait(30)
    child = os.fork()
    if child == 0:
        os._exit(int(taken(held)))
    _, status = os.waitpid(child, 0)
    end.set()
    thread.join(30)
    assert os.waitstatus_to_exitcode(status) == 0
    assert not taken(held)
