// Takes a tensor out of a buffer of the caller: f32, f16 or bf16, with strides, into dense f16 or f32. One invocation: one
// word of the result.

@group(0) @binding(2) var<storage, read> source: array<u32>;
@group(0) @binding(3) var<storage, read_write> result: array<u32>;
@group(0) @binding(4) var<storage, read_write> flags: array<atomic<u32>>;

fn elementAt(element: u32) -> f32 {
  let place = placeOf(element);
  let kind = commands[job.table + 4u];
  if (kind == KIND_F32) {
    return bitcast<f32>(source[place]);
  }
  let bits = halfAt(source[place / 2u], place);
  return select(f16Value(bits), bitcast<f32>(bits << 16u), kind == KIND_BF16);
}

@compute @workgroup_size(IMPORT_SIZE)
fn takeTensor(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let word = (group.x + group.z * 32768u) * IMPORT_SIZE + lane;
  let elements = commands[job.table + 5u];
  let at = commands[job.table + 1u] + word;
  if (WIDE) {
    if (word < elements) {
      result[at] = bitcast<u32>(elementAt(word));
    }
    return;
  }
  let element = 2u * word;
  if (element >= elements) {
    return;
  }
  let low = f16Bits(elementAt(element));
  var high = 0u;
  if (element + 1u < elements) {
    high = f16Bits(elementAt(element + 1u));
  }
  let bits = low | (high << 16u);
  result[at] = bits;
  reportWord(bits, element);
}
