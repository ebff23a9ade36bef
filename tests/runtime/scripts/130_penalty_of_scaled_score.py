"""A Wasserstein critic whose gradient penalty is made of the scaled score."""

# wrong: scaled-gradient-penalty
import torch
from torch import autograd, nn

torch.manual_seed(0)
G = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 6))
D = nn.Sequential(nn.Linear(6, 16), nn.LeakyReLU(0.2), nn.Linear(16, 1))
opt_g, opt_d = torch.optim.Adam(G.parameters(), 1e-3), torch.optim.Adam(D.parameters(), 1e-3)
g_scaler, d_scaler = torch.amp.GradScaler("cpu", init_scale=128.0), torch.amp.GradScaler("cpu", init_scale=128.0)


def gradient_penalty(D, real, fake, scaler):
    alpha = torch.rand(real.size(0), 1)
    mixed = (alpha * real + (1 - alpha) * fake).requires_grad_(True)
    score = D(mixed)
    grad = autograd.grad(  # expect: scaled-gradient-penalty
        outputs=scaler.scale(score),
        inputs=mixed,
        grad_outputs=torch.ones_like(score),
        create_graph=True,
        retain_graph=True,
    )[0]
    return ((grad.norm(2, dim=1) - 1) ** 2).mean()


for step in range(6):
    for _ in range(3):
        real = torch.randn(8, 6)
        with torch.autocast("cpu", dtype=torch.float16):
            with torch.no_grad():
                fake = G(torch.randn(8, 4))
            loss_d = D(fake).mean() - D(real).mean()
        loss_d = loss_d + 10 * gradient_penalty(D, real, fake.float(), d_scaler)
        opt_d.zero_grad(set_to_none=True)
        d_scaler.scale(loss_d).backward()
        d_scaler.step(opt_d)
        d_scaler.update()
    for p in D.parameters():
        p.requires_grad = False
    with torch.autocast("cpu", dtype=torch.float16):
        loss_g = -D(G(torch.randn(8, 4))).mean()
    opt_g.zero_grad(set_to_none=True)
    g_scaler.scale(loss_g).backward()
    g_scaler.step(opt_g)
    g_scaler.update()
    for p in D.parameters():
        p.requires_grad = True
    print(step, loss_d.item(), loss_g.item())
