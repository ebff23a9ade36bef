"""The page of first sight counts what its data hold."""

from benchmarks.first_sight import page, read


def one(name, true, defensible, false, found=None, silent=None):
    return {
        "round": name,
        "date": "2026-01-01",
        "state": "abc",
        "repositories": 10,
        "errors": {"true": true, "defensible": defensible, "false": false},
        "written down": found and {"found": found[0], "of": found[1]},
        "files without a mistake": silent and {"silent": silent[0], "of": silent[1]},
    }


def test_the_last_two_rounds_are_counted_together():
    rounds = [one("A", 0, 0, 9), one("B", 6, 1, 1, (1, 4), (5, 5)), one("C", 2, 0, 0, (3, 4))]
    text = page({"rounds": rounds, "verdicts": [], "mistakes": []})
    assert "(B and C) together: 10 errors, 8 of them true, 1 defensible and 1 false (precision 0.90); 4 of 8" in text
    assert "| A | 2026-01-01 | 10 | 9 | 0 | 0 | 9 | 0.00 | - | - |" in text
    assert "by family" not in text


def test_single_findings_are_counted_by_family():
    verdicts = [{"round": "A", "family": "scaler", "verdict": verdict} for verdict in ("true", "true", "false")]
    mistakes = [
        {"round": "A", "family": "clipping", "tier": "error", "found": True},
        {"round": "A", "family": "clipping", "tier": "warning", "found": False},
    ]
    text = page({"rounds": [one("A", 2, 0, 1)], "verdicts": verdicts, "mistakes": mistakes})
    assert "| scaler | 2 | 0 | 1 |" in text
    assert "| clipping | 1 of 1 | 0 of 1 |" in text


def test_the_verdicts_of_a_round_are_as_many_as_its_errors():
    data = read()
    for told in data["rounds"]:
        read_of = [row for row in data["verdicts"] if row["round"] == told["round"]]
        assert not read_of or len(read_of) == sum(told["errors"].values())
