/**
 * Keeps a GPU busy for a while, as its clocks fall when it has little to do: what is timed comes right after.
 */
import { Stopwatch } from '../src/stopwatch.js';

const WORKGROUPS = 4096;
const FIRST_TRIPS = 4096;
/** One dispatch takes about so long: drivers end what takes seconds. */
const DISPATCH_MICROSECONDS = 10_000;

const CODE = `
@group(0) @binding(0) var<uniform> trips: vec4<u32>;
@group(0) @binding(1) var<storage, read_write> results: array<f32>;

@compute @workgroup_size(64)
fn burn(@builtin(global_invocation_id) id: vec3<u32>) {
  var value = f32(id.x);
  for (var i = 0u; i < trips.x; i += 1u) {
    value = fma(value, 0.999f, 0.25f);
  }
  if (value < 0.0) {
    results[0] = value;
  }
}`;

export class Burner {
  readonly #device: GPUDevice;
  readonly #trips: GPUBuffer;
  readonly #results: GPUBuffer;
  readonly #pipeline: GPUComputePipeline;
  readonly #group: GPUBindGroup;

  private constructor(device: GPUDevice) {
    this.#device = device;
    this.#trips = device.createBuffer({ size: 16, usage: 0x48 }); // UNIFORM | COPY_DST
    this.#results = device.createBuffer({ size: 16, usage: 0x80 }); // STORAGE
    this.#pipeline = device.createComputePipeline({
      layout: 'auto',
      compute: { module: device.createShaderModule({ code: CODE }), entryPoint: 'burn' },
    });
    this.#group = device.createBindGroup({
      layout: this.#pipeline.getBindGroupLayout(0),
      entries: [this.#trips, this.#results].map((buffer, binding) => ({
        binding,
        resource: { buffer },
      })),
    });
  }

  /** Finds out how fast the device is. It needs the feature timestamp-query. */
  static async create(device: GPUDevice): Promise<Burner> {
    const burner = new Burner(device);
    let trips = FIRST_TRIPS;
    for (let round = 0; round < 3; round++) {
      const stopwatch = new Stopwatch(device, 2);
      const encoder = device.createCommandEncoder();
      burner.#write(trips);
      burner.#burn(encoder);
      stopwatch.note(encoder);
      burner.#burn(encoder);
      stopwatch.note(encoder);
      const [microseconds = DISPATCH_MICROSECONDS] = await stopwatch.submit(encoder);
      stopwatch.dispose();
      trips = Math.max(1, Math.round((trips * DISPATCH_MICROSECONDS) / Math.max(1, microseconds)));
    }
    burner.#write(trips);
    return burner;
  }

  /** Records work that takes about so long. */
  record(encoder: GPUCommandEncoder, microseconds: number): void {
    for (let i = 0; i < microseconds; i += DISPATCH_MICROSECONDS) this.#burn(encoder);
  }

  dispose(): void {
    this.#trips.destroy();
    this.#results.destroy();
  }

  #write(trips: number): void {
    this.#device.queue.writeBuffer(this.#trips, 0, Uint32Array.of(trips, 0, 0, 0));
  }

  #burn(encoder: GPUCommandEncoder): void {
    const pass = encoder.beginComputePass();
    pass.setPipeline(this.#pipeline);
    pass.setBindGroup(0, this.#group);
    pass.dispatchWorkgroups(WORKGROUPS);
    pass.end();
  }
}
