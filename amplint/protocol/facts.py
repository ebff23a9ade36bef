"""Facts of the text: what is written at one place, before anything runs."""

from __future__ import annotations

from dataclasses import dataclass, field

from amplint.protocol.events import Site


@dataclass(frozen=True)
class Fact:
    """A call of a known function: its qualified name and its arguments.

    `called` is the public name that the imports resolve to (`torch.cuda.amp.autocast`). `arguments` holds what is
    known of each argument: its position or keyword, and its value if it is a literal (else None). `used` says whether
    anything receives the result: `"dropped"` when the call is a statement of its own, else `"used"`.
    """

    called: str
    site: Site
    arguments: dict[int | str, object] = field(default_factory=dict, hash=False)
    used: str = "used"
    whole: bool = True
