"""Which languages the pages are in, and which pages are translated into every one."""

from __future__ import annotations

from fnmatch import fnmatch
from typing import Any

from core.languages.rules.registry import LANGUAGES

_DJANGO_S_NAMES = {"no": "nb", "zh": "zh-hans"}
_TAGS = {code: tag for tag, code in _DJANGO_S_NAMES.items()}
PAGE_LANGUAGES = [(_DJANGO_S_NAMES.get(one.tag, one.tag), one.own_name) for one in LANGUAGES]
COMPLETE = ("en", "ar")
"""What every page is translated into. Pages of managers are in English for those who chose another language."""
REVIEWED = frozenset({"en"})
"""What a native speaker has reviewed. The pages say so of all others."""

UNKNOWN_TO_DJANGO: dict[str, dict[str, Any]] = {
    one.tag: {"bidi": False, "code": one.tag, "name": one.english_name, "name_local": one.own_name}
    for one in LANGUAGES
    if one.tag in {"fil", "mi", "quz"}
}
"""For `django.conf.locale.LANG_INFO`. Form errors in these languages are in locale/lacking/."""

VIEWS_OF_WORK = (
    "allauth.",
    "core.allocation.views",
    "core.conversation.views.working",
    "annotation.views.batches",
    "annotation.views.work",
    "office.dashboard.views.emails",
    "office.dashboard.views.guides",
    "django.views.i18n",
    "gapgame.views.play",
    "core.people.views.account",
    "core.people.views.passkeys",
    "core.people.views.personal_links",
    "core.people.views.profile",
    "office.practice.views.practising",
    "office.recruitment.views.arriving",
    "sxs_eval.views.judging",
)
"""Modules whose pages people see who annotate, rate or play, ..."""
ADDRESSES_OF_WORK = frozenset({"annotation:guidelines-show", "annotation:reading-show"})
"""... and addresses in other modules."""

