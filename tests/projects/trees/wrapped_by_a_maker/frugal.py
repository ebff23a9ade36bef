from contextlib import nullcontext

from base import Base


class Frugal(Base):
    def window(self, criterion, batches, optimizer):
        optimizer.zero_grad()
        for i in range(self.config.accum_steps):
            x, y = next(batches)
            with nullcontext() if i + 1 == self.config.accum_steps else self.net.no_sync():
                loss = criterion(self.net(x), y) / self.config.accum_steps
                loss.backward()
        optimizer.step()
