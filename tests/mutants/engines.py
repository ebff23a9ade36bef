"""Legal windows over frameworks that bring an engine of their own: a schedule, a trainer, optimizers that average."""

from tests.mutants.framework import Framework
from tests.mutants.frameworks import CLIP, WINDOW

APPLY = "optimizer.apply_gradients(zip(grads, model.trainable_variables))"
NORM = "grads, norm = tf.clip_by_global_norm(grads, 1.0)"
_SWIFT = """\
import torch
from torch.nn.functional import cross_entropy
from {package} import {trainer}


class Mine({trainer}):
"""


def _trainer(package: str, trainer: str, loss: str) -> Framework:
    """A trainer of the Hugging Face kind whose loss is due by the tokens of the window."""
    return Framework(
        _SWIFT.format(package=package, trainer=trainer),
        {"forward": f"loss = {loss}", "divide": "loss = loss / num_items_in_batch"},
        raw={"divide": "loss = loss / inputs['labels'].numel()"},
        loop="    def compute_loss(self, model, inputs, return_outputs=False, num_items_in_batch=None):",
        after="        return loss",
    )


def _fairseq(imported: str, made: str) -> Framework:
    """A window over one of fairseq's optimizers."""
    return Framework(
        f"""\
import torch
{imported}


def train(cfg, accum, model, loader, criterion):
    optimizer = {made}.build_optimizer(cfg, model.parameters())
    assert len(loader) % accum == 0
""",
        {
            "forward": "loss, sample_size, logging_output = criterion(model, sample)",
            "backward": "optimizer.backward(loss)",
            "multiply": "optimizer.multiply_grads(1 / sample_size)",
            "clip": "optimizer.clip_grad_norm(1.0)",
            "step": "optimizer.step()",
            "zero": "optimizer.zero_grad()",
        },
        WINDOW,
        ("multiply", "clip", "step", "zero"),
        {"backward": "loss.backward()", "clip": CLIP},
        loop="    for i, sample in enumerate(loader):",
    )


