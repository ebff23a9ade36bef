"""A micro-step, and all that it is given."""


def train_batch(criterion, model, optimizer, x, y):
    optimizer.zero_grad()
    loss = criterion(model.module(x), y)
    loss.backward()
    optimizer.step()
