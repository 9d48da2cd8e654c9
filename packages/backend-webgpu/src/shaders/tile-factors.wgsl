// What transforms of a tile read, docs/law.md 7. The pages begin with the numbers of the calibration.

fn tensor_statistic(page: u32, plane: u32, head: u32, channel: u32) -> f32 {
  let index = page + (plane * tensor_heads + head) * tensor_headDim + channel;
  return f16Value(halfAt(wordAt(index / 2u), index));
}

fn tensor_calibrated(first: u32, head: u32, channel: u32) -> f32 {
  return bitcast<f32>(wordAt(first + head * tensor_headDim + channel));
}
