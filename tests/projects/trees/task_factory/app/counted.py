"""The same task, but what the gradients are divided by is the number of tokens of the window."""

from app.data.loading import loader
from app.tasks.chosen import counted_task_for


class Engine:
    def __init__(self, config, model, optimizer):
        self.config = config
        self.model, self.optimizer = model, optimizer
        self.task = None
        self.batches = None

    def prepare(self, samples):
        self.batches = iter(loader(samples, self.config.pad))
        self.task = counted_task_for(self.config.stage)

    def run(self, steps):
        for _ in range(steps):
            tokens = 0
            for _ in range(self.config.accum_steps):
                output = self.task.train_micro_step(self.model, next(self.batches), self.config)
                tokens += output.tokens
                output.loss.backward()
            for parameter in self.model.parameters():
                parameter.grad.div_(tokens)
            self.optimizer.step()
            self.optimizer.zero_grad()
