"""Find an encoder's files for commands, in any folder or on the hub with a commit, and their digests."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from research.inference.backends.captioners import BackendSettingsError, ModelSpec
from research.inference.backends.encoders import EncoderSettingsError
from research.inference.backends.transformer_files import PINNED, folder_of

FILES = ("*.json", "*.safetensors", "*.txt", "*.model")
"""What of a model is read: never code, and no weights that are Python's pickles."""

FILES_ALONE: Mapping[str, Any] = {"local_files_only": True, "trust_remote_code": False}
"""Set explicitly: otherwise transformers would ask at the terminal."""


def folder_at(source: str) -> Path:
    """Return a folder by its path, or the one into which the hub's model was downloaded.

    Raises
    ------
    EncoderSettingsError
    """
    path = Path(source)
    if path.is_dir():
        return path
    if PINNED.fullmatch(source) is None:
        raise EncoderSettingsError(
            f"{source} is neither a folder nor a model of the hub with its commit, name/model@ and 40 digits: "
            "without the commit, scores would not say by what they were made."
        )
    try:
        return folder_of(ModelSpec(source, source, {}))
    except BackendSettingsError as refused:
        raise EncoderSettingsError(str(refused)) from refused


def digests_of(folder: Path) -> dict[str, str]:
    """Compute the SHA-256 of each file of a model.

    Raises
    ------
    EncoderSettingsError
        Where there is no model in the folder.
    """
    digests = {}
    for path in sorted({path for pattern in FILES for path in folder.glob(pattern)}):
        with path.open("rb") as file:
            digests[path.name] = hashlib.file_digest(file, "sha256").hexdigest()
    if "config.json" not in digests:
        raise EncoderSettingsError(f"{folder} holds no model: there is no config.json.")
    return digests
