"""Which parts of a file can hold a training step: `ast` decides, twelve times faster than LibCST parses.

The rest of the file is blanked out, so that rows and columns stay true. A text that `ast` cannot read (the
interpreter may be older than its syntax) is kept whole.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Collection, Iterator

from amplint.dialects import LOSS_ARGUMENTS, LOSS_BASES, OVERRIDES, TABLES
from amplint.dialects.unseen import may_take_part
from amplint.source.glance import HELD, MAKES_OPTIMIZERS, REPLICATED, SEEDING, may_hold_a_step, sets_a_precision
from amplint.source.keepers import handed, keepers
from amplint.source.lines import LINE
from amplint.source.makers import (
    bases_of,
    last_name,
    makers,
    makes_a_model,
    makes_objects,
    speaks_of_strategy,
    wrapping,
)
from amplint.source.rates import rates_of
from amplint.source.reading import Unreadable
from amplint.source.trees import depth, every_node, inside, tree_of
from amplint.source.unreached import unreached

UNWRAPS = r"""getattr\(\w+(?:\.\w+)*, ?["']module["']|\.module\("""
"""What takes a model out of its wrapper, or calls it there."""

SIDE_BY_SIDE = r"zip\(\w+(?:\.\w+)*\.(?:named_)?parameters\("
"""What goes through the parameters of two models at once, as averages of weights do."""

TRAINING = re.compile(
    r"(?i)backward|\.step\b|zero_grad|scaler|optim|autocast|clip_grad|sched|loss|entropy|criterion|accum|\.grad\b|unscale|training_step|custom_[fb]wd|num_items_in_batch|all_reduce|dist\.reduce|\.prepare\(|\.half\(\)|float16"
    rf"|{UNWRAPS}|{SIDE_BY_SIDE}"
    r"|requires_grad|register_\w*hook|isinstance\(\w+(?:\.\w+)*, ?F(?:SDP|ullySharded)"
)
MAX_DEPTH = 1000
"""Levels of the syntax tree: a chain of `elif` or of operators adds one for each link."""

MAX_BRACKETS = 200
_BRACKET = re.compile(r"[()\[\]{}]")
OPERATORS = frozenset(f"__{kind}{name}__" for name in ("add", "sub", "mul", "truediv") for kind in ("", "r", "i"))
"""Methods that run where an operator stands."""

LEFT_ASIDE = ("_", "__")
"""The parameters of what stands in the place of a function that cannot matter."""

_DRAWN_FROM = frozenset({"__iter__", "__next__"})
_ENDLESS = re.compile(r"(?s)\bwhile (?:True|1)\b.*\byield\b")
"""What hands out batches, and perhaps never ends."""


def scout(text: str, seeds: Collection[str] = ()) -> str | None:
    """The text with every function that cannot matter blanked out; None when nothing in it can matter.

    `seeds`: what else, when it is called, makes a training step.

    Raises Unreadable for code that nests too deeply for a parser to be safe.
    """
    if not may_hold_a_step(text, seeds):
        return None
    tree = tree_of(text)
    if tree is None:
        check_brackets(text)
        return text
    _check_depth(tree)
    every = every_node(tree)
    acting = {*seeds, *_optimizers(every), *(wrapping(every) if REPLICATED in text else ())}
    if not sets_a_precision(text) and not any(_matters(node, text, acting) for node in every):
        return None
    lines = LINE.findall(text)
    for first, last, instead in blanks(tree, lines, deciding(tree), seeds, handed(every)):
        lines[first] = instead
        lines[first + 1 : last] = ["\n"] * (last - first - 1)
    for first, last in unreached(tree):
        lines[first:last] = ["\n"] * (last - first)
    return "".join(lines)


def check_brackets(text: str) -> None:
    """Refuses what would overflow LibCST's stack; brackets in strings count too, for nobody nests 200 of them."""
    depth = 0
    for found in _BRACKET.finditer(text):
        depth = depth + 1 if found[0] in "([{" else max(depth - 1, 0)
        if depth > MAX_BRACKETS:
            raise Unreadable(f"brackets nest more than {MAX_BRACKETS} deep", text.count("\n", 0, found.start()) + 1)


def _check_depth(tree: ast.Module) -> None:
    if depth(tree) < MAX_DEPTH - 1:  # the marks of operators and uses are a level of their own
        return
    level: list[ast.AST] = [tree]
    for _ in range(MAX_DEPTH):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return
    row = next((node.lineno for node in level if hasattr(node, "lineno")), 1)
    raise Unreadable(f"the code nests more than {MAX_DEPTH} levels deep", row)


def _matters(node: ast.AST, text: str, seeds: Collection[str]) -> bool:
    """Whether a node is a backward, the making of a scaler, an autocast to look at, an override of a loss, or the
    handing over of one.

    A zeroing is enough, or that a model is wrapped for several processes: the backward may be in another file.
    """
    if isinstance(node, ast.ClassDef):
        own = any(getattr(child, "name", "") in OVERRIDES for child in node.body)
        return bool(node.bases) and (own or any(last_name(base) in LOSS_BASES for base in bases_of(node)))
    if isinstance(node, ast.Subscript):
        return last_name(node.value) in TABLES and isinstance(node.ctx, ast.Store)
    if not isinstance(node, ast.Call):
        return False
    if any(keyword.arg in LOSS_ARGUMENTS for keyword in node.keywords):
        return True
    name = last_name(node.func)
    if name in SEEDING or name in seeds or name.endswith("GradScaler") or MAKES_OPTIMIZERS.match(name):
        return True
    if _makes_an_optimizer(node):
        return True
    if name == "clip_grad_norm_":  # of a model that somebody keeps, who may know more of it
        return HELD.search(text) is not None
    return name == "autocast" and _to_look_at(node, text)


def _optimizers(nodes: Collection[ast.AST]) -> set[str]:
    """The names of what a module imports from `torch.optim`."""
    taken = (node for node in nodes if isinstance(node, ast.ImportFrom) and node.module == "torch.optim")
    return {alias.asname or alias.name for node in taken for alias in node.names if alias.name[:1].isupper()}


def _makes_an_optimizer(node: ast.Call) -> bool:
    """Whether a call makes a class of `torch.optim`, is handed that module, or the parameters of a model first: whoever
    makes an optimizer trains, perhaps by functions of another file."""
    if isinstance(node.func, ast.Attribute) and last_name(node.func.value) == "optim":
        return node.func.attr[:1].isupper()
    if isinstance(node.func, ast.Name) and hasattr(builtins, node.func.id):
        return node.func.id == "getattr" and last_name(node.args[0]) == "optim" if node.args else False
    if any(keyword.arg == "params" for keyword in node.keywords) or "optim" in map(last_name, node.args):
        return True
    handed = node.args[:1]
    return any(isinstance(part, ast.Call) and _gives_parameters(part) for one in handed for part in inside(one))


def _gives_parameters(node: ast.Call) -> bool:
    return getattr(node.func, "attr", "") in ("parameters", "named_parameters")


def _to_look_at(node: ast.Call, text: str) -> bool:
    """An autocast without a device, or one of `torch.cuda.amp`'s spelling with a `device_type`."""
    given = any(keyword.arg == "device_type" for keyword in node.keywords)
    if given or node.args:
        return given and "cuda.amp" in text
    if isinstance(node.func, ast.Attribute) and getattr(node.func.value, "attr", "") == "amp":
        return "cuda" not in ast.unparse(node.func)
    return isinstance(node.func, ast.Attribute) or "cuda.amp import" not in text


def deciding(tree: ast.Module) -> frozenset[str]:
    """The names that a test reads or a loop runs over: a function of such a name may say where a window ends."""
    heads: list[ast.expr] = []
    for node in every_node(tree):
        if isinstance(node, (ast.If, ast.IfExp, ast.While)):
            heads.append(node.test)
        elif isinstance(node, ast.For):
            heads.append(node.iter)
    parts = [part for head in heads for part in inside(head)]
    return frozenset(
        getattr(part, "attr", getattr(part, "id", "")) for part in parts if isinstance(part, (ast.Name, ast.Attribute))
    )


_ACTS = re.compile(r"backward\(|\.step\(|clip_grad_norm_\(")
_ASKED = re.compile(r"\bself\.(\w+)\.(?:train_\w+|\w+_step|\w*loss\w*)\(")
"""An object that a step is asked of, which some other method may have made."""

_CALLED = re.compile(r"(\bself\.|\bcls\.|\.|\b)(\w+)\(")
_EVERYBODY_S = frozenset("add call close eval fit forward get init load log main put reset run save setup test".split())
"""Methods that so many objects have that a call of one says nothing, unless it is the object's own."""


def blanks(
    tree: ast.Module, lines: list[str], told: frozenset[str], seeds: Collection[str] = (), handed: Collection[str] = ()
) -> Iterator[tuple[int, int, str]]:
    """(first line, line after the last, what stands there instead) of every function that cannot matter.

    It says no word of training, makes and wraps no model and makes no object that a step is asked of, calls none of the
    `seeds` and no function of the file that leads to one that does, to a model, a backward or a step, or to what is
    left to others, says nothing of how a model is sharded, computes no schedule and no number of steps, counts and
    fills nothing that a test or a loop asks for, hands out no batches, puts nothing into its object by a name that
    is not written, and is no method of a class that keeps what a method among the `handed` is given. In its place
    stands one of its name that does nothing; nothing at all, where decorators make something else of it, or where it
    goes on with that of a base class.
    """
    asked = {name for name, _ in zip(_ASKED.findall("".join(lines)), range(16), strict=False)}
    makes = re.compile(rf"\bself\.(?:{'|'.join(sorted(asked))}) = \w+\(") if asked else None
    idle: dict[str, list[tuple[int, int, str]]] = {}
    acting: set[str] = set()
    made, keeping = makers(tree, "".join(lines)), keepers(every_node(tree), handed) if handed else set()
    kept = rates_of(tree) | constructors(tree, lines) | made | keeping
    for node in _functions(tree):
        first, last = _rows(node)
        text = "".join(lines[first:last])
        alone = text.lstrip().startswith(("def ", "async ", "@")) and last - first > 3
        silent = _is_silent(text, seeds) and id(node) not in kept and not (makes is not None and makes.search(text))
        silent = silent and told.isdisjoint((*_GROWS.findall(text), node.name))
        gives = makes_a_model(node)
        if alone and silent and node.name not in OPERATORS | _DRAWN_FROM and not (gives or makes_objects(node)):
            idle.setdefault(node.name, []).append((first, last, _instead(node, text)))
        elif gives or id(node) in made or _ACTS.search(text):
            acting.add(node.name)
        if _is_left_open(node):
            acting.add(node.name)
    acting |= _left_to_heirs(tree, "".join(lines))
    called = {name: _calls(lines, places) for name, places in idle.items()} if acting else {}
    while leading := {name for name, names in called.items() if not names.isdisjoint(acting)} - acting:
        acting |= leading
    yield from (place for name, places in idle.items() if name not in acting for place in places)


def _is_silent(text: str, seeds: Collection[str]) -> bool:
    """Whether the text of a function says nothing of training, nor of what may decide over it."""
    if TRAINING.search(text) or any(seed in text for seed in seeds):
        return False
    return not (speaks_of_strategy(text) or any(kind.search(text) for kind in (_SETS, _COUNTS, _ENDLESS)))


def _instead(node: ast.FunctionDef | ast.AsyncFunctionDef, text: str) -> str:
    """What stands in the place of a function that cannot matter."""
    indent = text[: len(text) - len(text.lstrip())]
    kind = "async def" if isinstance(node, ast.AsyncFunctionDef) else "def"
    plain = not node.decorator_list and "super(" not in text
    params = "*{}, **{}".format(*LEFT_ASIDE)
    return f"{indent}{kind} {node.name}({params}): pass\n" if plain else f"{indent}pass\n"


_LEFT = re.compile(r"\bself\.((?:train|fit|learn)_\w+|\w+_(?:step|epoch|batch|iteration))\(")
"""What an object asks of itself that trains, by its name."""


def _left_to_heirs(tree: ast.Module, text: str) -> set[str]:
    """The methods that objects are asked for, by names of training, and that no class of the file fills in."""
    names = set(_LEFT.findall(text))
    return names - {node.name for node in _functions(tree) if not _is_empty(node)} if names else names


def _is_empty(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a function does nothing, or refuses."""
    said = (one.value if isinstance(one, ast.Expr) else one for one in node.body)
    return all(isinstance(one, (ast.Pass, ast.Raise, ast.Constant)) for one in said)


def _is_left_open(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    """Whether a method is left to those who derive from its class, and may take part in the step there."""
    only = [one for one in node.body if not (isinstance(one, ast.Expr) and isinstance(one.value, ast.Constant))]
    abstract = any(last_name(one) == "abstractmethod" for one in node.decorator_list)
    return (abstract or (len(only) == 1 and isinstance(only[0], ast.Raise))) and may_take_part(node.name)


_SETS = re.compile(r"\bsetattr\(\s*self\b|\bself\.__dict__\.update\(|\bvars\(self\)\.update\(")
_GROWS = re.compile(r"\bself\.(\w+)(?: *[-+]=|\[[^\]\n]*\] *=(?!=)|\.(?:add|append|extend|insert|setdefault|update)\()")
"""An attribute that counts something, by which a test may say where a window ends, or that is filled."""
_COUNTS = re.compile(r"\breturn\b[^\n]*\blen\([\w.]+\)[^\n]*[*/][^\n]*epochs\b|\breturn\b[^\n]*epochs\b *\* *len\(")
"""What returns the batches of all epochs."""
_MAX_ROWS = 40
"""Rows of the constructor of a criterion; that of a model is longer, and says nothing of a loss."""


def constructors(tree: ast.Module, lines: list[str]) -> set[int]:
    """The constructors, by identity, that say what an object trains with, whatever they call it: those of classes that
    go back, clip or step, and those of criteria."""
    found: set[int] = set()
    for node in every_node(tree):
        body = node.body if isinstance(node, ast.ClassDef) else ()
        methods = {one.name: one for one in body if isinstance(one, ast.FunctionDef)}
        made = methods.get("__init__")
        if made is not None:
            acts = any(_ACTS.search("".join(lines[slice(*_rows(one))])) for one in methods.values())
            if acts or (_is_criterion(methods) and _length(made) <= _MAX_ROWS):
                found.add(id(made))
    return found


def _is_criterion(methods: dict[str, ast.FunctionDef]) -> bool:
    """Whether an object is called with two things or more, as a criterion is with an output and a target."""
    called = methods.get("__call__", methods.get("forward"))
    return called is not None and len(called.args.args) > 2


def _length(node: ast.FunctionDef) -> int:
    first, last = _rows(node)
    return last - first


def _functions(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    """The functions of a module and the methods of its classes, but not what is defined inside of them."""
    stack: list[ast.AST] = [tree]
    while stack:
        for child in ast.iter_child_nodes(stack.pop()):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)):
                yield child
            elif isinstance(child, (ast.ClassDef, ast.If, ast.Try)):
                stack.append(child)


def _calls(lines: list[str], places: list[tuple[int, int, str]]) -> set[str]:
    """The names of what some functions call; of what many objects have, only what is called on `self`."""
    text = "".join("".join(lines[first:last]) for first, last, _ in places)
    return {name for owner, name in _CALLED.findall(text) if owner != "." or name not in _EVERYBODY_S}


def _rows(node: ast.FunctionDef | ast.AsyncFunctionDef) -> tuple[int, int]:
    """The first line of a function with its decorators, counted from 0, and the line after its last."""
    first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)]) - 1
    return first, node.end_lineno or node.lineno
