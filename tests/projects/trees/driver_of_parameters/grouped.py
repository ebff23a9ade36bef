"""The optimizer is made of groups, which are made before."""

from torch.optim import SGD
from torch.optim.lr_scheduler import MultiStepLR
from torch.nn import MSELoss
from trainer import Trainer


def main(model, loader):
    decayed = [p for n, p in model.named_parameters() if "bias" not in n]
    groups = [{"params": decayed, "weight_decay": 1e-4}]
    optimizer = SGD(groups, lr=1e-3)
    schedule = MultiStepLR(optimizer, milestones=[30, 60])
    trainer = Trainer(model, MSELoss(), optimizer, loader, 90, schedule)
    trainer.train()  # expect: epoch-scheduler-per-batch
