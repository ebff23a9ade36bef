"""Two students and a teacher: models and optimizers in lists, one scaler, each clipped in its turn."""

# right
import torch
import torch.nn.functional as F
from torch import nn

torch.manual_seed(0)
teacher = nn.Linear(6, 4).eval().requires_grad_(False)
students = [nn.Linear(6, 4), nn.Sequential(nn.Linear(6, 8), nn.ReLU(), nn.Linear(8, 4))]
opts = [torch.optim.Adam(s.parameters(), 1e-2) for s in students]
scaler = torch.amp.GradScaler("cpu", init_scale=64.0)
T, N = 2.0, 2
for i in range(10):
    x, y = torch.randn(8, 6), torch.randint(4, (8,))
    with torch.no_grad():
        t = teacher(x)
    with torch.autocast("cpu", dtype=torch.float16):
        outs = [s(x) for s in students]
        losses = []
        for k, o in enumerate(outs):
            other = outs[1 - k].detach()
            kd = F.kl_div(F.log_softmax(o.float() / T, -1), F.softmax(t / T, -1), reduction="batchmean") * T * T
            ml = F.kl_div(F.log_softmax(o.float(), -1), F.softmax(other.float(), -1), reduction="batchmean")
            losses.append((F.cross_entropy(o, y) + 0.5 * kd + 0.1 * ml) / N)
    for loss in losses:
        scaler.scale(loss).backward()
    if (i + 1) % N == 0:
        for s, o in zip(students, opts):
            scaler.unscale_(o)
            nn.utils.clip_grad_norm_(s.parameters(), 1.0)
            scaler.step(o)
        scaler.update()
        for o in opts:
            o.zero_grad()
        print(i, [l.item() for l in losses])
