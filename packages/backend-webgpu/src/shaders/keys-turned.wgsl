// Keys that are held before the rotary embedding: transforms do not commute with it, so each key is decoded, its transforms are
// undone, and it is turned to its position before it meets the queries. All lanes work on one key at a time.

const ROW_SIZE = ATTENTION_SIZE;

fn stageKeys(segment: Segment, token: u32, count: u32, head: u32, statisticsPage: u32, lane: u32) {
  for (var i = 0u; i < count; i += 1u) {
    let slot = segment.key_slot + token + i;
    for (var channel = lane; channel < key_headDim; channel += ATTENTION_SIZE) {
      row_values[channel] = key_element(segment.key_source, segment.key_page, head, slot, channel);
    }
    workgroupBarrier();
    if (segment.key_source == SOURCE_PACKED) {
      invertRow(head, statisticsPage, 1.0, lane);
    }
    turnKey(i * key_headDim, segment.position + token + i, lane);
    workgroupBarrier();
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
    staged[to + first] = a * turn.x - b * turn.y;
    staged[to + second] = a * turn.y + b * turn.x;
  }
  for (var channel = 2u * ROTARY_PAIRS + lane; channel < key_headDim; channel += ATTENTION_SIZE) {
    staged[to + channel] = row_values[channel];
  }
}
