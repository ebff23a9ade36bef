"""The command `check`: what is asked, done and told, from arguments to the exit code."""

from __future__ import annotations

import os
import sys
import time
from argparse import Namespace
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

from amplint import __version__
from amplint.arguments import Output, Refused, names
from amplint.console import say, write
from amplint.outcome import INTERRUPTED
from amplint.report import FORMATS, WITH_FIXES, Report
from amplint.settings import Fixing, Overrides, Settings, load, shown_settings

if TYPE_CHECKING:
    from amplint.outcome import Outcome
    from amplint.run import Analysis

CANNOT = 2


def checked(asked: Namespace, analysis: Analysis | None) -> int:
    """The exit code of a check."""
    if asked.version:
        return write(f"amplint {__version__}\n", None)
    _refuse_contradictions(asked)
    settings = load(_overrides(asked), asked.config, asked.isolated)
    if asked.show_settings:
        return write(shown_settings(settings), None)
    if asked.show_files:
        return _show_files(asked.paths or ["."], settings)
    outputs = _outputs(asked, settings, os.environ)
    cache = None if asked.no_cache else cache_dir(asked.cache_dir, settings, os.environ)
    settings = replace(settings, fixing=_fixing(asked, outputs), cache_dir=cache)
    if not asked.watch:
        return _once(asked, settings, outputs, analysis)
    from amplint.run import found_files
    from amplint.watching import wait, watch

    def files() -> list[str]:
        return [file.path for file in found_files(asked.paths or ["."], settings).files]

    def again() -> None:
        if _once(asked, settings, outputs, analysis) == INTERRUPTED:
            raise KeyboardInterrupt

    watch(files, again, wait)
    return 0


def _once(asked: Namespace, settings: Settings, outputs: Sequence[Output], analysis: Analysis | None) -> int:
    started = time.perf_counter()
    outcome = _outcome(asked, settings, analysis)
    if outcome.interrupted:
        say("interrupted: not all files were checked")
        if asked.write_baseline or asked.add_ignores:  # not of a part of what was asked
            return INTERRUPTED
    outcome = _against_run(asked, outcome)
    if asked.write_baseline:
        _write_baseline(asked, settings, outcome)
        outcome = replace(outcome, findings=())
    elif asked.add_ignores:
        outcome = _add_ignores(_without_known(asked, settings, outcome))
    else:
        outcome = _without_known(asked, settings, outcome)
        _tell(asked, outputs, outcome, settings)
    _say_the_rest(asked, outcome, time.perf_counter() - started)
    return _exit_code(asked, outcome, settings)


def _fixing(asked: Namespace, outputs: Sequence[Output]) -> Fixing:
    """What is done about fixes. None is looked for where no report has room for it: a proof costs an analysis."""
    if asked.write_baseline or asked.add_ignores:
        return Fixing.NONE
    if asked.diff:
        return Fixing.SHOW
    if asked.fix or asked.fix_only:
        return Fixing.WRITE
    roomy = not asked.statistics and any(output.format in WITH_FIXES for output in outputs)
    return Fixing.OFFER if roomy else Fixing.NONE


def _exit_code(asked: Namespace, outcome: Outcome, settings: Settings) -> int:
    code = outcome.exit_code(settings.strict, asked.exit_zero)
    if code > 1:
        return code
    if asked.diff:
        return int(bool(outcome.patch) and not asked.exit_zero)
    if asked.exit_non_zero_on_fix and outcome.mended:
        return 1
    return 0 if asked.fix_only else code


def _tell(asked: Namespace, outputs: Sequence[Output], outcome: Outcome, settings: Settings) -> None:
    """The reports. A patch, or the mended text of stdin, takes the place on stdout."""
    if asked.diff:
        write(outcome.patch, asked.output_file, "surrogateescape")
        return
    mended = _from_stdin(asked) and settings.fixing is Fixing.WRITE
    if mended:
        sys.stdout.buffer.write(outcome.data or b"")
        sys.stdout.flush()
    for output in () if asked.fix_only else outputs:
        told = _told(asked, output, settings, outcome)
        if mended and output.file is None:
            sys.stderr.write(told)
        else:
            write(told, output.file)


def _from_stdin(asked: Namespace) -> bool:
    return asked.paths == ["-"] or bool(asked.stdin_filename and not asked.paths)


