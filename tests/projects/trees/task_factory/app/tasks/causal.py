from app.tasks.outcome import Outcome, Task


class CausalTask(Task):
    def train_micro_step(self, model, batch, config):
        inputs, labels = batch
        result = model(inputs, labels=labels)
        loss = result["loss"] / config.accum_steps
        return Outcome(loss=loss, tokens=(labels != -100).sum())
