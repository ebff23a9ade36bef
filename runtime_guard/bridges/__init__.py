"""The guard where a framework has a place of its own for it: callbacks, and one line around a loop.

Zero-change mode, `python -m runtime_guard train.py`, needs none of this. Importing this package imports no framework:
each bridge is a module that imports its framework when it is imported itself.

* `runtime_guard.bridges.transformers.GuardCallback`: Trainer and what is made of it (TRL, ms-swift)
* `runtime_guard.bridges.lightning.GuardCallback`: Lightning's Trainer
* `runtime_guard.bridges.loops.watch`: Accelerate and Fabric
"""
