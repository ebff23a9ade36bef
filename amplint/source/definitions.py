"""What a neighbouring file defines: found with `ast`, so that LibCST reads no more than what is asked for."""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache

from amplint.dialects import vocabulary as words
from amplint.dialects.schedules import DERIVED_FROM
from amplint.dialects.vocabulary import within
from amplint.source.asked import stamp
from amplint.source.keepers import keeps
from amplint.source.lines import LINE
from amplint.source.makers import (
    WRAPPERS,
    bases_of,
    called,
    called_or_asked,
    configures,
    gives_loss,
    is_strategy,
    makes_a_model,
    makes_objects,
    speaks_of_loss,
    speaks_of_strategy,
)
from amplint.source.reading import Unreadable, decoded, read
from amplint.source.scout import OPERATORS, SIDE_BY_SIDE, TRAINING, UNWRAPS, blanks, deciding
from amplint.source.trees import every_node, inside, tree_of
from amplint.source.unreached import unreached

MAX_ROWS = 400
"""Rows of code in a definition that is still followed."""

MAX_ROWS_OF_CLASS = 2000
"""Rows of code in a class that is still followed because most of them cannot matter to a step, or because its objects
return a loss: nobody can guess what that is a mean of."""

_ACTING = re.compile(
    r"backward\(|\.step\(|zero_grad|unscale_|clip_grad|GradScaler\(|lr_scheduler\.\w+\(|optim\.\w+\(|"
    r"all_reduce\(|dist\.reduce\(|get_\w*schedule\w*\(|TYPE_TO_SCHEDULER_FUNCTION|\b[A-Z]\w*LR\(|"
    rf"{SIDE_BY_SIDE}|{UNWRAPS}"
)
_PRECISION = re.compile(r"\bautocast\(|\btorch\.(?:bfloat16|float16|half)\b")
_MAKES = re.compile(r"(?m)^[ \t]+return [A-Z]\w*\(")
_DEF = re.compile(r"(?m)^[ \t]+(?:async )?def ")
_SCHEDULES = re.compile(rf"(?m)^class \w+\([\w., ]*(?:{'|'.join(sorted(DERIVED_FROM))})\b")
_PART, _PARTS = within(words.OPTIMIZER, words.SCALER), ("optim", "scaler")
_OPTIMIZER_CLASS = within(words.OPTIMIZER_CLASS)
_STARS = re.compile(r"\bimport\s*\(?\s*\*")
_TORCH_S = tuple("Optimizer LRScheduler _Scheduler Enum NamedTuple TypedDict Protocol Dataset Sampler".split())

Unit = ast.stmt


@dataclass(frozen=True)
class Outline:
    """The top-level statements of a file by the names that they bind, and the modules whose names it takes over."""

    lines: tuple[str, ...]
    names: dict[str, tuple[Unit, ...]]
    stars: tuple[str, ...]
    changed: frozenset[str]

    def text(self, unit: Unit) -> str:
        """A statement as it is written, its decorators included."""
        return "".join(self.lines[_first(unit) : unit.end_lineno])


def outline(path: str) -> Outline | None:
    """The outline of a file, None for what cannot be read or is no Python."""
    about = stamp(path)
    return None if about is None else _outline(path, *about)


@lru_cache(maxsize=512)
def _outline(path: str, changed: int, size: int) -> Outline | None:
    try:
        text = _text(path, changed, size)
        tree = tree_of(text)
    except Unreadable:
        return None
    if tree is None:
        return None
    names: dict[str, tuple[Unit, ...]] = {}
    stars: list[str] = []
    for unit in tree.body:
        for name in _bound(unit, stars):
            names[name] = (*names.get(name, ()), unit)
    whole = every_node(tree) if "global" in text else ()
    nested = {name for node in whole if isinstance(node, ast.Global) for name in node.names}
    return Outline(tuple(LINE.findall(text)), names, tuple(stars), frozenset(nested))


def text_of(path: str) -> str | None:
    """The text of a file, None for what cannot be read."""
    about = stamp(path)
    try:
        return None if about is None else _text(path, *about)
    except Unreadable:
        return None


@lru_cache(maxsize=512)
def _text(path: str, changed: int, size: int) -> str:
    return decoded(read(path, lambda data: True) or b"")


