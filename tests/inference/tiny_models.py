"""Captioning and translation models of some thousand random numbers, saved as a real one is, loaded by the real code.

Each `save_…(folder)` writes a whole model into `folder` and returns it; the same arguments give the same model. What
they say is nonsense made of `words`, another for each image, since their random weights are large.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

WORDS = "a the red blue small dog cat boat house runs sleeps stands on near under"
GERMAN = "ein der rote blaue kleine hund katze boot haus läuft schläft steht auf bei unter"
SIDE = 32
SMALL = {"hidden_size": 16, "intermediate_size": 32, "num_hidden_layers": 2, "num_attention_heads": 2}
EYE = {**SMALL, "image_size": SIDE, "patch_size": 16}
SPREAD = 0.6
"""Standard deviation of the weights: with the usual 0.02, every image would get the same words."""
RARE = 0.1
"""Of the weights of tokens that are hardly ever said."""


def save_blip(folder: Path, words: str = WORDS, **text: Any) -> Path:
    """BLIP, whose decoder begins with a token of its own and ends with [SEP]."""
    from transformers import BlipConfig, BlipForConditionalGeneration, BlipImageProcessorPil, BlipProcessor

    marks_of_text = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[DEC]"]
    tokenizer = _words(marks_of_text, words, ends=("[CLS]", "[SEP]"), bos="[DEC]", eos="[SEP]", cls="[CLS]")
    marks = {"pad_token_id": 0, "bos_token_id": 4, "eos_token_id": 3, "sep_token_id": 3}
    config = BlipConfig(
        text_config={
            **SMALL,
            **marks,
            "vocab_size": len(tokenizer),
            "encoder_hidden_size": 16,
            "max_position_embeddings": 64,
            "initializer_range": SPREAD,
            **text,
        },
        vision_config={**EYE, "initializer_range": SPREAD},
        projection_dim=16,
    )
    BlipProcessor(BlipImageProcessorPil(size={"height": SIDE, "width": SIDE}), tokenizer).save_pretrained(folder)
    return _saved(BlipForConditionalGeneration, config, folder)


def save_git(folder: Path, words: str = WORDS) -> Path:
    """GIT: one decoder over image and words."""
    from transformers import CLIPImageProcessorPil, GitConfig, GitForCausalLM, GitProcessor

    tokenizer = _words(["[PAD]", "[UNK]", "[CLS]", "[SEP]"], words, ends=("[CLS]", "[SEP]"))
    config = GitConfig(
        vision_config={**EYE, "initializer_range": SPREAD},
        vocab_size=len(tokenizer),
        max_position_embeddings=64,
        initializer_range=SPREAD,
        pad_token_id=0,
        bos_token_id=2,
        eos_token_id=3,
        **SMALL,
    )
    eye = CLIPImageProcessorPil(size={"shortest_edge": SIDE}, crop_size={"height": SIDE, "width": SIDE})
    GitProcessor(eye, tokenizer).save_pretrained(folder)
    return _saved(GitForCausalLM, config, folder, suppress_tokens=[0, 1, 2])


def save_vit_gpt2(folder: Path, words: str = WORDS) -> Path:
    """A ViT before a GPT-2: image processor and tokenizer are saved apart, with no processor of both."""
    import transformers as t

    tokenizer = _words(["<|endoftext|>", "<unk>"], words, pad="<|endoftext|>", ends=None)
    decoder = t.GPT2Config(
        vocab_size=len(tokenizer),
        n_positions=64,
        n_embd=16,
        n_layer=2,
        n_head=2,
        bos_token_id=0,
        eos_token_id=0,
        initializer_range=SPREAD,
    )
    config = t.VisionEncoderDecoderConfig.from_encoder_decoder_configs(
        t.ViTConfig(**EYE, initializer_range=SPREAD), decoder
    )
    config.decoder_start_token_id = config.pad_token_id = config.eos_token_id = 0
    tokenizer.save_pretrained(folder)
    t.ViTImageProcessorPil(size={"height": SIDE, "width": SIDE}).save_pretrained(folder)
    return _saved(t.VisionEncoderDecoderModel, config, folder, suppress_tokens=[1])


def save_chain(folder: Path, chains: Sequence[str]) -> Path:
    """A ViT before a GPT-2 that is made to write: each word is followed by the one after it in the one of `chains` that
    it stands in, whatever the image. It begins with the first of them, and what ends one ends the caption."""
    import torch
    import transformers as t

    end = "<|endoftext|>"
    tokenizer = _words([end, "<unk>"], " ".join(chains), pad=end, bos=end, eos=end, ends=None)
    size = len(tokenizer)
    heads = {"n_layer": 1, "n_head": 1, "n_embd": size, "tie_word_embeddings": False}
    decoder = t.GPT2Config(vocab_size=size, n_positions=64, bos_token_id=0, eos_token_id=0, **heads)
    config = t.VisionEncoderDecoderConfig.from_encoder_decoder_configs(t.ViTConfig(**EYE), decoder)
    config.decoder_start_token_id = config.pad_token_id = config.eos_token_id = 0
    model = t.VisionEncoderDecoderModel(config)
    places = tokenizer.get_vocab()
    rows = [[end, *chains[0].split(), end], *([*chain.split(), end] for chain in chains[1:])]
    with torch.no_grad():
        for weight in model.decoder.parameters():
            weight.zero_()
        model.decoder.transformer.ln_f.weight.fill_(1)
        model.decoder.transformer.wte.weight.copy_(torch.eye(size))
        for row in rows:
            for one, following in pairwise(row):
                model.decoder.lm_head.weight[places[following], places[one]] = 1
    tokenizer.save_pretrained(folder)
    t.ViTImageProcessorPil(size={"height": SIDE, "width": SIDE}).save_pretrained(folder)
    model.save_pretrained(folder)
    return folder


def save_paligemma(folder: Path, words: str = WORDS) -> Path:
    """PaliGemma, which is prompted with “caption en”."""
    import transformers as t

    marks = ["<pad>", "<unk>", "<bos>", "<eos>", "<image>", "\n"]
    tokenizer = _words(marks, f"caption en de {words}", ends=None, bos="<bos>", eos="<eos>")
    eye = t.SiglipImageProcessorPil(size={"height": SIDE, "width": SIDE})
    eye.image_seq_length = (SIDE // 16) ** 2
    known = len(tokenizer)
    # It adds tokens of places and outlines, which a random model would say more often than words.
    processor = t.PaliGemmaProcessor(eye, tokenizer)
    silent = [place for place in range(len(tokenizer)) if place >= known or place in (0, 1, 2, 4, 5)]
    text = {**SMALL, "model_type": "gemma", "num_key_value_heads": 1, "head_dim": 8, "vocab_size": len(tokenizer)}
    config = t.PaliGemmaConfig(
        text_config={**text, **IDS, "initializer_range": SPREAD},
        vision_config={**EYE, "model_type": "siglip_vision_model", "projection_dim": 16},
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        projection_dim=16,
        hidden_size=16,
        **IDS,
    )
    processor.save_pretrained(folder)
    return _saved(t.PaliGemmaForConditionalGeneration, config, folder, suppress_tokens=silent)


IDS = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}
TALKER = {**SMALL, **IDS, "num_key_value_heads": 2, "initializer_range": SPREAD}
TEMPLATE = (
    "{% for message in messages %}{{ message['role'] + ' : ' }}{% for part in message['content'] %}"
    "{{ '<image> ' if part['type'] == 'image' else part['text'] }}{% endfor %}{{ ' ' }}{% endfor %}"
    "{% if add_generation_prompt %}{{ 'assistant : ' }}{% endif %}"
)
ASKED = "user assistant : Describe this picture in one sentence English. German. sentence."


def save_llava(folder: Path, words: str = WORDS) -> Path:
    """LLaVA, a chat model with a chat template."""
    import transformers as t

    tokenizer = _words(["<pad>", "<unk>", "<s>", "</s>", "<image>"], f"{ASKED} {words}", ends=("<s>", None), eos="</s>")
    tokenizer.add_special_tokens({"additional_special_tokens": ["<image>"]})
    config = t.LlavaConfig(
        text_config={**TALKER, "model_type": "llama", "vocab_size": len(tokenizer)},
        vision_config={**EYE, "model_type": "clip_vision_model", "projection_dim": 16, "initializer_range": SPREAD},
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
        vision_feature_layer=-1,
        **IDS,
    )
    eye = t.CLIPImageProcessorPil(size={"shortest_edge": SIDE}, crop_size={"height": SIDE, "width": SIDE})
    t.LlavaProcessor(
        eye,
        tokenizer,
        patch_size=16,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=TEMPLATE,
    ).save_pretrained(folder)
    return _saved(t.LlavaForConditionalGeneration, config, folder, suppress_tokens=_silent(tokenizer, words))


def save_idefics3(folder: Path, words: str = WORDS) -> Path:
    """Idefics3 (SmolVLM is alike), which sees large images in parts: its prompts are as long as these are many."""
    import transformers as t

    parts = [f"<row_{row}_col_{column}>" for row in range(1, 7) for column in range(1, 7)]
    marks = ["<pad>", "<unk>", "<s>", "</s>", "<fake_token_around_image>", "<image>", "<end_of_utterance>", "\n"]
    tokenizer = _words([*marks, "<global-img>", *parts], f"{ASKED} {words}", ends=("<s>", None), eos="</s>")
    tokenizer.add_tokens(["<global-img>", *parts], special_tokens=True)
    eye = t.Idefics3ImageProcessorPil(size={"longest_edge": 4 * SIDE}, max_image_size={"longest_edge": SIDE})
    processor = t.Idefics3Processor(eye, tokenizer, image_seq_len=4, chat_template=TEMPLATE)
    config = t.Idefics3Config(
        text_config={**TALKER, "model_type": "llama", "vocab_size": len(tokenizer)},
        vision_config={**SMALL, "image_size": SIDE, "patch_size": 8, "initializer_range": SPREAD},
        image_token_id=tokenizer.convert_tokens_to_ids("<image>"),
        scale_factor=2,
        **IDS,
    )
    processor.save_pretrained(folder)
    return _saved(t.Idefics3ForConditionalGeneration, config, folder, suppress_tokens=_silent(tokenizer, words))


def save_m2m_100(folder: Path, words: str = f"{WORDS} {GERMAN}") -> Path:
    """M2M-100 with all its hundred languages, and a SentencePiece model learned from `words`."""
    import json

    from transformers import M2M100Config, M2M100ForConditionalGeneration, M2M100Tokenizer

    pieces = _sentencepiece(folder, words)
    places = {mark: place for place, mark in enumerate(["<s>", "<pad>", "</s>", "<unk>"])}
    for piece in pieces:
        places.setdefault(piece, len(places))
    (folder / "vocab.json").write_text(json.dumps(places), encoding="utf-8")
    tokenizer = M2M100Tokenizer(str(folder / "vocab.json"), str(folder / "sentencepiece.bpe.model"))
    tokenizer.save_pretrained(folder)
    config = M2M100Config(**_translating(len(places) + 108))
    rare = [place for place in range(config.vocab_size) if place < 4 or place >= len(places)]
    return _saved(M2M100ForConditionalGeneration, config, folder, rare=rare)


def save_nllb(folder: Path, words: str = f"{WORDS} {GERMAN}") -> Path:
    """NLLB with all its 202 languages; every word is a token."""
    from transformers import M2M100Config, M2M100ForConditionalGeneration, NllbTokenizer

    letters = sorted({"▁", *words.replace(" ", "")})
    vocabulary = {mark: place for place, mark in enumerate(["<s>", "<pad>", "</s>", "<unk>", *letters])}
    merges: list[tuple[str, str]] = []
    for word in words.split():
        whole = "▁"
        for letter in word:
            if whole + letter not in vocabulary:
                vocabulary[whole + letter] = len(vocabulary)
                merges.append((whole, letter))
            whole += letter
    tokenizer = NllbTokenizer(vocab=vocabulary, merges=merges)
    tokenizer.save_pretrained(folder)
    spoken = {vocabulary["▁" + word] for word in words.split()}
    rare = [place for place in range(len(tokenizer)) if place not in spoken]
    return _saved(M2M100ForConditionalGeneration, M2M100Config(**_translating(len(tokenizer))), folder, rare=rare)


def save_mbart_50(folder: Path, words: str = f"{WORDS} {GERMAN}") -> Path:
    """mBART-50, whose tokenizer brings the codes of its languages."""
    from transformers import MBart50Tokenizer, MBartConfig, MBartForConditionalGeneration

    pieces = [*dict.fromkeys("▁" + word for word in words.split()), *sorted({"▁", *words.replace(" ", "")})]
    # As SentencePiece has them; the tokenizer puts its own in their place.
    vocabulary = [("<unk>", 0.0), ("<s>", 0.0), ("</s>", 0.0), *((piece, -(len(piece) ** -1.0)) for piece in pieces)]
    tokenizer = MBart50Tokenizer(vocab=vocabulary)
    tokenizer.save_pretrained(folder)
    spoken = {tokenizer.convert_tokens_to_ids("▁" + word) for word in words.split()}
    rare = [place for place in range(len(tokenizer)) if place not in spoken]
    return _saved(MBartForConditionalGeneration, MBartConfig(**_translating(len(tokenizer))), folder, rare=rare)


def save_marian(folder: Path, words: str = f"{WORDS} {GERMAN}", marks: str = ">>deu<< >>fra<<") -> Path:
    """MarianMT, told the language by a word before the text; without `marks`, it knows one language only."""
    import json

    from transformers import MarianConfig, MarianMTModel, MarianTokenizer

    pieces = _sentencepiece(folder, words)
    for name in ("source.spm", "target.spm"):
        shutil.copy(folder / "sentencepiece.bpe.model", folder / name)
    (folder / "sentencepiece.bpe.model").unlink()
    places = {piece: place for place, piece in enumerate(["</s>", "<unk>", *marks.split(), *pieces])}
    places["<pad>"] = len(places)
    (folder / "vocab.json").write_text(json.dumps(places), encoding="utf-8")
    MarianTokenizer(*(str(folder / name) for name in ("source.spm", "target.spm", "vocab.json"))).save_pretrained(
        folder
    )
    ids = {"pad_token_id": places["<pad>"], "decoder_start_token_id": places["<pad>"]}
    config = MarianConfig(**_translating(len(places)), **ids, eos_token_id=0, forced_eos_token_id=0)
    return _saved(MarianMTModel, config, folder, rare=[0, 1, places["<pad>"], *range(2, 2 + len(marks.split()))])


def save_t5(folder: Path, words: str = f"{WORDS} {GERMAN}") -> Path:
    """T5 as MADLAD-400 has it: told the language by a word before the text."""
    from transformers import T5Config, T5ForConditionalGeneration

    marks = ["<pad>", "</s>", "<unk>", "<2de>", "<2fr>"]
    tokenizer = _words(marks, words, ends=("", "</s>"), eos="</s>")
    tokenizer.save_pretrained(folder)
    config = T5Config(
        vocab_size=len(tokenizer),
        d_model=16,
        d_kv=8,
        d_ff=32,
        num_layers=2,
        num_heads=2,
        initializer_factor=SPREAD * 20,
        decoder_start_token_id=0,
        tie_word_embeddings=False,
    )
    return _saved(T5ForConditionalGeneration, config, folder, rare=range(5))


def _words(
    marks: list[str], words: str, *, ends: Any, extra_special_tokens: dict[str, str] | None = None, **named: str
) -> Any:
    """A tokenizer that knows whole words."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    places = {word: place for place, word in enumerate(dict.fromkeys([*marks, *words.split()]))}
    unknown = next(mark for mark in marks if "unk" in mark.lower())
    tokenizer = Tokenizer(models.WordLevel(places, unk_token=unknown))
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [pre_tokenizers.Split(" ", "removed"), pre_tokenizers.Split("\n", "isolated")]
    )
    if ends:
        around = " ".join([end or "" for end in (ends[0], "$A", ends[1])]).strip()
        special = [(end, places[end]) for end in ends if end]
        tokenizer.post_processor = processors.TemplateProcessing(single=around, special_tokens=special)
    given: dict[str, Any] = {f"{name}_token": mark for name, mark in named.items()}
    given.setdefault("pad_token", marks[0])
    if ends:
        if ends[0]:
            given.setdefault("bos_token", ends[0])
        if ends[1]:
            given.setdefault("eos_token", ends[1])
    if extra_special_tokens:
        given["extra_special_tokens"] = extra_special_tokens
    return PreTrainedTokenizerFast(tokenizer_object=tokenizer, unk_token=unknown, model_max_length=64, **given)


