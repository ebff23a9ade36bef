"""A critic with a gradient penalty: autograd.grad with create_graph, no change to any .grad."""
# right

import torch
from torch import nn

torch.manual_seed(0)
critic = nn.Sequential(nn.Linear(2, 8), nn.Softplus(), nn.Linear(8, 1))
generator = nn.Linear(3, 2)
critic_optimizer = torch.optim.Adam(critic.parameters(), lr=1e-3, betas=(0.0, 0.9))
generator_optimizer = torch.optim.Adam(generator.parameters(), lr=1e-3, betas=(0.0, 0.9))


def penalty(real, fake):
    mix = torch.rand(len(real), 1)
    between = (mix * real + (1 - mix) * fake).requires_grad_(True)
    (slope,) = torch.autograd.grad(critic(between).sum(), between, create_graph=True)
    return ((slope.norm(dim=1) - 1) ** 2).mean()


for _ in range(3):
    for _ in range(2):
        real, fake = torch.randn(5, 2), generator(torch.randn(5, 3)).detach()
        critic_optimizer.zero_grad()
        loss = critic(fake).mean() - critic(real).mean() + 10.0 * penalty(real, fake)
        loss.backward()
        critic_optimizer.step()
    generator_optimizer.zero_grad()
    critic.requires_grad_(False)
    (-critic(generator(torch.randn(5, 3))).mean()).backward()
    critic.requires_grad_(True)
    generator_optimizer.step()
