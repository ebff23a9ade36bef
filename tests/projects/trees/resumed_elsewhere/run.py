from resuming import resumed
from trainer import Trainer


def main(path, model, loader):
    model, optimizer = resumed(path, model)
    Trainer(model, optimizer).run(loader, path)
