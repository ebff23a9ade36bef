"""What is set elsewhere in a project decides what is an error: Lightning's precision."""

import pytest

from amplint.analysis import findings_of
from amplint.findings import Severity

MODULE = """\
import lightning.pytorch as pl


class Clipping(pl.LightningModule):
    def __init__(self, criterion):
        super().__init__()
        self.automatic_optimization = False
        self.criterion = criterion

    def training_step(self, batch, batch_idx):
        optimizer = self.optimizers()
        loss = self.criterion(self(batch[0]), batch[1])
        optimizer.zero_grad()
        self.manual_backward(loss)
        self.clip_gradients(optimizer, gradient_clip_val=1.0)
        optimizer.step()
"""
SCALED = {
    "train.py": 'import lightning.pytorch as pl\n\npl.Trainer(devices=1, precision="16-mixed")\n',
    "defaults.ini": "[DEFAULTS]\nprecision = '16-mixed'\n",
    "configs/trainer/gpu.yaml": "accelerator: gpu\nprecision: 16 # or 32\n",
    "conf.toml": 'precision = "16"\n',
    "settings.json": '{"trainer": {"precision": 16}}',
}
FROM_ELSEWHERE = {
    "train.py": "import lightning.pytorch as pl\n\npl.Trainer(devices=1, **options)\n",
    "run.py": "import lightning as L\n\nL.Trainer(devices=1, precision=args.precision)\n",
    "old.py": "trainer = Trainer.from_argparse_args(args)\n",
    "cli.py": "from lightning.pytorch.cli import LightningCLI\n\nLightningCLI()\n",
    "configs/trainer/default.yaml": "_target_: lightning.pytorch.Trainer\naccelerator: gpu\n",
}
NOT_SCALED = {
    "train.py": "import lightning.pytorch as pl\n\npl.Trainer(devices=1)\n",
    "configs/trainer/gpu.yaml": "precision: 32\ndecimal_precision: 16\n",
    "notes/gpu.yaml": "precision: 16-mixed\n",
    "defaults.ini": "precision = 16-true\n",
}

ELSE = {
    "train.py": 'import lightning.pytorch as pl\n\npl.Trainer(devices=1, precision="bf16-mixed")\n',
    "fit.py": "trainer = Trainer(\n    callbacks=[Stop(3), Save()],\n    precision=32,\n)\n",
    "half.py": "trainer = lightning.Trainer(precision='16-true', max_epochs=3)\n",
}


def severities(tmp_path, monkeypatch, name, text):
    monkeypatch.chdir(tmp_path)
    for file, content in (("own/models/net.py", MODULE), (name, text)):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).write_text(content)
    return [(found.code, found.severity) for found in findings_of(MODULE, "own/models/net.py")]


@pytest.mark.parametrize("name", SCALED)
def test_a_clip_before_lightning_unscales_is_an_error_where_the_project_scales(tmp_path, monkeypatch, name):
    told = severities(tmp_path, monkeypatch, name, SCALED[name])
    assert told == [("clip-before-unscale", Severity.ERROR)]


@pytest.mark.parametrize("name", FROM_ELSEWHERE)
def test_it_is_a_warning_where_a_trainer_is_given_a_precision_that_is_not_known(tmp_path, monkeypatch, name):
    told = severities(tmp_path, monkeypatch, name, FROM_ELSEWHERE[name])
    assert told == [("clip-before-unscale", Severity.WARNING)]


OPTION = 'parser.add_argument("--precision", type=str, {}help="of the run")\n'
GIVEN = "pl.Trainer(devices=1, precision=args.precision)\n"


@pytest.mark.parametrize("default", ["default=16, ", 'default="16-mixed", '])
def test_it_is_an_error_where_every_trainer_is_given_an_option_that_scales_by_default(tmp_path, monkeypatch, default):
    told = severities(tmp_path, monkeypatch, "train.py", OPTION.format(default) + GIVEN)
    assert told == [("clip-before-unscale", Severity.ERROR)]


@pytest.mark.parametrize(
    "text",
    [
        OPTION.format("") + GIVEN,
        OPTION.format("default=32, ") + GIVEN,
        OPTION.format('default="16-true", ') + GIVEN,
        OPTION.format("default=16, ") + GIVEN + "pl.Trainer(devices=1)\n",
        OPTION.format("default=16, ") + GIVEN + OPTION.format("default='bf16-mixed', "),
        OPTION.format("default=16, "),
    ],
)
def test_it_is_a_warning_where_an_option_or_a_trainer_may_choose_otherwise(tmp_path, monkeypatch, text):
    told = severities(tmp_path, monkeypatch, "train.py", text)
    assert told == [("clip-before-unscale", Severity.WARNING)]


