"""It does not name the framework that multiplies its loss: its base does."""

from base import Base


class Clipped(Base):
    def training_step(self, batch, batch_idx):
        optimizer = self.optimizers()
        optimizer.zero_grad()
        self.manual_backward(self.criterion(self(batch[0]), batch[1]))
        self.clip_gradients(optimizer, gradient_clip_val=1.0)  # expect: clip-before-unscale
        optimizer.step()
