"""The guard changes no number, no object and no line that torch names; it leaves nothing behind."""

import contextlib
import copy
import gc
import pickle
import sys
import warnings

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import clip_grad_norm_, clip_grad_value_
from torch.optim.lr_scheduler import LRScheduler, StepLR
from torch.utils.data.dataloader import _BaseDataLoaderIter

from runtime_guard import guard
from runtime_guard.hooks import defining
from runtime_guard.stepping import Stepping


def parts():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(6, 16), nn.Dropout(0.2), nn.ReLU(), nn.Linear(16, 3))
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0, growth_interval=3)
    return model, optimizer, scaler, StepLR(optimizer, 2, gamma=0.5)


def train(model, optimizer, scaler, scheduler, windows=5):
    for index in range(windows * 4):
        x, y = torch.randn(8, 6), torch.randint(3, (8,))
        with torch.autocast("cpu", dtype=torch.float16):
            loss = F.cross_entropy(model(x), y) / 4
        scaler.scale(loss).backward()
        if index % 4 == 3:
            scaler.unscale_(optimizer)
            clip_grad_norm_(model.parameters(), 0.5)
            scaler.step(optimizer)
            scaler.update()
            scheduler.step()
            optimizer.zero_grad()


def result(listen=None):
    made = parts()
    if listen is None:
        train(*made)
    else:
        with listen:
            train(*made)
    model, optimizer, scaler, scheduler = made
    states = [*optimizer.state_dict()["state"].values()]
    numbers = [*model.state_dict().values(), *(value for state in states for value in state.values())]
    return [number.clone() for number in numbers], scaler.get_scale(), scheduler.get_last_lr(), torch.rand(1)


@pytest.mark.parametrize("options", [{}, {"probe_every": 0}, {"accumulation_steps": 4}], ids=str)
def test_every_number_is_bit_identical(options):
    plain, scale, rate, random = result()
    guarded, guarded_scale, guarded_rate, guarded_random = result(guard(mode="record", **options))
    assert all(torch.equal(one, other) for one, other in zip(plain, guarded, strict=True))
    assert (scale, rate, random) == (guarded_scale, guarded_rate, guarded_random)


def places():
    """Everything that the guard may touch, as it is now."""
    families = [(torch.amp.GradScaler, name) for name in ("__init__", "scale", "unscale_", "step", "update")]
    families += [(torch.optim.Optimizer, "zero_grad"), (torch.optim.Optimizer, "__init__"), (nn.Module, "zero_grad")]
    families += [(LRScheduler, "step"), (LRScheduler, "__init__"), (_BaseDataLoaderIter, "__next__")]
    found = {(owner, name): vars(owner)[name] for root, name in families for owner in defining(root, name)}
    found[torch.autograd, "_engine_run_backward"] = torch.autograd._engine_run_backward
    for clip in (clip_grad_norm_, clip_grad_value_):
        found[clip, "inner"] = clip.__closure__[0].cell_contents
    hooks = sys.modules["torch.optim.optimizer"]  # torch.optim shows no such attribute
    found["hooks"] = (len(hooks._global_optimizer_pre_hooks), len(hooks._global_optimizer_post_hooks))
    return found


@pytest.fixture(autouse=True, scope="module")
def loaded():
    """The first guard of a process loads parts of torch, and with them classes that were not there before."""
    with guard(mode="record"):
        pass


def test_removal_restores_every_place_by_identity():
    before = places()
    with guard(mode="record"):
        during = places()
    after = places()
    assert sum(during[key] is not before[key] for key in before) > 15
    assert before.keys() == after.keys()
    assert all(after[key] is before[key] for key in before if key != "hooks")
    assert after["hooks"] == before["hooks"]


def test_removal_happens_when_the_block_raises():
    before = places()
    with pytest.raises(ZeroDivisionError), guard(mode="record"):
        raise ZeroDivisionError
    assert all(after is before[key] for key, after in places().items() if key != "hooks")


def test_nested_guards_come_off_in_turn():
    before = places()
    hasty = ["short-growth-interval"]  # on purpose here: the scale is to change during the test
    with guard(mode="record", ignore=hasty) as outer, guard(mode="record", ignore=hasty) as inner:
        train(*parts(), windows=2)
    assert all(after is before[key] for key, after in places().items() if key != "hooks")
    assert outer.violations == inner.violations == []


