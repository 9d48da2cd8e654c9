/**
 * The codec in WGSL, with the signatures of `GroupCodec.wgsl`. GROUP_SIZE, GROUP_BYTES, GROUP_WORDS and `codecByte` are
 * defined before it.
 */
export function wgslText(): string {
  return /* wgsl */ `
const VALUES_PER_BYTE: u32 = 5u;
const SCALE_BYTES: u32 = 2u;

fn finiteBits(value: f32) -> u32 {
  let bits = bitcast<u32>(value);
  let magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) { return 0u; }
  return select(bits, bits - 1u, magnitude == 0x7f800000u);
}

fn fixedPoint(bits: u32, largest: u32) -> u32 {
  let exponent = (bits >> 23u) & 255u;
  let shift = 8u + largest - exponent;
  if (exponent == 0u || shift > 23u) { return 0u; }
  return ((bits & 0x7fffffu) | 0x800000u) >> shift;
}

fn meanAsF16(total: u32, count: u32, largest: u32) -> u32 {
  let mean = (total * 128u) / count;
  let top = 31u - countLeadingZeros(mean);
  let rounded = (mean + (1u << (top - 11u))) >> (top - 10u);
  let carry = rounded >> 11u;
  let exponent = i32(top + carry + largest) - 134;
  if (exponent < 1) { return 0x0400u; }
  if (exponent > 30) { return 0x7bffu; }
  return (u32(exponent) << 10u) | ((rounded >> carry) & 0x3ffu);
}

fn encodeGroup(values: array<f32, GROUP_SIZE>) -> array<u32, GROUP_WORDS> {
  var bits: array<u32, GROUP_SIZE>;
  var input = values;
  var largest = 0u;
  for (var i = 0u; i < GROUP_SIZE; i++) {
    bits[i] = finiteBits(input[i]);
    largest = max(largest, (bits[i] >> 23u) & 255u);
  }
  var sum = 0u;
  for (var i = 0u; i < GROUP_SIZE; i++) { sum += fixedPoint(bits[i], largest); }
  var total = 0u;
  var count = 0u;
  var digits: array<u32, GROUP_SIZE>;
  for (var i = 0u; i < GROUP_SIZE; i++) {
    let magnitude = fixedPoint(bits[i], largest);
    digits[i] = 1u;
    if (magnitude * 10u * GROUP_SIZE > 7u * sum) {
      total += magnitude;
      count += 1u;
      digits[i] = select(2u, 0u, (bits[i] >> 31u) == 1u);
    }
  }
  var words: array<u32, GROUP_WORDS>;
  if (count > 0u) { words[0] = meanAsF16(total, count, largest); }
  for (var at = SCALE_BYTES; at < GROUP_BYTES; at++) {
    let first = (at - SCALE_BYTES) * VALUES_PER_BYTE;
    var byte = 0u;
    for (var i = min(first + VALUES_PER_BYTE, GROUP_SIZE); i > first; i--) {
      byte = byte * 3u + digits[i - 1u];
    }
    words[at / 4u] |= byte << (8u * (at % 4u));
  }
  return words;
}

fn decodeGroup(firstByte: u32) -> array<f32, GROUP_SIZE> {
  let half = codecByte(firstByte) | (codecByte(firstByte + 1u) << 8u);
  // Scales are 0 or normal numbers, so widening moves the exponent.
  let scale = select(bitcast<f32>((half << 13u) + 0x38000000u), 0.0, half == 0u);
  var values: array<f32, GROUP_SIZE>;
  for (var first = 0u; first < GROUP_SIZE; first += VALUES_PER_BYTE) {
    var byte = codecByte(firstByte + SCALE_BYTES + first / VALUES_PER_BYTE);
    for (var i = first; i < min(first + VALUES_PER_BYTE, GROUP_SIZE); i++) {
      values[i] = select(select(0.0, scale, byte % 3u == 2u), -scale, byte % 3u == 0u);
      byte /= 3u;
    }
  }
  return values;
}
`;
}
