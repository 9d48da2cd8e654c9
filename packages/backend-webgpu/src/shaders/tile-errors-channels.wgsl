// Errors of groups along channels: every lane adds up its channels of a slot.

fn putErrors(values: ptr<function, Patch>, row: u32, column: u32) {
  for (var s = 0u; s < PATCH_SLOTS; s += 1u) {
    let over = errorsAcross(values, s, slotSteps(Steps(), row, column, s, 0u), false);
    let around = errorsAcross(values, s, slotSteps(Steps(), row, column, s, TILE_ENTRIES), true);
    putPart(row, column, s, vec2<f32>(over, around));
  }
}

// A subtree of the fixed pairwise tree.
fn errorsAcross(values: ptr<function, Patch>, s: u32, steps: Steps, isSymmetric: bool) -> f32 {
  var errors: array<f32, PATCH_QUADS>;
  for (var q = 0u; q < PATCH_QUADS; q += 1u) {
    let four = fourErrors((*values)[s * PATCH_QUADS + q], steps, isSymmetric);
    errors[q] = exactly(exactly(four.x + four.y) + exactly(four.z + four.w));
  }
  for (var width = 1u; width < PATCH_QUADS; width *= 2u) {
    for (var q = 0u; q < PATCH_QUADS; q += 2u * width) {
      errors[q] = exactly(errors[q] + errors[q + width]);
    }
  }
  return errors[0];
}
