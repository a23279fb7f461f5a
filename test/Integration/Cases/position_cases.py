# ===- position_cases.py - Reported faults: positions ------------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
#
# As cases.py.
#
# ===------------------------------------------------------------------------===#

import math

from arrays import Array, full, pattern
from graphs import attention, case, qkv
from run_case import Failure, expect

# ===- Rotary embeddings ------------------------------------------------------===#


def rope(shape, layout, dim, offset, name="%x"):
    t = f"tensor<{'x'.join(map(str, shape))}xf32>"
    return f"attn.rope {name} {layout} rotary_dim {dim} base 1.0e4 offset({offset}) : {t}", t


@case
def P03_rope_layouts(r):
    """Interleaved pairs and half pairs, never a mixture."""
    x = Array([1, 1, 1, 4], [1.0, 2.0, 3.0, 4.0])
    for layout, expected in (("half", [-1.984110649, 1.959900667, 2.462377902, 4.019799668]),
                             ("interleaved", [-1.142639664, 1.922075597, 2.959850668, 4.029799502])):
        op, t = rope(x.shape, layout, 4, "%n")
        graph = (f"func.func @f(%x: {t}, %n: index) -> {t} {{\n  %y = {op}\n  return %y : {t}\n}}\n")
        r.on_all(graph, [x, 1], lambda y: expect(y, expected, 1e-6))


@case
def P05_rope_with_a_cache(r):
    """A decoded row is that of the prefill: positions count from the past."""
    q, k, v = qkv(1, 1, 1, 5, 5, 8)
    row = [0.6589313189, 0.1233557216, 0.266995394, 0.1064197967,
           0.6250594691, 0.4766908855, -0.6556889047, 0.1458062028]

    def graph(rows):
        t, tk = f"tensor<1x1x{rows}x8xf32>", "tensor<1x1x5x8xf32>"
        s = f"tensor<1x1x{rows}x5xf32>"
        return f"""func.func @f(%q: {t}, %k: {tk}, %v: {tk}, %n: index) -> {t} {{
  %zero = arith.constant 0 : index
  %rq = {rope([1, 1, rows, 8], 'half', 8, '%n', '%q')[0]}
  %rk = {rope([1, 1, 5, 8], 'half', 8, '%zero', '%k')[0]}
  %s = attn.qk %rq, %rk : {t}, {tk} -> {s}
  %t = attn.scale %s by 0.3535533905932738 : {s}
  %p = attn.masked_softmax %t causal(offset %n : index) : {s}
  %o = attn.weighted_sum %p, %v : {s}, {tk} -> {t}
  return %o : {t}
}}
"""

    r.on_all(graph(5), [q, k, v, 0], lambda o: expect(Array([8], o.values[32:]), row))
    last = Array([1, 1, 1, 8], q.values[32:])
    r.on_all(graph(1), [last, k, v, 4], lambda o: expect(o, row))


@case
def P08_rope_axes(r):
    """Heads are axis 1 and positions axis 2, also where there are as many."""
    x = pattern(0, [1, 2, 2, 4])
    op, t = rope(x.shape, "half", 4, "%n")
    r.on_all(f"func.func @f(%x: {t}, %n: index) -> {t} {{\n  %y = {op}\n  return %y : {t}\n}}\n",
             [x, 0],
             lambda y: expect(y, [
                 [-1.15625, 0.09375, -1.5, 0.125],
                 [-0.6435475836, 0.9121420889, -0.8865899955, -0.5846579638],
                 [-1.0625, -1.34375, -1.4375, -1.34375],
                 [-0.6266631365, -0.6027826617, -0.8602940272, 0.9002672868]], 1e-6))


# ===- Biases and tables ------------------------------------------------------===#


def alibi_slopes(heads):
    """As text of a tensor [heads], and in f64: powers of two by steps of 8/P for the
    largest power of two P, then every second one of the next set."""
    p = 1 << (heads.bit_length() - 1)
    t = f"tensor<{heads}xf32>"
    slopes = [2 ** (-8 * (h + 1) / p if h < p else -4 * (2 * (h - p) + 1) / p)
              for h in range(heads)]
    return f"""%slopes = tensor.generate {{
  ^bb0(%h: index):
    %p = arith.constant {p} : index
    %hi = arith.index_cast %h : index to i32
    %hf = arith.sitofp %hi : i32 to f32
    %isFirst = arith.cmpi slt, %h, %p : index
    %step = arith.constant {-8 / p} : f32
    %first = arith.constant {-8 / p} : f32
    %second = arith.constant {8 - 4 / p} : f32
    %start = arith.select %isFirst, %first, %second : f32
    %e0 = arith.mulf %hf, %step : f32
    %e = arith.addf %e0, %start : f32
    %slope = math.exp2 %e : f32
    tensor.yield %slope : f32
  }} : {t}""", slopes


