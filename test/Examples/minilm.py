# ===- minilm.py - Inputs and expected results of minilm-attention.mlir ------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
#
#   minilm.py prepare MODEL FOLDER   writes FOLDER/{hidden,lengths,expected,
#                                    expected-weights}.npy and tokens.json from
#                                    the model's folder
#   minilm.py compare FOLDER         reads {block,weights}.{npy,json}, as
#                                    attn-run left them there, prints errors,
#                                    times and the weights of one head; exits
#                                    with 3 when a result is off
#
# The expected results are computed here in f64, by the textbook and not by the
# compiler's rules, from the f32 weights and the f32 hidden states that attn-run
# reads.
#
# ===------------------------------------------------------------------------===#

import json
import sys
from pathlib import Path

import numpy as np

from wordpiece import read_vocabulary, tokenize

SENTENCES = [
    "The animal didn't cross the street because it was too tired.",
    "Attention is all you need.",
    "Paris is the capital of France, and Berlin is the capital of Germany.",
]
# The one that @attention_weights returns: here `it` looks at `animal` and `street`.
HEAD = 6
# Allowed absolute error, relative to the largest expected magnitude: that of f32
# attention in include/attn/Reference/Tolerance.h.
TOLERANCE = 4e-6
SHADES = " .:-=+*#%@"


def read_safetensors(path: Path) -> dict[str, np.ndarray]:
    """The f32 tensors of a file by name, mapped and not copied."""
    size = int(np.fromfile(path, "<u8", count=1)[0])
    with open(path, "rb") as file:
        file.seek(8)
        header = json.loads(file.read(size))
    data = np.memmap(path, np.uint8, mode="r", offset=8 + size)
    return {name: data[slice(*entry["data_offsets"])].view("<f4").reshape(entry["shape"])
            for name, entry in header.items()
            if name != "__metadata__" and entry["dtype"] == "F32"}


def embed(weights: dict[str, np.ndarray], ids: np.ndarray, eps: float) -> np.ndarray:
    """Hidden states [B, S, 384] before the first layer, from token ids [B, S]."""
    table = {name: weights[f"embeddings.{name}_embeddings.weight"].astype(np.float64)
             for name in ("word", "position", "token_type")}
    x = table["word"][ids] + table["position"][:ids.shape[1]] + table["token_type"][0]
    x = (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + eps)
    return x * weights["embeddings.LayerNorm.weight"] + weights["embeddings.LayerNorm.bias"]


def attend(weights: dict[str, np.ndarray], x: np.ndarray, lengths: np.ndarray,
           heads: int) -> tuple[np.ndarray, np.ndarray]:
    """The block's result [B, S, 384] and its attention weights [B, H, S, S]."""
    def linear(name: str, value: np.ndarray) -> np.ndarray:
        layer = f"encoder.layer.0.attention.{name}"
        return value @ weights[f"{layer}.weight"].astype(np.float64).T + weights[f"{layer}.bias"]

    def split(value: np.ndarray) -> np.ndarray:
        return value.reshape(*value.shape[:2], heads, -1).swapaxes(1, 2)

    x = x.astype(np.float64)
    q, k, v = (split(linear(f"self.{name}", x)) for name in ("query", "key", "value"))
    scores = q @ k.swapaxes(2, 3) / np.sqrt(q.shape[-1])
    scores[np.broadcast_to(np.arange(x.shape[1]) >= lengths[:, None, None, None], scores.shape)] = -np.inf
    p = np.exp(scores - scores.max(-1, keepdims=True))
    p /= p.sum(-1, keepdims=True)
    return linear("output.dense", (p @ v).swapaxes(1, 2).reshape(x.shape)), p


