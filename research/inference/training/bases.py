"""What a training begins with: a model that is there, or a new small one.

A small one is a GPT-2 that knows the words of its captions only, behind a vision transformer or the features of an
encoder that was trained before. It learns some hundred images on a CPU in minutes, as a baseline and to try training.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from django.utils.translation import gettext as _

from research.inference.backends.encoders import torch
from research.inference.backends.feature_decoder import config_class, load_encoder, model_class
from research.inference.backends.generation import quiet_transformers
from research.inference.backends.language_codes import ENGLISH_ONLY, codes
from research.inference.training.examples import TrainingExample
from research.inference.training.options import TrainingError, TrainingTargets

END = "<|endoftext|>"
SIDE, PATCH = 96, 16
WIDTH, LAYERS, HEADS = 128, 3, 4
POSITIONS = 96
MAX_TOKENS = 8000
SMALL = "a new small model"
"""What cards name the base where there is none."""


def new_captioner(folder: Path, captions: Sequence[str], *, seed: int) -> None:
    """Save a model with random weights into `folder`, whose tokens are learned from the captions.

    Raises TrainingError where the folder holds a model already. Raises
    research.inference.backends.encoders.ExtraMissingError.
    """
    library = quiet_transformers()
    tokenizer = _begun(folder, captions)
    size = {"hidden_size": WIDTH, "num_hidden_layers": LAYERS, "num_attention_heads": HEADS}
    eye = library.ViTConfig(image_size=SIDE, patch_size=PATCH, intermediate_size=2 * WIDTH, **size)
    config = library.VisionEncoderDecoderConfig.from_encoder_decoder_configs(
        eye, library.GPT2Config(**_size(tokenizer))
    )
    config.decoder_start_token_id = config.pad_token_id = config.eos_token_id = 0
    model = _random(library.VisionEncoderDecoderModel, config, seed)
    model.generation_config.decoder_start_token_id = 0
    library.ViTImageProcessorPil(size={"height": SIDE, "width": SIDE}).save_pretrained(folder)
    _saved(folder, model, tokenizer)


def new_feature_decoder(folder: Path, captions: Sequence[str], *, features: Mapping[str, Any], seed: int) -> None:
    """Save a decoder with random weights for the features of an encoder; see `feature_decoder`.

    Raises TrainingError, research.inference.backends.captioners.BackendSettingsError or
    research.inference.backends.encoders.ExtraMissingError.
    """
    encoder = load_encoder(features)
    about = {"feature_dimensions": int(encoder.dimensions), "features_signature": encoder.signature}
    encoder.close()
    tokenizer = _begun(folder, captions)
    _saved(folder, _random(model_class(), config_class()(**_size(tokenizer), **about), seed), tokenizer)


def _begun(folder: Path, captions: Sequence[str]) -> Any:
    """Learn the tokens, for a folder that holds no model."""
    if (folder / "config.json").exists():
        raise TrainingError(_("%(folder)s already holds a model.") % {"folder": folder})
    return _tokenizer(captions)


def _size(tokenizer: Any) -> dict[str, int]:
    shape = {"n_positions": POSITIONS, "n_embd": WIDTH, "n_layer": LAYERS, "n_head": HEADS}
    return {"vocab_size": len(tokenizer), **shape, "bos_token_id": 0, "eos_token_id": 0}


def _random(kind: Any, config: Any, seed: int) -> Any:
    with torch().random.fork_rng():
        torch().manual_seed(seed)
        return kind(config)


def _saved(folder: Path, model: Any, tokenizer: Any) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    tokenizer.save_pretrained(folder)
    model.save_pretrained(folder)


def _tokenizer(captions: Sequence[str]) -> Any:
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=MAX_TOKENS,
        special_tokens=[END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(captions, trainer)
    return quiet_transformers().PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        bos_token=END,
        eos_token=END,
        unk_token=END,
        pad_token=END,
        model_max_length=POSITIONS,
    )


def model_options(
    given: Mapping[str, Any],
    examples: Sequence[TrainingExample],
    targets: TrainingTargets,
    *,
    names_languages: bool = False,
) -> dict[str, Any]:
    """Return the options of the model that is made: those of its base, with the languages of the captions.

    Where captions of several languages follow no stabiliser, each language gets a prompt that names it, unless the
    base has prompts or names languages by itself: without one the model could not know which to write.
    """
    tags = sorted({example.language for example in examples})
    known = dict(codes(given, ENGLISH_ONLY)) if given.get("languages") else {}
    chosen = {**given, "languages": known | {tag: known.get(tag, tag) for tag in tags}}
    if len(tags) > 1 and targets == TrainingTargets.PLAIN and not names_languages:
        chosen["prompts"] = {tag: f"{tag}:" for tag in tags} | dict(given.get("prompts") or {})
    return chosen


def small_base(
    folder: Path, examples: Sequence[TrainingExample], *, seed: int, features: Mapping[str, Any] | None = None
) -> Path:
    """Return the folder of a small model with random weights, which is made where it is not there.

    - `features`: the encoder whose features it captions; None: it sees the images.
    """
    if not (folder / "config.json").exists():
        texts = [text for one in examples for text in (one.stabiliser, one.caption)]
        if features:
            new_feature_decoder(folder, texts, features=features, seed=seed)
        else:
            new_captioner(folder, texts, seed=seed)
    return folder


def small_name(features: Mapping[str, Any] | None) -> str:
    """Name the base in a card."""
    return f"a small decoder over features by {features['backend']}" if features else SMALL
