/**
 * Reference backends with one fault each, for the tests of the contract suite: every one of them must be caught.
 */
import {
  type AttentionResult,
  type Backend,
  type BlockLayout,
  type BlockStore,
  f32Tensor,
  type LayerPlan,
  type Plan,
  type Quantizer,
  referenceBackend,
  type Span,
  type TensorCalibration,
  type TensorPlan,
  type TensorView,
  type Transform,
} from '../../src/index.js';

type StoreChange = (inner: BlockStore, plan: Plan) => Partial<BlockStore>;

/** The reference backend with some methods of its stores replaced, or its stores made for another plan. */
export function doctored(
  change: StoreChange,
  planChange: (plan: Plan) => Plan = (plan) => plan,
): Backend {
  const reference = referenceBackend();
  return {
    ...reference,
    id: 'doctored',
    createStore: async (plan, options) => {
      const inner = await reference.createStore(planChange(plan), options);
      const store: BlockStore = {
        get allocatedBytes() {
          return inner.allocatedBytes;
        },
        append: (job) => inner.append(job),
        attend: (job) => inner.attend(job),
        settle: (step) => inner.settle(step),
        forget: (step) => inner.forget(step),
        readPages: (request) => inner.readPages(request),
        writePages: (request, bytes) => inner.writePages(request, bytes),
        dispose: () => inner.dispose(),
      };
      return Object.defineProperties(store, Object.getOwnPropertyDescriptors(change(inner, plan)));
    },
  };
}

/** A result whose read-back output or log-sum-exp is another. */
function withResult(
  result: AttentionResult,
  change: (data: { output: Float32Array; logSumExp: Float32Array | undefined }) => void,
): AttentionResult {
  return {
    ...result,
    read: async () => {
      const { output, logSumExp } = await result.read();
      const data = {
        output: (output.data as Float32Array).slice(),
        logSumExp: (logSumExp?.data as Float32Array | undefined)?.slice(),
      };
      change(data);
      return {
        output: f32Tensor(data.output, output.shape),
        logSumExp: data.logSumExp && f32Tensor(data.logSumExp, logSumExp?.shape ?? []),
      };
    },
  };
}

export function zeroOutput(): Backend {
  return doctored((inner) => ({
    attend: (job) => withResult(inner.attend(job), ({ output }) => output.fill(0)),
  }));
}

/** The first query head answers for the last and the other way round. */
export function swappedHeads(): Backend {
  return doctored((inner) => ({
    attend: (job) => {
      const result = inner.attend(job);
      const [rows, heads, dim] = result.output.shape as [number, number, number];
      return withResult(result, ({ output }) => {
        for (let row = 0; row < rows; row++) {
          const first = row * heads * dim;
          const last = first + (heads - 1) * dim;
          const kept = output.slice(first, first + dim);
          output.copyWithin(first, last, last + dim);
          output.set(kept, last);
        }
      });
    },
  }));
}

export function binaryLogarithm(): Backend {
  return doctored((inner) => ({
    attend: (job) =>
      withResult(inner.attend(job), ({ logSumExp }) => {
        for (const i of logSumExp?.keys() ?? []) (logSumExp as Float32Array)[i]! *= Math.LOG2E;
      }),
  }));
}

/** Where heads of a layer are stored apart, what belongs to one unit is done to the first of the layer. */
export function takesUnitsForLayers(): Backend {
  return doctored((inner, plan) => {
    const first = (index: number) => {
      const { layer } = plan.layers[index] as LayerPlan;
      return plan.layers.findIndex((unit) => unit.layer === layer);
    };
    return { attend: (job) => inner.attend({ ...job, layer: first(job.layer) }) };
  });
}

/** Changes pages after the steps that packed into them, from the slot that was packed last. */
function withPages(
  change: (bytes: Uint8Array, layout: BlockLayout, slot: number, count: number) => void,
): Backend {
  return doctored((inner, plan) => {
    const touched: {
      layer: number;
      tensor: 'key' | 'value';
      page: number;
      slot: number;
      count: number;
    }[] = [];
    return {
      append: (job) => {
        inner.append(job);
        for (const tensor of ['key', 'value'] as const) {
          for (const { page, slot, count } of job.work[tensor].packs)
            touched.push({ layer: job.layer, tensor, page, slot, count });
        }
      },
      settle: async (step) => {
        await inner.settle(step);
        for (const { layer, tensor, page, slot, count } of touched.splice(0)) {
          const { layout } = (plan.layers[layer] as LayerPlan)[tensor];
          if (layout === null) continue;
          const request = { layer, tensor, kind: 'packed', pages: [page] } as const;
          const bytes = await inner.readPages(request);
          change(bytes, layout, slot, count);
          await inner.writePages(request, bytes);
        }
      },
    };
  });
}

/** Every group that is not the first of its page gets the scale of the group before it. */
export function staleScale(): Backend {
  return withPages((bytes, layout, slot) => {
    const scale = layout.parameters.find(({ name }) => name === 'scale');
    if (scale === undefined || slot === 0 || layout.tokensPerGroup > slot) return;
    const perToken = (layout.headDim / layout.channelsPerGroup) * 2;
    const at = scale.offset + (slot / layout.tokensPerGroup) * perToken;
    bytes.copyWithin(at, at - perToken, at);
  });
}

/** Scales of one byte are the next smaller number. */
export function shortScalesTooSmall(): Backend {
  return withPages((bytes, layout, slot, count) => {
    const scale = layout.parameters.find(({ type }) => type === 'e4m3' || type === 'e8m0');
    if (scale === undefined) return;
    const perToken = layout.headDim / layout.channelsPerGroup / layout.tokensPerGroup;
    const first = scale.offset + slot * perToken;
    for (let i = first; i < first + count * perToken; i++) if (bytes[i]! > 1) bytes[i]!--;
  });
}

