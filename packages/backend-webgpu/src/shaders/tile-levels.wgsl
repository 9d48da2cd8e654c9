// Codes of a tile that are numbers of levels: levelCode for four elements at once.

var<workgroup> tile_middles: array<f32, tensor_middleCount>;

fn prepareTile(lane: u32) {
  for (var i = lane; i < tensor_middleCount; i += TILE_LANES) {
    tile_middles[i] = bitcast<f32>(wordAt(tensor_middlesWord + i));
  }
}

fn fourCodes(values: vec4<f32>, steps: Steps) -> vec4<u32> {
  let difference = differences(values, steps.offset);
  var codes = vec4<u32>(0u);
  for (var step = tensor_firstStep; step > 0u; step >>= 1u) {
    for (var i = 0u; i < 4u; i += 1u) {
      let middle = codes[i] + step - 1u;
      if (middle < tensor_middleCount && difference[i] > exactly(tile_middles[middle] * steps.scale[i])) {
        codes[i] += step;
      }
    }
  }
  return select(codes, vec4<u32>(0u), steps.scale <= vec4<f32>(0.0));
}
