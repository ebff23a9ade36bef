"""The language server, as an editor meets it."""

from __future__ import annotations

import sys

import pytest
from lsprotocol import types

from amplint.cli import main
from tests.clipped import BAD, GOOD
from tests.server.editor import Desk, edited

CLIP = 8  # the row of the clip, from 0
ACCUMULATED = """\
import torch

optimizer = torch.optim.SGD(model.parameters(), 0.1)
accum_steps = 4
for i, (inputs, targets) in enumerate(loader):
    loss = criterion(model(inputs), targets) / accum_steps
    loss.backward()
    if (i + 1) % accum_steps == 0 or i + 1 == len(loader):
        optimizer.step()
        optimizer.zero_grad()
"""


def codes(marks):
    return [one.code for one in marks]


def at(row, column=0, end=None):
    return types.Range(types.Position(row, column), types.Position(row, column if end is None else end))


@pytest.fixture(scope="module")
def desk(tmp_path_factory):
    folder = tmp_path_factory.mktemp("project")
    (folder / "pyproject.toml").write_text("")
    desk = Desk(folder)
    yield desk
    assert set(desk.end()) <= {0}


def test_findings_follow_the_text_as_it_is_typed_and_not_the_disk(desk):
    (desk.folder / "train.py").write_text(GOOD)

    async def part(editor):
        uri = editor.open("train.py", BAD)
        (mark,) = await editor.marked(uri)
        assert (mark.code, mark.severity, mark.source) == (
            "clip-before-unscale",
            types.DiagnosticSeverity.Error,
            "amplint",
        )
        assert mark.range == at(CLIP, 4, 59)
        assert mark.code_description is None  # there is no site
        assert [one.message for one in mark.related_information] == ["gradients get the loss scale here"]
        editor.change(uri, 2, "    scaler.unscale_(optimizer)\n", at(CLIP))
        assert await editor.marked(uri, 2) == []
        editor.change(uri, 3, "def (:\n", at(0))
        assert codes(await editor.marked(uri, 3)) == ["syntax-error"]

    desk.play(part)


def test_a_newer_text_ends_the_analysis_of_an_older_one(desk):
    slow = "".join(
        BAD.replace("for inputs", f"for inputs{at}, more").replace("scaler", f"scaler{at}") for at in range(40)
    )

    async def part(editor):
        uri = editor.open("train.py", slow)
        for version in range(2, 8):
            editor.change(uri, version, slow + f"# {version}\n")
        editor.change(uri, 8, BAD)
        assert codes(await editor.marked(uri, 8)) == ["clip-before-unscale"]
        assert editor.versions[-1] == 8
        assert set(editor.versions) < set(range(1, 9)), "of some texts in between nothing was told"

    desk.play(part)


def test_lines_are_counted_as_editors_count_them(desk):
    text = BAD.replace("import torch\n", 'import torch\nTEXT = """\f\N{LINE SEPARATOR}"""\n')

    async def part(editor):
        uri = editor.open("train.py", text)
        (mark,) = await editor.marked(uri)
        assert mark.range == at(CLIP + 1, 4, 59)
        editor.change(uri, 2, "    scaler.unscale_(optimizer)\n", at(CLIP + 1))
        assert await editor.marked(uri, 2) == []

    desk.play(part)


def test_a_text_that_was_never_saved_is_checked(desk):
    async def part(editor):
        item = types.TextDocumentItem("untitled:Untitled-1", "python", 1, BAD)
        editor.opened.append(item.uri)
        editor.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        assert codes(await editor.marked(item.uri)) == ["clip-before-unscale"]

    desk.play(part)


def test_what_a_neighbour_holds_is_what_its_editor_holds(desk):
    helper = "def update(scaler, optimizer, model):\n    scaler.unscale_(optimizer)\n"
    (desk.folder / "helper.py").write_text(helper)
    text = BAD.replace("import torch\n", "import torch\nfrom helper import update\n").replace(
        "    torch.nn.utils", "    update(scaler, optimizer, model)\n    torch.nn.utils"
    )

    async def part(editor):
        uri = editor.open("train.py", text)
        assert await editor.marked(uri) == []
        other = editor.open("helper.py", helper.replace("scaler.unscale_(optimizer)", "pass"))
        await editor.marked(other)
        await editor.until(lambda: codes(editor.marks[uri][1]) == ["clip-before-unscale"])
        editor.client.text_document_did_close(types.DidCloseTextDocumentParams(types.TextDocumentIdentifier(other)))
        await editor.until(lambda: editor.marks[uri][1] == [])

    desk.play(part)


@pytest.mark.parametrize(("units", "shift"), [("utf-16", 2), ("utf-8", 4)])
def test_columns_are_counted_in_the_units_of_the_editor(desk, units, shift):
    text = BAD.replace("    torch.nn.utils", '    "\N{PARTY POPPER}"; torch.nn.utils')

    async def part(editor):
        (mark,) = await editor.marked(editor.open("train.py", text))
        start = 4 + len('""; ') + shift
        assert mark.range == at(CLIP, start, start + 55)
        silent = (await editor.actions(editor.uri("train.py"), mark.range, "quickfix"))[1]
        (edit,) = silent.edit.changes[editor.uri("train.py")]
        assert edit.range == at(CLIP, start + 55)

    desk.play(part, units)


