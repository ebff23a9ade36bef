from base import Base


class Right(Base):
    def training_step(self, batch, batch_idx):
        optimizer = self.optimizers()
        optimizer.zero_grad()
        self.manual_backward(self.criterion(self(batch[0]), batch[1]))
        optimizer.step()