@pytest.mark.parametrize(("name", "text"), [*NOT_SCALED.items(), *ELSE.items()])
def test_nothing_is_said_where_the_trainer_keeps_its_precision_or_is_given_another(tmp_path, monkeypatch, name, text):
    assert severities(tmp_path, monkeypatch, name, text) == []


def test_it_is_an_error_where_one_of_two_trainers_scales(tmp_path, monkeypatch):
    told = severities(tmp_path, monkeypatch, "train.py", ELSE["train.py"] + SCALED["train.py"])
    assert told == [("clip-before-unscale", Severity.ERROR)]


STEPPING = (
    MODULE.replace("self.criterion(self(batch[0]), batch[1])", "self.loss_of(batch)")
    + """
    def loss_of(self, batch):
        raise NotImplementedError
"""
)
DERIVED = """\
import lightning.pytorch as pl
from torch import nn

from net import Clipping


class Mine(Clipping):
    def __init__(self, net):
        super().__init__(nn.MSELoss())
        self.net = net

    def loss_of(self, batch):
        return self.criterion(self.net(batch[0]), batch[1])
"""


def test_a_class_in_another_file_that_derives_from_it_runs_with_the_precision_of_the_project(tmp_path, monkeypatch):
    for file, content in (("net.py", STEPPING), ("mine.py", DERIVED), ("run.py", FROM_ELSEWHERE["run.py"])):
        (tmp_path / file).write_text(content)
    monkeypatch.chdir(tmp_path)
    assert [(found.code, found.severity) for found in findings_of(STEPPING, "net.py")] == [
        ("clip-before-unscale", Severity.WARNING)
    ]


def test_what_lies_above_the_project_says_nothing(tmp_path, monkeypatch):
    (tmp_path / "defaults.ini").write_text(SCALED["defaults.ini"])
    inside = tmp_path / "project"
    inside.mkdir()
    assert severities(inside, monkeypatch, "setup.py", "") == []
    assert severities(inside, monkeypatch, "train.py", SCALED["train.py"]) == [("clip-before-unscale", Severity.ERROR)]


RAW = """\
import lightning.pytorch as pl


class Raw(pl.LightningModule):
    def __init__(self, criterion):
        super().__init__()
        self.automatic_optimization = False
        self.criterion = criterion

    def training_step(self, batch, batch_idx):
        optimizer = self.optimizers()
        loss = self.criterion(self(batch[0]), batch[1])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""
HARMLESS = (
    "pl.Trainer(devices=1)",
    'Trainer(accelerator="cpu", logger=Logger("runs"), max_epochs=3)',
    'fits = Trainer(devices=1)\nlooks = Trainer(precision="16-mixed")\nfits.fit(model)\nlooks.test(model)',
    'pl.Trainer(precision="32-true", devices=1)',
    'Trainer(max_epochs=3, devices="1", precision="bf16-mixed", callbacks=[Stop(3)])',
    "lightning.Trainer(\n    devices=[0],\n    precision=32,\n)",
)
NEEDED = (
    'Trainer(accelerator="cpu", devices=2)',
    'fits = Trainer(devices=1)\nlooks = Trainer(precision="16-mixed")\nfits.fit(model)\nlooks.fit(model)',
    'pl.Trainer(precision="16-mixed", devices=1)',
    'pl.Trainer(precision="32-true", devices=4)',
    'pl.Trainer(precision="32-true", devices=1, strategy="deepspeed_stage_2")',
    'pl.Trainer(precision="32-true")',
    'pl.Trainer(precision="bf16-mixed", devices=1)\npl.Trainer(precision="bf16-mixed", devices=-1)',
)


def told_of_raw(tmp_path, monkeypatch, trainer):
    monkeypatch.chdir(tmp_path)
    text = f"{RAW}\n\n{trainer}\n"
    (tmp_path / "train.py").write_text(text)
    return findings_of(text, "train.py")


@pytest.mark.parametrize("trainer", HARMLESS)
def test_a_raw_backward_is_harmless_where_nothing_is_scaled_on_one_device(tmp_path, monkeypatch, trainer):
    assert told_of_raw(tmp_path, monkeypatch, trainer) == []


def test_a_raw_backward_is_a_warning_where_no_trainer_is_seen(tmp_path, monkeypatch):
    (found,) = told_of_raw(tmp_path, monkeypatch, "")
    assert (found.code, found.severity) == ("bypassed-framework-backward", Severity.WARNING)


@pytest.mark.parametrize("trainer", NEEDED)
def test_a_raw_backward_is_an_error_where_the_strategy_may_add_to_it(tmp_path, monkeypatch, trainer):
    (found,) = told_of_raw(tmp_path, monkeypatch, trainer)
    assert (found.code, found.severity) == ("bypassed-framework-backward", Severity.ERROR)
    assert "divided by the window" not in found.message


HANDED = """\
import lightning.pytorch as pl
from torch.optim.lr_scheduler import StepLR


