import torch


class Keeper:
    def __init__(self, folder):
        self.folder = folder

    def save_checkpoint(self, model, optimizer, epoch):
        state = {"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": epoch}
        torch.save(state, f"{self.folder}/{epoch}.pt")

    def save_weights(self, model, optimizer):
        print("learning rate of the optimizer", optimizer.param_groups[0]["lr"])
        torch.save(model.state_dict(), f"{self.folder}/weights.pt")
