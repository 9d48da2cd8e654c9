// Steps of transforms on one row of one head in workgroup memory, docs/law.md 7. `tensor_memory` begins with the numbers of the
// calibration and holds the statistics pages. Composed with a kernel that has ROW_SIZE lanes.

var<workgroup> row_values: array<f32, tensor_headDim>;

// A statistic of the sequence: [measured transform, head, channel] from half `page` on.
fn tensor_statistic(page: u32, plane: u32, head: u32, channel: u32) -> f32 {
  let index = page + (plane * tensor_heads + head) * tensor_headDim + channel;
  return f16Value(halfAt(tensor_memory[index / 2u], index));
}

// A number of the calibration: [head, channel] from word `first` on.
fn tensor_calibrated(first: u32, head: u32, channel: u32) -> f32 {
  return bitcast<f32>(tensor_memory[first + head * tensor_headDim + channel]);
}

// 1 or -1: the top bit of a hash of seed and channel.
fn signOf(seed: u32, channel: u32) -> f32 {
  var hash = seed + channel * 0x9e3779b9u;
  hash = (hash ^ (hash >> 16u)) * 0x85ebca6bu;
  hash = (hash ^ (hash >> 13u)) * 0xc2b2ae35u;
  hash ^= hash >> 16u;
  return select(1.0, -1.0, (hash & 0x80000000u) != 0u);
}

// The butterfly of strides 1, 2, 4, ... and one multiply.
fn rotateRow(lane: u32) {
  for (var stride = 1u; stride < tensor_headDim; stride *= 2u) {
    for (var pair = lane; pair < tensor_headDim / 2u; pair += ROW_SIZE) {
      let first = (pair / stride) * 2u * stride + pair % stride;
      let a = row_values[first];
      let b = row_values[first + stride];
      row_values[first] = exactly(a + b);
      row_values[first + stride] = exactly(a - b);
    }
    workgroupBarrier();
  }
  for (var channel = lane; channel < tensor_headDim; channel += ROW_SIZE) {
    row_values[channel] = exactly(row_values[channel] * tensor_rotationFactor);
  }
  workgroupBarrier();
}
