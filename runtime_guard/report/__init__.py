"""What the guard tells: a terminal summary, JSON, a page, scalars."""
