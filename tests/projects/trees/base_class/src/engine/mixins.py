import torch


class ClipMixin:
    def clip(self):
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
