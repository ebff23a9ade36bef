from torch.nn.utils.rnn import pad_sequence


class Padding:
    ignore_index: int = -100


def padded(inputs, labels, pad):
    labels = pad_sequence(labels, batch_first=True, padding_value=Padding.ignore_index)
    return pad_sequence(inputs, batch_first=True, padding_value=pad), labels
