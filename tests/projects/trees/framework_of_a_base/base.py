"""The class that says which framework trains."""

import lightning.pytorch as pl


class Base(pl.LightningModule):
    def __init__(self, criterion):
        super().__init__()
        self.criterion = criterion
        self.automatic_optimization = False
