// How code words of a page meet parts. Composed once for keys and once for values, after the part that knows the fields of a
// byte.
//
// Sums begin at the bits of a floating-point number whose last place is 1, so that they are such numbers when they end:
// 128 products of 8 bits stay within its exponent.

fn tensor_zeroSums() -> Sums {
  let zero = vec4<i32>(tensor_sumZero);
  return Sums(zero, zero, zero, zero, zero, zero, zero, zero);
}

// One word of codes against the words of four rows.
fn tensor_dots(word: u32, parts: vec4<u32>) -> vec4<i32> {
  if (tensor_signed) {
    return vec4<i32>(
      dot4I8Packed(word, parts.x), dot4I8Packed(word, parts.y), dot4I8Packed(word, parts.z), dot4I8Packed(word, parts.w),
    );
  }
  return bitcast<vec4<i32>>(vec4<u32>(
    dot4U8Packed(word, parts.x), dot4U8Packed(word, parts.y), dot4U8Packed(word, parts.z), dot4U8Packed(word, parts.w),
  ));
}

// Sums of dot products with codes alone; number i of a lane times tensor_slopes[i] is what its codes give.
fn tensor_numbers(sums: Sums) -> Rows {
  let high = tensor_fieldSums(
    bitcast<vec4<f32>>(sums.highA), bitcast<vec4<f32>>(sums.highB), bitcast<vec4<f32>>(sums.highC), bitcast<vec4<f32>>(sums.highD),
  );
  if (PARTS == 1u) {
    return high;
  }
  let low = tensor_fieldSums(
    bitcast<vec4<f32>>(sums.lowA), bitcast<vec4<f32>>(sums.lowB), bitcast<vec4<f32>>(sums.lowC), bitcast<vec4<f32>>(sums.lowD),
  );
  return Rows(256.0 * high.a + low.a, 256.0 * high.b + low.b, 256.0 * high.c + low.c, 256.0 * high.d + low.d);
}

// f16 parameters of the lane's four channels in group number `group` along tokens.
fn tensor_channelParameters(plane: u32, group: u32, lane: u32) -> vec4<f32> {
  return fourHalves(tensor_memory[plane + group * (DIM / 8u) + lane / 2u], (lane & 1u) != 0u);
}

// f16 parameters of the lane's four tokens: for each the groups along channels.
fn tensor_tokenParameters(plane: u32, lane: u32) -> Rows {
  if (tensor_groupsPerRow == 1u) {
    let tokens = fourHalves(tensor_memory[plane + lane / 2u], (lane & 1u) != 0u);
    return Rows(vec4<f32>(tokens.x), vec4<f32>(tokens.y), vec4<f32>(tokens.z), vec4<f32>(tokens.w));
  }
  if (tensor_groupsPerRow == 2u) {
    let words = tensor_memory[plane + lane];
    let low = fourHalves(words, false);
    let high = fourHalves(words, true);
    return Rows(low.xyxy, low.zwzw, high.xyxy, high.zwzw);
  }
  let first = tensor_memory[plane + 2u * lane];
  let second = tensor_memory[plane + 2u * lane + 1u];
  return Rows(fourHalves(first, false), fourHalves(first, true), fourHalves(second, false), fourHalves(second, true));
}
