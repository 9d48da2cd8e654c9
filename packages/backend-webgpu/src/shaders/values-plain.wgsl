// Weighted sums of values that are decoded one by one, one channel to a lane, and the sum of the weights.

fn addValues(segment: Segment, start: u32, tokens: u32, head: u32, lane: u32, sums: ptr<function, array<vec4<f32>, CHANNELS>>) -> vec4<f32> {
  // Of a lane without a channel nobody asks it.
  var total = vec4<f32>(0.0);
  for (var c = 0u; c < CHANNELS; c += 1u) {
    let channel = c * ATTENTION_SIZE + lane;
    if (channel >= value_headDim) {
      break;
    }
    var sum = vec4<f32>(0.0);
    total = vec4<f32>(0.0);
    for (var t = 0u; t < tokens; t += 1u) {
      let slot = segment.value_slot + start + t;
      let weight = tile_weights[t];
      total += weight;
      sum += weighted(weight, value_element(segment.value_source, segment.value_page, head, slot, channel));
    }
    (*sums)[c] = sum;
  }
  return total;
}
