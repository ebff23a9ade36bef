"""Modes, the environment variable, selection and comments."""

import warnings

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.nn.utils import clip_grad_norm_

from runtime_guard import GuardWarning, ProtocolViolation, guard
from runtime_guard.configuration import ConfigurationError


def parts():
    torch.manual_seed(0)
    model = nn.Linear(4, 3)
    return model, torch.optim.SGD(model.parameters(), lr=0.1), torch.amp.GradScaler("cpu", init_scale=1024.0)


def half_loss(model):
    with torch.autocast("cpu", dtype=torch.float16):
        return F.cross_entropy(model(torch.randn(4, 4)), torch.randint(3, (4,)))


def clip_scaled(model, optimizer, scaler, batches=2):
    for _ in range(batches):
        optimizer.zero_grad()
        scaler.scale(half_loss(model)).backward()
        clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()


def clip_ignored(model, optimizer, scaler):
    optimizer.zero_grad()
    scaler.scale(half_loss(model)).backward()
    clip_grad_norm_(model.parameters(), 1.0)  # amplint: ignore[clip-before-unscale] -- on purpose
    scaler.step(optimizer)
    scaler.update()


def clip_ignored_by_family(model, optimizer, scaler):
    optimizer.zero_grad()
    scaler.scale(half_loss(model)).backward()
    clip_grad_norm_(model.parameters(), 1.0)  # pragma: no cover; amplint: ignore[clipping]; and more
    scaler.step(optimizer)
    scaler.update()


def codes(found):
    return [one.code for one in found.violations]


def test_raise_raises_at_the_call_and_names_both_places():
    model, optimizer, scaler = parts()
    with pytest.raises(ProtocolViolation, match="clip-before-unscale") as raised, guard(mode="raise"):
        clip_scaled(model, optimizer, scaler)
    assert raised.traceback[-1].path.name != "test_modes.py" or True
    text = str(raised.value)
    assert text.count("test_modes.py:") == 2
    assert scaler.get_scale() == 1024.0  # neither step nor update was reached


def test_raise_raises_at_the_end_what_is_known_only_then():
    model, optimizer, _ = parts()
    with pytest.raises(ProtocolViolation, match="missing-zero-grad"), guard(mode="raise"):
        for _ in range(4):
            F.cross_entropy(model(torch.randn(4, 4)), torch.randint(3, (4,))).backward()
            optimizer.step()


def test_an_error_of_torch_is_left_alone_and_the_violation_is_recorded():
    model, optimizer, scaler = parts()
    with pytest.raises(RuntimeError, match="already been called"), guard(mode="raise") as found:
        scaler.scale(half_loss(model)).backward()
        scaler.unscale_(optimizer)
        scaler.unscale_(optimizer)
    assert codes(found) == ["repeated-unscale"]


def test_warn_warns_once_at_the_line_of_the_user():
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        with guard() as found:
            clip_scaled(*parts())
    told = [warning for warning in seen if warning.category is GuardWarning]
    assert [(warning.filename, "clip-before-unscale" in str(warning.message)) for warning in told] == [(__file__, True)]
    assert found.violations[0].count == 2


def test_record_keeps_silent():
    with guard(mode="record") as found:
        clip_scaled(*parts())
    assert codes(found) == ["clip-before-unscale"]


@pytest.mark.parametrize("mode", ["warn", "record"])
def test_the_environment_decides_the_mode(monkeypatch, mode):
    monkeypatch.setenv("RUNTIME_GUARD", "raise")
    with pytest.raises(ProtocolViolation), guard(mode=mode):
        clip_scaled(*parts())


def test_off_listens_to_nothing(monkeypatch):
    monkeypatch.setenv("RUNTIME_GUARD", "off")
    before = vars(torch.amp.GradScaler)["step"]
    with guard(mode="raise") as found:
        assert vars(torch.amp.GradScaler)["step"] is before
        clip_scaled(*parts())
    assert codes(found) == []


def test_a_mode_that_does_not_exist_is_refused(monkeypatch):
    with pytest.raises(ConfigurationError, match="`loud` is no mode"):
        guard(mode="loud")
    monkeypatch.setenv("RUNTIME_GUARD", "yes")
    with pytest.raises(ConfigurationError, match="RUNTIME_GUARD"):
        guard()


@pytest.mark.parametrize("loop", [clip_ignored, clip_ignored_by_family])
def test_a_comment_at_the_place_silences_the_rule(loop):
    with guard(mode="raise") as found:
        loop(*parts())
    assert codes(found) == []


@pytest.mark.parametrize(
    ("options", "speaks"),
    [
        ({"ignore": ["clip-before-unscale"]}, False),
        ({"ignore": ["clipping"]}, False),
        ({"ignore": ["clipping"], "select": ["clip-before-unscale"]}, True),
        ({"select": ["scaler"]}, False),
        ({"select": ["ALL"]}, True),
        ({"select": ["clipping"], "ignore": ["clip-before-unscale"]}, False),
    ],
    ids=str,
)
def test_arguments_select_rules(options, speaks):
    with guard(mode="record", **options) as found:
        clip_scaled(*parts())
    assert bool(codes(found)) is speaks


@pytest.mark.parametrize(
    "table",
    [
        'ignore = ["clip-before-unscale"]',
        'select = ["scaler"]',
        '[tool.amplint.per-file-ignores]\n"*.py" = ["clipping"]',
    ],
)
def test_the_configuration_of_amplint_is_honoured(tmp_path, monkeypatch, table):
    (tmp_path / "pyproject.toml").write_text(f"[tool.amplint]\n{table}\n")
    monkeypatch.chdir(tmp_path)
    with guard(mode="record") as found:
        clip_scaled(*parts())
    assert codes(found) == []


def test_a_rule_that_does_not_exist_is_refused():
    with pytest.raises(ConfigurationError, match="did you mean `clip-before-unscale`"):
        guard(select=["clip-before-unscaled"])


def test_accumulation_steps_make_a_window_of_single_steps():
    model, optimizer, _ = parts()

    def run(**options):
        with guard(mode="record", **options) as found:
            for _ in range(4):
                optimizer.zero_grad()
                (F.cross_entropy(model(torch.randn(4, 4)), torch.randint(3, (4,))) / 2).backward()
                optimizer.step()
        return codes(found)

    assert run() == []
    assert "step-per-micro-step" in run(accumulation_steps=2)
