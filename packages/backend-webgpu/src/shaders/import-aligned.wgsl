// Takes a tensor whose rows are made of aligned runs of eight elements out of a buffer of the caller, into dense f16. One
// invocation: one run.

@group(0) @binding(2) var<storage, read> source: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read_write> result: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read_write> flags: array<atomic<u32>>;

fn halvesOf(low: u32, high: u32) -> u32 {
  return f16Bits(bitcast<f32>(low)) | (f16Bits(bitcast<f32>(high)) << 16u);
}

@compute @workgroup_size(IMPORT_SIZE)
fn takeRuns(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let run = (group.x + group.z * 32768u) * IMPORT_SIZE + lane;
  let element = 8u * run;
  if (element >= commands[job.table + 5u]) {
    return;
  }
  let place = placeOf(element);
  let kind = commands[job.table + 4u];
  var bits: vec4<u32>;
  if (kind == KIND_F32) {
    let low = source[place / 4u];
    let high = source[place / 4u + 1u];
    bits = vec4<u32>(halvesOf(low.x, low.y), halvesOf(low.z, low.w), halvesOf(high.x, high.y), halvesOf(high.z, high.w));
  } else {
    bits = source[place / 8u];
    if (kind == KIND_BF16) {
      for (var i = 0u; i < 4u; i += 1u) {
        bits[i] = halvesOf(bits[i] << 16u, bits[i] & 0xffff0000u);
      }
    }
  }
  result[commands[job.table + 1u] / 4u + run] = bits;
  // Exponents of ones carry into the sign.
  let tops = (bits & vec4<u32>(0x7c007c00u)) + vec4<u32>(0x04000400u);
  if (((tops.x | tops.y | tops.z | tops.w) & 0x80008000u) != 0u) {
    for (var i = 0u; i < 4u; i += 1u) {
      reportWord(bits[i], element + 2u * i);
    }
  }
}
