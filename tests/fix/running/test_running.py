"""Every fix, run: the fixed program computes what the hand-mended one does, for every combination of its flags."""

from __future__ import annotations

import subprocess
import sys

import pytest
import torch

from tests.fix.running.programs import Flags, Program, programs
from tests.fix.running.ranks import outcomes_of_ranks
from tests.fix.running.stage import Outcome, outcome, read, written

PROGRAMS = list(programs())
LEFT, BROKEN = 4, 0
"""So many programs are offered nothing, or a fix that is known to be wrong; more would mean that fixes have gone."""
VERSIONS = ("wrong", "right", "fixed")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """All programs, each in its three versions: the third one is the first, after the fixes of the command line."""
    top = tmp_path_factory.mktemp("programs")
    for program in PROGRAMS:
        written(program.wrong, top / "wrong" / program.name)
        written(program.right, top / "right" / program.name)
        written(program.wrong, top / "fixed" / program.name)
    (top / "requirements.txt").write_text("torch\n", encoding="utf-8")
    command = [sys.executable, "-m", "amplint", "--isolated", "--no-cache", "--fix", "--unsafe-fixes", "--exit-zero"]
    done = subprocess.run([*command, "fixed"], cwd=top, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return top


@pytest.fixture(scope="module")
def outcomes(folder):
    """What every version of every program computes: by its name, its version and the number of the combination."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)  # these models are small, and the machine may be busy
    alone = {
        (program.name, version, number): [outcome(folder / version / program.name, flags)]
        for program in PROGRAMS
        if program.ranks == 1
        for version in VERSIONS
        for number, flags in enumerate(program.combinations)
    }
    torch.set_num_threads(threads)
    return alone | outcomes_of_ranks([one for one in PROGRAMS if one.ranks > 1], VERSIONS, folder)


def such(word: str) -> list[Program]:
    return [program for program in PROGRAMS if word in program.words]


def named(program: Program) -> str:
    return program.name


def same(first: list[Outcome], second: list[Outcome]) -> bool:
    """Whether two versions have computed the same on every rank."""
    return all(map(_same, first, second))


def _same(first: Outcome, second: Outcome) -> bool:
    if isinstance(first, str) or isinstance(second, str):
        return first == second
    return all(torch.allclose(one, other, rtol=1e-5, atol=1e-7) for one, other in zip(first, second, strict=True))


def told(flags: Flags) -> str:
    return " ".join(f"{name}={value}" for name, value in flags.items())


@pytest.mark.parametrize("program", PROGRAMS, ids=named)
def test_the_mended_program_runs_and_the_wrong_one_is_wrong(program, outcomes):
    numbers = range(len(program.combinations))
    right = [outcomes[program.name, "right", number] for number in numbers]
    assert all(not isinstance(one, str) for ranks in right for one in ranks), right
    differs = [not same(outcomes[program.name, "wrong", number], right[number]) for number in numbers]
    assert any(differs) is ("harmless" not in program.words)


@pytest.mark.parametrize("program", such("fixed"), ids=named)
def test_a_fixed_program_computes_what_the_mended_one_does(program, folder, outcomes):
    text = read(folder / "fixed" / program.name)
    assert text != program.wrong, "nothing was offered"
    for number, flags in enumerate(program.combinations):
        fixed, right = (outcomes[program.name, version, number] for version in ("fixed", "right"))
        assert same(fixed, right), f"{told(flags)}: {fixed} is not {right}:\n{''.join(text.values())}"


@pytest.mark.parametrize("program", such("left"), ids=named)
def test_where_nothing_is_offered_nothing_is_changed(program, folder):
    assert read(folder / "fixed" / program.name) == program.wrong


@pytest.mark.parametrize("program", such("broken"), ids=named)
def test_a_fix_that_is_known_to_be_wrong_still_is(program, outcomes):
    numbers = range(len(program.combinations))
    versions = [[outcomes[program.name, version, number] for number in numbers] for version in ("fixed", "right")]
    assert not all(map(same, *versions)), "it is right now: say so in its fence"


def test_few_programs_are_left_and_many_are_run():
    assert (len(such("left")), len(such("broken"))) == (LEFT, BROKEN)
    assert len(such("fixed")) == len(PROGRAMS) - LEFT - BROKEN
    assert len(PROGRAMS) >= 40
