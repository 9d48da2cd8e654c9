/**
 * Stands for an engine with kernels of its own: one of them makes queries, keys and values of new tokens out of their
 * numbers. A real engine multiplies by weights here.
 */
export interface EngineShape {
  readonly queryHeads: number;
  readonly kvHeads: number;
  readonly headDim: number;
}

export interface ProjectedBuffers {
  readonly query: GPUBuffer;
  readonly key: GPUBuffer;
  readonly value: GPUBuffer;
}

interface Projection {
  readonly pipeline: GPUComputePipeline;
  /** Of one token. */
  readonly elements: number;
}

const LANES = 64;

const code = (heads: number, dim: number, seed: number) => `
@group(0) @binding(0) var<storage, read_write> result: array<f32>;
@group(0) @binding(1) var<storage, read> tokens: array<u32>;

@compute @workgroup_size(${LANES})
fn project(@builtin(global_invocation_id) id: vec3<u32>) {
  let row = ${heads * dim}u;
  if (id.x >= tokens[0] * row) {
    return;
  }
  let token = tokens[1 + id.x / row];
  result[id.x] = sin(f32(token * 37u + (id.x % row) * 11u + ${seed}u) * 0.1);
}
`;

/** Records projections; what they write is f32 `[tokens, heads, headDim]`. */
export class Engine {
  readonly #device: GPUDevice;
  readonly #projections: readonly Projection[];
  readonly buffers: ProjectedBuffers;

  constructor(
    device: GPUDevice,
    { queryHeads, kvHeads, headDim }: EngineShape,
    mostTokens: number,
  ) {
    this.#device = device;
    const of = (heads: number, seed: number) => ({
      pipeline: device.createComputePipeline({
        layout: 'auto',
        compute: { module: device.createShaderModule({ code: code(heads, headDim, seed) }) },
      }),
      elements: heads * headDim,
    });
    this.#projections = [of(queryHeads, 1), of(kvHeads, 2), of(kvHeads, 3)];
    const usage = 0x80 | 0x4; // STORAGE | COPY_SRC
    const buffer = (heads: number) =>
      device.createBuffer({ size: mostTokens * heads * headDim * 4, usage });
    this.buffers = { query: buffer(queryHeads), key: buffer(kvHeads), value: buffer(kvHeads) };
  }

  project(encoder: GPUCommandEncoder, tokens: readonly number[]): void {
    const numbers = this.#device.createBuffer({
      size: (tokens.length + 1) * 4,
      usage: 0x80,
      mappedAtCreation: true,
    });
    new Uint32Array(numbers.getMappedRange()).set([tokens.length, ...tokens]);
    numbers.unmap();
    const { query, key, value } = this.buffers;
    for (const [i, result] of [query, key, value].entries()) {
      const { pipeline, elements } = this.#projections[i] as Projection;
      const pass = encoder.beginComputePass();
      pass.setPipeline(pipeline);
      pass.setBindGroup(
        0,
        this.#device.createBindGroup({
          layout: pipeline.getBindGroupLayout(0),
          entries: [
            { binding: 0, resource: { buffer: result } },
            { binding: 1, resource: { buffer: numbers } },
          ],
        }),
      );
      pass.dispatchWorkgroups(Math.ceil((tokens.length * elements) / LANES));
      pass.end();
    }
  }
}
