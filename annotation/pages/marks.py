"""The table of an annotator's marks: how many captions have each, what it means, and where to look at them."""

from __future__ import annotations

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from annotation.models import Caption
from annotation.rules.writing_marks import MEANINGS, MarkKind
from annotation.selectors.marks import PersonMarks
from core.people.pages import address
from tabular.tables import TEXT, PageTable, TableColumn, long_note

EXAMPLES = 5


def marks_table(marks: PersonMarks, slug: str) -> PageTable[MarkKind]:
    columns: list[TableColumn[MarkKind]] = [
        TableColumn("mark", _("Mark"), _name, kind=TEXT),
        TableColumn("captions", _("Captions"), lambda kind: len(marks.captions[kind])),
        TableColumn("newest", _("Newest"), lambda kind: _links(marks.captions[kind][:EXAMPLES], slug), kind=TEXT),
    ]
    caption = ngettext("Of the newest caption", "Of the newest %(number)d captions", marks.looked_at)
    return PageTable(
        "marks-caption",
        caption % {"number": marks.looked_at},
        columns,
        [kind for kind in MarkKind if marks.captions[kind]],
    )


def _name(kind: MarkKind) -> str:
    return format_html("{}{}", kind.label, long_note(MEANINGS[kind]))


def _links(captions: list[Caption], slug: str) -> str:
    """Link to the captions where they are checked."""
    said = _("Caption %(number)d")
    return format_html_join(
        SafeString(" "),
        '<a href="{}">{}</a>',
        ((_address(caption, slug), said % {"number": number}) for number, caption in enumerate(captions, start=1)),
    )


def _address(caption: Caption, slug: str) -> str:
    page = address("annotation:check-show", slug, caption.round.language_id)
    asked = f"round={caption.round_id}&annotator={caption.author_id}&after={caption.image_id - 1}"
    return f"{page}?{asked}#caption-{caption.pk}"
