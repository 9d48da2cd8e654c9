/** ONNX files of tiny decoders of every form of attention: read, searched and cut. */
import { createHash } from 'node:crypto';
import { modelFromBytes } from '@lowbit-kv/model-onnx';
import { findSites } from '../../../../packages/model-onnx/src/attention/find-sites.js';
import { GraphView } from '../../../../packages/model-onnx/src/attention/graph-view.js';
import { partition } from '../../../../packages/model-onnx/src/cut/partition.js';
import { rotaryTables } from '../../../../packages/model-onnx/src/decoder/rotary-tables.js';
import { logitsOf, vocabularyOf } from '../../../../packages/model-onnx/src/model/outputs.js';
import { fingerprintOf, readModel } from '../../../../packages/model-onnx/src/model/read-model.js';
import { modelBytes } from '../../../../packages/model-onnx/test/support/graph-writer.js';
import { cached } from '../../../../packages/model-onnx/test/support/tiny-caches.js';
import { tinyDecoder } from '../../../../packages/model-onnx/test/support/tiny-decoders.js';
import { decomposed } from '../../../../packages/model-onnx/test/support/tiny-decomposed.js';
import { groupQuery } from '../../../../packages/model-onnx/test/support/tiny-group-query.js';
import { multiHead } from '../../../../packages/model-onnx/test/support/tiny-multi-head.js';
import { standardAttention } from '../../../../packages/model-onnx/test/support/tiny-standard.js';
import { mutateProtobuf } from '../mutate/protobuf.js';
import { mustHold, type Target } from '../target.js';

const SIZES = { vocabulary: 5, hidden: 8, queryHeads: 2, kvHeads: 1, headDim: 4, positions: 8 };
const FORMS = [
  ...[multiHead(), groupQuery(), standardAttention(), decomposed(), cached()],
  decomposed({ heads: 'rotary' }),
];
const CONFIG = { num_hidden_layers: 2, num_attention_heads: 2, num_key_value_heads: 1 };

export const onnx: Target = {
  name: 'onnx',
  codes: ['MODEL_INVALID', 'MODEL_UNSUPPORTED'],
  async open() {
    const seeds = FORMS.map((form) => modelBytes(tinyDecoder(form, { sizes: SIZES }).model));
    return {
      mutant: (random) => mutateProtobuf(random, random.pick(seeds)),
      async check(mutant) {
        const files = modelFromBytes({ model: mutant, config: CONFIG });
        const { model, fingerprint } = await readModel(files);
        mustHold((await fingerprintOf(files)) === fingerprint, 'fingerprints of two readers');
        // Of models without external data, which files in memory lack.
        const hash = createHash('sha256').update(mutant).digest('hex');
        mustHold(hash === fingerprint, 'fingerprint of the bytes');
        const view = new GraphView(model);
        const logits = logitsOf(view.graph.output);
        const { sites, segments } = partition(view, findSites(view, files.config), logits);
        mustHold(sites.length > 0 && segments.length > 1, 'a cut into one part');
        const known = new Set(view.graph.node);
        for (const { nodes } of segments)
          mustHold(
            nodes.every((node) => known.has(node)),
            'nodes of the graph',
          );
        for (const { geometry } of sites) {
          const numbers = [geometry.queryHeads, geometry.kvHeads, geometry.keyHeadDim];
          mustHold(
            numbers.every((number) => Number.isSafeInteger(number) && number > 0),
            `heads ${numbers}`,
          );
        }
        rotaryTables(view, sites);
        const vocabulary = vocabularyOf(view.shape(logits), files.config);
        mustHold(Number.isSafeInteger(vocabulary) && vocabulary > 0, `vocabulary ${vocabulary}`);
      },
    };
  },
};
