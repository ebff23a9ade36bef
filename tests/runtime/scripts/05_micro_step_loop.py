"""An inner loop over the micro-steps, batches drawn from a function, a learning rate set by hand."""
# right

import math

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(1337)
vocabulary, width, block_size = 11, 8, 5
gradient_accumulation_steps = 4
max_iters = 4
learning_rate = 1e-2
grad_clip = 1.0

data = torch.randint(vocabulary, (200,))
model = nn.Sequential(nn.Embedding(vocabulary, width), nn.Linear(width, vocabulary))
optimizer = torch.optim.AdamW(model.parameters(), lr=learning_rate, betas=(0.9, 0.95))
scaler = torch.amp.GradScaler("cpu", init_scale=128.0)
ctx = torch.amp.autocast(device_type="cpu", dtype=torch.float16)


def get_batch():
    starts = torch.randint(len(data) - block_size - 1, (3,))
    x = torch.stack([data[i : i + block_size] for i in starts])
    y = torch.stack([data[i + 1 : i + 1 + block_size] for i in starts])
    return x, y


X, Y = get_batch()
iter_num = 0
while True:
    for group in optimizer.param_groups:
        group["lr"] = learning_rate * 0.5 * (1.0 + math.cos(math.pi * iter_num / max_iters))
    for _micro_step in range(gradient_accumulation_steps):
        with ctx:
            logits = model(X)
            loss = F.cross_entropy(logits.view(-1, vocabulary), Y.view(-1))
            loss = loss / gradient_accumulation_steps
        X, Y = get_batch()
        scaler.scale(loss).backward()
    if grad_clip != 0.0:
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), grad_clip)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad(set_to_none=True)
    iter_num += 1
    if iter_num >= max_iters:
        break
