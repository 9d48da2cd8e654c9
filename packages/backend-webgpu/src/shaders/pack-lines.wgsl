// Outliers as attention walks over them, in place of their bytes: by lines, which are tokens of keys, channels of values. They
// are closed at the end of every pack, where they have room, and opened again at the beginning of the next. A bit of the last
// end offset says that lines are closed.
//
//   32 vectors of four words, one for each lane: its lines, the heaviest first; lines of one component are of about one length
//     bits 31..24 vectors of the line   23..8 the first of them, in the plane   7..0 the line
//   vectors of eight records of 16 bits, of one line, filled up with records of position 128
//     15 side, or 0 for inner   14..7 position: the channel (keys) or token (values)   6..2 code   0 outer
//
// While lines are closed, the place of an outlier among the codes holds the middle code next to the inner band: of the low side
// for outliers with side, of the high side for others.

const LINES = 128u;
const TABLE_VECTORS = 32u;
const PLANE_VECTORS = min(tensor_capacity / 16u, 384u);
const RECORD_VECTORS = max(PLANE_VECTORS, TABLE_VECTORS) - TABLE_VECTORS;
const NO_RECORDS = 0x40004000u;
const NOWHERE = 128u;
const CLOSED = 0x80000000u;

// By line, or by token, a bit for each position.
var<workgroup> marks: array<atomic<u32>, 4u * LINES>;
var<workgroup> records: array<atomic<u32>, 4u * max(RECORD_VECTORS, 1u)>;
var<workgroup> line_table: array<u32, LINES>;
var<workgroup> line_vectors: array<u32, LINES>;
var<workgroup> line_firsts: array<u32, LINES>;
var<workgroup> line_answer: u32;
// End offsets and bytes, read once: what is atomic comes from far.
var<workgroup> held_ends: array<u32, LINES>;
var<workgroup> held_bytes: array<u32, 2u * max(RECORD_VECTORS, 1u)>;

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

fn holdEnds(base: u32, lane: u32) {
  for (var i = lane; i < LINES; i += PACK_SIZE) {
    held_ends[i] = wordAt(base + tensor_endsWord + i);
  }
}

// First byte of a token, of its second chunk, and the end.
fn bytesOf(token: u32) -> vec3<u32> {
  let own = held_ends[token];
  let before = held_ends[max(token, 1u) - 1u] >> 16u;
  return vec3<u32>(select(before, 0u, token == 0u), own & 0xffffu, own >> 16u);
}

fn byteAt(number: u32) -> u32 {
  return extractBits(held_bytes[number / 4u], 8u * (number % 4u), 8u);
}

fn channelOf(byte: u32, secondChunk: u32) -> u32 {
  return (byteAt(byte) & 63u) + select(0u, 64u, byte >= secondChunk);
}

// Canonical.
fn codeAt(base: u32, token: u32, channel: u32) -> u32 {
  let number = select(channel, token, tensor_reducesTokens);
  let other = select(token, channel, tensor_reducesTokens);
  let code = fieldAt(base + reductionWord(number, other), reductionShift(number, other) / 4u, 4u);
  return canonicalMiddle(reductionCode(code, other));
}

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

// Lines to bytes, of the slots before `slots`; others are forgotten.
fn openLines(base: u32, slots: u32, lane: u32) {
  if (lane == 0u) {
    let at = base + tensor_endsWord + LINES - 1u;
    line_answer = select(0u, 1u, slots > 0u && wordAt(at) >= CLOSED);
    atomicAnd(&memory[at], ~CLOSED);
  }
  if (workgroupUniformLoad(&line_answer) == 0u) {
    return;
  }
  let plane = base + tensor_outliersWord;
  for (var i = lane; i < LINES; i += PACK_SIZE) {
    line_table[i] = wordAt(plane + i);
  }
  for (var i = lane; i < 4u * RECORD_VECTORS; i += PACK_SIZE) {
    atomicStore(&records[i], wordAt(plane + LINES + i));
  }
  holdEnds(base, lane);
  clearMarks(lane);
  workgroupBarrier();
  for (var i = lane; i < LINES; i += PACK_SIZE) {
    markLine(line_table[i], slots);
  }
  workgroupBarrier();
  for (var i = lane; i < LINES; i += PACK_SIZE) {
    openLine(base, line_table[i], slots);
  }
  storageBarrier();
  workgroupBarrier();
}

struct Place {
  token: u32,
  channel: u32,
}

fn placeOf(line: u32, position: u32) -> Place {
  return Place(select(line, position, tensor_reducesTokens), select(position, line, tensor_reducesTokens));
}

