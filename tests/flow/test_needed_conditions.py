"""A message names the conditions that tell the runs with a mistake from those without it, and no others."""

import pytest

from amplint.analysis import findings_of
from amplint.flow.conditions import in_words, needed

NOTHING: frozenset[str] = frozenset()


def test_of_conditions_that_come_out_alike_one_is_enough():
    shown = [{"amp": True, "log": True}, {"amp": True, "log": True, "save": False}]
    others = [{"amp": False, "log": False}, {"amp": False, "log": True}]
    assert needed(shown, others, NOTHING) == (("amp", True),)


def test_what_a_run_without_the_mistake_was_not_asked_sets_it_apart_only_if_nothing_else_does():
    assert needed([{"amp": True, "clip": True}], [{"amp": False}], NOTHING) == (("amp", True),)
    assert needed([{"amp": True, "clip": True}], [{"amp": True}], NOTHING) == (("clip", True),)


def test_what_equals_one_literal_equals_no_other_one():
    shown, other = {"resume": True, "dtype == 'float16'": True}, {"resume": False, "dtype == 'bfloat16'": True}
    assert needed([shown], [other, {"dtype == 'float16'": False}], NOTHING) == (("dtype == 'float16'", True),)
    same = {"resume": False, "dtype == other": True, "dtype == 'float16'": True}
    assert needed([shown], [same], NOTHING) == (("resume", True),)


def test_each_run_without_the_mistake_is_told_apart():
    others = [{"amp": False, "clip": True}, {"amp": True, "clip": False}]
    assert needed([{"amp": True, "clip": True}], others, NOTHING) == (("amp", True), ("clip", True))


def test_without_such_runs_or_without_a_condition_in_common_nothing_is_named():
    assert needed([{"amp": True}], [], NOTHING) == ()
    assert needed([{"amp": True}, {"amp": False}], [{"log": True}], NOTHING) == ()


def test_a_setting_is_named_rather_than_what_depends_on_the_batches_or_reads_badly():
    shown, other = {"bad": True, "hasattr(model, 'module')": True, "amp": True}, dict.fromkeys(("bad", "amp"), False)
    assert needed([shown], [{**other, "hasattr(model, 'module')": False}], frozenset({"bad"})) == (("amp", True),)


def test_of_very_many_conditions_those_are_named_that_most_runs_lack():
    shown = {f"flag{number}": True for number in range(30)}
    others = [{**shown, f"flag{number}": False, "flag7": False} for number in range(30)]
    assert needed([shown], others, NOTHING) == (("flag7", True),)


@pytest.mark.parametrize(
    ("condition", "words"),
    [
        (("args.fp16", True), "`args.fp16` is true"),
        (("args.fp16", False), "`args.fp16` is false"),
        (("cfg.precision == 'fp16'", True), "`cfg.precision == 'fp16'`"),
        (("cfg.precision == 'fp16'", False), "`cfg.precision != 'fp16'`"),
        (("'cuda' in str(device)", False), "`'cuda' not in str(device)`"),
        (("norm > limit", False), "`norm <= limit`"),
        (("a == b and c == d", False), "`a == b and c == d` is false"),
        (("the engine's fp16", True), "the engine's fp16 is on"),
        (("the engine's fp16", False), "the engine's fp16 is off"),
        (("the engine's window == 1", True), "the engine's window is 1"),
        (("the engine's window == 1", False), "the engine's window is not 1"),
    ],
)
def test_a_comparison_is_written_as_it_comes_out(condition, words):
    assert in_words([condition]) == f" (when {words})"


def test_no_more_than_three_are_named():
    assert in_words([(name, True) for name in "abcd"]).count("is true") == 3
    assert in_words([]) == ""


LOOP = """\
import torch


def train(model, criterion, loader, args):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda", enabled=args.fp16)
    if args.resume:
        optimizer.load_state_dict(torch.load(args.resume))
    for x, y in loader:
        with torch.autocast("cuda", dtype=torch.float16, enabled=args.fp16):
            loss = criterion(model(x), y)
        optimizer.zero_grad()
        if args.verbose:
            print(loss.item())
        scaler.scale(loss).backward()
        if args.clip == "norm":
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
"""


def test_a_condition_that_only_leads_to_the_place_is_not_named():
    (found,) = findings_of(LOOP, "train.py")
    assert (found.code, found.message.partition(" (when ")[2]) == ("clip-before-unscale", "`args.fp16` is true)")


@pytest.mark.parametrize(
    ("key", "line", "said"),
    [
        ("step % args.every", "if step  %  args.every: pass", "step % args.every"),
        ("step + 1 % args.every", "if (step + 1) % args.every and ready: pass", "(step + 1) % args.every"),
        ("args.level > 2", "x = 1 if not int(args.level) > 2 else 0", "int(args.level) > 2"),
        ("args.mode == 'a'", 'while args.mode == "a": pass', "args.mode == 'a'"),
        ("sizes[-1][0] + 2 % n", "if g % n: pass", None),
        ("loader[*]['mask']", "for batch in loader: pass", None),
        ("args.fp16", "if args.fp16 is not None", "args.fp16"),
    ],
)
def test_a_condition_is_named_as_the_program_asks_for_it(key, line, said):
    named = in_words([(key, True)], [line]).removesuffix(")").removesuffix(" is true")
    assert named == ("" if said is None else f" (when `{said}`")


def test_a_chain_of_comparisons_is_asked_as_a_whole():
    asked = ["if 0 < args.n < 5:", "    pass", "if args.amp is not None:", "    pass"]
    assert in_words([("0 < args.n < 5", True)], asked) == " (when `0 < args.n < 5`)"
