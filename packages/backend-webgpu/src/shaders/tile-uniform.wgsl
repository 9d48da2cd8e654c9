// Codes of a tile that are integers.

fn prepareTile(lane: u32) {
}

fn fourCodes(values: vec4<f32>, steps: Steps) -> vec4<u32> {
  let difference = differences(values, steps.offset);
  return codesOfSum(nearestSum(difference, steps, vec4<f32>(FIRST_CODE), vec4<f32>(LAST_CODE)));
}
