"""Lists of the API, read page by page while they are gone through."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from crosslens.connection import Connection

if TYPE_CHECKING:
    import pandas

ROWS_PER_PAGE = 1000


class Rows:
    """The rows of a list, as dictionaries; going through it again reads it again."""

    def __init__(
        self,
        connection: Connection,
        address: str,
        parameters: Mapping[str, object | None] | None = None,
        *,
        has_pages: bool = True,
    ) -> None:
        self._connection, self._address = connection, address
        parameters = ({"limit": ROWS_PER_PAGE} if has_pages else {}) | dict(parameters or {})
        self._parameters = {name: str(value) for name, value in parameters.items() if value is not None}

    def __iter__(self) -> Iterator[dict[str, Any]]:
        asked: dict[str, Any] = {"params": self._parameters}
        address: str | None = self._address
        while address:
            page = self._connection.json("GET", address, **asked)
            yield from page["results"]
            # The address of the next page has all parameters. A list that has no pages says nothing of one.
            address, asked = page.get("next"), {}

    def to_pandas(self) -> pandas.DataFrame:
        """Return all rows as a data frame; needs pandas."""
        import pandas

        return pandas.DataFrame(list(self))
