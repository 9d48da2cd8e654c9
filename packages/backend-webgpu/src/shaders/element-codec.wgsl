// An element of a group that a codec decodes as a whole. The group decoded last is kept.

var<private> tensor_decodedByte: u32 = 0xffffffffu;
var<private> tensor_decoded: array<f32, tensor_groupSize>;

fn tensor_packed(page: u32, head: u32, slot: u32, channel: u32) -> f32 {
  var entry = 0u;
  if (tensor_alongTokens) {
    entry = slot / tensor_groupSize * tensor_headDim + channel;
  } else {
    entry = slot * tensor_groupsPerRow + channel / tensor_groupSize;
  }
  let byte = (page + head * tensor_headWords) * 4u + entry * tensor_groupBytes;
  if (byte != tensor_decodedByte) {
    tensor_decodedByte = byte;
    tensor_decoded = tensor_codec_decodeGroup(byte);
  }
  return tensor_decoded[select(channel, slot, tensor_alongTokens) % tensor_groupSize];
}
