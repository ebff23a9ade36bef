"""Precision regions and dtypes."""
