"""Python looks for garbage less often while a file is analysed, and afterwards as it did before."""

import gc

import pytest

from amplint.garbage import OBJECTS, seldom_collected


@pytest.fixture(autouse=True)
def _as_before():
    before = gc.get_threshold()
    yield
    gc.set_threshold(*before)


@pytest.mark.parametrize(("before", "meanwhile"), [(700, OBJECTS), (2 * OBJECTS, 2 * OBJECTS), (0, 0)])
def test_garbage_is_looked_for_no_more_often_than_before(before, meanwhile):
    gc.set_threshold(before, 10, 10)
    with seldom_collected():
        assert gc.get_threshold()[0] == meanwhile
    assert gc.get_threshold()[0] == before
