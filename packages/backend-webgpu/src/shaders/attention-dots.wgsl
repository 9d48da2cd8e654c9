// Logits with keys that meet the queries as they are stored: one token to a lane.

fn tileLogits(segment: Segment, start: u32, tokens: u32, head: u32, statisticsPage: u32, lane: u32) {
  if (lane >= tokens) {
    return;
  }
  let transformed = KEY_TRANSFORMED && segment.key_source == SOURCE_PACKED;
  let offset = select(0u, key_headDim, transformed);
  let slot = segment.key_slot + start + lane;
  var dots = vec4<f32>(0.0);
  for (var channel = 0u; channel < key_headDim; channel += 1u) {
    dots += query_tile[offset + channel] * key_element(segment.key_source, segment.key_page, head, slot, channel);
  }
  if (transformed) {
    dots += query_tile[QUERY_WORDS - 4u];
  }
  tile_logits[lane] = logitsOf(dots);
}
