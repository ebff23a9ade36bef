"""CycleGAN: itertools.chain of two generators in one optimizer, a replay buffer, per-epoch LambdaLR for both."""

# right
import itertools
import random

import torch
import torch.nn as nn


class ReplayBuffer:
    def __init__(self, size=10):
        self.size, self.data = size, []

    def push_and_pop(self, batch):
        out = []
        for item in batch.detach():
            if len(self.data) < self.size:
                self.data.append(item)
                out.append(item)
            elif random.random() > 0.5:
                i = random.randrange(self.size)
                out.append(self.data[i].clone())
                self.data[i] = item
            else:
                out.append(item)
        return torch.stack(out)


class DecayLR:
    def __init__(self, epochs, offset, decay):
        self.epochs, self.offset, self.decay = epochs, offset, decay

    def step(self, epoch):
        return 1.0 - max(0, epoch + self.offset - self.decay) / (self.epochs - self.decay)


def mlp(a, b):
    return nn.Sequential(nn.Linear(a, 12), nn.ReLU(), nn.Linear(12, b))


random.seed(0)
torch.manual_seed(0)
G_ab, G_ba, D_a, D_b = mlp(3, 3), mlp(3, 3), mlp(3, 1), mlp(3, 1)
criterion_GAN, criterion_cycle = nn.MSELoss(), nn.L1Loss()
opt_G = torch.optim.Adam(itertools.chain(G_ab.parameters(), G_ba.parameters()), lr=2e-3, betas=(0.5, 0.999))
opt_D_a = torch.optim.Adam(D_a.parameters(), lr=2e-3, betas=(0.5, 0.999))
opt_D_b = torch.optim.Adam(D_b.parameters(), lr=2e-3, betas=(0.5, 0.999))
n_epochs, decay_epoch = 3, 1
schedulers = [
    torch.optim.lr_scheduler.LambdaLR(o, lr_lambda=DecayLR(n_epochs, 0, decay_epoch).step)
    for o in (opt_G, opt_D_a, opt_D_b)
]
buf_a, buf_b = ReplayBuffer(), ReplayBuffer()
data = [(torch.randn(4, 3), torch.randn(4, 3) + 1) for _ in range(4)]
for epoch in range(n_epochs):
    for real_a, real_b in data:
        valid, fake = torch.ones(4, 1), torch.zeros(4, 1)
        opt_G.zero_grad()
        fake_b, fake_a = G_ab(real_a), G_ba(real_b)
        loss_gan = (criterion_GAN(D_b(fake_b), valid) + criterion_GAN(D_a(fake_a), valid)) / 2
        loss_cycle = (criterion_cycle(G_ba(fake_b), real_a) + criterion_cycle(G_ab(fake_a), real_b)) / 2
        loss_G = loss_gan + 10.0 * loss_cycle
        loss_G.backward()
        opt_G.step()

        opt_D_a.zero_grad()
        loss_D_a = (criterion_GAN(D_a(real_a), valid) + criterion_GAN(D_a(buf_a.push_and_pop(fake_a)), fake)) / 2
        loss_D_a.backward()
        opt_D_a.step()

        opt_D_b.zero_grad()
        loss_D_b = (criterion_GAN(D_b(real_b), valid) + criterion_GAN(D_b(buf_b.push_and_pop(fake_b)), fake)) / 2
        loss_D_b.backward()
        opt_D_b.step()
    for scheduler in schedulers:
        scheduler.step()
    print(epoch, f"{loss_G.item():.5f} {(loss_D_a + loss_D_b).item() / 2:.5f}", schedulers[0].get_last_lr())
