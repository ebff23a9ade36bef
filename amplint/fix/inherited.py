"""What a region leaves to those in it: whether a file sets, around a call, what the call takes if it is not given."""

from __future__ import annotations

from collections.abc import Sequence

import libcst as cst

from amplint.catalogue.remedy import Renamed
from amplint.fix.code import Code, every


def given_to(args: Sequence[cst.Arg], argument: str, positions: Sequence[str]) -> cst.BaseExpression | None:
    """The value that a call gives an argument by its name or its position."""
    named = [arg.value for arg in args if arg.keyword is not None and arg.keyword.value == argument]
    at = positions.index(argument)
    by_place = [arg.value for arg in args[at : at + 1] if arg.keyword is None]
    return next(iter([*named, *by_place]), None)


def sets_another(code: Code, name: str, renamed: Renamed, argument: str) -> bool:
    """Whether a region of a file, or a call of it that sets what is in force, may say something else than the old name
    means: `torch.autocast("cuda", dtype=torch.bfloat16)`, `torch.set_autocast_dtype`, a region of another library."""
    names = {name, *_bound(code, name)}
    own = {"torch", *_bound(code)}
    usual = renamed.inherited[argument].rpartition(".")[2]
    for call in every(code.tree.module):
        if not isinstance(call, cst.Call):
            continue
        called = _last(call.func)
        if called.startswith(f"set_{name}") and called.endswith(argument):
            return True
        handed = [at for at, arg in enumerate(call.args, 1) if _last(arg.value) in names]
        if called not in names and not handed:
            continue
        made = call.func if called in names else call.args[handed[0] - 1].value
        args = call.args if called in names else call.args[handed[0] :]
        if code.source(made).partition(".")[0] not in own or any(arg.star for arg in args):
            return True
        value = given_to(args, argument, renamed.positions)
        if value is not None and _last(value) != usual and not _is_of_another_device(args, renamed):
            return True
    return False


def torch_here(code: Code) -> str:
    """What the whole file calls `torch`; empty where it does not import it."""
    imports = [one for one in every(code.tree.module) if isinstance(one, cst.Import)]
    aliases = [alias for one in imports if code.function(one) is code.tree.module for alias in one.names]
    whole = [alias.evaluated_alias or "torch" for alias in aliases if alias.evaluated_name == "torch"]
    parts = ["torch" for one in aliases if one.asname is None and one.evaluated_name.startswith("torch.")]
    return next(iter([*whole, *parts]), "")


def _bound(code: Code, name: str = "") -> set[str]:
    """The names under which a file imports something from torch, or only what is called `name` there."""
    found: set[str] = set()
    for one in every(code.tree.module):
        if isinstance(one, cst.Import | cst.ImportFrom) and not isinstance(one.names, cst.ImportStar):
            module = f"{code.source(one).split()[1]}." if isinstance(one, cst.ImportFrom) else ""
            for alias in one.names:
                full = module + alias.evaluated_name
                if full.partition(".")[0] == "torch" and (not name or full.rpartition(".")[2] == name):
                    found.add(alias.evaluated_alias or alias.evaluated_name.partition(".")[0])
    return found


def _is_of_another_device(args: Sequence[cst.Arg], renamed: Renamed) -> bool:
    """Whether a region says that it is of a device for which the call is not."""
    values = [arg.value for arg in args if arg.keyword is None or arg.keyword.value == "device_type"]
    devices = [one.evaluated_value for one in values if isinstance(one, cst.SimpleString)]
    return any(str(one).partition(":")[0] != renamed.argument.strip('"') for one in devices)


def _last(node: cst.CSTNode) -> str:
    node = node.attr if isinstance(node, cst.Attribute) else node
    return node.value if isinstance(node, cst.Name) else ""