def _refuse_contradictions(asked: Namespace) -> None:
    """Raises Refused for options that exclude each other."""
    mending = [option for option in ("--fix", "--fix-only", "--diff") if _given(asked, option)][:1]
    writing = [option for option in ("--write-baseline", "--add-ignores") if _given(asked, option)]
    for pair in (("--config", "--isolated"), ("--baseline", "--no-baseline"), *combinations([*mending, *writing], 2)):
        if all(_given(asked, option) for option in pair):
            raise Refused(f"{pair[0]} and {pair[1]} exclude each other")
    for option in ("--add-ignores", "--watch", "--since"):
        if _given(asked, option) and _from_stdin(asked):
            raise Refused(f"{option} needs files, not stdin")


def _given(asked: Namespace, option: str) -> bool:
    return bool(getattr(asked, option[2:].replace("-", "_")))


def _overrides(asked: Namespace) -> Overrides:
    return Overrides(
        names(asked.select),
        names(asked.ignore) or [],
        names(asked.extend_select) or [],
        names(asked.exclude),
        names(asked.extend_exclude) or [],
        asked.force_exclude,
        asked.strict,
        unsafe_fixes=asked.unsafe_fixes,
        markdown=asked.markdown,
        since=asked.since,
    )


def _show_files(paths: Sequence[str], settings: Settings) -> int:
    """The files that a check would look at, one on each line."""
    from amplint.run import found_files

    found = found_files(paths, settings)
    write("".join(f"{file.path}\n" for file in found.files), None)
    for path in found.missing:
        say(f"{path}: no such file or folder")
    return CANNOT if found.missing else 0


def cache_dir(named: Path | None, settings: Settings, environ: Mapping[str, str]) -> Path:
    """Where findings are kept: by the command line, AMPLINT_CACHE_DIR, the configuration, else below the root."""
    chosen = named or environ.get("AMPLINT_CACHE_DIR") or settings.cache_dir
    return Path(chosen) if chosen else settings.root / ".amplint_cache"


def _outputs(asked: Namespace, settings: Settings, environ: Mapping[str, str]) -> list[Output]:
    """The reports that are wanted: by the command line, else by AMPLINT_OUTPUT_FORMAT, else by the configuration."""
    named = environ.get("AMPLINT_OUTPUT_FORMAT") or settings.output_format or "full"
    outputs = list(asked.output_format or [Output(named)])
    if outputs[0].format not in FORMATS:
        raise Refused(f"AMPLINT_OUTPUT_FORMAT is `{outputs[0].format}`; it takes {', '.join(FORMATS)}")
    if asked.output_file:
        if len(outputs) > 1 or outputs[0].file:
            raise Refused("--output-file is for one report; write `--output-format FORMAT:FILE` for several")
        outputs = [Output(outputs[0].format, asked.output_file)]
    if sum(output.file is None for output in outputs) > 1:
        raise Refused("two reports cannot both go to stdout; give all but one a file: `--output-format sarif:FILE`")
    return outputs


def _outcome(asked: Namespace, settings: Settings, analysis: Analysis | None) -> Outcome:
    from amplint.report.progress import Progress
    from amplint.run import check, check_text

    if _from_stdin(asked):
        return check_text(sys.stdin.buffer.read(), asked.stdin_filename or "-", settings, analysis)
    if "-" in asked.paths:
        raise Refused('"-" stands for stdin and cannot be given together with other paths')
    if asked.stdin_filename:
        raise Refused('--stdin-filename needs "-" as the only path')
    progress = Progress(sys.stderr, os.environ)
    try:
        return check(asked.paths or ["."], settings, asked.jobs, analysis, None if asked.quiet else progress)
    finally:
        progress.clear()


def _told(asked: Namespace, output: Output, settings: Settings, outcome: Outcome) -> str:
    from amplint.report import render
    from amplint.report.paint import wants_colour
    from amplint.report.summary import statistics, statistics_json, summary

    if asked.statistics and output.format in ("json", "jsonl"):
        return statistics_json(outcome.findings)
    colour = asked.color == "always" or (
        asked.color == "auto" and output.file is None and wants_colour(sys.stdout, os.environ)
    )
    for_people = output.format in ("full", "concise")
    told = (
        statistics(outcome.findings)
        if asked.statistics and for_people
        else render(output.format, _report(outcome, settings, colour, output))
    )
    if for_people and asked.explain:
        from amplint.report.explained import pages

        told += pages(outcome.findings)
    if not for_people or asked.quiet:
        return told
    if not outcome.findings and (outcome.interrupted or outcome.crashes or outcome.missing or not outcome.files):
        return told  # nothing was found, but that is no praise
    return told + summary(outcome.findings, outcome.mended, settings.unsafe_fixes) + "\n"


