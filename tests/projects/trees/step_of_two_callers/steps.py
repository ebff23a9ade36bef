"""What is wrong with one of the callers is wrong."""


def advance(loss, scaler, optimizer):
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    scaler.update()  # expect: repeated-update
