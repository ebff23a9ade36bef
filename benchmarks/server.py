"""How long an editor waits for `amplint server`: from opening a file, and from a keystroke, to what is marked.

    python benchmarks/server.py [FILE] [--keys N]

Without a file, it is the bundled example, repeated until it has 500 lines. The figures are medians of milliseconds; the
pause that the server makes after a keystroke is part of them.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.server.editor import Editor

ROOT = Path(__file__).parents[1]
ROWS = 500


def example() -> str:
    """The bundled example, with functions that train nothing around it."""
    text = (ROOT / "tests" / "example" / "train.py").read_text(encoding="utf-8")
    more = 0
    while text.count("\n") < ROWS:
        text += f"\n\ndef helper_{more}(values):\n    total = 0.0\n    for value in values:\n"
        text += f"        total += value * {more}\n"
        text += "    return total / max(len(values), 1)\n"
        more += 1
    return text


async def measured(text: str, keys: int) -> tuple[float, list[float]]:
    """Milliseconds from opening to the first marks, and from each keystroke to the next ones."""
    with tempfile.TemporaryDirectory() as folder:
        editor = Editor(Path(folder).resolve())
        await editor.begin()
        await asyncio.sleep(5)  # as long as a user takes to open a file after the editor has started
        start = time.perf_counter()
        uri = editor.open("train.py", text)
        await editor.marked(uri)
        first = time.perf_counter() - start
        waits = []
        for key in range(keys):
            start = time.perf_counter()
            editor.change(uri, key + 2, f"{text}# {'x' * key}\n")
            await editor.marked(uri, key + 2)
            waits.append(1000 * (time.perf_counter() - start))
        await editor.end()
    return 1000 * first, waits


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", nargs="?", type=Path)
    parser.add_argument("--keys", type=int, default=20)
    asked = parser.parse_args()
    text = asked.file.read_text(encoding="utf-8") if asked.file else example()
    first, waits = asyncio.run(measured(text, asked.keys))
    print(
        f"{len(text.splitlines())} lines: {first:.0f} ms after opening, {statistics.median(waits):.0f} ms after a key"
    )


if __name__ == "__main__":
    main()
