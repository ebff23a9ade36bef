"""What a name says that is asked of a table, each with a name that only looks like it."""

import pytest

from amplint.dialects.constructors import role_of
from amplint.dialects.dialect import Role
from amplint.dialects.vocabulary import names_tokens
from amplint.domains.units import names_processes
from amplint.state.values import Condition, text_of


@pytest.mark.parametrize(
    "name", ["torch.npu.amp.GradScaler", "torch_npu.npu.amp.GradScaler", "torch.mlu.amp.x.GradScaler"]
)
def test_the_scaler_of_another_device_is_a_scaler(name):
    assert role_of(name) is Role.SCALER


@pytest.mark.parametrize(
    "name", ["mine.amp.GradScaler", "torch.npu.GradScaler", "torch.npu.amp.MyGradScaler", "GradScaler"]
)
def test_what_is_called_like_it_is_none(name):
    assert role_of(name) is not Role.SCALER


@pytest.mark.parametrize(
    ("name", "known"),
    [("ntoks", True), ("num_items_in_batch", True), ("nvalid", True), ("validate", False), ("to", False)],
)
def test_a_count_of_tokens_is_known_by_a_part_of_its_name(name, known):
    assert names_tokens(name) is known


@pytest.mark.parametrize(
    ("text", "known"),
    [("dist.get_world_size()", True), ("WORLD_SIZE", True), ("world_size + 1", False), ("worlds", False)],
)
def test_a_number_of_processes_is_known_by_what_its_name_ends_with(text, known):
    assert names_processes(text) is known


@pytest.mark.parametrize(("parts", "text"), [((), "or"), ((True,), "or True"), ((True, False), "True or False")])
def test_a_condition_over_any_number_of_parts_has_a_text(parts, text):
    assert text_of(Condition("or", parts)) == text
