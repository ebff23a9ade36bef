"""What of a training loop is followed, though another class, another module or a framework does a part of it."""

import pytest

from amplint.analysis import loops_of
from tests.flow.drawn import HEAD, only

TEMPLATE = """\
class Base:
    def __init__(self, model, optimizer, loader):
        self.model, self.optimizer, self.loader = model, optimizer, loader

    def run_step(self, batch):
        raise NotImplementedError

    def train(self):
        for batch in self.loader:
            self.before_step()
            self.run_step(batch)

    def before_step(self):
        self.optimizer.zero_grad()


class Simple(Base):
    def run_step(self, batch):
        loss = self.model(batch).mean()
        loss.backward()
        self.optimizer.step()
"""


def test_a_base_class_is_played_with_a_class_that_fills_in_its_step():
    (loop,) = loops_of(TEMPLATE, "train.py")
    assert (loop.function, loop.drawn, loop.not_followed) == ("train", "zero_grad backward step", ())


def test_what_stands_beside_the_call_of_a_step_belongs_to_its_loop():
    text = HEAD + (
        "    for x, y in loader:\n        optimizer.zero_grad()\n        step(model, x, y, criterion, optimizer)\n"
        "        scheduler.step()\n\n\ndef step(model, x, y, criterion, optimizer):\n"
        "    criterion(model(x), y).backward()\n    optimizer.step()\n"
    )
    (loop,) = loops_of(text, "train.py")
    assert (loop.function, loop.drawn) == ("train", "zero_grad backward step scheduler")


def test_what_comes_before_a_rest_is_known():
    loop = only(
        """\
        for i, (x, y) in enumerate(loader):
            first, second, *_ = model(x)
            loss = (first * args.first + second * args.second) / args.accum_steps
            loss.backward()
            if (i + 1) % args.accum_steps == 0:
                optimizer.step()
                optimizer.zero_grad()
        """
    )
    assert (loop.divisor, loop.not_followed) == ("args.accum_steps", ())


CLIPPED = HEAD.replace("import torch\n", "import torch\nfrom mine import utils\n") + (
    "    for x, y in loader:\n        optimizer.zero_grad()\n        criterion(model(x), y).backward()\n"
    "        utils.clip_grad_norm_({}, 1.0)\n        optimizer.step()\n"
)


def test_a_function_that_is_called_like_torch_s_clip_clips():
    (loop,) = loops_of(CLIPPED.format("model.parameters()"), "train.py")
    assert (loop.clip, loop.not_followed) == ("every step", ())


def test_unless_it_is_handed_the_optimizer():
    (loop,) = loops_of(CLIPPED.format("torch.optim.SGD(model.parameters())"), "train.py")
    assert [place.row for place, _ in loop.not_followed] == [10]


def test_a_run_that_goes_back_is_drawn_though_another_one_does_more():
    loop = only(
        """\
        for x, y in loader:
            optimizer.zero_grad()
            if args.pipeline:
                args.pipeline.step(x, target=y, losses=[])
                args.scheduler.step(1)
                scheduler.step()
            else:
                criterion(model(x), y).backward()
            optimizer.step()
        """
    )
    assert loop.drawn == "zero_grad backward step"
    assert [place.row for place, _ in loop.not_followed] == [9]


def test_what_is_left_to_deepspeed_is_not_something_that_could_not_be_followed():
    text = (
        "from accelerate import Accelerator\n\n\ndef train(args, model, optimizer, loader, criterion):\n"
        "    accelerator = Accelerator(gradient_accumulation_steps=args.accum_steps)\n"
        "    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)\n"
        "    if args.deepspeed:\n        optimizer.param_groups[0]['lr'] = 1\n"
        "    for x, y in loader:\n        with accelerator.accumulate(model):\n"
        "            accelerator.backward(criterion(model(x), y))\n"
        "            optimizer.step()\n            optimizer.zero_grad()\n"
    )
    (loop,) = loops_of(text, "train.py")
    assert (loop.window, loop.not_followed) == ("args.accum_steps", ())


@pytest.mark.parametrize(("stage", "scaler"), [(0, "none"), (1, "scaler"), (2, "scaler"), (3, "scaler")])
def test_deepspeed_scales_at_the_stages_of_zero_alone(stage, scaler):
    """DeepSpeed 0.19.8, `engine.backward`: only for a ZeROOptimizer."""
    text = (
        "import deepspeed\n\n\ndef train(model, loader, criterion):\n"
        "    config = {'train_micro_batch_size_per_gpu': 8, 'gradient_accumulation_steps': 4,\n"
        f"              'fp16': {{'enabled': True}}, 'zero_optimization': {{'stage': {stage}}}}}\n"
        "    engine, _, _, _ = deepspeed.initialize(model=model, config=config)\n"
        "    for x, y in loader:\n        engine.backward(criterion(engine(x), y))\n        engine.step()\n"
    )
    (loop,) = loops_of(text, "train.py")
    assert loop.scaler == scaler


