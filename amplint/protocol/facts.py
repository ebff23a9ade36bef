"""Facts of the text: what is written at one place, before anything runs."""

from __future__ import annotations

from dataclasses import dataclass, field

from amplint.protocol.events import Site


@dataclass(frozen=True)
class Public:
    """A value of which the public name is known: `torch.float16`."""

    name: str


SAVED, LOADED = "an optimizer's state is saved", "an optimizer's state is loaded"
REPLACED = "a sharded scaler is replaced by a plain one"
SHARDED_CLIP = "a sharded model is clipped by the norm of its shards"
HALF_LOADED = "a model is loaded in half precision and trained in mixed precision"
CLIPPED_PAST = "gradients are clipped past a framework's loop"
EVALUATED = "an evaluation keeps the graphs of its batches"
IDLE = "a schedule is handed to a loop that steps none"
"""Facts about what is saved, loaded, replaced, clipped, kept and handed over go by these, not by a call's name."""

IN_A_LOOP = "in a framework's loop"
"""How a fact about a method is used that a framework calls from a loop of its own; `called` says what it does there."""


@dataclass(frozen=True)
class Fact:
    """A mention of something known: its qualified name and, if it is called, its arguments.

    `called` is the public name that the imports resolve to (`torch.cuda.amp.autocast`). `arguments` holds what is
    known of each argument: its position or keyword, and its value if it is a literal or a `Public` name (else None).
    `used` says whether anything receives the result: `"dropped"` when the call is a statement of its own, `"named"`
    when there is no call, else `"used"`. `whole` says whether all arguments are told. `chosen` says whether the code
    has another way for other versions of the library, `mild` whether what is said depends on a setting.

    A number that meets a float16 tensor is a fact called `float16`: the arguments are `operation` and `number`.
    `reads`: of a schedule that is bound to a bare name and goes nowhere else, the attributes that are read; None when
    it goes somewhere, or nobody looked. `trains`: an optimizer steps where that name lives.
    """

    called: str
    site: Site
    arguments: dict[int | str, object] = field(default_factory=dict, hash=False)
    used: str = "used"
    whole: bool = True
    chosen: bool = False
    mild: bool = False
    reads: frozenset[str] | None = field(default=None, hash=False)
    trains: bool = False