FILES_OF_WORK = (
    "core/allocation/refusals.py",
    "core/allocation/views.py",
    "core/conversation/forms/working.py",
    "core/conversation/rules.py",
    "core/conversation/services.py",
    "core/conversation/views/working.py",
    "annotation/forms/readings.py",
    "annotation/models/captions.py",
    "annotation/models/readings.py",
    "annotation/models/rounds.py",
    "annotation/models/work.py",
    "annotation/permissions.py",
    "annotation/refusals.py",
    "annotation/rules/rewriting.py",
    "annotation/rules/text_checks.py",
    "annotation/services/feedback.py",
    "annotation/views/batches.py",
    "annotation/views/readings.py",
    "annotation/views/work.py",
    "libs/crosslens_metrics/scales.py",
    "office/dashboard/models.py",
    "office/dashboard/views/emails.py",
    "gapgame/models.py",
    "gapgame/permissions.py",
    "gapgame/rules/clock.py",
    "gapgame/services/players.py",
    "gapgame/rules/play.py",
    "gapgame/rules/turns.py",
    "gapgame/selectors/public.py",
    "gapgame/templatetags/times.py",
    "gapgame/views/play.py",
    "core/languages/rules/registry.py",
    "core/people/allauth_adapter.py",
    "core/people/forms/passkeys.py",
    "core/people/forms/profile.py",
    "core/people/models/*.py",
    "core/people/permissions.py",
    "core/people/rules/devices.py",
    "core/people/rules/passwords.py",
    "core/people/rules/roles.py",
    "core/people/selectors/qualification.py",
    "core/people/services/accounts.py",
    "core/people/services/consent.py",
    "core/people/services/invitations.py",
    "core/people/services/tokens.py",
    "core/people/templatetags/moments.py",
    "core/people/views/account.py",
    "core/people/views/personal_links.py",
    "core/people/views/profile.py",
    "office/practice/models.py",
    "office/practice/selectors/practising.py",
    "office/practice/services/attempts.py",
    "office/recruitment/services/participants.py",
    "office/recruitment/views/arriving.py",
    "office/dashboard/views/guides.py",
    "sxs_eval/permissions.py",
    "sxs_eval/refusals.py",
    "sxs_eval/views/judging.py",
    "templates/[0-9]*.html",
    "templates/_account.html",
    "templates/_all_errors.html",
    "templates/_field.html",
    "templates/_form.html",
    "templates/_languages.html",
    "templates/_nav.html",
    "templates/_pagination.html",
    "templates/account/*",
    "templates/allauth/*",
    "templates/allocation/*.html",
    "templates/annotation/_annotator.html",
    "templates/annotation/_batch_facts.html",
    "templates/annotation/_caption_field.html",
    "templates/annotation/_gone.html",
    "templates/annotation/_guidelines_news.html",
    "templates/annotation/_rat*.html",
    "templates/annotation/_round_work.html",
    "templates/annotation/_spoken.html",
    "templates/annotation/_thumbnail.html",
    "templates/annotation/_work_*.html",
    "templates/annotation/_write_texts.html",
    "templates/annotation/_zoom.html",
    "templates/annotation/away.html",
    "templates/annotation/done.html",
    "templates/annotation/feedback.html",
    "templates/annotation/feedback_list.html",
    "templates/annotation/gone.html",
    "templates/annotation/guidelines.html",
    "templates/annotation/history.html",
    "templates/annotation/own_captions.html",
    "templates/annotation/rate*.html",
    "templates/annotation/re[avtw]*.html",
    "templates/annotation/w*.html",
    "templates/base*.html",
    "templates/conversation/_threads.html",
    "templates/conversation/report.html",
    "templates/conversation/thread.html",
    "templates/dashboard/email/base.html",
    "templates/dashboard/email/notice*",
    "templates/dashboard/email[_s]*.html",
    "templates/dashboard/guide.html",
    "templates/error.html",
    "templates/gapgame/_batch*.html",
    "templates/gapgame/_guess.html",
    "templates/gapgame/_hints.html",
    "templates/gapgame/_image_credit.html",
    "templates/gapgame/_join.html",
    "templates/gapgame/_me.html",
    "templates/gapgame/_nickname_fields.html",
    "templates/gapgame/_open_seasons.html",
    "templates/gapgame/_player_breadcrumb.html",
    "templates/gapgame/_result.html",
    "templates/gapgame/_s[ak]*.html",
    "templates/gapgame/_season_state.html",
    "templates/gapgame/_seasons.html",
    "templates/gapgame/_season_terms.html",
    "templates/gapgame/_state.html",
    "templates/gapgame/_t*.html",
    "templates/gapgame/_winners.html",
    "templates/gapgame/home.html",
    "templates/gapgame/leaderboard.html",
    "templates/gapgame/player.html",
    "templates/gapgame/rules.html",
    "templates/gapgame/season.html",
    "templates/gapgame/turn*.html",
    "templates/images/_credit.html",
    "templates/mfa/*",
    "templates/people/_join_consent.html",
    "templates/people/_join_languages.html",
    "templates/people/_missing_requirements.html",
    "templates/people/_on_withdrawal.html",
    "templates/people/_own_projects.html",
    "templates/people/_profile_breadcrumb.html",
    "templates/people/_text.html",
    "templates/people/account_delete.html",
    "templates/people/consent.html",
    "templates/people/consent_withdraw.html",
    "templates/people/email/*",
    "templates/people/home.html",
    "templates/people/invitation_closed.html",
    "templates/people/join.html",
    "templates/people/link*.html",
    "templates/people/locked_out.html",
    "templates/people/profile.html",
    "templates/people/sessions.html",
    "templates/people/tokens.html",
    "templates/people/welcome.html",
    "templates/practice/_[em]*.html",
    "templates/practice/attempt.html",
    "templates/practice/practice.html",
    "templates/recruitment/[_aef]*.html",
    "templates/recruitment/refused.html",
    "templates/socialaccount/*",
    "templates/sxs_eval/_batch_facts.html",
    "templates/sxs_eval/_rater.html",
    "templates/sxs_eval/_trial.html",
    "templates/sxs_eval/end.html",
    "templates/sxs_eval/instructions.html",
    "templates/sxs_eval/judge.html",
    "templates/sxs_eval/return.html",
    "templates/sxs_eval/work.html",
)
"""Patterns of the files whose messages are translated into every language."""


def is_of_work(file: str) -> bool:
    """Whether messages of `file` (a path from the root, with slashes) are translated into every language."""
    return any(fnmatch(file, pattern) for pattern in FILES_OF_WORK)


def is_page_of_work(module: str, address: str) -> bool:
    """Whether a page is translated into every language: its view's `module` and the name of its `address`."""
    return address in ADDRESSES_OF_WORK or any(
        module == one or module.startswith(one.rstrip(".") + ".") for one in VIEWS_OF_WORK
    )


def code_of(tag: str) -> str:
    """Return what Django calls the language of a tag."""
    return _DJANGO_S_NAMES.get(tag, tag)


def tag_of(code: str | None) -> str:
    """Return the tag of a language of the pages, which Django may call otherwise."""
    return _TAGS.get(code or "", code or "")
