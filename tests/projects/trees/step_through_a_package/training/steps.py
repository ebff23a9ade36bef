"""The package hands on what the caller takes from it; nobody calls the second one."""


def advance(loss, scaler, optimizer):
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    scaler.update()


def uncalled(loss, scaler, optimizer):
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    scaler.update()  # expect: repeated-update
