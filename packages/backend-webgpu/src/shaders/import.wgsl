// Takes a tensor out of a buffer of the caller: f32, f16 or bf16, with strides, into dense f16 or f32. One invocation: one
// word of the result.

const IMPORT_SIZE = 64u;
const NO_FLAG = 0xffffffffu;

@group(0) @binding(2) var<storage, read> source: array<u32>;
@group(0) @binding(3) var<storage, read_write> result: array<u32>;
@group(0) @binding(4) var<storage, read_write> flags: array<atomic<u32>>;

// The element type of the source: 0 f32, 1 f16, 2 bf16.
fn sourceValue(kind: u32, index: u32) -> f32 {
  if (kind == 0u) {
    return bitcast<f32>(source[index]);
  }
  let bits = halfAt(source[index / 2u], index);
  return select(f16Value(bits), bitcast<f32>(bits << 16u), kind == 2u);
}

fn elementAt(table: u32, element: u32) -> f32 {
  let dim = commands[table + 3u];
  let heads = commands[table + 2u];
  let row = element / dim;
  let token = row / heads;
  let perBatch = commands[table + 6u];
  let place = commands[table] + (token / perBatch) * commands[table + 7u] +
    (token % perBatch) * commands[table + 8u] + (row % heads) * commands[table + 9u] + element % dim;
  return sourceValue(commands[table + 4u], place);
}

// The table: first element of the source, first word of the result, heads, head dim, element type, elements, tokens of a
// batch, strides of batch, token and head, flag.
@compute @workgroup_size(IMPORT_SIZE)
fn takeTensor(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let table = job.table;
  let word = (group.x + group.z * 32768u) * IMPORT_SIZE + lane;
  let elements = commands[table + 5u];
  if (WIDE) {
    if (word < elements) {
      result[commands[table + 1u] + word] = bitcast<u32>(elementAt(table, word));
    }
    return;
  }
  let element = 2u * word;
  if (element >= elements) {
    return;
  }
  let low = f16Bits(elementAt(table, element));
  var high = 0u;
  if (element + 1u < elements) {
    high = f16Bits(elementAt(table, element + 1u));
  }
  result[commands[table + 1u] + word] = low | (high << 16u);
  let flag = commands[table + 10u];
  if (flag == NO_FLAG) {
    return;
  }
  // The first element that f16 cannot hold.
  if ((low & 0x7c00u) == 0x7c00u) {
    atomicMin(&flags[flag], element);
  } else if ((high & 0x7c00u) == 0x7c00u) {
    atomicMin(&flags[flag], element + 1u);
  }
}
