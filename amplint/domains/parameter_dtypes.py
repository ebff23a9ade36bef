"""Which models are float16 as a whole: cast or loaded so, as far as a run shows.

`run.halves` holds what they are known by. A model is out of it as soon as it is cast to anything else, or is handed to
code that is not seen, which may do so (torch 2.13, `nn/modules/module.py`, `to`; transformers 5.23 and diffusers 0.35,
`from_pretrained`, cast all parameters to the `dtype` that they are given).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from amplint.dialects import vocabulary as words
from amplint.dialects.methods import ASKS_A_MODEL, CASTS
from amplint.dialects.syntax import ADAPTERS, DEVICE, LOADED_AS, LOADERS
from amplint.dialects.vocabulary import within
from amplint.domains import freezing
from amplint.domains.precision import dtype_of, is_dtype
from amplint.protocol.precision import Precision
from amplint.state import truths
from amplint.state.run import Run
from amplint.state.values import Instance, Parameters, Stream, Symbol, Value, text_of

MADE_NOW = "by default"
"""Is half while float16 is what parameters are made in."""
_NAMED_HALF = frozenset({"float16", "half"})
_COPIES, _DEVICE = within(words.UPCASTING), within("device dev devices cuda gpu rank")


def cast(run: Run, model: str, method: str, given: list[Value]) -> None:
    """A model is cast in place: from then on that is the precision of what its optimizer holds, if it holds all of the
    model and nothing else."""
    half = _to_half(run, method, given)
    if half is None:
        return
    _set(run, model, half)
    if not half and model.startswith("self."):  # of which object this is a part, its name does not say
        run.halves = {one for one in run.halves if not freezing.is_object(one)}
    for one in run.optimizers.values():
        if one.whole and one.models == {model} and not one.fused:
            one.precision = Precision.FLOAT16 if half else Precision.UNKNOWN


def cast_object(run: Run, model: Instance, method: str, given: list[Value]) -> None:
    """An object of the program is cast, with all models in it, before an optimizer is made of its parameters."""
    half = _to_half(run, method, given)
    if half is not None:
        made_object(run, model, half)


def made_object(run: Run, model: Instance, half: bool) -> None:
    """An object of the program has its parameters in float16, or not any more; one that trains is no model."""
    parts = freezing.parts(model)
    if model.text in parts:
        return
    run.halves = run.halves | parts if half else run.halves - parts


def _to_half(run: Run, method: str, given: list[Value]) -> bool | None:
    """Whether a cast is one to float16; None where the dtype stays."""
    resolved = [truths.resolve(run, one) for one in given]
    if method == "to" and not any(map(is_dtype, resolved)):
        return None if all(map(_is_a_device, resolved)) else False  # to a dtype, perhaps
    return method == "half" or Precision.FLOAT16 in map(dtype_of, resolved)


def _is_a_device(value: Value) -> bool:
    """Whether a value is a device, as far as anybody knows; a flag (`non_blocking`) is none, and no dtype."""
    if isinstance(value, Symbol):
        return _DEVICE(value.name) or DEVICE in value.tags
    return isinstance(value, (str, int))


def default(run: Run, dtype: Value) -> None:
    """The dtype changes that parameters are made in from now on (torch 2.13, `set_default_dtype`)."""
    _set(run, MADE_NOW, dtype_of(truths.resolve(run, dtype)) is Precision.FLOAT16)


def module(run: Run, made: Value, keywords: dict[str, Value]) -> None:
    """A module of torch's own was made, in the dtype that it names or the default."""
    asked = keywords.get("dtype")
    half = MADE_NOW in run.halves if asked is None else dtype_of(truths.resolve(run, asked)) is Precision.FLOAT16
    if (half or run.halves) and isinstance(made, Symbol):
        _set(run, made.text, half)


def constructed(run: Run, made: Instance) -> None:
    """An object of the program was made, perhaps while float16 is the default, and names no other dtype."""
    wider = run.program.wider
    if MADE_NOW in run.halves and wider is not None and made.klass.node.name not in wider:
        made_object(run, made, half=True)


def loaded(run: Run, name: str, keywords: dict[str, Value], made: Value) -> None:
    """A public function has made something: perhaps a model, loaded in the dtype that it was asked for."""
    if not name.startswith(LOADERS) or not name.endswith(".from_pretrained") or not isinstance(made, Symbol):
        return
    asked = [truths.resolve(run, keywords[key]) for key in LOADED_AS if key in keywords]
    plain = not any(ADAPTERS.search(key) for key in keywords)
    half = plain and any(one in _NAMED_HALF or dtype_of(one) is Precision.FLOAT16 for one in asked)
    _set(run, made.text, half)


def rebound(run: Run, value: Value, name: str) -> None:
    """A name is bound to what a call returned: to a model of those, or a part of it, or to something else."""
    text = text_of(value)
    half = isinstance(value, Symbol) and any(text == one or text.startswith(f"{one}.") for one in run.halves)
    _set(run, name, half)


def replaced(run: Run, model: Value) -> None:
    """A part of a model is exchanged for another one."""
    if run.halves:
        run.halves.discard(freezing.key(model))


def handed_over(run: Run, owner: str, method: str, handed: list[Value]) -> None:
    """Code that is not seen is handed models, or runs as a method of one: it may cast them, or keep a copy."""
    if not run.halves or method in ASKS_A_MODEL | CASTS:
        return
    models = {owner, *_models_in(handed)}
    for one in run.halves & models:
        _set(run, one, half=False)
    for optimizer in run.optimizers.values():
        if models & optimizer.models or _COPIES(method):
            optimizer.precision = Precision.UNKNOWN


def _models_in(values: Iterable[Value]) -> Iterator[str]:
    """What may be models among some values, or in lists of them, by what they are known by."""
    for value in values:
        if isinstance(value, Instance):
            yield from (value.text, *freezing.parts(value))
        elif isinstance(value, Symbol):
            yield value.text
        elif isinstance(value, (list, tuple)):
            yield from _models_in(value)


def are_half(run: Run, handed: Value) -> bool:
    """Whether an optimizer is made with nothing but parameters of models that are float16, all or some of them."""
    if not run.halves or run.program.wider is None:
        return False
    if isinstance(handed, (list, tuple)):
        return bool(handed) and all(are_half(run, one) for one in handed)
    if isinstance(handed, dict):
        return are_half(run, handed.get("params"))
    if isinstance(handed, Stream):
        return are_half(run, handed.item(0))
    if not isinstance(handed, Parameters):
        return False
    objects = {one for one in handed.parts if freezing.is_object(one)}
    return objects <= run.halves if objects else not handed.parts and handed.model in run.halves


def _set(run: Run, model: str, half: bool) -> None:
    """What is not half any more is none of its parts, and nothing whole that it is a part of."""
    if half:
        run.halves.add(model)
    elif run.halves:
        run.halves -= {one for one in run.halves if f"{one}.".startswith(f"{model}.") or model.startswith(f"{one}.")}
