"""Truncated back-propagation through time: the segments of a window are added up whole."""

# wrong: missing-loss-division
import torch
from torch import nn


class CharRNN(nn.Module):
    def __init__(self, vocab, hidden):
        super().__init__()
        self.embed = nn.Embedding(vocab, hidden)
        self.lstm = nn.LSTM(hidden, hidden)
        self.decode = nn.Linear(hidden, vocab)

    def forward(self, x, state):
        out, state = self.lstm(self.embed(x), state)
        return self.decode(out), state


def repackage(state):
    return tuple(s.detach() for s in state)


def main():
    torch.manual_seed(2)
    vocab, hidden, bptt, segments = 15, 16, 5, 4
    corpus = torch.randint(vocab, (6, bptt * segments + 1, 3))
    model = CharRNN(vocab, hidden)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.ASGD(model.parameters(), lr=0.5, t0=0, lambd=0.0, weight_decay=1.2e-6)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=0)
    for epoch in range(2):
        epoch_loss = 0.0
        for document in corpus:
            state = (torch.zeros(1, 3, hidden), torch.zeros(1, 3, hidden))
            optimizer.zero_grad()
            for seg in range(segments):
                x = document[seg * bptt : (seg + 1) * bptt]
                y = document[seg * bptt + 1 : (seg + 1) * bptt + 1]
                state = repackage(state)
                logits, state = model(x, state)
                loss = criterion(logits.reshape(-1, vocab), y.reshape(-1))
                loss.backward()  # expect: missing-loss-division
                epoch_loss += loss.item()
            nn.utils.clip_grad_norm_(model.parameters(), 0.25)
            optimizer.step()
        scheduler.step(epoch_loss / len(corpus))
        print(epoch, f"{epoch_loss / len(corpus):.6f}", optimizer.param_groups[0]["lr"])


main()
