/**
 * @lowbit-kv/model-onnx: ONNX decoders cut at their attention.
 */
export { type CutSettings, openCutDecoder } from './decoder/cut-decoder.js';
export type {
  Attend,
  Decoder,
  DecoderLayer,
  ForwardOptions,
  LayerTensors,
  OnLogits,
} from './decoder/decoder.js';
export { layerGeometry } from './decoder/decoder.js';
export { openUncut, type UncutDecoder } from './decoder/uncut.js';
export { type EvaluatedModelOptions, evaluatedModel } from './evaluated-model.js';
export {
  type GenerateOptions,
  type Generation,
  type GenerationEnd,
  generate,
} from './generate/generate.js';
export {
  type ExtendOptions,
  openTokenRun,
  type TokenRun,
  type TokenRunOptions,
} from './generate/token-run.js';
export { type FetchedFile, type FetchedModel, fetchModel } from './hub/fetch-model.js';
export type { FetchModelOptions, FetchProgress } from './hub/options.js';
export {
  type InjectedDecoder,
  type InjectedForward,
  openInjectedDecoder,
} from './inject/injected-decoder.js';
export { type InjectedModelOptions, injectedModel } from './inject/injected-model.js';
export { openInjectedRun } from './inject/injected-run.js';
export { injectionNote } from './inject/injected-sequence.js';
export type { LayerRows, TokenRows } from './inject/token-rows.js';
export { type CaptureOptions, captureModel } from './measure/capture.js';
export { type ModelSampleOptions, modelSamples } from './measure/model-samples.js';
export type { ModelConfig } from './model/config.js';
export {
  type ModelBytes,
  type ModelFiles,
  type ModelFilesOptions,
  modelFromBytes,
  openModelFiles,
} from './model/model-files.js';
export type { SessionSettings } from './model/session.js';
export { AttentionSessions } from './replay/attention-graph.js';
export { parseStress, STRESS_LENSES, type StressLens, stressed } from './stress/lenses.js';
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
