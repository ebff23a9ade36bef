"""Rules about several processes: what is reduced over the ranks, and when."""
