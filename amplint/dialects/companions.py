"""Which torch the libraries come with that are released for one: what their bounds say of torch's.

torchvision and torchaudio: https://github.com/pytorch/pytorch/wiki/PyTorch-Versions; each release needs its torch and
no other (`Requires-Dist: torch (==2.0.1)` in the METADATA of torchvision 0.15.2). pytorch-lightning and lightning:
`Requires-Dist: torch` in the METADATA of pytorch-lightning 1.5.10 to 2.6.1, which names the oldest one only.
"""

from __future__ import annotations

from collections.abc import Mapping

_OLD_VISION = {f"0.{n}": f"1.{n - 1}" for n in range(5, 15)}
_OLD_AUDIO = {f"0.{n}": f"1.{n}" for n in range(6, 14)}
_NEW = range(30)
TOGETHER: Mapping[str, Mapping[str, str]] = {
    "torchvision": _OLD_VISION | {f"0.{n + 15}": f"2.{n}" for n in _NEW},
    "torchaudio": _OLD_AUDIO | {f"2.{n}": f"2.{n}" for n in _NEW},
}
"""Per library: the torch of each of its releases, by major and minor version."""

_OLD_LIGHTNING = {"1.5": "1.7", "1.6": "1.8", "1.7": "1.9", "1.8": "1.9", "1.9": "1.10"}
_LIGHTNING = {"2.0": "1.11", "2.1": "1.12", "2.2": "1.13", "2.3": "2.0", "2.4": "2.1", "2.5": "2.1", "2.6": "2.1"}
OLDEST: Mapping[str, Mapping[str, str]] = {
    "pytorch-lightning": _OLD_LIGHTNING | _LIGHTNING,
    "lightning": _LIGHTNING,
}
"""Per library: the oldest torch that each of its releases takes."""
