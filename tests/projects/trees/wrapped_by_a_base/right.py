"""The model that the base has wrapped, and one that no base wraps."""

from torch.nn import functional as F

from .base import Base


class Kept(Base):
    def build(self):
        path = self.args.folder / "net.pt"
        net = self.args.read(path)
        net = net.to(self.args.rank)
        self.policy = self.wrap_replicas(net)

    def fit(self, loader):
        for x, y in loader:
            self.optimizer.zero_grad()
            F.cross_entropy(self.policy(x), y).backward()
            self.optimizer.step()


class Alone(Base):
    def build(self):
        path = self.args.folder / "net.pt"
        self.policy = self.args.read(path)
        self.policy = self.policy.to(self.args.rank)
        self.model = self.policy

    def fit(self, loader):
        for x, y in loader:
            self.optimizer.zero_grad()
            F.cross_entropy(self.policy(x), y).backward()
            self.optimizer.step()
