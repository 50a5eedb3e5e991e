"""Find models of transformers in the operator's folder, by name, or on the hub, by name and commit.

What is asked here on web pages reads at most `config.json` and its like, and needs no package but Django.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from functools import lru_cache
from math import prod
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils.translation import gettext as _

from research.inference.backends.captioners import BackendSettingsError, ModelSpec

PINNED = re.compile(r"(?P<name>[\w-][\w.-]*/[\w-][\w.-]*)@(?P<revision>[0-9a-f]{40})")
NAME = re.compile(r"[\w-][\w. -]*")
TRAINED = "training:"
"""Before the folder of a model that was trained on the platform."""
TRAINED_FOLDER = re.compile(r"training:(?P<folder>[0-9a-f]{32})")
FILES = ("*.json", "*.jinja", "*.txt", "*.model", "*.spm", "*.safetensors")
"""What of a model is read: never code, and no weights that are Python's pickles unless `may_unpickle`."""
PICKLED = ("*.bin",)
MAX_NUMBER = 4096
"""The largest value of an option that counts images or pixels."""
MAX_HEADER_BYTES = 100_000_000
"""Bytes of a safetensors header, as its makers limit it."""
COMMON_OPTIONS = {
    "family": str,
    "languages": (dict, list),
    "batch_size": int,
    "allow_pickled_weights": bool,
    "allow_missing_weights": bool,
    "device_map": str,
    "quantisation": str,
    "compile": bool,
}
"""Options of all our backends of transformers, with their types."""
CHOICES = {"device_map": ("auto", "balanced", "sequential"), "quantisation": ("4bit", "8bit")}
"""What some of them may be."""


