/**
 * A card in use: its context, a stream, the kernel images that it takes, and what caches share.
 */
import { LowbitKvError } from '@lowbit-kv/core';
import { CodecModules } from './codecs/codec-modules.js';
import { Context } from './driver/context.js';
import { type CudaOptions, openCuda } from './driver/cuda.js';
import { disposeAll } from './driver/dispose-all.js';
import { requireImage } from './driver/kernel-images.js';
import { Module } from './driver/module.js';
import { ptxOfKernel } from './driver/ptx.js';
import { Stream } from './driver/stream.js';
import { UploadRing } from './driver/upload-ring.js';
import type { ImageManifest, Part } from './images.js';
import { kernelManifest, partBytes } from './images.js';
import { findNvrtc, type NvrtcOptions, type NvrtcSearch } from './nvrtc/library.js';
import { BufferPool } from './store/buffer-pool.js';
import { Moves } from './store/moves.js';
import type { StepSession } from './store/step-session.js';

/** Where kernels come from. */
export interface KernelSource {
  readonly images: () => readonly ImageManifest[];
  readonly bytes: (image: ImageManifest, part: Part) => Uint8Array;
}

export interface RuntimeOptions extends CudaOptions, NvrtcOptions {
  /** Number of the device; default 0. Not with `context: 'current'`, which has its own. */
  readonly device?: number;
  /**
   * `primary` (default): the context of the device that the CUDA runtime uses, and with it most libraries. `current`: the one
   * that is current in this thread.
   */
  readonly context?: 'primary' | 'current';
  /** CUstream of the caller in that context; everything runs in it. Default: a stream of its own. */
  readonly stream?: bigint;
  /** Instead of the images of this package. */
  readonly kernels?: KernelSource;
}

const PACKAGE_KERNELS: KernelSource = {
  images: () => kernelManifest().images,
  bytes: (image, part) => partBytes(image.parts[part]),
};

/** Throws OPTION_INVALID. */
export function checkContext({ device, context = 'primary' }: RuntimeOptions): void {
  if (context !== 'primary' && context !== 'current') {
    throw new LowbitKvError('OPTION_INVALID', {
      message: 'no such context',
      value: context,
      valid: ['primary', 'current'],
      next: 'Leave `context` out for the context that most libraries use.',
    });
  }
  if (context === 'current' && device !== undefined) {
    throw new LowbitKvError('OPTION_INVALID', {
      message: 'the current context has a device of its own, and another is named',
      value: device,
      valid: "no `device` beside `context: 'current'`",
      next: 'Leave `device` out, or leave `context` out for the primary context of the device.',
    });
  }
}

/** Searches when it is first asked. */
export function lazyNvrtc(options: NvrtcOptions): () => NvrtcSearch {
  let search: NvrtcSearch | undefined;
  return () => {
    search ??= findNvrtc(options);
    return search;
  };
}

export class Runtime {
  readonly context: Context;
  readonly stream: Stream;
  readonly image: ImageManifest;
  readonly ring: UploadRing;
  readonly pool: BufferPool;
  /** What compiles codecs. */
  readonly nvrtc: () => NvrtcSearch;
  readonly codecModules: CodecModules;
  readonly #kernels: KernelSource;
  /** By part, and by kernel where the driver compiles it. */
  readonly #modules = new Map<string, Module>();
  readonly #ptx = new Map<Part, string>();
  #moves: Moves | undefined;
  /** The captured step that runs now. */
  session: StepSession | undefined;

  private constructor(
    context: Context,
    stream: Stream,
    image: ImageManifest,
    kernels: KernelSource,
    nvrtc: () => NvrtcSearch,
  ) {
    this.context = context;
    this.stream = stream;
    this.image = image;
    this.ring = new UploadRing(context);
    this.pool = new BufferPool(context);
    this.nvrtc = nvrtc;
    this.codecModules = new CodecModules(context, nvrtc);
    this.#kernels = kernels;
  }

  /** Throws OPTION_INVALID, and BACKEND_UNAVAILABLE: no driver, no card, no kernels for it. */
  static async open(options: RuntimeOptions = {}, nvrtc = lazyNvrtc(options)): Promise<Runtime> {
    checkContext(options);
    const { device = 0, context: which = 'primary', kernels = PACKAGE_KERNELS } = options;
    const cuda = await openCuda(options);
    const images = kernels.images();
    const context =
      which === 'primary' ? Context.primary(cuda.device(device)) : Context.current(cuda);
    try {
      const image = requireImage(images, context.device) as ImageManifest;
      const stream =
        options.stream === undefined ? Stream.create(context) : Stream.of(context, options.stream);
      return new Runtime(context, stream, image, kernels, nvrtc);
    } catch (error) {
      context.dispose();
      throw error;
    }
  }

  /**
   * A part of the image, loaded when it is first asked for; of PTX no more than the kernel, where there is one named. Throws
   * KERNEL_IMAGE_INVALID.
   */
  module(part: Part, kernel?: string): Module {
    const isAlone = kernel !== undefined && this.image.kind === 'ptx';
    const name = isAlone ? kernel : part;
    let module = this.#modules.get(name);
    if (module === undefined) {
      const image = isAlone
        ? ptxOfKernel(this.#ptxOf(part), kernel)
        : this.#kernels.bytes(this.image, part);
      module = Module.load(this.context, image);
      this.#modules.set(name, module);
    }
    return module;
  }

  #ptxOf(part: Part): string {
    let text = this.#ptx.get(part);
    if (text === undefined) {
      const bytes = this.#kernels.bytes(this.image, part);
      // It ends with a zero, for the driver.
      text = new TextDecoder().decode(bytes).replace(/\0+$/, '');
      this.#ptx.set(part, text);
    }
    return text;
  }

  /** Where kernels of jobs are enqueued; undefined while a captured step is replayed. */
  get launches(): Stream | undefined {
    return this.session === undefined ? this.stream : this.session.launches;
  }

  get moves(): Moves {
    this.#moves ??= new Moves(this.module('move'));
    return this.#moves;
  }

  /** Frees everything that was made in the context. */
  dispose(): void {
    disposeAll([this.ring, this.context]);
  }
}
