// Logits with keys that all lanes decode together into workgroup memory, a few at a time.

const LANES_PER_KEY = ATTENTION_SIZE / STAGED;

var<workgroup> lane_dots: array<vec4<f32>, ATTENTION_SIZE>;

fn tileLogits(segment: Segment, start: u32, tokens: u32, head: u32, statisticsPage: u32, lane: u32) {
  let transformed = KEY_TRANSFORMED && segment.key_source == SOURCE_PACKED;
  let offset = select(0u, key_headDim, transformed);
  for (var first = 0u; first < tokens; first += STAGED) {
    let count = min(STAGED, tokens - first);
    stageKeys(segment, start + first, count, head, statisticsPage, lane);
    workgroupBarrier();
    let key = lane / LANES_PER_KEY * key_headDim;
    var dots = vec4<f32>(0.0);
    for (var channel = lane % LANES_PER_KEY; channel < key_headDim; channel += LANES_PER_KEY) {
      dots += query_tile[offset + channel] * staged[key + channel];
    }
    lane_dots[lane] = dots;
    workgroupBarrier();
    if (lane < count) {
      var sum = vec4<f32>(0.0);
      for (var part = 0u; part < LANES_PER_KEY; part += 1u) {
        sum += lane_dots[lane * LANES_PER_KEY + part];
      }
      if (transformed) {
        sum += query_tile[QUERY_WORDS - 4u];
      }
      tile_logits[first + lane] = logitsOf(sum);
    }
  }
  workgroupBarrier();
}