def _report(outcome: Outcome, settings: Settings, colour: bool, output: Output) -> Report:
    from shutil import get_terminal_size

    width = get_terminal_size().columns if output.file is None and sys.stdout.isatty() else 0
    return Report(outcome.findings, outcome.texts, colour, settings.strict, __version__, settings.unsafe_fixes, width)


def _say_the_rest(asked: Namespace, outcome: Outcome, seconds: float) -> None:
    """What is not a finding, on stderr: what could not be done, and, if asked for, what was."""
    for path in outcome.missing:
        say(f"{path}: no such file or folder")
    for path, why in outcome.unwritten:
        say(f"{path}: not written: {why}")
    for filename, crash in outcome.crashes:
        say(f"{filename}: a fault of amplint's own, this file was not checked. Please report it with these lines:")
        sys.stderr.write(f"    amplint {__version__}, Python {sys.version.split()[0]}, {sys.platform}\n")
        sys.stderr.write("".join(f"    {line}\n" for line in crash.splitlines()))
    if not outcome.files and not outcome.missing and not asked.quiet:
        say("no Python files found")
    if asked.verbose:
        from amplint.report.summary import counted

        found = f"{counted(len(outcome.files), 'file')} found, {outcome.relevant} with words of training"
        say(f"{found}, {outcome.analysed} analysed; {seconds:.2f} s")


# --- what is known already -------------------------------------------------------------------------------------------


def _baseline_path(asked: Namespace, settings: Settings) -> Path | None:
    chosen: Path | None = asked.baseline or settings.baseline
    return None if asked.no_baseline else chosen


def _without_known(asked: Namespace, settings: Settings, outcome: Outcome) -> Outcome:
    """The outcome without the findings of the baseline, if there is one."""
    path = _baseline_path(asked, settings)
    if path is None:
        return outcome
    from amplint.baseline import judge, read, sifted
    from amplint.report.summary import counted

    baseline = read(path)
    found = sifted(baseline, outcome.findings, outcome.texts, judge(baseline, outcome.files, settings))
    if found.known and not asked.quiet:
        say(f"{counted(found.known, 'finding')} of the baseline {path} not shown")
    if found.stale and not asked.quiet:
        stale = counted(len(found.stale), "finding")
        say(f"{stale} of the baseline {path} no longer there; `--write-baseline` takes them out")
    return replace(outcome, findings=found.new)


def _write_baseline(asked: Namespace, settings: Settings, outcome: Outcome) -> None:
    """Write down what was found, so that it is not told again."""
    from amplint.baseline import Baseline, judge, read, renewed, written
    from amplint.report.summary import counted

    path = _baseline_path(asked, settings) or settings.root / "amplint-baseline.json"
    before = read(path) if path.exists() else Baseline(path)
    after = renewed(before, outcome.findings, outcome.texts, judge(before, outcome.files, settings))
    write(written(after), str(path))
    say(f"{counted(len(after.entries), 'finding')} written to {path}")


def _against_run(asked: Namespace, outcome: Outcome) -> Outcome:
    """The outcome with what a guarded run says of each finding, and with what only the run has found."""
    if asked.runtime_report is None:
        return outcome
    from amplint.run import text_of
    from amplint.runtime_report import held_against, read

    findings = held_against(read(asked.runtime_report), outcome.findings, outcome.files)
    texts = dict(outcome.texts)
    for finding in findings:
        if finding.place.cell is None and (finding.filename, None) not in texts:
            texts[(finding.filename, None)] = text_of(finding.filename)
    return replace(outcome, findings=findings, texts=texts)


def _add_ignores(outcome: Outcome) -> Outcome:
    """Silence what was found. What could not be silenced is left, and told of."""
    from amplint.fix.ignores import add_ignores
    from amplint.report.summary import counted

    added = add_ignores(outcome.findings, outcome.texts)
    say(f"{counted(added.findings, 'finding')} silenced in {counted(added.files, 'file')}")
    return replace(outcome, findings=(), unwritten=added.unwritten)
