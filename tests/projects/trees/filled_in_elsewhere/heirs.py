import torch.distributed as dist
from loops import Reduced, Scaled, Zeroed


class Zeroing(Zeroed):
    def finish(self):
        self.opt.zero_grad()


class Reducing(Reduced):
    def exchange(self):
        for p in self.net.parameters():
            dist.all_reduce(p.grad, op=dist.ReduceOp.AVG)


class Unscaling(Scaled):
    def before_clip(self):
        self.amp.unscale_(self.opt)