/** Outliers are counted among channels one too low. */
export function outliersBesideTheirChannels(): Backend {
  return withPages((bytes, { top }, slot, count) => {
    if (top === undefined) return;
    const first = top.channels.offset + slot * top.count;
    for (let i = first; i < first + count * top.count; i++) if (bytes[i]! > 0) bytes[i]!--;
  });
}

/** Tables that are not scaled have other levels than the plan. */
export function otherLevels(): Backend {
  return tensorFault((tensor) => {
    const { scheme } = tensor;
    if (scheme.bits === 16 || typeof scheme.quantizer.codes !== 'object') return tensor;
    const { codes } = scheme.quantizer;
    if (codes.scaledBy !== 'none') return tensor;
    const levels = (codes.levels as readonly number[]).map((level) => level * 1.125);
    return {
      ...tensor,
      scheme: {
        ...scheme,
        quantizer: { ...scheme.quantizer, codes: { ...codes, levels } } as Quantizer,
      },
    };
  });
}

/** Attention never sees the newest token. */
export function forgetsNewest(): Backend {
  const shorter = ({ spans, statistics }: TensorView): TensorView => ({
    spans: spans
      .map((span, i): Span => (i === spans.length - 1 ? { ...span, count: span.count - 1 } : span))
      .filter(({ count }) => count > 0),
    statistics,
  });
  return doctored((inner) => ({
    attend: (job) =>
      inner.attend({
        ...job,
        sequences: job.sequences.map((sequence) => ({
          ...sequence,
          key: shorter(sequence.key),
          value: shorter(sequence.value),
        })),
      }),
  }));
}

/** Packs the tokens one later than it should: the first is lost, the last twice. */
export function packsOneLate(): Backend {
  const late = (spans: readonly Span[]): Span[] =>
    spans.map((span) => (span.slot === 0 ? span : { ...span, slot: span.slot - 1 }));
  return doctored((inner) => ({
    append: (job) => {
      const change = (work: (typeof job.work)['key']) => ({
        ...work,
        packs: work.packs.map((pack) => ({ ...pack, sources: late(pack.sources) })),
      });
      inner.append({ ...job, work: { key: change(job.work.key), value: change(job.work.value) } });
    },
  }));
}

export function geometryFault(change: (layer: LayerPlan['geometry']) => object): Backend {
  return doctored(
    () => ({}),
    (plan) => ({
      ...plan,
      layers: plan.layers.map((layer) => ({
        ...layer,
        geometry: { ...layer.geometry, ...change(layer.geometry) },
      })),
    }),
  );
}

/** Executes other transforms than those of the plan. */
export function transformFault(change: (transform: Transform) => Transform): Backend {
  return tensorFault((plan) =>
    plan.scheme.bits === 16
      ? plan
      : {
          ...plan,
          scheme: { ...plan.scheme, transforms: (plan.scheme.transforms ?? []).map(change) },
        },
  );
}

/** Executes with other calibrated values than those of the plan. */
export function calibrationFault(
  change: (values: Required<TensorCalibration>) => TensorCalibration,
): Backend {
  return tensorFault((plan) => {
    const values = plan.calibration as Required<TensorCalibration> | null;
    return values === null ? plan : { ...plan, calibration: { ...values, ...change(values) } };
  });
}

function tensorFault(change: (plan: TensorPlan) => TensorPlan): Backend {
  return doctored(
    () => ({}),
    (plan) => ({
      ...plan,
      layers: plan.layers.map((layer) => ({
        ...layer,
        key: change(layer.key),
        value: change(layer.value),
      })),
    }),
  );
}

/** A page that two sequences share is written without being copied first. */
export function copiesNothing(): Backend {
  return doctored((inner) => ({
    append: (job) =>
      inner.append({
        ...job,
        work: {
          key: { ...job.work.key, copies: [] },
          value: { ...job.work.value, copies: [] },
        },
      }),
  }));
}

/** Channel statistics stay what they were. */
export function keepsStatistics(): Backend {
  return doctored((inner) => ({
    append: (job) =>
      inner.append({
        ...job,
        work: {
          key: { ...job.work.key, statistics: [] },
          value: { ...job.work.value, statistics: [] },
        },
      }),
  }));
}

export function losesRestoredPages(): Backend {
  return doctored(() => ({ writePages: async () => undefined }));
}

/** Small values are rounded away before they are stored. */
export function flushesSubnormals(): Backend {
  return doctored((inner) => ({
    append: (job) => {
      for (const tensor of [job.key, job.value]) {
        if (!('data' in tensor)) continue;
        for (const [i, bits] of tensor.data.entries())
          if ((bits & 0x7c00) === 0) tensor.data[i] = bits & 0x8000;
      }
      inner.append(job);
    },
  }));
}

export function miscountsBytes(): Backend {
  return doctored((inner) => ({
    get allocatedBytes() {
      return inner.allocatedBytes + 64;
    },
  }));
}

export function refusesEverything(reasons: readonly string[] = ['nothing is executed']): Backend {
  return {
    ...doctored(() => ({})),
    supports: () => ({ kind: 'refused', reasons }),
  };
}

/** Executes only plans whose layers all have this head dim. */
export function onlyHeadDim(headDim: number): Backend {
  return {
    ...doctored(() => ({})),
    supports: (plan) =>
      plan.layers.every(({ key, value }) => key.headDim === headDim && value.headDim === headDim)
        ? { kind: 'native' }
        : { kind: 'refused', reasons: [`head dims other than ${headDim} are not executed`] },
  };
}
