"""A condition is named only if the mistake is known to be absent on its other side."""

from pathlib import Path

import pytest

from amplint.analysis import findings_of

LOOP = """
from lib import reweighted

def train(model, criterion, loader, optimizer, mode, divide, n):
    for i, (x, y) in enumerate(loader):
        loss = criterion(model(x), y)
{}
        loss.backward()
        if (i + 1) % n == 0:
            optimizer.step()
            optimizer.zero_grad()
"""


def told(source, rule):
    found = [one.message for one in findings_of(source, "train.py") if one.code == rule]
    assert len(found) == 1
    return found[0]


def undivided(*lines):
    """What is said of the missing division in a loop with some lines between the loss and its backward."""
    return told(LOOP.format("\n".join(" " * 8 + line for line in lines)), "missing-loss-division")


OTHERS_ARE_AS_WRONG = ["if mode == 'a':", "    loss = loss * 2"]
OTHERS_ARE_NOT_KNOWN = ["if mode == 'a':", "    loss = reweighted(loss, n)"]
OTHERS_RAISE = ["if mode == 'a':", "    raise ValueError(mode)"]
OTHERS_RAISE_LATER = ["if mode == 'a' and i > 0:", "    raise ValueError(mode)"]


@pytest.mark.parametrize("lines", [OTHERS_ARE_AS_WRONG, OTHERS_ARE_NOT_KNOWN, OTHERS_RAISE, OTHERS_RAISE_LATER])
def test_runs_that_are_as_wrong_or_not_known_or_ended_early_say_nothing(lines):
    assert "(when" not in undivided(*lines)


def test_what_mends_the_mistake_on_one_side_is_named():
    assert undivided("if divide:", "    loss = loss / n").endswith("(when `divide` is false)")


def test_all_branches_of_a_setting_that_refuses_the_rest_need_no_condition():
    lines = [
        "if mode == 'a':",
        "    loss = criterion(model(x), y)",
        "elif mode == 'b':",
        "    loss = loss * 2",
        "else:",
        "    raise ValueError",
    ]
    assert "(when" not in undivided(*lines)


SCALED = """
import torch
from lib import unseen

def train(model, criterion, loader, optimizer, scaler, extra, {flag}):
    for x, y in loader:
        optimizer.zero_grad()
        scaler.scale(criterion(model(x), y)).backward()
        loss = extra(model(x))
        {lines}
        loss.backward()
        scaler.step(optimizer)
        scaler.update()
"""


def test_of_a_loss_that_may_be_scaled_nobody_knows():
    source = SCALED.format(flag="other", lines="if other: loss = unseen.scale_it(loss)")
    assert "(when" not in told(source, "mixed-scaled-losses")


def test_of_a_loss_that_is_scaled_on_one_side_the_other_is_named():
    source = SCALED.format(flag="other", lines="if other: loss = scaler.scale(loss)")
    assert told(source, "mixed-scaled-losses").endswith("(when `other` is false)")


HIDDEN = """
import torch
def train(model, criterion, loader, optimizer, scaler, again, limit):
    for x, y in loader:
        optimizer.zero_grad()
        scaler.scale(criterion(model(x), y)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), limit)
        if again:
            scaler.unscale_(optimizer)
            scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
"""


def test_a_run_in_which_another_finding_stands_for_it_is_not_without_it():
    assert "(when" not in told(HIDDEN, "clip-before-unscale")


UNSEEN = """
import torch
from lib import unseen

def train(model, criterion, loader, optimizer, scaler, other):
    for x, y in loader:
        optimizer.zero_grad()
        scaler.scale(criterion(model(x), y)).backward()
        if other:
            unseen(optimizer, scaler)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
"""


def test_what_code_that_is_not_seen_may_have_done_is_no_other_side():
    assert "(when" not in told(UNSEEN, "clip-before-unscale")


def test_what_is_seen_to_unscale_is_one():
    seen = UNSEEN.replace("unseen(optimizer, scaler)", "scaler.unscale_(optimizer)")
    assert told(seen, "clip-before-unscale").endswith("(when `other` is false)")


GUARDED = """
import torch
from guards import Guard

def train(model, criterion, loader, optimizer, n, guarded=True):
    guard = Guard() if guarded else None
    for i, (x, y) in enumerate(loader):
        (criterion(model(x), y) / n).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if (i + 1) % n == 0:
            optimizer.step()
            optimizer.zero_grad()
        if guard and not guard.step(x):
            break
"""


def test_a_setting_that_only_ends_the_loop_early_is_no_condition():
    assert "(when" not in told(GUARDED, "clip-per-micro-step")


SHIPPED = """
import argparse
import torch

parser = argparse.ArgumentParser()
parser.add_argument("--accum", type=int, default=DEFAULT)
args = parser.parse_args()
model = torch.nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cuda")
for epoch in range(5):
    for i, x in enumerate(torch.utils.data.DataLoader(range(100))):
        scaler.scale(model(x).mean()).backward()
        if (i + 1) % args.accum == 0:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
"""


