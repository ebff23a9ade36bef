from torch.nn.parallel import DistributedDataParallel


class Base:
    def __init__(self, args):
        self.args = args
        self.build()
        self.optimizer = args.optimizer_of(self.model)

    def build(self):
        raise NotImplementedError

    def wrap_replicas(self, net):
        if self.args.several:
            net = DistributedDataParallel(net, device_ids=[self.args.rank])
        self.model = net
        return net
