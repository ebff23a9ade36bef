"""Python's own library, and the packages that stand in its place: what they hand out, hold and compute."""

from __future__ import annotations

from amplint.dialects.dialect import Dialect

WITHOUT_TRAINING = frozenset(
    """copy csv dataclasses datetime gc glob hashlib io json logging math os pathlib pickle pprint random re shutil sys
    tempfile textwrap time uuid warnings weakref""".split()
)
"""Modules of Python's own whose functions do nothing to the parameters, gradients or optimizers that they are handed,
and call nothing that would."""

BARS = frozenset({"tqdm", "trange"})
"""What draws a progress bar, by the last part of its name; `update` moves it on (tqdm 4.67, `std.py`)."""

PYTHON = Dialect(
    name="python",
    primitives={
        "attr.evolve": "replaced",
        "attrs.evolve": "replaced",
        "collections.defaultdict": "filling",
        "collections.deque": "queue",
        "collections.namedtuple": "named_tuple",
        "contextlib.ExitStack": "stack_of_contexts",
        "copy.deepcopy": "copied",
        "copy.replace": "replaced",
        "dataclasses.replace": "replaced",
        "functools.partial": "partial",
        "itertools.chain.from_iterable": "chained",
        "itertools.count": "counted_up",
        "itertools.cycle": "cycled",
        "itertools.islice": "first_elements",
        "itertools.repeat": "repeated",
        "math.ceil": "rounded_up",
        "math.floor": "rounded_down",
        "math.fmod": "remainder",
        "numpy.mod": "remainder",
        "numpy.remainder": "remainder",
        "operator.mod": "remainder",
        "tqdm.auto.trange": "counted_out",
        "tqdm.notebook.trange": "counted_out",
        "tqdm.std.trange": "counted_out",
        "tqdm.trange": "counted_out",
        "typing.cast": "typed",
    },
    transparent=frozenset(
        {
            "tqdm.tqdm",
            "tqdm.auto.tqdm",
            "tqdm.notebook.tqdm",
            "tqdm.rich.tqdm",
            "tqdm.tqdm_notebook",
            "rich.progress.track",
        }
    ),
    neutral=frozenset({"contextlib", "open", "tempfile", "warnings", "tqdm", "time", "threading"}),
)
