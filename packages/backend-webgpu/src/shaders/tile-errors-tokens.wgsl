// Errors of groups along tokens: every lane adds up its slots of four channels.

fn putErrors(values: ptr<function, Patch>, row: u32, column: u32) {
  for (var q = 0u; q < PATCH_QUADS; q += 1u) {
    let over = errorsDown(values, q, quadSteps(row, column, q, 0u), false);
    let around = errorsDown(values, q, quadSteps(row, column, q, TILE_ENTRIES), true);
    putParts(row, column, q, over, around);
  }
}

// A subtree of the fixed pairwise tree.
fn errorsDown(values: ptr<function, Patch>, q: u32, steps: Steps, isSymmetric: bool) -> vec4<f32> {
  var errors: array<vec4<f32>, PATCH_SLOTS>;
  for (var s = 0u; s < PATCH_SLOTS; s += 1u) {
    errors[s] = fourErrors((*values)[s * PATCH_QUADS + q], steps, isSymmetric);
  }
  for (var width = 1u; width < PATCH_SLOTS; width *= 2u) {
    for (var s = 0u; s < PATCH_SLOTS; s += 2u * width) {
      errors[s] = exactlyFour(errors[s] + errors[s + width]);
    }
  }
  return errors[0];
}
