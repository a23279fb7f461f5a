# ===- shape_cases.py - Reported faults: shapes, lowering --------------------===#
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
from graphs import INF, attention, booleans, case, column, fused, logits, qkv, zeros
from run_case import Failure, close, expect, expect_digest

# ===- Shapes -----------------------------------------------------------------===#


@case
def S02_other_value_dims(r):
    """Value heads of other dims than query heads, with a mask that is broadcast."""
    digests = {(128, 64): (12.21438888, 7.608855334, -0.02807429373, 0.5384747593),
               (192, 128): (38.7914753, 21.74695668, -0.624381816, -0.5115375016),
               (576, 512): (-34.36023004, -13.45433725, 0.07877570423, 0.5102920516),
               (64, 128): (28.24452698, 15.91830913, -0.3547109826, -0.1578732673)}
    for (d, dv), digest in digests.items():
        q, k, v = qkv(2, 4, 1, 3, 5, d, dv)
        graph = attention(q, k, v, mask="mask(%m : tensor<1x1x3x5xi1>)",
                          extra=[("m", "tensor<1x1x3x5xi1>")])
        r.on_all(graph, [q, k, v, booleans([1, 1, 3, 5], [1] * 15)],
                 lambda o: expect_digest(o, *digest))


@case
def S03_lengths(r):
    """Lengths at and around vectors and tiles, by one artifact for all."""
    digests = {
        1: (3.84375, 2.084821429, 0.65625, -0.71875, 3.84375, 2.084821429, 0.65625),
        2: (5.191414458, -0.04636463121, 0.7022987224, 0.5531976825,
            8.422753225, 4.847656401, 0.65625),
        15: (18.87601924, 9.049957254, 0.2429002405, 0.3477286998,
             38.20808505, 21.59559818, 0.65625),
        16: (9.66755715, 4.089092113, 0.2765027772, -0.4635193585,
             47.80939068, 26.7373876, 0.65625),
        17: (11.5355355, 4.784742946, 0.2731058504, -0.01562250921,
             36.77532213, 21.9695827, 0.65625),
        31: (7.61581324, 0.3506246268, 0.1679502825, 0.0543338117,
             22.71623713, 11.998554, 0.65625),
        33: (15.0114822, 4.567740074, 0.1135925363, -0.0455674584,
             49.64629819, 26.34391338, 0.65625),
        63: (-9.587201893, -10.346222, 0.04214175125, -0.0704835498,
             22.35677321, 10.29916148, 0.65625),
        64: (-13.07130434, -12.31156486, 0.02915403769, -0.1008261572,
             13.31464726, 4.853188927, 0.65625),
        65: (-11.51397357, -12.42525029, 0.04550589801, -0.2549759918,
             20.669203, 7.960472285, 0.65625),
        127: (-21.48415807, -14.35698826, 0.04903449374, -0.03130085361,
              50.22968123, 26.87364142, 0.65625),
        129: (-33.34943256, -21.95181803, 0.04708231062, -0.03858213375,
              21.25595526, 9.639440111, 0.65625)}
    for s, (fs, fw, ff, last, cs, cw, cf) in digests.items():
        q, k, v = qkv(1, 2, 2, s, s, 16)
        for dynamic in ((False, True) if s in (1, 17, 65) else (True,)):
            r.on_all(attention(q, k, v, dynamic=dynamic), [q, k, v],
                     lambda o: expect_digest(o, fs, fw, ff, last), check=False)
            r.on_all(attention(q, k, v, dynamic=dynamic, mask="causal(top_left)"), [q, k, v],
                     lambda o: expect_digest(o, cs, cw, cf, last), check=False)


