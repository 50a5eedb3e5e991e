"""An installation, its projects, and what is done in them."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Self
from urllib.parse import quote

import httpx

from crosslens.connection import TIMEOUT_S, Connection
from crosslens.jobs import FileImports, Releases, ServerJob
from crosslens.rows import Rows
from crosslens.sending import OnProgress, form_fields
from crosslens.work import Work


class Crosslens:
    """An installation, as the person whose token it is.

    Parameters
    ----------
    url : str
        Of the installation, such as https://crosslens.example.org.
    token : str
        From *Profile*, *Tokens for programs*.
    timeout_s : float
        How long one request may take, in seconds.
    transport : httpx.BaseTransport, optional
        How requests travel, such as through a proxy.
    """

    def __init__(
        self, url: str, token: str, *, timeout_s: float = TIMEOUT_S, transport: httpx.BaseTransport | None = None
    ) -> None:
        self._connection = Connection(url, token, timeout_s=timeout_s, transport=transport)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._connection.close()

    def me(self) -> dict[str, Any]:
        """Return the person's name and languages."""
        me: dict[str, Any] = self._connection.json("GET", "me/")
        return me

    @property
    def projects(self) -> Projects:
        """The person's projects."""
        return Projects(self._connection, "projects/")

    @property
    def collections(self) -> Collections:
        """The collections of images that the person may use."""
        return Collections(self._connection, "collections/")

    @property
    def work(self) -> Work:
        """The captions that the person writes."""
        return Work(self._connection)

    def models(self) -> Rows:
        """List the models."""
        return Rows(self._connection, "models/")


class Projects(Rows):
    """Projects, by their slugs."""

    def __getitem__(self, slug: str) -> Project:
        """Return a project by the last part of its address; the server is asked only when you use it."""
        return Project(self._connection, slug)

    def create(self, slug: str, campaign: str | Path) -> Project:
        """Make a project from a campaign file, or bring it to what the file says.

        Raises
        ------
        CrosslensError
            With each line of the file that is not right.
        """
        project = self[slug]
        project.apply_campaign(campaign)
        return project


class Collections(Rows):
    """Collections of images, by their slugs."""

    def __getitem__(self, slug: str) -> Rows:
        """List the images of a collection."""
        return Rows(self._connection, f"collections/{quote(slug, safe='')}/images/")

    def upload(self, *paths: str | Path, project: str, name: str, on_progress: OnProgress | None = None) -> str:
        """Send folders and files of images as a new collection of a project, and wait until they are imported.

        Returns
        -------
        str
            The short name (slug) of the collection, which campaign files and imports use.

        Raises
        ------
        RuntimeError
            If the import failed, or no image could be imported, with the reason for the first.
        """
        imports = FileImports(self._connection, f"projects/{project}/imports/")
        done = imports.preview(*paths, new_collection=name, on_progress=on_progress).confirm()
        slugs = [part["collection"] for part in done.parts if part["kind"] == "images" and part["collection"]]
        if not slugs:
            reasons = [f"{line['name']}: {line['reason']}" for line in done.report() if line["reason"]]
            raise RuntimeError(" ".join(["No image was imported.", *reasons[:1]]))
        return str(slugs[0])


class Rounds(Rows):
    """The rounds of a project, by their IDs."""

    def open(self, round_id: int, *, needs_qualification: bool | None = None) -> dict[str, Any]:
        """Let people take batches of it, and return it."""
        return self._step(round_id, "open", needs_qualification=needs_qualification)

    def close(self, round_id: int, **answers: str) -> dict[str, Any]:
        """End it: `assigned` says what happens to unfinished batches."""
        return self._step(round_id, "close", **answers)

    def reopen(self, round_id: int, **answers: str) -> dict[str, Any]:
        return self._step(round_id, "reopen", **answers)

    def accept(self, round_id: int, **answers: str) -> dict[str, Any]:
        return self._step(round_id, "accept", **answers)

    def reject(self, round_id: int, **answers: str) -> dict[str, Any]:
        return self._step(round_id, "reject", **answers)

    def skip(self, round_id: int, **answers: str) -> dict[str, Any]:
        return self._step(round_id, "skip", **answers)

    def _step(self, round_id: int, action: str, **answers: object) -> dict[str, Any]:
        done: dict[str, Any] = self._connection.json("POST", f"{self._address}{round_id}/{action}/", json=answers)
        return done


