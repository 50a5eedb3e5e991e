"""Authentication of the API: a program by its token, or a browser by its session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext as _
from rest_framework import authentication, exceptions, permissions
from rest_framework.request import Request
from rest_framework.throttling import SimpleRateThrottle

from core.people.api.problems import ApiError
from core.people.models import ApiToken, User
from core.people.permissions import lacks_second_factor
from core.people.services import tokens
from core.people.services.lockout import address_of

if TYPE_CHECKING:
    # Its settings name classes of this module, so it cannot be imported before.
    from rest_framework.views import APIView

SCHEME = "bearer"


class WrongTokens(SimpleRateThrottle):
    """(ours) Sixty wrong tokens a minute from one address; after that, all its tokens are refused unread."""

    rate = "60/min"
    scope = "wrong-tokens"

    def get_cache_key(self, request: Request, view: Any = None) -> str:
        return self.cache_format % {"scope": self.scope, "ident": address_of(request) or "nowhere"}

    def seconds_to_wait(self, request: Request) -> float | None:
        """Return None if another attempt is allowed. Counts nothing, unlike `allow_request`."""
        self.key, self.now = self.get_cache_key(request), self.timer()
        limit, duration = self.parse_rate(self.rate)
        assert limit is not None
        assert duration is not None
        since = self.now - duration
        self.history = [at for at in self.cache.get(self.key, []) if at > since]
        return None if len(self.history) < limit else duration - (self.now - self.history[-1])


class TokenAuthentication(authentication.BaseAuthentication):
    """`Authorization: Bearer clt_…`."""

    def authenticate(self, request: Request) -> tuple[User, ApiToken] | None:
        scheme, _blank, key = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() != SCHEME:
            return None
        throttle = WrongTokens()
        if (wait := throttle.seconds_to_wait(request)) is not None:
            raise exceptions.Throttled(wait=wait)
        now = timezone.now()
        token = tokens.token_of(key.strip(), now=now)
        if token is None:
            throttle.allow_request(request, None)  # type: ignore[arg-type]
            raise WrongToken
        tokens.note_use(token=token, now=now)
        return token.user, token

    def authenticate_header(self, request: Request) -> str:
        return "Bearer"


class WrongToken(exceptions.AuthenticationFailed):
    problem_code = "wrong-token"

    def __init__(self) -> None:
        super().__init__(_("This token is unknown, revoked or expired. Create another one on your profile."))


class MayAsk(permissions.BasePermission):
    """The user of the session; a read-only token may not change anything."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        if not request.user or not request.user.is_authenticated:
            return False
        if lacks_second_factor(request.user):
            message = _("Your role requires a second factor. Sign in on the website and set one up.")
            raise ApiError(403, "second-factor-missing", message)
        is_safe = request.method in permissions.SAFE_METHODS
        if isinstance(request.auth, ApiToken) and not request.auth.may_write and not is_safe:
            raise ApiError(
                403, "read-only-token", _("This token is read-only. Create one that can also change things.")
            )
        return True


def viewer_of(request: HttpRequest) -> User | AnonymousUser:
    """Authenticate requests for something outside the API whose address the API gave, such as an image."""
    try:
        user_and_token = TokenAuthentication().authenticate(Request(request))
    except exceptions.APIException:
        return AnonymousUser()
    if user_and_token is None:
        return request.user
    return AnonymousUser() if lacks_second_factor(user_and_token[0]) else user_and_token[0]
