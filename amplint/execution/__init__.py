"""Runs a program on a small model: windows of three micro-steps, epochs of two windows and a tail, two epochs.

What a name holds is known exactly, or it is a symbol. A condition over symbols is decided once per run and recorded,
so a run is deterministic; `flow` runs the program once per assignment. The result of a run is a trace of events.
"""