// Record number `number` of a line of the table.
fn recordOf(entry: u32, number: u32) -> u32 {
  let at = (((entry >> 8u) & 0xffffu) - TABLE_VECTORS) * 8u + number;
  return extractBits(atomicLoad(&records[at / 2u]), 16u * (at % 2u), 16u);
}

fn positionOf(record: u32) -> u32 {
  return (record >> 7u) & 0xffu;
}

fn markLine(entry: u32, slots: u32) {
  for (var i = 0u; i < 8u * (entry >> 24u); i += 1u) {
    let position = positionOf(recordOf(entry, i));
    let place = placeOf(entry & 0xffu, position);
    if (position != NOWHERE && place.token < slots) {
      mark(place.token, place.channel);
    }
  }
}

fn openLine(base: u32, entry: u32, slots: u32) {
  for (var i = 0u; i < 8u * (entry >> 24u); i += 1u) {
    let record = recordOf(entry, i);
    let place = placeOf(entry & 0xffu, positionOf(record));
    if (positionOf(record) == NOWHERE || place.token >= slots) {
      continue;
    }
    let code = (record >> 2u) & 31u;
    let outer = record & 1u;
    let fifth = select(code >> 4u, record >> 15u, outer == 1u);
    let at = bytesOf(place.token).x + marksBefore(place.token, place.channel);
    putField(base + tensor_outliersWord, at, 8u, (place.channel % 64u) | (outer << 6u) | (fifth << 7u));
    putCode(base, place.token, place.channel, code & 15u);
  }
}

// Bytes of all slots before `slots` to lines, if they have room.
fn closeLines(base: u32, slots: u32, lane: u32) {
  storageBarrier();
  workgroupBarrier();
  holdEnds(base, lane);
  workgroupBarrier();
  if (lane == 0u) {
    line_answer = bytesOf(slots - 1u).z;
  }
  let end = workgroupUniformLoad(&line_answer);
  if (end > 8u * RECORD_VECTORS || PLANE_VECTORS < TABLE_VECTORS) {
    return;
  }
  for (var i = lane; i < (end + 3u) / 4u; i += PACK_SIZE) {
    held_bytes[i] = wordAt(base + tensor_outliersWord + i);
  }
  clearMarks(lane);
  for (var i = lane; i < 4u * RECORD_VECTORS; i += PACK_SIZE) {
    atomicStore(&records[i], NO_RECORDS);
  }
  workgroupBarrier();
  for (var token = lane; token < slots; token += PACK_SIZE) {
    let bytes = bytesOf(token);
    for (var i = bytes.x; i < bytes.z; i += 1u) {
      let channel = channelOf(i, bytes.y);
      mark(select(token, channel, tensor_reducesTokens), select(channel, token, tensor_reducesTokens));
    }
  }
  workgroupBarrier();
  for (var line = lane; line < LINES; line += PACK_SIZE) {
    line_vectors[line] = (marksBefore(line, LINES - 1u) + lastMark(line) + 7u) / 8u;
  }
  workgroupBarrier();
  orderLines(lane);
  let vectors = workgroupUniformLoad(&line_answer);
  if (vectors > RECORD_VECTORS) {
    return;
  }
  for (var token = lane; token < slots; token += PACK_SIZE) {
    let bytes = bytesOf(token);
    for (var i = bytes.x; i < bytes.z; i += 1u) {
      closeByte(base, i, token, channelOf(i, bytes.y));
    }
  }
  workgroupBarrier();
  let plane = base + tensor_outliersWord;
  for (var i = lane; i < LINES; i += PACK_SIZE) {
    atomicStore(&memory[plane + i], line_table[i]);
  }
  for (var i = lane; i < 4u * vectors; i += PACK_SIZE) {
    atomicStore(&memory[plane + LINES + i], atomicLoad(&records[i]));
  }
  if (lane == 0u) {
    atomicOr(&memory[base + tensor_endsWord + LINES - 1u], CLOSED);
  }
}

fn lastMark(line: u32) -> u32 {
  return atomicLoad(&marks[4u * line + 3u]) >> 31u;
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

fn closeByte(base: u32, byte: u32, token: u32, channel: u32) {
  let bits = byteAt(byte);
  let outer = (bits >> 6u) & 1u;
  let fifth = bits >> 7u;
  let side = outer & fifth;
  let code = codeAt(base, token, channel) | select(fifth << 4u, 0u, outer == 1u);
  let line = select(token, channel, tensor_reducesTokens);
  let position = select(channel, token, tensor_reducesTokens);
  let record = outer | (code << 2u) | (position << 7u) | (side << 15u);
  let at = line_firsts[line] * 8u + marksBefore(line, position);
  // Every record is written once, over none.
  atomicXor(&records[at / 2u], (record ^ (NO_RECORDS & 0xffffu)) << (16u * (at % 2u)));
  putCode(base, token, channel, 8u * side);
}