class Project:
    """A project, by its `slug`."""

    def __init__(self, connection: Connection, slug: str) -> None:
        self.slug, self._connection, self._root = slug, connection, f"projects/{quote(slug, safe='')}/"

    def __repr__(self) -> str:
        return f"Project({self.slug!r})"

    @property
    def about(self) -> dict[str, Any]:
        """Name, description and the person's roles."""
        return self._get("")

    @property
    def imports(self) -> FileImports:
        """Files that bring images, captions and references."""
        return FileImports(self._connection, f"{self._root}imports/")

    @property
    def releases(self) -> Releases:
        """Numbered datasets that others can cite."""
        return Releases(self._connection, f"{self._root}releases/")

    def campaign(self) -> str:
        """Return the settings, texts and invitations of the project as TOML."""
        return self._connection.text(f"{self._root}campaign/")

    def plan_campaign(self, campaign: str | Path) -> list[dict[str, str]]:
        """Return what a campaign file would change, and store nothing."""
        return self._send_campaign(campaign, {"plan": "1"})

    def apply_campaign(self, campaign: str | Path) -> list[dict[str, str]]:
        """Bring the project to what a campaign file says, and return what was changed."""
        return self._send_campaign(campaign, {})

    def languages(self) -> Rows:
        """List the languages."""
        return self._table("languages/")

    @property
    def rounds(self) -> Rounds:
        """The rounds with their states, and what can be done with them."""
        return Rounds(self._connection, f"{self._root}rounds/")

    def invitations(self) -> Rows:
        """List the invitations with their links."""
        return self._rows("invitations/")

    def images(self, **filters: str) -> Rows:
        """List the images of its collections and of those that it uses; filters are as on the page *Images*."""
        return self._rows("images/", **filters)

    def captions(self, *, language: str | None = None, round: int | None = None) -> Rows:
        """List what people wrote; `state` of each says whether it counts."""
        return self._rows("captions/", language=language, round=round)

    def ratings(self, *, language: str | None = None, round: int | None = None) -> Rows:
        """List annotators' ratings of English captions."""
        return self._rows("ratings/", language=language, round=round)

    def verdicts(self, *, language: str | None = None, round: int | None = None) -> Rows:
        """List reviewers' ratings of what people wrote."""
        return self._rows("verdicts/", language=language, round=round)

    def feedback(self) -> Rows:
        """List what managers said to annotators."""
        return self._rows("feedback/")

    def progress(self) -> dict[str, Any]:
        """Return how far each round is."""
        return self._get("progress/")

    def statistics(self, *, images: str | None = None) -> Rows:
        """List captions, words and characters by language, of all images or those of a filter."""
        return self._table("statistics/", images=images)

    def quality(self, *, images: str | None = None) -> Rows:
        """List the quality of verified captions by round."""
        return self._table("quality/", images=images)

    def comparisons(self, *, language: str | None = None) -> Rows:
        """List the comparisons of two models and their progress."""
        return self._rows("comparisons/", language=language)

    def judgements(self, *, comparison: int | None = None) -> Rows:
        """List raters' judgements of pairs of captions."""
        return self._rows("judgements/", comparison=comparison)

    def results(self, *, language: str | None = None, images: str | None = None) -> Rows:
        """List the gain of each comparison with its intervals and tests. That they were opened is recorded."""
        return self._table("comparisons/results/", language=language, images=images)

    def ranking(self, *, language: str | None = None, images: str | None = None) -> dict[str, Any] | None:
        """Return the models in order; None where too few have outcomes. That it was opened is recorded."""
        parameters = {"language": language, "images": images}
        answer = self._get("comparisons/results/", **parameters)
        ranking: dict[str, Any] | None = answer["ranking"]
        return ranking

    def metric_agreement(self, **options: object) -> dict[str, Any]:
        """Return how far metrics agree with people: `evaluations`, and their `correlations`.

        Parameters
        ----------
        **options
            images, references, flip, min_images and with_chosen, as on the page *Metrics against people*.
        """
        if isinstance(flip := options.get("flip"), bool):
            options["flip"] = "yes" if flip else "no"
        return self._get("comparisons/metrics/", **options)

    def references(self) -> Rows:
        """List the sets of captions that models are scored against."""
        return self._rows("references/")

    def scores(self, *, images: str | None = None) -> Rows:
        """List the scorings with their figures."""
        return self._rows("scores/", images=images)

    def score(self, **settings: Any) -> ServerJob:
        """Score models' captions, and wait until that is done.

        Parameters
        ----------
        **settings
            references, models and metrics; tokenizer and normalise; vectors, encoder, english and features.
        """
        return ServerJob.started(self._connection, f"{self._root}scores/", settings).wait()

    def export(self, path: str | Path, *, what: str = "captions", format: str = "jsonl", **filters: object) -> Path:
        """Write a table to a file, as docs/formats.md lists them.

        Parameters
        ----------
        path : str or Path
            The file; it is there only once it is complete.
        what, format : str
            Such as judgements and parquet.
        **filters
            As of the page *Export*; several languages are a list.
        """
        asked = httpx.QueryParams({"what": what, "format": format, **form_fields(filters)})
        return self._connection.download(f"{self._root}export/?{asked}", Path(path))

    def _rows(self, part: str, **parameters: object) -> Rows:
        return Rows(self._connection, self._root + part, parameters)

    def _table(self, part: str, **parameters: object) -> Rows:
        return Rows(self._connection, self._root + part, parameters, has_pages=False)

    def _get(self, part: str, **parameters: object) -> dict[str, Any]:
        given = {name: value for name, value in parameters.items() if value is not None}
        found: dict[str, Any] = self._connection.json("GET", self._root + part, params=given)
        return found

    def _send_campaign(self, campaign: str | Path, parameters: dict[str, str]) -> list[dict[str, str]]:
        if isinstance(campaign, str) and campaign.endswith(".toml"):
            campaign = Path(campaign)
        text = campaign.read_text("utf-8") if isinstance(campaign, Path) else campaign
        headers = {"Content-Type": "application/toml"}
        address = f"{self._root}campaign/"
        answer = self._connection.json("PUT", address, params=parameters, content=text.encode(), headers=headers)
        steps: list[dict[str, str]] = answer["steps"]
        return steps
