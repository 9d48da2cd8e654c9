/**
 * A decoder cut at its attention: segments in onnxruntime, rotary embedding here, attention by the caller.
 */
import { findSites } from '../attention/find-sites.js';
import { GraphView } from '../attention/graph-view.js';
import { probeMasks } from '../cut/mask-probe.js';
import { partition } from '../cut/partition.js';
import { openSegments } from '../cut/segments.js';
import type { ModelFiles } from '../model/model-files.js';
import { logitsOf, vocabularyOf } from '../model/outputs.js';
import { readModel } from '../model/read-model.js';
import type { SessionSettings } from '../model/session.js';
import type { Decoder } from './decoder.js';
import { ForwardPass } from './forward.js';
import { contextLimitOf, geometryOf, layerOf } from './layers.js';
import { rotaryTables } from './rotary-tables.js';

const LOGITS_BYTES = 2 ** 28;

export interface CutSettings extends SessionSettings {
  /** Logits of a long window are made in parts of at most so many bytes, a token at least. Default 256 MiB. */
  readonly logitsBytes?: number;
}

/** Throws MODEL_INVALID, MODEL_UNSUPPORTED, PEER_MISSING, BACKEND_UNAVAILABLE. */
export async function openCutDecoder(
  files: ModelFiles,
  settings: CutSettings = {},
): Promise<Decoder> {
  const { model, fingerprint } = await readModel(files);
  const view = new GraphView(model);
  const logits = logitsOf(view.graph.output);
  const cut = partition(view, findSites(view, files.config), logits);
  const probed = await probeMasks(model, view, cut.sites, files.config, settings);
  const tables = rotaryTables(view, cut.sites);
  const layers = probed.sites.map((site, i) => layerOf(site, tables[i]?.embedding ?? null));
  const vocabularySize = vocabularyOf(view.shape(logits), files.config);
  const segments = await openSegments(model, view, cut, logits, settings);
  const dispose = async () => {
    await Promise.all(segments.map(({ session }) => session.release()));
  };
  const contextLimit = contextLimitOf(files.config, tables, probed.contextLimit);
  const pass = new ForwardPass({
    segments,
    vocabularySize,
    contextLimit,
    config: files.config,
    logitsTokens: logitsTokens(settings, vocabularySize),
    layers: layers.map(({ geometry }, i) => ({
      ...geometry,
      table: tables[i]?.table ?? null,
      preRope: geometry.rotary !== null,
    })),
  });
  try {
    pass.checkInputs();
  } catch (error) {
    await dispose();
    throw error;
  }
  return {
    geometry: geometryOf(layers),
    layers,
    vocabularySize,
    contextLimit,
    fingerprint,
    forward: (tokens, options) => pass.run(tokens, options),
    dispose,
  };
}

function logitsTokens({ logitsBytes = LOGITS_BYTES }: CutSettings, vocabularySize: number): number {
  return Math.max(1, Math.floor(logitsBytes / (Float32Array.BYTES_PER_ELEMENT * vocabularySize)));
}
