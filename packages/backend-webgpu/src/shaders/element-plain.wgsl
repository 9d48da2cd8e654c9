// A packed element where nothing lies beside the codes.

fn tensor_packed(page: u32, head: u32, slot: u32, channel: u32) -> f32 {
  return tensor_grouped(page, head, slot, channel);
}
