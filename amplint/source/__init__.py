"""Text in: which files, which of them matter, what their bytes say, which comments speak to amplint."""
