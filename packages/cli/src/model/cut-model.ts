/**
 * A model cut at its attention, with the sessions that attend: all of it open, or nothing.
 */
import {
  AttentionSessions,
  type Decoder,
  type ModelFiles,
  openCutDecoder,
  type SessionSettings,
} from '@lowbit-kv/model-onnx';

export interface CutModel {
  readonly decoder: Decoder;
  readonly attention: AttentionSessions;
  dispose(): Promise<void>;
}

export async function openCutModel(
  files: ModelFiles,
  settings: SessionSettings,
): Promise<CutModel> {
  const attention = await AttentionSessions.open(settings);
  const decoder = await openCutDecoder(files, settings);
  return {
    decoder,
    attention,
    async dispose() {
      await Promise.all([decoder.dispose(), attention.release()]);
    },
  };
}
