"""Captions to write: batches, their ratings and texts."""

from __future__ import annotations

from typing import Any, Self

from crosslens.connection import Connection


class Work:
    """The rounds in which the person writes captions."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection

    def rounds(self) -> list[dict[str, Any]]:
        """Return the rounds, with what is missing before work, and batches to go on with."""
        rounds: list[dict[str, Any]] = self._connection.json("GET", "work/")["rounds"]
        return rounds

    def take(self, round_id: int) -> Batch:
        """Take a batch, or return the one that is assigned already.

        Where practice is required, it is done on the pages: a manager can switch it off for programs.
        """
        return Batch(self._connection, self._connection.json("POST", f"work/rounds/{round_id}/take/"))

    def __getitem__(self, batch_id: str) -> Batch:
        return Batch(self._connection, self._connection.json("GET", f"work/batches/{batch_id}/"))


class Batch:
    """Images to rate and describe; `values` is what the server last said of it."""

    def __init__(self, connection: Connection, values: dict[str, Any]) -> None:
        self._connection, self._address, self.values = connection, f"work/batches/{values['id']}/", values

    @property
    def items(self) -> list[dict[str, Any]]:
        """The images by position: with the English caption while it is rated, and with the text after that."""
        items: list[dict[str, Any]] = self.values["items"]
        return items

    def rate(self, position: int, rating: str) -> None:
        """Rate an English caption: EXCELLENT, GOOD, MEDIUM, BAD or NOT-ENOUGH-INFO."""
        self._connection.json("PUT", f"{self._address}ratings/{position}/", json={"rating": rating})

    def open_writing(self) -> Self:
        """Go on to writing, when all captions are rated. There is no way back."""
        return self._step("open-writing")

    def write(self, position: int, text: str) -> None:
        """Save the caption of an image.

        Raises
        ------
        CrosslensError
            If it was changed elsewhere since this batch was read.
        """
        item = next(one for one in self.items if one["position"] == position)
        sent = {"text": text, "revision": item["revision"]}
        saved = self._connection.json("PUT", f"{self._address}captions/{position}/", json=sent)
        item |= {"text": text, "revision": saved["revision"]}

    def submit(self, *, copies_seen: bool = False) -> Self:
        """Hand it in; `copies_seen` confirms captions that are almost the same as the English ones."""
        return self._step("submit", copies_seen=copies_seen)

    def give_back(self) -> Self:
        """Return it. Ratings and texts are kept."""
        return self._step("return")

    def resume(self) -> Self:
        """Go on with what was returned or has expired."""
        return self._step("resume")

    def _step(self, name: str, **sent: object) -> Self:
        self.values = self._connection.json("POST", f"{self._address}{name}/", json=sent or None)
        return self
