// Decoded tokens, [token, channel].

var<workgroup> staged: array<f32, STAGED * STAGED_CHANNELS>;
