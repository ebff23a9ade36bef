from meters import Latest, Meter


def train(model, loader, optimizer, criterion, epochs):
    kept, number, latest = Meter(), Meter(), Latest()
    for _ in range(epochs):
        for x, y in loader:
            loss = criterion(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            kept.update(loss, x.size(0))  # expect: retained-graph
            number.update(loss.item(), x.size(0))
            latest.update(loss, x.size(0))
    return kept.sum / kept.count, number.sum / number.count
