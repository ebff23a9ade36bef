"""A fairseq-like criterion: losses are summed over tokens, gradients are divided by the tokens of the window before the clip."""

# right
import torch
import torch.nn as nn
import torch.nn.functional as F


class LabelSmoothedCriterion(nn.Module):
    def __init__(self, pad, eps):
        super().__init__()
        self.pad, self.eps = pad, eps

    def forward(self, model, sample):
        logits = model(sample["src"])
        lprobs = F.log_softmax(logits, -1).view(-1, logits.size(-1))
        target = sample["tgt"].view(-1, 1)
        nll = -lprobs.gather(-1, target)
        smooth = -lprobs.sum(-1, keepdim=True)
        pad_mask = target.eq(self.pad)
        nll = nll.masked_fill(pad_mask, 0.0).sum()
        smooth = smooth.masked_fill(pad_mask, 0.0).sum()
        eps_i = self.eps / (lprobs.size(-1) - 1)
        loss = (1.0 - self.eps - eps_i) * nll + eps_i * smooth
        return loss, int((~pad_mask).sum()), {"loss": loss.detach(), "nll": nll.detach()}


class Trainer:
    def __init__(self, args, model, criterion):
        self.args, self.model, self.criterion = args, model, criterion
        self.optimizer = torch.optim.Adam(model.parameters(), lr=args["lr"], betas=(0.9, 0.98))
        self.num_updates = 0
        self.lr_step()

    def lr_step(self):
        warmup = self.args["warmup_updates"]
        n = max(1, self.num_updates)
        for g in self.optimizer.param_groups:
            g["lr"] = self.args["lr"] * min(n / warmup, (warmup / n) ** 0.5)

    def multiply_grads(self, c):
        for g in self.optimizer.param_groups:
            for p in g["params"]:
                if p.grad is not None:
                    p.grad.data.mul_(c)

    def train_step(self, samples):
        self.model.train()
        self.optimizer.zero_grad()
        logging, sample_size = [], 0
        for sample in samples:
            loss, n, log = self.criterion(self.model, sample)
            loss.backward()
            sample_size += n
            logging.append(log)
        self.multiply_grads(1.0 / sample_size)
        norm = torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.args["clip_norm"])
        self.optimizer.step()
        self.num_updates += 1
        self.lr_step()
        return sum(l["loss"].item() for l in logging) / sample_size, norm


def batches(n, vocab=11, pad=0):
    for _ in range(n):
        tgt = torch.randint(1, vocab, (3, 7))
        for row, length in zip(tgt, torch.randint(2, 8, (3,)).tolist()):
            row[length:] = pad
        yield {"src": torch.randint(1, vocab, (3, 7)), "tgt": tgt}


class GroupedIterator:
    def __init__(self, iterable, chunk):
        self.iterable, self.chunk = iterable, chunk

    def __iter__(self):
        chunk = []
        for item in self.iterable:
            chunk.append(item)
            if len(chunk) == self.chunk:
                yield chunk
                chunk = []
        if chunk:
            yield chunk


def main():
    torch.manual_seed(0)
    args = {"lr": 5e-3, "warmup_updates": 2, "clip_norm": 1.0, "update_freq": [3], "max_epoch": 2}
    model = nn.Sequential(nn.Embedding(11, 16, padding_idx=0), nn.Linear(16, 11))
    trainer = Trainer(args, model, LabelSmoothedCriterion(pad=0, eps=0.1))
    for epoch in range(1, args["max_epoch"] + 1):
        for samples in GroupedIterator(batches(8), args["update_freq"][-1]):
            loss, norm = trainer.train_step(samples)
            print(epoch, f"{loss:.5f} {norm.item():.5f}")


main()
