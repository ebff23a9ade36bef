from __future__ import annotations

from amplint.workers import WORTH_A_POOL
from tests.command_line.planted import deadly

FILES = {
    f"part{n % 3}/train_{n:02}.py": f"loss.backward()\n{'#' * n}\nclip_grad_norm_(p)\n" for n in range(WORTH_A_POOL)
}


def test_results_do_not_depend_on_the_number_of_processes(amplint, write):
    write(FILES)
    assert amplint("--jobs", "1") == amplint("--jobs", "2") == amplint("--jobs", "3")


def test_a_file_that_takes_its_process_down_is_named_and_the_others_are_done(amplint, write):
    write({**FILES, "part1/deadly.py": "take it down: autocast"})
    ended = amplint("--jobs", "2", "--output-format", "concise", "-q", analysis=deadly)
    assert ended.code == 3
    assert "part1/deadly.py: a fault of amplint's own" in ended.err
    assert ended.out.count("clip-before-unscale") == len(FILES) * 2  # the code, and the message that names it