class Model(pl.LightningModule):
    automatic_optimization = False

    def configure_optimizers(self):
        optimizer = make(self.net)
        return [optimizer], [StepLR(optimizer, 10)]

    def training_step(self, batch, batch_idx):
        self.manual_backward(self.net(batch).mean())
        self.optimizers().step()
"""


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("def end(trainer, module):\n    module.lr_schedulers().step()\n", []),
        ("def end(trainer):\n    trainer.lr_scheduler_configs[0].scheduler.step()\n", []),
        ("def end(self):\n    self.lr_schedulers().step()\n", ["scheduler-never-stepped"]),
        ("def end(self):\n    print(self.trainer.lr_scheduler_configs)\n", ["scheduler-never-stepped"]),
    ],
)
def test_a_schedule_is_idle_unless_another_file_of_the_project_gets_at_it(tmp_path, monkeypatch, text, told):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").write_text(HANDED)
    (tmp_path / "callback.py").write_text(text)
    assert [found.code for found in findings_of(HANDED, "model.py")] == told


def clipped_by_torch(head, made):
    return f"""\
import torch
{head}


def train(args, cfg, model, optimizer, loader, criterion):
    {made}
    model, optimizer = owner.setup(model, optimizer)
    for x, y in loader:
        owner.backward(criterion(model(x), y))
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
"""


def by_accelerate(arguments):
    text = clipped_by_torch("from accelerate import Accelerator", f"owner = Accelerator({arguments})")
    return text.replace("setup", "prepare").replace("owner", "accelerator")


def by_fabric(arguments):
    text = clipped_by_torch("from lightning.fabric import Fabric", f"owner = Fabric({arguments})")
    return text.replace("owner", "fabric")


@pytest.mark.parametrize(
    ("text", "name", "setting", "severity"),
    [
        (by_accelerate(""), "setup.py", "", Severity.WARNING),
        (by_accelerate(""), "accelerate.yaml", "mixed_precision: bf16\n", Severity.WARNING),
        (by_accelerate(""), "accelerate.yaml", "mixed_precision: fp16\n", Severity.ERROR),
        (by_accelerate(""), "run.sh", "accelerate launch --mixed_precision fp16 train.py\n", Severity.ERROR),
        (by_accelerate("mixed_precision=args.precision"), "setup.py", "", Severity.ERROR),
        (by_accelerate('mixed_precision="fp16"'), "setup.py", "", Severity.ERROR),
        (by_accelerate('mixed_precision="bf16"'), "setup.py", "", Severity.WARNING),
        (by_fabric("devices=2"), "setup.py", "", Severity.WARNING),
        (by_fabric("**cfg.fabric"), "setup.py", "", Severity.WARNING),
        (by_fabric("**cfg.fabric"), "conf/fabric.yaml", "precision: 16-mixed\n", Severity.ERROR),
        (by_fabric("precision=args.precision"), "setup.py", "", Severity.ERROR),
        (by_fabric("plugins=args.plugins"), "setup.py", "", Severity.WARNING),
        (by_fabric('plugins=[MixedPrecision("16-mixed", "cuda")]'), "setup.py", "", Severity.ERROR),
    ],
)
def test_torchs_clip_is_an_error_where_the_program_or_its_project_scales(
    tmp_path, monkeypatch, text, name, setting, severity
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text(setting)
    (tmp_path / "train.py").write_text(text)
    told = findings_of(text, "train.py")
    assert [(found.code, found.severity) for found in told] == [("bypassed-framework-clip", severity)]


@pytest.mark.parametrize("owner", ["accelerator", "fabric"])
def test_torchs_clip_is_a_warning_where_the_framework_was_set_up_elsewhere(tmp_path, monkeypatch, owner):
    monkeypatch.chdir(tmp_path)
    text = clipped_by_torch("", "pass").replace("owner", owner).replace("cfg", owner)
    text = text.replace(f"    model, optimizer = {owner}.setup(model, optimizer)\n", "")
    assert [(found.code, found.severity) for found in findings_of(text, "train.py")] == [
        ("bypassed-framework-clip", Severity.WARNING)
    ]
