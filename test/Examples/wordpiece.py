# ===- wordpiece.py - Sentences to the token ids of a BERT vocabulary --------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
#
# The uncased tokenizer of Devlin et al., arXiv:1810.04805, as far as alphabetic
# scripts need it: lower case, no accents, punctuation on its own, then the
# longest pieces from the left. CJK text is not split into its characters.
#
# ===------------------------------------------------------------------------===#

import string
import unicodedata
from pathlib import Path

# A longer word becomes [UNK] as a whole.
MAX_WORD_LENGTH = 100


def read_vocabulary(path: Path) -> dict[str, int]:
    """Token to id: its line in vocab.txt, from 0."""
    lines = path.read_text(encoding="utf-8").split("\n")
    return {token: number for number, token in enumerate(lines) if token}


def split_words(text: str) -> list[str]:
    """Lower-case words without accents; a punctuation character is a word."""
    text = unicodedata.normalize("NFD", text.lower())
    spaced = []
    for c in text:
        category = unicodedata.category(c)
        if category == "Mn":
            continue
        # ASCII symbols such as `$` and `^` count although Unicode disagrees.
        if c in string.punctuation or category.startswith("P"):
            c = f" {c} "
        spaced.append(c)
    return "".join(spaced).split()


def split_pieces(word: str, vocabulary: dict[str, int]) -> list[str]:
    """The longest known prefix, again and again; `##` marks a continuation."""
    if len(word) > MAX_WORD_LENGTH:
        return ["[UNK]"]
    pieces: list[str] = []
    start = 0
    while start < len(word):
        prefix = "##" if start else ""
        for end in range(len(word), start, -1):
            if prefix + word[start:end] in vocabulary:
                pieces.append(prefix + word[start:end])
                start = end
                break
        else:
            return ["[UNK]"]
    return pieces


def tokenize(text: str, vocabulary: dict[str, int]) -> list[str]:
    """The tokens of one sentence between [CLS] and [SEP]."""
    pieces = [p for word in split_words(text) for p in split_pieces(word, vocabulary)]
    return ["[CLS]", *pieces, "[SEP]"]
