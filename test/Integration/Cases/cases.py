# ===- cases.py - Reported faults: masks, numerics, causal -------------------===#
#
# Part of the Attn project, under the Apache License v2.0 with LLVM Exceptions.
# See LICENSE for license information.
# SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#
# ===------------------------------------------------------------------------===#
#
# Faults that attention systems were reported to have. One function a case, named
# by the case; its docstring says what must hold. The numbers are closed forms or
# were derived in f64. shape_cases.py and position_cases.py have the others.
#
# Gradients have no case: the compiler is forward only. Cases that are not here:
# outputs of ONNX attention beside the first (Integration/ONNX/outputs.test), and
# what is checked in the code: fast-math flags and allocations in loops
# (Codegen/CPU/no-calls-no-allocas.mlir), and its size
# (Codegen/CPU/code-size.mlir).
#
# ===------------------------------------------------------------------------===#

import math

from arrays import Array, full
from graphs import INF, LOWEST, NAN, attention, booleans, case, column, fused, logits, qkv, zeros
from run_case import Failure, expect, expect_digest

# ===- Masks ------------------------------------------------------------------===#

MASK_3x4 = [1, 1, 1, 1, 0, 0, 0, 0, 1, 1, 1, 0]
MASKED_3x4 = [
    [0.7052581027, -0.2387741687, 0.008114273325, -0.2179135657], [0.0] * 4,
    [0.7329953994, 0.1211552348, 0.01012607847, 0.482799146]]


def expect_empty_row(o):
    expect(o, MASKED_3x4)
    if any(o.rows()[1]):
        raise Failure(f"the empty row is {o.rows()[1]}, expected exact zeros")


@case
def M01_empty_row_boolean(r):
    """A row whose keys are all hidden is exactly 0, and its log-sum-exp -inf."""
    q, k, v = qkv(1, 1, 1, 3, 4, 4)
    mask = booleans([1, 1, 3, 4], MASK_3x4)
    graph = attention(q, k, v, mask="mask(%m : tensor<1x1x3x4xi1>)",
                      extra=[("m", "tensor<1x1x3x4xi1>")])
    r.on_all(graph, [q, k, v, mask], expect_empty_row)

    def verify(o, lse):
        expect_empty_row(o)
        expect(lse, [1.523225266, -INF, 1.46435824])

    graph = fused(q, k, v, scale=0.5, extra=[("m", "tensor<1x1x3x4xi1>")],
                  mask="%visible = tensor.extract %m[%b, %h, %i, %j] : tensor<1x1x3x4xi1>")
    r.on_all(graph, [q, k, v, mask], verify, results=2)


@case
def M02_empty_row_bias(r):
    """A bias of -inf hides as a boolean mask does, to the bit."""
    q, k, v = qkv(1, 1, 1, 3, 4, 4)
    bias = Array([1, 1, 3, 4], [0.0 if x else -INF for x in MASK_3x4])
    graph = attention(q, k, v, scores="%s = attn.bias %t0, %m : S, tensor<1x1x3x4xf32>",
                      extra=[("m", "tensor<1x1x3x4xf32>")])
    r.on_all(graph, [q, k, v, bias], expect_empty_row)


@case
def M04_sum_of_lowest_biases(r):
    """Two planes of the lowest float overflow to -inf where both hide, and weigh
    nothing where one does."""
    q, k, v = qkv(1, 1, 1, 3, 4, 4)
    m = LOWEST
    a = Array([1, 1, 3, 4], [0, m, m, 0, m, m, 0, m, 0, 0, m, m])
    b = Array([1, 1, 3, 4], [0, 0, m, m, 0, m, m, m, 0, 0, 0, m])
    t = "tensor<1x1x3x4xf32>"
    expected = [[0.65625, -1.125, 0.3125, -1.09375], [0.703125, -0.328125, 0.34375, -0.3125],
                [0.6996050313, -0.5613845925, -0.7063432367, 0.5103861599]]
    # Row 1 has one plane's lowest value on keys 0 and 2, and -inf elsewhere.
    added = attention(q, k, v, extra=[("a", t), ("m", t)],
                      scores=f"%ab = arith.addf %a, %m : {t}\n%s = attn.bias %t0, %ab : S, {t}")
    r.on_all(added, [q, k, v, a, b], lambda o: expect(o, expected))


