"""Heirs in another file fill in what is left to them: one zeroes, one averages over the ranks, one unscales."""

import torch
from torch.nn.parallel import DistributedDataParallel


class Zeroed:
    def run(self, batches):
        for x, y in batches:
            torch.nn.functional.mse_loss(self.net(x), y).backward()
            self.opt.step()
            self.finish()

    def finish(self):
        pass


class Reduced:
    def __init__(self, net, opt):
        self.net, self.opt = DistributedDataParallel(net), opt

    def micro_step(self, x, y):
        self.opt.zero_grad()
        torch.nn.functional.mse_loss(self.net.module(x), y).backward()
        self.exchange()
        self.opt.step()

    def exchange(self):
        """Left to those who have several processes."""


class Scaled:
    def micro_step(self, x, y):
        self.amp.scale(torch.nn.functional.mse_loss(self.net(x), y)).backward()
        self.before_clip()
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
        self.amp.step(self.opt)
        self.amp.update()
        self.opt.zero_grad()

    def before_clip(self):
        pass
