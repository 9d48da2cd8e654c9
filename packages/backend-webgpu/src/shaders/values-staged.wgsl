// Weighted sums of values that all lanes decode together into workgroup memory, a few tokens at a time.

fn addValues(segment: Segment, start: u32, tokens: u32, head: u32, lane: u32, sums: ptr<function, array<vec4<f32>, CHANNELS>>) {
  for (var first = 0u; first < tokens; first += STAGED) {
    let count = min(STAGED, tokens - first);
    let slot = segment.value_slot + start + first;
    value_stage(segment.value_source, segment.value_page, head, slot, count, lane);
    workgroupBarrier();
    for (var c = 0u; c < CHANNELS; c += 1u) {
      let channel = c * ATTENTION_SIZE + lane;
      if (channel >= value_headDim) {
        break;
      }
      var sum = (*sums)[c];
      for (var t = 0u; t < count; t += 1u) {
        sum += weighted(first + t, staged[t * value_headDim + channel]);
      }
      (*sums)[c] = sum;
    }
    workgroupBarrier();
  }
}
