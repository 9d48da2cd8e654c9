/**
 * The codec in CUDA C++, with the signatures of `GroupCodec.cuda`. GROUP_SIZE and GROUP_BYTES are defined before it. It is
 * plain C++ behind `__device__`, so that a test can run it without a GPU.
 */
export function cudaText(): string {
  return `
__device__ unsigned finiteBits(float value) {
  unsigned bits;
  memcpy(&bits, &value, 4);
  unsigned magnitude = bits & 0x7fffffffu;
  if (magnitude > 0x7f800000u) return 0u;
  return magnitude == 0x7f800000u ? bits - 1u : bits;
}

__device__ unsigned fixedPoint(unsigned bits, unsigned largest) {
  unsigned exponent = (bits >> 23) & 255u;
  unsigned shift = 8u + largest - exponent;
  if (exponent == 0u || shift > 23u) return 0u;
  return ((bits & 0x7fffffu) | 0x800000u) >> shift;
}

__device__ unsigned meanAsF16(unsigned total, unsigned count, unsigned largest) {
  unsigned mean = total * 128u / count;
  unsigned top = 31u;
  while ((mean >> top) == 0u) top--;
  unsigned rounded = (mean + (1u << (top - 11u))) >> (top - 10u);
  unsigned carry = rounded >> 11;
  int exponent = (int)(top + carry + largest) - 134;
  if (exponent < 1) return 0x0400u;
  if (exponent > 30) return 0x7bffu;
  return ((unsigned)exponent << 10) | ((rounded >> carry) & 0x3ffu);
}

__device__ void encodeGroup(const float* values, unsigned char* bytes) {
  unsigned largest = 0u;
  for (int i = 0; i < GROUP_SIZE; i++) {
    unsigned exponent = (finiteBits(values[i]) >> 23) & 255u;
    if (exponent > largest) largest = exponent;
  }
  unsigned sum = 0u;
  for (int i = 0; i < GROUP_SIZE; i++) sum += fixedPoint(finiteBits(values[i]), largest);
  unsigned total = 0u;
  unsigned count = 0u;
  unsigned char digits[GROUP_SIZE];
  for (int i = 0; i < GROUP_SIZE; i++) {
    unsigned bits = finiteBits(values[i]);
    unsigned magnitude = fixedPoint(bits, largest);
    digits[i] = 1;
    if (magnitude * 10u * GROUP_SIZE > 7u * sum) {
      total += magnitude;
      count++;
      digits[i] = (bits >> 31) ? 0 : 2;
    }
  }
  unsigned scale = count == 0u ? 0u : meanAsF16(total, count, largest);
  bytes[0] = scale & 255u;
  bytes[1] = scale >> 8;
  for (int at = 2, first = 0; at < GROUP_BYTES; at++, first += 5) {
    unsigned byte = 0u;
    int end = first + 5 < GROUP_SIZE ? first + 5 : GROUP_SIZE;
    for (int i = end - 1; i >= first; i--) byte = byte * 3u + digits[i];
    bytes[at] = byte;
  }
}

__device__ void decodeGroup(const unsigned char* bytes, float* values) {
  unsigned half = bytes[0] | (bytes[1] << 8);
  // Scales are 0 or normal numbers, so widening moves the exponent.
  unsigned bits = half == 0u ? 0u : (half << 13) + 0x38000000u;
  float scale;
  memcpy(&scale, &bits, 4);
  unsigned byte = 0u;
  for (int i = 0; i < GROUP_SIZE; i++) {
    byte = i % 5 == 0 ? bytes[2 + i / 5] : byte / 3u;
    unsigned digit = byte % 3u;
    values[i] = digit == 1u ? 0.0f : digit == 2u ? scale : -scale;
  }
}
`;
}
