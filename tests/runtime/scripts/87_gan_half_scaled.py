"""A GAN with one scaler: one loss is scaled, the other is not, and both optimizers step through the scaler."""
# wrong: unscaled-backward

import torch
from torch import nn

torch.manual_seed(0)
generator, discriminator = nn.Linear(4, 2), nn.Linear(2, 1)
optimizer_g = torch.optim.Adam(generator.parameters(), lr=2e-4)
optimizer_d = torch.optim.Adam(discriminator.parameters(), lr=2e-4)
scaler = torch.amp.GradScaler("cpu", init_scale=64.0)
criterion = nn.BCEWithLogitsLoss()
for _ in range(4):
    real, noise = torch.randn(6, 2), torch.randn(6, 4)
    optimizer_d.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        fake = generator(noise)
        on_real, on_fake = discriminator(real), discriminator(fake.detach())
        loss_d = criterion(on_real, torch.ones_like(on_real)) + criterion(on_fake, torch.zeros_like(on_fake))
    scaler.scale(loss_d).backward()
    scaler.step(optimizer_d)
    optimizer_g.zero_grad()
    discriminator.requires_grad_(False)
    with torch.autocast("cpu", dtype=torch.float16):
        judged = discriminator(fake)
        loss_g = criterion(judged, torch.ones_like(judged))
    loss_g.backward()  # expect: unscaled-backward
    discriminator.requires_grad_(True)
    scaler.step(optimizer_g)
    scaler.update()