def check_options(options: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    """Raises BackendSettingsError where an option is not known or of another kind: misspelt, it would be passed over
    for ever.
    """
    for name, value in options.items():
        if name not in known:
            raise BackendSettingsError(
                _("There is no option “%(option)s”. Use: %(known)s.") % {"option": name, "known": ", ".join(known)}
            )
        is_flag, is_number = isinstance(value, bool), isinstance(value, int)
        fits = isinstance(value, known[name]) and is_flag == (known[name] is bool)
        fits = fits and (name not in CHOICES or value in CHOICES[name])
        if not fits or (is_number and not is_flag and not 1 <= value <= MAX_NUMBER):
            raise BackendSettingsError(
                _("The option “%(option)s” cannot be %(value)s. See docs/models.md for its values.")
                % {"option": name, "value": json.dumps(value, ensure_ascii=False)}
            )


def folders_here() -> list[str]:
    """List the models in the operator's folder, if this machine has it."""
    root = Path(settings.MODELS_FOLDER)
    if not root.is_dir():
        return []
    return sorted(path.parent.name for path in root.glob("*/config.json") if NAME.fullmatch(path.parent.name))


def folder_here(source: str) -> Path | None:
    """Return the model's folder if it is on this machine; nothing is downloaded.

    Raises BackendSettingsError where it can be no source, or no machine could have what is missing here.
    """
    pinned = PINNED.fullmatch(source)
    if pinned:
        return _cached(pinned["name"], pinned["revision"])
    if trained := TRAINED_FOLDER.fullmatch(source):
        folder = Path(settings.TRAININGS_FOLDER) / trained["folder"] / "model"
        return folder if folder.is_dir() else None
    if "/" in source or "@" in source or NAME.fullmatch(source) is None:
        raise BackendSettingsError(
            _(
                "“%(source)s” is neither a folder in the folder of models nor a model of the hub with its "
                "commit: owner/name@ and 40 digits. The commit is needed so that it is clear which model "
                "made the captions."
            )
            % {"source": source}
        )
    folder = Path(settings.MODELS_FOLDER) / source
    if folder.is_dir():
        return folder
    if Path(settings.MODELS_FOLDER).is_dir() and folders_here():
        raise BackendSettingsError(
            _("There is no folder “%(name)s” in %(root)s. Available: %(names)s.")
            % {"name": source, "root": settings.MODELS_FOLDER, "names": ", ".join(folders_here())}
        )
    # Only the machine with the GPU may have them.
    return None


def folder_of(spec: ModelSpec) -> Path:
    """Return the folder with the model's files, and download them from the hub if necessary.

    Raises BackendSettingsError.
    """
    pinned = PINNED.fullmatch(spec.source)
    folder = _fetched(pinned["name"], pinned["revision"], spec) if pinned else folder_here(spec.source)
    if folder is None:
        raise BackendSettingsError(
            _("There is no folder “%(name)s” in %(root)s on this machine. The folder holds no models.")
            % {"name": spec.source, "root": settings.MODELS_FOLDER}
        )
    check_files(folder, spec)
    return folder


def check_files(folder: Path, spec: ModelSpec) -> None:
    """Raises BackendSettingsError where a file is missing without which it cannot be loaded."""
    read_json(folder, "config.json")
    if any(folder.glob("*.safetensors")):
        return
    if any(folder.glob("*.bin")):
        if may_unpickle(spec):
            return
        if not settings.PICKLED_WEIGHTS:
            raise BackendSettingsError(
                _(
                    "The weights of “%(source)s” are Python pickles, which can run any program, and this installation "
                    "does not load them. Save them as safetensors, or ask the operator to set PICKLED_WEIGHTS to on."
                )
                % {"source": spec.source}
            )
        raise BackendSettingsError(
            _(
                "The weights of “%(source)s” are Python pickles. Save them as safetensors or, if you trust "
                "them, set the option %(option)s."
            )
            % {"source": spec.source, "option": '{"allow_pickled_weights": true}'}
        )
    raise BackendSettingsError(
        _("“%(source)s” holds no weights: there is no *.safetensors file.") % {"source": spec.source}
    )


def may_unpickle(spec: ModelSpec) -> bool:
    return bool(settings.PICKLED_WEIGHTS and spec.options.get("allow_pickled_weights"))


def config_here(spec: ModelSpec) -> dict[str, Any] | None:
    """Read `config.json`; None if the model is not on this machine yet.

    Raises BackendSettingsError where the source can be none, or what lies here is not whole.
    """
    folder = folder_here(spec.source)
    if folder is None:
        return None
    if not PINNED.fullmatch(spec.source):
        check_files(folder, spec)
    return read_json(folder, "config.json")


def parameters_here(spec: ModelSpec) -> int:
    """Count the weights in the model's safetensors files; 0 if they are not on this machine, or not readable."""
    try:
        folder = folder_here(spec.source)
        files = sorted(folder.glob("*.safetensors")) if folder else []
        return sum(_parameters_in(path) for path in files)
    except (BackendSettingsError, OSError, ValueError, TypeError, AttributeError):
        return 0


def _parameters_in(path: Path) -> int:
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > MAX_HEADER_BYTES:
            raise ValueError(length)
        header = json.loads(file.read(length))
    return sum(prod(tensor["shape"]) for name, tensor in header.items() if name != "__metadata__")


def family_here(spec: ModelSpec) -> str:
    """Return `model_type` of `config.json`; if the model is not on this machine, the option `family`, or ""."""
    config = config_here(spec)
    return str(spec.options.get("family", "") if config is None else config.get("model_type", ""))


def read_json(folder: Path, name: str) -> dict[str, Any]:
    """Raises BackendSettingsError."""
    try:
        content = json.loads((folder / name).read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise BackendSettingsError(
            _("There is no model in “%(folder)s”: %(name)s is missing.") % {"folder": folder.name, "name": name}
        ) from error
    except (OSError, ValueError) as error:
        raise BackendSettingsError(
            _("%(name)s in “%(folder)s” cannot be read: %(error)s")
            % {"folder": folder.name, "name": name, "error": error}
        ) from error
    if not isinstance(content, dict):
        raise BackendSettingsError(
            _("%(name)s in “%(folder)s” is not a JSON object.") % {"folder": folder.name, "name": name}
        )
    return content


def digest_of(folder: Path) -> str:
    """Compute one digest of all files that are read, in 16 hexadecimal digits."""
    digest = hashlib.sha256()
    for path in sorted({path for pattern in (*FILES, *PICKLED) for path in folder.glob(pattern)}):
        stat = path.stat()
        digest.update(f"{path.name} {_sha256(path, stat.st_size, stat.st_mtime_ns)}\n".encode())
    return digest.hexdigest()[:16]


@lru_cache(maxsize=256)
def _sha256(path: Path, size: int, changed_at: int) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _cached(name: str, revision: str) -> Path | None:
    try:
        from huggingface_hub import try_to_load_from_cache
    except ImportError:
        return None
    try:
        path = try_to_load_from_cache(name, "config.json", revision=revision)
    except ValueError as error:
        raise BackendSettingsError(
            _("“%(name)s” cannot be a name on the hub: %(error)s") % {"name": name, "error": first_line(error)}
        ) from error
    return Path(path).parent if isinstance(path, str) else None


def _fetched(name: str, revision: str, spec: ModelSpec) -> Path:
    from huggingface_hub import snapshot_download

    patterns = [*FILES, *(PICKLED if may_unpickle(spec) else ())]
    try:
        # Whatever lies deeper is another format of the same weights.
        folder = snapshot_download(name, revision=revision, allow_patterns=patterns, ignore_patterns=["*/*"])
    except Exception as error:  # of the hub's own, of the network, of the disk
        raise BackendSettingsError(
            _("%(source)s cannot be fetched from the hub, and there is no earlier copy: %(error)s")
            % {"source": spec.source, "error": first_line(error)}
        ) from error
    return Path(folder)


def first_line(error: BaseException) -> str:
    return next((line.strip() for line in str(error).splitlines() if line.strip()), type(error).__name__)


def has_chat_template(folder: Path) -> bool:
    if any(folder.glob("chat_template.*")):
        return True
    named = [folder / name for name in ("processor_config.json", "tokenizer_config.json")]
    return any("chat_template" in read_json(folder, path.name) for path in named if path.is_file())
