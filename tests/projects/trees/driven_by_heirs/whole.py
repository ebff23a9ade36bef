import bases
from middle import Middle


class Loop(bases.Weighted):
    def train(self):
        for batch in self.get_train_dataloader():
            self.accelerator.backward(self.compute_loss(self.model, batch))
            self.optimizer.step()
            self.optimizer.zero_grad()


class Whole(Middle):
    @property
    def automatic_optimization(self):
        return False
