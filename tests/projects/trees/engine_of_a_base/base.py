"""The class that makes an engine of its model."""

import deepspeed


class Base:
    def __init__(self, net, args):
        self.model, self.args = net, args
        self.loaders = {}

    def set_up(self):
        config = {"train_micro_batch_size_per_gpu": 8, "gradient_accumulation_steps": self.args.accum}
        self.model, _, _, _ = deepspeed.initialize(model=self.model, config=config)

    def fit(self):
        self.set_up()
        for number, (name, loader) in enumerate(self.loaders.items()):
            self.train_on(name, loader)
