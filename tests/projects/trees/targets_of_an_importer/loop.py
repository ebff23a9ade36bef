"""A loop of a library: nothing in it says what the labels are that it is handed."""


def fit(model, batches, optimizer, updates, accum):
    for _ in range(updates):
        for _ in range(accum):
            loss = model(**next(batches)).loss / accum
            loss.backward()  # expect: mean-of-token-means
        optimizer.step()
        optimizer.zero_grad()
