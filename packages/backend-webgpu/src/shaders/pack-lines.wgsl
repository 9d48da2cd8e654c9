// Outliers as attention walks over them, in place of their bytes: by lines, which are tokens of keys, channels of values. Packs
// add to the lines of a page until they have no room; then lines are opened: the page has bytes from there on. A bit of the last
// end offset says that a page has lines.
//
//   32 vectors of four words, one for each lane: its lines, the heaviest first; lines of one component are of about one length
//     bits 31..24 vectors of the line   23..8 the first of them, in the plane   7..0 the line
//   vectors of eight records of 16 bits, of one line, by position, filled up with records of position 128
//     15 side, or 0 for inner   14..7 position: the channel (keys) or token (values)   6..2 code   0 outer
//
// In pages with lines the place of an outlier among the codes holds the middle code next to the inner band: of the low side
// for outliers with side, of the high side for others.

const LINES = 128u;
const TABLE_VECTORS = 32u;
const PLANE_VECTORS = min(tensor_capacity / 16u, 384u);
const RECORD_VECTORS = max(PLANE_VECTORS, TABLE_VECTORS) - TABLE_VECTORS;
const RECORD_WORDS = 4u * RECORD_VECTORS;
const NO_RECORDS = 0x40004000u;
const NOWHERE = 128u;
const CLOSED = 0x80000000u;
// Loads that are on their way at once.
const BATCH = 8u;

// By line, or by token, a bit for each position.
var<workgroup> marks: array<atomic<u32>, 4u * LINES>;
var<workgroup> token_counts: array<atomic<u32>, CHUNKS * LINES>;
// What outliers of new tokens are encoded by: minima and steps of outer and of inner ones.
var<workgroup> token_parameters: array<vec2<u32>, LINES>;
// Lines before the pack: records, entries of the table by line, and how many records stay.
var<workgroup> records: array<u32, max(RECORD_WORDS, 1u)>;
var<workgroup> line_entries: array<u32, LINES>;
var<workgroup> line_kept: array<u32, LINES>;
// Lines after it.
var<workgroup> line_table: array<u32, LINES>;
var<workgroup> line_vectors: array<u32, LINES>;
var<workgroup> line_firsts: array<u32, LINES>;
var<workgroup> line_answer: u32;
var<workgroup> held_ends: array<u32, LINES>;

@compute @workgroup_size(PACK_SIZE)
fn packOutliers(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let pack = packOf(group.z);
  let head = group.y;
  let base = pack.page + head * tensor_headWords;
  if (lane == 0u) {
    let isClosed = wordAt(base + tensor_endsWord + LINES - 1u) >= CLOSED;
    line_answer = select(0u, 1u, pack.slot == 0u || isClosed);
  }
  // Pages with bytes stay as they are until they begin anew.
  if (workgroupUniformLoad(&line_answer) == 1u) {
    if (addToLines(pack, head, base, lane)) {
      return;
    }
    openLines(base, pack.slot, lane);
  }
  putBytes(pack, head, base, lane);
}

// Whether there is room.
fn addToLines(pack: Pack, head: u32, base: u32, lane: u32) -> bool {
  if (PLANE_VECTORS < TABLE_VECTORS) {
    return false;
  }
  readLines(base, pack.slot, lane);
  clearMarks(lane);
  for (var i = lane; i < CHUNKS * LINES; i += PACK_SIZE) {
    atomicStore(&token_counts[i], 0u);
  }
  for (var token = lane; token < pack.count; token += PACK_SIZE) {
    let parameters = vectorParametersAt(pack.page, head, pack.slot + token);
    token_parameters[token] = vec2<u32>(
      parameters.outerMinimum | (parameters.outerStep << 16u), parameters.innerMinimum | (parameters.innerStep << 16u),
    );
  }
  workgroupBarrier();
  let edges = edgesOf();
  markNew(pack, head, edges, lane);
  for (var line = lane; line < LINES; line += PACK_SIZE) {
    line_kept[line] = keptOf(line, pack.slot);
  }
  workgroupBarrier();
  for (var line = lane; line < LINES; line += PACK_SIZE) {
    line_vectors[line] = (line_kept[line] + marksOf(line) + 7u) / 8u;
  }
  workgroupBarrier();
  orderLines(lane);
  let vectors = workgroupUniformLoad(&line_answer);
  if (vectors > RECORD_VECTORS) {
    return false;
  }
  putLines(base, lane);
  putEnds(pack, base, lane);
  storageBarrier();
  workgroupBarrier();
  addNew(pack, head, base, edges, lane);
  if (lane == 0u) {
    atomicOr(&memory[base + tensor_endsWord + LINES - 1u], CLOSED);
  }
  return true;
}

