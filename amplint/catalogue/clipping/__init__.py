"""Gradient clipping."""
