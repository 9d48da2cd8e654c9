// The sparse bytes of outlier bands, docs/block-format.md 5: in the order of slots, chunks and channels. One workgroup: the new
// slots of one head of one page, one chunk to a lane. A head that overflows its room is named in `faults`.

const CHUNK = 64u;
const CHUNKS = (tensor_headDim + CHUNK - 1u) / CHUNK;

@group(0) @binding(4) var<storage, read_write> faults: array<atomic<u32>>;

var<workgroup> counts: array<u32, PACK_SIZE>;

// `base`: the first word of the head.
fn putBytes(pack: Pack, head: u32, base: u32, lane: u32) {
  let edges = edgesOf();
  let items = pack.count * CHUNKS;
  var end = 0u;
  if (pack.slot > 0u) {
    end = fieldAt(base + tensor_endsWord, pack.slot * CHUNKS - 1u, tensor_endWidth);
  }
  for (var first = 0u; first < items; first += PACK_SIZE) {
    let item = first + lane;
    let slot = pack.slot + min(item, items - 1u) / CHUNKS;
    let channel = item % CHUNKS * CHUNK;
    let width = select(0u, min(CHUNK, tensor_headDim - channel), item < items);
    let element = elementIndex(pack, slot, head, channel);
    var count = 0u;
    for (var i = 0u; i < width; i += 1u) {
      count += select(1u, 0u, bandOf(scratchValue(element + i), edges) == MIDDLE);
    }
    counts[lane] = count;
    workgroupBarrier();
    var at = end;
    for (var i = 0u; i < PACK_SIZE; i += 1u) {
      at += select(0u, counts[i], i < lane);
      end += counts[i];
    }
    workgroupBarrier();
    if (width > 0u) {
      putOutliers(base, element, width, at, vectorParametersAt(pack.page, head, slot), edges);
      let ends = slot * CHUNKS + item % CHUNKS;
      putField(base + tensor_endsWord, ends, tensor_endWidth, min(at + count, tensor_capacity));
    }
  }
  if (lane == 0u && end > tensor_capacity) {
    atomicMin(&faults[0], job.entries * 65536u + head);
  }
}

// Bytes of one chunk of one slot, from byte `first` on.
fn putOutliers(base: u32, element: u32, width: u32, first: u32, parameters: Parameters, edges: Edges) {
  var at = first;
  for (var i = 0u; i < width; i += 1u) {
    let value = scratchValue(element + i);
    let band = bandOf(value, edges);
    if (band == MIDDLE) {
      continue;
    }
    if (at < tensor_capacity) {
      putField(base + tensor_outliersWord, at, 8u, i | outlierBits(value, band, parameters, edges));
    }
    at += 1u;
  }
}

// Bit 6 is set for the outer band; bit 7 for its low side, or the fifth bit of an inner code.
fn outlierBits(value: f32, band: u32, parameters: Parameters, edges: Edges) -> u32 {
  if (band == OUTER) {
    return select(0xc0u, 0x40u, value >= edges.outerHigh);
  }
  return (bandCode(value, band, parameters, edges) >> 4u) << 7u;
}
