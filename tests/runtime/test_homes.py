"""Which optimizers belong to other threads: their gradients are not looked at while those threads live."""

import threading

from runtime_guard.threads import Homes


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
