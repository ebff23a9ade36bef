from base import Base


class Job(Base):
    def window(self, criterion, batches, optimizer):
        optimizer.zero_grad()
        for _ in range(self.config.accum_steps):
            x, y = next(batches)
            loss = criterion(self.net(x), y) / self.config.accum_steps
            loss.backward()  # expect: missing-no-sync
        optimizer.step()
