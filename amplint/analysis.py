"""One file, from its text to its findings: scout, parse, lower, run under each assignment, judge, tell."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from functools import partial
from types import MappingProxyType

from amplint.budget import left_out
from amplint.callers import Witnessed, ones_around, upheld, witnessed
from amplint.catalogue import RULES
from amplint.catalogue.rule import Rule, Tier
from amplint.catalogue.versions import reaches
from amplint.dialects import advice as advised
from amplint.domains.hidden_windows import released
from amplint.findings import Finding, Place, Severity, TrainingLoop, Witness, in_own_names
from amplint.flow import program as ir
from amplint.flow.breaches import Breach
from amplint.flow.conditions import in_words
from amplint.flow.home import HAPPENS, brought_home
from amplint.flow.judge import judge
from amplint.flow.loop_places import extent, goes_back_itself, loop_places
from amplint.flow.training_loops import LOOP_PARTS, NONE, Understood, understood
from amplint.garbage import seldom_collected
from amplint.lower.checkpoints import checkpoint_facts
from amplint.lower.evaluations import kept_graphs
from amplint.lower.facts import facts_of
from amplint.lower.held_scalers import held_scalers
from amplint.lower.loaded_models import loaded_models
from amplint.lower.renewed_scalers import renewed_scalers
from amplint.lower.replaced_scalers import replaced_scalers
from amplint.lower.sharded_models import clips_of_shards
from amplint.lower.uncalled_states import uncalled_states
from amplint.own_names import own_names
from amplint.played import Played, side_by_side
from amplint.protocol.events import Event, Site
from amplint.protocol.facts import CLIPPED_PAST, EVALUATED, SHARDED_CLIP, Fact
from amplint.protocol.scene import Scene
from amplint.readings import Teaching, deep, played_file, read_program
from amplint.source.asked import Answers, once, stamp
from amplint.source.discover import shown
from amplint.source.lines import LINE
from amplint.source.prefilter import more_than_zeroing

DOUBTS = 3  # times that runs are looked for that may refute what is found
MOST_KEPT = 64  # files whose own findings are kept


def findings_of(
    text: str,
    filename: str,
    versions: Mapping[str, str] = MappingProxyType({}),
    noisy: bool = False,
    taught: Teaching = (),
    rules: Mapping[str, Rule] = RULES,
    tail: int = 1,
) -> list[Finding]:
    """The findings of one file, sorted; `versions` are the declared bounds of libraries, `noisy`: opt-in rules too.

    `taught`: dialects besides those that amplint knows. `tail`: how many batches are left over of the epochs that are
    played. Raises Unparsable, and Unreadable for code nested too deeply.
    """
    with deep(), seldom_collected():
        reading = read_program(text, filename, taught)
        if reading is None:
            return []
        if not reading.played.program.neighbours and not taught and not more_than_zeroing(text):
            return []  # it zeroes gradients that nothing of the project makes
        played = reading.played if tail == 1 else reading.played.anew(tail)
        played.begin()
        facts = list(_facts(filename, reading.body, versions))
        said = {(breach.rule, breach.site.row) for breach in facts}
        in_runs = [
            one
            for one in _all_breaches(played, rules, partial(ones_around, text, filename))
            if (one.rule, one.site.row) not in said
        ]
        stays = upheld(in_runs, filename, partial(_witnessed, filename, taught, tail))
        told = [
            breach
            for breach in (*facts, *stays)
            if (noisy or RULES[breach.rule].reading_tier is not Tier.OPT_IN) and _begun(breach, versions)
        ]
        lines = LINE.findall(text)
        found = {_finding(breach, lines) for breach in brought_home(told, filename, partial(_own, taught=taught))}
        found |= set(left_out(played.budget, filename))
    return sorted(found, key=lambda finding: finding.order)


def _begun(breach: Breach, versions: Mapping[str, str]) -> bool:
    """Whether the project allows the version of the library with which what a run shows begins to be a mistake."""
    library, _, version = breach.words.get("begins", "").partition(" ")
    return not version or reaches(versions, (library, version))


_NOTHING_HIDDEN: Mapping[str, Rule] = {name: replace(rule, hides=()) for name, rule in RULES.items()}
"""The rules as they speak if none makes another one superfluous."""


def all_findings_of(
    text: str, filename: str, versions: Mapping[str, str] = MappingProxyType({}), taught: Teaching = ()
) -> list[Finding]:
    """All that is wrong in one file: what another mistake hides, too, and what a longer tail shows. Each once, sorted.

    Raises Unparsable, and Unreadable for code nested too deeply.
    """
    every = (findings_of(text, filename, versions, True, taught, _NOTHING_HIDDEN, tail) for tail in (2, 1))
    ordered = sorted((one for found in every for one in found), key=lambda one: one.severity is Severity.ERROR)
    best = {(finding.code, finding.place): finding for finding in ordered}
    return sorted(best.values(), key=lambda finding: finding.order)


def side_by_side_of(
    before: str, after: str, filename: str, taught: Teaching = ()
) -> list[tuple[Sequence[Event], Sequence[Event]]] | None:
    """What happens in every run of a file, and in that of another state of it which makes the same choices.

    None where they cannot be compared. Raises Unparsable, and Unreadable for code nested too deeply.
    """
    with deep():
        readings = [read_program(text, filename, taught) for text in (after, before)]
        played = [reading.played for reading in readings if reading is not None]
        if len(played) < 2:  # a text without a training step
            return [] if all(one.trains_nothing() for one in played) else None
        pairs = side_by_side(played[1], played[0])
    return None if pairs is None else [(one.events, other.events) for one, other in pairs]


def _own(filename: str, taught: Teaching) -> frozenset[tuple[str, Site]]:
    """What another file is told itself: the rules that are broken in it, and where."""
    place = (filename, os.getcwd(), *(dialect.program for dialect in taught))
    return once(_OWN, place, MOST_KEPT, lambda: _own_now(filename, taught))


_OWN: dict[tuple[str, ...], tuple[Answers, frozenset[tuple[str, Site]]]] = {}


def _own_now(filename: str, taught: Teaching) -> frozenset[tuple[str, Site]]:
    stamp(filename)
    played = played_file(filename, taught)
    found = _all_breaches(played, RULES, frozenset) if played is not None else ()
    return frozenset(breach.key for breach in found if breach.site.path == filename)


def _witnessed(
    filename: str, taught: Teaching, tail: int, caller: str, unsettled: Set[tuple[str, Site]]
) -> Witnessed | None:
    """What the runs of another file, which imports this one, show of it; once they have shown all that is not settled,
    no more."""
    played = played_file(caller, taught, tail)
    if played is None:
        return None
    found = list(_all_breaches(played, _NOTHING_HIDDEN, frozenset, unsettled))
    runs = (run for at in range(len(played.entries)) for run in played.known(at))
    executed = {function for run in runs for function in run.executed}
    return witnessed(played.program.neighbours.get(shown(filename), ()), executed, found)


def loops_of(
    text: str, filename: str, taught: Teaching = (), once: bool = False, patience: int = 1
) -> list[TrainingLoop]:
    """The training loops of one file, by place; one whose backward no run reached is told as not followed.

    What was not followed is tried from every entry; `once`: from those alone that findings are looked for from.
    `patience`: how many times as much as usual may be tried. Raises Unparsable, and Unreadable for code nested too
    deeply.
    """
    with deep(), seldom_collected():
        reading = read_program(text, filename, taught)
        if reading is None:
            return []
        played = reading.played if patience == 1 else reading.played.anew(patience=patience)
        placed = loop_places(played.program.body)  # what loops hold is known of a program, not of a text
        places = [(Site(filename, *extent(node)), function) for node, function in placed]
        functions = {site for (node, _), (site, _) in zip(placed, places, strict=True) if isinstance(node, ir.Function)}
        found: dict[Site, Understood] = {}
        inner: set[Site] = set()
        executed: set[int] = set()
        for at in range(len(played.entries)):
            followed = once or all(place in inner or _known(found.get(place)) for place, _ in places)
            if followed and played.has_run(at, executed):
                continue
            runs, complete = played.runs(at)
            executed |= {function for run in runs for function in run.executed}
            loops, within = understood([run.events for run in runs], places, functions)
            inner |= within
            for loop in loops:
                known = found.get(loop.site)
                if known is None or len(loop.not_followed) < len(known.not_followed):
                    found[loop.site] = loop if complete else _cut(loop)
    parts = {site for site in inner if site in functions or (site in found and found[site].step == NONE)}
    whole = [loop for site, loop in found.items() if site not in parts]
    lost = [
        Understood(site, function, not_followed=((site, "no run of this program reached its backward"),))
        for (node, function), (site, _) in zip(placed, places, strict=True)
        if site not in found and site not in inner and (site not in functions or goes_back_itself(node))
    ]
    return [_loop(filename, loop) for loop in sorted([*whole, *lost], key=lambda loop: loop.site)]


_CUT = "there are more combinations of conditions than are tried"


def _cut(loop: Understood) -> Understood:
    """A loop of a program with more combinations of conditions than are tried."""
    return replace(loop, not_followed=(*loop.not_followed, (loop.site, _CUT)))


def _known(loop: Understood | None) -> bool:
    """Whether all of a loop was followed, in as many runs as there are."""
    return loop is not None and all(why == _CUT for _, why in loop.not_followed)


def _loop(filename: str, loop: Understood) -> TrainingLoop:
    parts = {name: getattr(loop, name) for name in LOOP_PARTS}
    lost = tuple((_place(site), why) for site, why in loop.not_followed)
    marks = tuple((_place(site), what) for site, what in loop.marks)
    return TrainingLoop(filename, _place(loop.site), **parts, drawn=loop.drawn, not_followed=lost, marks=marks)


_READERS = (
    *(facts_of, checkpoint_facts, held_scalers, uncalled_states, renewed_scalers, replaced_scalers, loaded_models),
    *(clips_of_shards, kept_graphs),
)


_UNFIXED = (CLIPPED_PAST, EVALUATED, SHARDED_CLIP)
"""Facts about a mistake in some runs perhaps, or one that the remedy of its rule does not put right."""


def _facts(filename: str, body: tuple[ir.Stmt, ...], versions: Mapping[str, str]) -> Iterator[Breach]:
    """What the rules say of the facts of the text; some say it of the first place alone."""
    judging = [rule for rule in RULES.values() if rule.find is not None]
    rules = [rule for rule in judging if reaches(versions, rule.begins)]
    said: set[str] = set()
    every = [fact for read in _READERS for fact in read(filename, body)]
    for fact in sorted(every, key=lambda fact: fact.site):
        for rule in rules:
            words = rule.find(fact) if rule.find is not None and rule.id not in said else None
            if words is not None and rule.speaks_of(fact, versions):
                words = {**_told(fact), **words}
                sure = rule.remedy is not None and fact.called not in _UNFIXED
                scene = Scene(words=tuple(words.items())) if sure else None
                yield Breach(rule.id, fact.site, rule.tier is not Tier.ERROR or fact.mild, words, scene=scene)
                said |= {rule.id} if rule.once else set()


def _told(fact: Fact) -> dict[str, str]:
    """The framework whose loop calls the method that a fact is about, if it says which."""
    return {"through": str(fact.arguments["through"])} if "through" in fact.arguments else {}


def _all_breaches(
    played: Played,
    rules: Mapping[str, Rule],
    ones: Callable[[], Set[str]],
    unsettled: Set[tuple[str, Site]] = frozenset(),
) -> Iterator[Breach]:
    """The breaches of a program, and those that a window of constant length 1 hides: no more than warnings.

    `ones`: settings with a default of 1; what they hide by default is said to need a longer window. `unsettled`: if
    there are any, no other breaches are asked for.
    """
    found = _breaches(played, rules, unsettled)
    said = {breach.key for breach in found}
    if unsettled and unsettled <= _sure(found):
        yield from found
        return
    single = played.windows(ones()) if found else frozenset()
    short = Played(played.program, played.tail, ones=single, budget=played.budget, along=played)
    alike = {breach.key for breach in _breaches(short, rules)} if single else said
    always = said if played.budget.exceeded else alike  # what is not looked at with a single micro-step may be there
    for breach in found:
        hidden = breach.key not in always and short.comes_to(breach.entry, breach.site)
        yield replace(breach, raised=tuple(sorted(short.shortened(breach.entry)))) if hidden else breach
    opened, names = released(played.program)
    again = Played(opened, played.tail, budget=played.budget, defaults=played.defaults)
    for breach in _breaches(again, rules) if names else ():
        if breach.key not in said and not breach.mild:
            yield replace(breach, mild=True, latent=names)


def _sure(found: Iterable[Breach]) -> set[tuple[str, Site]]:
    """The breaches that are more than warnings."""
    return {breach.key for breach in found if not breach.mild}


def _breaches(
    played: Played, rules: Mapping[str, Rule], unsettled: Set[tuple[str, Site]] = frozenset()
) -> list[Breach]:
    """The breaches of a program from all of its entries, or as many as settle others; what one entry has run, the next
    need not: if not all of its runs were played, it tells of places that none of them has come to. What a function does
    that is only handed a window of 1 is latent; what a test does is a warning."""
    found: dict[tuple[str, Site], Breach] = {}
    executed, settled, visited = set[int](), set[int](), set[Site]()
    shortened: dict[int, str] = {}
    for at, again in played.in_turn(executed, settled):
        ones = played.ones_at(at, shortened)
        runs, complete = played.runs(at)
        for run in runs:
            executed |= run.executed
            settled |= run.executed if complete else set()
            shortened |= run.shortened
        judged = _judged(played, at, rules)
        judged = [breach for breach in judged if breach.site not in visited] if again else judged
        visited.update(*(trace.visited for trace in played.traces(at)))
        for breach in judged:
            breach = replace(breach, mild=True, latent=ones) if ones else breach
            breach = replace(breach, mild=True) if played.is_a_test else breach
            known = found.get(breach.key)
            if known is None or (known.mild and not breach.mild):
                found[breach.key] = replace(breach, entry=at)
        if unsettled and unsettled <= _sure(found.values()):
            break
    return list(found.values())


def _judged(played: Played, at: int, rules: Mapping[str, Rule]) -> list[Breach]:
    """The breaches of the runs from an entry. Where not all runs were played, those that may refute one are first; then
    those that say whether it needs the conditions that it is told with."""
    seen: dict[int, list[Breach]] = {}
    found = judge(played.traces(at), rules, seen)
    for _ in range(DOUBTS):
        if not played.try_otherwise(at, [choices for breach in found for choices in breach.otherwise]):
            break
        found = judge(played.traces(at), rules, seen)
    for _ in range(DOUBTS):
        if not played.try_also(at, [choices for one in found for choices in (*one.waits, *one.without)]):
            break
        found = judge(played.traces(at), rules, seen)
    return [breach for breach in found if not breach.waits]


def _finding(breach: Breach, lines: Sequence[str]) -> Finding:
    rule = RULES[breach.rule]
    severity = Severity.WARNING if breach.mild else Severity.ERROR
    here = breach.site.path
    witness = tuple(
        Witness(_place(site), what, None if site.path == here else site.path) for site, what in breach.because
    )
    names = own_names(lines, ((kind, at) for kind, at in breach.about if at.path == here))
    said = in_own_names(_filled(rule.message, breach.words), names)
    message = said + _joined(
        _elsewhere(breach), in_words(breach.assumed, lines), _latent(breach.latent), _raised(breach.raised)
    )
    advice = in_own_names(_filled(advised(rule.id, rule.advice, breach.words), breach.words), names)
    place = _place(breach.site)
    some = bool(breach.assumed or breach.latent or breach.raised)
    made = Finding(here, place, breach.rule, severity, message, advice, witness, conditional=some, scene=breach.scene)
    return replace(made, names=names)


def _joined(*conditions: str) -> str:
    """Conditions in one pair of brackets."""
    said = "; ".join(one[2:-1] for one in conditions if one)
    return f" ({said})" if said else ""


def _elsewhere(breach: Breach) -> str:
    """In which other file what is told of a call happens."""
    other = next((site.path for site, what in breach.because if what == HAPPENS), None)
    name = "" if other is None else os.path.relpath(other, os.path.dirname(breach.site.path)).replace(os.sep, "/")
    return f" (in `{name}`)" if name else ""


def _raised(names: tuple[str, ...]) -> str:
    """That the mistake waits for another value than the default."""
    whose = "its" if len(names) == 1 else "their"
    return f" (with {' and '.join(f'`{name}`' for name in names)} above {whose} default of 1)" if names else ""


def _latent(names: tuple[str, ...]) -> str:
    """That the mistake waits for a constant to be changed."""
    return f" (latent: {' and '.join(f'`{name}`' for name in names)} is 1 here)" if names else ""


def _filled(template: str, words: Mapping[str, str]) -> str:
    """A message with its words; the braces of code in it are left alone."""
    for name, word in words.items():
        template = template.replace("{" + name + "}", word)
    return template


def _place(site: Site) -> Place:
    return Place(site.row, site.column, site.end_row, site.end_column)
