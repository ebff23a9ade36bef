"""Putting right: remedies placed in the user's text, and proved."""