@case
def M06_mask_and_causal(r):
    """A mask that hides nothing changes no bit of a causal result."""
    q, k, v = qkv(1, 1, 1, 3, 3, 4)
    expected = [[0.65625, -1.125, 0.3125, -1.09375],
                [0.6759307907, -0.8691497211, -0.149998581, -0.3655607448],
                [0.7329953994, 0.1211552348, 0.01012607847, 0.482799146]]
    both = attention(q, k, v, mask="causal(top_left) mask(%m : tensor<3x3xi1>)",
                     extra=[("m", "tensor<3x3xi1>")])
    mask = booleans([3, 3], [1] * 9)
    r.on_all(both, [q, k, v, mask], lambda o: expect(o, expected))
    for target in r.targets:
        plain = r.bits(attention(q, k, v, mask="causal(top_left)"), [q, k, v], target=target)
        if r.bits(both, [q, k, v, mask], target=target) != plain:
            raise Failure(f"{target}: the bits differ from causal alone")


@case
def M07_mask_and_causal_empty_row(r):
    """Where the mask takes what causal leaves, the row is exactly 0."""
    q, k, v = qkv(1, 1, 1, 3, 3, 4)
    mask = booleans([3, 3], [0, 1, 1, 1, 0, 1, 1, 1, 0])

    def verify(o, lse=None):
        expect(o, [[0.0] * 4, [0.65625, -1.125, 0.3125, -1.09375],
                   [0.6996050313, -0.5613845925, -0.7063432367, 0.5103861599]])
        if any(o.rows()[0]):
            raise Failure("row 0 is not exactly 0")
        if lse:
            expect(lse, [-INF, 0.2651367188, 0.3779508281])

    r.on_all(attention(q, k, v, mask="causal(top_left) mask(%m : tensor<3x3xi1>)",
                       extra=[("m", "tensor<3x3xi1>")]), [q, k, v, mask], verify)
    r.on_all(fused(q, k, v, scale=0.5, extra=[("m", "tensor<3x3xi1>")], mask="""
      %x = tensor.extract %m[%i, %j] : tensor<3x3xi1>
      %y = arith.cmpi sle, %j, %i : index
      %visible = arith.andi %x, %y : i1"""), [q, k, v, mask], verify, results=2)


@case
def M08_boolean_is_not_float(r):
    """A boolean mask hides, a float one of the same values is a bias, and an
    integer one is refused."""
    q, k, v = zeros(1, 2, [1.0, 0.0])
    r.on_all(attention(q, k, v, mask="mask(%m : tensor<2xi1>)", extra=[("m", "tensor<2xi1>")]),
             [q, k, v, booleans([2], [1, 0])], lambda o: expect(o, 1.0, 0))
    r.on_all(attention(q, k, v, scores="%s = attn.bias %t0, %m : S, tensor<2xf32>",
                       extra=[("m", "tensor<2xf32>")]),
             [q, k, v, Array([2], [1.0, 0.0])], lambda o: expect(o, 0.7310585786))
    r.rejects(attention(q, k, v, mask="mask(%m : tensor<2xi32>)", extra=[("m", "tensor<2xi32>")]),
              [q, k, v, Array([2], [1, 0], "i32")], "mask", "i32", "i1")


@case
def M09_wide_bias_of_half_types(r):
    """A bias stays f32 beside 16-bit operands: in theirs it would overflow."""
    for dtype in ("f16", "bf16"):
        q, k, v = (x.cast(dtype) for x in zeros(1, 2, [1.0, 0.0]))
        graph = attention(q, k, v, scores="%s = attn.bias %t0, %m : S, tensor<2xf32>",
                          extra=[("m", "tensor<2xf32>")])
        r.on_all(graph, [q, k, v, Array([2], [-100000.0, -99995.0])],
                 lambda o: expect(o, 0.006692850924, 0.006692850924 * 4e-3))


@case
def M11_square_batch(r):
    """A mask of rank 2 is [Sq, Skv], also where the batch has Sq elements."""
    q, k, v = qkv(2, 1, 1, 2, 2, 4)
    r.on_all(attention(q, k, v, mask="mask(%m : tensor<2x2xi1>)", extra=[("m", "tensor<2x2xi1>")]),
             [q, k, v, booleans([2, 2], [1, 0, 1, 1])],
             lambda o: expect(o, [[0.65625, -1.125, 0.3125, -1.09375],
                                  [0.6759307907, -0.8691497211, -0.149998581, -0.3655607448],
                                  [0.75, 0.46875, 0.375, 0.46875],
                                  [0.75, 0.7466752487, -0.1924307162, 0.1792445326]]))


# ===- Numerics ---------------------------------------------------------------===#


