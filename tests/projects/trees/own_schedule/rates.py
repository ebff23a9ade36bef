import math

from torch.optim.lr_scheduler import LambdaLR, _LRScheduler


class WarmupCosine(LambdaLR):
    def __init__(self, optimizer, warmup_steps, t_total, cycles=0.5, last_epoch=-1):
        self.warmup_steps = warmup_steps
        self.t_total = t_total
        self.cycles = cycles
        super(WarmupCosine, self).__init__(optimizer, self.lr_lambda, last_epoch=last_epoch)

    def lr_lambda(self, step):
        if step < self.warmup_steps:
            return float(step) / float(max(1.0, self.warmup_steps))
        progress = float(step - self.warmup_steps) / float(max(1, self.t_total - self.warmup_steps))
        return max(0.0, 0.5 * (1.0 + math.cos(math.pi * float(self.cycles) * 2.0 * progress)))


class Warm(_LRScheduler):
    def __init__(self, optimizer, warm_iters, last_epoch=-1):
        self.warm_iters = warm_iters
        super().__init__(optimizer, last_epoch)

    def get_lr(self):
        factor = self._factor() if self.last_epoch > self.warm_iters else self.last_epoch / self.warm_iters
        return [rate * factor for rate in self.base_lrs]

    def _factor(self):
        raise NotImplementedError


class WarmPoly(Warm):
    def __init__(self, optimizer, max_iters, warm_iters, power=0.9):
        self.max_iters, self.power = max_iters, power
        super().__init__(optimizer, warm_iters)

    def _factor(self):
        done = (self.last_epoch - self.warm_iters) / (self.max_iters - self.warm_iters)
        return (1 - done) ** self.power