def test_objects_keep_their_type_and_travel():
    with guard(mode="record"):
        model, optimizer, scaler, scheduler = parts()
        train(model, optimizer, scaler, scheduler, windows=1)
        assert type(optimizer) is torch.optim.AdamW
        assert type(scaler) is torch.amp.GradScaler
        assert type(scheduler) is StepLR
        assert set(scheduler.state_dict()) == set(StepLR(copy.deepcopy(optimizer), 2).state_dict())
        assert all("guard" not in name for thing in (optimizer, scaler, scheduler, model) for name in vars(thing))
        copied = copy.deepcopy((model, optimizer, scaler))
        moved = pickle.loads(pickle.dumps((model, optimizer, scaler)))
    for other in (copied, moved):
        train(other[0], other[1], other[2], StepLR(other[1], 2), windows=1)


def test_nothing_of_the_user_is_kept_alive():
    with guard(mode="record"):
        made = parts()
        train(*made, windows=2)
        alive = [torch.tensor(0)]
        import weakref

        watched = [weakref.ref(thing) for thing in (*made, next(made[0].parameters()))]
        del made, alive
        gc.collect()
        assert [thing() for thing in watched] == [None] * len(watched)


def test_a_listener_that_fails_is_switched_off_and_says_so_once(monkeypatch, capsys):
    def fails(self, args, kwargs):
        raise OSError("broken")

    monkeypatch.setattr(Stepping, "zeroes", fails)
    with guard(mode="record") as found:
        train(*parts(), windows=3)
    said = capsys.readouterr().err
    assert said.count("zero_grad failed in the guard and is switched off: OSError: broken") == 1
    assert any("zero_grad failed" in reason for reason in found.report()["not_covered"])


def warned():
    """The files that torch names in its warnings: the user's, where it warns with a stack level (not in torch 2.6)."""
    _, optimizer, _, _ = parts()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        scheduler = StepLR(optimizer, 2)
        scheduler.step()
        torch.amp.GradScaler("cuda") if not torch.cuda.is_available() else None
    return [warning.filename for warning in seen]


def test_torch_still_names_the_line_of_the_user():
    with guard(mode="record"):
        found = warned()
    assert found == warned() != []


def test_a_step_that_raises_does_not_confuse_the_guard():
    model, optimizer, _, _ = parts()
    with guard(mode="record") as found:
        for index in range(4):
            F.cross_entropy(model(torch.randn(4, 6)), torch.randint(3, (4,))).backward()
            with pytest.raises(ZeroDivisionError) if index == 1 else warnings.catch_warnings():
                optimizer.step((lambda: 1 / 0) if index == 1 else None)
            optimizer.zero_grad()
    assert found.report()["windows"]["count"] == 3
    assert found.violations == []


def test_a_backward_that_raises_does_not_confuse_the_guard():
    model, optimizer, _, _ = parts()
    with guard(mode="record") as found:
        for _ in range(4):
            loss = F.cross_entropy(model(torch.randn(4, 6)), torch.randint(3, (4,)))
            loss.backward()
            with pytest.raises(RuntimeError, match="second time"):
                loss.backward()
            optimizer.step()
            optimizer.zero_grad()
    assert found.report()["windows"]["count"] == 4
    assert found.violations == []


def test_a_loss_whose_graph_is_gone_does_not_confuse_the_guard(capsys):
    """However well known such losses are: what torch kept for their backward is freed with the first one."""
    model = nn.Linear(2, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with guard(mode="record") as found:
        for step in range(12):
            loss = F.cross_entropy(model(torch.ones(4, 2)), torch.zeros(4).long()) / 2
            for _ in range(2 if step > 5 else 1):
                with contextlib.suppress(RuntimeError):
                    loss.backward()
            optimizer.step()
            optimizer.zero_grad()
    assert found.report()["windows"]["count"] == 12
    assert "switched off" not in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore")
def test_a_compiled_model_and_step_are_seen():
    torch._dynamo.reset()
    model, optimizer, _, _ = parts()
    compiled = torch.compile(model, backend="eager")
    step = torch.compile(lambda: optimizer.step(), backend="eager")
    with guard(mode="record") as found:
        for _ in range(3):
            F.cross_entropy(compiled(torch.randn(4, 6)), torch.randint(3, (4,))).backward()
            step()
            optimizer.zero_grad()
    assert found.report()["windows"] == {"count": 3, "micro_steps": {"1": 3}, "effective_lr_multiplier": 1.0}
    assert found.violations == []


@pytest.mark.parametrize("options", [{"foreach": True}, {"fused": True}, {}], ids=str)
def test_flavours_of_a_step_are_seen_alike(options):
    model = nn.Linear(6, 3)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, **options)
    with guard(mode="record") as found:
        train(model, optimizer, torch.amp.GradScaler("cpu", init_scale=16.0), StepLR(optimizer, 2), windows=3)
    assert found.report()["windows"]["micro_steps"] == {"4": 3}
    assert found.violations == []
