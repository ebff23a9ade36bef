"""The guard where losses and gradients are on a device: it finds the same, waits for nothing and changes nothing."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

HERE = Path(__file__).parent / "device"
SCALED = ["scaler-without-autocast"]
FOUND = {
    "plain": [],
    "plain, the division is lost late": ["missing-loss-division"],
    "scaled": SCALED,
    "scaled, clipped too early": ["clip-before-unscale", *SCALED],
    "fused": SCALED,
    "tokens": [],
    "tokens, divided again": ["wrong-loss-divisor"],
    "masked": [],
}
"""The rules that speak of each loop. Its first windows are read, and one in 256 once it is steady."""

pytestmark = [
    pytest.mark.skipif(not hasattr(torch._C, "_acc"), reason="needs a torch whose devices can be made in Python"),
    pytest.mark.skipif(
        shutil.which("c++") is None or shutil.which("ninja") is None or importlib.util.find_spec("setuptools") is None,
        reason="needs a C++ compiler, ninja and setuptools",
    ),
]


def test_loops_on_a_device_are_judged_and_their_numbers_are_not_waited_for(tmp_path):
    environment = {**os.environ, "AWAY_BUILD": str(tmp_path), "OMP_NUM_THREADS": "1"}
    ran = subprocess.run(
        [sys.executable, str(HERE / "loops.py")], env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    told = json.loads(ran.stdout.splitlines()[-1])
    assert {name: one["rules"] for name, one in told.items()} == FOUND
    assert told["fused"]["skipped"] == [2]
    for name, one in told.items():
        assert one["same"], name
        assert one["added reads"] == 0, name
        assert one["off"] == [], name
        assert one["windows"] == {"3": 280}, name
        read = [21] if name == "masked" else [6, 9]  # of 280: one in 16, until the loop is steady; again after a change
        assert one["read"] in read, name
