"""Runs a program on a small model: windows of three micro-steps, epochs of two windows and a tail, two epochs.

Expressions are evaluated and statements executed; a call runs a function of the program, plays what a library does, or
returns something not known. The result of a run is a trace of events.
"""
