"""What a dialect is: names, and the roles and events that they stand for."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from amplint.dialects.account import Account
from amplint.dialects.schedules import Schedule
from amplint.protocol.events import Kind
from amplint.protocol.precision import Precision
from amplint.protocol.ranks import Wrapper

CLIPS = (
    "bypassed-framework-clip",
    "clip-after-step",
    "clip-before-backward",
    "clip-before-unscale",
    "clip-per-micro-step",
    "clip-raises-on-overflow",
)
"""The rules about a clip that is not due at all where a framework's step clips, as it is configured."""


class Role(Enum):
    """What part an object plays in a training step."""

    OPTIMIZER = "optimizer"
    SCALER = "scaler"
    SCHEDULER = "scheduler"
    CRITERION = "criterion"
    MODEL = "model"
    GRADIENT = "gradient"
    CONTEXT = "context"


class Normalization(Enum):
    """Who normalizes the loss that an override of a trainer's `compute_loss` returns, over the window."""

    MODEL = "the trainer divides by the window, unless the model's `forward` takes `**kwargs`"
    TOKENS = "nobody: it is due to be normalized by the tokens of the window"
    SETTLED = "the trainer says so itself, whatever the model"


@dataclass(frozen=True)
class Loop:
    """A loop that a framework runs by itself, over methods that users write.

    `micro_step`: what it calls for each micro-batch; those in `returns` only return a loss. `configures`: what it asks
    for optimizers and schedules. `window`: the attribute by which it divides every loss; empty where that depends.
    `off`: an attribute that says that the user's method does it all. `own`: methods that make it another loop. `keeps`:
    what it steps by itself, by the attribute or method of the object that has it; `schedules`: names by which the
    schedules are got at that it does not step where it is `off`. `backward`, `clip`: what is due instead.
    `remedies`: per rule, what to do about it in a method that only returns a loss.
    """

    name: str
    micro_step: frozenset[str]
    returns: frozenset[str]
    keeps: Mapping[str, str]
    backward: str
    clip: str = ""
    configures: str = ""
    window: str = ""
    off: str = ""
    own: frozenset[str] = frozenset()
    schedules: frozenset[str] = frozenset()
    remedies: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Live:
    """What the frames of a running framework tell.

    `folders`: where its code lies, below the folder of installed packages. `loops`: its functions that run the training
    loop: what stands around a call of them in the user's code decides about the run, and not about a micro-step.
    `losses`: its functions that take a loss on to its backward, and the attributes of their `self` that users define
    and that make the loss, the first that is the user's. `windows`: its functions that divide a loss, and the
    attribute of their `self` that holds by how many micro-steps. `context`: what is to be entered around a micro-step,
    and the attribute of such a `self` that counts how often it was. `counts`: its functions that step on every N-th
    call of them alone, and the attribute of their `self` that holds N; `counting`: attributes of such a `self`, and
    what they hold where it counts by itself. `moves`: its functions that move a schedule on by themselves, and what the
    user calls for that. `plain`: its functions that step, the attribute of their `self` that says that the outputs of
    its model divide what torch's own backward sends them, and the one that holds by how many micro-steps. `sets_up`:
    its functions whose steps are no part of the training. `whole`: its functions that run a window whole, and the local
    that holds by how many micro-steps they divide its losses. `schedules`: its classes of learning-rate schedules that
    are none of torch's, and the argument of their `step` that sets an absolute position; empty where every argument
    counts from where it is. `moves_by`: of such classes the argument by which a step moves on, and the attribute that
    holds at which position the schedule ends.
    """

    folders: tuple[str, ...]
    loops: frozenset[str] = frozenset()
    losses: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    windows: Mapping[str, str] = field(default_factory=dict)
    context: tuple[str, str] | None = None
    counts: Mapping[str, str] = field(default_factory=dict)
    counting: Mapping[str, object] = field(default_factory=dict)
    moves: Mapping[str, str] = field(default_factory=dict)
    plain: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    sets_up: frozenset[str] = frozenset()
    whole: Mapping[str, str] = field(default_factory=dict)
    schedules: Mapping[str, str] = field(default_factory=dict)
    moves_by: Mapping[str, tuple[str, str]] = field(default_factory=dict)


