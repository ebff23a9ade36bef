"""A curriculum with growing windows whose losses are added up whole."""

# wrong: missing-loss-division
from dataclasses import dataclass

import torch
import torch.nn as nn


@dataclass(frozen=True)
class Stage:
    length: int
    micro_batch: int
    accumulate: int
    updates: int


CURRICULUM = [Stage(4, 16, 1, 2), Stage(8, 8, 2, 2), Stage(16, 4, 4, 3)]


class Model(nn.Module):
    def __init__(self, vocab=19, dim=24):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.layer = nn.TransformerEncoderLayer(dim, 2, 32, dropout=0.0, batch_first=True)
        self.head = nn.Linear(dim, vocab)

    def forward(self, ids):
        mask = nn.Transformer.generate_square_subsequent_mask(ids.size(1))
        return self.head(self.layer(self.embed(ids), src_mask=mask, is_causal=True))


def lm_loss(logits, ids):
    return nn.functional.cross_entropy(logits[:, :-1].flatten(0, 1), ids[:, 1:].flatten())


def run(curriculum=CURRICULUM):
    torch.manual_seed(0)
    model = Model()
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-3)
    total = sum(stage.updates for stage in curriculum)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=3e-3, total_steps=total)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0**9, growth_interval=1000)
    for stage in curriculum:
        done = 0
        micro = 0
        while done < stage.updates:
            ids = torch.randint(19, (stage.micro_batch, stage.length))
            with torch.autocast("cpu", dtype=torch.float16):
                loss = lm_loss(model(ids), ids)
            scaler.scale(loss).backward()  # expect: missing-loss-division
            micro += 1
            if micro < stage.accumulate:
                continue
            micro = 0
            scaler.unscale_(optimizer)
            norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            before = scaler.get_scale()
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
            if scaler.get_scale() >= before:
                scheduler.step()
            done += 1
            print(stage.length, done, f"{loss.item():.5f} {norm.item():.4f}")


if __name__ == "__main__":
    run()
