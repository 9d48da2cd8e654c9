// A tensor that stays f16 has no packed pages.

fn tensor_packed(page: u32, head: u32, slot: u32, channel: u32) -> f32 {
  return 0.0;
}
