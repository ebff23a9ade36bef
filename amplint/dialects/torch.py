"""Native PyTorch 2.13: `torch.amp`, `torch.optim`, `torch.nn.utils` (`torch.cuda.amp` is deprecated since 2.4)."""

from __future__ import annotations

from amplint.dialects.account import Account
from amplint.dialects.dialect import Dialect, Role, ScalerClass
from amplint.dialects.schedules import (
    BASES,
    DIFFUSERS_SCHEDULES,
    FORMER_SCHEDULES,
    OF_A_TABLE,
    SWA_SCHEDULES,
    TORCH_SCHEDULES,
    TRANSFORMERS_SCHEDULES,
    Schedule,
)
from amplint.protocol.events import Kind
from amplint.protocol.precision import Precision
from amplint.protocol.ranks import Wrapper

_SCALERS = {
    "torch.amp.GradScaler": ScalerClass(None),
    "torch.amp.grad_scaler.GradScaler": ScalerClass(None),
    "torch.GradScaler": ScalerClass(None),
    "torch.cuda.amp.GradScaler": ScalerClass("cuda"),
    "torch.cuda.amp.grad_scaler.GradScaler": ScalerClass("cuda"),
    "torch.cpu.amp.GradScaler": ScalerClass("cpu"),
    "torch.distributed.fsdp.sharded_grad_scaler.ShardedGradScaler": ScalerClass(None, sharded=True),
}
_LOSSES = (
    "binary_cross_entropy",
    "binary_cross_entropy_with_logits",
    "cosine_embedding_loss",
    "cross_entropy",
    "ctc_loss",
    "gaussian_nll_loss",
    "hinge_embedding_loss",
    "huber_loss",
    "kl_div",
    "l1_loss",
    "margin_ranking_loss",
    "mse_loss",
    "multi_margin_loss",
    "multilabel_margin_loss",
    "multilabel_soft_margin_loss",
    "nll_loss",
    "poisson_nll_loss",
    "smooth_l1_loss",
    "soft_margin_loss",
    "triplet_margin_loss",
)
_CRITERIA = (
    "BCELoss",
    "BCEWithLogitsLoss",
    "CosineEmbeddingLoss",
    "CrossEntropyLoss",
    "CTCLoss",
    "GaussianNLLLoss",
    "HingeEmbeddingLoss",
    "HuberLoss",
    "KLDivLoss",
    "L1Loss",
    "MSELoss",
    "MarginRankingLoss",
    "MultiLabelMarginLoss",
    "MultiLabelSoftMarginLoss",
    "MultiMarginLoss",
    "NLLLoss",
    "PoissonNLLLoss",
    "SmoothL1Loss",
    "SoftMarginLoss",
    "TripletMarginLoss",
)
_SCHEDULES: dict[str, Schedule] = {
    f"{module}.{name}": schedule
    for modules, schedules in (
        (("torch.optim.lr_scheduler",), {**TORCH_SCHEDULES, **BASES}),
        (("torch.optim.swa_utils",), SWA_SCHEDULES),
        (("transformers", "transformers.optimization"), {**TRANSFORMERS_SCHEDULES, **FORMER_SCHEDULES}),
        (("pytorch_transformers", "pytorch_transformers.optimization"), FORMER_SCHEDULES),
        (("diffusers.optimization",), DIFFUSERS_SCHEDULES),
        (("transformers.optimization", "diffusers.optimization"), OF_A_TABLE),
    )
    for module in modules
    for name, schedule in schedules.items()
}
_OPTIMIZERS = tuple("adadelta adagrad adam adamax adamw asgd lbfgs nadam radam rmsprop rprop sgd sparse_adam".split())
"""The modules that the classes of `torch.optim` are defined in (torch 2.13, `optim/__init__.py`)."""
_TENSORS = """arange as_tensor cat empty eye from_numpy full full_like linspace ones ones_like rand randint randn stack
    tensor zeros zeros_like""".split()
_CLIPS = ("clip_grad_norm_", "clip_grad_value_", "clip_grad_norm", "clip_grads_with_norm_")

_OF_OPTIMIZERS = frozenset(
    "OptimizerPostHook OptimizerPreHook add_param_group defaults load_state_dict param_groups profile_hook_step state "
    "state_dict step zero_grad".split()
)
"""What an optimizer has besides hooks (torch 2.13, `optim/optimizer.py`)."""

