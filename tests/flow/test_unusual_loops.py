"""What `amplint loops` says of loops whose turns are not alike, or of which a part stands somewhere else."""

import pytest

from amplint.analysis import loops_of
from tests.flow.drawn import HEAD, drawn, only


def test_a_function_that_steps_after_a_loop_over_micro_steps_is_a_window_as_a_whole():
    loop = only(
        """
        optimizer.zero_grad()
        for _ in range(args.accum):
            x, y = next(loader)
            (criterion(model(x), y) / args.accum).backward()
        clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        """
    )
    assert (loop.function, loop.place.row) == ("train", 5)
    assert loop.drawn == "zero_grad (backward) x args.accum -> clip step"


def test_what_another_training_loop_does_is_not_done_once_per_epoch():
    found = drawn(
        """
        for x, y in loader:
            criterion(model(x), y).backward()
            model.zero_grad()
        for x, y in loader:
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            optimizer.step()
            scheduler.step()
        """
    )
    assert [(loop.step, loop.scheduler) for loop in found][-1] == ("every step", "every step")
    assert all(loop.step != "once per epoch" for loop in found)


def test_a_scheduler_that_is_told_the_epoch_is_drawn():
    loop = only(
        """
        for x, y in loader:
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            optimizer.step()
            scheduler.step(args.progress)
        """
    )
    assert (loop.drawn, loop.scheduler) == ("zero_grad backward step scheduler", "every step")


def test_steps_of_a_scheduler_in_a_row_are_drawn_once():
    loop = only(
        """
        for x, y in loader:
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            optimizer.step()
            for _ in range(args.world):
                scheduler.step()
        """
    )
    assert loop.drawn == "zero_grad backward step scheduler"


def test_a_loss_made_larger_is_not_divided():
    loop = only(
        """
        for x, y in loader:
            optimizer.zero_grad()
            (criterion(model(x), y) * 65536).backward()
            optimizer.step()
        """
    )
    assert loop.divisor == "none"


def test_a_loss_that_may_be_scaled_is_said():
    loop = only(
        """
        for x, y in loader:
            optimizer.zero_grad()
            args.scaled_loss.backward()
            optimizer.step()
        """
    )
    assert loop.scaler == "unknown"


def test_a_loop_that_only_goes_back_has_a_window_that_nobody_knows():
    loop = only(
        """
        for x, y in loader:
            criterion(model(x), y).backward()
        """
    )
    assert (loop.window, loop.step) == ("unknown", "none")
    assert loop.clip == loop.zero_grad == loop.scheduler == "unknown"
    assert [why for _, why in loop.not_followed] == ["nothing that was read steps with these gradients"]


def test_a_step_on_top_belongs_to_the_window_before():
    loop = only(
        """
        for x, y in loader:
            optimizer.step()
            optimizer.zero_grad()
            criterion(model(x), y).backward()
        """
    )
    assert loop.drawn == "zero_grad backward step"


def test_what_was_not_followed_may_clip_or_zero():
    loop = only(
        """
        for x, y in loader:
            criterion(model(x), y).backward()
            helper.after_backward(optimizer)
            optimizer.step()
        """
    )
    assert (loop.clip, loop.zero_grad, loop.scheduler) == ("unknown", "unknown", "none")


def test_a_run_that_throws_gradients_away_is_not_the_one_that_is_drawn():
    loop = only(
        """
        for i, (x, y) in enumerate(loader):
            loss = criterion(model(x), y) / args.accum
            loss.backward()
            if (i + 1) % args.accum == 0:
                skip = False
                if loss > args.most * helper.average:
                    skip = True
                    optimizer.zero_grad()
                if not skip:
                    clip_grad_norm_(model.parameters(), 1.0)
                    optimizer.step()
                    optimizer.zero_grad()
        """
    )
    assert loop.drawn == "(backward) x args.accum -> clip step zero_grad"


def test_what_stands_above_a_call_that_goes_back_in_another_file_is_on_top(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "back.py").write_text("def back(loss):\n    loss.backward()\n")
    text = HEAD.replace("import torch\n", "import torch\nfrom back import back\n") + (
        "    for x, y in loader:\n        optimizer.zero_grad()\n        back(criterion(model(x), y))\n"
        "        optimizer.step()\n"
    )
    (loop,) = loops_of(text, "train.py")
    assert loop.drawn == "zero_grad backward step"


def test_a_window_that_is_worked_out_goes_by_its_name():
    loop = only(
        """
        accum_steps = args.batch_size // args.micro_batch_size
        while True:
            for i in range(accum_steps):
                (criterion(model(x), y) / accum_steps).backward()
            optimizer.step()
            optimizer.zero_grad()
        """
    )
    assert loop.drawn == "(backward) x accum_steps -> step zero_grad"
    assert loop.divisor == "accum_steps"


@pytest.mark.parametrize("named", ["torch.float16", "'float16'"])
def test_a_setting_of_another_library_may_be_what_it_is_compared_with(named):
    head = "import torch\nfrom settings import DTYPE\n\n\ndef train(model, loader, criterion, optimizer):\n"
    (loop,) = drawn(
        f"""
        scaler = torch.amp.GradScaler() if DTYPE == {named} else None
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(model(x), y)
            if scaler is not None:
                scaler.scale(loss).backward()
                scaler.step(optimizer)
                scaler.update()
            else:
                loss.backward()
                optimizer.step()
        """,
        head,
    )
    assert (loop.scaler, loop.drawn) == ("scaler", "zero_grad backward step update")


def test_a_counter_is_no_window_whatever_it_is_called():
    loop = only(
        """
        accum_steps = 0
        for x, y in loader:
            (criterion(model(x), y) / args.window).backward()
            accum_steps += 1
            if accum_steps == args.window:
                optimizer.step()
                optimizer.zero_grad()
                accum_steps = 0
        """
    )
    assert (loop.window, loop.divisor) == ("args.window", "args.window")


OWN_SCHEDULE = """\
import torch
from accelerate import Accelerator
from torch.optim.lr_scheduler import LRScheduler


class Warmup(LRScheduler):
    def __init__(self, optimizer, warmup_iters, last_iter=-1):
        self.warmup_iters = warmup_iters
        super().__init__(optimizer, last_iter)

    def get_lr(self):
        return [base_lr * min(1.0, self._step_count / self.warmup_iters) for base_lr in self.base_lrs]


class Runner:
    def __init__(self, config):
        self.config = config
        self.accelerator = Accelerator(gradient_accumulation_steps=config.accum_steps)
        self.model = None
        self.optimizer = None
        self.scheduler: LRScheduler = None

    def __enter__(self):
        self.prepare()
        return self

    def prepare(self):
        self.model, self.optimizer = self.accelerator.prepare(self.model, self.optimizer)
        self.accelerator.register_for_checkpointing(self.scheduler)


class Trainer(Runner):
    def __init__(self, config, model):
        super().__init__(config)
        self.model = model
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=config.lr)
        self.scheduler = Warmup(self.optimizer, config.warmup)

    def train(self, loader):
        for x in loader:
            with self.accelerator.accumulate(self.model):
                self.accelerator.backward(self.model(x).loss)
                self.optimizer.step()
                self.optimizer.zero_grad()
            if self.accelerator.sync_gradients:
                self.scheduler.step()
"""


def test_a_schedule_of_the_program_s_own_is_a_schedule_whoever_may_have_prepared_it():
    (loop,) = loops_of(OWN_SCHEDULE, "train.py")
    assert loop.drawn == "(backward) x config.accum_steps -> step update zero_grad scheduler"
