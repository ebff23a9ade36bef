"""What `amplint loops` says of a training loop: its window, its parts, one drawn line, and what was not followed."""

import pytest

from tests.flow.drawn import only

WINDOW = """
for i, (x, y) in enumerate(loader):
    loss = criterion(model(x), y) / args.accum
    scaler.scale(loss).backward()
    if (i + 1) % args.accum == 0:
        scaler.unscale_(optimizer)
        clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
        scheduler.step()
"""


def test_a_window_is_drawn_with_what_every_micro_step_does_and_what_the_last_one_adds():
    loop = only(WINDOW)
    assert loop.drawn == "(backward) x args.accum -> unscale clip step update zero_grad scheduler"
    assert (loop.function, loop.place.row) == ("train", 7)
    assert (loop.window, loop.divisor, loop.scaler) == ("args.accum", "args.accum", "scaler")
    assert loop.clip == loop.step == loop.zero_grad == loop.scheduler == "once per window"
    assert loop.not_followed == ()


def test_a_clip_of_scaled_gradients_on_every_micro_step_is_said():
    loop = only(WINDOW.replace("    if (i + 1)", "    clip_grad_norm_(model.parameters(), 1.0)\n    if (i + 1)"))
    assert loop.clip == "every micro-step, on gradients that carry the loss scale"


def test_a_loop_without_a_window():
    loop = only(
        """
        for epoch in range(epochs):
            for x, y in loader:
                optimizer.zero_grad()
                criterion(model(x), y).backward()
                optimizer.step()
            scheduler.step()
        """
    )
    assert loop.drawn == "zero_grad backward step"
    assert (loop.window, loop.divisor, loop.scaler, loop.clip) == ("1", "none", "none", "none")
    assert (loop.step, loop.zero_grad, loop.scheduler) == ("every step", "every step", "once per epoch")


def test_a_loop_over_micro_batches_is_part_of_the_window():
    loop = only(
        """
        for batch in loader:
            optimizer.zero_grad()
            for x, y in batch.chunk(4):
                (criterion(model(x), y) / 4).backward()
            optimizer.step()
        """
    )
    assert loop.place.row == 7
    assert loop.drawn == "zero_grad (backward) x N -> step"
    assert loop.divisor == "4"


def test_two_losses_of_a_micro_step_are_drawn_one_after_the_other():
    loop = only(
        """
        for x, y in loader:
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            criterion(model(y), x).backward()
            optimizer.step()
        """
    )
    assert loop.drawn == "zero_grad backward backward step"


def test_micro_steps_that_differ_are_told_apart():
    loop = only(
        """
        for i, (x, y) in enumerate(loader):
            criterion(model(x), y).backward()
            if i % args.accum == 0:
                clip_grad_norm_(model.parameters(), 1.0)
            if (i + 1) % args.accum == 0:
                optimizer.step()
                optimizer.zero_grad()
        """
    )
    assert loop.drawn == "backward clip | backward | backward step zero_grad"


def test_what_was_not_followed_is_said_with_its_place():
    loop = only(
        """
        for i, (x, y) in enumerate(loader):
            loss = helper.compute(model, x, y)
            helper.scaled(loss).backward()
            if (i + 1) % args.accum == 0:
                optimizer.step()
                helper.after_step(optimizer)
                optimizer.zero_grad()
        """
    )
    assert (loop.divisor, loop.scaler) == ("unknown", "unknown")
    assert [(place.row, why.partition(" could")[0]) for place, why in loop.not_followed] == [
        (9, "the weight of this loss"),
        (12, "what this does to the gradients"),
    ]


def test_where_every_loss_is_stepped_with_there_is_nothing_to_divide_by_whoever_made_it():
    loop = only(
        """
        for x, y in loader:
            optimizer.zero_grad()
            helper.compute(model, x, y).backward()
            optimizer.step()
        """
    )
    assert (loop.window, loop.divisor, loop.not_followed) == ("1", "none", ())


def test_a_loss_of_unknown_making_that_is_divided_by_the_window_has_its_divisor():
    loop = only(
        """
        for i, (x, y) in enumerate(loader):
            loss = helper.compute(model, x, y)
            if args.accum > 1:
                loss = loss / args.accum
            loss.backward()
            if (i + 1) % args.accum == 0:
                optimizer.step()
                optimizer.zero_grad()
        """
    )
    assert (loop.divisor, loop.not_followed) == ("args.accum", ())


def test_a_loss_that_a_model_returns_is_not_divided_by_a_window_that_the_model_has_never_seen():
    loop = only(
        """
        for i, batch in enumerate(loader):
            logits, loss = model(batch)
            scaler.scale(loss).backward()
            if (i + 1) % args.accum == 0:
                scaler.step(optimizer)
                scaler.update()
                optimizer.zero_grad()
        """
    )
    assert (loop.divisor, loop.not_followed) == ("none", ())


def test_a_backward_that_stands_twice_for_the_boundary_and_the_rest_is_one_in_each_micro_step():
    loop = only(
        """
        for i, (x, y) in enumerate(loader):
            loss = criterion(model(x), y) / args.accum
            if i % args.accum == 0:
                loss.backward()
                clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()
            else:
                with model.no_sync():
                    loss.backward()
        """
    )
    assert loop.drawn == "(backward) x args.accum -> clip step zero_grad"


@pytest.mark.parametrize(
    "line",
    [
        "share = args.share(x).clip(0.1)",
        "for p in model.parameters():\n        p.grad.detach_()",
        "lr_schedulers[0].step()",
        "names = optimizer.to_dict()",
    ],
)
def test_what_changes_no_gradient_is_not_something_that_could_not_be_followed(line):
    loop = only(
        f"for x, y in loader:\n    optimizer.zero_grad()\n    criterion(model(x), y).backward()\n    {line}\n"
        "    optimizer.step()\n"
    )
    assert loop.not_followed == ()


def test_whoever_clips_gradients_in_code_not_read_is_not_followed():
    loop = only(
        """
        for x, y in loader:
            optimizer.zero_grad()
            loss = args.clipper.clip(criterion(model(x), y))
            loss.backward()
            optimizer.step()
        """
    )
    assert [place.row for place, _ in loop.not_followed] == [9]


def test_a_run_that_steps_is_drawn_and_not_one_that_leaves_early():
    loop = only(
        """
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            loss.backward()
            if args.found_overflow(loss):
                optimizer.zero_grad()
                optimizer.zero_grad()
                optimizer.zero_grad()
                continue
            optimizer.step()
        """
    )
    assert loop.drawn == "zero_grad backward step"
