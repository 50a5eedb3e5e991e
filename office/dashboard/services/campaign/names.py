"""What the names in the file of a campaign stand for: languages, collections, models and images that it may use."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from django.db.models import Model
from django.utils.translation import gettext as _

from core.images.models import Collection, CollectionImage, Image
from core.images.permissions import collections_in
from core.languages.models import Language
from core.people.models import Project, User
from office.dashboard.formats.campaign_file import CampaignFileError, missing, wrong
from research.inference.models import CaptioningModel
from research.inference.permissions import models_in


class CampaignNames:
    """Everything that `project` may use by its name; without a project, what `by` may start one with."""

    def __init__(self, project: Project | None, *, by: User | None) -> None:
        self.languages: dict[str, Language] = Language.objects.in_bulk()
        # What is the project's own comes last, and so wins over a shared one of its name.
        models = models_in(project, by=by).order_by("-is_shared", "pk")
        self.models: dict[str, CaptioningModel] = {model.name: model for model in models}
        self.collections: dict[str, Collection] = {one.slug: one for one in collections_in(project, by=by)}
        self.images: dict[tuple[str, str], Image] = {}

    def check(self, campaign: Mapping[str, Any]) -> None:
        """Raises CampaignFileError with all names that stand for nothing here."""
        if problems := list(self._problems(campaign)):
            raise CampaignFileError(problems)

    def _problems(self, campaign: Mapping[str, Any]) -> Iterator[str]:
        seen: set[str] = set()
        for number, language in enumerate(campaign.get("languages", [])):
            path = f"languages[{number}]"
            yield from self._unknown(f"{path}.tag", [language["tag"]])
            if language["tag"] in seen:
                yield _("%(path)s: %(tag)s is in the file twice.") % {"path": f"{path}.tag", "tag": language["tag"]}
            seen.add(language["tag"])
            yield from self._unknown(f"{path}.collection", [language["collection"]])
            yield from self._unknown(f"{path}.captioners", language["captioners"])
        for number, comparison in enumerate(campaign.get("comparisons", [])):
            path = f"comparisons[{number}]"
            for name in ("collection", "base", "test"):
                yield from self._unknown(f"{path}.{name}", [comparison[name]])
            yield from self._unknown(f"{path}.languages", comparison["languages"])
        for part in ("invitations", "studies"):
            for number, one in enumerate(campaign.get(part, [])):
                yield from self._unknown(f"{part}[{number}].languages", one["languages"])
        for number, rate in enumerate(campaign.get("rates", [])):
            yield from self._unknown(f"rates[{number}].language", [rate["language"]] if "language" in rate else [])
        yield from self._of_examples("guidelines", campaign.get("guidelines", {}))
        for kind, practice in campaign.get("practice", {}).items():
            yield from self._of_examples(f"practice.{kind}", practice)

    def _of_examples(self, path: str, part: Mapping[str, Any]) -> Iterator[str]:
        examples = part.get("examples", [])
        named = {one["image"] for one in examples if "image" in one}
        entries = CollectionImage.objects.filter(collection__in=self.collections.values(), key__in=named)
        for entry in entries.select_related("image", "collection"):
            self.images[entry.collection.slug, entry.key] = entry.image
        self.images |= {("", image.sha256): image for image in Image.objects.filter(sha256__in=named)}
        for number, example in enumerate(examples):
            where = f"{path}.examples[{number}]"
            yield from self._unknown(f"{where}.language", [example["language"]])
            collection = example.get("collection", "")
            if collection and collection not in self.collections:
                yield from self._unknown(f"{where}.collection", [collection])
            elif "drawing" in example and "image" in example:
                yield wrong(f"{where}.drawing", example["drawing"], _("allowed beside an image"))
            elif "drawing" not in example and "image" not in example:
                yield missing(f"{where}.image", _("the key of an image of this collection"))
            elif "image" in example and (collection, example["image"]) not in self.images:
                yield wrong(f"{where}.image", example["image"], _("the key of an image of this collection"))

    def _unknown(self, path: str, names: list[str]) -> Iterator[str]:
        field = path.rpartition(".")[2]
        kinds: dict[str, tuple[Mapping[str, Model], str]] = {
            "tag": (self.languages, _("a language")),
            "language": (self.languages, _("a language")),
            "languages": (self.languages, _("a language")),
            "collection": (self.collections, _("a collection that the project may use")),
        }
        known, what = kinds.get(field, (self.models, _("a model that the project may use")))
        for name in names:
            if name not in known:
                if known:
                    yield wrong(path, name, what, sorted(known))
                else:
                    yield missing(path, _("%(name)s; import it first") % {"name": name})
