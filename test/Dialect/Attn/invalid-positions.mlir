// Constraints of the ops that make positions, one test a label.

// RUN: attn-opt %s -split-input-file -verify-diagnostics

// sinusoidal C1: an unknown extent is an operand
func.func @sinusoidal_c1() {
  // expected-error @+1 {{rows must be given exactly when extent 0 of the result is unknown, got 'tensor<?x4xf32>' without rows (C1)}}
  %0 = attn.sinusoidal : tensor<?x4xf32>
  return
}

// -----

// sinusoidal C1: and a known one is not
func.func @sinusoidal_c1_known(%n: index) {
  // expected-error @+1 {{rows must be given exactly when extent 0 of the result is unknown, got 'tensor<3x4xf32>' with rows (C1)}}
  %0 = attn.sinusoidal rows(%n) : tensor<3x4xf32>
  return
}

// -----

// sinusoidal C2: known columns
func.func @sinusoidal_c2(%n: index) {
  // expected-error @+1 {{extent 1 of the result must be static and positive, got 'tensor<?x?xf32>' (C2)}}
  %0 = attn.sinusoidal rows(%n) : tensor<?x?xf32>
  return
}

// -----

// sinusoidal C2: at least one
func.func @sinusoidal_c2_none(%n: index) {
  // expected-error @+1 {{extent 1 of the result must be static and positive, got 'tensor<?x0xf32>' (C2)}}
  %0 = attn.sinusoidal rows(%n) : tensor<?x0xf32>
  return
}

// -----

// sequence_ids C1: an unknown extent is an operand
func.func @sequence_ids_c1(%cu: tensor<?xi32>) {
  // expected-error @+1 {{length must be given exactly when extent 1 of the result is unknown, got 'tensor<1x?xi32>' without length (C1)}}
  %0 = attn.sequence_ids %cu : tensor<?xi32> -> tensor<1x?xi32>
  return
}

// -----

// sequence_ids C2: one row
func.func @sequence_ids_c2(%cu: tensor<?xi32>, %n: index) {
  // expected-error @+1 {{extent 0 of the result must be 1, got 'tensor<2x?xi32>' (C2)}}
  %0 = attn.sequence_ids %cu length(%n) : tensor<?xi32> -> tensor<2x?xi32>
  return
}

// -----

// sequence_ids C2: and known to be one
func.func @sequence_ids_c2_unknown(%cu: tensor<?xi32>, %n: index) {
  // expected-error @+1 {{extent 0 of the result must be 1, got 'tensor<?x?xi32>' (C2)}}
  %0 = attn.sequence_ids %cu length(%n) : tensor<?xi32> -> tensor<?x?xi32>
  return
}

// -----

// sequence_ids C3: the number of no sequence
func.func @sequence_ids_c3(%cu: tensor<?xi32>) {
  // expected-error @+1 {{outside must be a negative 'i32', got 0 (C3)}}
  %0 = attn.sequence_ids %cu outside 0 : tensor<?xi32> -> tensor<1x8xi32>
  return
}

// -----

// sequence_ids C3: it has the type of the result
func.func @sequence_ids_c3_wide(%cu: tensor<?xi64>) {
  // expected-error @+1 {{outside must be a negative 'i32', got -4294967296 (C3)}}
  %0 = attn.sequence_ids %cu outside -4294967296 : tensor<?xi64> -> tensor<1x8xi32>
  return
}

// -----

// sequence_positions C1: a known extent is no operand
func.func @sequence_positions_c1(%cu: tensor<?xi32>, %n: index) {
  // expected-error @+1 {{length must be given exactly when extent 1 of the result is unknown, got 'tensor<1x8xi32>' with length (C1)}}
  %0 = attn.sequence_positions %cu length(%n) : tensor<?xi32> -> tensor<1x8xi32>
  return
}

// -----

// sequence_positions C2: one row
func.func @sequence_positions_c2(%cu: tensor<?xi32>, %n: index) {
  // expected-error @+1 {{extent 0 of the result must be 1, got 'tensor<0x?xi64>' (C2)}}
  %0 = attn.sequence_positions %cu length(%n) from_end : tensor<?xi32> -> tensor<0x?xi64>
  return
}
