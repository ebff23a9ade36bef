"""Rules about frameworks that divide, scale, clip or gate by themselves."""
