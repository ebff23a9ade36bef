def step(scaler, optimizer):
    scaler.unscale_(optimizer)
