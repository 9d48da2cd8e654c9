// Attention over what integer-pages.wgsl does not meet: tokens that one tensor at least keeps in f16, or that lie in other slots
// of their pages. A segment is a tile: no more tokens than there are lanes. The workgroup memory also holds the query as f32 by
// channel, and weights as f32 by token of the tile.

fn attendRest(running: ptr<function, Running>, work: Work, lane: u32) {
  let head = work.head;
  let added = addedDots();
  for (var s = 0u; s < work.segments; s += 1u) {
    let segment = segmentAt(work.firstSegment + s);
    let count = segment.count;
    let firstToken = segment.position;
    let position = positionsOf(work.firstPosition, work.firstRow);
    let nothing = vec4<f32>(NOTHING);
    // At most four tokens a lane.
    var logits = Rows(nothing, nothing, nothing, nothing);
    var offset = lane;
    if (segment.key_source == SOURCE_PACKED) {
      let slot = segment.key_slot;
      let dotted = keyDots(Slots(segment.key_page / 4u + head * key_headWords / 4u, slot, count), lane, false);
      // Wraps for tokens before the tile, which are then not below its count.
      offset = 4u * lane - slot;
      logits = Rows(
        select(nothing, capped(dotted.a + added), seen(offset, count, firstToken, position)),
        select(nothing, capped(dotted.b + added), seen(offset + 1u, count, firstToken, position)),
        select(nothing, capped(dotted.c + added), seen(offset + 2u, count, firstToken, position)),
        select(nothing, capped(dotted.d + added), seen(offset + 3u, count, firstToken, position)),
      );
    } else {
      holdQuery(lane);
      workgroupBarrier();
      // Lanes past the last token repeat it unseen: lanes that part ways may not meet again before the next reduction.
      let token = min(lane, count - 1u);
      let dotted = plainDots(segment.key_source, segment.key_page, segment.key_slot + token, head);
      logits.a = select(nothing, capped(dotted), seen(lane, count, firstToken, position));
    }
    let maximum = raise(running, logits, lane);
    var shares = Rows(
      shown(exp2(logits.a - maximum), logits.a), shown(exp2(logits.b - maximum), logits.b),
      shown(exp2(logits.c - maximum), logits.c), shown(exp2(logits.d - maximum), logits.d),
    );
    (*running).sum += shares.a + shares.b + shares.c + shares.d;
    // Nobody still reads parts of keys or the query, or the maximum.
    workgroupBarrier();
    if (lane == 0u) {
      row_maximum = maximum;
    }
    keepWeight(offset, shares.a);
    if (segment.key_source == SOURCE_PACKED) {
      keepWeight(offset + 1u, shares.b);
      keepWeight(offset + 2u, shares.c);
      keepWeight(offset + 3u, shares.d);
    }
    workgroupBarrier();
    if (segment.value_source == SOURCE_PACKED) {
      let slot = segment.value_slot;
      let begin = 4u * lane - slot;
      shares = Rows(
        weightAt(begin, count), weightAt(begin + 1u, count), weightAt(begin + 2u, count), weightAt(begin + 3u, count),
      );
      workgroupBarrier();
      let values = Slots(segment.value_page / 4u + head * value_headWords / 4u, slot, count);
      addPacked(running, valueDots(values, shares, &(*running).constants, lane, false), shares);
    } else {
      (*running).plain =
        plainValues((*running).plain, segment.value_source, segment.value_page, segment.value_slot, count, head, lane);
    }
    workgroupBarrier();
  }
}

// The query as f32, a vector over rows by channel.
fn holdQuery(lane: u32) {
  let channels = transposed(queryAt(row_queries + vec4<u32>(lane)));
  holdChannel(4u * lane, channels.a);
  holdChannel(4u * lane + 1u, channels.b);
  holdChannel(4u * lane + 2u, channels.c);
  holdChannel(4u * lane + 3u, channels.d);
}

fn holdChannel(channel: u32, rows: vec4<f32>) {
  parts[SPARE_SET * SET + channel] = bitcast<vec4<u32>>(rows);
}

fn heldChannel(channel: u32) -> vec4<f32> {
  return bitcast<vec4<f32>>(parts[SPARE_SET * SET + channel]);
}

// Probabilities of a tile of at most as many tokens as there are lanes, and of one outside.
fn keepWeight(token: u32, weight: vec4<f32>) {
  parts[SPARE_SET * SET + min(token, LANES)] = bitcast<vec4<u32>>(weight);
}

fn keptWeight(token: u32) -> vec4<f32> {
  return bitcast<vec4<f32>>(parts[SPARE_SET * SET + min(token, LANES)]);
}

fn weightAt(offset: u32, count: u32) -> vec4<f32> {
  return select(vec4<f32>(0.0), keptWeight(offset), offset < count);
}

