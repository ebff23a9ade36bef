"""Which conditions some ranks alone fulfil, by how they are written."""

import pytest

from amplint.protocol.single_ranks import asks_rank, tells_ranks_apart


@pytest.mark.parametrize(
    "text",
    [
        "accelerator.is_main_process",
        "self.accelerator.is_local_main_process",
        "is_main_process()",
        "trainer.is_global_zero",
        "master_process",
        "is_rank0",
        "is_rank_zero",
        "rank == 0",
        "rank != 0",
        "args.local_rank in (-1, 0)",
        "args.local_rank not in (-1, 0)",
        "dist.get_rank() == 0",
        "accelerator.process_index == 0",
        "os.environ['RANK'] == '0'",
        "os.environ.get('LOCAL_RANK') == '0'",
        "rank <= 0",
        "rank < 1",
    ],
)
def test_it_holds_on_some_ranks_and_not_on_the_others(text):
    assert tells_ranks_apart(text)
    assert asks_rank(text)


@pytest.mark.parametrize(
    "text", ["rank == -1", "rank is None", "rank is not None", "args.local_rank != -1", "rank > 0"]
)
def test_it_asks_whether_there_are_several(text):
    assert not tells_ranks_apart(text)
    assert asks_rank(text)


@pytest.mark.parametrize("text", ["rank", "get_rank()"])
def test_a_rank_itself_is_asked_for_and_picks_none(text):
    assert not tells_ranks_apart(text)
    assert asks_rank(text)


@pytest.mark.parametrize(
    "text",
    ["master", "lora_rank == 8", "lora_rank > 0", "matrix_rank == 1", "non_main_process", "epoch == 0", "root", "flag"],
)
def test_it_says_nothing_of_ranks(text):
    assert not tells_ranks_apart(text)
    assert not asks_rank(text)