// Of a page that begins anew there are none.
fn readLines(base: u32, slots: u32, lane: u32) {
  let plane = base + tensor_outliersWord;
  if (slots == 0u) {
    for (var line = lane; line < LINES; line += PACK_SIZE) {
      line_entries[line] = 0u;
    }
    return;
  }
  for (var i = lane; i < LINES; i += PACK_SIZE) {
    let entry = wordAt(plane + i);
    line_entries[entry % LINES] = entry;
  }
  for (var first = lane; first < RECORD_WORDS; first += BATCH * PACK_SIZE) {
    var words: array<u32, BATCH>;
    for (var j = 0u; j < BATCH; j += 1u) {
      words[j] = wordAt(plane + LINES + min(first + j * PACK_SIZE, RECORD_WORDS - 1u));
    }
    for (var j = 0u; j < BATCH; j += 1u) {
      if (first + j * PACK_SIZE < RECORD_WORDS) {
        records[first + j * PACK_SIZE] = words[j];
      }
    }
  }
}

// First of the words of a line's records, among `records`.
fn firstWordOf(entry: u32) -> u32 {
  return (((entry >> 8u) & 0xffffu) - TABLE_VECTORS) * 4u;
}

fn recordOf(entry: u32, number: u32) -> u32 {
  return extractBits(records[firstWordOf(entry) + number / 2u], 16u * (number % 2u), 16u);
}

fn positionOf(record: u32) -> u32 {
  return (record >> 7u) & 0xffu;
}

struct Place {
  token: u32,
  channel: u32,
}

fn placeOf(line: u32, position: u32) -> Place {
  return Place(select(line, position, tensor_reducesTokens), select(position, line, tensor_reducesTokens));
}

// Records of slots before `slots`: the first ones of a line, because records are in the order of positions.
fn keptOf(line: u32, slots: u32) -> u32 {
  let entry = line_entries[line];
  var count = 8u * (entry >> 24u);
  while (count > 0u && !stays(line, positionOf(recordOf(entry, count - 1u)), slots)) {
    count -= 1u;
  }
  return count;
}

fn stays(line: u32, position: u32, slots: u32) -> bool {
  return position != NOWHERE && placeOf(line, position).token < slots;
}

fn clearMarks(lane: u32) {
  for (var i = lane; i < 4u * LINES; i += PACK_SIZE) {
    atomicStore(&marks[i], 0u);
  }
}

fn mark(row: u32, position: u32) {
  atomicOr(&marks[4u * row + position / 32u], 1u << (position % 32u));
}

fn marksBefore(row: u32, position: u32) -> u32 {
  var count = 0u;
  for (var i = 0u; i < position / 32u; i += 1u) {
    count += countOneBits(atomicLoad(&marks[4u * row + i]));
  }
  return count + countOneBits(atomicLoad(&marks[4u * row + position / 32u]) & ((1u << (position % 32u)) - 1u));
}

fn marksOf(row: u32) -> u32 {
  var count = 0u;
  for (var i = 0u; i < 4u; i += 1u) {
    count += countOneBits(atomicLoad(&marks[4u * row + i]));
  }
  return count;
}

