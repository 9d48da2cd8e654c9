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
export {
  type ChatMessage,
  type ChatOptions,
  readChatTemplate,
  renderChat,
} from './text/chat-template.js';
export {
  createSampler,
  type Distribution,
  distributionOf,
  largestLogit,
  type SampleOptions,
  type Sampler,
} from './text/sample.js';
export type { TextStream } from './text/text-stream.js';
export {
  type DecodeOptions,
  type EncodeOptions,
  openTokenizer,
  type Tokenizer,
} from './text/tokenizer.js';
export type { SpecialTokens, TokenizerFiles } from './text/tokenizer-files.js';