@dataclass(frozen=True)
class ScalerClass:
    """A class of gradient scalers. `device`: which it is for, None when that is an argument, empty where nobody knows;
    `sharded`: it asks the other ranks whether to step."""

    device: str | None = ""
    sharded: bool = False


@dataclass(frozen=True)
class Holding:
    """What makes objects that hold a scaler, where an argument has one of some values. `saves`: methods that save its
    state, or functions, by their qualified names. `usual`: it is so where the argument is left out; `fixed`: another
    argument, by which a scale is given that stays what it is."""

    framework: str
    argument: str
    values: frozenset[str]
    saves: frozenset[str]
    usual: bool = False
    fixed: str = ""


@dataclass(frozen=True)
class Dialect:
    """The vocabulary of one framework.

    `makes`: qualified names of constructors and what they make; a name that ends in `.*` stands for every class in
    that module. `calls`: functions and the event that a call of them is. `methods`: per role, method names and their
    events. `primitives`: functions and classes, and what the machine does for a call of one: a name of
    `machine/primitives.py`. `scalers`: those of `makes` that make a scaler. `has`: modules, and all that objects of
    their classes have, but for what is private and what registers a hook. `schedules`: per constructor, what its
    arguments count. `losses`: functions that return a loss, averaged over the batch unless `reduction` says otherwise.
    `transparent`: wrappers that hand their first argument through (progress bars, `enumerate` has a place of its own).
    `wrappers`: what wraps a model for several processes.
    `governs`: packages that divide, scale, clip or gate on the user's behalf in ways that this dialect does not tell.
    `behaviour`: the name of a file in this folder that says what the framework does, as a small Python program that is
    never executed by Python: the static half runs it on its model, together with the user's code; `program`: its text,
    where it is not in a file; `framework`: it takes a part of the step over, and what the user does is judged with that
    in mind; else it is as if the user had written it. `seeds`: methods and functions that make a training step.
    `defines`: qualified public names and what they are called in that program. `adopts`: names that everybody gives to
    an object of a class of it; `shape`: of a class of it, a part of such a name and the methods that show it, in a
    module that says the framework's name somewhere; `called`: a part of the name and keywords of a call that objects of
    classes like it are known by. `needs`: names of which a module that imports one of its packages says at least one
    where it is used so. `settings`: what is set elsewhere in a project, and the regular expression of the line that
    does, for files that
    hold one of its `words`, if it has any; `unasked`: that of text that sets nothing for a training. `spelling`: what
    it calls its own `backward`, `clip` and `boundary`, for advice.
    `autocasts`: classes of autocast contexts and the device that they are for, None when it is an argument.
    `plain`: packages whose models enter no autocast region by themselves. `quiet`: methods of optimizers and scalers
    that touch no gradient.
    `computes`: how the names of functions begin that return what is computed from the tensors that they are given;
    `asks`: of those that ask the machine instead; `tensors`: functions that make one, and never None; `in_place`: how
    the names begin of those that change what they are given first, if they end with `_`. `collectives`: functions that
    put what all ranks hold, together, into the tensor that they are handed.
    `norms`: functions that measure a norm. `products`: how the names of layers begin that end with a matrix product.
    `dtypes`: the precisions that they stand for; `spelled`: what `str` makes of one that has another name too.
    `devices`: functions that ask for one, and which. `neutral`: packages and functions whose contexts leave the step
    alone; `without_graph`: contexts in which nothing is remembered for a backward, `with_graph`: those that undo it.
    `sentences`: how an event of certain objects is written, and read. `remedies`: per rule, what to do about it where
    the framework back-propagates or steps, if that is something else than with torch alone.
    `holds`: classes whose objects hold the scaler. `live`: what its frames tell while it runs.
    `trainers`: classes whose `compute_loss` users override, and who then normalizes the loss; `loss_classes`:
    classes of losses that users derive from for them, and the method that is called; `loss_arguments`: arguments by
    which such a trainer is handed a function that makes the loss, and then leaves the window to it; `loss_tables`:
    tables of what makes a loss, and whether they hold classes; `token_losses`: functions that give a loss for each
    token. `loops`: classes of which the framework calls methods from a loop of its own. `words`: a file without
    any of these has no training step. `documents`: functions, and their keywords that may be the path of a JSON file in
    place of what it holds. `accounts`: who does what in the step, for people.
    """

    name: str
    makes: Mapping[str, Role] = field(default_factory=dict)
    calls: Mapping[str, Kind] = field(default_factory=dict)
    methods: Mapping[Role, Mapping[str, Kind]] = field(default_factory=dict)
    primitives: Mapping[str, str] = field(default_factory=dict)
    scalers: Mapping[str, ScalerClass] = field(default_factory=dict)
    has: Mapping[str, frozenset[str]] = field(default_factory=dict)
    schedules: Mapping[str, Schedule] = field(default_factory=dict)
    losses: frozenset[str] = frozenset()
    transparent: frozenset[str] = frozenset()
    wrappers: Mapping[str, Wrapper] = field(default_factory=dict)
    governs: frozenset[str] = frozenset()
    autocasts: Mapping[str, str | None] = field(default_factory=dict)
    plain: tuple[str, ...] = ()
    quiet: frozenset[str] = frozenset()
    computes: tuple[str, ...] = ()
    asks: tuple[str, ...] = ()
    tensors: frozenset[str] = frozenset()
    in_place: tuple[str, ...] = ()
    collectives: frozenset[str] = frozenset()
    norms: frozenset[str] = frozenset()
    products: tuple[str, ...] = ()
    dtypes: Mapping[str, Precision] = field(default_factory=dict)
    spelled: Mapping[str, str] = field(default_factory=dict)
    neutral: frozenset[str] = frozenset()
    devices: Mapping[str, str] = field(default_factory=dict)
    without_graph: tuple[str, ...] = ()
    with_graph: tuple[str, ...] = ()
    trainers: Mapping[str, Normalization] = field(default_factory=dict)
    loss_classes: Mapping[str, str] = field(default_factory=dict)
    loss_arguments: frozenset[str] = frozenset()
    loss_tables: Mapping[str, bool] = field(default_factory=dict)
    token_losses: frozenset[str] = frozenset()
    loops: Mapping[str, Loop] = field(default_factory=dict)
    seeds: frozenset[str] = frozenset()
    words: frozenset[str] = frozenset()
    documents: Mapping[str, frozenset[str]] = field(default_factory=dict)
    accounts: tuple[Account, ...] = ()
    behaviour: str = ""
    framework: bool = True
    program: str = ""
    defines: Mapping[str, str] = field(default_factory=dict)
    adopts: Mapping[str, str] = field(default_factory=dict)
    shape: Mapping[str, tuple[str, frozenset[str]]] = field(default_factory=dict)
    called: Mapping[str, tuple[str, frozenset[str]]] = field(default_factory=dict)
    needs: frozenset[str] = frozenset()
    settings: Mapping[str, str] = field(default_factory=dict)
    unasked: str = ""
    spelling: Mapping[str, str] = field(default_factory=dict)
    sentences: Mapping[Kind, str] = field(default_factory=dict)
    remedies: Mapping[str, str] = field(default_factory=dict)
    holds: Mapping[str, Holding] = field(default_factory=dict)
    live: Live | None = None

    @property
    def leaves_division(self) -> bool:
        """Whether the user divides a loss in every way of training that the framework has."""
        return bool(self.accounts) and all(account.divides[0] == "you" for account in self.accounts)

    @property
    def leaves_schedules(self) -> bool:
        """Whether the user steps the schedules in every way of training that the framework has."""
        return bool(self.accounts) and all(account.schedules[0].startswith("you") for account in self.accounts)