def test_a_finding_can_be_mended_ignored_and_read_of(desk):
    async def part(editor):
        uri = editor.open("train.py", BAD)
        mend, ignore, read, everything = await editor.actions(uri, at(CLIP, 10))
        assert (mend.edit, everything.edit) == (None, None)
        everything = await editor.client.code_action_resolve_async(everything)
        assert edited(BAD, everything.edit.changes[uri]) == GOOD
        mend = await editor.client.code_action_resolve_async(mend)
        assert edited(BAD, mend.edit.changes[uri]) == GOOD
        silent = edited(BAD, ignore.edit.changes[uri])
        assert "1.0)  # amplint: ignore[clip-before-unscale]\n" in silent
        command = types.ExecuteCommandParams(read.command, read.arguments)
        await editor.client.workspace_execute_command_async(command)
        assert editor.shown[0].endswith("clip-before-unscale.md")
        assert await editor.actions(uri, at(0)) == []
        editor.change(uri, 2, silent)
        assert await editor.marked(uri, 2) == []

    desk.play(part)


def test_an_editor_that_cannot_ask_for_edits_later_is_told_those_that_are_proved(desk):
    # which torch the project has is not declared, so that the new name may not be there
    unproved = GOOD.replace('torch.amp.GradScaler("cuda")', "torch.cuda.amp.GradScaler()")

    async def part(editor):
        uri = editor.open("train.py", BAD)
        fixes = [one for one in await editor.actions(uri, at(CLIP, 10), "quickfix") if one.title.startswith("Mend")]
        assert [edited(BAD, one.edit.changes[uri]) for one in fixes] == [GOOD]
        (everything,) = await editor.actions(uri, at(0), "source.fixAll")
        assert edited(BAD, everything.edit.changes[uri]) == GOOD
        other = editor.open("other.py", unproved)
        titles = [one.title for one in await editor.actions(other, at(2, 20))]
        assert titles == ["Ignore deprecated-cuda-amp here", "What deprecated-cuda-amp says"]

    desk.play(part, resolves=False)


def test_a_finding_shows_its_page_and_a_loop_its_drawing(desk):
    async def part(editor):
        uri = editor.open("train.py", BAD)
        page = await editor.hover(uri, CLIP, 20)
        assert "# clip-before-unscale" in page
        assert "call `scaler.unscale_(optimizer)` before clipping" in page
        drawing = await editor.hover(uri, 4, 2)
        assert "backward clip step update zero_grad" in drawing
        assert await editor.hover(uri, 6, 10) == ""

    desk.play(part)


def test_hints_are_told_where_they_are_asked_for(desk):
    async def part(editor):
        uri = editor.open("train.py", ACCUMULATED)
        assert await editor.hints(uri) == []
        editor.configure({"inlayHints": True})
        while not (found := await editor.hints(uri)):
            pass
        editor.configure({})
        assert found == [(6, "window of accum_steps, weight 1 / accum_steps"), (8, "every accum_steps micro-steps")]

    desk.play(part)


def test_settings_of_the_editor_and_of_the_project_are_obeyed(tmp_path):
    desk = Desk(tmp_path)
    (tmp_path / "pyproject.toml").write_text('[tool.amplint]\nexclude = ["old/"]\n')

    async def part(editor):
        uri = editor.open("train.py", BAD)
        assert codes(await editor.marked(uri)) == ["clip-before-unscale"]
        assert await editor.marked(editor.open("old/train.py", BAD)) == []
        editor.configure({"ignore": ["clip-before-unscale"]})
        await editor.until(lambda: editor.marks[uri][1] == [])
        editor.configure({"ignore": ["no-such-rule"], "select": 3})
        await editor.until(lambda: len(editor.said) > 1)
        assert editor.said[0] == "amplint: amplint.select must be a list of strings"
        assert "no rule or family is called `no-such-rule`" in editor.said[1]

    desk.play(part)
    assert desk.end() == [0]


def test_a_notebook_is_one_program_and_its_cells_are_marked(desk):
    head, tail = BAD[: BAD.index("for ")], BAD[BAD.index("for ") :]
    kinds = [types.NotebookCellKind.Markup, types.NotebookCellKind.Code, types.NotebookCellKind.Code]
    uris = [f"vscode-notebook-cell:/train.ipynb#{at}" for at in range(3)]
    languages = ["markdown", "python", "python"]

    async def part(editor):
        cells = [types.NotebookCell(kind, uri) for kind, uri in zip(kinds, uris, strict=True)]
        texts = [
            types.TextDocumentItem(uri, language, 1, text)
            for uri, language, text in zip(uris, languages, ["# Training", head, tail], strict=True)
        ]
        notebook = types.NotebookDocument(editor.uri("train.ipynb"), "jupyter-notebook", 1, cells)
        editor.client.notebook_document_did_open(types.DidOpenNotebookDocumentParams(notebook, texts))
        (mark,) = await editor.marked(uris[2])
        assert (mark.code, mark.range) == ("clip-before-unscale", at(4, 4, 59))
        assert await editor.marked(uris[1]) == []
        mend = (await editor.actions(uris[2], mark.range))[0]
        mend = await editor.client.code_action_resolve_async(mend)
        assert edited(tail, mend.edit.changes[uris[2]]) == GOOD[GOOD.index("for ") :]
        changed = types.VersionedTextDocumentIdentifier(2, uris[2])
        text = types.NotebookDocumentCellContentChanges(
            changed, [types.TextDocumentContentChangePartial(at(4), "    scaler.unscale_(optimizer)\n")]
        )
        editor.client.notebook_document_did_change(
            types.DidChangeNotebookDocumentParams(
                types.VersionedNotebookDocumentIdentifier(2, notebook.uri),
                types.NotebookDocumentChangeEvent(cells=types.NotebookDocumentCellChanges(text_content=[text])),
            )
        )
        assert await editor.marked(uris[2], 2) == []

    desk.play(part)


def test_without_its_libraries_the_server_says_what_to_install(monkeypatch, capsys):
    for name in [one for one in sys.modules if one.startswith("amplint.server.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "pygls.lsp.server", None)
    assert main(["server"]) == 2
    assert "pip install 'amplint[server]'" in capsys.readouterr().err
