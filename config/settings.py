"""All settings. What differs between installations comes from the environment: environment.py, docs/settings.md."""

from typing import Any

from django.conf.locale import LANG_INFO
from django.utils.functional import lazy

from config import ROOT
from config.environment import from_process
from config.version import code_version
from core.images.rules.limits import MAX_UPLOAD_FILES
from core.languages.rules.page_languages import PAGE_LANGUAGES, UNKNOWN_TO_DJANGO

BASE_DIR = ROOT
_environment = from_process(BASE_DIR)

DEBUG = False
SECRET_KEY = _environment.secret_key()
ALLOWED_HOSTS = _environment.allowed_hosts()
CSRF_TRUSTED_ORIGINS = _environment.csrf_trusted_origins()
SITE_URL = _environment.site_url()
IS_EMBEDDED = _environment.is_embedded
VAR = _environment.var
VECTORS = _environment.vectors()
MODELS_FOLDER = _environment.models()
PICKLED_WEIGHTS = _environment.pickled_weights()
CUDA_VISIBLE_DEVICES = _environment.cuda_visible_devices()
TRAININGS_FOLDER = _environment.trainings()
# Read where it is needed, not at each start.
CODE_VERSION = lazy(code_version, str)(BASE_DIR)
CAPTION_ENDPOINTS = _environment.caption_endpoints()
# Django hides settings with KEY in their name where it reports errors.
CAPTION_ENDPOINT_KEYS = _environment.caption_endpoint_keys()
PROLIFIC_API = "https://api.prolific.com/api/v1"

INSTALLED_APPS = [
    "core.languages",
    "core.jobs",
    "core.people",
    "core.images",
    "research.selection",
    "core.allocation",
    "core.conversation",
    "research.inference",
    "research.scoring",
    "annotation",
    "sxs_eval",
    "gapgame",
    "office.practice",
    "office.recruitment",
    "office.dashboard",
    "office.imports",
    "office.exports",
    "tools.demo",
    "office.operations",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.messages",
    "whitenoise.runserver_nostatic",
    "django.contrib.staticfiles",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "allauth.socialaccount",
    "allauth.socialaccount.providers.openid_connect",
    "allauth.socialaccount.providers.saml",
    "axes",
    "csp",
    "django_htmx",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
]

MIDDLEWARE = [
    "office.operations.middleware.LogRequests",
    "django.middleware.security.SecurityMiddleware",
    # Before WhiteNoise, so that static files have its header too.
    "csp.middleware.CSPMiddleware",
    "office.operations.middleware.BrowserHeaders",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "core.people.middleware.SessionUse",
    "django.middleware.locale.LocaleMiddleware",
    "core.languages.middleware.PageLanguage",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    # Views for everybody say so with `login_not_required`.
    "django.contrib.auth.middleware.LoginRequiredMiddleware",
    "core.people.middleware.SecondFactor",
    "core.people.middleware.ArchivedProjects",
    "office.recruitment.middleware.StudyLimits",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "axes.middleware.AxesMiddleware",
]

ROOT_URLCONF = "config.urls"
WSGI_APPLICATION = "config.wsgi.application"
TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "core.people.context_processors.navigation",
                "office.recruitment.context_processors.study",
            ],
        },
    }
]

DATABASES = {"default": _environment.database()}
# Tests with threads need a database on a file, not in memory.
if IS_EMBEDDED:
    DATABASES["default"]["TEST"] = {"NAME": VAR / "test.sqlite3"}
CACHES = {"default": _environment.cache()}
STORAGES = {
    "default": _environment.storage(),
    "staticfiles": {"BACKEND": "config.static_files.StaticFiles"},
}
STATIC_URL = "/static/"
STATIC_ROOT = VAR / "static"
STATICFILES_DIRS = [BASE_DIR / "static", ("guides", BASE_DIR / "docs" / "screenshots")]
WHITENOISE_ALLOW_ALL_ORIGINS = False

DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
AUTH_USER_MODEL = "people.User"
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "core.people.allauth_adapter.AccountBackend",
]
_django_validators = "django.contrib.auth.password_validation"
AUTH_PASSWORD_VALIDATORS: list[dict[str, Any]] = [
    {"NAME": f"{_django_validators}.UserAttributeSimilarityValidator"},
    {"NAME": f"{_django_validators}.MinimumLengthValidator", "OPTIONS": {"min_length": 12}},
    {"NAME": f"{_django_validators}.CommonPasswordValidator"},
    {"NAME": f"{_django_validators}.NumericPasswordValidator"},
    {"NAME": "core.people.rules.passwords.OwnWordsValidator"},
]
if _breached := _environment.breached_passwords():
    AUTH_PASSWORD_VALIDATORS.append(
        {"NAME": "core.people.rules.passwords.BreachedPasswordValidator", "OPTIONS": {"path": _breached}}
    )
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "people:home-show"
LOGOUT_REDIRECT_URL = "account_login"

ALLAUTH_TRUSTED_PROXY_COUNT = _environment.proxies()
ACCOUNT_ADAPTER = "core.people.allauth_adapter.AccountAdapter"
ACCOUNT_LOGIN_METHODS = {"username", "email"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "email", "password1*"]
ACCOUNT_PRESERVE_USERNAME_CASING = True
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_CHANGE_EMAIL = True
ACCOUNT_EMAIL_NOTIFICATIONS = True
ACCOUNT_FORMS = {
    "add_email": "core.people.forms.sign_in.AddressForm",
    "change_password": "core.people.forms.sign_in.NewPasswordForm",
    "set_password": "core.people.forms.sign_in.FirstPasswordForm",
    "reset_password_from_key": "core.people.forms.sign_in.ForgottenPasswordForm",
    "reset_password": "core.people.forms.sign_in.ResetForm",
}
ACCOUNT_EMAIL_SUBJECT_PREFIX = ""
# A stranger's address gets no mail from here.
ACCOUNT_EMAIL_UNKNOWN_ACCOUNTS = False
ACCOUNT_SESSION_REMEMBER = True
# Whoever has the link could sign in with the new password at once; a second factor is asked for all the same.
ACCOUNT_LOGIN_ON_PASSWORD_RESET = True
ACCOUNT_REAUTHENTICATION_REQUIRED = True
# A classroom joins from one address. What fails is counted by axes alone, so that nobody locks the account of another.
ACCOUNT_RATE_LIMITS = {
    "login": "120/m/ip",
    "login_failed": None,
    "reauthenticate": "120/m/ip",
    "signup": "120/m/ip",
    "new_player": "4/20s/ip,60/h/ip",
    "arrive": "120/m/key",
    "personal_link": "120/m/ip",
    "mail_link": "5/h/user",
}
SIGN_IN_PROVIDERS = {one.id: one for one in _environment.sign_in_providers()}
SOCIALACCOUNT_ADAPTER = "core.people.allauth_adapter.ProviderAdapter"
SOCIALACCOUNT_EMAIL_VERIFICATION = "none"
SOCIALACCOUNT_PROVIDERS = {"saml": {"provider_class": "core.people.allauth_adapter.SamlProvider"}}
SOCIALACCOUNT_STORE_TOKENS = False
MFA_ADAPTER = "core.people.allauth_adapter.FactorAdapter"
MFA_FORMS = {
    "authenticate": "core.people.forms.sign_in.SignInCodeForm",
    "reauthenticate": "core.people.forms.sign_in.ConfirmingCodeForm",
    "add_webauthn": "core.people.forms.passkeys.NewPasskeyForm",
    "edit_webauthn": "core.people.forms.passkeys.PasskeyNameForm",
    "login_webauthn": "core.people.forms.passkeys.SignInPasskeyForm",
    "authenticate_webauthn": "core.people.forms.passkeys.SecondPasskeyForm",
    "reauthenticate_webauthn": "core.people.forms.passkeys.ConfirmingPasskeyForm",
}
MFA_SUPPORTED_TYPES = ["totp", "recovery_codes", "webauthn"]
MFA_PASSKEY_LOGIN_ENABLED = True
# Otherwise the answer of a stolen key to one question could be sent as that to another.
MFA_WEBAUTHN_USER_VERIFICATION = "required"
MFA_RATE_LIMITS = {"webauthn_login": "120/m/ip"}
MFA_ALLOW_UNVERIFIED_EMAIL = True
SECOND_FACTOR_REQUIRED = _environment.second_factor_required()
MFA_TOTP_ISSUER = "Crosslens"
MFA_TOTP_TOLERANCE = 1