@case
def P01_alibi_slopes(r):
    """Slopes of any number of heads, and the weights that they make."""
    known = {1: [0.00390625], 2: [0.0625, 0.00390625],
             6: [0.25, 0.0625, 0.015625, 0.00390625, 0.5, 0.125],
             12: [0.5, 0.25, 0.125, 0.0625, 0.03125, 0.015625, 0.0078125, 0.00390625,
                  0.7071067812, 0.3535533906, 0.1767766953, 0.08838834765]}
    for heads in (1, 2, 3, 6, 7, 8, 12, 40):
        text, slopes = alibi_slopes(heads)
        for h, slope in enumerate(known.get(heads, [])):
            assert abs(slopes[h] - slope) < 1e-9
        t = f"tensor<{heads}xf32>"
        graph = f"func.func @f() -> {t} {{\n  {text}\n  return %slopes : {t}\n}}\n"

        def verify_slopes(got):
            expect(Array([heads], [x / y for x, y in zip(got.values, slopes)]), 1.0, 2e-7)

        r.on_all(graph, [], verify_slopes)
        rows, keys = 5, 70
        q, k = full([1, heads, rows, 4], 0.0), full([1, heads, keys, 4], 0.0)
        v = Array([1, heads, keys, 1], [float(j) for j in range(keys)] * heads)
        # The query counts from the past: row i is at keys - rows + i.
        expected = []
        for slope in slopes:
            for i in range(rows):
                last = keys - rows + i
                weights = [math.exp(slope * (j - last)) for j in range(last + 1)]
                expected.append(math.fsum(j * w for j, w in enumerate(weights)) /
                                math.fsum(weights))
        graph = attention(q, k, v, scores=f"""{text}
  %past = arith.constant {keys - rows} : index
  %s = attn.score_map %t0 : S {{
  ^bb0(%score: f32, %b: index, %h: index, %i: index, %j: index):
    %row = arith.addi %i, %past : index
    %d = arith.subi %j, %row : index
    %di = arith.index_cast %d : index to i32
    %df = arith.sitofp %di : i32 to f32
    %m = tensor.extract %slopes[%h] : {t}
    %bias = arith.mulf %m, %df : f32
    %x = arith.addf %score, %bias : f32
    attn.yield %x : f32
  }}""", mask="causal(bottom_right)")
        r.on_all(graph, [q, k, v], lambda o: expect(o, expected, 1e-4))