TORCH = Dialect(
    name="torch",
    makes={
        **dict.fromkeys(_SCALERS, Role.SCALER),
        **{f"torch.nn.{name}": Role.CRITERION for name in _CRITERIA},
        **{f"torch.nn.modules.loss.{name}": Role.CRITERION for name in _CRITERIA},
        "torch.optim.lr_scheduler.*": Role.SCHEDULER,
        "torch.optim.*": Role.OPTIMIZER,
        **{f"torch.optim.{module}.*": Role.OPTIMIZER for module in _OPTIMIZERS},
        "bitsandbytes.optim.*": Role.OPTIMIZER,
        "transformers.AdamW": Role.OPTIMIZER,
        "transformers.Adafactor": Role.OPTIMIZER,
        "transformers.optimization.AdamW": Role.OPTIMIZER,
        "transformers.optimization.Adafactor": Role.OPTIMIZER,
        "pytorch_transformers.AdamW": Role.OPTIMIZER,
        "pytorch_transformers.optimization.AdamW": Role.OPTIMIZER,
        **dict.fromkeys(_SCHEDULES, Role.SCHEDULER),
    },
    calls={f"torch.nn.utils.{name}": Kind.CLIP for name in _CLIPS}
    | {f"torch.nn.utils.clip_grad.{name}": Kind.CLIP for name in _CLIPS},
    methods={
        Role.OPTIMIZER: {"step": Kind.STEP, "zero_grad": Kind.ZERO_GRAD},
        Role.SCALER: {
            "scale": Kind.SCALE,
            "unscale_": Kind.UNSCALE,
            "step": Kind.SCALER_STEP,
            "update": Kind.UPDATE,
        },
        Role.SCHEDULER: {"step": Kind.SCHEDULER_STEP},
        Role.MODEL: {"zero_grad": Kind.ZERO_GRAD, "clip_grad_norm_": Kind.CLIP, "clip_grad_norm": Kind.CLIP},
        Role.GRADIENT: {"norm": Kind.NORM, "div_": Kind.DIVIDE, "mul_": Kind.DIVIDE, "zero_": Kind.ZERO_GRAD}
        | dict.fromkeys(("clamp_", "clip_"), Kind.CLIP),
    },
    sentences={
        Kind.SCALE: "{scaler}.scale({loss}).backward()",
        Kind.BACKWARD: "{loss}.backward()",
        Kind.UNSCALE: "{scaler}.unscale_({optimizer})",
        Kind.SCALER_STEP: "{scaler}.step({optimizer})",
        Kind.STEP: "{optimizer}.step()",
        Kind.UPDATE: "{scaler}.update()",
        Kind.ZERO_GRAD: "{optimizer}.zero_grad()",
        Kind.SCHEDULER_STEP: "{scheduler}.step()",
    },
    primitives={
        "torch.autograd.backward": "back_propagated",
        "torch.autograd.grad": "differentiated",
        "torch.distributed.fsdp.MixedPrecision": "precision_of_parameters",
        "torch.distributed.fsdp.api.MixedPrecision": "precision_of_parameters",
        **dict.fromkeys(("torch.cat", "torch.concat", "torch.hstack", "torch.stack"), "joined"),
        "torch.mean": "mean",
        "torch.set_autocast_cpu_dtype": "default_precision_set",
        "torch.set_autocast_dtype": "default_precision_set",
        "torch.set_autocast_enabled": "region_switched",
        "torch.set_autocast_gpu_dtype": "default_precision_set",
        "torch.sum": "sum",
        "torch.utils.data.DataLoader": "loader",
        "torch.utils.data.DistributedSampler": "share_of_a_rank",
        "torch.utils.data.dataloader.DataLoader": "loader",
        "torch.utils.data.distributed.DistributedSampler": "share_of_a_rank",
    },
    behaviour="torch.behaviour",
    framework=False,
    defines={
        "torch.multiprocessing.spawn": "spawn",
        "torch.multiprocessing.spawn.spawn": "spawn",
        "torch.utils.checkpoint.checkpoint": "checkpoint",
    },
    needs=frozenset({"checkpoint", "spawn"}),
    scalers=_SCALERS,
    has={"torch.optim": _OF_OPTIMIZERS},
    schedules=_SCHEDULES,
    losses=frozenset(f"torch.nn.functional.{name}" for name in _LOSSES),
    transparent=frozenset(
        {
            "torch.nn.DataParallel",
            "torch.nn.parallel.DataParallel",
            "torch.compile",
            "torch.nn.SyncBatchNorm.convert_sync_batchnorm",  # with its parameters: `batchnorm.py` of torch 2.13
            "torch.nn.modules.batchnorm.SyncBatchNorm.convert_sync_batchnorm",
        }
    ),
    wrappers={
        "torch.nn.parallel.DistributedDataParallel": Wrapper.DDP,
        "torch.nn.parallel.distributed.DistributedDataParallel": Wrapper.DDP,
        "torch.distributed.fsdp.FullyShardedDataParallel": Wrapper.SHARDED,
        "torch.distributed.fsdp.fully_sharded_data_parallel.FullyShardedDataParallel": Wrapper.SHARDED,
    },
    governs=frozenset(
        {
            "accelerate",
            "apex",
            "catalyst",
            "colossalai",
            "composer",
            "deepspeed",
            "fairscale",
            "fairseq",
            "fastai",
            "horovod",
            "ignite",
            "lightning",
            "lightning_fabric",
            "megatron",
            "mmcv",
            "mmengine",
            "oslo",
            "pytorch_lightning",
            "smdistributed",
            "timm",
            "torch_xla",
        }
    ),
    autocasts={
        "torch.autocast": None,
        "torch.amp.autocast": None,
        "torch.amp.autocast_mode.autocast": None,
        "torch.cuda.amp.autocast": "cuda",
        "torch.cuda.amp.autocast_mode.autocast": "cuda",
        "torch.cpu.amp.autocast": "cpu",
        "torch.cpu.amp.autocast_mode.autocast": "cpu",
    },
    plain=("torch.nn.", "torchvision.models.", "transformers."),
    quiet=frozenset(
        """state_dict load_state_dict add_param_group train eval get_last_lr get_lr get_scale get_growth_factor
        get_backoff_factor get_growth_interval _found_inf_per_device set_growth_interval items keys values __repr__
        share_memory consolidate_state_dict register_state_dict_pre_hook param_groups to_dict""".split()
    ),
    computes=("torch.",),
    asks=(
        "torch.cuda.",
        "torch.distributed.",
        "torch.device",
        "torch.backends.",
        "torch.version",
        "torch.utils.data",
    ),
    tensors=frozenset(f"torch.{name}" for name in _TENSORS),
    in_place=("torch._foreach_", "torch."),
    collectives=frozenset(
        f"torch.distributed.{module}{name}" for module in ("", "distributed_c10d.") for name in ("all_reduce", "reduce")
    ),
    norms=frozenset(
        """torch.norm torch.linalg.norm torch.linalg.vector_norm torch.nn.utils.get_total_norm
        torch.nn.utils.clip_grad.get_total_norm""".split()
    ),
    products=("torch.nn.Linear(", "torch.nn.Conv"),
    dtypes={
        "torch.float16": Precision.FLOAT16,
        "torch.half": Precision.FLOAT16,
        "torch.bfloat16": Precision.BFLOAT16,
        "torch.float32": Precision.OFF,
        "torch.float": Precision.OFF,
    },
    spelled={"torch.half": "torch.float16", "torch.float": "torch.float32"},
    devices={"torch.cuda.is_available": "cuda"},
    neutral=frozenset({"torch"}),
    without_graph=("torch.no_grad", "torch.inference_mode", "torch.autograd.no_grad"),
    with_graph=("torch.enable_grad",),
    words=frozenset(
        {".backward", ".zero_grad", "GradScaler", "autocast", "cuda.amp", "cuda import amp", "bf16=True"}
        | {"scaler.state_dict", "clip_grad_norm_", "DistributedDataParallel"}
    ),
    accounts=(
        Account(
            framework="torch alone",
            version="torch 2.13",
            divides=("you", "every backward adds to `.grad`"),
            scales=("`scaler.scale`", "torch/amp/grad_scaler.py, `scale`"),
            unscales=("you, `scaler.unscale_`", "torch/amp/grad_scaler.py, `unscale_`"),
            gates=("you", "torch/optim/optimizer.py, `step`"),
            schedules=("you", "torch/optim/lr_scheduler.py, `step`"),
            saves=("you, `scaler.state_dict()`", "torch/amp/grad_scaler.py, `state_dict`"),
        ),
    ),
)
