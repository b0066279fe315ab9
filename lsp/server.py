"""The server: translates between the protocol (pygls) and what the other files of this folder know."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlparse

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer

from bpir import __version__
from bpir.ir.diagnostic import Diagnostic, DiagnosticError, printable
from bpir.lsp import actions, colours, completion, lineage, outline
from bpir.lsp.document import Document, Section
from bpir.lsp.hover import hover
from bpir.lsp.names import Name
from bpir.lsp.text import outward

_DELAY = 0.03  # seconds without a further change after which diagnostics are made
_SEVERITIES = {
    "error": lsp.DiagnosticSeverity.Error,
    "warning": lsp.DiagnosticSeverity.Warning,
    "note": lsp.DiagnosticSeverity.Information,
    "remark": lsp.DiagnosticSeverity.Hint,
}
_COMPLETIONS = {
    "operation": lsp.CompletionItemKind.Function,
    "field": lsp.CompletionItemKind.Field,
    "word": lsp.CompletionItemKind.EnumMember,
    "value": lsp.CompletionItemKind.Variable,
    "symbol": lsp.CompletionItemKind.Reference,
    "dimension": lsp.CompletionItemKind.Constant,
    "axis": lsp.CompletionItemKind.EnumMember,
}
_OUTLINE = {"builtin.module": lsp.SymbolKind.Module, "block": lsp.SymbolKind.Class, "buffer": lsp.SymbolKind.Array}
DERIVE = "bpir.derive"
"""The command of a code action: the document, its passes, and the level that they lead to; its answer holds the text."""


class Server(LanguageServer):
    """The documents that are open, each analysed once a version."""

    def __init__(self) -> None:
        super().__init__("bp-lsp", __version__, text_document_sync_kind=lsp.TextDocumentSyncKind.Incremental)
        self.documents: dict[str, tuple[int | None, Document]] = {}
        self.waiting: dict[str, asyncio.TimerHandle] = {}
        self.allow_unregistered = False
        self.shows_derived = False  # whether the editor opens what the command answers by itself

    @property
    def units(self) -> str:
        """What the characters of a position count: the name of an encoding."""
        encoding = self.workspace.position_encoding
        return str(getattr(encoding, "value", encoding) or "utf-16")

    def document(self, uri: str) -> Document:
        """The present version of a document."""
        text = self.workspace.get_text_document(uri)
        known = self.documents.get(uri)
        if known is None or known[0] != text.version:
            before = known[1] if known is not None else None
            known = (text.version, Document(path_of(uri), text.source, self.allow_unregistered, self.units, before))
            self.documents[uri] = known
        return known[1]

    def place(self, uri: str, position: lsp.Position) -> tuple[Document, Section, int] | None:
        """The document, the section and the offset in its source of a place; None where there is no section."""
        document = self.document(uri)
        offset = document.lines.offset(position.line, position.character)
        section = document.section_at(offset)
        return None if section is None else (document, section, section.inward(offset))

    def publish(self, uri: str) -> None:
        """Send the diagnostics of a document."""
        self.waiting.pop(uri, None)
        if uri not in self.workspace.text_documents:
            return
        document = self.document(uri)
        version = self.workspace.get_text_document(uri).version
        found = [_diagnostic(uri, document, section, d) for section, d in document.diagnostics()]
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, found, version))

    def publish_soon(self, uri: str) -> None:
        """The same when no further change comes."""
        handle = self.waiting.pop(uri, None)
        if handle is not None:
            handle.cancel()
        self.waiting[uri] = asyncio.get_running_loop().call_later(_DELAY, self.publish, uri)

    def other_sections(self, uri: str) -> Iterator[tuple[str, Document, Section]]:
        """The sections of what is open, then of the files beside a document, that may be what it is derived from."""
        seen = set()
        for other in self.workspace.text_documents:
            document = self.document(other)
            seen.add(path_of(other))
            yield from ((other, document, section) for section in document.sections)
        path = Path(path_of(uri))
        files = sorted(path.parent.glob("*.bpir"))[:200] if path.parent.is_dir() else []
        for file in files:
            if str(file) not in seen and file.stat().st_size < 1_000_000:
                document = Document(str(file), file.read_text("utf-8", "surrogateescape"), self.allow_unregistered)
                yield from ((file.as_uri(), document, section) for section in document.sections)


def path_of(uri: str) -> str:
    """The path of a document; its address, if it is no file."""
    parsed = urlparse(uri)
    return unquote(parsed.path) if parsed.scheme == "file" else uri


# --- translation


def _range(document: Document, section: Section, start: int, end: int) -> lsp.Range:
    lines = document.lines
    first, last = lines.position(section.outward(start)), lines.position(section.outward(max(start, end)))
    return lsp.Range(lsp.Position(*first), lsp.Position(*last))


def _location(uri: str, document: Document, section: Section, name: Name) -> lsp.Location:
    return lsp.Location(uri, _range(document, section, name.start, name.end))


def _diagnostic(uri: str, document: Document, section: Section | None, found: Diagnostic) -> lsp.Diagnostic:
    """A diagnostic with its notes: those with a place of their own as related information, the others in its text."""
    related, message = [], [printable(found.message)]
    for note in found.notes:
        place = _place(document, section, note)
        if place is None:
            message.append(f"note: {printable(note.message)}")
        else:
            related.append(lsp.DiagnosticRelatedInformation(lsp.Location(uri, place), printable(note.message)))
    where = _place(document, section, found) or lsp.Range(lsp.Position(0, 0), lsp.Position(0, 0))
    return lsp.Diagnostic(where, "\n".join(message), _SEVERITIES[found.severity], source="bpir", related_information=related or None)


def _place(document: Document, section: Section | None, found: Diagnostic) -> lsp.Range | None:
    span = found.span
    if span is None:
        return None
    if section is not None and span.source is section.source:
        return _range(document, section, span.start, span.end)
    if span.source.name == document.name and section is None:
        lines = document.lines
        return lsp.Range(lsp.Position(*lines.position(span.start)), lsp.Position(*lines.position(span.end)))
    return None


# --- the features

server = Server()


@server.feature(lsp.INITIALIZE)
def initialize(ls: Server, params: lsp.InitializeParams) -> None:
    """Options of the editor: `allowUnregisteredDialect`, `showsDerived`."""
    options = params.initialization_options
    if isinstance(options, dict):
        ls.allow_unregistered = options.get("allowUnregisteredDialect") is True
        ls.shows_derived = options.get("showsDerived") is True


@server.feature(lsp.TEXT_DOCUMENT_DID_OPEN)
def did_open(ls: Server, params: lsp.DidOpenTextDocumentParams) -> None:
    ls.publish(params.text_document.uri)


@server.feature(lsp.TEXT_DOCUMENT_DID_CHANGE)
async def did_change(ls: Server, params: lsp.DidChangeTextDocumentParams) -> None:
    ls.publish_soon(params.text_document.uri)


@server.feature(lsp.TEXT_DOCUMENT_DID_CLOSE)
def did_close(ls: Server, params: lsp.DidCloseTextDocumentParams) -> None:
    uri = params.text_document.uri
    ls.documents.pop(uri, None)
    ls.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))


@server.feature(lsp.TEXT_DOCUMENT_DEFINITION)
def definition(ls: Server, params: lsp.DefinitionParams) -> list[lsp.Location]:
    uri = params.text_document.uri
    place = ls.place(uri, params.position)
    name = place[1].names.at(place[2]) if place is not None else None
    if place is None or name is None:
        return []
    document, section, _ = place
    if name.target is not None:
        return [_location(uri, document, section, name.target)]
    if name.kind != "part":
        return []
    others = list(ls.other_sections(uri))
    known = {id(other): (address, file) for address, file, other in others}
    found = lineage.sources(section, name, (other for _, _, other in others))
    return [_location(*known[id(other)], other, target) for other, target in found]


@server.feature(lsp.TEXT_DOCUMENT_REFERENCES)
def references(ls: Server, params: lsp.ReferenceParams) -> list[lsp.Location]:
    place = ls.place(params.text_document.uri, params.position)
    name = place[1].names.at(place[2]) if place is not None else None
    if place is None or name is None:
        return []
    document, section, _ = place
    found = (other for other in section.names.references(name) if params.context.include_declaration or not other.defines)
    return [_location(params.text_document.uri, document, section, other) for other in found]


@server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_HIGHLIGHT)
def highlight(ls: Server, params: lsp.DocumentHighlightParams) -> list[lsp.DocumentHighlight]:
    place = ls.place(params.text_document.uri, params.position)
    name = place[1].names.at(place[2]) if place is not None else None
    if place is None or name is None:
        return []
    document, section, _ = place
    return [lsp.DocumentHighlight(_range(document, section, other.start, other.end)) for other in section.names.references(name)]


@server.feature(lsp.TEXT_DOCUMENT_HOVER)
def show(ls: Server, params: lsp.HoverParams) -> lsp.Hover | None:
    place = ls.place(params.text_document.uri, params.position)
    found = hover(place[1], place[2]) if place is not None else None
    if place is None or found is None:
        return None
    content = lsp.MarkupContent(lsp.MarkupKind.Markdown, found.text)
    return lsp.Hover(content, _range(place[0], place[1], found.start, found.end))


@server.feature(lsp.TEXT_DOCUMENT_COMPLETION, lsp.CompletionOptions(trigger_characters=["%", "@", "."]))
def complete(ls: Server, params: lsp.CompletionParams) -> list[lsp.CompletionItem]:
    place = ls.place(params.text_document.uri, params.position)
    if place is None:
        return []
    document, section, offset = place
    found = completion.complete(section, offset)
    return [
        lsp.CompletionItem(
            proposal.text,
            kind=_COMPLETIONS[proposal.kind],
            detail=outward(proposal.detail) or None,
            text_edit=lsp.TextEdit(_range(document, section, proposal.start, offset), outward(proposal.text)),
        )
        for proposal in found
    ]


@server.feature(lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
def symbols(ls: Server, params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
    document = ls.document(params.text_document.uri)
    return [symbol for section in document.sections for symbol in _symbols(document, section, outline.outline(section))]


def _symbols(document: Document, section: Section, items: Iterable[outline.Item]) -> list[lsp.DocumentSymbol]:
    return [
        lsp.DocumentSymbol(
            outward(item.name) or '""',
            _OUTLINE.get(item.detail) or _OUTLINE.get(item.detail.partition(".")[2]) or lsp.SymbolKind.Function,
            _range(document, section, item.start, item.end),
            _range(document, section, item.name_start, item.name_end),
            detail=item.detail,
            children=_symbols(document, section, item.children),
        )
        for item in items
    ]


@server.feature(lsp.TEXT_DOCUMENT_INLAY_HINT)
def hints(ls: Server, params: lsp.InlayHintParams) -> list[lsp.InlayHint]:
    document = ls.document(params.text_document.uri)
    lines = document.lines
    first = lines.offset(params.range.start.line, params.range.start.character)
    last = lines.offset(params.range.end.line, params.range.end.character)
    found = []
    for section in document.sections:
        if section.start <= last and section.end >= first:
            for hint in outline.hints(section, section.inward(first), section.inward(last)):
                place = lsp.Position(*lines.position(section.outward(hint.offset)))
                found.append(lsp.InlayHint(place, outward(hint.text), lsp.InlayHintKind.Type))
    return found


@server.feature(lsp.TEXT_DOCUMENT_SEMANTIC_TOKENS_FULL, lsp.SemanticTokensLegend(list(colours.TYPES), []))
def semantic_tokens(ls: Server, params: lsp.SemanticTokensParams) -> lsp.SemanticTokens:
    source = ls.workspace.get_text_document(params.text_document.uri).source
    return lsp.SemanticTokens(colours.colours(source, ls.units))


@server.feature(lsp.TEXT_DOCUMENT_FORMATTING)
def formatting(ls: Server, params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit]:
    """The canonical text, comments in place; nothing, if the text has mistakes."""
    from bpir.ir.effort import BASE, allow, limited
    from bpir.ir.expressions.error import ExpressionError
    from bpir.tools.texts.formatting import format_module

    document = ls.document(params.text_document.uri)
    lines = document.lines
    try:
        allow(BASE)
        with limited(BASE):
            parts = [format_module(section.source, allow_unregistered=ls.allow_unregistered) for section in document.sections]
    except (DiagnosticError, ExpressionError):
        return []
    text = outward("// -----\n".join(parts))
    if text == outward(lines.text):
        return []
    end = lsp.Position(*lines.position(len(lines.text)))
    return [lsp.TextEdit(lsp.Range(lsp.Position(0, 0), end), text)]


@server.feature(
    lsp.TEXT_DOCUMENT_CODE_ACTION,
    lsp.CodeActionOptions(code_action_kinds=[lsp.CodeActionKind.QuickFix, lsp.CodeActionKind.Refactor]),
)
def code_actions(ls: Server, params: lsp.CodeActionParams) -> list[lsp.CodeAction]:
    uri = params.text_document.uri
    document = ls.document(uri)
    found = []
    for section, diagnostic in document.diagnostics():
        fix = actions.fix(diagnostic) if section is not None else None
        shown = _diagnostic(uri, document, section, diagnostic)
        if section is None or fix is None or not _touch(shown.range, params.range):
            continue
        edit = lsp.TextEdit(_range(document, section, fix.start, fix.end), outward(fix.text))
        change = lsp.WorkspaceEdit({uri: [edit]})
        kind = lsp.CodeActionKind.QuickFix
        found.append(lsp.CodeAction(outward(fix.title), kind, [shown], is_preferred=True, edit=change))
    place = ls.place(uri, params.range.start)
    for derivation in actions.derivations(place[1]) if place is not None else []:
        arguments: list[Any] = [uri, params.range.start.line, derivation.passes, derivation.level]
        command = lsp.Command(derivation.title, DERIVE, arguments=arguments)
        found.append(lsp.CodeAction(derivation.title, lsp.CodeActionKind.Refactor, command=command))
    return found


def _touch(a: lsp.Range, b: lsp.Range) -> bool:
    def key(position: lsp.Position) -> tuple[int, int]:
        return position.line, position.character

    return key(a.start) <= key(b.end) and key(b.start) <= key(a.end)


@server.command(DERIVE)
def derive(ls: Server, uri: str, line: int, passes: str, level: str) -> dict[str, str] | None:
    """What is derived: its text and a name for it. An editor that does not open it by itself gets it as a new file beside the document."""
    place = ls.place(uri, lsp.Position(line, 0))
    try:
        text = outward(actions.derive(place[1], passes)) if place is not None else ""
    except DiagnosticError as failure:
        ls.window_show_message(lsp.ShowMessageParams(lsp.MessageType.Error, str(failure)))
        return None
    path = Path(path_of(uri))
    name = f"{path.stem}.{level}.bpir"
    if not ls.shows_derived:
        address = uri[: uri.rfind("/") + 1] + name
        create = lsp.CreateFile(address, options=lsp.CreateFileOptions(overwrite=True))
        document = lsp.OptionalVersionedTextDocumentIdentifier(address)
        start = lsp.Range(lsp.Position(0, 0), lsp.Position(0, 0))
        edit = lsp.WorkspaceEdit(document_changes=[create, lsp.TextDocumentEdit(document, [lsp.TextEdit(start, text)])])
        ls.workspace_apply_edit(lsp.ApplyWorkspaceEditParams(edit, "Derive"))
        ls.window_show_document(lsp.ShowDocumentParams(address))
    return {"name": name, "text": text}


def run() -> None:
    """Serve standard input and output until the editor ends it."""
    gc.freeze()  # what is loaded now lives until the end
    server.start_io()
