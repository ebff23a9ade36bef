"""A legal window over a framework, and what one slip makes of it."""

from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Framework:
    """A legal window: what stands before the loop, the lines of a micro-step, those of them that are gated, and how."""

    head: str
    lines: dict[str, str]
    gate: str = ""
    gated: tuple[str, ...] = ()
    raw: dict[str, str] = field(default_factory=dict)
    loop: str = "    for i, (x, y) in enumerate(loader):"
    around: str = ""
    after: str = ""

    def program(self, lines: list[tuple[str, str]], gate: bool = True) -> str:
        """The program with some lines, gated or not."""
        inside = 8 if not self.around else 12
        rows = [self.head.rstrip(), self.loop, *([" " * 8 + self.around] if self.around else [])]
        for name, text in lines:
            gated = name in self.gated and gate
            rows += [" " * inside + self.gate] if gated else []
            rows.append(" " * (inside + 4 * gated) + text)
        return "\n".join([*rows, self.after]) + "\n"

    def mutants(self) -> Iterator[tuple[str, str]]:
        """Every program that one slip makes, with the slip's name."""
        legal = list(self.lines.items())
        for at, (name, _) in enumerate(legal[1:], 1):  # the forward is torch's
            yield f"drop {name}", self.program(legal[:at] + legal[at + 1 :])
            yield f"double {name}", self.program(legal[: at + 1] + legal[at:])
            if name in self.raw:
                yield f"raw {name}", self.program([*legal[:at], (name, self.raw[name]), *legal[at + 1 :]])
        if self.gated:
            yield "ungated", self.program(legal, gate=False)
