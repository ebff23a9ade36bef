"""What is true after each event of a training step. Tables, total, judging nothing; standard library only."""
