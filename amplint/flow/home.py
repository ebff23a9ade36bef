"""Breaches that show in a neighbouring file, told in the file that was asked about.

What a file is told depends on nothing but that file and its neighbours on disk, so that it is the same whichever other
files were named. A mistake that stands in a neighbour and that the neighbour is told itself is left to it; another one
needs the call from here to be one, and is told at that call.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace

from amplint.flow.breaches import Breach
from amplint.protocol.events import Site

HAPPENS = "it happens here"
"""What is said of the place in another file of what is told of a call."""

Keys = Collection[tuple[str, Site]]


def brought_home(found: Iterable[Breach], path: str, own: Callable[[str], Keys]) -> Iterator[Breach]:
    """The breaches to tell in a file. `own`: the keys of the breaches that another file is told itself.

    What several places of a neighbour do wrong in one call from here is told once.
    """
    told: set[tuple[str, Site]] = set()
    for breach in found:
        if breach.site.path == path:
            yield breach
            continue
        calls = [site for site in breach.calls if site.path == path]
        if calls and (breach.rule, calls[-1]) not in told and breach.key not in own(breach.site.path):
            told.add((breach.rule, calls[-1]))
            known = any(site == breach.site for site, _ in breach.because)
            there = () if known else ((breach.site, HAPPENS),)
            yield replace(breach, site=calls[-1], because=(*breach.because, *there))
