"""Lightning, manual optimization, windows of 4 by hand."""

import logging

import torch
from lightning import pytorch as pl
from torch import nn

torch.manual_seed(0)
logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
N = 4
PLUGINS = None


class Net(pl.LightningModule):
    def __init__(self):
        super().__init__()
        self.automatic_optimization = False
        self.net = nn.Linear(4, 3)

    def training_step(self, batch, index):
        optimizer, scheduler = self.optimizers(), self.lr_schedulers()
        x, y = batch
        loss = nn.functional.cross_entropy(self.net(x), y) / N
        self.manual_backward(loss)
        if (index + 1) % N == 0:
            optimizer.step()
            optimizer.zero_grad()
            scheduler.step()

    def configure_optimizers(self):
        optimizer = torch.optim.SGD(self.parameters(), lr=0.1)
        return [optimizer], [torch.optim.lr_scheduler.LinearLR(optimizer, total_iters=12)]


data = torch.utils.data.TensorDataset(torch.randn(96, 4), torch.randint(3, (96,)))
loader = torch.utils.data.DataLoader(data, batch_size=4)
trainer = pl.Trainer(
    max_epochs=2,
    accelerator="cpu",
    logger=False,
    plugins=PLUGINS,
    enable_checkpointing=False,
    enable_progress_bar=False,
    enable_model_summary=False,
)
trainer.fit(Net(), loader)
