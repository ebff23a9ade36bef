from torch.nn.parallel import DistributedDataParallel as DDP
from zoo import Net


class Base:
    def __init__(self, config):
        self.config = config

    def set_up(self):
        self.set_up_models()
        self.net.to("cuda")

    def set_up_models(self):
        print("once")
        self.net = self._make_model(self.config.net)

    def _make_model(self, settings):
        model = Net(**settings)
        return DDP(model)
