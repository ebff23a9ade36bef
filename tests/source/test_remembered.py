"""What was found in a text is found once, while all that was asked for it stays so."""

from amplint.findings import Finding
from amplint.remembered import remembered
from amplint.source.asked import instead, stamp


def test_a_file_is_analysed_again_only_where_what_it_asked_has_changed(tmp_path):
    neighbour, analysed = str(tmp_path / "neighbour.py"), []

    def analysis(text: str, filename: str) -> list[Finding]:
        analysed.append((text, filename, stamp(neighbour)))
        return []

    ask = remembered(analysis, lambda filename: "")
    ask("a = 1", "a.py")
    ask("a = 1", "a.py")
    assert len(analysed) == 1
    ask("a = 2", "a.py")
    ask("a = 2", "b.py")
    assert len(analysed) == 3
    with instead(neighbour, b"x"):
        ask("a = 2", "b.py")
    assert len(analysed) == 4
