"""Labels of which the prompt is left out."""

from .values import IGNORE_INDEX


def labelled(prompt, answer):
    return {"input_ids": prompt + answer, "labels": [IGNORE_INDEX] * len(prompt) + answer}
