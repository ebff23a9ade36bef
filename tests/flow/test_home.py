"""What a neighbouring file does wrong is told at the call from here, once, and not where it is told already."""

from amplint.flow.breaches import Breach
from amplint.flow.home import HAPPENS, brought_home
from amplint.protocol.events import Site

HERE, OTHER, THERE = Site("train.py", 3), Site("train.py", 7), Site("steps.py", 9)


def home(*found, own=()):
    return [(one.site, one.because) for one in brought_home(found, "train.py", lambda path: own)]


def breach(site, *calls, because=()):
    return Breach("repeated-step", site, False, because=because, calls=calls)


def test_what_is_wrong_here_stays_here():
    assert home(breach(HERE)) == [(HERE, ())]


def test_what_is_wrong_in_a_neighbour_is_told_at_the_last_call_from_here_once():
    told = home(breach(THERE, OTHER, HERE), breach(Site("steps.py", 11), HERE))
    assert told == [(HERE, ((THERE, HAPPENS),))]


def test_what_no_call_from_here_leads_to_is_left_to_the_neighbour_and_so_is_its_own():
    assert home(breach(THERE)) == []
    assert home(breach(THERE, HERE), own={breach(THERE).key}) == []


def test_a_place_that_is_a_reason_already_is_told_once():
    assert home(breach(THERE, HERE, because=((THERE, "stepped here"),))) == [(HERE, ((THERE, "stepped here"),))]
