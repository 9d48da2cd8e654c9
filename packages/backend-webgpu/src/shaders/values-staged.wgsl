// Weighted sums of values that all lanes decode together into workgroup memory, a few tokens at a time, and the sum of the
// weights.

fn addValues(segment: Segment, start: u32, tokens: u32, head: u32, lane: u32, sums: ptr<function, array<vec4<f32>, CHANNELS>>) -> vec4<f32> {
  var total = vec4<f32>(0.0);
  for (var first = 0u; first < tokens; first += STAGED) {
    let count = min(STAGED, tokens - first);
    let slot = segment.value_slot + start + first;
    value_stage(segment.value_source, segment.value_page, head, slot, count, lane);
    workgroupBarrier();
    for (var t = 0u; t < count; t += 1u) {
      total += tile_weights[first + t];
    }
    for (var c = 0u; c < CHANNELS; c += 1u) {
      let channel = c * ATTENTION_SIZE + lane;
      if (channel >= value_headDim) {
        break;
      }
      var sum = (*sums)[c];
      for (var t = 0u; t < count; t += 1u) {
        sum += weighted(tile_weights[first + t], staged[t * value_headDim + channel]);
      }
      (*sums)[c] = sum;
    }
    workgroupBarrier();
  }
  return total;
}