@case
def M13_scores_below_sentinels(r):
    """Scores far below any sentinel for -inf are scores like others."""
    q, k, v = logits([-100000.0, -99999.0], [0.0, 1.0])

    def verify(o, lse):
        expect(o, 0.7310585786)
        expect(lse, -99998.68674, 0.0079)

    r.on_all(fused(q, k, v, scale=1), [q, k, v], verify, results=2)
    q, k, v = logits([-2e38, -2e38 + 1e32], [0.0, 1.0])
    r.on_all(attention(q, k, v, scale=1), [q, k, v], lambda o: expect(o, 1.0, 0))
    # The whole range of f32, all of it far from 0.
    for x in (-1e30, -2.3e38, -3.3e38, -3.4028234e38, 3.3e38):
        q, k, v = logits([x] * 5, [1.0, 2.0, 3.0, 4.0, 5.0])
        r.on_all(attention(q, k, v, scale=1), [q, k, v], lambda o: expect(o, 3.0), check=False)


@case
def M15_nan_stays_in_its_row(r):
    """A NaN in a query reaches its row, one in a value its column, nothing else."""
    q, k, v = qkv(1, 1, 1, 2, 4, 4)
    q.values[4] = NAN
    first = [0.7052581027, -0.2387741687, 0.008114273325, -0.2179135657]
    r.on_all(attention(q, k, v), [q, k, v], lambda o: expect(o, [first, [NAN] * 4]))
    q, k, v = qkv(1, 1, 1, 2, 4, 4)
    v.values[2 * 4 + 1] = NAN
    second = [0.7203950211, NAN, -0.4322501936, -0.1695204356]
    first[1] = NAN
    r.on_all(attention(q, k, v), [q, k, v], lambda o: expect(o, [first, second]))
    # Hidden NaN and infinity reach nothing, whatever the row beside them sees.
    for skv in (4, 63, 64, 65, 130):
        q, k, v = zeros(3, skv, [1.0] * skv)
        for x in (NAN, INF, -INF):
            k.values[-4:] = [x] * 4
            v.values[-1] = x
            r.on_all(attention(q, k, v, dynamic=True, mask="lengths(%n : tensor<?xi32>)",
                               extra=[("n", "tensor<?xi32>")]),
                     [q, k, v, Array([1], [skv - 1], "i32")], lambda o: expect(o, 1.0))


@case
def N01_scores_beyond_f16(r):
    """Scores of 16-bit operands are held in f32: +-741455 here."""
    for dtype in ("f16", "bf16", "f32"):
        q = full([1, 1, 1, 128], 256.0, dtype)
        k = Array([1, 1, 3, 128], [256.0] * 256 + [-256.0] * 128, dtype)
        v = column([1.0, 3.0, 100.0], dtype)
        r.on_all(attention(q, k, v), [q, k, v], lambda o: expect(o, 2.0, 0))


@case
def N04_far_keys_weigh_nothing(r):
    """exp of a very negative number is 0, not the smallest float."""
    q, k, v = logits([0.0, -1e30], [1.0, 3e38])
    r.on_all(attention(q, k, v, scale=1), [q, k, v], lambda o: expect(o, 1.0, 0))
    for x in (-86.6, -87.33, -87.34, -88.0, -88.0297, -88.1, -100.0, -103.9, -104.0, -127.0,
              -1e4, -3.4e38, -INF):
        q, k, v = logits([0.0, x], [1.0, 1.0])
        r.on_all(attention(q, k, v, scale=1), [q, k, v], lambda o: expect(o, 1.0, 0),
                 check=x != -INF)


@case
def N06_scale_as_given(r):
    """Scales of 0, negative ones and the default are three different things."""
    q, k, v = qkv(1, 1, 1, 2, 4, 4)
    half = [[0.7052581027, -0.2387741687, 0.008114273325, -0.2179135657],
            [0.7203950211, 0.2266100337, -0.4322501936, -0.1695204356]]
    mean = [[0.71875, 0.0625, -0.40625, 0.0703125]] * 2
    negative = [[0.7289752264, 0.3133415366, -0.8185786151, 0.2914669901],
                [0.7187792263, -0.06538450298, -0.4876066722, 0.3762742168]]
    for scale, expected in ((None, half), (0.5, half), (0.0, mean), (-0.5, negative)):
        r.on_all(attention(q, k, v, scale=scale), [q, k, v], lambda o: expect(o, expected))
    opposite = Array(q.shape, [-x for x in q.values])
    r.on_all(attention(opposite, k, v, scale=0.5), [opposite, k, v],
             lambda o: expect(o, negative))
    for scale in (0.125, 1.0):  # against the twin
        r.on_all(attention(q, k, v, scale=scale), [q, k, v], lambda o: None)


