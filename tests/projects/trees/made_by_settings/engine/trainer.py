class Trainer:
    def __init__(self, model, criterion, optimizer, lr_scheduler, loader, config):
        self.model, self.criterion, self.loader = model, criterion, loader
        self.optimizer, self.lr_scheduler = optimizer, lr_scheduler
        self.epochs = config.trainer.epochs

    def train(self):
        for _ in range(1, self.epochs + 1):
            for batch in self.loader:
                self.process(batch)

    def process(self, batch):
        self.optimizer.zero_grad()
        loss = self.criterion(self.model(batch["x"]), batch["y"])
        loss.backward()
        self.optimizer.step()
        if self.lr_scheduler is not None:
            self.lr_scheduler.step()