def _silent(tokenizer: Any, words: str = WORDS) -> list[int]:
    """All that is none of these words and not the end."""
    said = {*tokenizer.convert_tokens_to_ids(words.split()), 3}
    return [place for place in range(len(tokenizer)) if place not in said]


def _sentencepiece(folder: Path, words: str) -> list[str]:
    import sentencepiece

    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "sentencepiece.bpe.model"
    with path.open("wb") as file:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter([words]),
            model_writer=file,
            vocab_size=len(set(words.split())) + 3,
            model_type="word",
            minloglevel=2,
        )
    model = sentencepiece.SentencePieceProcessor(model_file=str(path))
    return [model.id_to_piece(place) for place in range(3, len(model))]


def _translating(vocabulary: int) -> dict[str, Any]:
    return {
        "vocab_size": vocabulary,
        "d_model": 16,
        **{f"{side}_{what}": 2 for side in ("encoder", "decoder") for what in ("layers", "attention_heads")},
        **{f"{side}_ffn_dim": 32 for side in ("encoder", "decoder")},
        "max_position_embeddings": 64,
        "init_std": SPREAD,
        "scale_embedding": True,
        # With one matrix for what is read and what is written, they would say one word again and again.
        "tie_word_embeddings": False,
    }


def _saved(kind: Any, config: Any, folder: Path, *, rare: Sequence[int] = (), **generation: Any) -> Path:
    """`rare`: tokens that are hardly ever said, such as those of languages."""
    import torch

    # Apart from the numbers that a test draws itself.
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        model = kind(config)
    with torch.no_grad():
        if rare:
            model.get_output_embeddings().weight[list(rare)] *= RARE
    model.generation_config.update(**generation)
    model.save_pretrained(folder)
    return folder
