"""The training loops of a function, as a reader of `amplint loops` sees them."""

from textwrap import dedent

from amplint.analysis import loops_of

HEAD = """\
import torch
from torch.nn.utils import clip_grad_norm_


def train(args, model, loader, criterion, optimizer, scaler, scheduler, epochs, helper):
"""


def drawn(body, head=HEAD):
    """The loops of a function with this body, and for the first one what a reader sees."""
    indented = "".join(f"    {line}" if line.strip() else line for line in dedent(body).splitlines(keepends=True))
    return loops_of(head + indented, "train.py")


def only(body):
    (loop,) = drawn(body)
    return loop
