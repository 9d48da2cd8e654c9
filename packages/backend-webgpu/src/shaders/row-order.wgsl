// A permutation of the channels of a row: channel c becomes what was channel order[c].

fn tensor_order(first: u32, head: u32, channel: u32) -> u32 {
  return tensor_memory[first + head * tensor_headDim + channel];
}

fn orderRow(first: u32, head: u32, lane: u32) {
  var kept: array<f32, (tensor_headDim + ROW_SIZE - 1u) / ROW_SIZE>;
  for (var i = 0u; i * ROW_SIZE + lane < tensor_headDim; i += 1u) {
    kept[i] = row_values[tensor_order(first, head, i * ROW_SIZE + lane)];
  }
  workgroupBarrier();
  for (var i = 0u; i * ROW_SIZE + lane < tensor_headDim; i += 1u) {
    row_values[i * ROW_SIZE + lane] = kept[i];
  }
  workgroupBarrier();
}

fn disorderRow(first: u32, head: u32, lane: u32) {
  var kept: array<f32, (tensor_headDim + ROW_SIZE - 1u) / ROW_SIZE>;
  for (var i = 0u; i * ROW_SIZE + lane < tensor_headDim; i += 1u) {
    kept[i] = row_values[i * ROW_SIZE + lane];
  }
  workgroupBarrier();
  for (var i = 0u; i * ROW_SIZE + lane < tensor_headDim; i += 1u) {
    row_values[tensor_order(first, head, i * ROW_SIZE + lane)] = kept[i];
  }
  workgroupBarrier();
}
