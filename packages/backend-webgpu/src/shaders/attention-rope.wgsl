// Logits with keys that are held before the rotary embedding: transforms do not commute with it, so each key is decoded, its
// transforms are undone, and it is turned to its position before it meets the queries. All lanes work on one key at a time.

const ROW_SIZE = ATTENTION_SIZE;
// Keys that meet the queries at once.
const KEYS = 8u;
const LANES_PER_KEY = ATTENTION_SIZE / KEYS;

var<workgroup> turned_keys: array<f32, KEYS * key_headDim>;
var<workgroup> lane_dots: array<vec4<f32>, ATTENTION_SIZE>;

fn tileLogits(segment: Segment, start: u32, tokens: u32, head: u32, statisticsPage: u32, lane: u32) {
  for (var first = 0u; first < tokens; first += KEYS) {
    let count = min(KEYS, tokens - first);
    for (var i = 0u; i < count; i += 1u) {
      let token = start + first + i;
      for (var channel = lane; channel < key_headDim; channel += ATTENTION_SIZE) {
        row_values[channel] =
          key_element(segment.key_source, segment.key_page, head, segment.key_slot + token, channel);
      }
      workgroupBarrier();
      if (segment.key_source == SOURCE_PACKED) {
        invertRow(head, statisticsPage, 1.0, lane);
      }
      turnKey(i * key_headDim, segment.position + token, lane);
      workgroupBarrier();
    }
    let key = lane / LANES_PER_KEY;
    var dots = vec4<f32>(0.0);
    for (var channel = lane % LANES_PER_KEY; channel < key_headDim; channel += LANES_PER_KEY) {
      dots += query_tile[channel] * turned_keys[key * key_headDim + channel];
    }
    lane_dots[lane] = dots;
    workgroupBarrier();
    if (lane < count) {
      var sum = vec4<f32>(0.0);
      for (var part = 0u; part < LANES_PER_KEY; part += 1u) {
        sum += lane_dots[lane * LANES_PER_KEY + part];
      }
      weights[first + lane] = logitsOf(sum);
    }
  }
}

// Pairs of channels turn; channels that have no pair stay.
fn turnKey(to: u32, position: u32, lane: u32) {
  for (var pair = lane; pair < ROTARY_PAIRS; pair += ATTENTION_SIZE) {
    let first = select(pair, 2u * pair, ROTARY_ADJACENT);
    let second = first + select(ROTARY_PAIRS, 1u, ROTARY_ADJACENT);
    let at = key_frequenciesWord + 2u * pair;
    let turn = cosineAndSine(turnOf(position, key_memory[at], key_memory[at + 1u]));
    let a = row_values[first];
    let b = row_values[second];
    turned_keys[to + first] = a * turn.x - b * turn.y;
    turned_keys[to + second] = a * turn.y + b * turn.x;
  }
  for (var channel = 2u * ROTARY_PAIRS + lane; channel < key_headDim; channel += ATTENTION_SIZE) {
    turned_keys[to + channel] = row_values[channel];
  }
}
