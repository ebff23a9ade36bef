"""What is known of numbers, comparisons and truths while a program runs."""

import pytest

from amplint.state.values import Origin
from tests.machine.played import only, runs_of, story


def outcomes(text):
    return sorted({story(run) for run in runs_of(text)})


def asked(test, before=""):
    """Whether a test holds: "b" if it does, "z" if not; both when that is not known."""
    return "".join(outcomes(f"{before}\nif {test}:\n    loss.backward()\nelse:\n    optimizer.zero_grad()\n"))


@pytest.mark.parametrize(
    "test",
    [
        "2 * 3 == 6",
        "7 // 2 == 3",
        "7 / 2 == 3.5",
        "1 / 3 * 3 == 1",
        "2 ** 10 > 1000",
        "0.1 + 0.2 == 0.3",
        "5 % 3 == 2",
        "1 < 2 < 3",
        "not 0",
        "'fp16' == 'fp16'",
        "'fp16' in ('fp16', 'amp')",
        "'fp32' not in ['fp16', 'amp']",
        "None is None",
        "torch.float16 == torch.float16",
        "torch.float16 != torch.bfloat16",
        "[0]",
        "1 if 2 > 1 else 0",
        "len([1, 2]) == 2",
        "int('3') == 3 or True",
    ],
)
def test_what_is_known_is_decided(test):
    assert asked(test) == "b"
    assert asked(f"not ({test})") == "z"


@pytest.mark.parametrize(
    "test", ["flag", "args.flag", "size > 3", "config['fp16']", "mode == 'train'", "1 / 0", "f(x) in g"]
)
def test_what_is_not_known_is_both(test):
    assert asked(test) == "bz"


def pair(first, second, before=""):
    """The stories of two conditions asked one after the other."""
    text = f"{before}\nif {first}:\n    loss.backward()\nif {second}:\n    optimizer.zero_grad()\n"
    return {story(run) for run in runs_of(text)}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("dtype == 'fp16'", "dtype == 'bf16'"),
        ("args.level == 1", "args.level == 2"),
        ("mode == 'train'", "'eval' == mode"),
    ],
)
def test_a_value_is_equal_to_one_constant_at_most(first, second):
    assert pair(first, second) == {"b", "z", ""}


@pytest.mark.parametrize("op", ["==", "is"])
def test_a_value_is_equal_to_one_public_name_at_most(op):
    assert pair(f"dtype {op} torch.float16", f"dtype {op} torch.bfloat16") == {"b", "z", ""}


@pytest.mark.parametrize(
    "spellings",
    [
        ("use_amp", "use_amp is True", "use_amp == True", "bool(use_amp)"),
        ("scaler_", "scaler_ is not None", "scaler_ != None"),
        ("accelerate", "not not accelerate", "accelerate > 0", "accelerate >= 1", "accelerate != 0"),
        ("x == 'a'", "'a' == x", "not x != 'a'"),
        ("a < b", "not a >= b"),
    ],
)
def test_one_condition_is_decided_once_however_it_is_written(spellings):
    for other in spellings[1:]:
        assert pair(spellings[0], other) == {"bz", ""}
        assert pair(spellings[0], f"not ({other})") == {"b", "z"}


@pytest.mark.parametrize(("on", "off"), [("flag", "flag is None"), ("flag", "flag == 0"), ("n > 0", "n <= 0")])
def test_a_condition_and_its_opposite_never_hold_together(on, off):
    assert pair(on, off) == {"b", "z"}


def test_a_name_stands_for_what_it_was_given():
    assert pair("use_amp", "fp16", "fp16 = use_amp") == {"bz", ""}
    assert pair("use_amp", "fp16", "fp16 = not use_amp") == {"b", "z"}
    assert pair("use_amp", "fp16", "fp16 = False") == {"b", ""}


def test_a_logical_operator_asks_no_more_than_it_needs():
    (run,) = (run for run in runs_of("if a and b:\n    loss.backward()\n") if not run.choices["a"])
    assert run.choices == {"a": False}


def test_a_disabled_scaler_steps_the_optimizer_itself():
    text = """\
    scaler = torch.amp.GradScaler('cuda', enabled=use_amp)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    """
    by_choice = {run.choices["use_amp"]: run for run in runs_of(text)}
    assert [event.scaled for event in by_choice[True].events if event.kind.value == "backward"] == [True]
    assert [event.scaled for event in by_choice[False].events if event.kind.value == "backward"] == [False]
    assert [event.scaler for event in by_choice[False].events if event.kind.value == "optimizer step"] == [None]


@pytest.mark.parametrize(
    ("division", "weight"),
    [
        ("loss / accum_steps", "1/3"),
        ("loss / 4", "1/4"),
        ("loss * (1 / accum_steps)", "1/3"),
        ("loss * 0.5", "1/2"),
        ("loss / unknown()", "None"),
        ("loss / accum_steps / 2", "1/6"),
        ("loss.div(accum_steps)", "1/3"),
        ("-loss", "1"),
        ("loss + 0.1 * penalty", "1"),
    ],
)
def test_the_weight_of_a_loss_is_an_exact_fraction(division, weight):
    text = f"loss = criterion(model(x), y)\n({division}).backward()\noptimizer.step()\n"
    (backward,) = (event for event in only(text).events if event.kind.value == "backward")
    assert str(backward.weight) == weight


@pytest.mark.parametrize(
    ("put", "origin"),
    [
        ('int(os.environ["WORLD_SIZE"]) > 1', Origin.RUN),
        ("args.distributed", Origin.RUN),
        ("found(args)", Origin.RUN),
        ("criterion(model(x), y).item() > 1", Origin.OPAQUE),
    ],
)
def test_what_is_put_in_place_of_a_flag_comes_from_where_it_came_from(put, origin):
    run = runs_of(f"""
    import os
    from elsewhere import args, found
    x = y = torch.randn(4, 4)
    args.flag = False
    args.flag = {put}
    if args.flag:
        optimizer.zero_grad()
    else:
        optimizer.step()
    """)[0]
    assert {decision.origin for decision in run.decisions.values()} == {origin}