def at_a_glance(path: str, name: str, base: bool, handed: Collection[str] = ()) -> bool | None:
    """True: a function that says no word of training; False: nothing to follow; None: only `ast` can tell.
    `handed`: the methods that a loss is handed to.

    Most names that a file imports are such, and most files are long; and a package that takes over the names of
    hundreds of modules would have all of them parsed for each name.
    """
    about = stamp(path)
    try:
        text = _text(path, *about) if about is not None else None
    except Unreadable:
        text = None
    if about is None or text is None or not (_says(text, name) or _takes_all(path, *about)):
        return False
    asked = base or not _defines(text, name) or _OPTIMIZER_CLASS(name)
    if asked or _acts(path, *about) or any(f"def {one}(" in text for one in handed):
        return None
    if (found := re.search(rf"^class {re.escape(name)}\(.*(?:\n+[ \t].*)*", text, re.M)) and not _DEF.search(found[0]):
        return None
    if not re.search(rf"^def {re.escape(name)}\b", text, re.M):
        return False
    return None if TRAINING.search(text) else True


def _defines(text: str, name: str) -> bool:
    """Whether a text holds a function, or a class that derives from another, of that name."""
    if f"def {name}" not in text and f"class {name}(" not in text:
        return False
    return bool(re.search(rf"^(?:(?:async )?def {re.escape(name)}\b|class {re.escape(name)}\()", text, re.M))


@lru_cache(maxsize=2048)
def _takes_all(path: str, changed: int, size: int) -> bool:
    """Whether a file takes over all names of another. Kept as long as the file is the same."""
    return _STARS.search(_text(path, changed, size)) is not None


@lru_cache(maxsize=2048)
def _acts(path: str, changed: int, size: int) -> bool:
    """Whether anything in a file may have a part in a step. Kept as long as the file is the same."""
    text = _text(path, changed, size)
    makes = speaks_of_loss(text) or any(name in text for name in (*WRAPPERS, *_PARTS))
    return makes or any(kind.search(text) for kind in (_ACTING, _MAKES, _SCHEDULES, _PRECISION))


def _says(text: str, name: str) -> bool:
    """Whether a text holds a name, as a word."""
    return name in text and re.search(rf"\b{re.escape(name)}\b", text) is not None


