"""A GAN: two optimizers, one scaler, one update() after both steps; the critic sees a detached output."""
# right

import torch
from torch import nn

torch.manual_seed(0)
generator = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
discriminator = nn.Sequential(nn.Linear(2, 8), nn.LeakyReLU(0.2), nn.Linear(8, 1))
optimizer_g = torch.optim.Adam(generator.parameters(), lr=2e-4, betas=(0.5, 0.999))
optimizer_d = torch.optim.Adam(discriminator.parameters(), lr=2e-4, betas=(0.5, 0.999))
scaler = torch.amp.GradScaler("cpu", init_scale=256.0)
criterion = nn.BCEWithLogitsLoss()

for _ in range(4):
    real = torch.randn(6, 2)
    noise = torch.randn(6, 4)

    optimizer_d.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        fake = generator(noise)
        on_real = discriminator(real)
        on_fake = discriminator(fake.detach())
        loss_d = criterion(on_real, torch.ones_like(on_real)) + criterion(on_fake, torch.zeros_like(on_fake))
    scaler.scale(loss_d).backward()
    scaler.step(optimizer_d)

    optimizer_g.zero_grad()
    discriminator.requires_grad_(False)
    with torch.autocast("cpu", dtype=torch.float16):
        judged = discriminator(fake)
        loss_g = criterion(judged, torch.ones_like(judged))
    scaler.scale(loss_g).backward()
    discriminator.requires_grad_(True)
    scaler.step(optimizer_g)

    scaler.update()
