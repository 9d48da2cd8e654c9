// What the kernels that take tensors in are told. The table: first element of the source, first word of the result, heads, head
// dim, element type, elements, tokens of a batch, strides of batch, token and head, flag, 1 where all elements follow one
// another.

const IMPORT_SIZE = 64u;
const NO_FLAG = 0xffffffffu;
const KIND_F32 = 0u;
const KIND_BF16 = 2u;

// Where an element of the tensor lies in the source.
fn placeOf(element: u32) -> u32 {
  let table = job.table;
  let first = commands[table];
  if (commands[table + 11u] != 0u) {
    return first + element;
  }
  let dim = commands[table + 3u];
  let heads = commands[table + 2u];
  let row = element / dim;
  let token = row / heads;
  let perBatch = commands[table + 6u];
  return first + (token / perBatch) * commands[table + 7u] + (token % perBatch) * commands[table + 8u] +
    (row % heads) * commands[table + 9u] + element % dim;
}

// The flag keeps the first element that f16 cannot hold.
fn reportWord(bits: u32, element: u32) {
  let flag = commands[job.table + 10u];
  if (flag == NO_FLAG) {
    return;
  }
  if ((bits & 0x7c00u) == 0x7c00u) {
    atomicMin(&flags[flag], element);
  } else if ((bits & 0x7c000000u) == 0x7c000000u) {
    atomicMin(&flags[flag], element + 1u);
  }
}