def test_a_function_that_runs_an_engine_is_no_loop_itself():
    text = (
        "from ignite.engine import Engine\n\n\ndef main(model, optimizer, loader, criterion):\n"
        "    def update(engine, batch):\n        optimizer.zero_grad()\n"
        "        criterion(model(batch[0]), batch[1]).backward()\n        optimizer.step()\n\n"
        "    trainer = Engine(update)\n    trainer.run(loader, max_epochs=3)\n\n\n"
        "def start(trainer, loader):\n    trainer.run(loader, max_epochs=3)\n"
    )
    assert [(loop.function, loop.drawn) for loop in loops_of(text, "train.py")] == [
        ("update", "zero_grad backward step")
    ]


def test_what_a_loss_is_multiplied_by_is_known_though_it_is_no_number():
    loop = only(
        """\
        for x, y in loader:
            for part, (px, py) in enumerate(zip(x.chunk(args.parts), y.chunk(args.parts))):
                loss = criterion(model(px), py)
                (loss * len(px) / len(x)).backward()
            optimizer.step()
            optimizer.zero_grad()
        """
    )
    assert (loop.divisor, loop.not_followed) == ("len(x)", ())


def test_without_a_limit_it_measures():
    (loop,) = loops_of(CLIPPED.replace("{}, 1.0", "{}, None").format("model.parameters()"), "train.py")
    assert (loop.clip, loop.not_followed) == ("none", ())


def test_what_happens_in_some_windows_only_is_said():
    loop = only(
        """\
        for i, (x, y) in enumerate(loader):
            if i == 0:
                scheduler.step(i / len(loader))
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            optimizer.step()
        """
    )
    assert (loop.scheduler, loop.drawn) == ("at times", "zero_grad backward step")


def test_two_optimizers_that_step_one_after_the_other_are_one_window():
    loop = only(
        """\
        for x, y in loader:
            args.optimizer_d.zero_grad()
            criterion(args.critic(x), y).backward()
            args.optimizer_d.step()
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            optimizer.step()
        """
    )
    assert loop.drawn == "zero_grad backward step zero_grad backward step"


def test_the_context_of_fabric_that_puts_a_reduction_off_changes_no_gradient():
    text = (
        "import lightning as L\n\n\ndef train(fabric: L.Fabric, args, model, optimizer, loader, criterion):\n"
        "    for i, (x, y) in enumerate(loader):\n"
        "        with fabric.no_backward_sync(model, enabled=((i + 1) % args.accum_iters != 0)):\n"
        "            fabric.backward(criterion(model(x), y) / args.accum_iters)\n"
        "        if (i + 1) % args.accum_iters == 0:\n            optimizer.step()\n"
        "            optimizer.zero_grad()\n"
    )
    (loop,) = loops_of(text, "train.py")
    assert (loop.drawn, loop.not_followed) == ("(backward) x args.accum_iters -> step update zero_grad", ())


@pytest.mark.parametrize("made", ["CosineLRScheduler(optimizer, t_initial=9)", "build_scheduler(optimizer)"])
def test_a_schedule_that_is_told_the_number_of_updates_is_drawn(made):
    loop = only(
        f"""\
        from timm.scheduler.cosine_lr import CosineLRScheduler
        from mine import build_scheduler
        lr_scheduler = {made}
        for i, (x, y) in enumerate(loader):
            (criterion(model(x), y) / args.accum).backward()
            if (i + 1) % args.accum == 0:
                optimizer.step()
                optimizer.zero_grad()
                lr_scheduler.step_update(i // args.accum)
        """
    )
    assert (loop.scheduler, loop.not_followed) == ("once per window", ())


def test_gradients_of_an_optimizer_that_never_steps_are_not_those_that_are_clipped():
    other = "import torch\n\n\ndef finish(other_optimizer):\n    other_optimizer.step()\n"
    text = HEAD.replace("import torch\n", other) + (
        "    for x, y in loader:\n        helper.before_step(args.other_optimizer)\n        optimizer.zero_grad()\n"
        "        scaler.scale(criterion(model(x), y)).backward()\n        scaler.unscale_(optimizer)\n"
        "        clip_grad_norm_(model.parameters(), 1.0)\n        scaler.step(optimizer)\n        scaler.update()\n"
    )
    (loop,) = loops_of(text, "train.py")
    assert (loop.clip, [place.row for place, _ in loop.not_followed]) == ("every step", [11])
