"""What is shown by some of a program's runs, where not all of them were played."""

from amplint.analysis import findings_of
from amplint.catalogue import RULES
from amplint.flow.judge import judge
from amplint.lower.statements import Statements
from amplint.played import Played
from amplint.protocol.events import Site
from amplint.readings import program
from amplint.source.parse import parse

TEXT = """\
import torch


def train(model, loader, optimizer, ready):
    scaler = torch.amp.GradScaler()
    for x in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = model(x).loss
        scaler.scale(loss).backward()
        if len(x) > 2:
            scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
"""
PLAIN = TEXT.replace("len(x) > 2", "ready")


def played(text, patience):
    return Played(program("train.py", text, Statements(parse(text)).module()), patience=patience)


def entry_of(some):
    return next(at for at, entry in enumerate(some.entries) if entry.function is not None)


def test_a_run_that_only_differs_in_what_nobody_can_know_refutes_what_the_first_one_shows():
    cut = played(TEXT, patience=0)
    at = entry_of(cut)
    shown = judge(cut.traces(at), RULES)
    assert [breach.rule for breach in shown] == ["clip-before-unscale"]
    assert cut.try_otherwise(at, shown[0].otherwise)
    assert judge(cut.traces(at), RULES) == []


def test_each_run_is_tried_once():
    cut = played(TEXT, patience=0)
    at = entry_of(cut)
    otherwise = judge(cut.traces(at), RULES)[0].otherwise
    assert cut.try_otherwise(at, otherwise)
    assert not cut.try_otherwise(at, otherwise)


def test_nothing_is_tried_where_all_runs_were_played():
    whole = played(TEXT, patience=1)
    at = entry_of(whole)
    assert whole.runs(at)[1]
    assert not whole.try_otherwise(at, [{"something": True}])


def test_a_setting_is_not_doubted():
    assert [found.code for found in findings_of(PLAIN, "train.py")] == ["clip-before-unscale"]
    assert findings_of(TEXT, "train.py") == []


def test_of_some_runs_only_those_say_what_happens_at_a_place_that_come_there_and_train():
    cut, whole = played(TEXT, patience=0), played(TEXT, patience=1)
    at = entry_of(cut)
    site = judge(cut.traces(at), RULES)[0].site
    assert not cut.runs(at)[1]
    assert cut.comes_to(at, site)
    assert not cut.comes_to(at, site._replace(row=99))
    assert whole.runs(at)[1]
    assert whole.comes_to(at, site._replace(row=99))


def test_what_has_not_been_played_is_no_doubt():
    assert played(TEXT, patience=1).comes_to(0, Site("train.py", 1))