@pytest.mark.parametrize(("default", "raised"), [("1", True), ("4", False), ("None", False)])
def test_a_default_that_hides_a_mistake_is_named(default, raised):
    text = SHIPPED.replace("DEFAULT", default)
    assert ("(with `args.accum` above its default of 1)" in told(text, "missing-loss-division")) is raised
    assert "default" not in told(text, "clip-before-unscale")


def test_a_default_that_is_fallen_back_to_is_named():
    text = SHIPPED.replace("args.accum", "config.get('accum', 1)").replace("DEFAULT", "4")
    assert "(with `config.get('accum', 1)` above its default of 1)" in told(text, "missing-loss-division")


PRECISION = """
import torch
from lib import Data

def precision(cfg):
    name = str(cfg.get("amp_dtype", "bfloat16")).lower()
    if name in {"bf16", "bfloat16"}:
        return torch.bfloat16
    if name in {"fp16", "float16"}:
        return torch.float16
    return torch.float32

def train(cfg, model, criterion, optimizer, val_subset, device):
    data = Data(cfg)
    if val_subset:
        data = data.subset(val_subset)
    on = cfg.get("amp", True) and device.startswith("cuda")
    for x, y in data:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=precision(cfg), enabled=on):
            loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
"""


def test_what_has_nothing_to_do_with_a_mistake_is_played_the_other_way_and_not_named():
    message = told(PRECISION, "float16-without-scaler")
    assert "val_subset" not in message
    assert "name" in message


STOPPED = """
import torch

def train(args, model, criterion, loader, rounds):
    optimizer = torch.optim.AdamW(model.parameters())
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.iters)

    def loop(count, end):
        while True:
            for x, y in loader:
                (criterion(model(x), y) / rounds).backward()
                if (count + 1) % rounds == 0:
                    optimizer.step()
                    scheduler.step()
                    optimizer.zero_grad()
                count += 1
                if count >= end:
                    return count

    loop(0, args.iters)
"""


def test_a_run_that_is_over_before_its_first_update_is_no_other_side():
    assert "(when" not in told(STOPPED, "scheduler-horizon-mismatch")


BY_NAME = """
import torch
from accelerate import Accelerator

def train(args, first, second, optimizer, loader):
    accelerator = Accelerator(mixed_precision=args.mixed_precision)
    first, second, optimizer, loader = accelerator.prepare(first, second, optimizer, loader)
    for x in loader:
        accelerator.backward(second(first(x)).mean())
        accelerator.clip_grad_norm_(first.parameters(), 1.0)
        accelerator.clip_grad_norm_(second.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
"""


def test_another_precision_of_the_same_setting_is_the_other_side():
    assert told(BY_NAME, "repeated-unscale").endswith("(when `args.mixed_precision == 'fp16'`)")


RESUMED = """
from accelerate import Accelerator
from transformers import get_scheduler

def train(args, model, optimizer, loader, accumulate):
    accelerator = Accelerator(gradient_accumulation_steps=accumulate)
    schedule = get_scheduler("linear", optimizer, 0, args.max_steps * accumulate)
    model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)
    done = 0
    if args.resume:
        done = int(args.resume.split("-")[1])
    for epoch in range(args.epochs):
        for batch in loader:
            with accelerator.accumulate(model):
                accelerator.backward(model(**batch).loss)
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()
            if accelerator.sync_gradients:
                done += 1
            if done >= args.max_steps:
                break
"""


def test_a_run_in_which_nobody_knows_what_a_horizon_counts_is_no_other_side():
    assert "resume" not in told(RESUMED, "scheduler-horizon-mismatch")


NAMES = """
import torch

def resolved(name):
    FIRST
        return torch.bfloat16
    SECOND
        return torch.float16
    raise ValueError(name)

def train(model, loader, optimizer, name):
    dtype = resolved(name)
    for x, y in loader:
        with torch.autocast("cuda", dtype=dtype):
            loss = torch.nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("first", "second", "said"),
    [
        ("if name == 'bf16':", "if name == 'fp16':", "(when `name == 'fp16'`)"),
        ("if name in {'bf16', 'bfloat16'}:", "if name in {'fp16', 'half'}:", "(when `name in {'fp16', 'half'}`)"),
        ("if name in ('bf16', 'bfloat16'):", "if name in ('fp16', 'half'):", "(when `name in ('fp16', 'half')`)"),
        ("if name == 'bf16':", "if name in ['fp16', 'half']:", "(when `name in ['fp16', 'half']`)"),
        ("if name in {'bf16', 'bfloat16'}:", "else:", "(when `name not in {'bf16', 'bfloat16'}`)"),
        ("if name not in {'fp16', 'half'}:", "else:", "(when `name in {'fp16', 'half'}`)"),
    ],
)
def test_what_a_setting_is_says_more_than_what_it_is_not_and_a_set_of_names_is_written_as_it_is(first, second, said):
    assert told(NAMES.replace("FIRST", first).replace("SECOND", second), "float16-without-scaler").endswith(said)


BUILT = """
import torch
import torch.nn.functional as F
from lib import Net, Teacher
from transformers import AutoModel

