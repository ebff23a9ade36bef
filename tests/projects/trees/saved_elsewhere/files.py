import torch


def save_checkpoint(model, optimizer, epoch, path):
    state = {
        "model": model.state_dict(),
        "epoch": epoch,
        "optimizer": optimizer.state_dict(),
    }
    torch.save(renamed(state, "weight"), path)


def renamed(state, word):
    return {key.replace(word, "w"): value for key, value in state.items()}


def save_weights(model, optimizer, path):
    print("learning rate of the optimizer", optimizer.param_groups[0]["lr"])
    torch.save(model.state_dict(), path)


def save_all(model, optimizer, scaler, path):
    state = {
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "scaler": scaler.state_dict(),
    }
    torch.save(state, path)
