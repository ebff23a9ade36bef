"""Contrastive learning on a large batch in chunks: embeddings first, the loss on all of them, then chunk by chunk."""

# right
import torch
import torch.nn as nn
import torch.nn.functional as F


class Encoder(nn.Module):
    def __init__(self, dim_in, dim_out):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(dim_in, 32), nn.ReLU(), nn.Linear(32, dim_out))

    def forward(self, x):
        return F.normalize(self.net(x), dim=-1)


def contrastive_loss(q, p, temperature=0.1):
    scores = q @ p.t() / temperature
    labels = torch.arange(q.size(0))
    return (F.cross_entropy(scores, labels) + F.cross_entropy(scores.t(), labels)) / 2


class GradCache:
    def __init__(self, models, chunk_size, loss_fn):
        self.models, self.chunk_size, self.loss_fn = models, chunk_size, loss_fn

    def forward_no_grad(self, model, chunks):
        with torch.no_grad():
            return torch.cat([model(c) for c in chunks])

    def build_cache(self, *reps):
        reps = [r.detach().requires_grad_() for r in reps]
        loss = self.loss_fn(*reps)
        loss.backward()
        return [r.grad.split(self.chunk_size) for r in reps], loss.detach()

    def forward_backward(self, model, chunks, cache):
        for chunk, gradient in zip(chunks, cache):
            rep = model(chunk)
            surrogate = torch.dot(rep.flatten(), gradient.flatten())
            surrogate.backward()

    def __call__(self, *inputs):
        chunked = [x.split(self.chunk_size) for x in inputs]
        reps = [self.forward_no_grad(m, c) for m, c in zip(self.models, chunked)]
        cache, loss = self.build_cache(*reps)
        for m, c, g in zip(self.models, chunked, cache):
            self.forward_backward(m, c, g)
        return loss


def main():
    torch.manual_seed(0)
    query, passage = Encoder(8, 6), Encoder(8, 6)
    optimizer = torch.optim.AdamW([*query.parameters(), *passage.parameters()], lr=1e-3)
    gc = GradCache([query, passage], chunk_size=4, loss_fn=contrastive_loss)
    for step in range(5):
        x = torch.randn(16, 8)
        optimizer.zero_grad()
        loss = gc(x, x + 0.1 * torch.randn_like(x))
        nn.utils.clip_grad_norm_([*query.parameters(), *passage.parameters()], 1.0)
        optimizer.step()
        print(step, f"{loss.item():.6f}")


if __name__ == "__main__":
    main()
