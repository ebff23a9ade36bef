"""At the boundary it is right, and without windows everywhere."""

import deepspeed
from diffusers.training_utils import EMAModel
from torch.nn import functional as F

from .settings import engine_settings, single


def at_the_boundary(args, net, loader):
    average = EMAModel(net.parameters())
    engine, _, _, _ = deepspeed.initialize(model=net, model_parameters=net.parameters(), config=engine_settings(args))
    for x, y in loader:
        engine.backward(F.mse_loss(engine(x), y))
        moved = engine.is_gradient_accumulation_boundary()
        engine.step()
        if moved:
            average.step(engine.module.parameters())


def without_windows(args, net, loader):
    average = EMAModel(net.parameters())
    engine, _, _, _ = deepspeed.initialize(model=net, model_parameters=net.parameters(), config=single(args))
    for x, y in loader:
        engine.backward(F.mse_loss(engine(x), y))
        engine.step()
        average.step(engine.module.parameters())
