# ===- wordpiece_test.py - The tokenizer against ids found by hand -----------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
#
#   wordpiece_test.py [VOCAB]
#
# Without the model's vocabulary only the tests on a small one of our own run.
# The model's ids below are line numbers of its vocab.txt, less one, read off
# with grep and not with the code under test.
#
# ===------------------------------------------------------------------------===#

import sys
import unittest
from pathlib import Path

from wordpiece import read_vocabulary, split_pieces, split_words, tokenize

SMALL = {token: number for number, token in
         enumerate("[UNK] [CLS] [SEP] un una ##a ##ff ##able ##ffable , !".split())}
VOCAB = Path(sys.argv.pop()) if len(sys.argv) > 1 else None


class SmallVocabulary(unittest.TestCase):
    def test_words(self):
        self.assertEqual(split_words(" Hello,\tWORLD!\n"), ["hello", ",", "world", "!"])
        self.assertEqual(split_words("Naïve Café"), ["naive", "cafe"])
        self.assertEqual(split_words("didn't 3.5$ «a—b»"),
                         ["didn", "'", "t", "3", ".", "5", "$", "«", "a", "—", "b", "»"])
        self.assertEqual(split_words(""), [])

    def test_longest_match_from_the_left(self):
        self.assertEqual(split_pieces("unaffable", SMALL), ["una", "##ffable"])
        self.assertEqual(split_pieces("unaa", SMALL), ["una", "##a"])

    def test_unknown(self):
        # A piece that is missing makes the whole word unknown: no backtracking.
        self.assertEqual(split_pieces("unable", SMALL), ["[UNK]"])
        self.assertEqual(split_pieces("x", SMALL), ["[UNK]"])
        self.assertEqual(split_pieces("un" + 99 * "a", SMALL), ["[UNK]"])
        self.assertEqual(split_pieces("un" + 98 * "a", SMALL), ["una"] + 97 * ["##a"])

    def test_sentence(self):
        self.assertEqual(tokenize("Un, unaffable!", SMALL),
                         ["[CLS]", "un", ",", "una", "##ffable", "!", "[SEP]"])
        self.assertEqual(tokenize("", SMALL), ["[CLS]", "[SEP]"])


@unittest.skipIf(VOCAB is None, "no vocabulary given")
class ModelVocabulary(unittest.TestCase):
    def ids(self, text):
        vocabulary = read_vocabulary(VOCAB)
        return [vocabulary[token] for token in tokenize(text, vocabulary)]

    def test_size(self):
        self.assertEqual(len(read_vocabulary(VOCAB)), 30522)

    def test_known_sentence(self):
        # [CLS] hello , world ! [SEP]
        self.assertEqual(self.ids("Hello, World!"), [101, 7592, 1010, 2088, 999, 102])

    def test_pieces(self):
        # [CLS] una ##ffa ##ble em ##bed ##ding ##s [SEP]
        self.assertEqual(self.ids("unaffable embeddings"),
                         [101, 14477, 20961, 3468, 7861, 8270, 4667, 2015, 102])

    def test_accents_numbers_and_rare_words(self):
        # [CLS] naive cafe , 3 . 14 % of munchen ; z ##y ##zzy ##va . [SEP]
        self.assertEqual(self.ids("Naïve café, 3.14% of München; zyzzyva."),
                         [101, 15743, 7668, 1010, 1017, 1012, 2403, 1003, 1997, 25802,
                          1025, 1062, 2100, 28753, 3567, 1012, 102])


if __name__ == "__main__":
    unittest.main()
