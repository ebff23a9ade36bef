class Trainer:
    def __init__(self, model, criterion, optimizer, config, loader, lr_scheduler=None):
        self.model, self.criterion, self.loader = model, criterion, loader
        self.optimizer, self.lr_scheduler = optimizer, lr_scheduler
        self.epochs = config["trainer"]["epochs"]

    def train(self):
        for epoch in range(1, self.epochs + 1):
            self.train_epoch(epoch)

    def train_epoch(self, epoch):
        for data, target in self.loader:
            self.optimizer.zero_grad()
            loss = self.criterion(self.model(data), target)
            loss.backward()
            self.optimizer.step()
            if self.lr_scheduler is not None:
                self.lr_scheduler.step()
