import torch
from parts import Holder, Parts, State


def train(parts, loader, criterion):
    for x, y in loader:
        loss = criterion(parts.model(x), y)
        loss.backward()
        parts.optimizer.step()
        torch.nn.utils.clip_grad_norm_(parts.model.parameters(), 1.0)  # expect: clip-after-step
        parts.optimizer.zero_grad()


def begin(model, loader, criterion):
    train(Parts(model=model, optimizer=torch.optim.AdamW(model.parameters())), loader, criterion)


def again(state, loader, criterion):
    for x, y in loader:
        loss = criterion(state.model(x), y)
        loss.backward()  # expect: missing-zero-grad
        state.optimizer.step()


def go_on(model, loader, criterion):
    again(State(model, torch.optim.AdamW(model.parameters())), loader, criterion)


def rightly(holder, loader, criterion):
    for x, y in loader:
        loss = criterion(holder.model(x), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(holder.model.parameters(), 1.0)
        holder.optimizer.step()
        holder.optimizer.zero_grad()


def run(model, loader, criterion):
    rightly(Holder(model, torch.optim.AdamW(model.parameters()), "out"), loader, criterion)
