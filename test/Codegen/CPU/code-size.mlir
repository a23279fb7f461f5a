// Loops over features stay loops: the code of a kernel does not grow with the
// head dim, but for the unrolled rest of one register tile.

// RUN: sed -e 's/DV/64/g' -e 's/D/64/g' %S/Inputs/head-dims.mlir | attn-opt --attn-compile-to=vector --target=x86-64-v4 | wc -l > %t.64
// RUN: sed -e 's/DV/256/g' -e 's/D/256/g' %S/Inputs/head-dims.mlir | attn-opt --attn-compile-to=vector --target=x86-64-v4 | wc -l > %t.256
// RUN: sed -e 's/DV/512/g' -e 's/D/576/g' %S/Inputs/head-dims.mlir | attn-opt --attn-compile-to=vector --target=x86-64-v4 | wc -l > %t.576
// RUN: %python -c "import sys; a, b, c = (int(open(f).read()) for f in sys.argv[1:]); print(a, b, c); assert a > 100 and b <= 1.5 * a and c <= 2 * a" %t.64 %t.256 %t.576
