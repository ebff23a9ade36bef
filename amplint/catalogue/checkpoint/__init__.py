"""Rules about what a checkpoint holds."""
