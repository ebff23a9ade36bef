import lightning.pytorch as pl
from clipped import Clipped
from right import Right

for made in (Clipped, Right):
    pl.Trainer(devices=1, precision="16-mixed").fit(made(criterion), loader)