// Values of new tokens: neighbour lanes have neighbour channels.
fn newValues(pack: Pack, head: u32, first: u32) -> array<f32, BATCH> {
  var values: array<f32, BATCH>;
  for (var j = 0u; j < BATCH; j += 1u) {
    let number = min(first + j * PACK_SIZE, pack.count * tensor_headDim - 1u);
    values[j] = scratchValue(elementIndex(pack, pack.slot + number / tensor_headDim, head, number % tensor_headDim));
  }
  return values;
}

fn markNew(pack: Pack, head: u32, edges: Edges, lane: u32) {
  for (var first = lane; first < pack.count * tensor_headDim; first += BATCH * PACK_SIZE) {
    let values = newValues(pack, head, first);
    for (var j = 0u; j < BATCH; j += 1u) {
      let number = first + j * PACK_SIZE;
      if (number < pack.count * tensor_headDim && bandOf(values[j], edges) != MIDDLE) {
        let token = number / tensor_headDim;
        let channel = number % tensor_headDim;
        let slot = pack.slot + token;
        mark(select(slot, channel, tensor_reducesTokens), select(channel, slot, tensor_reducesTokens));
        atomicAdd(&token_counts[number / CHUNK], 1u);
      }
    }
  }
}

// The table, where each line begins among the records, and how many vectors they all are.
fn orderLines(lane: u32) {
  for (var line = lane; line < LINES; line += PACK_SIZE) {
    let own = line_vectors[line];
    var rank = 0u;
    var first = 0u;
    for (var other = 0u; other < LINES; other += 1u) {
      let vectors = line_vectors[other];
      if (vectors > own || (vectors == own && other < line)) {
        rank += 1u;
        first += vectors;
      }
    }
    line_firsts[line] = first;
    line_table[rank % 32u * 4u + rank / 32u] = line | (select(first + TABLE_VECTORS, 0u, own == 0u) << 8u) | (own << 24u);
    if (rank == LINES - 1u) {
      line_answer = first + own;
    }
  }
}

// The table and the records that stay, each line followed by room for its new ones.
fn putLines(base: u32, lane: u32) {
  let plane = base + tensor_outliersWord;
  for (var i = lane; i < LINES; i += PACK_SIZE) {
    atomicStore(&memory[plane + i], line_table[i]);
  }
  for (var line = lane; line < LINES; line += PACK_SIZE) {
    let old = firstWordOf(line_entries[line]);
    let first = plane + LINES + 4u * line_firsts[line];
    let kept = line_kept[line];
    for (var i = 0u; i < 4u * line_vectors[line]; i += 1u) {
      var word = NO_RECORDS;
      if (2u * i < kept) {
        let mask = select(0xffffu, 0xffffffffu, 2u * i + 1u < kept);
        word = (records[old + i] & mask) | (NO_RECORDS & ~mask);
      }
      atomicStore(&memory[first + i], word);
    }
  }
}

// End offsets of new tokens, as of bytes: a lane has two tokens.
fn putEnds(pack: Pack, base: u32, lane: u32) {
  let ends = base + tensor_endsWord + pack.slot;
  var end = 0u;
  if (pack.slot > 0u) {
    end = wordAt(ends - 1u) >> 16u;
  }
  let first = countsOf(2u * lane);
  let second = countsOf(2u * lane + 1u);
  counts[lane] = first.x + first.y + second.x + second.y;
  workgroupBarrier();
  for (var i = 0u; i < PACK_SIZE; i += 1u) {
    end += select(0u, counts[i], i < lane);
  }
  if (2u * lane < pack.count) {
    atomicStore(&memory[ends + 2u * lane], (end + first.x) | ((end + first.x + first.y) << 16u));
  }
  end += first.x + first.y;
  if (2u * lane + 1u < pack.count) {
    atomicStore(&memory[ends + 2u * lane + 1u], (end + second.x) | ((end + second.x + second.y) << 16u));
  }
}

// By chunk of a token.
fn countsOf(token: u32) -> vec2<u32> {
  return vec2<u32>(atomicLoad(&token_counts[2u * token]), atomicLoad(&token_counts[2u * token + 1u]));
}

