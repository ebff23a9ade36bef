"""A GAN whose two losses are both scaled first; update() stands between the two optimizers' steps."""
# wrong: scaler-update-order

import torch
from torch import nn

torch.manual_seed(0)
generator, discriminator = nn.Linear(4, 2), nn.Linear(2, 1)
optimizer_g = torch.optim.Adam(generator.parameters(), lr=2e-4)
optimizer_d = torch.optim.Adam(discriminator.parameters(), lr=2e-4)
scaler = torch.amp.GradScaler("cpu", init_scale=64.0)
criterion = nn.BCEWithLogitsLoss()
for _ in range(4):
    optimizer_g.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        fake = generator(torch.randn(6, 4))
        judged = discriminator(fake)
        loss_g = criterion(judged, torch.ones_like(judged))
    scaler.scale(loss_g).backward()
    optimizer_d.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        on_fake, on_real = discriminator(fake.detach()), discriminator(torch.randn(6, 2))
        loss_d = criterion(on_real, torch.ones_like(on_real)) + criterion(on_fake, torch.zeros_like(on_fake))
    scaler.scale(loss_d).backward()
    scaler.step(optimizer_d)
    scaler.update()  # expect: scaler-update-order
    scaler.step(optimizer_g)
    scaler.update()
