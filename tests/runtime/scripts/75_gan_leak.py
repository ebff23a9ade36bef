"""A GAN: the generator's backward fills the discriminator, which is zeroed only before both backward passes."""
# wrong: leaked-gradients

import torch
from torch import nn

torch.manual_seed(0)
generator, discriminator = nn.Linear(4, 2), nn.Linear(2, 1)
optimizer_g = torch.optim.Adam(generator.parameters(), lr=2e-4)
optimizer_d = torch.optim.Adam(discriminator.parameters(), lr=2e-4)
criterion = nn.BCEWithLogitsLoss()
for _ in range(4):
    optimizer_g.zero_grad()
    optimizer_d.zero_grad()
    fake = generator(torch.randn(6, 4))
    judged = discriminator(fake)
    loss_g = criterion(judged, torch.ones_like(judged))
    loss_g.backward()  # expect: leaked-gradients
    optimizer_g.step()
    on_fake, on_real = discriminator(fake.detach()), discriminator(torch.randn(6, 2))
    loss_d = criterion(on_real, torch.ones_like(on_real)) + criterion(on_fake, torch.zeros_like(on_fake))
    loss_d.backward()
    optimizer_d.step()