# Failures are counted in the database, which all web processes share: core/people/services/lockout.py.
AXES_HANDLER = "core.people.services.lockout.LockOutHandler"
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"], "ip_address", "username"]
AXES_USERNAME_FORM_FIELD = "login"
AXES_USERNAME_CALLABLE = "core.people.services.lockout.name_tried"
AXES_CLIENT_IP_CALLABLE = "core.people.services.lockout.address_of"
AXES_LOCKOUT_CALLABLE = "core.people.services.lockout.locked_out"
AXES_FAILURE_LIMIT = 5
AXES_COOLOFF_TIME = 0.25  # hours
AXES_RESET_COOL_OFF_ON_FAILURE_DURING_LOCKOUT = False
AXES_RESET_ON_SUCCESS = True
AXES_DISABLE_ACCESS_LOG = True
AXES_SENSITIVE_PARAMETERS = ["login", "username", "ip_address", "code", "credential"]

_email = _environment.email()
EMAIL_BACKEND = _email["EMAIL_BACKEND"]
EMAIL_FILE_PATH = _email.get("EMAIL_FILE_PATH")
EMAIL_HOST = _email.get("EMAIL_HOST")
EMAIL_PORT = _email.get("EMAIL_PORT")
EMAIL_HOST_USER = _email.get("EMAIL_HOST_USER")
EMAIL_HOST_PASSWORD = _email.get("EMAIL_HOST_PASSWORD")
EMAIL_USE_TLS = _email.get("EMAIL_USE_TLS", False)
EMAIL_USE_SSL = _email.get("EMAIL_USE_SSL", False)
DEFAULT_FROM_EMAIL = _environment.from_email()
EMAIL_TIMEOUT = 10  # seconds

WEBHOOKS_TO_PRIVATE_ADDRESSES = _environment.webhooks_to_private_addresses()

LANGUAGE_CODE = "en"
LANGUAGES = PAGE_LANGUAGES
LANG_INFO.update(UNKNOWN_TO_DJANGO)
LANGUAGE_COOKIE_AGE = 365 * 24 * 3600
LANGUAGE_COOKIE_HTTPONLY = True
LANGUAGE_COOKIE_SAMESITE = "Lax"
# What Django and allauth lack in some of the languages is in locale/lacking/.
LOCALE_PATHS = [BASE_DIR / "locale", BASE_DIR / "locale" / "lacking"]
TIME_ZONE = "UTC"
USE_I18N = True
USE_TZ = True

REST_FRAMEWORK = {
    # The first of them is what a refusal names in WWW-Authenticate.
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "core.people.api.authentication.TokenAuthentication",
        "rest_framework.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["core.people.api.authentication.MayAsk"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_PARSER_CLASSES": ["core.people.api.parsers.JSONParser"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "core.people.api.answers.answer_problem",
    "URL_FORMAT_OVERRIDE": None,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "Crosslens",
    "DESCRIPTION": "What programs can do for managers and annotators, under the rules of the website; see docs/api.md.",
    "VERSION": "1",
    "OAS_VERSION": "3.1.0",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "SERVE_INCLUDE_SCHEMA": False,
    "COMPONENT_SPLIT_REQUEST": True,
    "ENUM_NAME_OVERRIDES": {
        "BatchState": "core.allocation.models.BatchState",
        "CaptionState": "annotation.models.CaptionState",
        "CampaignStepKind": "office.dashboard.services.campaign.changes.StepKind",
        "ImportKind": "core.images.models.ImportKind",
        "ImportStage": "core.images.models.ImportStage",
        "JobState": "core.jobs.models.JobState",
        "RatingEnum": "annotation.models.Rating",
        "Role": "core.people.models.Role",
        "Stage": "annotation.models.Stage",
        "CaptionsKind": ["references", "captions by people", "model captions"],
        "KindEnum": "annotation.models.RoundKind",
        "PracticeKind": "office.practice.models.PracticeKind",
        "VectorKind": "research.inference.models.VectorKind",
        "WorkRole": "office.recruitment.models.WorkRole",
        "PlaceLevel": "research.selection.models.PlaceLevelChoice",
        "EstimateBasis": "annotation.rules.estimates.EstimateBasis",
        "DecodingPrecision": "research.inference.forms.runs.PRECISIONS",
        "RoundState": "annotation.models.RoundState",
        "RunState": "research.inference.models.RunState",
        "WeightPrecision": "research.inference.models.WeightPrecision",
    },
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "core.people.api.operations.add_problems",
    ],
}

