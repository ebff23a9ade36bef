"""A policy gradient over accumulated minibatches, with minus the objective as its loss: nothing is divided."""

# wrong: missing-loss-division, scheduler-per-micro-step
import torch
from torch import nn

torch.manual_seed(0)
pol, val = nn.Linear(4, 2), nn.Linear(4, 1)
params = list(pol.parameters()) + list(val.parameters())
opt = torch.optim.Adam(params, lr=3e-3)
ACC, EPOCHS, MB = 4, 2, 8
total_updates = 3 * EPOCHS * MB // ACC
sched = torch.optim.lr_scheduler.LinearLR(opt, start_factor=1.0, end_factor=0.1, total_iters=total_updates)
for it in range(3):
    obs, act, adv, ret = torch.randn(64, 4), torch.randint(2, (64,)), torch.randn(64), torch.randn(64)
    with torch.no_grad():
        old = torch.distributions.Categorical(logits=pol(obs)).log_prob(act)
    for ep in range(EPOCHS):
        for k, idx in enumerate(torch.randperm(64).chunk(MB)):
            lp = torch.distributions.Categorical(logits=pol(obs[idx])).log_prob(act[idx])
            r = (lp - old[idx]).exp()
            pg = -torch.min(r * adv[idx], r.clamp(0.8, 1.2) * adv[idx]).mean()
            vl = nn.functional.mse_loss(val(obs[idx]).squeeze(-1), ret[idx])
            loss = pg + 0.5 * vl
            loss.backward()  # expect: missing-loss-division
            if (k + 1) % ACC == 0:
                nn.utils.clip_grad_norm_(params, 0.5)
                opt.step()
                opt.zero_grad()
            sched.step()  # expect: scheduler-per-micro-step
    print(it, loss.item())
