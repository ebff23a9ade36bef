"""Syntax to meaning: a LibCST tree becomes a program without what does not matter to the training step."""
