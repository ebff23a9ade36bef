"""What callers in other files are asked about a file: no more than is not settled."""

from amplint.callers import Witnessed, upheld
from amplint.flow.breaches import Breach
from amplint.protocol.events import Site

HERE = "steps.py"
FIRST, SECOND = Breach("missing-loss-division", Site(HERE, 3), False), Breach("missing-zero-grad", Site(HERE, 9), False)
BOTH = ((1, 1, 20, 1), True)


def asked(tmp_path, monkeypatch, told):
    """The breaches that are upheld, and what each caller was asked about."""
    for name in ("a.py", "b.py", HERE):
        (tmp_path / name).write_text("from steps import step\n\nstep()\n")
    monkeypatch.chdir(tmp_path)
    questions = []

    def reader(caller, unsettled):
        questions.append(frozenset(unsettled))
        return Witnessed((BOTH,), told[len(questions) - 1])

    return list(upheld([FIRST, SECOND], HERE, reader)), questions


def test_nobody_is_asked_about_what_a_caller_has_shown(tmp_path, monkeypatch):
    told = [{FIRST.key: False}, {FIRST.key: False, SECOND.key: False}]
    found, questions = asked(tmp_path, monkeypatch, told)
    assert questions == [{FIRST.key, SECOND.key}, {SECOND.key}]
    assert found == [FIRST, SECOND]


def test_no_further_caller_is_asked_when_all_is_settled(tmp_path, monkeypatch):
    found, questions = asked(tmp_path, monkeypatch, [{FIRST.key: False, SECOND.key: False}])
    assert len(questions) == 1
    assert found == [FIRST, SECOND]


def test_what_a_caller_only_warns_of_is_asked_again_and_what_all_do_right_is_dropped(tmp_path, monkeypatch):
    found, questions = asked(tmp_path, monkeypatch, [{FIRST.key: True}, {}])
    assert questions == [{FIRST.key, SECOND.key}] * 2
    assert [(one.rule, one.mild) for one in found] == [(FIRST.rule, True)]
