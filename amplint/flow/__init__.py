"""Programs and paths: which assignments of run constants there are, and what the rules say of each."""
