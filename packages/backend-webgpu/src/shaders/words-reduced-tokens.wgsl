// Code words of a patch that hold four neighbour slots by the channels of a byte.

const CODE_FIELDS = vec4<u32>(0u, 1u, 2u, 3u) % vec4<u32>(tensor_fields);
const CODE_SHIFTS = CODE_FIELDS * tensor_bits;
const CODE_FLIPS = select(vec4<u32>(tensor_lowFlip), vec4<u32>(tensor_topFlip), CODE_FIELDS == vec4<u32>(tensor_fields - 1u));

fn putCodes(values: ptr<function, Patch>, pack: Pack, page: u32, firstSlot: u32, firstChannel: u32, row: u32, column: u32, isWhole: bool) {
  for (var q = 0u; q < PATCH_QUADS; q += 1u) {
    let steps = quadSteps(row, column, q, 0u);
    let channel = column * PATCH_CHANNELS + 4u * q;
    for (var first = 0u; first < PATCH_SLOTS; first += 4u) {
      var words = vec4<u32>();
      for (var i = 0u; i < 4u; i += 1u) {
        let s = first + i;
        let codes = fourCodes((*values)[s * PATCH_QUADS + q], slotSteps(steps, row, column, s, 0u));
        words |= bytesOf(codes) << vec4<u32>(8u * i);
      }
      let slot = row * PATCH_SLOTS + first;
      for (var w = 0u; w < QUAD_WORDS; w += 1u) {
        let other = channel + w * tensor_fields;
        if (isWhole) {
          putInTile(slot, other, words[w]);
        } else {
          putReduced(page, firstSlot + slot, firstChannel + other, words[w], packedBytes(pack, firstSlot + slot));
        }
      }
    }
  }
}

// Codes of four channels in as many bytes as they fill.
fn bytesOf(codes: vec4<u32>) -> vec4<u32> {
  let fields = (codes ^ CODE_FLIPS) << CODE_SHIFTS;
  if (tensor_fields == 1u) {
    return fields;
  }
  if (tensor_fields == 2u) {
    return vec4<u32>(fields.x | fields.y, fields.z | fields.w, 0u, 0u);
  }
  return vec4<u32>(fields.x | fields.y | fields.z | fields.w, 0u, 0u, 0u);
}

// Bits of words whose slots are packed now.
fn packedBytes(pack: Pack, slot: u32) -> u32 {
  var mask = 0u;
  for (var i = 0u; i < 4u; i += 1u) {
    mask |= select(0u, ((1u << (tensor_bits * tensor_fields)) - 1u) << (8u * i), isPacked(pack, slot + i));
  }
  return mask;
}
