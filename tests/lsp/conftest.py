"""A running language server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from lsp_client import Client
from lsp_documents import BP_LSP


@pytest.fixture(scope="module")
def client() -> Iterator[Client]:
    with Client([BP_LSP]) as running:
        yield running
