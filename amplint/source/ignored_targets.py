"""What targets are filled with so that a criterion ignores them, in a file and in those that its imports lead to.

It counts where the number of ignored targets can differ from batch to batch: a mask or a slice that is computed, a list
as long as a prompt, a padding. Every value is told as a number where it is known, and by its last name.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from functools import lru_cache

from amplint.source.asked import stamp
from amplint.source.imported import imported
from amplint.source.importing import importers
from amplint.source.languages import script_of
from amplint.source.reading import Unreadable, read
from amplint.source.trees import every_node, inside, tree_of

FARTHEST = 3
"""Files from one to the next in which the targets may be made."""

MOST = 64
"""Files that are looked at."""

MOST_IMPORTERS = 4
"""Files that import one which are asked when neither it nor what it imports says anything."""

_HINT = re.compile(r"ignore|IGNORE|padding_value|masked_fill|-\s*100\b|ForSeq2Seq|ForTokenClass|CompletionOnly")
_TARGETS = re.compile(r"(?i)label|target|(?<![a-z])(tgt|trg|y)(?![a-z])")
_COLLATORS = tuple(f"DataCollatorFor{one}" for one in ("Seq2Seq", "TokenClassification", "CompletionOnlyLM"))
"""transformers 4.57 and TRL: labels are padded with `label_pad_token_id`, by default -100, or masked with it."""

_FILLS = {"masked_fill": 1, "masked_fill_": 1, "full": 1, "full_like": 1, "new_full": 1}
_FILLS |= {"pad_sequence": 2, "pad": 3, "fill_": 0, "fill": 0, "index_fill": 2, "index_fill_": 2}
_ONES = frozenset({"new_ones", "ones", "ones_like"})
_NAMED = ("padding_value", "fill_value", "value", "constant_values")

Constants = dict[str, set[int]]


def ignored_targets(path: str, text: str) -> frozenset[str]:
    """The values with which a text, or a file that its imports lead to, fills targets that a criterion ignores.

    Reading so many files takes time: it is asked of programs that average means over a window, and of no others.
    """
    found, constants = _made(text)
    values, known = [*found], {name: set(held) for name, held in constants.items()}
    seen = {path}
    _gather([path], seen, values, known)
    return _spelled(values, known) or _of_those_who_import(path, seen, values, known)


def _of_those_who_import(path: str, seen: set[str], values: list[str], known: Constants) -> frozenset[str]:
    """The values with which those fill targets who import a file that says nothing of targets itself."""
    above = [file for file in importers(path)[:MOST_IMPORTERS] if file not in seen]
    for file in above:
        _add(file, values, known)
    _gather(above, seen | set(above), values, known)
    return _spelled(values, known)


def _spelled(values: list[str], known: Constants) -> frozenset[str]:
    return frozenset(spelling for value in values for spelling in _spellings(value, known))


def _gather(here: list[str], seen: set[str], values: list[str], known: Constants) -> None:
    """Adds what targets are filled with in the files that the imports of some lead to."""
    for _ in range(FARTHEST):
        every = dict.fromkeys(file for one in here for file in sorted(imported(one)) if file not in seen)
        here = list(every)[: max(0, MOST - len(seen))]
        for file in here:
            seen.add(file)
            _add(file, values, known)


def _add(file: str, values: list[str], known: Constants) -> None:
    """Adds what targets are filled with in a file."""
    about = stamp(file)
    found, constants = _made_in(file, *about) if about is not None else ((), {})
    values += found
    for name, held in constants.items():
        known.setdefault(name, set()).update(held)


def _spellings(value: str, known: Constants) -> Iterator[str]:
    yield value
    if len(known.get(value, ())) == 1:
        yield str(next(iter(known[value])))


@lru_cache(maxsize=1024)
def _made_in(path: str, changed: int, size: int) -> tuple[tuple[str, ...], Constants]:
    try:
        data = read(path, lambda held: True)
        return _made(script_of(data, path).text if data is not None else "")
    except Unreadable:
        return (), {}


def _made(text: str) -> tuple[tuple[str, ...], Constants]:
    """The values that targets are filled with in a text, and the whole numbers that names are given in it."""
    if not _HINT.search(text):
        return (), {}
    try:
        tree = tree_of(text)
    except Unreadable:
        return (), {}
    constants: Constants = {}
    values: dict[str, None] = {}
    for node in every_node(tree) if tree is not None else ():
        if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.Expr, ast.Return)):
            _note(node, constants)
            values |= dict.fromkeys(_fillings(node))
    return tuple(values), constants


def _note(node: ast.stmt, constants: Constants) -> None:
    """Adds the name of a whole number."""
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    value = _value(getattr(node, "value", None))
    for target in targets:
        name = getattr(target, "id", getattr(target, "attr", None))
        if name is not None and value.lstrip("-").isdecimal():
            constants.setdefault(name, set()).add(int(value))


def _fillings(node: ast.stmt) -> Iterator[str]:
    """The values that a statement fills targets with: those that are said to be ignored, or fill something that is
    called a target."""
    yield from _collated(node)
    found = {value for value in _filled(node) if value}
    if found:
        named = bool(_TARGETS.search(ast.unparse(node)))
        yield from (value for value in sorted(found) if named or "ignore" in value.lower())


def _collated(statement: ast.stmt) -> Iterator[str]:
    """The values that collators of a library fill labels with."""
    for call in (node for node in inside(statement) if isinstance(node, ast.Call)):
        if _called(call).endswith(_COLLATORS):
            told = (keyword.value for keyword in call.keywords if keyword.arg == "label_pad_token_id")
            yield next((_value(value) for value in told), "-100")


def _called(call: ast.Call) -> str:
    return str(getattr(call.func, "attr", getattr(call.func, "id", "")))


def _filled(statement: ast.stmt) -> Iterator[str]:
    if isinstance(statement, ast.Assign):
        for target in statement.targets:
            if isinstance(target, ast.Subscript) and _varies(target.slice):
                yield _value(statement.value)
    for node in inside(statement):
        if isinstance(node, ast.Call):
            yield from _of_call(node)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            for one, other in ((node.left, node.right), (node.right, node.left)):
                if isinstance(one, ast.List) and len(one.elts) == 1 and _varies(other):
                    yield _value(one.elts[0])
                elif isinstance(one, ast.Call) and _called(one) in _ONES:
                    yield _value(other)
        elif isinstance(node, (ast.ListComp, ast.GeneratorExp)) and isinstance(node.elt, ast.IfExp):
            yield from map(_value, (node.elt.body, node.elt.orelse))


def _of_call(call: ast.Call) -> Iterator[str]:
    """The values that a call fills a tensor with."""
    name = _called(call)
    keywords = {keyword.arg: keyword.value for keyword in call.keywords}
    if name == "where":
        yield from (_value(arg) for arg in call.args[1:3])
    elif name in _FILLS:
        yield from (_value(keywords[known]) for known in _NAMED if known in keywords)
        yield from (_value(arg) for arg in call.args[_FILLS[name] :][:1])


def _varies(node: ast.expr) -> bool:
    """Whether an index or a length is not the same for all batches by its text alone."""
    return any(isinstance(part, (ast.Name, ast.Attribute)) for part in inside(node))


def _value(node: ast.expr | None) -> str:
    """A whole number as it is written, or the last part of a name; empty for anything else."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _value(node.operand)
        return f"-{inner}" if inner.isdecimal() else ""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return str(node.value)
    return str(getattr(node, "attr", getattr(node, "id", "")))
