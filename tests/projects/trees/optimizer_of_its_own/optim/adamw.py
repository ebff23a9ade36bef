from .base import Optimizer


class AdamW(Optimizer):
    def update(self, name, parameter):
        parameter.data.add_(parameter.grad, alpha=-0.1)
