/**
 * The registry: schemes and backends by id, wired by inversify. Nothing registers itself; `createLowbitKv` is the door
 * for our packages and everybody else's.
 */
import { Container, inject, injectable, multiInject, optional } from 'inversify';
import type { Backend } from '../backend.js';
import type { Cache } from '../cache/cache.js';
import { type CreateCacheOptions, createCache } from '../cache/create-cache.js';
import { type ErrorCode, LowbitKvError, movedError } from '../errors.js';
import type { Geometry } from '../geometry.js';
import type { BackendObserver } from '../observe/event-source.js';
import { observeBackend } from '../observe/observe-backend.js';
import { checkOptions } from '../options.js';
import { createPlan, type Plan, type PlanOptions } from '../plan/plan.js';
import { referenceBackend } from '../reference/reference-backend.js';
import type { Scheme } from '../scheme.js';
import { defineScheme } from '../scheme-schema.js';
import { suggestion } from '../suggest.js';
import { checkBackend } from './check-backend.js';

const SCHEME = Symbol.for('@lowbit-kv/core:scheme');
const BACKEND = Symbol.for('@lowbit-kv/core:backend');
const OBSERVER = Symbol.for('@lowbit-kv/core:observer');

export interface LowbitKvOptions {
  /** Arrays are flattened and falsy entries ignored, so presets and conditions can be written inline. */
  readonly schemes?: readonly (Scheme | readonly Scheme[] | false | null | undefined)[];
  /** The reference backend is always there. */
  readonly backends?: readonly (Backend | false | null | undefined)[];
  /** Told of every call of every backend, the reference backend too: docs/observing.md. */
  readonly observer?: BackendObserver;
}

@injectable()
export class SchemeRegistry {
  readonly #schemes: ReadonlyMap<string, Scheme>;

  constructor(@multiInject(SCHEME) @optional() schemes: readonly Scheme[] = []) {
    this.#schemes = indexById(schemes, defineScheme, 'SCHEME_DUPLICATE');
  }

  list(): readonly Scheme[] {
    return [...this.#schemes.values()];
  }

  /** Throws SCHEME_UNKNOWN, listing what is registered. */
  get(id: string): Scheme {
    return lookUp(this.#schemes, id, 'SCHEME_UNKNOWN', 'Pass it in `schemes` of createLowbitKv.');
  }
}

@injectable()
export class BackendRegistry {
  readonly #backends: ReadonlyMap<string, Backend>;

  constructor(
    @multiInject(BACKEND) @optional() backends: readonly Backend[] = [],
    @inject(OBSERVER) @optional() observer?: BackendObserver,
  ) {
    const taken = (backend: Backend) =>
      observer === undefined ? checkedBackend(backend) : observeBackend(backend, observer);
    this.#backends = indexById(backends, taken, 'BACKEND_DUPLICATE');
  }

  list(): readonly Backend[] {
    return [...this.#backends.values()];
  }

  /** Throws BACKEND_UNKNOWN, listing what is registered. */
  get(id: string): Backend {
    return lookUp(
      this.#backends,
      id,
      'BACKEND_UNKNOWN',
      'Pass it in `backends` of createLowbitKv.',
    );
  }
}

@injectable()
export class LowbitKv {
  readonly schemes: SchemeRegistry;
  readonly backends: BackendRegistry;

  constructor(
    @inject(SchemeRegistry) schemes: SchemeRegistry,
    @inject(BackendRegistry) backends: BackendRegistry,
  ) {
    this.schemes = schemes;
    this.backends = backends;
  }

  /** Plans a registered scheme (by id) or any scheme object. */
  plan(scheme: string | Scheme, geometry: Geometry, options?: PlanOptions): Plan {
    return createPlan(
      typeof scheme === 'string' ? this.schemes.get(scheme) : scheme,
      geometry,
      options,
    );
  }

  /** Creates a cache on a registered backend (by id, default `reference`). */
  async createCache(
    plan: Plan,
    options: CreateCacheOptions & { readonly backend?: string },
  ): Promise<Cache> {
    const { backend = 'reference', ...rest } = options ?? {};
    return createCache(plan, this.backends.get(backend), rest);
  }
}

/** Registers schemes and backends. Throws SCHEME_INVALID, SPEC_VERSION_UNSUPPORTED, *_DUPLICATE, BACKEND_INVALID or OPTION_INVALID. */
export function createLowbitKv(options: LowbitKvOptions = {}): LowbitKv {
  checkOptions('createLowbitKv', options, ['schemes', 'backends', 'observer']);
  for (const field of ['schemes', 'backends'] as const) {
    const list: unknown = options[field];
    if (list === undefined || Array.isArray(list)) continue;
    throw new LowbitKvError('OPTION_INVALID', {
      message: `${field} must be an array`,
      value: list,
      valid: 'an array; one entry is an array too',
      next: `Write ${field}: [...].`,
      where: { field },
    });
  }
  const container = new Container();
  container.bind(SchemeRegistry).toSelf().inSingletonScope();
  container.bind(BackendRegistry).toSelf().inSingletonScope();
  container.bind(LowbitKv).toSelf().inSingletonScope();
  if (options.observer !== undefined) container.bind(OBSERVER).toConstantValue(options.observer);
  for (const scheme of (options.schemes ?? []).flat())
    if (scheme) container.bind(SCHEME).toConstantValue(scheme);
  for (const backend of [referenceBackend(), ...(options.backends ?? [])]) {
    if (backend) container.bind(BACKEND).toConstantValue(backend);
  }
  return container.get(LowbitKv);
}

function checkedBackend(backend: Backend): Backend {
  checkBackend(backend);
  return backend;
}

/** Checks each item and files it under its id; an error says what is registered already. */
function indexById<T extends { readonly id: string }>(
  items: readonly T[],
  check: (item: T) => T,
  duplicate: ErrorCode,
): Map<string, T> {
  const map = new Map<string, T>();
  for (const given of items) {
    const item = listing(map, () => check(given));
    if (map.has(item.id)) {
      throw new LowbitKvError(duplicate, {
        message: 'two entries have the same id',
        value: item.id,
        valid: `ids other than ${[...map.keys()].join(', ')}`,
        next: 'Register each once, or give your own another id.',
      });
    }
    map.set(item.id, item);
  }
  return map;
}

/** Adds the ids registered so far to what an error says about its place. */
function listing<T>(map: ReadonlyMap<string, unknown>, check: () => T): T {
  try {
    return check();
  } catch (error) {
    if (!LowbitKvError.is(error) || map.size === 0) throw error;
    throw movedError(error, { registered: [...map.keys()] });
  }
}

function lookUp<T>(map: ReadonlyMap<string, T>, id: string, code: ErrorCode, next: string): T {
  const found = map.get(id);
  if (found !== undefined) return found;
  const known = [...map.keys()];
  const guess = suggestion(id, known);
  throw new LowbitKvError(code, {
    message: 'nothing is registered under this id',
    value: id,
    valid: known,
    next: guess === undefined ? next : `${guess} ${next}`,
  });
}
