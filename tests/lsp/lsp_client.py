"""A client of a language server over stdio, for tests: requests are answered in order, notifications are kept."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Sequence
from typing import Any


class Client:
    """A running server. Positions are zero-based lines and UTF-16 units, as in the protocol."""

    def __init__(self, command: Sequence[str], cwd: str | None = None) -> None:
        self.errors = tempfile.TemporaryFile()  # noqa: SIM115  # no pipe: nobody reads it while the server runs
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.errors, cwd=cwd)
        self.notes: list[dict[str, Any]] = []
        self.count = 0
        self.versions: dict[str, int] = {}
        self.capabilities: dict[str, Any] = {}

    def __enter__(self) -> Client:
        capabilities = {"textDocument": {"publishDiagnostics": {"relatedInformation": True}}, "workspace": {"applyEdit": True}}
        answer = self.request("initialize", {"processId": None, "rootUri": None, "capabilities": capabilities})
        self.capabilities = answer["capabilities"]
        self.notify("initialized", {})
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.request("shutdown", None)
            self.notify("exit", None)
        self.process.wait(20)
        for stream in (self.process.stdin, self.process.stdout, self.errors):
            assert stream is not None
            stream.close()

    def said(self) -> str:
        """The text that the server wrote to standard error."""
        self.errors.seek(0)
        return self.errors.read().decode()

    # --- messages

    def _send(self, message: dict[str, Any]) -> None:
        body = json.dumps({"jsonrpc": "2.0", **message}).encode()
        assert self.process.stdin is not None
        self.process.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(body), body))
        self.process.stdin.flush()

    def _receive(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        length = 0
        while True:
            line = self.process.stdout.readline()
            if not line:
                raise AssertionError(f"the server ended: {self.said()[-2000:]}")
            if not line.strip():
                break
            name, _, value = line.decode().partition(":")
            if name.lower() == "content-length":
                length = int(value)
        message: dict[str, Any] = json.loads(self.process.stdout.read(length))
        return message

    def notify(self, method: str, params: Any) -> None:
        self._send({"method": method, "params": params} if params is not None else {"method": method})

    def request(self, method: str, params: Any) -> Any:
        """The result of a request."""
        self.count += 1
        number = self.count
        self._send({"id": number, "method": method, **({"params": params} if params is not None else {})})
        while True:
            message = self._receive()
            if message.get("id") == number and "method" not in message:
                if "error" in message:
                    raise AssertionError(f"{method}: {message['error']}")
                return message["result"]
            self._other(message)

    def _other(self, message: dict[str, Any]) -> None:
        self.notes.append(message)
        if "id" in message and "method" in message:  # a request of the server
            self._send({"id": message["id"], "result": {"applied": True} if message["method"] == "workspace/applyEdit" else None})

    # --- documents

    def open(self, uri: str, text: str, language: str = "bpir") -> None:
        self.versions[uri] = 1
        self.notify("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": language, "version": 1, "text": text}})

    def change(self, uri: str, *changes: dict[str, Any]) -> None:
        self.versions[uri] += 1
        document = {"uri": uri, "version": self.versions[uri]}
        self.notify("textDocument/didChange", {"textDocument": document, "contentChanges": list(changes)})

    def close(self, uri: str) -> None:
        self.notify("textDocument/didClose", {"textDocument": {"uri": uri}})

    def diagnostics(self, uri: str) -> list[dict[str, Any]]:
        """Those of the present version of the document."""
        wanted = self.versions[uri]

        def found() -> list[dict[str, Any]] | None:
            for note in reversed(self.notes):
                params = note.get("params") or {}
                if note["method"] == "textDocument/publishDiagnostics" and params["uri"] == uri and params.get("version") == wanted:
                    shown: list[dict[str, Any]] = params["diagnostics"]
                    return shown
            return None

        while (shown := found()) is None:
            self._other(self._receive())
        return shown

    def at(self, method: str, uri: str, line: int, character: int, **more: Any) -> Any:
        """A request about a place of a document."""
        place = {"textDocument": {"uri": uri}, "position": {"line": line, "character": character}}
        return self.request(f"textDocument/{method}", {**place, **more})
