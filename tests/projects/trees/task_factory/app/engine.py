"""A task that a factory chooses gives the loss, divided; the labels that it is computed from are padded elsewhere."""

from app.data.loading import loader
from app.tasks.chosen import task_for


class Engine:
    def __init__(self, config, model, optimizer):
        self.config = config
        self.model, self.optimizer = model, optimizer
        self.network = None
        self.task = None
        self.batches = None

    def prepare(self, samples):
        self.network = self.model
        self.batches = iter(loader(samples, self.config.pad))
        self.task = task_for(self.config.stage)

    def run(self, steps):
        for _ in range(steps):
            for _ in range(self.config.accum_steps):
                output = self.task.train_micro_step(self.network, next(self.batches), self.config)
                output.loss.backward()  # expect: mean-of-token-means
            self.optimizer.step()
            self.optimizer.zero_grad()
