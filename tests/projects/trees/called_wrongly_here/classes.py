"""Another heir, whose micro-batches all hold as many targets."""

from torch.nn import functional as F

from .trainers import Steps


class Classes(Steps):
    def learn(self, x, y):
        self.take(F.mse_loss(self.net(x), y))
