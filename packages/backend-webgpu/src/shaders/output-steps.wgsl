// Steps on the weighted sum of packed values that undo their transforms, docs/law.md 7.

fn statisticOf(page: u32, plane: u32, head: u32, channel: u32) -> f32 {
  let index = page + (plane * value_heads + head) * value_headDim + channel;
  return f16Value(halfAt(memory[index / 2u], index));
}

fn unscaleRow(head: u32, page: u32, plane: u32, lane: u32) {
  for (var channel = lane; channel < value_headDim; channel += MERGE_SIZE) {
    row_values[channel] *= 1.0 / statisticOf(page, plane, head, channel);
  }
  workgroupBarrier();
}

fn uncentreRow(head: u32, page: u32, plane: u32, weight: f32, lane: u32) {
  for (var channel = lane; channel < value_headDim; channel += MERGE_SIZE) {
    row_values[channel] += weight * statisticOf(page, plane, head, channel);
  }
  workgroupBarrier();
}

fn unrotateRow(lane: u32) {
  for (var stride = 1u; stride < value_headDim; stride *= 2u) {
    for (var pair = lane; pair < value_headDim / 2u; pair += MERGE_SIZE) {
      let first = (pair / stride) * 2u * stride + pair % stride;
      let a = row_values[first];
      let b = row_values[first + stride];
      row_values[first] = a + b;
      row_values[first + stride] = a - b;
    }
    workgroupBarrier();
  }
  for (var channel = lane; channel < value_headDim; channel += MERGE_SIZE) {
    row_values[channel] *= value_rotationFactor;
  }
  workgroupBarrier();
}
