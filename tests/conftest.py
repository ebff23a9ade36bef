"""All tests: torch computes with one thread, in this process and in those that tests start.

The models of the tests are small, and several test processes share the machine: more threads would wait for each other.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