@case
def S05_empty_extents(r):
    """No batch element or no query gives an empty result, no key gives zeros, no
    head or feature is an error."""
    for b, sq, skv in ((0, 16, 8), (2, 0, 8), (2, 3, 0)):
        q, k, v = full([b, 4, sq, 16], 1.0), full([b, 4, skv, 16], 1.0), full([b, 4, skv, 16], 1.0)
        for dynamic in (False, True):
            for mask in ("", "causal(bottom_right)", "window[2, 2](top_left)"):
                r.on_all(attention(q, k, v, dynamic=dynamic, mask=mask), [q, k, v],
                         lambda o: expect(o, 0.0, 0))
    q = full([2, 4, 8, 16], 1.0)
    none = Array([2, 0, 8, 16], [])
    r.rejects(attention(q, none, none), [q, none, none], "head count of key, 0")
    q, k, v = Array([1, 1, 2, 0], []), Array([1, 1, 3, 0], []), full([1, 1, 3, 4], 1.0)
    r.rejects(attention(q, k, v, scale=1), [q, k, v], "head dim")


@case
def S06_grouped_heads(r):
    """Query head h reads key head h / (Hq / Hkv)."""
    q, k = pattern(0, [1, 4, 2, 4]), pattern(1, [1, 2, 3, 4])
    v = Array([1, 2, 3, 1], [1.0] * 3 + [2.0] * 3)
    r.on_all(attention(q, k, v), [q, k, v], lambda o: expect(o, [1, 1, 1, 1, 2, 2, 2, 2]))
    q, k, v = qkv(1, 6, 2, 2, 3, 4)
    r.on_all(attention(q, k, v), [q, k, v],
             lambda o: expect_digest(o, 0.9558771638, -0.4271945849, 0.6998126321, -0.74549948))
    # Head counts that only the call knows, other ones for keys than for values.
    q, k = pattern(0, [1, 4, 2, 4]), pattern(1, [1, 2, 3, 4])
    v = Array([1, 4, 3, 1], [float(1 + n // 3) for n in range(12)])
    graph = """func.func @f(%q: tensor<?x?x?x4xf32>, %k: tensor<?x?x?x4xf32>, %v: tensor<?x?x?x1xf32>) -> tensor<?x?x?x1xf32> {
  %s = attn.qk %q, %k : tensor<?x?x?x4xf32>, tensor<?x?x?x4xf32> -> tensor<?x?x?x?xf32>
  %p = attn.masked_softmax %s : tensor<?x?x?x?xf32>
  %o = attn.weighted_sum %p, %v : tensor<?x?x?x?xf32>, tensor<?x?x?x1xf32> -> tensor<?x?x?x1xf32>
  return %o : tensor<?x?x?x1xf32>
}
"""
    r.on_all(graph, [q, k, v], lambda o: expect(o, [1, 1, 2, 2, 3, 3, 4, 4]))


@case
def S07_extents_that_disagree(r):
    """Extents that disagree are refused, with both values, before memory is read."""
    def dynamic(q, k, v, extra=(), mask=""):
        text = attention(q, k, v, extra=extra, mask=mask)
        return text

    q, k, v = full([1, 6, 2, 4], 1.0), full([1, 4, 3, 4], 1.0), full([1, 4, 3, 4], 1.0)
    r.rejects(attention(q, k, v), [q, k, v], "6", "4")
    q, k, v = full([1, 1, 2, 4], 1.0), full([1, 1, 3, 4], 1.0), full([1, 1, 4, 4], 1.0)
    r.rejects(attention(q, k, v), [q, k, v], "3", "4")
    r.rejects(attention(q, k, v, dynamic=True).replace("3x4", "?x4"), [q, k, v], "3", "4")
    q, k, v = full([1, 1, 2, 4], 1.0), full([1, 1, 3, 4], 1.0), full([1, 1, 3, 4], 1.0)
    mask = booleans([2, 5], [1] * 10)
    for t in ("tensor<2x5xi1>", "tensor<?x?xi1>"):
        r.rejects(attention(q, k, v, dynamic="?" in t, mask=f"mask(%m : {t})", extra=[("m", t)]),
                  [q, k, v, mask], "mask", "5", "3")
    k = full([1, 1, 3, 5], 1.0)
    r.rejects(attention(q, k, v), [q, k, v], "4", "5")


@case
def S09_split_then_transpose(r):
    """[B, S, H*D] is reshaped to heads and then transposed, on the way in and out."""
    q, k, v = pattern(0, [2, 3, 8]), pattern(1, [2, 3, 8]), pattern(2, [2, 3, 6])
    expected = [[0.1784267991, 0.3617708001, -0.08191566852, 0.006997637729, 0.5112232957, 0.0017071645],
                [-0.7197925421, 0.9389883843, 0.4776693566, -0.5463957226, 0.6720991055, -0.5417799969],
                [0.1777313125, 0.3634806994, -0.08222332284, 0.01826837366, 0.5084879117, 0.009086773976],
                [0.790355076, -0.169495913, 0.227532681, 0.8217203938, -0.392421106, 1.231153362],
                [1.105039303, -0.7159156098, 0.3575854714, 0.3711546757, 0.02925524906, 1.013182985],
                [0.7037393096, -0.3499744038, 0.3077968457, 0.283291999, -0.001069923288, 0.9941709211]]
    for b, s in ((2, 3), ("?", "?")):
        t = lambda *dims: "tensor<" + "x".join(str(d) for d in dims) + "xf32>"
        heads, values, scores = t(b, 2, s, 4), t(b, 2, s, 3), t(b, 2, s, s)
        graph = f"""func.func @f(%x: {t(b, s, 8)}, %y: {t(b, s, 8)}, %z: {t(b, s, 6)}) -> {t(b, s, 6)} {{
  %q = attn.split_heads %x {{num_heads = 2}} : {t(b, s, 8)} -> {heads}
  %k = attn.split_heads %y {{num_heads = 2}} : {t(b, s, 8)} -> {heads}
  %v = attn.split_heads %z {{num_heads = 2}} : {t(b, s, 6)} -> {values}
  %s = attn.qk %q, %k : {heads}, {heads} -> {scores}
  %t = attn.scale %s by 0.5 : {scores}
  %p = attn.masked_softmax %t : {scores}
  %o = attn.weighted_sum %p, %v : {scores}, {values} -> {values}
  %r = attn.merge_heads %o : {values} -> {t(b, s, 6)}
  return %r : {t(b, s, 6)}
}}
"""
        r.on_all(graph, [q, k, v], lambda o: expect(o, expected))


# ===- Log-sum-exp ------------------------------------------------------------===#


@case
def L01_natural_logarithm(r):
    """The log-sum-exp is natural and includes the scale."""
    q, k, v = logits([0.0, math.log(3)], [1.0, 1.0])

    def verify(o, lse):
        expect(lse, 1.386294361, 1e-6)

    r.on_all(fused(q, k, v, scale=1), [q, k, v], verify, results=2)
    q.values[0] = 4.0
    r.on_all(fused(q, k, v, scale=0.25), [q, k, v], verify, results=2)


@case
def L02_empty_rows(r):
    """The log-sum-exp of a row without keys is -inf."""
    q, k, v = full([1, 1, 4, 4], 1.0), full([1, 1, 2, 4], 1.0), full([1, 1, 2, 4], 1.0)

    def verify(o, lse):
        expect(o, [0.0] * 8 + [1.0] * 8)
        expect(lse, [-INF, -INF, 2.0, 2.0 + math.log(2)])

    r.on_all(fused(q, k, v, scale=0.5, mask="""
      %two = arith.constant 2 : index
      %x = arith.subi %i, %two : index
      %visible = arith.cmpi sle, %j, %x : index"""), [q, k, v], verify, results=2)

    def verify_all(o, lse):
        expect(o, 0.0, 0)
        expect(lse, -INF)

    k = v = Array([1, 1, 0, 4], [])
    r.on_all(fused(q, k, v, scale=0.5), [q, k, v], verify_all, results=2)


@case
def L04_sinks(r):
    """A sink is one more logit, in the denominator alone, once, and unscaled."""
    sinks = {0.0: (3.0, 1.098612289), 100.0: (3.348068378e-43, 100.0),
             -1e30: (4.5, 0.6931471806)}
    for logit, (mean, total) in sinks.items():
        q, k, v = full([1, 1, 1, 4], 0.0), full([1, 1, 2, 4], 0.0), column([3.0, 6.0])
        sink = Array([1], [logit])

        def verify(o, lse):
            expect(o, mean)
            expect(lse, total)

        clause, extra = "sink(%s0 : tensor<1xf32>)", [("s0", "tensor<1xf32>")]
        r.on_all(fused(q, k, v, scale=0.5, clauses=clause, extra=extra),
                 [q, k, v, sink], verify, results=2)
        # A query length that is not known is no decoding step.
        r.on_all(attention(q, k, v, mask=clause, extra=extra, dynamic=True),
                 [q, k, v, sink], lambda o: expect(o, mean))
        for dtype in ("f16", "bf16"):
            narrow = [x.cast(dtype) for x in (q, k, v)]
            r.on_all(attention(*narrow, mask=clause, extra=extra), narrow + [sink],
                     lambda o: expect(o, mean))
        # Many splits of the keys: the sink still weighs as two keys of a pair's.
        keys = 4500
        many = full([1, 1, keys, 4], 0.0), column([3.0, 6.0] * (keys // 2))
        shifted = Array([1], [logit + math.log(keys / 2)])
        r.on_all(attention(q, *many, mask=clause, extra=extra), [q, *many, shifted],
                 lambda o: expect(o, mean))
    none = Array([1, 1, 0, 4], [])

    def verify_empty(o, lse):
        expect(o, 0.0, 0)
        expect(lse, 0.5, 0)

    r.on_all(fused(q, none, none, scale=0.5, clauses=clause, extra=extra),
             [q, none, none, Array([1], [0.5])], verify_empty, results=2)
    r.rejects(attention(q, k, v, mask="sink(%s0 : tensor<?xf32>)", extra=[("s0", "tensor<?xf32>")]),
              [q, k, v, Array([2], [0.0, 0.0])], "head count of sink", "2", "1")


# ===- Lowering ---------------------------------------------------------------===#


@case
def X01_rescaled_by_the_old_maximum(r):
    """A maximum that grows or falls from block to block: each block's weights are
    rescaled by the maximum that they were made with."""
    weights = [1.0] * 4 + [5.0] * 4
    for order in (1, -1):
        q, k, v = logits(([0.0] * 4 + [10.0] * 4)[::order], weights[::order])
        r.on_all(attention(q, k, v, scale=1), [q, k, v], lambda o: expect(o, 4.999818409))
    # Over whole blocks of keys, by steps that the lazy maximum takes and does not.
    for step in (0.1, 1.0, 5.0, 7.0, 50.0, -0.1, -50.0):
        for block in (60, 64):
            n = 4 * block
            values = [step * (j // block) for j in range(n)]
            q, k, v = logits(values, [float(j // block) for j in range(n)])
            top = max(values)
            total = math.fsum(math.exp(x - top) for x in values)
            mean = math.fsum(math.exp(x - top) * y for x, y in zip(values, v.values)) / total
            r.on_all(attention(q, k, v, scale=1), [q, k, v], lambda o: expect(o, mean))


@case
def X02_hidden_first_blocks(r):
    """The first blocks of a band are hidden from late rows: a maximum over nothing
    is no number to subtract."""
    size = 300
    q, k, v = zeros(size, size, [float(j) for j in range(size)])
    expected = [(max(0, i - 3) + i) / 2 for i in range(size)]
    r.on_all(attention(q, k, v, mask="causal(top_left) window[3, -1]"), [q, k, v],
             lambda o: expect(o, expected, 1e-4))
    # The same band as a mask tensor, of which no bound is known.
    band = booleans([size, size], [0 <= i - j <= 3 for i in range(size) for j in range(size)])
    r.on_all(attention(q, k, v, mask="mask(%m : tensor<300x300xi1>)",
                       extra=[("m", "tensor<300x300xi1>")]), [q, k, v, band],
             lambda o: expect(o, expected, 1e-4))


@case
def X04_reductions_that_keep_the_dimension(r):
    """A sum whose output keeps an extent of 1, as a constant of its indexing map."""
    for shape in ((1, 12, 197, 197), (2, 3, 5, 1), (1, 1, 1, 300)):
        t = f"tensor<{'x'.join(map(str, shape))}xf32>"
        o = f"tensor<{'x'.join(map(str, shape[:3]))}x1xf32>"
        graph = f"""#all = affine_map<(a, b, c, d) -> (a, b, c, d)>
#kept = affine_map<(a, b, c, d) -> (a, b, c, 0)>
func.func @f(%x: {t}) -> {o} {{
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : {o}
  %z = linalg.fill ins(%zero : f32) outs(%e : {o}) -> {o}
  %s = linalg.generic {{indexing_maps = [#all, #kept], iterator_types = ["parallel", "parallel", "parallel", "reduction"]}}
    ins(%x : {t}) outs(%z : {o}) {{
  ^bb0(%in: f32, %out: f32):
    %y = arith.addf %in, %out : f32
    linalg.yield %y : f32
  }} -> {o}
  return %s : {o}
}}
"""
        r.on_all(graph, [full(shape, 1.0)], lambda y: expect(y, float(shape[3]), 0), fused=False)


@case
def X06_many_tasks(r):
    """262144 tasks: nothing grows by task."""
    q, k, v = (full([4096, 64, s, 8], x) for s, x in ((1, 0.0), (2, 0.0), (2, 1.0)))
    expect(r.run(attention(q, k, v), [q, k, v], check=False)[0], 1.0, 1e-6)


@case
def X10_narrowing(r):
    """f32 to f16 and bf16 rounds to nearest, ties to even, on every target."""
    x = Array([7], [0.4999, 65519.0, 65520.0, 6e-08, 2.9802322387695312e-08, 1.00146484375, -0.0])
    expected = {"f16": [0.5, 65504.0, INF, 5.960464477539063e-08, 0.0, 1.001953125, -0.0],
                "bf16": [0.5, 65536.0, 65536.0, 6.007030606269836e-08, 2.9802322387695312e-08,
                         1.0, -0.0]}
    bits = {"f16": [0x3800, 0x7BFF, 0x7C00, 0x0001, 0x0000, 0x3C02, 0x8000],
            "bf16": [0x3F00, 0x4780, 0x4780, 0x3381, 0x3300, 0x3F80, 0x8000]}
    for dtype in ("f16", "bf16"):
        graph = f"""func.func @f(%x: tensor<7xf32>) -> tensor<7x{dtype}> {{
  %y = arith.truncf %x : tensor<7xf32> to tensor<7x{dtype}>
  return %y : tensor<7x{dtype}>
}}
"""
        wanted = b"".join(w.to_bytes(2, "little") for w in bits[dtype])
        for target in r.targets:
            got = r.bits(graph, [x], target=target, check=False)[0]
            if got != wanted:
                raise Failure(f"{target}, {dtype}: {got.hex()}, expected {wanted.hex()}")
        # As the result of attention: one key, so the output is the value.
        q, k = full([1, 1, 1, 4], 1.0), full([1, 1, 1, 4], 1.0)
        v = Array([1, 1, 1, 7], expected[dtype], dtype)
        r.on_all(attention(q, k, v), [q, k, v], lambda o: expect(o, expected[dtype], 0),
                 check=False)


@case
def X13_no_quadratic_memory(r):
    """No variant of attention holds anything of the size of the scores."""
    def planned(d, s, scores="", mask="", extra=(), inputs=()):
        q, k = Array([1, 2, 0, d], []), Array([1, 1, 0, d], [])
        graph = attention(q, k, k, dynamic=True, scores=scores, mask=mask, extra=extra)
        report = r.statistics(graph, [f"random:1x2x{s}x{d}", f"random:1x1x{s}x{d}",
                                      f"random:1x1x{s}x{d}", *inputs])
        return report["planned_bytes"]

    s = 8192
    for name, arguments in {
            "none": dict(d=64, mask="causal(top_left)"),
            "broadcast mask": dict(d=64, mask="causal(top_left) mask(%m : tensor<1x1x1x?xi1>)",
                                   extra=[("m", "tensor<1x1x1x?xi1>")],
                                   inputs=[f"ones:1x1x1x{s}"]),
            "window": dict(d=64, mask="causal(top_left) window[16, -1]"),
            "softcap": dict(d=64, mask="causal(top_left)",
                            scores="%s = attn.softcap %t0 at 30.0 : S")}.items():
        got = planned(s=s, **arguments)
        if got > 8 << 20:
            raise Failure(f"{name}: {got} bytes of scratch, the scores have {4 * 2 * s * s}")
    if planned(d=512, s=2048, mask="causal(top_left)") > 8 << 20:
        raise Failure("heads of 512 features take too much scratch")


@case
def X15_same_bits(r):
    """The same bits for any thread count, and for an element alone or in a batch."""
    q, k, v = pattern(0, [8, 4, 3, 64]), pattern(1, [8, 2, 500, 64]), pattern(2, [8, 2, 500, 64])
    graph = attention(q, k, v, dynamic=True, mask="causal(bottom_right)")
    for target in r.targets:
        whole = r.bits(graph, [q, k, v], target=target, threads=1, check=False)[0]
        for threads in (2, 4):
            if r.bits(graph, [q, k, v], target=target, threads=threads, check=False)[0] != whole:
                raise Failure(f"{target}: {threads} threads give other bits")
        size = len(whole) // 8
        for b in (0, 7):
            part = lambda x: Array([1] + x.shape[1:], x.values[b * len(x.values) // 8 :
                                                              (b + 1) * len(x.values) // 8])
            alone = r.bits(graph, [part(q), part(k), part(v)], target=target, check=False)[0]
            if alone != whole[b * size : (b + 1) * size]:
                raise Failure(f"{target}: element {b} alone gives other bits")


# ===- Dropout ----------------------------------------------------------------===#


@case
def D01_dropout(r):
    """Dropout comes after the softmax, which it does not normalise again; the seed
    and the pair alone decide, rate 0 is exact and rate 1 gives 0."""
    q, k, v = full([1, 1, 4096, 4], 0.0), full([1, 1, 8, 4], 0.0), full([1, 1, 8, 1], 1.0)

    def graph(rate):
        return attention(q, k, v, weights=f"%w = attn.dropout %p rate {rate} seed(%n) : S",
                         extra=[("n", "i64")])

    def verify(o):
        for x in o.values:
            if not close(x * 4, round(x * 4), 1e-5) or not 0 <= x <= 2:
                raise Failure(f"a row is {x!r}, expected a multiple of 1/4 up to 2")
        mean = sum(o.values) / len(o.values)
        if abs(mean - 1) > 0.0221:
            raise Failure(f"the mean is {mean}, expected 1")

    r.on_all(graph(0.0), [q, k, v, 1], lambda o: expect(o, 1.0))
    r.on_all(graph(0.5), [q, k, v, 1], verify)
    r.on_all(graph(1.0), [q, k, v, 1], lambda o: expect(o, 0.0, 0))
    one = r.bits(graph(0.5), [q, k, v, 1], threads=1)
    for options in ({"threads": 4}, {"threads": 1}):
        if r.bits(graph(0.5), [q, k, v, 1], **options) != one:
            raise Failure(f"other bits with {options}")
    if r.bits(graph(0.5), [q, k, v, 2], threads=1) == one:
        raise Failure("another seed gives the same pairs")
    if "x86-64-v4" in r.targets:
        v4 = r.bits(graph(0.5), [q, k, v, 1], target="x86-64-v4")
        schedule = "#attn.schedule<kernel = queries_in_lanes, tile = [32, 4], registers = [4, 2], lanes = 16>"
        if r.bits(graph(0.5), [q, k, v, 1], target="x86-64-v4", schedule=schedule) != v4:
            raise Failure("other tiles give other pairs")
    r.rejects(graph(1.5), [q, k, v, 1], "rate", "1.5")