@case
def N07_scale_of_unpadded_heads(r):
    """The default scale is that of 72 features, whatever they are padded to."""
    q, k, v = qkv(1, 1, 1, 2, 3, 72, 40)

    def verify(o):
        expect(Array([4], o.values[:4]),
               [-0.1915214093, -0.4435697578, -0.1620540278, -0.5785373286])
        expect_digest(o, 9.293257071, 6.267397538, -0.1915214093, -0.1192662166)

    r.on_all(attention(q, k, v), [q, k, v], verify)


@case
def N08_softcap_before_mask(r):
    """A mask after a softcap hides; a softcap after a mask would not."""
    q, k, v = zeros(1, 2, [1.0, 0.0])
    cap = "%s = attn.softcap %t0 at 1.0 : S"
    bias = ("%c = attn.softcap %t0 at 1.0 : S\n"
            "%s = attn.bias %c, %m : S, tensor<2xf32>")
    exact = lambda o: expect(o, 1.0, 0)
    r.on_all(attention(q, k, v, scores=bias, extra=[("m", "tensor<2xf32>")]),
             [q, k, v, Array([2], [0.0, -INF])], exact)
    r.on_all(attention(q, k, v, scores=cap, mask="mask(%m : tensor<2xi1>)",
                       extra=[("m", "tensor<2xi1>")]),
             [q, k, v, booleans([2], [1, 0])], exact)
    r.on_all(attention(q, k, v, scores=cap, mask="causal(top_left)"), [q, k, v], exact)


@case
def N10_softcap_range(r):
    """cap * tanh(x / cap), also where tanh is flat."""
    q, k, v = logits([1e4, -1e4, 0.0], [1.0, 2.0, 3.0])
    r.on_all(attention(q, k, v, scale=1, scores="%s = attn.softcap %t0 at 5.0 : S"), [q, k, v],
             lambda o: expect(o, 1.013430192))
    q, k, v = logits([10.0, 0.0], [0.0, 1.0])
    r.on_all(attention(q, k, v, scale=1, scores="%s = attn.softcap %t0 at 4.0 : S"), [q, k, v],
             lambda o: expect(o, 0.0189567367))
    for x in (1e-30, 1e30, 3e38):  # neither tiny nor huge scores break the tanh
        q, k, v = logits([x, -x], [1.0, 3.0])
        weight = 1 / (1 + math.exp(-2 * 5 * math.tanh(x / 5)))
        r.on_all(attention(q, k, v, scale=1, scores="%s = attn.softcap %t0 at 5.0 : S"),
                 [q, k, v], lambda o: expect(o, weight + 3 * (1 - weight)))


# ===- Causal and window ------------------------------------------------------===#


@case
def C01_alignments_differ(r):
    """With fewer queries than keys, top-left and bottom-right differ."""
    q, k, v = qkv(1, 1, 1, 2, 5, 4)
    top = [[0.65625, -1.125, 0.3125, -1.09375],
           [0.6759307907, -0.8691497211, -0.149998581, -0.3655607448]]
    bottom = [[0.7052581027, -0.2387741687, 0.008114273325, -0.2179135657],
              [0.7200443677, -0.05483848145, -0.2734989206, -0.3731908723]]
    for dynamic in (False, True):
        for mask, expected in (("causal(top_left)", top), ("causal(bottom_right)", bottom)):
            r.on_all(attention(q, k, v, mask=mask, dynamic=dynamic), [q, k, v],
                     lambda o: expect(o, expected))


@case
def C02_decode_with_causal(r):
    """One query over 16 cached keys: which alignment decides everything."""
    q, k, v = qkv(1, 1, 1, 1, 16, 4)
    first = [0.65625, -1.125, 0.3125, -1.09375]
    rest = [0.253628254, 0.1430068134, 0.1946541568, 0.2803627936]
    r.on_all(attention(q, k, v, mask="causal(top_left)"), [q, k, v], lambda o: expect(o, first))
    r.on_all(attention(q, k, v, mask="causal(bottom_right)"), [q, k, v],
             lambda o: expect(o, rest))
    r.on_all(attention(q, k, v, mask="causal(offset %n : index)", extra=[("n", "index")]),
             [q, k, v, 15], lambda o: expect(o, rest))
    r.on_all(attention(q, k, v, mask="causal(offset %n : tensor<1xi64>)",
                       extra=[("n", "tensor<1xi64>")]),
             [q, k, v, Array([1], [15], "i64")], lambda o: expect(o, rest))


