import lightning as L
from transformers import Trainer


class Weighted(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False):
        return self.weight * model(**inputs).loss


class Common(L.LightningModule):
    def training_step(self, batch, index):
        loss = self.compute(batch)
        return loss / self.hparams.accumulate_grad_batches


class Kept(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False):  # expect: ignored-num-items-in-batch
        return model(**inputs).loss


class Made(Trainer):
    def compute_loss(self, model, inputs, return_outputs=False):  # expect: ignored-num-items-in-batch
        return model(**inputs).loss