def train(config, loader, accum):
    student, teacher = Net(config).to("cuda"), MADE
    optimizer = torch.optim.AdamW(student.parameters())
    for i, (x, y) in enumerate(loader):
        loss = F.cross_entropy(student(x), y)
        if teacher is not None:
            loss = loss + F.kl_div(student(x), teacher(x).detach())
        else:
            loss = loss / accum
        loss.backward()
        if (i + 1) % accum == 0:
            optimizer.step()
            optimizer.zero_grad()
"""


@pytest.mark.parametrize(
    "made", ["Net(config)", "AutoModel.from_pretrained('b')", "Net.from_x(1)", "Teacher(config).to('cuda')"]
)
def test_what_a_class_makes_is_never_none(made):
    assert "(when" not in told(BUILT.replace("MADE", made), "missing-loss-division")


def test_what_a_function_gives_may_be_none():
    message = told(BUILT.replace("MADE", "config.build()"), "missing-loss-division")
    assert message.endswith("(when `teacher is not None`)")


ASKED = """
import os
import torch

ASKS

def train(model, criterion, loader, optimizer, args, n):
    for i, (x, y) in enumerate(loader):
        loss = criterion(model(x), y)
        if TEST:
            loss = loss / n
        loss.backward()
        if (i + 1) % n == 0:
            optimizer.step()
            optimizer.zero_grad()
"""


@pytest.mark.parametrize(
    ("asks", "test", "said"),
    [
        ("", "args.gamma is None", "(when `args.gamma is not None`)"),
        ("", "args.gamma is not None", "(when `args.gamma is None`)"),
        ("", "args.gamma > 0", "(when `args.gamma <= 0`)"),
        ("", "args.gamma == 0", "(when `args.gamma != 0`)"),
        ("", "args.gamma", "(when `args.gamma` is false)"),
        ("", "args.gamma and args.gamma != 0", "(when `args.gamma` is false)"),
        ("on = int(os.environ.get('RANK', -1)) != -1", "on", "(when `int(os.environ.get('RANK', -1)) == -1`)"),
        ("from a.b import able", "able()", "(when `able()` is false)"),
        ("from a.b import able", "able().yes()", "(when `able().yes()` is false)"),
        ("on = int(os.environ['SIZE']) > 1", "on", "(when `int(os.environ['SIZE']) <= 1`)"),
    ],
)
def test_a_setting_is_said_to_be_what_it_is_asked_for(asks, test, said):
    assert told(ASKED.replace("ASKS", asks).replace("TEST", test), "missing-loss-division").endswith(said)


STOPS = """
import os
from dataclasses import dataclass
import torch

@dataclass
class Settings:
    window: int = 1
    resume: str | None = None

def train(model, criterion, loader, optimizer, settings: Settings, limit):
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, total_iters=len(loader) * 3)
    done = int(os.path.basename(settings.resume).split("_")[-1]) if settings.resume else 0
    train = True
    while train:
        count = 0
        for x, y in loader:
            (criterion(model(x), y) / settings.window).backward()
            count += 1
            if count % settings.window == 0:
                optimizer.step()
                optimizer.zero_grad()
                scheduler.step()
                if done >= limit:
                    train = False
                    break
                done += 1
"""


@pytest.mark.parametrize("rule", ["scheduler-horizon-mismatch", "dropped-tail-window"])
def test_a_run_that_a_count_ends_before_the_mistake_can_show_is_no_other_side(rule):
    assert told(STOPS, rule).endswith("(with `settings.window` above its default of 1)")


TREE = Path(__file__).parent.parent / "projects/trees/step_elsewhere"


def test_the_file_is_named_in_which_it_happens(monkeypatch):
    monkeypatch.chdir(TREE)
    text = (TREE / "train.py").read_text()
    assert next(one.message for one in findings_of(text, "train.py")).endswith("drift apart (in `engine.py`)")


LEFT = """
import torch
from lib import masked

def train(model, criterion, loader, optimizer, n, epochs):
    for epoch in range(epochs):
        for i, (x, y) in enumerate(loader):
            (criterion(model(x), y) / n).backward()
            if (i + 1) % n == 0:
                masked(optimizer)
                optimizer.step()
                optimizer.zero_grad()
"""
ONCE = """
import torch
from lib import criterion, loader, masked, model, n

