"""Tiny models of BLIP-2 and Florence-2, whose prompts follow no chat template, and of CLIP and SigLIP 2."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.inference.tiny_models import EYE, SIDE, SMALL, SPREAD, WORDS, _saved, _silent, _words

QUERIES = 4
OPT = {"word_embed_proj_dim": 16, "init_std": SPREAD, "tie_word_embeddings": False}
IDS = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}


def save_blip_2(folder: Path, words: str = WORDS) -> Path:
    """BLIP-2 before OPT, which is asked nothing."""
    return _save_blip_2(folder, words, {**SMALL, **IDS, "model_type": "opt", "ffn_dim": 32, **OPT})


def save_blip_2_t5(folder: Path, words: str = WORDS) -> Path:
    """BLIP-2 before T5, whose encoder gets the image and whose decoder writes."""
    text = {"d_model": 16, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 2, "initializer_factor": 1.5}
    marks = {"pad_token_id": 0, "eos_token_id": 3, "decoder_start_token_id": 0, "tie_word_embeddings": False}
    return _save_blip_2(folder, words, {**text, **marks, "model_type": "t5"})


def _save_blip_2(folder: Path, words: str, text: dict[str, Any]) -> Path:
    from transformers import Blip2Config, Blip2ForConditionalGeneration, Blip2Processor, BlipImageProcessorPil

    is_t5 = text["model_type"] == "t5"
    ends = ("", "</s>") if is_t5 else ("<s>", None)
    tokenizer = _words(["<pad>", "<unk>", "<s>", "</s>"], words, ends=ends, eos="</s>")
    eye = BlipImageProcessorPil(size={"height": SIDE, "width": SIDE})
    Blip2Processor(eye, tokenizer, num_query_tokens=QUERIES).save_pretrained(folder)
    config = Blip2Config(
        text_config={**text, "vocab_size": len(tokenizer)},
        vision_config={**EYE, "initializer_range": SPREAD},
        qformer_config={**SMALL, "initializer_range": SPREAD},
        num_query_tokens=QUERIES,
        initializer_range=SPREAD,
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
    )
    # What its generation_config.json suppresses is passed over.
    rare = [place for place in _silent(tokenizer, words) if place != IDS["eos_token_id"]]
    return _saved(Blip2ForConditionalGeneration, config, folder, rare=rare)


def save_florence_2(folder: Path, words: str = WORDS) -> Path:
    """Florence-2, which is asked by the name of a task."""
    import transformers as t

    asked = "What does the image describe? Describe in detail what is shown in the image."
    marks = ["<pad>", "<unk>", "<s>", "</s>", "<image>"]
    named = {"image_token": "<image>"}
    tokenizer = _words(marks, f"{asked} {words}", ends=("<s>", "</s>"), extra_special_tokens=named)
    eye = t.CLIPImageProcessorPil(size={"height": SIDE, "width": SIDE}, do_center_crop=False)
    eye.image_seq_length = 1 + (SIDE // 16) ** 2
    t.Florence2Processor(eye, tokenizer).save_pretrained(folder)
    config = t.Florence2Config(
        text_config={
            "model_type": "bart",
            "vocab_size": len(tokenizer),
            "d_model": 16,
            "max_position_embeddings": 64,
            **{f"{side}_{what}": 2 for side in ("encoder", "decoder") for what in ("layers", "attention_heads")},
            **{f"{side}_ffn_dim": 32 for side in ("encoder", "decoder")},
            **IDS,
            "decoder_start_token_id": 3,
            "forced_bos_token_id": 2,
            "forced_eos_token_id": 3,
            "init_std": SPREAD,
            "dropout": 0.0,
        },
        vision_config={
            "depths": [1, 1],
            "patch_size": [7, 3],
            "patch_stride": [4, 4],
            "patch_padding": [3, 1],
            "patch_prenorm": [False, True],
            "embed_dim": [8, 16],
            "num_heads": [2, 2],
            "num_groups": [2, 2],
            "window_size": 4,
            "projection_dim": 16,
            "drop_path_rate": 0.0,
            "initializer_range": SPREAD,
        },
        image_token_id=tokenizer.image_token_id,
        **IDS,
    )
    silent = [place for place in _silent(tokenizer, words) if place != 2]
    return _saved(
        t.Florence2ForConditionalGeneration,
        config,
        folder,
        rare=[IDS["eos_token_id"]],
        suppress_tokens=silent,
        decoder_start_token_id=3,
        forced_bos_token_id=2,
        forced_eos_token_id=3,
        no_repeat_ngram_size=3,
        num_beams=3,
        **IDS,
    )


def save_siglip_2(folder: Path, words: str = WORDS) -> Path:
    """SigLIP 2 that sees images in their own shapes (NaFlex)."""
    from transformers import Siglip2Config, Siglip2ImageProcessorPil, Siglip2Model, Siglip2Processor

    tokenizer = _words(["<pad>", "<eos>", "<bos>", "<unk>"], words, ends=("", "<eos>"), eos="<eos>")
    eye = Siglip2ImageProcessorPil(patch_size=16, max_num_patches=16)
    Siglip2Processor(eye, tokenizer).save_pretrained(folder)
    config = Siglip2Config(
        text_config={**SMALL, "vocab_size": len(tokenizer), "max_position_embeddings": 16, "pad_token_id": 0},
        vision_config={**SMALL, "patch_size": 16, "num_patches": 16},
    )
    return _saved_encoder(Siglip2Model, config, folder)


def _saved_encoder(kind: Any, config: Any, folder: Path) -> Path:
    import torch

    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        kind(config).save_pretrained(folder)
    return folder


def save_clip(folder: Path) -> Path:
    """A CLIP-like model of random numbers, which knows five words."""
    import torch
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import CLIPConfig, CLIPImageProcessorPil, CLIPModel, PreTrainedTokenizerFast

    words = ["<pad>", "<unk>", "<s>", "</s>", "a", "red", "blue", "rot", "ein"]
    tokenizer = Tokenizer(models.WordLevel({word: number for number, word in enumerate(words)}, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    ends = [("<s>", 2), ("</s>", 3)]
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A </s>", special_tokens=ends)
    marks = {"pad_token": "<pad>", "unk_token": "<unk>", "bos_token": "<s>", "eos_token": "</s>"}
    PreTrainedTokenizerFast(tokenizer_object=tokenizer, model_max_length=16, **marks).save_pretrained(folder)
    small = {"hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    text = {"vocab_size": 9, "max_position_embeddings": 16, "bos_token_id": 2, "eos_token_id": 3, "pad_token_id": 0}
    config = CLIPConfig(
        text_config={**small, **text}, vision_config={**small, "image_size": 32, "patch_size": 16}, projection_dim=12
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        CLIPModel(config).save_pretrained(folder)
    size = {"size": {"shortest_edge": 32}, "crop_size": {"height": 32, "width": 32}}
    CLIPImageProcessorPil(**size).save_pretrained(folder)
    return folder
