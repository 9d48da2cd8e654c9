/**
 * @lowbit-kv/model-onnx: ONNX decoders cut at their attention.
 */
export type {
  Attend,
  Decoder,
  DecoderLayer,
  ForwardOptions,
  LayerTensors,
  OnLogits,
} from './decoder/decoder.js';
