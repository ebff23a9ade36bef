"""The window of an engine is made in another file: the average is updated for each micro-step of it."""

import deepspeed
from diffusers.training_utils import EMAModel
from torch.nn import functional as F

from .settings import engine_settings


def train(args, net, loader):
    average = EMAModel(net.parameters())
    engine, _, _, _ = deepspeed.initialize(model=net, model_parameters=net.parameters(), config=engine_settings(args))
    for x, y in loader:
        engine.backward(F.mse_loss(engine(x), y))
        engine.step()
        average.step(engine.module.parameters())  # expect: ema-per-micro-step
