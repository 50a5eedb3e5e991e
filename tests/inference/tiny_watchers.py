"""Tiny models that look at videos besides images, so that transformers takes torchvision to load them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.inference.tiny_models import (
    ASKED,
    EYE,
    IDS,
    SIDE,
    SMALL,
    SPREAD,
    TALKER,
    TEMPLATE,
    WORDS,
    _saved,
    _silent,
    _words,
)

QWEN_IMAGE = "<|vision_start|> <|image_pad|> <|vision_end|> "
PATCH = 8
LEAST, MOST = (2 * PATCH) ** 2, (2 * SIDE) ** 2


def save_qwen2_vl(folder: Path) -> Path:
    """Qwen2-VL, which sees each image in as many tokens as it is large."""
    eye = {"embed_dim": 16, "hidden_size": 16, "depth": 2, "num_heads": 2, "mlp_ratio": 2, "patch_size": PATCH}
    return _save_qwen("Qwen2VL", folder, eye)


def save_qwen3_vl(folder: Path) -> Path:
    """Qwen3-VL, which is like it and hands what it sees to several layers."""
    eye: dict[str, Any] = {"hidden_size": 16, "intermediate_size": 32, "depth": 2, "num_heads": 2, "patch_size": PATCH}
    eye |= {"out_hidden_size": 16, "num_position_embeddings": 16, "deepstack_visual_indexes": [0]}
    return _save_qwen("Qwen3VL", folder, eye, head_dim=8)


def _save_qwen(kind: str, folder: Path, eye: dict[str, Any], **text: Any) -> Path:
    import transformers as t

    tokenizer = _qwen_words()
    texts = {**_qwen_text(tokenizer), **text}
    config = getattr(t, f"{kind}Config")(text_config=texts, vision_config=eye, **_qwen_ids(tokenizer))
    seen = {"patch_size": PATCH, "size": {"shortest_edge": LEAST, "longest_edge": MOST}}
    processor = getattr(t, f"{kind}Processor")(
        t.Qwen2VLImageProcessorPil(**seen),
        tokenizer,
        getattr(t, f"{kind}VideoProcessor")(**seen),
        chat_template=TEMPLATE.replace("<image> ", QWEN_IMAGE),
    )
    processor.save_pretrained(folder)
    model = getattr(t, f"{kind}ForConditionalGeneration")
    return _saved(model, config, folder, suppress_tokens=_silent(tokenizer))


def save_llava_onevision(folder: Path) -> Path:
    """LLaVA-OneVision, which sees large images whole and in parts."""
    import transformers as t

    marks = ["<pad>", "<unk>", "<s>", "</s>", "<image>", "<video>"]
    tokenizer = _words(marks, f"{ASKED} {WORDS}", ends=None, bos="<s>", eos="</s>")
    tokenizer.add_special_tokens({"additional_special_tokens": ["<image>", "<video>"]})
    parts = [[SIDE, SIDE], [SIDE, 2 * SIDE], [2 * SIDE, SIDE]]
    size = {"height": SIDE, "width": SIDE}
    config = t.LlavaOnevisionConfig(
        text_config={**TALKER, "model_type": "qwen2", "vocab_size": len(tokenizer)},
        vision_config={**EYE, "model_type": "siglip_vision_model", "initializer_range": SPREAD},
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        video_token_index=tokenizer.convert_tokens_to_ids("<video>"),
        image_grid_pinpoints=parts,
        **IDS,
    )
    t.LlavaOnevisionProcessor(
        t.LlavaOnevisionImageProcessorPil(size=size, image_grid_pinpoints=parts),
        tokenizer,
        t.LlavaOnevisionVideoProcessor(size=size),
        num_image_tokens=(SIDE // EYE["patch_size"]) ** 2,
        vision_feature_select_strategy="full",
        chat_template=TEMPLATE,
    ).save_pretrained(folder)
    return _saved(t.LlavaOnevisionForConditionalGeneration, config, folder, suppress_tokens=_silent(tokenizer))


def save_internvl(folder: Path) -> Path:
    """InternVL, as transformers has it (the models whose names end in -hf): it sees large images in parts."""
    import transformers as t

    named = {
        "start_image_token": "<img>",
        "end_image_token": "</img>",
        "context_image_token": "<IMG_CONTEXT>",
        "video_token": "<video>",
    }
    marks = ["<pad>", "<unk>", "<s>", "</s>", *named.values()]
    tokenizer = _words(marks, f"{ASKED} {WORDS}", ends=None, bos="<s>", eos="</s>", extra_special_tokens=named)
    size = {"height": SIDE, "width": SIDE}
    eye = t.GotOcr2ImageProcessorPil(size=size, crop_to_patches=True, min_patches=1, max_patches=3)
    t.InternVLProcessor(
        eye,
        tokenizer,
        t.InternVLVideoProcessor(size=size),
        image_seq_length=4,
        chat_template=TEMPLATE.replace("<image>", "<IMG_CONTEXT>"),
    ).save_pretrained(folder)
    config = t.InternVLConfig(
        text_config={**TALKER, "model_type": "qwen2", "vocab_size": len(tokenizer)},
        vision_config={**EYE, "image_size": SIDE, "patch_size": 8, "initializer_range": SPREAD},
        image_token_id=tokenizer.convert_tokens_to_ids("<IMG_CONTEXT>"),
        image_seq_length=4,
        **IDS,
    )
    return _saved(t.InternVLForConditionalGeneration, config, folder, suppress_tokens=_silent(tokenizer))


def save_smolvlm(folder: Path) -> Path:
    """SmolVLM, which is like Idefics3 and looks at videos besides."""
    import transformers as t

    parts = [f"<row_{row}_col_{column}>" for row in range(1, 7) for column in range(1, 7)]
    marks = ["<pad>", "<unk>", "<s>", "</s>", "<fake_token_around_image>", "<image>", "<end_of_utterance>", "\n"]
    seen = [*marks[4:], "<global-img>", "<video>", *parts]
    tokenizer = _words([*marks[:4], *seen], f"{ASKED} {WORDS}", ends=("<s>", None), eos="</s>")
    tokenizer.add_tokens(seen, special_tokens=True)
    sizes = {"size": {"longest_edge": 2 * SIDE}, "max_image_size": {"longest_edge": SIDE}}
    processor = t.SmolVLMProcessor(
        t.SmolVLMImageProcessorPil(**sizes),
        tokenizer,
        t.SmolVLMVideoProcessor(**sizes),
        image_seq_len=4,
        chat_template=TEMPLATE,
    )
    config = t.SmolVLMConfig(
        text_config={**TALKER, "model_type": "llama", "vocab_size": len(tokenizer)},
        vision_config={**SMALL, "image_size": SIDE, "patch_size": 8, "initializer_range": SPREAD},
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        scale_factor=2,
        pad_token_id=0,
    )
    processor.save_pretrained(folder)
    return _saved(t.SmolVLMForConditionalGeneration, config, folder, suppress_tokens=_silent(tokenizer))


def _qwen_words() -> Any:
    seen = ["<|vision_start|>", "<|vision_end|>", "<|image_pad|>", "<|video_pad|>"]
    marks = ["<pad>", "<unk>", "<|im_start|>", "<|im_end|>", *seen]
    tokenizer = _words(marks, f"{ASKED} {WORDS}", ends=None, bos="<|im_start|>", eos="<|im_end|>")
    tokenizer.add_special_tokens({"additional_special_tokens": seen})
    return tokenizer


def _qwen_text(tokenizer: Any) -> dict[str, Any]:
    turned = {"rope_type": "default", "rope_theta": 10_000.0, "mrope_section": [2, 1, 1]}
    return {**TALKER, "vocab_size": len(tokenizer), "rope_parameters": turned}


def _qwen_ids(tokenizer: Any) -> dict[str, Any]:
    names = {
        "image_token_id": "<|image_pad|>",
        "video_token_id": "<|video_pad|>",
        "vision_start_token_id": "<|vision_start|>",
        "vision_end_token_id": "<|vision_end|>",
    }
    return {name: tokenizer.convert_tokens_to_ids(mark) for name, mark in names.items()} | IDS
