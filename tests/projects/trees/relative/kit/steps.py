def stepped(scaler, optimizer):
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