@case
def P06_sinusoidal_of_odd_width(r):
    """An odd number of columns ends with a sine; a cache's rows go on counting."""
    known = [0.0, 1.0, 0.0, 1.0, 0.0,
             0.8414709848, 0.5403023059, 0.02511622291, 0.9996845379, 0.0006309573026,
             0.9092974268, -0.4161468365, 0.05021659939, 0.9987383507, 0.001261914354]
    r.on_all("func.func @f() -> tensor<3x5xf32> {\n  %t = attn.sinusoidal : tensor<3x5xf32>\n"
             "  return %t : tensor<3x5xf32>\n}\n", [], lambda t: expect(t, known, 1e-6))
    for d in (1, 2, 7, 16, 33):
        for dtype, tolerance in (("f32", 1e-6), ("f16", 5e-4), ("bf16", 4e-3)):
            t = f"tensor<?x{d}x{dtype}>"
            graph = (f"func.func @f(%n: index, %past: index) -> {t} {{\n"
                     f"  %t = attn.sinusoidal rows(%n) offset(%past) : {t}\n"
                     f"  return %t : {t}\n}}\n")
            for rows, past in ((3, 0), (1, 99), (20, 4000), (4, -2)):
                expected = []
                for p in range(past, past + rows):
                    for c in range(d):
                        angle = p / 10000 ** (c // 2 * 2 / d)
                        expected.append(math.cos(angle) if c % 2 else math.sin(angle))
                for target in r.targets if rows == 20 else ["native"]:
                    expect(r.run(graph, [rows, past], target=target)[0], expected, tolerance)
    t = "tensor<?x5xf32>"
    r.rejects(f"func.func @f(%n: index) -> {t} {{\n  %t = attn.sinusoidal rows(%n) : {t}\n"
              f"  return %t : {t}\n}}\n", [-1], "attn.sinusoidal is -1")


def t5_bucket(relative, both_ways, buckets=32, largest=128):
    """The bucket of key - query, by integers alone, and its thresholds."""
    n = buckets // 2 if both_ways else buckets
    exact, m = n // 2, n - n // 2
    # Bucket exact + k begins where a = exact * (largest / exact)^(k / m).
    thresholds = [next(a for a in range(exact, largest + 1)
                       if a**m * exact**k >= exact**m * largest**k) for k in range(1, m)]
    distance = abs(relative) if both_ways else max(-relative, 0)
    bucket = min(distance, exact) + sum(distance >= t for t in thresholds)
    return bucket + (n if both_ways and relative > 0 else 0), exact, thresholds


def t5_program(both_ways, heads):
    """`scores` of `attention`: a table of biases, read by buckets."""
    _, exact, thresholds = t5_bucket(0, both_ways)
    count = "\n".join(f"""    %n{k} = arith.constant {t} : i32
    %p{k} = arith.cmpi sge, %a, %n{k} : i32
    %e{k} = arith.extui %p{k} : i1 to i32
    %s{k + 1} = arith.addi %s{k}, %e{k} : i32""" for k, t in enumerate(thresholds))
    last = f"%s{len(thresholds)}"
    side = f"""    %n = arith.constant 16 : i32
    %isAfter = arith.cmpi sgt, %d, %zero : i32
    %after = arith.select %isAfter, %n, %zero : i32
    %sum = arith.addi {last}, %after : i32""" if both_ways else f"""    %sum = arith.addi {last}, %zero : i32"""
    return f"""%s = attn.score_map %t0 : S {{
  ^bb0(%score: f32, %b: index, %h: index, %i: index, %j: index):
    %zero = arith.constant 0 : i32
    %row = arith.addi %i, %past : index
    %dx = arith.subi %j, %row : index
    %d = arith.index_cast %dx : index to i32
    %back = arith.subi %zero, %d : i32
    %a = arith.maxsi %back, {'%d' if both_ways else '%zero'} : i32
    %exact = arith.constant {exact} : i32
    %s0 = arith.minsi %a, %exact : i32
{count}
{side}
    %bucket = arith.index_cast %sum : i32 to index
    %bias = tensor.extract %table[%bucket, %h] : tensor<32x{heads}xf32>
    %x = arith.addf %score, %bias : f32
    attn.yield %x : f32
  }}"""


@case
def P07_t5_buckets(r):
    """T5's buckets of distances are exact, and its bias is added to unscaled
    scores; the query counts from the past."""
    relative = [-200, -129, -128, -127, -64, -16, -9, -8, -7, -1, 0, 1, 7, 8, 16, 64, 127, 128, 200]
    known = {True: [15, 15, 15, 15, 14, 10, 8, 8, 7, 1, 0, 17, 23, 24, 26, 30, 31, 31, 31],
             False: [31, 31, 31, 31, 26, 16, 9, 8, 7, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0]}
    for both_ways, buckets in known.items():
        if [t5_bucket(d, both_ways)[0] for d in relative] != buckets:
            raise Failure("the formula by integers is wrong")
        for heads, rows, keys, past in ((1, 3, 450, 200), (2, 33, 90, 0), (4, 1, 300, 299)):
            q = pattern(0, [1, heads, rows, 8])
            k = pattern(1, [1, heads, keys, 8])
            v = Array([1, heads, keys, 1], [float(j % 13) for j in range(keys)] * heads)
            table = pattern(4, [32, heads])
            extra = [("table", f"tensor<32x{heads}xf32>"), ("past", "index")]
            graph = attention(q, k, v, scale=1, scores=t5_program(both_ways, heads), extra=extra)
            expected = []
            queries, cells = q.rows(), k.rows()
            for h in range(heads):
                for i in range(rows):
                    scores = []
                    for j in range(keys):
                        bucket = t5_bucket(j - i - past, both_ways)[0]
                        dot = sum(x * y for x, y in zip(queries[h * rows + i], cells[h * keys + j]))
                        scores.append(dot + table.values[bucket * heads + h])
                    top = max(scores)
                    weights = [math.exp(x - top) for x in scores]
                    expected.append(math.fsum(w * (j % 13) for j, w in enumerate(weights)) /
                                    math.fsum(weights))
            r.on_all(graph, [q, k, v, table, past], lambda o: expect(o, expected, 5e-5))