def _bound(unit: Unit, stars: list[str]) -> Iterator[str]:
    """The names that a top-level statement binds, those inside `if` and `try` included."""
    if isinstance(unit, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
        yield unit.name
    elif isinstance(unit, ast.Assign):
        yield from (target.id for target in unit.targets if isinstance(target, ast.Name))
    elif isinstance(unit, ast.AnnAssign) and unit.value is not None and isinstance(unit.target, ast.Name):
        yield unit.target.id
    elif isinstance(unit, ast.ImportFrom):
        module = "." * unit.level + (unit.module or "")
        stars += [module for alias in unit.names if alias.name == "*"]
        yield from (alias.asname or alias.name for alias in unit.names if alias.name != "*")
    elif isinstance(unit, ast.Import):
        yield from (alias.asname or alias.name.partition(".")[0] for alias in unit.names)
    elif isinstance(unit, (ast.If, ast.Try)) and "__name__" not in ast.dump(getattr(unit, "test", unit))[:200]:
        handlers = [child for handler in getattr(unit, "handlers", ()) for child in handler.body]
        for child in (*unit.body, *unit.orelse, *handlers):
            yield from _bound(child, stars)


def handed_on(found: Outline, name: str) -> str | None:
    """The qualified name that an import of the file gives to `name`, None if the file defines it itself."""
    for unit in found.names.get(name, ()):
        for node in inside(unit) if isinstance(unit, (ast.If, ast.Try)) else (unit,):
            if isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    if (alias.asname or alias.name) == name:
                        module = "." * node.level + (node.module or "")
                        return f"{module}{'' if module.endswith('.') else '.'}{alias.name}"
    return None


def worth_following(found: Outline, name: str, base: bool, handed: Collection[str] = ()) -> bool:
    """Whether a definition can matter to the training step of a file that imports it. `base`: as a base class;
    `handed`: the methods that a loss is handed to."""
    units = found.names.get(name, ())
    if len(units) != 1 or name in found.changed:
        return False
    (unit,) = units
    if not _short(found, unit):
        return False
    if isinstance(unit, (ast.FunctionDef, ast.AsyncFunctionDef)):
        text = found.text(unit)
        acts = bool(_ACTING.search(text) or speaks_of_loss(text)) or _makes_what_trains(found, unit)
        acts = acts or _gives_precision(unit) or speaks_of_strategy(text) or configures(text)
        return acts or (_takes_a_part(unit) and bool(TRAINING.search(text)))
    if isinstance(unit, ast.ClassDef):
        matters = _class_matters(found, unit, base) or _only_named(unit) or _holds_loss(unit)
        return matters or keeps(unit, handed) or _holds_a_part(unit)
    return _is_literal(unit)


def _makes_what_trains(found: Outline, unit: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a function makes a model that may give its own loss, or wraps one, by the names of its file."""
    if makes_objects(unit) or makes_a_model(unit):
        return True
    units = [one for name in called(unit) for one in found.names.get(name, ())]
    made = any(isinstance(one, ast.ClassDef) and gives_loss(one) for one in units)
    return made or _wraps(found, unit)


def _wraps(found: Outline, unit: ast.stmt) -> bool:
    """Whether a definition wraps a model for several processes, or asks whether one is, by its file's names."""
    return any((handed_on(found, name) or name).rpartition(".")[2] in WRAPPERS for name in called_or_asked(unit))


def _takes_a_part(unit: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a function is handed an optimizer or a scaler: what it does with it is read, and not guessed."""
    params = (*unit.args.posonlyargs, *unit.args.args, *unit.args.kwonlyargs)
    return any(_PART(param.arg) for param in params)


def _gives_precision(unit: ast.stmt) -> bool:
    """Whether a function hands out an autocast region, by itself or by what it returns, or a dtype."""
    parts = list(inside(unit))
    handed = [part.value for part in parts if isinstance(part, ast.Return) and part.value is not None]
    yields = any(isinstance(part, ast.Yield) for part in parts)
    entered = [one.context_expr for part in parts if yields and isinstance(part, ast.With) for one in part.items]
    return any(_PRECISION.search(ast.unparse(value)) for value in (*handed, *entered))


def is_quiet(found: Outline, name: str) -> bool:
    """Whether a name is a function that says no word of training: whatever it is handed, it does not train."""
    units = found.names.get(name, ())
    return len(units) == 1 and isinstance(units[0], ast.FunctionDef) and not TRAINING.search(found.text(units[0]))


def _only_named(unit: ast.ClassDef) -> bool:
    """Whether a class is another one under a name of its own."""
    own = (node for node in unit.body if not isinstance(node, (ast.Assign, ast.AnnAssign, ast.Pass, ast.Expr)))
    return len(unit.bases) == 1 and not ast.unparse(bases_of(unit)[0]).endswith(_TORCH_S) and not any(own)


def _holds_loss(unit: ast.ClassDef) -> bool:
    """Whether objects of a class do nothing but hold values, a loss among them."""
    fields = [
        node.target.id for node in unit.body if isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name)
    ]
    plain = all(isinstance(node, (ast.AnnAssign, ast.Expr, ast.Pass)) for node in unit.body)
    return plain and not unit.bases and any(speaks_of_loss(name) for name in fields)


def _holds_a_part(unit: ast.ClassDef) -> bool:
    """Whether objects of a class are made to hold an optimizer or a scaler, by the fields or the constructor of it."""
    fields = [node.target for node in unit.body if isinstance(node, ast.AnnAssign)]
    made = [node for node in unit.body if isinstance(node, ast.FunctionDef) and node.name == "__init__"]
    return any(_PART(getattr(field, "id", "")) for field in fields) or any(map(_takes_a_part, made))


def _class_matters(found: Outline, unit: ast.ClassDef, base: bool) -> bool:
    bases = [ast.unparse(node) for node in bases_of(unit)]
    if _is_schedule(found, unit):
        return True
    if any(text.endswith(_TORCH_S) and not (handed_on(found, text) or "").startswith(".") for text in bases):
        return False
    if base:
        return True
    if not (bases or unit.decorator_list) and all(isinstance(node, (ast.Assign, ast.AnnAssign)) for node in unit.body):
        return True  # a class of settings
    text = found.text(unit)
    if any(getattr(node, "name", "") in OPERATORS for node in unit.body):
        return True
    if _ACTING.search(text) or (speaks_of_loss(unit.name) and TRAINING.search(text)) or gives_loss(unit):
        return True
    if _wraps(found, unit) or _steps_by_itself(unit):
        return True
    every = (above for name in _bases_of(found, [unit.name]) for above in found.names.get(name, ()))
    return any(_ACTING.search(found.text(above)) for above in every)


def _steps_by_itself(unit: ast.ClassDef) -> bool:
    """Whether a class that is called an optimizer, and is none of torch's, says what its step does, or derives from one
    that says so: that may erase gradients too."""
    own = any(getattr(node, "name", "") == "step" for node in unit.body)
    return bool(_OPTIMIZER_CLASS(unit.name)) and (own or bool(unit.bases))


def _is_schedule(found: Outline, unit: ast.ClassDef) -> bool:
    """Whether a class derives from one of torch's schedulers, through others of its file too."""
    every = (unit, *(above for name in _bases_of(found, [unit.name]) for above in found.names.get(name, ())))
    bases = (base for one in every if isinstance(one, ast.ClassDef) for base in bases_of(one))
    return any(_of_torch(found, ast.unparse(base)) for base in bases)


def _of_torch(found: Outline, base: str) -> bool:
    """Whether a base class is one of torch's schedulers, by the imports of its file."""
    known = (handed_on(found, base) or " ".join(found.stars)).startswith("torch.optim")
    return base.rpartition(".")[2] in DERIVED_FROM and (known or "lr_scheduler." in base)


def _is_literal(unit: Unit) -> bool:
    """Whether a statement assigns a number, a string, a truth, a dtype, a way to shard or None."""
    value = getattr(unit, "value", None) if isinstance(unit, (ast.Assign, ast.AnnAssign)) else None
    if isinstance(value, ast.UnaryOp):
        value = value.operand
    of_torch = isinstance(value, ast.Attribute) and bool(_PRECISION.fullmatch(ast.unparse(value)))
    return isinstance(value, ast.Constant) or of_torch or (value is not None and is_strategy(value))


def reduced(found: Outline, wanted: Collection[str], handed: Collection[str] = ()) -> str:
    """The text of the file with the wanted definitions and what they use, all else blank; rows and columns stay.
    `handed`: the methods that a loss is handed to."""
    units = _closure(found, wanted)
    lines = ["\n"] * len(found.lines)
    for unit in units:
        lines[_first(unit) : unit.end_lineno] = found.lines[_first(unit) : unit.end_lineno]
    module = ast.Module(list(units), [])
    for first, last, instead in blanks(module, list(found.lines), deciding(module), handed=handed):
        lines[first] = instead
        lines[first + 1 : last] = ["\n"] * (last - first - 1)
    for first, last in unreached(module):
        lines[first:last] = ["\n"] * (last - first)
    return "".join(lines)


def _closure(found: Outline, wanted: Collection[str]) -> list[Unit]:
    """The statements that define the wanted names and all that those use, in the order of the file."""
    waiting, seen, kept = list(wanted), set[str](), dict[int, Unit]()
    asked = {*wanted, *_bases_of(found, wanted)}
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        for unit in found.names.get(name, ()):
            if id(unit) in kept or not _joins(found, unit, name, asked):
                continue
            kept[id(unit)] = unit
            waiting += [node.id for node in inside(unit) if isinstance(node, ast.Name) and node.id in found.names]
    return sorted(kept.values(), key=lambda unit: unit.lineno)


def _bases_of(found: Outline, names: Iterable[str]) -> Iterator[str]:
    """The classes of the same file that classes derive from, however far."""
    waiting, seen = list(names), set[str]()
    while waiting:
        for unit in found.names.get(waiting.pop(), ()):
            for base in bases_of(unit):
                if isinstance(base, ast.Name) and base.id not in seen:
                    seen.add(base.id)
                    waiting.append(base.id)
                    yield base.id


def _joins(found: Outline, unit: Unit, name: str, asked: Collection[str]) -> bool:
    """Whether a statement is taken along: what cannot matter, what is computed and what something changes is not."""
    if isinstance(unit, (ast.Assign, ast.AnnAssign)):
        return _is_literal(unit) and name not in found.changed and len(found.names[name]) == 1
    if isinstance(unit, ast.ClassDef) and not _class_matters(found, unit, False):
        return name in asked
    return _short(found, unit)


def _short(found: Outline, unit: Unit) -> bool:
    """Whether a definition is short enough to be followed, what cannot matter in a class left aside."""
    if (unit.end_lineno or 0) - unit.lineno <= MAX_ROWS:
        return True
    rows = _rows_of_code(unit)
    if len(rows) <= MAX_ROWS or not isinstance(unit, ast.ClassDef):
        return len(rows) <= MAX_ROWS
    return len(rows) <= MAX_ROWS_OF_CLASS and (gives_loss(unit) or len(rows - _idle_rows(found, unit)) <= MAX_ROWS)


def _rows_of_code(unit: ast.stmt) -> set[int]:
    """The rows of a definition, counted from 1, on which anything begins: no comments, and one of each docstring."""
    return {node.lineno for node in inside(unit) if isinstance(node, ast.stmt | ast.expr)}


def _idle_rows(found: Outline, unit: ast.ClassDef) -> set[int]:
    """The rows of a class that stand in functions which cannot matter to a training step."""
    module = ast.Module([unit], [])
    every = blanks(module, list(found.lines), deciding(module))
    return {row for first, last, _ in every for row in range(first + 2, last + 1)}


def _first(unit: Unit) -> int:
    """The row, counted from 0, at which a statement begins with its decorators."""
    decorators = [node.lineno for node in getattr(unit, "decorator_list", ())]
    return min(unit.lineno, *decorators) - 1 if decorators else unit.lineno - 1
