"""Small encoders of random numbers, saved as real ones are. Without Django, for what trains without it."""

from __future__ import annotations

from pathlib import Path


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