_MEGATRON = """\
from functools import partial

import torch
from megatron.core.num_microbatches_calculator import get_num_microbatches
from megatron.core.pipeline_parallel import get_forward_backward_func


def loss_func(labels, output):
    loss = torch.nn.functional.cross_entropy(output, labels)
    return loss, {"lm loss": loss.detach()}


def forward_step(data_iterator, model):
    x, labels = next(data_iterator)
    return model(x), partial(loss_func, labels)


def train(model, optimizer, opt_param_scheduler, data_iterator, args):
    forward_backward_func = get_forward_backward_func()
"""
_SUMS = "for x, y in micro_batches: (cross_entropy(model(x), y, reduction='sum', ignore_index=-100) / {}).backward()"
_SCHEDULE = "forward_backward_func(forward_step_func=forward_step, data_iterator=data_iterator, model=model, {})"
ENGINES = {
    "megatron": Framework(
        _MEGATRON,
        {
            "forward": "counter = iteration",
            "zero": "optimizer.zero_grad()",
            "schedule": _SCHEDULE.format("num_microbatches=get_num_microbatches(), forward_only=False"),
            "step": "successful, norm, zeros = optimizer.step()",
            "scheduler": "opt_param_scheduler.step(increment=args.global_batch_size)",
        },
        raw={"schedule": "loss_func(*forward_step(data_iterator, model))[0].backward()"},
        loop="    for iteration in range(args.train_iters):",
    ),
    "megatron, pretrain": Framework(
        "import torch\nfrom megatron.training import get_num_microbatches, pretrain\n\n",
        {
            "forward": "loss = torch.nn.functional.cross_entropy(output, torch.zeros(1))",
            "return": "return loss, {'lm loss': loss}",
        },
        raw={"return": "return loss / get_num_microbatches(), {'lm loss': loss}"},
        loop="def loss_func(output):\n    if True:",
        after="""

def forward_step(data_iterator, model):
    return model(next(data_iterator)), loss_func


pretrain(None, None, None, forward_step)
""",
    ),
    "fairseq": _fairseq("from fairseq import optim", "optim.FP16Optimizer"),
    "fairseq, amp": _fairseq("from fairseq.optim.amp_optimizer import AMPOptimizer", "AMPOptimizer"),
    "fairseq, task": Framework(
        "import torch\nfrom fairseq.tasks import FairseqTask\n\n\nclass Mine(FairseqTask):\n",
        {
            "forward": "loss, sample_size, logging_output = criterion(model, sample)",
            "backward": "optimizer.backward(loss)",
        },
        raw={"backward": "loss.backward()"},
        loop="    def train_step(self, sample, model, criterion, optimizer, update_num, ignore_grad=False):",
        after="        return loss, sample_size, logging_output",
    ),
    "ms-swift": _trainer(
        "swift.trainers",
        "Seq2SeqTrainer",
        "(cross_entropy(model(inputs['x']), inputs['labels'], reduction='none') * inputs['loss_scale']).sum()",
    ),
    "unsloth": _trainer(
        "unsloth", "UnslothTrainer", "cross_entropy(model(inputs['x']), inputs['labels'], reduction='sum')"
    ),
    "keras 3": Framework(
        """\
import keras
import tensorflow as tf


def train(model, loader):
    criterion = keras.losses.MeanSquaredError()
    optimizer = keras.optimizers.LossScaleOptimizer(keras.optimizers.SGD(0.1))
""",
        {
            "forward": "loss = criterion(y, model(x))",
            "scale": "loss = optimizer.scale_loss(loss)",
            "gradient": "grads = tape.gradient(loss, model.trainable_variables)",
            "apply": "optimizer.apply(grads, model.trainable_variables)",
        },
        raw={
            "gradient": "grads = [tf.clip_by_norm(g, 1.0) for g in tape.gradient(loss, model.trainable_variables)]",
            "apply": "optimizer.inner_optimizer.apply(grads, model.trainable_variables)",
        },
        around="with tf.GradientTape() as tape:",
    ),
    "keras 3, accumulation": Framework(
        """\
import keras
import tensorflow as tf


def train(model, loader, accum):
    criterion = keras.losses.MeanSquaredError()
    optimizer = keras.optimizers.SGD(0.1, gradient_accumulation_steps=accum)
""",
        {
            "forward": "loss = criterion(y, model(x))",
            "gradient": "grads = tape.gradient(loss, model.trainable_variables)",
            "apply": APPLY,
        },
        raw={
            "gradient": "grads = tape.gradient(loss / accum, model.trainable_variables)",
            "apply": f"if (i + 1) % accum == 0: {APPLY}",
        },
        around="with tf.GradientTape() as tape:",
    ),
    "tf.keras 2": Framework(
        """\
import tensorflow as tf


def train(model, loader):
    criterion = tf.keras.losses.MeanSquaredError()
    optimizer = tf.keras.mixed_precision.LossScaleOptimizer(tf.keras.optimizers.SGD(0.1))
""",
        {
            "forward": "loss = criterion(y, model(x))",
            "scale": "loss = optimizer.get_scaled_loss(loss)",
            "gradient": "grads = tape.gradient(loss, model.trainable_variables)",
            "unscale": "grads = optimizer.get_unscaled_gradients(grads)",
            "clip": NORM,
            "apply": APPLY,
        },
        raw={
            "unscale": f"{NORM}; grads = optimizer.get_unscaled_gradients(grads)",
            "apply": APPLY.replace("optimizer.", "optimizer.inner_optimizer."),
        },
        around="with tf.GradientTape() as tape:",
    ),
    "gradient tape, scaled by hand": Framework(
        """\
import tensorflow as tf


def train(model, loader, loss_scale):
    criterion = tf.keras.losses.MeanSquaredError()
    optimizer = tf.keras.optimizers.SGD(0.1)
""",
        {
            "forward": "loss = criterion(y, model(x))",
            "scale": "loss = loss * loss_scale",
            "gradient": "grads = tape.gradient(loss, model.trainable_variables)",
            "unscale": "grads = [g / loss_scale for g in grads]",
            "check": "finite = all(tf.reduce_all(tf.math.is_finite(g)) for g in grads)",
            "clip": NORM,
            "apply": f"if finite: {APPLY}",
        },
        raw={"unscale": f"{NORM}; grads = [g / loss_scale for g in grads]"},
        around="with tf.GradientTape() as tape:",
    ),
    "torchtitan": Framework(
        """\
import torch
from torch.nn.functional import cross_entropy


def train(model, optimizers, lr_schedulers, batches, accum, steps):
""",
        {
            "forward": "micro_batches = [next(batches) for _ in range(accum)]",
            "zero": "optimizers.zero_grad()",
            "count": "tokens = sum((y != -100).sum() for x, y in micro_batches)",
            "backward": _SUMS.format("tokens"),
            "clip": CLIP,
            "step": "optimizers.step()",
            "scheduler": "lr_schedulers.step()",
        },
        raw={"count": "tokens = accum", "backward": _SUMS.format("(y != -100).sum()")},
        loop="    for step in range(steps):",
    ),
}