// Eight channels of a key in f16 against four rows.
fn eightDots(words: vec4<u32>, channel: u32) -> vec4<f32> {
  let low = fourHalves(words, false);
  let high = fourHalves(words, true);
  return heldChannel(channel) * low.x + heldChannel(channel + 1u) * low.y +
    heldChannel(channel + 2u) * low.z + heldChannel(channel + 3u) * low.w +
    heldChannel(channel + 4u) * high.x + heldChannel(channel + 5u) * high.y +
    heldChannel(channel + 6u) * high.z + heldChannel(channel + 7u) * high.w;
}

// Dot products of four rows with one f16 token; eight loads are on their way at once.
fn plainDots(source: u32, page: u32, slot: u32, head: u32) -> vec4<f32> {
  var dot = vec4<f32>(0.0);
  if (source == SOURCE_WINDOW) {
    let at = page / 8u + (head * WINDOW_TOKENS + slot) * (DIM / 8u);
    for (var i = 0u; i < DIM / 8u + job.zero; i += 8u) {
      let a = key_memory[at + i];
      let b = key_memory[at + i + 1u];
      let c = key_memory[at + i + 2u];
      let d = key_memory[at + i + 3u];
      let e = key_memory[at + i + 4u];
      let f = key_memory[at + i + 5u];
      let g = key_memory[at + i + 6u];
      let h = key_memory[at + i + 7u];
      dot += eightDots(a, 8u * i) + eightDots(b, 8u * i + 8u) + eightDots(c, 8u * i + 16u) + eightDots(d, 8u * i + 24u);
      dot += eightDots(e, 8u * i + 32u) + eightDots(f, 8u * i + 40u) + eightDots(g, 8u * i + 48u) +
        eightDots(h, 8u * i + 56u);
    }
    return dot;
  }
  let at = (page + (slot * key_heads + head) * DIM) / 2u;
  for (var i = 0u; i < DIM / 8u + job.zero; i += 4u) {
    let a = inputWords(at + 4u * i);
    let b = inputWords(at + 4u * i + 4u);
    let c = inputWords(at + 4u * i + 8u);
    let d = inputWords(at + 4u * i + 12u);
    dot += eightDots(a, 8u * i) + eightDots(b, 8u * i + 8u) + eightDots(c, 8u * i + 16u) + eightDots(d, 8u * i + 24u);
  }
  return dot;
}

fn inputWords(at: u32) -> vec4<u32> {
  return vec4<u32>(inputs[at], inputs[at + 1u], inputs[at + 2u], inputs[at + 3u]);
}

// Adds f16 values, weighted; a lane owns four channels. Eight tokens are on their way at once.
fn plainValues(rows: Rows, source: u32, page: u32, slot: u32, count: u32, head: u32, lane: u32) -> Rows {
  var result = rows;
  for (var t = 0u; t < count + job.zero; t += 8u) {
    let a = plainValue(source, page, slot + t, head, lane);
    // Past the last token there is nothing to read: the last one again.
    let b = plainValue(source, page, slot + min(t + 1u, count - 1u), head, lane);
    let c = plainValue(source, page, slot + min(t + 2u, count - 1u), head, lane);
    let d = plainValue(source, page, slot + min(t + 3u, count - 1u), head, lane);
    let e = plainValue(source, page, slot + min(t + 4u, count - 1u), head, lane);
    let f = plainValue(source, page, slot + min(t + 5u, count - 1u), head, lane);
    let g = plainValue(source, page, slot + min(t + 6u, count - 1u), head, lane);
    let h = plainValue(source, page, slot + min(t + 7u, count - 1u), head, lane);
    result = withValue(result, a, t, count);
    result = withValue(result, b, t + 1u, count);
    result = withValue(result, c, t + 2u, count);
    result = withValue(result, d, t + 3u, count);
    result = withValue(result, e, t + 4u, count);
    result = withValue(result, f, t + 5u, count);
    result = withValue(result, g, t + 6u, count);
    result = withValue(result, h, t + 7u, count);
  }
  return result;
}

// Four f16 values of the lane.
fn plainValue(source: u32, page: u32, slot: u32, head: u32, lane: u32) -> vec2<u32> {
  if (source == SOURCE_WINDOW) {
    let words = value_memory[page / 8u + (head * WINDOW_TOKENS + slot) * (DIM / 8u) + lane / 2u];
    return select(words.xy, words.zw, (lane & 1u) != 0u);
  }
  let at = (page + (slot * value_heads + head) * DIM) / 2u + 2u * lane;
  return vec2<u32>(inputs[at], inputs[at + 1u]);
}

fn withValue(rows: Rows, words: vec2<u32>, token: u32, count: u32) -> Rows {
  let value = vec4<f32>(unpack2x16float(words.x), unpack2x16float(words.y));
  let weight = weightAt(token, count);
  return Rows(
    rows.a + hidden(weight.x, value), rows.b + hidden(weight.y, value),
    rows.c + hidden(weight.z, value), rows.d + hidden(weight.w, value),
  );
}

// A weight of zero hides its value, whatever it is.
fn hidden(weight: f32, value: vec4<f32>) -> vec4<f32> {
  return select(weight * value, vec4<f32>(0.0), weight == 0.0);
}
