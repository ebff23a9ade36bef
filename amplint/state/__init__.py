"""What one run of a program knows: its values and numbers, its scopes, and how conditions were decided.

What a name holds is known exactly, or it is a symbol. A condition over symbols is decided once per run and recorded,
so a run is deterministic; `flow` runs the program once per assignment.
"""
