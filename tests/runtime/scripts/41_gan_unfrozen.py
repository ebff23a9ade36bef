"""A GAN in the usual order: what the generator's backward leaves in the discriminator is zeroed before it is used."""
# right

import torch
from torch import nn

torch.manual_seed(0)
generator, discriminator = nn.Linear(4, 2), nn.Linear(2, 1)
optimizer_g = torch.optim.Adam(generator.parameters(), lr=2e-4)
optimizer_d = torch.optim.Adam(discriminator.parameters(), lr=2e-4)
criterion = nn.BCEWithLogitsLoss()
for _ in range(4):
    discriminator.zero_grad()
    on_real = discriminator(torch.randn(6, 2))
    loss_real = criterion(on_real, torch.ones_like(on_real))
    loss_real.backward()
    fake = generator(torch.randn(6, 4))
    on_fake = discriminator(fake.detach())
    loss_fake = criterion(on_fake, torch.zeros_like(on_fake))
    loss_fake.backward()
    optimizer_d.step()

    generator.zero_grad()
    judged = discriminator(fake)
    loss_g = criterion(judged, torch.ones_like(judged))
    loss_g.backward()
    optimizer_g.step()
