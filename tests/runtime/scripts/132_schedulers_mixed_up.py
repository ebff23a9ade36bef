"""A plateau scheduler steps per batch and a one-cycle schedule per epoch; epochs are loops over ranges."""

# wrong: epoch-scheduler-per-batch, batch-scheduler-per-epoch
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Flatten(), nn.Linear(16, 10), nn.ReLU(), nn.Linear(10, 4))
opt = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
EPOCHS, STEPS = 3, 8
sched = torch.optim.lr_scheduler.OneCycleLR(opt, max_lr=0.1, steps_per_epoch=STEPS, epochs=EPOCHS)
plateau = torch.optim.lr_scheduler.ReduceLROnPlateau(opt, patience=1)
for epoch in range(EPOCHS):
    model.train()
    for i in range(STEPS):
        x, y = torch.randn(4, 1, 4, 4), torch.randint(4, (4,))
        loss = nn.functional.nll_loss(nn.functional.log_softmax(model(x), -1), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        plateau.step(loss.detach())  # expect: epoch-scheduler-per-batch
    model.eval()
    with torch.inference_mode():
        val = (
            sum(nn.functional.cross_entropy(model(torch.randn(4, 1, 4, 4)), torch.randint(4, (4,))) for _ in range(3))
            / 3
        )
    sched.step()  # expect: batch-scheduler-per-epoch
    print(epoch, loss.item(), val.item())
