"""One slip in a legal window of Accelerate, mended: the program computes the original's numbers again.

Each program runs on the CPU for twelve updates, in a child that is forked once Accelerate is loaded.
"""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fix.mended import mended

LEGAL = (Path(__file__).parent / "programs/accelerate_loop.py").read_text(encoding="utf-8")
CLIP = (
    "            if accelerator.sync_gradients:\n                accelerator.clip_grad_norm_(model.parameters(), 1.0)\n"
)
UNGATED = "            accelerator.clip_grad_norm_(model.parameters(), 1.0)\n"
STEP, SCHEDULE, ZERO = (
    f"            {call}()\n" for call in ("optimizer.step", "scheduler.step", "optimizer.zero_grad")
)
LOSS = "cross_entropy(model(x), y)"
OPENS = "        with accelerator.accumulate(model):\n"
SLIPS = {
    "drop zero": ((ZERO, ""), {"missing-zero-grad"}),
    "raw backward": (("accelerator.backward(loss)", "loss.backward()"), {"bypassed-framework-backward"}),
    "raw clip": (("accelerator.clip_grad", "nn.utils.clip_grad"), {"bypassed-framework-clip"}),
    "move clip out of the gate": ((CLIP, UNGATED), {"clip-per-micro-step"}),
    "raw clip out of the gate": (
        (CLIP, UNGATED.replace("accelerator", "nn.utils")),
        {"bypassed-framework-clip"},
    ),
    "divide": ((LOSS, f"{LOSS} / 4"), {"double-loss-division"}),
    "divide in place": (
        ("            accelerator.b", "            loss /= 4\n            accelerator.b"),
        {"double-loss-division"},
    ),
    "swap clip and step": ((CLIP + STEP, STEP + CLIP), {"clip-after-step"}),
    "swap step and zero": ((STEP + SCHEDULE + ZERO, ZERO + STEP + SCHEDULE), {"zero-grad-before-step"}),
    "swap step and schedule": ((STEP + SCHEDULE, SCHEDULE + STEP), {"scheduler-before-optimizer"}),
    "move zero to the front": ((STEP + SCHEDULE + ZERO, STEP + SCHEDULE), {"zero-grad-per-micro-step"}),
}
RUN = """\
import json, os, runpy, sys

import accelerate, torch

torch.set_num_threads(1)
for path in sys.argv[1:]:
    if os.fork() == 0:
        parameters = runpy.run_path(path)["model"].parameters()
        with open(path + ".json", "w") as file:
            json.dump([number for one in parameters for number in one.flatten().tolist()], file)
        os._exit(0)
    os.wait()
"""

pytestmark = [
    pytest.mark.skipif(sys.platform == "win32", reason="the children are forked"),
    pytest.mark.skipif(importlib.util.find_spec("accelerate") is None, reason="Accelerate is not installed"),
]


def slipped(slip: str) -> str:
    old, new = SLIPS[slip][0]
    assert old in LEGAL
    text = LEGAL.replace(old, new)
    return text.replace(OPENS, OPENS + ZERO) if slip == "move zero to the front" else text


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """The legal program and each slip as it was mended, with the rules of its fixes; and what they all compute."""
    folder = tmp_path_factory.mktemp("mended")
    done: dict[str, set[str]] = {}
    texts = {"legal": LEGAL}
    for slip in SLIPS:
        _, after, mends = mended(slipped(slip))
        texts[slip], done[slip] = after.script.text, set(mends)
    paths = {name: folder / f"{name.replace(' ', '_')}.py" for name in texts}
    for name, path in paths.items():
        path.write_text(texts[name], encoding="utf-8")
    subprocess.run([sys.executable, "-c", RUN, *map(str, paths.values())], check=True, capture_output=True)
    return done, {name: json.loads(Path(f"{path}.json").read_text()) for name, path in paths.items()}


@pytest.mark.parametrize("slip", SLIPS)
def test_what_a_slip_changed_is_mended(programs, slip):
    done, numbers = programs
    assert done[slip] == SLIPS[slip][1]
    close = 1e-6 if slip.startswith("divide") else 0.0
    assert numbers[slip] == pytest.approx(numbers["legal"], rel=close, abs=close)
