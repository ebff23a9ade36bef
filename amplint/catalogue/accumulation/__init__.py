"""Windows and loss normalization."""