fn addNew(pack: Pack, head: u32, base: u32, edges: Edges, lane: u32) {
  for (var first = lane; first < pack.count * tensor_headDim; first += BATCH * PACK_SIZE) {
    let values = newValues(pack, head, first);
    for (var j = 0u; j < BATCH; j += 1u) {
      let number = first + j * PACK_SIZE;
      let band = bandOf(values[j], edges);
      if (number < pack.count * tensor_headDim && band != MIDDLE) {
        let token = number / tensor_headDim;
        addRecord(base, pack.slot + token, number % tensor_headDim, values[j], band, token_parameters[token], edges);
      }
    }
  }
}

fn addRecord(base: u32, slot: u32, channel: u32, value: f32, band: u32, steps: vec2<u32>, edges: Edges) {
  let parameters = Parameters(0u, 0u, steps.x & 0xffffu, steps.x >> 16u, steps.y & 0xffffu, steps.y >> 16u);
  let outer = select(0u, 1u, band == OUTER);
  let side = select(0u, outer, value < edges.outerHigh);
  let code = bandCode(value, band, parameters, edges);
  let line = select(slot, channel, tensor_reducesTokens);
  let position = select(channel, slot, tensor_reducesTokens);
  let record = outer | (code << 2u) | (position << 7u) | (side << 15u);
  let at = 8u * line_firsts[line] + line_kept[line] + marksBefore(line, position);
  // Every record is written once, over none.
  let bits = (record ^ (NO_RECORDS & 0xffffu)) << (16u * (at % 2u));
  atomicXor(&memory[base + tensor_outliersWord + LINES + at / 2u], bits);
  putCode(base, slot, channel, 8u * side);
}

// `code`: canonical.
fn putCode(base: u32, token: u32, channel: u32, code: u32) {
  let number = select(channel, token, tensor_reducesTokens);
  let other = select(token, channel, tensor_reducesTokens);
  let shift = reductionShift(number, other);
  putReduced(base, number, other, reductionCode(placedCode(code), other) << shift, tensor_codeMask << shift);
}

// Others write other bits of the word.
fn putBits(index: u32, word: u32, mask: u32) {
  atomicAnd(&memory[index], ~mask);
  atomicOr(&memory[index], word & mask);
}

// Lines that had no room, as `addToLines` has read them, to bytes.
fn openLines(base: u32, slots: u32, lane: u32) {
  if (lane == 0u) {
    atomicAnd(&memory[base + tensor_endsWord + LINES - 1u], ~CLOSED);
  }
  if (slots == 0u) {
    return;
  }
  for (var i = lane; i < LINES; i += PACK_SIZE) {
    held_ends[i] = wordAt(base + tensor_endsWord + i);
  }
  clearMarks(lane);
  workgroupBarrier();
  for (var line = lane; line < LINES; line += PACK_SIZE) {
    for (var i = 0u; i < line_kept[line]; i += 1u) {
      let place = placeOf(line, positionOf(recordOf(line_entries[line], i)));
      mark(place.token, place.channel);
    }
  }
  workgroupBarrier();
  for (var line = lane; line < LINES; line += PACK_SIZE) {
    for (var i = 0u; i < line_kept[line]; i += 1u) {
      openRecord(base, line, recordOf(line_entries[line], i));
    }
  }
  storageBarrier();
  workgroupBarrier();
}

fn openRecord(base: u32, line: u32, record: u32) {
  let place = placeOf(line, positionOf(record));
  let code = (record >> 2u) & 31u;
  let outer = record & 1u;
  let fifth = select(code >> 4u, record >> 15u, outer == 1u);
  let first = select(held_ends[max(place.token, 1u) - 1u] >> 16u, 0u, place.token == 0u);
  let at = first + marksBefore(place.token, place.channel);
  putField(base + tensor_outliersWord, at, 8u, (place.channel % CHUNK) | (outer << 6u) | (fifth << 7u));
  putCode(base, place.token, place.channel, code & 15u);
}
