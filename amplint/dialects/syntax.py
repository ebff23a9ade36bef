"""Public names that are looked for where code is read, before anything runs (torch 2.13, transformers 5.23)."""

from __future__ import annotations

import re

from amplint.dialects.public import DTYPES, EVENTS, SCALERS
from amplint.dialects.transformers import TRAINER_LOOP as TRAINER_LOOP
from amplint.protocol.events import Kind
from amplint.protocol.precision import Precision

FLOAT16 = frozenset(name for name, said in DTYPES.items() if said is Precision.FLOAT16)
BFLOAT16 = frozenset(name for name, said in DTYPES.items() if said is Precision.BFLOAT16)

AUTOCASTS_OF_CUDA = frozenset({"torch.cuda.amp.autocast", "torch.cuda.amp.autocast_mode.autocast"})
AUTOCASTS_OF_ANY = frozenset({"torch.autocast", "torch.amp.autocast", "torch.amp.autocast_mode.autocast"})
AUTOCASTS = AUTOCASTS_OF_CUDA | AUTOCASTS_OF_ANY
"""Contexts of autocast; the second kind is told the device."""

FORMER_AMP, AMP = "torch.cuda.amp", "torch.amp"
PACKAGE = "torch"
"""Where mixed precision stands, in an old and in a new release; the package of both."""

FUNCTION = "torch.autograd.Function"
FUNCTIONS = frozenset({FUNCTION, "torch.autograd.function.Function"})
"""The class that functions with a backward of their own derive from."""

LOWERED = frozenset(
    f"{module}.{name}"
    for module in ("torch", "torch.nn.functional")
    for name in "mm bmm matmul einsum addmm baddbmm linear conv1d conv2d conv3d".split()
)
"""What autocast runs in its lower precision: `AT_FORALL_LOWER_PRECISION_FP` of ATen/autocast_mode.h, as far as it is
written by hand."""

DATA_PARALLEL = "torch.nn.DataParallel"
REPLICATES = frozenset({DATA_PARALLEL, "torch.nn.parallel.DataParallel"})
"""What starts a thread for each device."""

PLAIN_SCALERS = frozenset(name for name, said in SCALERS.items() if not said.sharded and said.device != "cpu")
CLIPS_OF_NORM = frozenset(
    name for name, kind in EVENTS.items() if kind is Kind.CLIP and name.endswith(".clip_grad_norm_")
)
SHARDED = re.compile(r"torch\.distributed\.fsdp.*FullyShardedDataParallel$")
STRATEGIES = "ShardingStrategy"
STRATEGY = re.compile(rf"torch\.distributed\.fsdp\..*{STRATEGIES}\.(?P<which>\w+)$")
NO_SHARDS = "NO_SHARD"
"""Scalers, clips and wrappers that are told apart from others of their kind; and how a wrapper is told what is to be
sharded (`ShardingStrategy`, `torch/distributed/fsdp/api.py` of torch 2.13: all others leave a rank with shards)."""

TENSOR = "torch.Tensor"
"""The class of all tensors, losses among them."""

OPTIMIZER = re.compile(r"^torch\.optim\.[A-Z]\w*$")
MODULE = "torch.nn."
DEVICE, DEFAULT_DTYPE = "torch.device", "torch.set_default_dtype"
SAVE, LOAD = "torch.save", "torch.load"

SCHEDULES = re.compile(r"torch\.optim\.lr_scheduler\.[A-Z]|transformers\.(optimization\.)?get_\w*schedule")
"""What makes a schedule."""
SCHEDULED = frozenset({"torch", "transformers", "pytorch_transformers", "diffusers"})
"""Packages of which all schedules are known."""

LOADERS = ("transformers.", "diffusers.")
LOADED_AS = ("dtype", "torch_dtype")
ARGUMENTS = frozenset({"transformers", "trl"})
"""Whose models are loaded whole in a dtype, by which argument, and whose trainers' arguments ask for a precision."""
SCALED_FLAG = "fp16"
"""The argument by which they ask for float16 with a loss scale."""
OF_RELEASES = "transformers"
"""Whose release decides who normalizes the loss of a trainer."""
ADAPTERS = re.compile(r"quantization_config|load_in_\dbit|adapter|peft")

LEAVES_SAVING = frozenset({"apex", "horovod", "ignite", "timm", "torch_xla"})
"""Frameworks that leave it to the user to save the state of a scaler."""

CONFIGURATION = "deepspeed.DeepSpeedConfig"
SECTIONS = ("fp16", "bf16")
"""A dictionary that has these sections is a configuration of that framework."""
KEYS = ("gradient_accumulation_steps", "zero_optimization")
"""Entries of such a dictionary, written out, that say how long a window is and whether its loss is scaled."""

THROUGH = frozenset(
    """tqdm trange track autocast spawn DataLoader DataParallel DDP DistributedDataParallel FSDP
    FullyShardedDataParallel""".split()
)
"""What is called with what matters to the step, by the names that people give to it where they import it."""
