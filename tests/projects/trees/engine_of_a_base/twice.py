"""The window that the engine of its base divides by, too."""

from base import Base


class Twice(Base):
    def train_on(self, name, loader):
        for batch in loader:
            loss = self.model(**batch).loss / self.args.accum
            self.model.backward(loss)  # expect: double-loss-division
            self.model.step()
