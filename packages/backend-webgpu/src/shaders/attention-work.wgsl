// What one workgroup of attention does, as its tables say: the segments of one split of one sequence, one kv head, up to four
// of its query rows, as components of vectors.

const SEGMENT_WORDS = 8u;
const ITEM_WORDS = 4u;
// Below every logit.
const NOTHING = -3.0e38;

// Tokens that lie side by side in both tensors.
struct Segment {
  position: u32,
  count: u32,
  key_source: u32,
  key_page: u32,
  key_slot: u32,
  value_source: u32,
  value_page: u32,
  value_slot: u32,
}

struct Work {
  firstSegment: u32,
  segments: u32,
  statisticsPage: u32,
  head: u32,
  firstRow: u32,
  // Of the sequence on this head; a workgroup whose first row is none of them has nothing to do.
  rows: u32,
  firstPosition: u32,
  // By row: whether it is one, its position, where its query and its partial result begin. Rows past the last repeat its query.
  known: vec4<bool>,
  position: vec4<u32>,
  query: vec4<u32>,
  partial: vec4<u32>,
}

// Workgroups of the same tokens come one after another: what one loads, the next finds in a cache.
fn workOf(group: vec3<u32>) -> Work {
  let item = job.table + group.y * ITEM_WORDS;
  let sequence = commands[item];
  let firstQuery = commands[sequence + 7u];
  let queries = commands[sequence + 1u];
  let head = group.z;
  let rows = queries * GROUP_HEADS;
  let firstRow = group.x * ROWS;
  let firstPosition = commands[sequence + 2u] - queries;
  let row = vec4<u32>(firstRow) + vec4<u32>(0u, 1u, 2u, 3u);
  let held = min(row, vec4<u32>(rows - 1u));
  return Work(
    commands[item + 1u],
    commands[item + 2u],
    commands[sequence + 3u],
    head,
    firstRow,
    rows,
    firstPosition,
    row < vec4<u32>(rows),
    vec4<u32>(firstPosition) + row / GROUP_HEADS,
    ((vec4<u32>(firstQuery) + held / GROUP_HEADS) * QUERY_HEADS + head * GROUP_HEADS + held % GROUP_HEADS) * QUERY_WORDS,
    (vec4<u32>(commands[item + 3u] + head * rows) + row) * PARTIAL_WORDS,
  );
}

fn segmentAt(number: u32) -> Segment {
  let at = job.first + number * SEGMENT_WORDS;
  return Segment(
    commands[at], commands[at + 1u], commands[at + 2u], commands[at + 3u],
    commands[at + 4u], commands[at + 5u], commands[at + 6u], commands[at + 7u],
  );
}

// Which queries at `position` see the token at `token`.
fn visible(token: u32, position: vec4<u32>) -> vec4<bool> {
  let causal = vec4<u32>(token) <= position;
  if (WINDOW_SIZE == 0u) {
    return causal;
  }
  let inWindow = vec4<u32>(token + WINDOW_SIZE) > position;
  return causal & (inWindow | vec4<bool>(token < WINDOW_SINKS));
}