# The front end is ours alone: no other host, no inline script.
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": ["'self'"],
        "img-src": ["'self'", "data:", "blob:"],
        "style-src": ["'self'"],
        "script-src": ["'self'"],
        "object-src": ["'none'"],
        "base-uri": ["'none'"],
        # A form leads to the services that people sign in with.
        "form-action": ["'self'", *(origin for one in SIGN_IN_PROVIDERS.values() for origin in one.origins)],
        "frame-ancestors": ["'none'"],
    }
}
DATA_UPLOAD_MAX_NUMBER_FILES = MAX_UPLOAD_FILES
FILE_UPLOAD_HANDLERS = [
    "core.images.views.uploads.FileNameCheck",
    "django.core.files.uploadhandler.MemoryFileUploadHandler",
    "django.core.files.uploadhandler.TemporaryFileUploadHandler",
]
X_FRAME_OPTIONS = "DENY"
SECURE_REFERRER_POLICY = "same-origin"
SESSION_ENGINE = "core.people.services.sessions"
SESSION_COOKIE_HTTPONLY = True
HTTPS = _environment.https()
# Browsers take cookies of such names over TLS alone, and only from this very host.
COOKIE_PREFIX = "__Host-" if HTTPS else ""
SESSION_COOKIE_NAME = f"{COOKIE_PREFIX}sessionid"
CSRF_COOKIE_NAME = f"{COOKIE_PREFIX}csrftoken"
LANGUAGE_COOKIE_NAME = f"{COOKIE_PREFIX}django_language"
KNOWN_BROWSER_COOKIE_NAME = f"{COOKIE_PREFIX}known_browser"
MESSAGE_STORAGE = "core.people.message_storage.MessageStorage"
if HTTPS:
    SECURE_SSL_REDIRECT = True
    # Asked from inside, where nobody speaks TLS.
    SECURE_REDIRECT_EXEMPT = [r"^(healthz|readyz|metrics)$"]
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    SECURE_HSTS_SECONDS = 365 * 24 * 3600
    SECURE_HSTS_INCLUDE_SUBDOMAINS = _environment.hsts() in ("subdomains", "preload")
    SECURE_HSTS_PRELOAD = _environment.hsts() == "preload"
    # What of the domain speaks TLS besides this host, only its operator knows.
    SILENCED_SYSTEM_CHECKS = ["security.W005", "security.W021"]
    SESSION_COOKIE_SECURE = True
    CSRF_COOKIE_SECURE = True
    LANGUAGE_COOKIE_SECURE = True

_celery = _environment.celery()
# The module that sets up Celery, which core/jobs/tasks.py imports.
QUEUE_APPLICATION = "config.celery"
CELERY_BROKER_URL = _celery["broker_url"]
CELERY_BROKER_TRANSPORT_OPTIONS = _celery["broker_transport_options"]
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_TASK_DEFAULT_QUEUE = "default"
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_WORKER_HIJACK_ROOT_LOGGER = False
CELERY_BEAT_SCHEDULE_FILENAME = str(VAR / "beat-schedule")
CELERY_BEAT_SCHEDULE = {
    "sweep-seasons": {"task": "gapgame.tasks.sweep_seasons", "schedule": 5.0},
    "sweep-jobs": {"task": "jobs.tasks.sweep_jobs", "schedule": 15.0},
    "sweep-leases": {"task": "allocation.tasks.sweep_leases", "schedule": 30.0},
    "sweep-changes": {"task": "dashboard.tasks.sweep_changes", "schedule": 60.0},
    "sweep-occasions": {"task": "dashboard.tasks.sweep_occasions", "schedule": 300.0},
    "sweep-hourly": {"task": "dashboard.tasks.sweep_hourly", "schedule": 3600.0},
}

LOG_FORMAT = _environment.log_format()
METRICS_TOKEN = _environment.metrics_token()
# Each request has a line of its own in production, also one for a page that is not there. What axes tells, with neither
# account nor address, is in the lines of the security log.
_loggers = {"operations": "INFO", "people.security_log": "INFO", "django.request": "ERROR", "axes": "ERROR"}
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {"context": {"()": "office.operations.logs.ContextFilter"}},
    "formatters": {"line": {"()": "office.operations.logs.formatter", "log_format": LOG_FORMAT}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line", "filters": ["context"]}},
    "root": {"handlers": ["console"], "level": "WARNING"},
    "loggers": {} if IS_EMBEDDED else {name: {"level": level} for name, level in _loggers.items()},
}
