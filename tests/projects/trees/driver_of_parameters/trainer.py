class Trainer:
    def __init__(self, model, criterion, optimizer, loader, epochs, schedule=None):
        self.model, self.criterion, self.optimizer = model, criterion, optimizer
        self.loader, self.epochs, self.schedule = loader, epochs, schedule

    def train(self):
        for _ in range(self.epochs):
            self.train_epoch()

    def train_epoch(self):
        for x, y in self.loader:
            self.optimizer.zero_grad()
            loss = self.criterion(self.model(x), y)
            loss.backward()
            self.optimizer.step()
            if self.schedule is not None:
                self.schedule.step()
