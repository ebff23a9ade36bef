"""An exponential moving average of the weights, updated where the optimizer steps."""
# right

import torch
from torch import nn
from torch.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(5, 5), nn.BatchNorm1d(5), nn.Linear(5, 1))
average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9))
by_hand = {name: value.detach().clone() for name, value in model.state_dict().items()}
optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
every = 2
for index in range(8):
    x, y = torch.randn(6, 5), torch.randn(6, 1)
    (nn.functional.mse_loss(model(x), y) / every).backward()
    if (index + 1) % every == 0:
        optimizer.step()
        optimizer.zero_grad()
        average.update_parameters(model)
        with torch.no_grad():
            for name, value in model.state_dict().items():
                if value.is_floating_point():
                    by_hand[name].mul_(0.9).add_(value, alpha=0.1)
