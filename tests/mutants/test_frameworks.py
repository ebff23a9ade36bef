"""Every slip in a legal window over a framework is found by a rule, or listed here with the reason.

A line is dropped, doubled, moved out of its gate, or written with torch's own call instead of the framework's.
"""

from functools import cache

import pytest

from amplint.analysis import findings_of
from tests.mutants.engines import ENGINES
from tests.mutants.frameworks import FRAMEWORKS as LOOPS

FRAMEWORKS = LOOPS | ENGINES
NO_STEP = "no training step is left: whoever else back-propagates is not in sight"
NO_UPDATE = "what a framework holds may be stepped out of sight"
TWICE = "torch raises: the graph of the loss is gone after the first backward"
ONCE = "TensorFlow raises: a tape gives its gradients once"
FACTOR = "a factor on a loss, or on gradients, may be meant"
COUNTS = "what a sum is due is not known where its counts come with the batch"
SAME = "what is within the threshold is clipped to itself"
AGAIN = "a forward of its own draws other masks: two passes over the same batches may be two terms of the step"
SILENT = {
    "drop clip": "a window without a clip is legal",
    "double zero": "what is zero is zeroed",
    "drop backward": NO_STEP,
    "drop step": NO_UPDATE,
}
FOUND = {"sums over all tokens: drop step", "torchtitan: drop step", "fairseq: drop clip"}  # though others are listed
OF_A_FRAMEWORK = {
    "accelerate: double backward": TWICE,
    "deepspeed: double backward": TWICE,
    "fabric: double backward": TWICE,
    "fp16 optimizer: double backward": TWICE,
    "fp16 optimizer: double clip": SAME,
    "apex: double clip": SAME,
    "ignite: drop scaled backward": NO_STEP,
    "ignite: double scaled backward": TWICE,
    "ignite: double clip": SAME,
    "lightning, manual: double backward": TWICE,
    "lightning, automatic: drop return": "Lightning leaves the batch out, and says so",
    "lightning, automatic: double return": "the second one is not reached",
    "timm: drop call": NO_STEP,
    "sums over all tokens: drop divide": "a sum may be meant, with a learning rate to match",
    "sums over all tokens: double divide": COUNTS,
    "sums over all tokens: raw divide": "nothing says that the counts differ: only a run shows mean-of-token-means",
    "sums over all tokens: double backward": TWICE,
    "sums over all tokens: ungated": "nothing is left that says of a window",
    "megatron: drop schedule": NO_STEP,
    "megatron: double schedule": "what two windows say of one update may be meant: two tasks, each with its own",
    "megatron: drop scheduler": "whether there is a schedule is not known where the optimizer comes from elsewhere",
    "megatron, pretrain: drop return": "the schedule raises: there is no loss",
    "megatron, pretrain: double return": "the second one is not reached",
    "fairseq: double backward": TWICE,
    "fairseq: double multiply": COUNTS,
    "fairseq: double clip": SAME,
    "fairseq: ungated": "nothing is left that says of a window",
    "fairseq, amp: double backward": TWICE,
    "fairseq, amp: double multiply": COUNTS,
    "fairseq, amp: ungated": "nothing is left that says of a window",
    "fairseq, task: double backward": TWICE,
    "keras 3: drop gradient": "Python raises: there are no gradients",
    "keras 3: double gradient": ONCE,
    "keras 3: drop apply": NO_UPDATE,
    "keras 3, accumulation: drop gradient": "Python raises: there are no gradients",
    "keras 3, accumulation: double gradient": ONCE,
    "keras 3, accumulation: drop apply": NO_UPDATE,
    "tf.keras 2: drop gradient": "TensorFlow raises: there are no gradients",
    "tf.keras 2: double gradient": ONCE,
    "tf.keras 2: double clip": SAME,
    "tf.keras 2: drop apply": NO_UPDATE,
    "gradient tape, scaled by hand: drop scale": FACTOR,
    "gradient tape, scaled by hand: double scale": FACTOR,
    "gradient tape, scaled by hand: drop gradient": "Python raises: there are no gradients",
    "gradient tape, scaled by hand: double gradient": ONCE,
    "gradient tape, scaled by hand: drop unscale": FACTOR,
    "gradient tape, scaled by hand: double unscale": FACTOR,
    "gradient tape, scaled by hand: double check": "it only looks",
    "gradient tape, scaled by hand: double clip": SAME,
    "gradient tape, scaled by hand: drop apply": NO_UPDATE,
    "torchtitan: drop count": "Python raises: there is nothing to divide by",
    "torchtitan: double count": "it only counts",
    "torchtitan: raw count": "a sum may be meant, with a learning rate to match",
    "torchtitan: double backward": AGAIN,
    "torchtitan: raw backward": "nothing says that the counts differ: only a run shows mean-of-token-means",
    "torchtitan: double clip": SAME,
    "torchtitan: drop scheduler": "whoever passed the scheduler in may step it",
    "torchtitan: double scheduler": "a scheduler that is not known has no horizon that twice the steps would overrun",
    "mmengine: double update": TWICE,
    "mmengine: drop update": NO_STEP,
    "mmengine: raw update": NO_UPDATE,
}
ALL = [
    pytest.param(name, slip, text, id=f"{name}: {slip}")
    for name, framework in FRAMEWORKS.items()
    for slip, text in framework.mutants()
]


@cache
def found(text: str) -> frozenset[str]:
    return frozenset(finding.code for finding in findings_of(text, "window.py"))


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_nothing_is_said_of_a_legal_window(name):
    framework = FRAMEWORKS[name]
    assert found(framework.program(list(framework.lines.items()))) == frozenset()


@pytest.mark.parametrize(("name", "slip", "text"), ALL)
def test_a_slip_is_found_or_listed(name, slip, text):
    spelled = f"{name}: {slip}"
    listed = (slip in SILENT and spelled not in FOUND) or spelled in OF_A_FRAMEWORK
    assert bool(found(text)) is not listed


def test_the_lists_name_slips_that_exist():
    made = {spelled for name, slip, _ in (one.values for one in ALL) for spelled in (slip, f"{name}: {slip}")}
    assert set(SILENT) | set(OF_A_FRAMEWORK) | FOUND <= made
