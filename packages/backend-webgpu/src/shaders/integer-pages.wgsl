// Attention over packed tokens that lie in the same slots of pages of both tensors: a segment is such a page, or a part of one.

fn attendPages(running: ptr<function, Running>, work: Work, lane: u32) {
  let head = work.head;
  let added = addedDots();
  for (var s = 0u; s < work.segments; s += 1u) {
    let segment = segmentAt(work.firstSegment + s);
    let slot = segment.key_slot;
    let count = segment.count;
    // A whole page that every row sees whole: nothing is masked.
    let full = count == PAGE && WINDOW_SIZE == 0u &&
      segment.position + PAGE <= work.firstPosition + work.firstRow / GROUP_HEADS + 1u;
    let dotted = keyDots(Slots(segment.key_page / 4u + head * key_headWords / 4u, slot, count), lane, true);
    var logits = Rows(
      capped(dotted.a + added), capped(dotted.b + added), capped(dotted.c + added), capped(dotted.d + added),
    );
    if (!full) {
      let position = positionsOf(work.firstPosition, work.firstRow);
      // Wraps for tokens before the segment, which are then not below its count.
      let offset = 4u * lane - slot;
      let nothing = vec4<f32>(NOTHING);
      logits = Rows(
        select(nothing, logits.a, seen(offset, count, segment.position, position)),
        select(nothing, logits.b, seen(offset + 1u, count, segment.position, position)),
        select(nothing, logits.c, seen(offset + 2u, count, segment.position, position)),
        select(nothing, logits.d, seen(offset + 3u, count, segment.position, position)),
      );
    }
    let maximum = raise(running, logits, lane);
    var shares = Rows(
      exp2(logits.a - maximum), exp2(logits.b - maximum), exp2(logits.c - maximum), exp2(logits.d - maximum),
    );
    if (!full) {
      shares = Rows(
        shown(shares.a, logits.a), shown(shares.b, logits.b), shown(shares.c, logits.c), shown(shares.d, logits.d),
      );
    }
    (*running).sum += shares.a + shares.b + shares.c + shares.d;
    // Nobody still reads parts of keys, or the maximum.
    workgroupBarrier();
    if (lane == 0u) {
      row_maximum = maximum;
    }
    let values = Slots(segment.value_page / 4u + head * value_headWords / 4u, slot, count);
    addPacked(running, valueDots(values, shares, &(*running).constants, lane, true), shares);
    workgroupBarrier();
  }
}
