from app.data.padding import padded


def loader(samples, pad):
    for inputs, labels in samples:
        yield padded(inputs, labels, pad)
