"""Code that nobody sees is known by whole words or not at all, and what it was not given it cannot change."""

import re
from textwrap import indent

import pytest

from amplint.analysis import findings_of

MAY_ACT = """silent_reset catalog_reset prototype_reset watchdog_clear log_and_reset silent_zero_grad print_then_clear
    save_and_step refresh prepare_window prototype catalogue slrp lengthen begin_window wipe typed rollover renew
    stateless formatted_step TypeReset loginReset reset_state clear_log zero_print scale_lr_and_step""".split()
ONLY_LOOKS = """log_stats log_lr print_model save_checkpoint get_lr adjust_learning_rate set_learning_rate update_lr
    describe count_groups summary len_groups load_optimizer state_of LogStats saveCheckpoint printLR lr_scheduler_step
    warmup_lr show_optimizer is_ready""".split()
MAY_WEIGH = """async_share overall_share reduce_by_window floaty automatic_balance total_cost meanwhile divide normalize
    callback itemize synchronous_part torch_share weighted windowed prepare shrink""".split()
KEEPS = """reduce_mean reduce_loss all_reduce gather_mean average_losses reduce_value sync_loss ReduceMean
    all_reduce_mean reduce_tensor""".split()
TOUCHES_NOTHING = """timestep(x); clip_score(x); clip_images(x); stepwise(x, y); optimized_view(x); train_transform(x)
    update(x); TB_LOGGER.step(); profiler.step(); my_timer.step(); stopwatch.step(); stepper(i); backward_fill(x)
    progress_bar.step(1); metrics.update(x); run_logger.step(i); meter.step(); Timer().step(); tools.timer.step()
    env.step(x); writer.step(); footstep(i); unscaled_image(x); train_step(x); zero_grad_of(y); optimize(x)
    run_optimizer(x)"""
MAY_TRAIN = """model.train_step(x); trainer.step(); trainer.train_batch(x); engine.train_step(x, y); fit_one(optimizer)
    model.optimize_parameters(); learner.optimize(x); runner.train_one(x); take_step(loss); do_backward(loss)
    optimize(model, x); manager.zero_grad(); run_optimizer(optimizer); step(lambda: criterion(model(x), y).backward())
    backprop(loss); train_on(model.parameters()); update([optimizer]); clear({'o': optimizer})"""
RUNS_ONLY = """evaluate(model); update_ema(model); log_weights(model); requires_grad(model); toggle_grad(model)
    save_model(model); sample_images(model, x); visualize(model, x); get_grad_norm(model.parameters())
    validate(model)"""
MAY_CHANGE = """mystery(model); compute_gradients(model); train_and_evaluate(model); fix_up(model.parameters())
    renew(model); sync_gradients(model); set_grads(model); wash(model)"""


def calls(text):
    return [call.strip() for line in text.splitlines() for call in line.split(";") if call.strip()]


def errors(body, path="train.py"):
    """The ids of the errors in a loop over batches with this body; whatever it calls and nobody made is imported."""
    given = {"torch", "model", "loader", "criterion", "accum_steps", "optimizer", "loss", "enumerate", "lambda", "dict"}
    imported = sorted(set(re.findall(r"(?<![.\w])([A-Za-z_]\w*)(?=[.(])", body)) - given - {"if"})
    text = "import torch\n" + "".join(f"from elsewhere import {name}\n" for name in imported)
    text += "def train(model, loader, criterion, accum_steps):\n"
    text += "    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)\n    for i, (x, y) in enumerate(loader):\n"
    return {one.code for one in findings_of(text + indent(body, " " * 8), path) if one.severity.value == "error"}


def window(before="", loss="criterion(model(x), y) / accum_steps", after="optimizer.zero_grad()"):
    """A window's loop: something at its head, a loss, and what follows on the step."""
    return (
        f"{before or 'pass'}\nloss = {loss}\nloss.backward()\n"
        f"if (i + 1) % accum_steps == 0:\n    optimizer.step()\n    {after}\n"
    )


@pytest.mark.parametrize("name", MAY_ACT)
def test_an_unseen_function_that_is_given_an_optimizer_may_have_zeroed(name):
    assert errors(window(after=f"{name}(optimizer)")) == set()


@pytest.mark.parametrize("name", ONLY_LOOKS)
def test_one_whose_words_say_that_it_looks_has_not(name):
    assert errors(window(after=f"{name}(optimizer)")) == {"missing-zero-grad"}


@pytest.mark.parametrize("name", MAY_WEIGH)
@pytest.mark.parametrize("given", ["loss", "loss, accum_steps", "loss, n=accum_steps"])
def test_what_an_unseen_function_makes_of_a_loss_weighs_nobody_knows_what(name, given):
    assert errors(window(loss=f"criterion(model(x), y)\nloss = {name}({given})")) == set()


@pytest.mark.parametrize("name", KEEPS)
def test_a_reduction_over_ranks_keeps_the_loss(name):
    told = errors(window(loss=f"criterion(model(x), y)\nloss = {name}(loss)"))
    assert told == {"missing-loss-division"}


@pytest.mark.parametrize("name", KEEPS)
@pytest.mark.parametrize("given", ["accum_steps", "n=accum_steps", "args.n", "4"])
def test_a_reduction_that_was_given_a_number_too_may_have_divided_by_it(name, given):
    assert errors(window(loss=f"criterion(model(x), y)\nloss = {name}(loss, {given})")) == set()


@pytest.mark.parametrize("given", ["world_size", "args.nprocs", "group=group", "'mean'", "True"])
def test_a_reduction_that_was_told_of_the_ranks_keeps_the_loss(given):
    told = errors(window(loss=f"criterion(model(x), y)\nloss = reduce_mean(loss, {given})"))
    assert told == {"missing-loss-division"}


@pytest.mark.parametrize("call", calls(TOUCHES_NOTHING))
def test_what_was_given_nothing_of_the_step_hides_no_mistake(call):
    assert errors(window(call, loss="criterion(model(x), y)")) == {"missing-loss-division"}


@pytest.mark.parametrize("call", calls(TOUCHES_NOTHING))
def test_and_makes_none(call):
    assert errors(window(call)) == set()


@pytest.mark.parametrize("call", calls(MAY_TRAIN))
def test_what_holds_a_part_of_the_step_may_have_done_another(call):
    assert errors(window(after=call)) == set()


@pytest.mark.parametrize(
    "loss",
    [
        "model.train_step(x)",
        "model.training_step(x, i)",
        "train_step(model, x)",
        "network.step_loss(model(x), y)",
        "model.train_step(x)['loss']",
        "mystery(model, x)",
    ],
)
def test_what_is_back_propagated_by_the_caller_was_a_forward(loss):
    assert errors(window(loss=loss, after="pass")) == {"missing-zero-grad"}


def test_what_trains_by_itself_may_have_zeroed_too():
    assert errors(window("model.train_step(x)", after="pass")) == set()
    assert errors(window("value = model.train_step(x)\nprint(value)", after="pass")) == set()


@pytest.mark.parametrize("call", calls(RUNS_ONLY))
def test_who_is_given_a_model_and_only_runs_it_has_not_zeroed(call):
    assert errors(window(after=call)) == {"missing-zero-grad"}


@pytest.mark.parametrize("call", calls(MAY_CHANGE))
def test_who_is_given_a_model_and_says_no_such_thing_may_have(call):
    assert errors(window(after=call)) == set()
