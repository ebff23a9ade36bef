from torch.nn.parallel import DistributedDataParallel as Replicated


def spread(net, rank):
    net.to(rank)
    print("on", rank)
    net = Replicated(net, device_ids=[rank])
    return net


class Spread:
    def spread(self, rank):
        self.model.to(rank)
        print("on", rank)
        self.model = Replicated(self.model, device_ids=[rank])
