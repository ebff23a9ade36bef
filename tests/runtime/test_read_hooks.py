"""What a hook makes of its gradient, read from its bytecode: the same on every Python."""

from __future__ import annotations

import functools

import pytest

from runtime_guard.edits import changes

seen, norms, total = [], {}, [0]


class Notes:
    def __init__(self):
        self.norms, self.count, self.limit = {}, 0, 1.0

    def note(self, gradient):
        self.count += 1
        self.norms[self.count] = gradient.norm().item()

    def clamp(self, gradient):
        return gradient.clamp(-self.limit, self.limit)

    def __call__(self, gradient):
        self.note(gradient)


notes = Notes()


def nothing(gradient):
    pass


def looks(gradient):
    if gradient.isnan().any():
        print("not a number", f"{gradient.norm():.3f}")  # noqa: T201
    return


def writes(gradient, name="weight"):
    norms[name] = gradient.norm().item()
    seen.append(gradient.shape)


def hands_on(gradient):
    norm = gradient.norm()
    norms["latest"] = norm
    return gradient


def counts(gradient):
    total[0] += gradient.numel()
    norms["sum"] = norms.get("sum", 0.0) + float(gradient.sum())


def keeps_own(gradient):
    found = {}
    for at, row in enumerate(gradient.tolist()):
        found[at] = row
    found["all"] = 1
    seen.append(found)


def asks(gradient):
    try:
        assert gradient.isfinite().all()
    except AssertionError:
        seen.append(len(seen))


LOOKING = {
    "nothing": nothing,
    "looks": looks,
    "writes": writes,
    "hands on": hands_on,
    "counts": counts,
    "keeps what is its own": keeps_own,
    "asks": asks,
    "a method": notes.note,
    "an object": notes,
    "a part": functools.partial(writes, name="bias"),
    "in C": seen.append,
    "lambda prints": lambda gradient: print(gradient.norm()),  # noqa: T201
    "lambda appends": lambda gradient: seen.append(gradient.norm().item()),
    "lambda updates": lambda gradient: norms.update(latest=gradient.norm()),
    "lambda calls": lambda gradient: looks(gradient),
    "lambda hands on": lambda gradient: gradient,
    "lambda is none": lambda gradient: None,
}


def halves(gradient):
    return gradient / 2


def renames(gradient):
    gradient = gradient / 2
    return gradient


def swaps(gradient, other=0):
    gradient, other = other, gradient
    return gradient


def in_place(gradient):
    gradient.div_(2)


def augmented(gradient):
    gradient /= 2


def shifted(gradient, mean=1.0):
    gradient -= mean


def sets_element(gradient, at=0, value=1.0):
    gradient[at] = value


def sets_part(gradient):
    gradient[:] = 0


def sets_masked(gradient):
    gradient[gradient.abs() > 1.0] = 0.0


def adds_to_element(gradient, at=0, value=1.0):
    gradient[at] += value


def sets_of_one(module, given):
    gradient = given[0]
    value = gradient.mean()
    gradient[0] = value


def sets_of_each(module, given):
    for gradient in given:
        gradient[0] = 0


def sets_of_both(module, given):
    _, second = given
    second[0] = 0


def sets_through_view(gradient):
    flat = gradient.view(-1)
    flat[0] = 0


def sets_grad(parameter):
    parameter.grad = parameter.grad / 2


def sets_in_grad(parameter):
    parameter.grad[0] = 0


def sets_in_grads(optimizer):
    for one in optimizer.param_groups[0]["params"]:
        one.grad.data[:, 0] = 0


def calls(gradient):
    in_place(gradient)


def either(gradient):
    return gradient if len(seen) > 2 else gradient * 2


CHANGING = {
    **{
        one.__name__: one
        for one in (
            halves, renames, swaps, in_place, augmented, shifted, sets_element, sets_part, sets_masked,
            adds_to_element, sets_of_one, sets_of_each, sets_of_both, sets_through_view, sets_grad, sets_in_grad,
            sets_in_grads, calls, either,
        )
    },
    "a method": notes.clamp,
    "lambda divides": lambda gradient: gradient / 2,
    "lambda in place": lambda gradient: gradient.mul_(2),
    "lambda calls": lambda gradient: halves(gradient),
    "lambda asks the answer": lambda gradient: total.copy().append(gradient),
    "lambda chooses": lambda gradient: looks(gradient) or gradient / 2,
}  # fmt: skip


@pytest.mark.parametrize("name", LOOKING)
def test_a_hook_that_looks_changes_nothing(name):
    assert not changes(LOOKING[name])


@pytest.mark.parametrize("name", CHANGING)
def test_a_hook_that_may_change_is_said_to(name):
    assert changes(CHANGING[name])