optimizer = torch.optim.SGD(model.parameters(), lr=1)
for i, (x, y) in enumerate(loader):
    (criterion(model(x), y) / n).backward()
    if (i + 1) % n == 0:
        masked(optimizer)
        optimizer.step()
        optimizer.zero_grad()
"""


def test_of_several_epochs_only_the_last_one_is_known_to_lose_what_is_left_over():
    assert told(LEFT, "dropped-tail-window").endswith("leak into the first window of the next epoch, or are lost")
    assert told(ONCE, "dropped-tail-window").endswith("are never stepped: what they contributed is lost")


OF_A_MAPPING = """
import torch

class Trainer:
    def __init__(self, model, loader, config=None):
        self.model, self.loader = model, loader
        self.config = DEFAULTS
        MORE
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=self.config["lr"])

    def epoch(self):
        for step, (x, y) in enumerate(self.loader):
            self.optimizer.zero_grad()
            loss = torch.nn.functional.mse_loss(self.model(x), y)
            (loss / self.config["window"]).backward()
            if (step + 1) % self.config["window"] == 0:
                self.optimizer.step()
"""


@pytest.mark.parametrize(
    ("defaults", "more", "said"),
    [
        ('{"lr": 1e-4, "window": 1}', "self.config.update(config)", "(with `window` above its default of 1)"),
        ('{"lr": 1e-4, "window": 1, **config}', "", "(with `window` above its default of 1)"),
        ('{"lr": 1e-4, "window": 4}', "self.config.update(config)", "counts"),
        ('{"lr": 1, "window": 4}', "self.config.update(config)", "counts"),
    ],
)
def test_a_default_among_those_of_a_mapping_is_named(defaults, more, said):
    assert told(OF_A_MAPPING.replace("DEFAULTS", defaults).replace("MORE", more), "zero-grad-per-micro-step").endswith(
        said
    )


TWO = """
def first(model, criterion, loader, optimizer, every=1):
    for i, (x, y) in enumerate(loader):
        criterion(model(x), y).backward()
        if (i + 1) % every == 0:
            optimizer.step()
            optimizer.zero_grad()

class Loop:
    def __init__(self, model, optimizer, accum=1):
        self.model, self.optimizer, self.accum = model, optimizer, accum

    def train(self, criterion, loader):
        for i, (x, y) in enumerate(loader):
            criterion(self.model(x), y).backward()
            if (i + 1) % self.accum == 0:
                self.optimizer.step()
                self.optimizer.zero_grad()
"""


def test_a_default_is_named_where_it_is_asked_for():
    said = [one.message for one in findings_of(TWO, "train.py") if one.code == "missing-loss-division"]
    assert [one.partition(" (with ")[2] for one in said] == [
        "`every` above its default of 1)",
        "`accum` above its default of 1)",
    ]


HORIZON = """
import argparse
import math
import torch
from accelerate import Accelerator
from transformers import get_scheduler

parser = argparse.ArgumentParser()
parser.add_argument("--max_steps", type=int, default=None)
parser.add_argument("--accum", type=int, default=2)
args = parser.parse_args()
accelerator = Accelerator(gradient_accumulation_steps=args.accum)
model, epochs = torch.nn.Linear(4, 1), 3
optimizer = torch.optim.AdamW(model.parameters())
loader = torch.utils.data.DataLoader(torch.randn(640, 4), batch_size=8)
COUNTED
if args.max_steps is None:
    args.max_steps = epochs * math.ceil(len(loader) / args.accum)
schedule = get_scheduler("linear", optimizer=optimizer, num_warmup_steps=0, num_training_steps=args.max_steps)
model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)
done = 0
for epoch in range(epochs):
    for x in loader:
        with accelerator.accumulate(model):
            accelerator.backward(model(x).pow(2).mean())
            optimizer.step()
            schedule.step()
            optimizer.zero_grad()
        if accelerator.sync_gradients:
            done += 1
        if done >= args.max_steps:
            break
"""


def test_a_horizon_of_the_batches_of_all_ranks_is_the_right_one_though_one_that_is_given_is_not():
    said = told(HORIZON.replace("COUNTED", ""), "scheduler-horizon-mismatch")
    assert said.endswith("(when `args.max_steps is not None`)")
    shared = "loader = accelerator.prepare(loader)"
    assert "(when" not in told(HORIZON.replace("COUNTED", shared), "scheduler-horizon-mismatch")


APEX = """
import torch
from apex import amp


def run(args, model, loader):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    if args.apex:
        model, optimizer = amp.initialize(model, optimizer, opt_level="O1")
    for x, y in loader:
        optimizer.zero_grad()
        torch.nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
"""


def test_what_a_step_counts_on_tells_one_run_from_another():
    assert told(APEX, "bypassed-framework-backward").endswith("(when `args.apex` is true)")
