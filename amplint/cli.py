"""The entry of the command line. The version is told before anything that a command needs is read."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from amplint import __version__

if TYPE_CHECKING:
    from amplint.run import Analysis


def main(argv: Sequence[str] | None = None, analysis: Analysis | None = None) -> int:
    """The exit code. `analysis` stands in for the one that amplint brings."""
    words = list(sys.argv[1:] if argv is None else argv)
    if words in (["--version"], ["version"]):
        sys.stdout.write(f"amplint {__version__}\n")
        return 0
    from amplint.commands import done

    return done(words, analysis)
