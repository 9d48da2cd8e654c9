// A scheme file with a codec: one bf16 magnitude and a sign for each of 32 channels.
const tensor = {
  bits: 1,
  groups: { along: 'channels', size: 32 },
  quantizer: { mode: 'codec', codes: 'signs', version: 1, groupBytes: 6 },
  parameters: {},
  window: { recent: 0, flush: 1 },
};

export default {
  specVersion: 1,
  id: 'signs-only',
  title: 'Signs only',
  sinks: 0,
  packing: 'before-attention',
  key: tensor,
  value: tensor,
  calibration: { kind: 'none' },
  codecs: [
    {
      id: 'signs',
      version: 1,
      groupSize: 32,
      groupBytes: 6,
      encodeGroup(values, bytes) {
        let sum = 0;
        bytes.fill(0);
        values.forEach((value, i) => {
          const magnitude = Math.min(Math.abs(value) || 0, 65504);
          sum += magnitude;
          if (value < 0) bytes[2 + (i >> 3)] |= 1 << (i & 7);
        });
        // The upper half of an f32 is enough of a mean.
        const [mean] = new Uint32Array(Float32Array.of(sum / 32).buffer);
        bytes[0] = (mean >>> 16) & 255;
        bytes[1] = mean >>> 24;
      },
      decodeGroup(bytes, values) {
        const bits = ((bytes[1] << 24) | (bytes[0] << 16)) >>> 0;
        const [mean] = new Float32Array(Uint32Array.of(bits).buffer);
        for (let i = 0; i < 32; i++)
          values[i] = (bytes[2 + (i >> 3)] >> (i & 7)) & 1 ? -mean : mean;
      },
    },
  ],
};
