"""The loss-scaling protocol."""