@case
def C04_chunked_prefill(r):
    """Three new tokens on four cached ones: row i sees keys 0 to 4 + i."""
    q, k, v = qkv(1, 1, 1, 3, 7, 4)
    expected = [[0.7092735121, -0.4932289619, 0.09870444475, -0.4878773267],
                [0.7141146608, -0.08750229442, -0.3671697056, -0.2397429468],
                [0.6526448123, 0.1643742883, -0.1647814959, 0.3000602275]]
    r.on_all(attention(q, k, v, mask="causal(offset %n : index)", extra=[("n", "index")]),
             [q, k, v, 4], lambda o: expect(o, expected))


@case
def C06_ragged_causal_tiles(r):
    """No key is gained or lost at the edges of tiles: the means of equal scores
    show each."""
    for sq, skv in ((130, 257), (64, 64), (65, 63), (1, 257), (257, 1), (127, 128), (200, 130)):
        q, k, v = zeros(sq, skv, [float(j) for j in range(skv)])
        for mask, offset in (("causal(top_left)", 0), ("causal(bottom_right)", skv - sq)):
            # Row i sees keys 0 to last: their mean, or nothing.
            last = [min(i + offset, skv - 1) for i in range(sq)]
            expected = [x / 2 if x >= 0 else 0.0 for x in last]
            r.on_all(attention(q, k, v, mask=mask, dynamic=True), [q, k, v],
                     lambda o: expect(o, expected, 1e-4), check=False)


@case
def C06_other_schedules(r):
    """The same for tiles and blocks of other sizes than the compiler's choice."""
    sq, skv = 70, 131
    q, k, v = zeros(sq, skv, [float(j) for j in range(skv)])
    expected = [(i + skv - sq) / 2 for i in range(sq)]
    t4, t1 = "tensor<1x1x70x4xf32>", "tensor<1x1x70x1xf32>"
    for target, lanes in (("x86-64-v4", 16), ("x86-64-v3", 8), ("x86-64", 4)):
        if target not in r.targets:
            continue
        for rows, keys, registers in ((lanes, 1, [1, 1]), (3 * lanes, 7, [3, 1]),
                                      (4 * lanes, 100, [5, 2]), (8 * lanes, 33, [2, 4])):
            graph = f"""func.func @f(%q: {t4}, %k: tensor<1x1x131x4xf32>, %v: tensor<1x1x131x1xf32>) -> {t1} {{
  %i = tensor.empty() : {t1}
  %o = attn.attention ins(%q, %k, %v : {t4}, tensor<1x1x131x4xf32>, tensor<1x1x131x1xf32>) outs(%i : {t1})
    scale 1.0 schedule(<kernel = queries_in_lanes, tile = [{rows}, {keys}], registers = {registers}, lanes = {lanes}>) mask {{
  ^bb0(%b: index, %h: index, %r: index, %j: index):
    %c61 = arith.constant 61 : index
    %x = arith.addi %r, %c61 : index
    %y = arith.cmpi sle, %j, %x : index
    attn.yield %y : i1
  }} -> {t1}
  return %o : {t1}
}}
"""
            expect(r.run(graph, [q, k, v], target=target)[0], expected, 1e-4)


@case
def C07_window_ends(r):
    """Both ends of a window are inclusive: left 2 is three keys."""
    q, k, v = zeros(6, 6, [float(j) for j in range(6)])
    for left, expected in ((2, [0.0, 0.5, 1.0, 2.0, 3.0, 4.0]), (3, [0.0, 0.5, 1.0, 1.5, 2.5, 3.5])):
        r.on_all(attention(q, k, v, mask=f"causal(top_left) window[{left}, -1]"), [q, k, v],
                 lambda o: expect(o, expected, 1e-6))
        r.on_all(attention(q, k, v, mask=f"window[{left}, 0](top_left)"), [q, k, v],
                 lambda o: expect(o, expected, 1e-6))
    # Across tiles, of every width around a block.
    size = 200
    q, k, v = zeros(size, size, [float(j) for j in range(size)])
    for left, right in ((0, 0), (1, 1), (15, 0), (63, 64), (64, 63), (-1, 5), (5, -1), (300, 300)):
        ends = [(0 if left < 0 else max(0, i - left),
                 size - 1 if right < 0 else min(size - 1, i + right)) for i in range(size)]
        r.on_all(attention(q, k, v, mask=f"window[{left}, {right}](top_left)"), [q, k, v],
                 lambda o: expect(o, [(a + b) / 2 for a, b in ends], 1e-4), check=False)


@case
def C09_window_beyond_the_keys(r):
    """A window wider than the keys is not cut to their number before it moves."""
    q, k, v = zeros(6, 3, [0.0, 1.0, 2.0])
    r.on_all(attention(q, k, v, mask="window[-1, 2147483647](bottom_right)"), [q, k, v],
             lambda o: expect(o, 1.0, 1e-6))
