// Reductions over the 32 lanes of a workgroup that is one subgroup.

// A maximum of logits to base 2 stays while none is larger by more than this: weights may be as large as 2^8.
const SLACK = vec4<f32>(8.0);

// What a lane of each quarter of the lanes holds, to all.
fn ofQuarters(value: f32) -> vec4<f32> {
  return vec4<f32>(
    subgroupShuffle(value, 0u), subgroupShuffle(value, 8u), subgroupShuffle(value, 16u), subgroupShuffle(value, 24u),
  );
}

fn largestOfLanes(value: vec4<f32>, lane: u32) -> vec4<f32> {
  let upperHalf = (lane & 16u) != 0u;
  let upperQuarter = (lane & 8u) != 0u;
  let pair = max(
    select(value.xy, value.zw, upperHalf), subgroupShuffleXor(select(value.zw, value.xy, upperHalf), 16u),
  );
  var one = max(select(pair.x, pair.y, upperQuarter), subgroupShuffleXor(select(pair.y, pair.x, upperQuarter), 8u));
  one = max(one, subgroupShuffleXor(one, 4u));
  one = max(one, subgroupShuffleXor(one, 2u));
  one = max(one, subgroupShuffleXor(one, 1u));
  return ofQuarters(one);
}

// The maximum so far, or that of all lanes where one is too far above it.
fn raisedBy(value: vec4<f32>, maximum: vec4<f32>, lane: u32) -> vec4<f32> {
  if (subgroupAny(any(value > maximum + SLACK))) {
    return max(maximum, largestOfLanes(value, lane));
  }
  return maximum;
}

fn sumOfLanes(value: vec4<f32>, lane: u32) -> vec4<f32> {
  return subgroupAdd(value);
}

struct Pair {
  first: vec4<f32>,
  second: vec4<f32>,
}

// Sums of two vectors over all lanes.
fn sumsOfLanes(a: vec4<f32>, b: vec4<f32>, lane: u32) -> Pair {
  let upperHalf = (lane & 16u) != 0u;
  let upperQuarter = (lane & 8u) != 0u;
  let odd = (lane & 4u) != 0u;
  let four = select(a, b, upperHalf) + subgroupShuffleXor(select(b, a, upperHalf), 16u);
  let two = select(four.xy, four.zw, upperQuarter) + subgroupShuffleXor(select(four.zw, four.xy, upperQuarter), 8u);
  var one = select(two.x, two.y, odd) + subgroupShuffleXor(select(two.y, two.x, odd), 4u);
  one += subgroupShuffleXor(one, 2u);
  one += subgroupShuffleXor(one, 1u);
  return Pair(
    vec4<f32>(subgroupShuffle(one, 0u), subgroupShuffle(one, 4u), subgroupShuffle(one, 8u), subgroupShuffle(one, 12u)),
    vec4<f32>(subgroupShuffle(one, 16u), subgroupShuffle(one, 20u), subgroupShuffle(one, 24u), subgroupShuffle(one, 28u)),
  );
}

// Sums over all lanes of four vectors; a lane gets the one of its quarter of the lanes.
fn sumsByQuarter(a: vec4<f32>, b: vec4<f32>, c: vec4<f32>, d: vec4<f32>, lane: u32) -> vec4<f32> {
  let upperHalf = (lane & 16u) != 0u;
  let upperQuarter = (lane & 8u) != 0u;
  let first = select(a, c, upperHalf) + subgroupShuffleXor(select(c, a, upperHalf), 16u);
  let second = select(b, d, upperHalf) + subgroupShuffleXor(select(d, b, upperHalf), 16u);
  var sum = select(first, second, upperQuarter) + subgroupShuffleXor(select(second, first, upperQuarter), 8u);
  sum += subgroupShuffleXor(sum, 4u);
  sum += subgroupShuffleXor(sum, 2u);
  sum += subgroupShuffleXor(sum, 1u);
  return sum;
}
