"""`python -m runtime_guard [options] SCRIPT|-m MODULE [ARGS]`: runs a training script, unchanged, under the guard."""

from __future__ import annotations

import sys

from runtime_guard.runner import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
