// The cosine and sine of position * frequency, docs/law.md 9. A frequency is a number of turns in units of 2^-64, so that whole
// turns vanish in integer products at any position; what is left has 32 bits.

// The low 64 bits of position * frequency are a part of a turn; these are the high 32 of them.
fn turnOf(position: u32, high: u32, low: u32) -> u32 {
  let a = position & 0xffffu;
  let b = position >> 16u;
  let c = low & 0xffffu;
  let d = low >> 16u;
  let middle = a * d + ((a * c) >> 16u);
  let carry = b * c + (middle & 0xffffu);
  return position * high + b * d + (middle >> 16u) + (carry >> 16u);
}

// Cosine and sine of a turn. Within an eighth of a turn of a quarter, series are exact to the last bit but one of f32.
fn cosineAndSine(turn: u32) -> vec2<f32> {
  let quarter = (turn + 0x20000000u) >> 30u;
  let angle = f32(i32(turn - (quarter << 30u))) * 1.4629180792671596e-9;
  let square = angle * angle;
  let sine = angle + angle * square * (-1.0 / 6.0 + square * (1.0 / 120.0 + square * (-1.0 / 5040.0 + square / 362880.0)));
  let cosine = 1.0 - 0.5 * square +
    square * square * (1.0 / 24.0 + square * (-1.0 / 720.0 + square * (1.0 / 40320.0 - square / 3628800.0)));
  let swapped = select(vec2<f32>(cosine, sine), vec2<f32>(sine, cosine), (quarter & 1u) != 0u);
  let negative = vec2<bool>(((quarter + 1u) & 2u) != 0u, (quarter & 2u) != 0u);
  return select(swapped, -swapped, negative);
}
