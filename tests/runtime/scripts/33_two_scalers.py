"""Two models, two optimizers and two scalers of different scale in one loop; the second has longer windows."""
# right

import torch
from torch import nn

torch.manual_seed(0)
models = {"fast": nn.Linear(4, 2), "slow": nn.Linear(4, 2)}
optimizers = {name: torch.optim.SGD(model.parameters(), lr=0.1) for name, model in models.items()}
scalers = {
    "fast": torch.amp.GradScaler("cpu", init_scale=16.0),
    "slow": torch.amp.GradScaler("cpu", init_scale=512.0),
}
windows = {"fast": 2, "slow": 4}
for step in range(12):
    x, y = torch.randn(4, 4), torch.randint(2, (4,))
    for name in models:
        with torch.autocast("cpu", dtype=torch.float16):
            loss = nn.functional.cross_entropy(models[name](x), y) / windows[name]
        scalers[name].scale(loss).backward()
        if (step + 1) % windows[name] == 0:
            scalers[name].unscale_(optimizers[name])
            nn.utils.clip_grad_norm_(models[name].parameters(), 1.0)
            scalers[name].step(optimizers[name])
            scalers[name].update()
            optimizers[name].zero_grad()
