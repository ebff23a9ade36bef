"""An heir in another file fills in what is left to it, and nothing of the step."""

import torch


class Loop:
    def run(self, batches):
        for x, y in batches:
            torch.nn.functional.mse_loss(self.net(x), y).backward()  # expect: missing-zero-grad
            self.opt.step()
            self.finish()

    def finish(self):
        pass