def prepare(model: Path, folder: Path) -> None:
    config = json.loads((model / "config.json").read_text())
    vocabulary = read_vocabulary(model / "vocab.txt")
    weights = read_safetensors(model / "model.safetensors")
    tokens = [tokenize(sentence, vocabulary) for sentence in SENTENCES]
    lengths = np.array([len(row) for row in tokens], np.int32)
    ids = np.full((len(tokens), lengths.max()), config["pad_token_id"])
    for row, sentence in zip(ids, tokens):
        row[:len(sentence)] = [vocabulary[token] for token in sentence]
    hidden = embed(weights, ids, config["layer_norm_eps"]).astype(np.float32)
    block, p = attend(weights, hidden, lengths, config["num_attention_heads"])
    np.save(folder / "hidden.npy", hidden)
    np.save(folder / "lengths.npy", lengths)
    np.save(folder / "expected.npy", block)
    np.save(folder / "expected-weights.npy", p[:, HEAD])
    (folder / "tokens.json").write_text(json.dumps(tokens))
    print(f"minilm: batch of {len(tokens)} sentences, {', '.join(map(str, lengths))} tokens, "
          f"padded to {ids.shape[1]}")


def compare_result(name: str, got: np.ndarray, expected: np.ndarray, lengths: np.ndarray) -> bool:
    """Prints the error of the rows that are not padding; false when it is too large."""
    if got.shape != expected.shape or got.dtype != np.float32:
        print(f"{name}: expected f32 {expected.shape}, got {got.dtype} {got.shape}")
        return False
    valid = np.arange(got.shape[1]) < lengths[:, None]
    got, expected = got[valid].astype(np.float64), expected[valid]
    error = np.abs(got - expected)
    bound = TOLERANCE * np.abs(expected).max()
    # Relative error means nothing where the exact result is next to nothing.
    large = np.abs(expected) > 1e-3 * np.abs(expected).max()
    relative = (error[large] / np.abs(expected[large])).max()
    # Written so that a NaN fails.
    passed = bool(error.max() <= bound)
    print(f"{name}: {'agrees with' if passed else 'DIFFERS from'} numpy f64: max abs error "
          f"{error.max():.2e} (allowed {bound:.2e}), max rel error {relative:.2e}")
    return passed


def block_flops(hidden: np.ndarray, lengths: np.ndarray) -> int:
    """Multiplications and additions of the four projections (padding included)
    and of the visible pairs."""
    batch, rows, width = hidden.shape
    return 4 * 2 * batch * rows * width * width + 2 * 2 * rows * width * int(lengths.sum())


def show_heatmap(tokens: list[str], p: np.ndarray) -> None:
    """Rows are queries, columns keys in the same order; darker is more."""
    width = max(map(len, tokens))
    top = p.max()
    print(f"attention weights of head {HEAD} ('{SHADES[-1]}' is {top:.2f}); column n is the token of row n")
    print(" " * (width + 4) + "".join(f"{n:>3}" for n in range(len(tokens))))
    for n, (token, row) in enumerate(zip(tokens, p)):
        shades = (SHADES[min(int(w / top * len(SHADES)), len(SHADES) - 1)] for w in row)
        print(f"{n:>3} {token:>{width}}" + "".join(f" {s}{s}" for s in shades))


def compare(folder: Path) -> bool:
    hidden, lengths, expected, expected_weights, block, weights = (
        np.load(folder / f"{name}.npy")
        for name in ("hidden", "lengths", "expected", "expected-weights", "block", "weights"))
    report = json.loads((folder / "block.json").read_text())
    passed = [compare_result("attention_block", block, expected, lengths),
              compare_result("attention_weights", weights, expected_weights, lengths)]
    print()
    show_heatmap(json.loads((folder / "tokens.json").read_text())[0],
                 weights[0, :lengths[0], :lengths[0]])
    gflops = block_flops(hidden, lengths) / (report["min_ms"] * 1e6)
    print(f"\nattention_block: min {report['min_ms']:.3f} ms, median {report['median_ms']:.3f} ms, "
          f"{gflops:.1f} GFLOP/s on {report['threads']} threads, compiled in {report['compile_ms']:.0f} ms")
    return all(passed)


def main(arguments: list[str]) -> int:
    paths = list(map(Path, arguments[1:]))
    if arguments[:1] == ["prepare"] and len(paths) == 2:
        prepare(*paths)
        return 0
    if arguments[:1] == ["compare"] and len(paths) == 1:
        return 0 if compare(*paths) else 3
    print("usage: minilm.py prepare MODEL FOLDER | compare FOLDER", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
