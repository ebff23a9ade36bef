"""A loop that nobody hands such labels."""


def fit_blocks(model, batches, optimizer, updates, accum):
    for _ in range(updates):
        for _ in range(accum):
            loss = model(**next(batches)).loss / accum
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()
