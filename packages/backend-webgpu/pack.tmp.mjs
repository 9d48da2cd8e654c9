var __defProp = Object.defineProperty;
var __export = (target, all) => {
  for (var name in all)
    __defProp(target, name, { get: all[name], enumerable: true });
};

// packages/core/src/errors.ts
var MARKER = /* @__PURE__ */ Symbol.for("@lowbit-kv/core:error");
var POSITION_ORDER = ["tensor", "layer", "sequence", "head", "token", "channel"];
var LowbitKvError = class extends Error {
  name = "LowbitKvError";
  code;
  value;
  valid;
  next;
  where;
  /** The message without code, value and advice. */
  summary;
  [MARKER] = true;
  constructor(code, details) {
    super(
      formatMessage(code, details),
      details.cause === void 0 ? {} : { cause: details.cause }
    );
    this.code = code;
    this.value = details.value;
    this.valid = details.valid;
    this.next = details.next;
    this.where = details.where;
    this.summary = details.message;
  }
  /** True for a LowbitKvError of any copy of core, optionally of one code. */
  static is(error2, code) {
    if (typeof error2 !== "object" || error2 === null || !(MARKER in error2)) return false;
    return code === void 0 || error2.code === code;
  }
};
function formatMessage(code, details) {
  const parts = [details.message.replace(/[.\s]+$/, "")];
  const position = formatPosition(details.where);
  if (position !== "") parts[0] += ` (${position})`;
  if ("value" in details) parts.push(`got ${formatValue(details.value)}`);
  if (details.valid !== void 0) {
    parts.push(
      typeof details.valid === "string" ? `valid: ${details.valid}` : `valid: ${details.valid.map(formatValue).join(", ") || "nothing"}`
    );
  }
  return `${code}: ${parts.join("; ")}. ${details.next}`;
}
function formatPosition(where) {
  if (where === void 0) return "";
  const known = Object.keys(where).filter((key) => where[key] !== void 0);
  const rank = (key) => (POSITION_ORDER.indexOf(key) + POSITION_ORDER.length + 1) % (POSITION_ORDER.length + 1);
  known.sort((a, b) => rank(a) - rank(b));
  return known.map((key) => `${key} ${formatValue(where[key])}`).join(", ");
}
function formatValue(value) {
  if (typeof value === "string")
    return JSON.stringify(value.length > 120 ? `${value.slice(0, 117)}...` : value);
  if (typeof value === "number" && Object.is(value, -0)) return "-0";
  if (typeof value === "function") return `function ${value.name}`.trimEnd();
  if (typeof value !== "object" || value === null) return String(value);
  if (ArrayBuffer.isView(value)) return viewText(value);
  try {
    const text = JSON.stringify(value, (_key, item) => {
      if (ArrayBuffer.isView(item)) return viewText(item);
      return typeof item === "bigint" || typeof item === "number" && !Number.isFinite(item) ? String(item) : item;
    });
    return text.length > 160 ? `${text.slice(0, 157)}...` : text;
  } catch {
    return Object.prototype.toString.call(value);
  }
}
function viewText(view) {
  return `${view.constructor.name}(${view.byteLength} bytes)`;
}

// packages/core/src/suggest.ts
function suggestion(name, known) {
  if (typeof name !== "string") return void 0;
  let best;
  let least = Math.max(1, Math.floor(name.length / 3)) + 1;
  for (const candidate of known) {
    if (typeof candidate !== "string") continue;
    const edits = editDistance(name.toLowerCase(), candidate.toLowerCase());
    if (edits < least) {
      least = edits;
      best = candidate;
    }
  }
  return best === void 0 ? void 0 : `Did you mean ${JSON.stringify(best)}?`;
}
function editDistance(a, b) {
  if (a.length > 64 || b.length > 64) return a === b ? 0 : 64;
  let beforePrevious = [];
  let previous = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = previous[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1);
      let least = Math.min(replaced, previous[j] + 1, row[j - 1] + 1);
      if (a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        least = Math.min(least, (beforePrevious[j - 2] ?? least) + 1);
      row.push(least);
    }
    beforePrevious = previous;
    previous = row;
  }
  return previous[b.length];
}

// packages/core/src/options.ts
function checkCount(name, value, minimum) {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= minimum) return value;
  throw new LowbitKvError("OPTION_INVALID", {
    message: `${name} is not valid`,
    value,
    valid: `an integer of at least ${minimum}`,
    next: "Correct the option.",
    where: { field: name }
  });
}
function checkOptions(what, options, known) {
  if (typeof options !== "object" || options === null) {
    throw new LowbitKvError("OPTION_INVALID", {
      message: `${what} takes an object of options`,
      value: options,
      valid: `an object with ${known.join(", ")}, or nothing`,
      next: "Correct the argument."
    });
  }
  for (const name of Object.keys(options)) {
    if (known.includes(name)) continue;
    throw new LowbitKvError("OPTION_INVALID", {
      message: `${what} has no option ${JSON.stringify(name)}`,
      value: name,
      valid: known,
      next: suggestion(name, known) ?? "Remove it, or correct its name.",
      where: { field: name }
    });
  }
}

// packages/core/src/float16.ts
var word = new Uint32Array(1);
var float = new Float32Array(word.buffer);
var F16_SMALLEST_NORMAL = 2 ** -14;
function f32ToF16(value) {
  float[0] = value;
  const bits = word[0];
  const sign = bits >>> 16 & 32768;
  const magnitude = bits & 2147483647;
  if (magnitude >= 1199570944) {
    return magnitude > 2139095040 ? sign | 32256 : sign | 31744;
  }
  if (magnitude >= 947912704) {
    const rebased = magnitude - 939524096;
    return sign | rebased + 4095 + (rebased >>> 13 & 1) >>> 13;
  }
  if (magnitude < 855638016) return sign;
  const shift = 126 - (magnitude >>> 23);
  const mantissa = magnitude & 8388607 | 8388608;
  const kept = mantissa >>> shift;
  const rest = mantissa & (1 << shift) - 1;
  const half = 1 << shift - 1;
  return sign | (rest > half || rest === half && (kept & 1) === 1 ? kept + 1 : kept);
}
function f16ToF32(bits) {
  const sign = (bits & 32768) === 0 ? 1 : -1;
  const exponent = bits >>> 10 & 31;
  const mantissa = bits & 1023;
  if (exponent === 0) return sign * mantissa * 2 ** -24;
  if (exponent === 31) return mantissa === 0 ? sign * Number.POSITIVE_INFINITY : Number.NaN;
  return sign * (1 + mantissa / 1024) * 2 ** (exponent - 15);
}
function roundToF16(value) {
  const magnitude = Math.abs(value);
  if (!(magnitude < 65520)) return f16ToF32(f32ToF16(value));
  float[0] = magnitude;
  const exponent = Math.max((word[0] >>> 23) - 127, -14);
  const rounder = 1.5 * 2 ** (exponent - 10 + 52);
  const rounded = magnitude + rounder - rounder;
  return value < 0 || Object.is(value, -0) ? -rounded : rounded;
}

// packages/core/src/plan/layout.ts
var PLANE_ALIGNMENT = 16;
var OUTLIER_CHUNK = 64;
var PARAMETER_BYTES = {
  f16: 2,
  f32: 4,
  e4m3: 1,
  e8m0: 1
};
function layoutBlock(scheme, shape) {
  const { heads, headDim, blockTokens } = shape;
  const { groups: groups2 } = scheme;
  if (groups2.along === "channels" && headDim % groups2.size !== 0) {
    throw new LowbitKvError("SHAPE_UNSUPPORTED", {
      message: `the group size does not divide the head dim of the ${shape.tensor}s`,
      value: { groupSize: groups2.size, headDim },
      valid: `group sizes ${divisors(headDim).join(", ")}`,
      next: "Choose a preset with one of these group sizes, or override it for this model."
    });
  }
  const needsPowerOfTwo = (scheme.transforms ?? []).some(
    (transform3) => transform3.kind === "hadamard"
  );
  if (needsPowerOfTwo && !Number.isInteger(Math.log2(headDim))) {
    throw new LowbitKvError("SHAPE_UNSUPPORTED", {
      message: `a Hadamard rotation needs a head dim of a power of two in the ${shape.tensor}s`,
      value: headDim,
      valid: "a power of two",
      next: "Use a scheme without rotation for this model."
    });
  }
  const alongTokens = groups2.along === "tokens";
  const tokensPerGroup = alongTokens ? groups2.size : 1;
  const channelsPerGroup = groups2.along === "channels" ? groups2.size : alongTokens ? 1 : headDim;
  const groupsPerBlock = blockTokens / tokensPerGroup * (headDim / channelsPerGroup);
  const shared = groups2.along === "vector" && groups2.scope === "allHeads";
  const codes = codesPlane(scheme, { headDim, blockTokens, groupsPerBlock });
  let end = align(codes.rowCount * codes.rowBytes, PLANE_ALIGNMENT);
  let sharedEnd = 0;
  const parameters = parameterNames(scheme).map((name) => {
    const type = (name === "zero" ? scheme.parameters.zero : scheme.parameters.scale) ?? "f16";
    const offset = shared ? sharedEnd : end;
    const next2 = align(offset + groupsPerBlock * PARAMETER_BYTES[type], PLANE_ALIGNMENT);
    if (shared) sharedEnd = next2;
    else end = next2;
    return { name, type, offset, count: groupsPerBlock };
  });
  let sparse = null;
  if (scheme.outliers?.kind === "bands") {
    const chunks = Math.ceil(headDim / OUTLIER_CHUNK);
    const capacity = blockTokens * outliersPerVector(headDim, scheme.outliers.storage.reserve);
    const entryBytes = capacity <= 65535 ? 2 : 4;
    const entriesOffset = align(end + blockTokens * chunks * entryBytes, PLANE_ALIGNMENT);
    sparse = {
      endOffsets: { offset: end, entryBytes, chunks },
      entries: { offset: entriesOffset, capacity }
    };
    end = align(entriesOffset + capacity, PLANE_ALIGNMENT);
  }
  let top;
  if (scheme.outliers?.kind === "top") {
    const { count: count2 } = scheme.outliers;
    if (count2 > headDim) refuseCount(count2, headDim, shape.tensor);
    const entryBytes = channelBytes(headDim);
    const channelsOffset = align(end + blockTokens * count2 * 2, PLANE_ALIGNMENT);
    top = {
      count: count2,
      values: { offset: end },
      channels: { offset: channelsOffset, entryBytes }
    };
    end = align(channelsOffset + blockTokens * count2 * entryBytes, PLANE_ALIGNMENT);
  }
  return {
    blockTokens,
    heads,
    headDim,
    bits: scheme.bits,
    tokensPerGroup,
    channelsPerGroup,
    codes,
    parameters,
    parametersShared: shared,
    sparse,
    ...top === void 0 ? {} : { top },
    headBytes: end,
    sharedBytes: sharedEnd,
    pageBytes: heads * end + sharedEnd
  };
}
function channelBytes(headDim) {
  return headDim <= 256 ? 1 : 2;
}
function refuseCount(count2, headDim, tensor3) {
  throw new LowbitKvError("SHAPE_UNSUPPORTED", {
    message: `a token of the ${tensor3}s has fewer channels than outliers`,
    value: { count: count2, headDim },
    valid: `at most ${headDim} outliers`,
    next: "Choose a preset with fewer outliers, or override it for this model."
  });
}
function codesPlane({ groups: groups2, quantizer: quantizer2, bits }, count2) {
  const { headDim, blockTokens, groupsPerBlock } = count2;
  if (quantizer2.mode === "codec")
    return { offset: 0, rows: "groups", rowCount: groupsPerBlock, rowBytes: quantizer2.groupBytes };
  const [rows, rowCount, width] = groups2.along === "tokens" ? ["channels", headDim, blockTokens] : ["tokens", blockTokens, headDim];
  return { offset: 0, rows, rowCount, rowBytes: align(width * bits, 32) / 8 };
}
function outliersPerVector(headDim, reserve) {
  let room = 0;
  for (let first = 0; first < headDim; first += OUTLIER_CHUNK)
    room += Math.min(reserve, headDim - first, OUTLIER_CHUNK);
  return room;
}
function parameterNames(scheme) {
  if (scheme.outliers?.kind === "bands") {
    const outliers2 = ["outerMinimum", "outerStep", "innerMinimum", "innerStep"];
    return scheme.quantizer.codes === "midRise" ? ["middleMaximum", ...outliers2] : ["middleMinimum", "middleStep", ...outliers2];
  }
  if (scheme.parameters.scale === void 0) return [];
  return scheme.quantizer.mode === "symmetric" ? ["scale"] : ["scale", "zero"];
}
function align(value, multiple) {
  return Math.ceil(value / multiple) * multiple;
}
function divisors(value) {
  const result = [];
  for (let i = 1; i <= value; i++) if (value % i === 0 && (i >= 8 || i === value)) result.push(i);
  return result;
}

// node_modules/.pnpm/zod@4.6.7/node_modules/zod/v4/core/util.js
var util_exports = {};
__export(util_exports, {
  BIGINT_FORMAT_RANGES: () => BIGINT_FORMAT_RANGES,
  CONSTANT_CATCH: () => CONSTANT_CATCH,
  Class: () => Class,
  NUMBER_FORMAT_RANGES: () => NUMBER_FORMAT_RANGES,
  aborted: () => aborted,
  allowsEval: () => allowsEval,
  assert: () => assert,
  assertEqual: () => assertEqual,
  assertIs: () => assertIs,
  assertNever: () => assertNever,
  assertNotEqual: () => assertNotEqual,
  assignProp: () => assignProp,
  attachSchema: () => attachSchema,
  base64ToUint8Array: () => base64ToUint8Array,
  base64urlToUint8Array: () => base64urlToUint8Array,
  cached: () => cached,
  captureStackTrace: () => captureStackTrace,
  cleanEnum: () => cleanEnum,
  cleanRegex: () => cleanRegex,
  clone: () => clone,
  cloneDef: () => cloneDef,
  codePointLength: () => codePointLength,
  constantCatch: () => constantCatch,
  createTransparentProxy: () => createTransparentProxy,
  defineLazy: () => defineLazy,
  defineLazyInternal: () => defineLazyInternal,
  derived: () => derived,
  esc: () => esc,
  escapeRegex: () => escapeRegex,
  explicitlyAborted: () => explicitlyAborted,
  extend: () => extend,
  finalizeIssue: () => finalizeIssue,
  floatSafeRemainder: () => floatSafeRemainder,
  getElementAtPath: () => getElementAtPath,
  getEnumValues: () => getEnumValues,
  getLengthableOrigin: () => getLengthableOrigin,
  getParsedType: () => getParsedType,
  getSizableOrigin: () => getSizableOrigin,
  hexToUint8Array: () => hexToUint8Array,
  hide: () => hide,
  installLazyProp: () => installLazyProp,
  isObject: () => isObject,
  isPlainObject: () => isPlainObject,
  issue: () => issue,
  joinValues: () => joinValues,
  jsonStringifyReplacer: () => jsonStringifyReplacer,
  members: () => members,
  merge: () => merge,
  mergeDefs: () => mergeDefs,
  normalizeParams: () => normalizeParams,
  nullish: () => nullish,
  numKeys: () => numKeys,
  objectClone: () => objectClone,
  omit: () => omit,
  optionalKeys: () => optionalKeys,
  own: () => own,
  parsedType: () => parsedType,
  partial: () => partial,
  pick: () => pick,
  prefixIssues: () => prefixIssues,
  primitiveTypes: () => primitiveTypes,
  promiseAllObject: () => promiseAllObject,
  propertyKeyTypes: () => propertyKeyTypes,
  randomString: () => randomString,
  rawShape: () => rawShape,
  required: () => required,
  safeExtend: () => safeExtend,
  shallowClone: () => shallowClone,
  sizeCaps: () => sizeCaps,
  slugify: () => slugify,
  stringifyPrimitive: () => stringifyPrimitive,
  toZod: () => toZod,
  uint8ArrayToBase64: () => uint8ArrayToBase64,
  uint8ArrayToBase64url: () => uint8ArrayToBase64url,
  uint8ArrayToHex: () => uint8ArrayToHex,
  unwrapMessage: () => unwrapMessage
});
function assertEqual(val) {
  return val;
}
function assertNotEqual(val) {
  return val;
}
function toZod() {
  return (schema) => schema;
}
function assertIs(_arg) {
}
function assertNever(_x) {
  throw new Error("Unexpected value in exhaustive check");
}
function assert(_) {
}
function getEnumValues(entries) {
  const numericValues = Object.values(entries).filter((v) => typeof v === "number");
  const values = Object.entries(entries).filter(([k, _]) => numericValues.indexOf(+k) === -1).map(([_, v]) => v);
  return values;
}
function joinValues(array2, separator = "|") {
  return array2.map((val) => stringifyPrimitive(val)).join(separator);
}
function jsonStringifyReplacer(_, value) {
  if (typeof value === "bigint")
    return value.toString();
  return value;
}
var Cached = class {
  constructor(getter) {
    this._getter = getter;
    this._value = void 0;
  }
  get value() {
    const getter = this._getter;
    if (getter !== void 0) {
      this._value = getter();
      this._getter = void 0;
    }
    return this._value;
  }
};
function cached(getter) {
  return new Cached(getter);
}
function nullish(input) {
  return input === null || input === void 0;
}
function cleanRegex(source) {
  const start = source.startsWith("^") ? 1 : 0;
  const end = source.endsWith("$") ? source.length - 1 : source.length;
  return source.slice(start, end);
}
function floatSafeRemainder(val, step) {
  const ratio = val / step;
  const roundedRatio = Math.round(ratio);
  const tolerance = 4 * Number.EPSILON * Math.max(Math.abs(ratio), 1);
  if (Math.abs(ratio - roundedRatio) < tolerance)
    return 0;
  return ratio - roundedRatio;
}
var EVALUATING = /* @__PURE__ */ Symbol("evaluating");
function defineLazy(object, key, getter) {
  let value = void 0;
  Object.defineProperty(object, key, {
    get() {
      if (value === EVALUATING) {
        return void 0;
      }
      if (value === void 0) {
        value = EVALUATING;
        value = getter();
      }
      return value;
    },
    set(v) {
      Object.defineProperty(object, key, {
        value: v
        // configurable: true,
      });
    },
    configurable: true
  });
}
function objectClone(obj) {
  return Object.create(Object.getPrototypeOf(obj), Object.getOwnPropertyDescriptors(obj));
}
function assignProp(target, prop, value) {
  Object.defineProperty(target, prop, {
    value,
    writable: true,
    enumerable: true,
    configurable: true
  });
}
function rawShape(def) {
  const desc = Object.getOwnPropertyDescriptor(def, "shape");
  return desc?.get ? desc.get.raw : desc?.value;
}
function sourceShape(schema) {
  return rawShape(schema._zod.def) ?? schema._zod.def.shape;
}
function deferProp(target, key, getter) {
  Object.defineProperty(target, key, {
    get() {
      const value = getter();
      assignProp(this, key, value);
      return value;
    },
    enumerable: true,
    configurable: true
  });
}
function putProp(target, key, value) {
  if (key in target)
    assignProp(target, key, value);
  else
    target[key] = value;
}
function mirrorShape(target, source, keys, wrap) {
  const raw = sourceShape(source);
  for (const key of keys) {
    const desc = Object.getOwnPropertyDescriptor(raw, key);
    if (!desc.enumerable)
      continue;
    if (desc.get) {
      deferProp(target, key, () => {
        const value = source._zod.def.shape[key];
        return wrap ? wrap(value, key) : value;
      });
    } else
      putProp(target, key, wrap ? wrap(desc.value, key) : desc.value);
  }
}
function mirrorProps(target, source) {
  for (const key of Reflect.ownKeys(source)) {
    const desc = Object.getOwnPropertyDescriptor(source, key);
    if (!desc.enumerable)
      continue;
    if (desc.get)
      deferProp(target, key, () => source[key]);
    else
      putProp(target, key, desc.value);
  }
}
function mergeDefs(...defs) {
  const mergedDescriptors = {};
  for (const def of defs) {
    const descriptors = Object.getOwnPropertyDescriptors(def);
    Object.assign(mergedDescriptors, descriptors);
  }
  return Object.defineProperties({}, mergedDescriptors);
}
function cloneDef(schema) {
  return mergeDefs(schema._zod.def);
}
function getElementAtPath(obj, path) {
  if (!path)
    return obj;
  return path.reduce((acc, key) => acc?.[key], obj);
}
function promiseAllObject(promisesObj) {
  const keys = Object.keys(promisesObj);
  const promises = keys.map((key) => promisesObj[key]);
  return Promise.all(promises).then((results) => {
    const resolvedObj = {};
    for (let i = 0; i < keys.length; i++) {
      resolvedObj[keys[i]] = results[i];
    }
    return resolvedObj;
  });
}
function randomString(length = 10) {
  const chars = "abcdefghijklmnopqrstuvwxyz";
  let str = "";
  for (let i = 0; i < length; i++) {
    str += chars[Math.floor(Math.random() * chars.length)];
  }
  return str;
}
function esc(str) {
  return JSON.stringify(str);
}
function slugify(input) {
  return input.toLowerCase().trim().replace(/[^\w\s-]/g, "").replace(/[\s_-]+/g, "-").replace(/^-+|-+$/g, "");
}
var captureStackTrace = "captureStackTrace" in Error ? Error.captureStackTrace : (..._args) => {
};
function isObject(data) {
  return typeof data === "object" && data !== null && !Array.isArray(data);
}
var allowsEval = /* @__PURE__ */ cached(() => {
  if (globalConfig.jitless) {
    return false;
  }
  if (typeof navigator !== "undefined" && navigator?.userAgent?.includes("Cloudflare")) {
    return false;
  }
  try {
    const F = Function;
    new F("");
    return true;
  } catch (_) {
    return false;
  }
});
function isPlainObject(o) {
  if (isObject(o) === false)
    return false;
  const ctor = o.constructor;
  if (ctor === void 0)
    return true;
  if (typeof ctor !== "function")
    return true;
  const prot = ctor.prototype;
  if (isObject(prot) === false)
    return false;
  if (Object.prototype.hasOwnProperty.call(prot, "isPrototypeOf") === false) {
    return false;
  }
  return true;
}
function shallowClone(o) {
  if (isPlainObject(o))
    return { ...o };
  if (Array.isArray(o))
    return [...o];
  if (o instanceof Map)
    return new Map(o);
  if (o instanceof Set)
    return new Set(o);
  return o;
}
function numKeys(data) {
  let keyCount = 0;
  for (const key in data) {
    if (Object.prototype.hasOwnProperty.call(data, key)) {
      keyCount++;
    }
  }
  return keyCount;
}
var getParsedType = (data) => {
  const t = typeof data;
  switch (t) {
    case "undefined":
      return "undefined";
    case "string":
      return "string";
    case "number":
      return Number.isNaN(data) ? "nan" : "number";
    case "boolean":
      return "boolean";
    case "function":
      return "function";
    case "bigint":
      return "bigint";
    case "symbol":
      return "symbol";
    case "object":
      if (Array.isArray(data)) {
        return "array";
      }
      if (data === null) {
        return "null";
      }
      if (data.then && typeof data.then === "function" && data.catch && typeof data.catch === "function") {
        return "promise";
      }
      if (typeof Map !== "undefined" && data instanceof Map) {
        return "map";
      }
      if (typeof Set !== "undefined" && data instanceof Set) {
        return "set";
      }
      if (typeof Date !== "undefined" && data instanceof Date) {
        return "date";
      }
      if (typeof File !== "undefined" && data instanceof File) {
        return "file";
      }
      return "object";
    default:
      throw new Error(`Unknown data type: ${t}`);
  }
};
var propertyKeyTypes = /* @__PURE__ */ new Set(["string", "number", "symbol"]);
var primitiveTypes = /* @__PURE__ */ new Set([
  "string",
  "number",
  "bigint",
  "boolean",
  "symbol",
  "undefined"
]);
function escapeRegex(str) {
  return str.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
}
function clone(inst, def, params) {
  const cl = new inst._zod.constr(def ?? inst._zod.def);
  if (!def || params?.parent)
    cl._zod.parent = inst;
  return cl;
}
function normalizeParams(_params) {
  const params = _params;
  if (!params)
    return {};
  if (typeof params === "string")
    return { error: () => params };
  if (params?.message !== void 0) {
    if (params?.error !== void 0)
      throw new Error("Cannot specify both `message` and `error` params");
    params.error = params.message;
  }
  delete params.message;
  if (typeof params.error === "string")
    return { ...params, error: () => params.error };
  return params;
}
function createTransparentProxy(getter) {
  let target;
  return new Proxy({}, {
    get(_, prop, receiver) {
      target ?? (target = getter());
      return Reflect.get(target, prop, receiver);
    },
    set(_, prop, value, receiver) {
      target ?? (target = getter());
      return Reflect.set(target, prop, value, receiver);
    },
    has(_, prop) {
      target ?? (target = getter());
      return Reflect.has(target, prop);
    },
    deleteProperty(_, prop) {
      target ?? (target = getter());
      return Reflect.deleteProperty(target, prop);
    },
    ownKeys(_) {
      target ?? (target = getter());
      return Reflect.ownKeys(target);
    },
    getOwnPropertyDescriptor(_, prop) {
      target ?? (target = getter());
      return Reflect.getOwnPropertyDescriptor(target, prop);
    },
    defineProperty(_, prop, descriptor) {
      target ?? (target = getter());
      return Reflect.defineProperty(target, prop, descriptor);
    }
  });
}
function stringifyPrimitive(value) {
  if (typeof value === "bigint")
    return value.toString() + "n";
  if (typeof value === "string")
    return `"${value}"`;
  return `${value}`;
}
function optionalKeys(shape) {
  return Object.keys(shape).filter((k) => {
    return shape[k]._zod.optin !== void 0 && shape[k]._zod.optout === "optional";
  });
}
var NUMBER_FORMAT_RANGES = /* @__PURE__ */ (() => ({
  safeint: [Number.MIN_SAFE_INTEGER, Number.MAX_SAFE_INTEGER],
  int32: [-2147483648, 2147483647],
  uint32: [0, 4294967295],
  float32: [-34028234663852886e22, 34028234663852886e22],
  float64: [-Number.MAX_VALUE, Number.MAX_VALUE]
}))();
var BIGINT_FORMAT_RANGES = {
  int64: [/* @__PURE__ */ BigInt("-9223372036854775808"), /* @__PURE__ */ BigInt("9223372036854775807")],
  uint64: [/* @__PURE__ */ BigInt(0), /* @__PURE__ */ BigInt("18446744073709551615")]
};
function pick(schema, mask) {
  const currDef = schema._zod.def;
  const checks = currDef.checks;
  const hasChecks = checks && checks.length > 0;
  if (hasChecks) {
    throw new Error(".pick() cannot be used on object schemas containing refinements");
  }
  const newShape = {};
  mirrorShape(newShape, schema, maskedKeys(schema, mask));
  return clone(schema, mergeDefs(currDef, { shape: newShape, checks: [] }));
}
function maskedKeys(schema, mask) {
  const raw = sourceShape(schema);
  const keys = [];
  for (const key of Reflect.ownKeys(mask)) {
    if (!Object.getOwnPropertyDescriptor(raw, key)?.enumerable) {
      throw new Error(`Unrecognized key: "${String(key)}"`);
    }
    if (mask[key])
      keys.push(key);
  }
  return keys;
}
function omit(schema, mask) {
  const currDef = schema._zod.def;
  const checks = currDef.checks;
  const hasChecks = checks && checks.length > 0;
  if (hasChecks) {
    throw new Error(".omit() cannot be used on object schemas containing refinements");
  }
  const omitted = new Set(maskedKeys(schema, mask));
  const newShape = {};
  mirrorShape(newShape, schema, Reflect.ownKeys(sourceShape(schema)).filter((key) => !omitted.has(key)));
  return clone(schema, mergeDefs(currDef, { shape: newShape, checks: [] }));
}
function extend(schema, shape) {
  if (!isPlainObject(shape)) {
    throw new Error("Invalid input to extend: expected a plain object");
  }
  const checks = schema._zod.def.checks;
  const hasChecks = checks && checks.length > 0;
  if (hasChecks) {
    const existingShape = sourceShape(schema);
    for (const key of Reflect.ownKeys(shape)) {
      if (Object.getOwnPropertyDescriptor(existingShape, key) !== void 0) {
        throw new Error("Cannot overwrite keys on object schemas containing refinements. Use `.safeExtend()` instead.");
      }
    }
  }
  return clone(schema, mergeDefs(schema._zod.def, { shape: extended(schema, shape) }));
}
function extended(schema, shape) {
  const newShape = {};
  mirrorShape(newShape, schema, Reflect.ownKeys(sourceShape(schema)));
  mirrorProps(newShape, shape);
  return newShape;
}
function safeExtend(schema, shape) {
  if (!isPlainObject(shape)) {
    throw new Error("Invalid input to safeExtend: expected a plain object");
  }
  return clone(schema, mergeDefs(schema._zod.def, { shape: extended(schema, shape) }));
}
function merge(a, b) {
  if (!b?._zod?.def) {
    throw new Error("Invalid input to merge: expected an object schema. To merge a plain shape, use `.extend()`.");
  }
  if (a._zod.def.checks?.length) {
    throw new Error(".merge() cannot be used on object schemas containing refinements. Use .safeExtend() instead.");
  }
  const newShape = {};
  mirrorShape(newShape, a, Reflect.ownKeys(sourceShape(a)));
  mirrorShape(newShape, b, Reflect.ownKeys(sourceShape(b)));
  const def = mergeDefs(a._zod.def, {
    shape: newShape,
    get catchall() {
      return b._zod.def.catchall;
    },
    checks: b._zod.def.checks ?? []
  });
  return clone(a, def);
}
function partial(Class2, schema, mask, name = "partial") {
  const currDef = schema._zod.def;
  const checks = currDef.checks;
  const hasChecks = checks && checks.length > 0;
  if (hasChecks) {
    throw new Error(`.${name}() cannot be used on object schemas containing refinements`);
  }
  const selected = mask ? new Set(maskedKeys(schema, mask)) : void 0;
  const newShape = {};
  mirrorShape(newShape, schema, Reflect.ownKeys(sourceShape(schema)), Class2 && ((value, key) => selected && !selected.has(key) ? value : new Class2({ type: "optional", innerType: value })));
  return clone(schema, mergeDefs(schema._zod.def, { shape: newShape, checks: [] }));
}
function required(Class2, schema, mask) {
  const selected = mask ? new Set(maskedKeys(schema, mask)) : void 0;
  const newShape = {};
  mirrorShape(newShape, schema, Reflect.ownKeys(sourceShape(schema)), (value, key) => (
    // overwrite with non-optional
    selected && !selected.has(key) ? value : new Class2({ type: "nonoptional", innerType: value })
  ));
  return clone(schema, mergeDefs(schema._zod.def, { shape: newShape }));
}
function aborted(x, startIndex = 0) {
  if (x.aborted === true)
    return true;
  for (let i = startIndex; i < x.issues.length; i++) {
    if (x.issues[i]?.continue !== true) {
      return true;
    }
  }
  return false;
}
function explicitlyAborted(x, startIndex = 0) {
  if (x.aborted === true)
    return true;
  for (let i = startIndex; i < x.issues.length; i++) {
    if (x.issues[i]?.continue === false) {
      return true;
    }
  }
  return false;
}
function prefixIssues(path, issues) {
  return issues.map((iss) => {
    var _a3;
    (_a3 = iss).path ?? (_a3.path = []);
    iss.path.unshift(path);
    return iss;
  });
}
function unwrapMessage(message) {
  return typeof message === "string" ? message : message?.message;
}
function sizeCaps(defChecks) {
  const caps = [];
  for (const ch of defChecks ?? []) {
    const d = ch._zod.def;
    if (!/_(length|size)$|_equals$/.test(d.check))
      break;
    const max = d.maximum ?? d.length ?? d.size;
    if (max >= 0)
      caps.push([max, ch]);
  }
  return caps;
}
function attachSchema(issues, start, inst) {
  var _a3;
  for (let i = start; i < issues.length; i++) {
    (_a3 = issues[i]).schema ?? (_a3.schema = inst);
  }
}
function finalizeIssue(iss, ctx, config2) {
  var _a3;
  const traits = iss.inst?._zod?.traits;
  if (traits?.has("$ZodType")) {
    if (traits.has("$ZodCheck"))
      (_a3 = iss).schema ?? (_a3.schema = iss.inst);
    else
      iss.schema = iss.inst;
  }
  const schemaError = iss.schema !== iss.inst ? iss.schema?._zod.def?.error : void 0;
  const message = iss.message ? iss.message : unwrapMessage(iss.inst?._zod.def?.error?.(iss)) ?? unwrapMessage(schemaError?.(iss)) ?? unwrapMessage(ctx?.error?.(iss)) ?? unwrapMessage(config2.customError?.(iss)) ?? unwrapMessage(config2.localeError?.(iss)) ?? "Invalid input";
  const full = {};
  for (const k of Object.keys(iss)) {
    if (k === "inst" || k === "schema" || k === "continue" || k === "input" || k === "__proto__")
      continue;
    full[k] = iss[k];
  }
  full.path ?? (full.path = []);
  full.message = message;
  if (ctx?.reportInput) {
    full.input = iss.input;
  }
  return full;
}
function getSizableOrigin(input) {
  if (input instanceof Set)
    return "set";
  if (input instanceof Map)
    return "map";
  if (input instanceof File)
    return "file";
  return "unknown";
}
var highSurrogate = /[\uD800-\uDBFF]/;
function codePointLength(str) {
  const units = str.length;
  if (!highSurrogate.test(str))
    return units;
  let count2 = units;
  for (let i = 0; i < units - 1; i++) {
    if ((str.charCodeAt(i) & 64512) === 55296 && (str.charCodeAt(i + 1) & 64512) === 56320) {
      count2--;
      i++;
    }
  }
  return count2;
}
function getLengthableOrigin(input) {
  if (Array.isArray(input))
    return "array";
  if (typeof input === "string")
    return "string";
  return "unknown";
}
function parsedType(data) {
  const t = typeof data;
  switch (t) {
    case "number": {
      return Number.isNaN(data) ? "nan" : "number";
    }
    case "object": {
      if (data === null) {
        return "null";
      }
      if (Array.isArray(data)) {
        return "array";
      }
      const obj = data;
      if (obj && Object.getPrototypeOf(obj) !== Object.prototype && "constructor" in obj && obj.constructor) {
        return obj.constructor.name;
      }
    }
  }
  return t;
}
function issue(...args) {
  const [iss, input, inst] = args;
  if (typeof iss === "string") {
    return {
      message: iss,
      code: "custom",
      input,
      inst
    };
  }
  return { ...iss };
}
function cleanEnum(obj) {
  return Object.entries(obj).filter(([k, _]) => {
    return Number.isNaN(Number.parseInt(k, 10));
  }).map((el) => el[1]);
}
function base64ToUint8Array(base642) {
  const binaryString = atob(base642);
  const bytes = new Uint8Array(binaryString.length);
  for (let i = 0; i < binaryString.length; i++) {
    bytes[i] = binaryString.charCodeAt(i);
  }
  return bytes;
}
function uint8ArrayToBase64(bytes) {
  let binaryString = "";
  for (let i = 0; i < bytes.length; i++) {
    binaryString += String.fromCharCode(bytes[i]);
  }
  return btoa(binaryString);
}
function base64urlToUint8Array(base64url2) {
  const base642 = base64url2.replace(/-/g, "+").replace(/_/g, "/");
  const padding = "=".repeat((4 - base642.length % 4) % 4);
  return base64ToUint8Array(base642 + padding);
}
function uint8ArrayToBase64url(bytes) {
  return uint8ArrayToBase64(bytes).replace(/\+/g, "-").replace(/\//g, "_").replace(/=/g, "");
}
function hexToUint8Array(hex) {
  const cleanHex = hex.replace(/^0x/, "");
  if (cleanHex.length % 2 !== 0) {
    throw new Error("Invalid hex string length");
  }
  const bytes = new Uint8Array(cleanHex.length / 2);
  for (let i = 0; i < cleanHex.length; i += 2) {
    bytes[i / 2] = Number.parseInt(cleanHex.slice(i, i + 2), 16);
  }
  return bytes;
}
function uint8ArrayToHex(bytes) {
  return Array.from(bytes).map((b) => b.toString(16).padStart(2, "0")).join("");
}
var Class = class {
  constructor(..._args) {
  }
};
function members(proto, table) {
  for (const key in table) {
    const desc = Object.getOwnPropertyDescriptor(table, key);
    if (desc.get)
      Object.defineProperty(proto, key, { ...desc, enumerable: false });
    else
      defineBound(proto, key, desc.value);
  }
}
function own(inst, key, value, enumerable = true) {
  Object.defineProperty(inst, key, { configurable: true, writable: true, enumerable, value });
  return value;
}
function hide(inst, key, value) {
  return own(inst, key, value, false);
}
// @__NO_SIDE_EFFECTS__
function derived(computes, table) {
  for (const key in computes) {
    const compute = computes[key];
    Object.defineProperty(table, key, {
      configurable: true,
      enumerable: true,
      get() {
        return own(this, key, compute(this));
      },
      set(value) {
        own(this, key, value);
      }
    });
  }
  return table;
}
function defineBound(proto, key, fn) {
  Object.defineProperty(proto, key, {
    configurable: true,
    get() {
      return this == null ? fn : own(this, key, fn.bind(this));
    },
    set(value) {
      own(this, key, value);
    }
  });
}
function claim(inst, sentinel) {
  const proto = Object.getPrototypeOf(inst);
  return sentinel in proto ? void 0 : proto;
}
var installing;
var broke = false;
var breaker = {
  configurable: true,
  get() {
    broke = true;
    return void 0;
  }
};
function defineLazyInternal(inst, key, compute) {
  const proto = Object.getPrototypeOf(inst._zod);
  if (key in proto && installing !== inst._zod) {
    installing = void 0;
    return;
  }
  installing = inst._zod;
  Object.defineProperty(proto, key, {
    configurable: true,
    get() {
      Object.defineProperty(this, key, breaker);
      const outer = broke;
      broke = false;
      try {
        const value = compute(this);
        if (broke)
          delete this[key];
        else
          Object.defineProperty(this, key, { configurable: true, writable: true, value });
        broke = broke || outer;
        return value;
      } catch (err) {
        delete this[key];
        broke = broke || outer;
        throw err;
      }
    },
    set(value) {
      Object.defineProperty(this, key, { configurable: true, writable: true, value });
    }
  });
}
function installLazyProp(inst, key, make, enumerable) {
  const proto = claim(inst, key);
  if (!proto)
    return;
  Object.defineProperty(proto, key, {
    configurable: true,
    get() {
      const desc = { configurable: true, writable: true, enumerable, value: void 0 };
      Object.defineProperty(this, key, desc);
      desc.value = make(this);
      Object.defineProperty(this, key, desc);
      return desc.value;
    },
    set(value) {
      Object.defineProperty(this, key, { configurable: true, writable: true, enumerable, value });
    }
  });
}
var CONSTANT_CATCH = "~constantCatch";
function constantCatch(value) {
  const fn = () => value;
  fn[CONSTANT_CATCH] = true;
  return fn;
}

// node_modules/.pnpm/zod@4.6.7/node_modules/zod/v4/core/core.js
var _a;
var _zodDesc = { value: void 0, enumerable: false };
var _E = "captureStackTrace" in Error ? Error : null;
function newError(Definition) {
  const E = _E;
  if (E) {
    const saved = E.stackTraceLimit;
    if (typeof saved === "number") {
      try {
        E.stackTraceLimit = 0;
      } catch {
        _E = null;
        return new Definition();
      }
      try {
        return new Definition();
      } finally {
        E.stackTraceLimit = saved;
      }
    }
  }
  return new Definition();
}
// @__NO_SIDE_EFFECTS__
function $constructor(name, initializer3, proto, params) {
  const zodProto = {};
  function Internals(def) {
    this.def = def;
    this.constr = _;
    this.traits = /* @__PURE__ */ new Set();
  }
  Internals.prototype = zodProto;
  const protoMembers = proto;
  const initialized = protoMembers && /* @__PURE__ */ new WeakSet();
  function init(inst, def) {
    if (!inst._zod) {
      _zodDesc.value = new Internals(def);
      try {
        Object.defineProperty(inst, "_zod", _zodDesc);
      } finally {
        _zodDesc.value = void 0;
      }
    } else if (inst._zod.traits.has(name)) {
      return;
    }
    inst._zod.traits.add(name);
    initializer3(inst, def);
    if (initialized) {
      const own2 = Object.getPrototypeOf(inst);
      const ctorProto = inst._zod.constr.prototype;
      let up = own2;
      while (up && up !== ctorProto)
        up = Object.getPrototypeOf(up);
      const target = up ?? own2;
      if (!initialized.has(target)) {
        initialized.add(target);
        members(target, protoMembers);
      }
    }
    const proto2 = _.prototype;
    for (const k in proto2) {
      if (!Object.prototype.hasOwnProperty.call(proto2, k))
        continue;
      if (!(k in inst)) {
        inst[k] = proto2[k].bind(inst);
      }
    }
  }
  const Parent = params?.Parent ?? Object;
  class Definition extends Parent {
  }
  Object.defineProperty(Definition, "name", { value: name });
  function _(def) {
    const inst = params?.Parent ? newError(Definition) : this;
    init(inst, def);
    const deferred = inst._zod.deferred;
    if (deferred) {
      for (const fn of deferred) {
        fn();
      }
      inst._zod.deferred = void 0;
    }
    const pp = globalThis.__zod_globalConfig?.postProcessor;
    if (pp)
      pp(inst);
    return inst;
  }
  Object.defineProperty(_, "init", { value: init });
  Object.defineProperty(_, Symbol.hasInstance, {
    value: (inst) => {
      if (params?.Parent && inst instanceof params.Parent)
        return true;
      return inst?._zod?.traits?.has(name);
    }
  });
  Object.defineProperty(_, "name", { value: name });
  return _;
}
var $ZodAsyncError = class extends Error {
  constructor() {
    super(`Encountered Promise during synchronous parse. Use .parseAsync() instead.`);
  }
};
var $ZodEncodeError = class extends Error {
  constructor(name) {
    super(`Encountered unidirectional transform during encode: ${name}`);
    this.name = "ZodEncodeError";
  }
};
(_a = globalThis).__zod_globalConfig ?? (_a.__zod_globalConfig = {});
var globalConfig = globalThis.__zod_globalConfig;
function config(newConfig) {
  if (newConfig)
    Object.assign(globalConfig, newConfig);
  return globalConfig;
}

// node_modules/.pnpm/zod@4.6.7/node_modules/zod/v4/core/errors.js
function _getMessage() {
  const internals = this._zod;
  internals.message ?? (internals.message = JSON.stringify(internals.def, jsonStringifyReplacer, 2));
  return internals.message;
}
function _setMessage(value) {
  this._zod.message = value;
}
var _messageDesc = {
  get: _getMessage,
  set: _setMessage,
  enumerable: true,
  configurable: true
};
var _issuesDesc = { value: void 0, enumerable: false };
var _installedToString = /* @__PURE__ */ new WeakSet([Object.prototype, Error.prototype]);
var initializer = (inst, def) => {
  inst.name = "$ZodError";
  _issuesDesc.value = def;
  Object.defineProperty(inst, "issues", _issuesDesc);
  _issuesDesc.value = void 0;
  Object.defineProperty(inst, "message", _messageDesc);
  const proto = Object.getPrototypeOf(inst);
  if (!_installedToString.has(proto)) {
    _installedToString.add(proto);
    Object.defineProperty(proto, "toString", {
      configurable: true,
      enumerable: false,
      get() {
        const value = () => this.message;
        Object.defineProperty(this, "toString", { value, configurable: true, writable: true });
        return value;
      },
      set(value) {
        Object.defineProperty(this, "toString", { value, configurable: true, writable: true });
      }
    });
  }
};
var $ZodError = $constructor("$ZodError", initializer);
var $ZodRealError = $constructor("$ZodError", initializer, void 0, {
  Parent: Error
});
function node(obj, key, make) {
  if (!Object.prototype.hasOwnProperty.call(obj, key)) {
    if (key === "__proto__") {
      Object.defineProperty(obj, key, { value: make(), writable: true, enumerable: true, configurable: true });
    } else {
      obj[key] = make();
    }
  }
  return obj[key];
}
function flattenError(error2, mapper = (issue2) => issue2.message) {
  const fieldErrors = {};
  const formErrors = [];
  for (const sub of error2.issues) {
    if (sub.path.length > 0) {
      node(fieldErrors, sub.path[0], () => []).push(mapper(sub));
    } else {
      formErrors.push(mapper(sub));
    }
  }
  return { formErrors, fieldErrors };
}
function formatError(error2, mapper = (issue2) => issue2.message) {
  const fieldErrors = { _errors: [] };
  const processError = (error3, path = []) => {
    for (const issue2 of error3.issues) {
      if (issue2.code === "invalid_union" && issue2.errors.length) {
        issue2.errors.map((issues) => processError({ issues }, [...path, ...issue2.path]));
      } else if (issue2.code === "invalid_key") {
        processError({ issues: issue2.issues }, [...path, ...issue2.path]);
      } else if (issue2.code === "invalid_element") {
        processError({ issues: issue2.issues }, [...path, ...issue2.path]);
      } else {
        const fullpath = [...path, ...issue2.path];
        if (fullpath.length === 0) {
          fieldErrors._errors.push(mapper(issue2));
        } else {
          let curr = fieldErrors;
          let i = 0;
          while (i < fullpath.length) {
            const el = fullpath[i];
            const terminal = i === fullpath.length - 1;
            if (el === "_errors") {
              if (terminal)
                curr._errors.push(mapper(issue2));
              i++;
              continue;
            }
            if (!Object.prototype.hasOwnProperty.call(curr, el)) {
              Object.defineProperty(curr, el, {
                value: { _errors: [] },
                enumerable: true,
                writable: true,
                configurable: true
              });
            }
            const node2 = curr[el];
            if (terminal) {
              node2._errors.push(mapper(issue2));
            }
            curr = node2;
            i++;
          }
        }
      }
    }
  };
  processError(error2);
  return fieldErrors;
}

// node_modules/.pnpm/zod@4.6.7/node_modules/zod/v4/core/parse.js
function finalizeParams(callee, params) {
  return { callee: params?.callee ?? callee, Err: params?.Err };
}
var _parse = (_Err) => {
  const fn = (schema, value, _ctx, _params) => {
    const ctx = _ctx ? { ..._ctx, async: false } : { async: false };
    const result = schema._zod.run({ value, issues: [] }, ctx);
    if (result instanceof Promise) {
      throw new $ZodAsyncError();
    }
    if (result.issues.length) {
      const e = new (_params?.Err ?? _Err)(result.issues.map((iss) => finalizeIssue(iss, ctx, config())));
      captureStackTrace(e, _params?.callee ?? fn);
      throw e;
    }
    return result.value;
  };
  return fn;
};
var _parseAsync = (_Err) => {
  const fn = async (schema, value, _ctx, params) => {
    const ctx = _ctx ? { ..._ctx, async: true } : { async: true };
    let result = schema._zod.run({ value, issues: [] }, ctx);
    if (result instanceof Promise)
      result = await result;
    if (result.issues.length) {
      const e = new (params?.Err ?? _Err)(result.issues.map((iss) => finalizeIssue(iss, ctx, config())));
      captureStackTrace(e, params?.callee ?? fn);
      throw e;
    }
    return result.value;
  };
  return fn;
};
var _safeParse = (_Err) => (schema, value, _ctx) => {
  const ctx = _ctx ? { ..._ctx, async: false } : { async: false };
  const result = schema._zod.run({ value, issues: [] }, ctx);
  if (result instanceof Promise) {
    throw new $ZodAsyncError();
  }
  return result.issues.length ? failure(_Err, result.issues, ctx) : { success: true, data: result.value };
};
function failure(Err, issues, ctx) {
  let error2;
  return {
    success: false,
    get error() {
      if (!error2) {
        error2 = new Err(issues.map((iss) => finalizeIssue(iss, ctx, config())));
        issues = void 0;
        ctx = void 0;
      }
      return error2;
    },
    set error(e) {
      error2 = e;
      issues = void 0;
      ctx = void 0;
    }
  };
}
var _safeParseAsync = (_Err) => async (schema, value, _ctx) => {
  const ctx = _ctx ? { ..._ctx, async: true } : { async: true };
  let result = schema._zod.run({ value, issues: [] }, ctx);
  if (result instanceof Promise)
    result = await result;
  return result.issues.length ? failure(_Err, result.issues, ctx) : { success: true, data: result.value };
};
var COMPILE_INVALID = /* @__PURE__ */ Symbol.for("zod.compile.invalid");
var COMPILE_FALLBACK = /* @__PURE__ */ Symbol.for("zod.compile.fallback");
var validate = ((schema, value, _ctx) => {
  const validator = schema._zod.bag.validator;
  if (validator !== void 0) {
    if (validator(value) !== COMPILE_INVALID)
      return true;
    if (validator.definite === true && _ctx === void 0)
      return false;
  }
  return validateFallback(schema, value, _ctx);
});
function validateFallback(schema, value, _ctx) {
  const ctx = _ctx ? { ..._ctx, async: false, abortEarly: true } : { async: false, abortEarly: true };
  const fallbackRun = schema._zod.bag.fallbackRun;
  let result;
  if (fallbackRun) {
    ctx[COMPILE_FALLBACK] = true;
    result = fallbackRun({ value, issues: [] }, ctx);
  } else {
    result = schema._zod.run({ value, issues: [] }, ctx);
  }
  if (result instanceof Promise) {
    throw new $ZodAsyncError();
  }
  return result.issues.length === 0;
}
var validateAsync = async (schema, value, _ctx) => {
  const ctx = _ctx ? { ..._ctx, async: true, abortEarly: true } : { async: true, abortEarly: true };
  let result = schema._zod.run({ value, issues: [] }, ctx);
  if (result instanceof Promise)
    result = await result;
  return result.issues.length === 0;
};
var _encode = (_Err) => {
  const parse2 = _parse(_Err);
  const fn = (schema, value, _ctx, _params) => {
    const ctx = _ctx ? { ..._ctx, direction: "backward" } : { direction: "backward" };
    return parse2(schema, value, ctx, finalizeParams(fn, _params));
  };
  return fn;
};
var _decode = (_Err) => {
  const parse2 = _parse(_Err);
  const fn = (schema, value, _ctx, _params) => {
    return parse2(schema, value, _ctx, finalizeParams(fn, _params));
  };
  return fn;
};
var _encodeAsync = (_Err) => {
  const parseAsync2 = _parseAsync(_Err);
  const fn = async (schema, value, _ctx, _params) => {
    const ctx = _ctx ? { ..._ctx, direction: "backward" } : { direction: "backward" };
    return await parseAsync2(schema, value, ctx, finalizeParams(fn, _params));
  };
  return fn;
};
var _decodeAsync = (_Err) => {
  const parseAsync2 = _parseAsync(_Err);
  const fn = async (schema, value, _ctx, _params) => {
    return await parseAsync2(schema, value, _ctx, finalizeParams(fn, _params));
  };
  return fn;
};
var _safeEncode = (_Err) => (schema, value, _ctx) => {
  const ctx = _ctx ? { ..._ctx, direction: "backward" } : { direction: "backward" };
  return _safeParse(_Err)(schema, value, ctx);
};
var _safeDecode = (_Err) => (schema, value, _ctx) => {
  return _safeParse(_Err)(schema, value, _ctx);
};
var _safeEncodeAsync = (_Err) => async (schema, value, _ctx) => {
  const ctx = _ctx ? { ..._ctx, direction: "backward" } : { direction: "backward" };
  return _safeParseAsync(_Err)(schema, value, ctx);
};
var _safeDecodeAsync = (_Err) => async (schema, value, _ctx) => {
  return _safeParseAsync(_Err)(schema, value, _ctx);
};

// node_modules/.pnpm/zod@4.6.7/node_modules/zod/v4/core/regexes.js
var cuid = /^[cC][0-9a-z]{6,}$/;
var cuid2 = /^[0-9a-z]+$/;
var ulid = /^[0-7][0-9A-HJKMNP-TV-Za-hjkmnp-tv-z]{25}$/;
var xid = /^[0-9a-vA-V]{20}$/;
var ksuid = /^[A-Za-z0-9]{27}$/;
var nanoid = /^[a-zA-Z0-9_-]{21}$/;
function nanoidOfLength(length) {
  return new RegExp(`^[a-zA-Z0-9_-]{${length}}$`);
}
var duration = /^P(?:(\d+W)|(?!.*W)(?=\d|T\d)(\d+Y)?(\d+M)?(\d+D)?(T(?=\d)(\d+H)?(\d+M)?(\d+([.,]\d+)?S)?)?)$/;
var guid = /^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12})$/;
var uuid = (version2) => {
  if (!version2)
    return /^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[1-8][0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12}|00000000-0000-0000-0000-000000000000|ffffffff-ffff-ffff-ffff-ffffffffffff)$/;
  return new RegExp(`^([0-9a-fA-F]{8}-[0-9a-fA-F]{4}-${version2}[0-9a-fA-F]{3}-[89abAB][0-9a-fA-F]{3}-[0-9a-fA-F]{12})$`);
};
var email = /^(?:[A-Za-z0-9_'+\-]+\.)*[A-Za-z0-9_'+\-]*[A-Za-z0-9_+-]@(?:[A-Za-z0-9][A-Za-z0-9\-]*\.)+[A-Za-z]{2,}$/;
var _emoji = `^(?=[\\s\\S]*[\\p{Extended_Pictographic}\\p{Regional_Indicator}\\u20E3])[\\p{Extended_Pictographic}\\p{Emoji_Component}]+$`;
function emoji() {
  return new RegExp(_emoji, "u");
}
var ipv4 = /^(?:(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])\.){3}(?:25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])$/;
var ipv6 = /^(([0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,7}:|([0-9a-fA-F]{1,4}:){1,6}:[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,5}(:[0-9a-fA-F]{1,4}){1,2}|([0-9a-fA-F]{1,4}:){1,4}(:[0-9a-fA-F]{1,4}){1,3}|([0-9a-fA-F]{1,4}:){1,3}(:[0-9a-fA-F]{1,4}){1,4}|([0-9a-fA-F]{1,4}:){1,2}(:[0-9a-fA-F]{1,4}){1,5}|[0-9a-fA-F]{1,4}:((:[0-9a-fA-F]{1,4}){1,6})|:((:[0-9a-fA-F]{1,4}){1,7}|:))$/;
var cidrv4 = /^((25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])\.){3}(25[0-5]|2[0-4][0-9]|1[0-9][0-9]|[1-9][0-9]|[0-9])\/([0-9]|[1-2][0-9]|3[0-2])$/;
var cidrv6 = /^(([0-9a-fA-F]{1,4}:){7}[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,7}:|([0-9a-fA-F]{1,4}:){1,6}:[0-9a-fA-F]{1,4}|([0-9a-fA-F]{1,4}:){1,5}(:[0-9a-fA-F]{1,4}){1,2}|([0-9a-fA-F]{1,4}:){1,4}(:[0-9a-fA-F]{1,4}){1,3}|([0-9a-fA-F]{1,4}:){1,3}(:[0-9a-fA-F]{1,4}){1,4}|([0-9a-fA-F]{1,4}:){1,2}(:[0-9a-fA-F]{1,4}){1,5}|[0-9a-fA-F]{1,4}:((:[0-9a-fA-F]{1,4}){1,6})|:((:[0-9a-fA-F]{1,4}){1,7}|:))\/(12[0-8]|1[01][0-9]|[1-9]?[0-9])$/;
var base64 = /^$|^(?:[0-9a-zA-Z+/]{4})*(?:(?:[0-9a-zA-Z+/]{2}==)|(?:[0-9a-zA-Z+/]{3}=))?$/;
var base64url = /^(?:[A-Za-z0-9_-]{4})*(?:[A-Za-z0-9_-]{2,3})?$/;
var httpProtocol = /^https?$/;
var e164 = /^\+[1-9]\d{6,14}$/;
var dateSource = `(?:(?:\\d\\d[2468][048]|\\d\\d[13579][26]|\\d\\d0[48]|[02468][048]00|[13579][26]00)-02-29|\\d{4}-(?:(?:0[13578]|1[02])-(?:0[1-9]|[12]\\d|3[01])|(?:0[469]|11)-(?:0[1-9]|[12]\\d|30)|(?:02)-(?:0[1-9]|1\\d|2[0-8])))`;
function anchor(source) {
  return new RegExp(`^${source}$`);
}
var date = /* @__PURE__ */ anchor(dateSource);
function timeSource(args) {
  const hhmm = `(?:[01]\\d|2[0-3]):[0-5]\\d`;
  const regex = typeof args.precision === "number" ? args.precision === -1 ? `${hhmm}` : args.precision === 0 ? `${hhmm}:[0-5]\\d` : `${hhmm}:[0-5]\\d\\.\\d{${args.precision}}` : args.seconds ? `${hhmm}:[0-5]\\d(?:\\.\\d+)?` : `${hhmm}(?::[0-5]\\d(?:\\.\\d+)?)?`;
  return regex;
}
function time(args) {
  return new RegExp(`^${timeSource(args)}$`);
}
function datetime(args) {
  const opts = ["Z"];
  if (args.offset)
    opts.push(`([+-](?:[01]\\d|2[0-3]):[0-5]\\d)`);
  const qualified = `${timeSource({ precision: args.precision, seconds: true })}(?:${opts.join("|")})`;
  const timeRegex = args.local ? `${qualified}|${timeSource({ precision: args.precision })}` : qualified;
  return new RegExp(`^${dateSource}T(?:${timeRegex})$`);
}
var anyString = /^[\s\S]{0,}$/;
var integer = /^-?\d+$/;
var number = /^-?\d+(?:\.\d+)?$/;
var boolean = /^(?:true|false)$/i;
var lowercase = /^[^A-Z]*$/;
var uppercase = /^[^a-z]*$/;

// node_modules/.pnpm/zod@4.6.7/node_modules/zod/v4/core/checks.js
var $ZodCheck = /* @__PURE__ */ $constructor("$ZodCheck", (inst, def) => {
  var _a3;
  inst._zod ?? (inst._zod = {});
  inst._zod.def = def;
  (_a3 = inst._zod).onattach ?? (_a3.onattach = []);
});
var _whenHasLength = (payload) => {
  const val = payload.value;
  return !nullish(val) && val.length !== void 0;
};
var numericOriginMap = {
  number: "number",
  bigint: "bigint",
  object: "date"
};
var $ZodCheckLessThan = /* @__PURE__ */ $constructor("$ZodCheckLessThan", (inst, def) => {
  $ZodCheck.init(inst, def);
  const origin = numericOriginMap[typeof def.value];
  inst._zod.check = (payload) => {
    if (def.inclusive ? payload.value <= def.value : payload.value < def.value) {
      return;
    }
    payload.issues.push({
      origin: numericOriginMap[typeof payload.value] ?? origin,
      code: "too_big",
      maximum: typeof def.value === "object" ? def.value.getTime() : def.value,
      input: payload.value,
      inclusive: def.inclusive,
      inst,
      continue: !def.abort
    });
  };
});
var $ZodCheckGreaterThan = /* @__PURE__ */ $constructor("$ZodCheckGreaterThan", (inst, def) => {
  $ZodCheck.init(inst, def);
  const origin = numericOriginMap[typeof def.value];
  inst._zod.check = (payload) => {
    if (def.inclusive ? payload.value >= def.value : payload.value > def.value) {
      return;
    }
    payload.issues.push({
      origin: numericOriginMap[typeof payload.value] ?? origin,
      code: "too_small",
      minimum: typeof def.value === "object" ? def.value.getTime() : def.value,
      input: payload.value,
      inclusive: def.inclusive,
      inst,
      continue: !def.abort
    });
  };
});
var $ZodCheckMultipleOf = /* @__PURE__ */ $constructor("$ZodCheckMultipleOf", (inst, def) => {
  $ZodCheck.init(inst, def);
  inst._zod.check = (payload) => {
    if (typeof payload.value !== typeof def.value)
      throw new Error("Cannot mix number and bigint in multiple_of check.");
    const isMultiple = typeof payload.value === "bigint" ? (
      // `value % 0n` throws, and nothing is a multiple of zero — the number branch already fails this way via NaN
      def.value !== BigInt(0) && payload.value % def.value === BigInt(0)
    ) : floatSafeRemainder(payload.value, def.value) === 0;
    if (isMultiple)
      return;
    payload.issues.push({
      origin: typeof payload.value,
      code: "not_multiple_of",
      divisor: def.value,
      input: payload.value,
      inst,
      continue: !def.abort
    });
  };
});
var $ZodCheckNumberFormat = /* @__PURE__ */ $constructor("$ZodCheckNumberFormat", (inst, def) => {
  $ZodCheck.init(inst, def);
  def.format = def.format || "float64";
  const isInt = def.format?.includes("int");
  const origin = isInt ? "int" : "number";
  const [minimum, maximum] = NUMBER_FORMAT_RANGES[def.format];
  inst._zod.check = (payload) => {
    const input = payload.value;
    if (isInt) {
      if (!Number.isInteger(input)) {
        payload.issues.push({
          expected: origin,
          format: def.format,
          code: "invalid_type",
          continue: false,
          input,
          inst
        });
        return;
      }
      if (!Number.isSafeInteger(input)) {
        if (input > 0) {
          payload.issues.push({
            input,
            code: "too_big",
            maximum: Number.MAX_SAFE_INTEGER,
            note: "Integers must be within the safe integer range.",
            inst,
            origin,
            inclusive: true,
            continue: !def.abort
          });
        } else {
          payload.issues.push({
            input,
            code: "too_small",
            minimum: Number.MIN_SAFE_INTEGER,
            note: "Integers must be within the safe integer range.",
            inst,
            origin,
            inclusive: true,
            continue: !def.abort
          });
        }
        return;
      }
    }
    if (input < minimum) {
      payload.issues.push({
        origin: "number",
        input,
        code: "too_small",
        minimum,
        inclusive: true,
        inst,
        continue: !def.abort
      });
    }
    if (input > maximum) {
      payload.issues.push({
        origin: "number",
        input,
        code: "too_big",
        maximum,
        inclusive: true,
        inst,
        continue: !def.abort
      });
    }
  };
});
var $ZodCheckMaxLength = /* @__PURE__ */ $constructor("$ZodCheckMaxLength", (inst, def) => {
  var _a3;
  $ZodCheck.init(inst, def);
  (_a3 = inst._zod.def).when ?? (_a3.when = _whenHasLength);
  inst._zod.check = (payload) => {
    const input = payload.value;
    const units = input.length;
    const length = typeof input === "string" && units > def.maximum ? codePointLength(input) : units;
    if (length <= def.maximum)
      return;
    const origin = getLengthableOrigin(input);
    payload.issues.push({
      origin,
      code: "too_big",
      maximum: def.maximum,
      inclusive: true,
      input,
      inst,
      continue: !def.abort
    });
  };
});
var $ZodCheckMinLength = /* @__PURE__ */ $constructor("$ZodCheckMinLength", (inst, def) => {
  var _a3;
  $ZodCheck.init(inst, def);
  (_a3 = inst._zod.def).when ?? (_a3.when = _whenHasLength);
  inst._zod.check = (payload) => {
    const input = payload.value;
    const units = input.length;
    const length = typeof input === "string" && units >= def.minimum && units < def.minimum * 2 ? codePointLength(input) : units;
    if (length >= def.minimum)
      return;
    const origin = getLengthableOrigin(input);
    payload.issues.push({
      origin,
      code: "too_small",
      minimum: def.minimum,
      inclusive: true,
      input,
      inst,
      continue: !def.abort
    });
  };
});
var $ZodCheckLengthEquals = /* @__PURE__ */ $constructor("$ZodCheckLengthEquals", (inst, def) => {
  var _a3;
  $ZodCheck.init(inst, def);
  (_a3 = inst._zod.def).when ?? (_a3.when = _whenHasLength);
  inst._zod.check = (payload) => {
    const input = payload.value;
    const units = input.length;
    const length = typeof input === "string" && units >= def.length && units <= def.length * 2 ? codePointLength(input) : units;
    if (length === def.length)
      return;
    const origin = getLengthableOrigin(input);
    const tooBig = length > def.length;
    payload.issues.push({
      origin,
      ...tooBig ? { code: "too_big", maximum: def.length } : { code: "too_small", minimum: def.length },
      inclusive: true,
      exact: true,
      input: payload.value,
      inst,
      continue: !def.abort
    });
  };
});
var $ZodCheckStringFormat = /* @__PURE__ */ $constructor("$ZodCheckStringFormat", (inst, def) => {
  var _a3, _b;
  $ZodCheck.init(inst, def);
  if (def.pattern)
    (_a3 = inst._zod).check ?? (_a3.check = (payload) => {
      def.pattern.lastIndex = 0;
      if (def.pattern.test(payload.value))
        return;
      payload.issues.push({
        origin: "string",
        code: "invalid_format",
        format: def.format,
        input: payload.value,
        ...def.pattern ? { pattern: def.pattern.toString() } : {},
        inst,
        continue: !def.abort
      });
    });
  else
    (_b = inst._zod).check ?? (_b.check = () => {
    });
});
var $ZodCheckRegex = /* @__PURE__ */ $constructor("$ZodCheckRegex", (inst, def) => {
  $ZodCheckStringFormat.init(inst, def);
  inst._zod.check = (payload) => {
    def.pattern.lastIndex = 0;
    if (def.pattern.test(payload.value))
      return;
    payload.issues.push({
      origin: "string",
      code: "invalid_format",
      format: "regex",
      input: payload.value,
      pattern: def.pattern.toString(),
      inst,
      continue: !def.abort
    });
  };
});
var $ZodCheckLowerCase = /* @__PURE__ */ $constructor("$ZodCheckLowerCase", (inst, def) => {
  def.pattern ?? (def.pattern = lowercase);
  $ZodCheckStringFormat.init(inst, def);
});
var $ZodCheckUpperCase = /* @__PURE__ */ $constructor("$ZodCheckUpperCase", (inst, def) => {
  def.pattern ?? (def.pattern = uppercase);
  $ZodCheckStringFormat.init(inst, def);
});
var $ZodCheckIncludes = /* @__PURE__ */ $constructor("$ZodCheckIncludes", (inst, def) => {
  $ZodCheck.init(inst, def);
  const escapedRegex = escapeRegex(def.includes);
  const pattern = new RegExp(typeof def.position === "number" ? `^.{${def.position},}${escapedRegex}` : escapedRegex);
  def.pattern = pattern;
  inst._zod.check = (payload) => {
    if (payload.value.includes(def.includes, def.position))
      return;
    payload.issues.push({
      origin: "string",
      code: "invalid_format",
      format: "includes",
      includes: def.includes,
      input: payload.value,
      inst,
      continue: !def.abort
    });
  };
});
var $ZodCheckStartsWith = /* @__PURE__ */ $constructor("$ZodCheckStartsWith", (inst, def) => {
  $ZodCheck.init(inst, def);
  const pattern = new RegExp(`^${escapeRegex(def.prefix)}.*`);
  def.pattern ?? (def.pattern = pattern);
  inst._zod.check = (payload) => {
    if (payload.value.startsWith(def.prefix))
      return;
    payload.issues.push({
      origin: "string",
      code: "invalid_format",
      format: "starts_with",
      prefix: def.prefix,
      input: payload.value,
      inst,
      continue: !def.abort
    });
  };
});
var $ZodCheckEndsWith = /* @__PURE__ */ $constructor("$ZodCheckEndsWith", (inst, def) => {
  $ZodCheck.init(inst, def);
  const pattern = new RegExp(`.*${escapeRegex(def.suffix)}$`);
  def.pattern ?? (def.pattern = pattern);
  inst._zod.check = (payload) => {
    if (payload.value.endsWith(def.suffix))
      return;
    payload.issues.push({
      origin: "string",
      code: "invalid_format",
      format: "ends_with",
      suffix: def.suffix,
      input: payload.value,
      inst,
      continue: !def.abort
    });
  };
});
var $ZodCheckOverwrite = /* @__PURE__ */ $constructor("$ZodCheckOverwrite", (inst, def) => {
  $ZodCheck.init(inst, def);
  inst._zod.check = (payload) => {
    payload.value = def.tx(payload.value);
  };
});

// node_modules/.pnpm/zod@4.6.7/node_modules/zod/v4/core/doc.js
var Doc = class {
  constructor(args = [], closed = {}) {
    this.content = [];
    this.indent = 0;
    this.args = args;
    this.closed = closed;
  }
  // the compiler catches a child's throw and keeps writing into this doc, so the indent has to unwind with it
  indented(fn) {
    this.indent += 1;
    try {
      fn(this);
    } finally {
      this.indent -= 1;
    }
  }
  write(arg) {
    if (typeof arg === "function") {
      arg(this, { execution: "sync" });
      arg(this, { execution: "async" });
      return;
    }
    const content = arg;
    const lines = content.split("\n").filter((x) => x);
    const minIndent = Math.min(...lines.map((x) => x.length - x.trimStart().length));
    const dedented = lines.map((x) => x.slice(minIndent)).map((x) => " ".repeat(this.indent * 2) + x);
    for (const line of dedented) {
      this.content.push(line);
    }
  }
  compile() {
    const F = Function;
    const content = this?.content ?? [``];
    const factory = new F(...Object.keys(this.closed), `return function (${this.args.join(", ")}) {
${content.join("\n")}
};`);
    return factory(...Object.values(this.closed));
  }
};

// node_modules/.pnpm/zod@4.6.7/node_modules/zod/v4/core/versions.js
var version = {
  major: 4,
  minor: 6,
  patch: 7
};

// node_modules/.pnpm/zod@4.6.7/node_modules/zod/v4/core/schemas.js
var $ZodType = /* @__PURE__ */ $constructor("$ZodType", (inst, def) => {
  var _a3;
  inst ?? (inst = {});
  inst._zod.def = def;
  inst._zod.bag = inst._zod.bag || {};
  inst._zod.version = version;
  const defChecks = inst._zod.def.checks;
  const checks = inst._zod.traits.has("$ZodCheck") ? [inst, ...defChecks ?? []] : defChecks?.length ? [...defChecks] : [];
  for (const ch of checks) {
    for (const fn of ch._zod.onattach) {
      fn(inst);
    }
  }
  if (checks.length === 0) {
    (_a3 = inst._zod).deferred ?? (_a3.deferred = []);
    inst._zod.deferred?.push(() => {
      inst._zod.run = inst._zod.parse;
    });
  } else {
    const runChecks = (payload, checks2, ctx) => {
      if (payload.memo)
        return payload;
      let isAborted = aborted(payload);
      let asyncResult;
      for (const ch of checks2) {
        if (ch._zod.def.when) {
          if (explicitlyAborted(payload))
            continue;
          const shouldRun = ch._zod.def.when(payload);
          if (!shouldRun)
            continue;
        } else if (isAborted) {
          continue;
        }
        const currLen = payload.issues.length;
        const _ = ch._zod.check(payload);
        if (_ instanceof Promise && ctx?.async === false) {
          throw new $ZodAsyncError();
        }
        if (asyncResult || _ instanceof Promise) {
          asyncResult = (asyncResult ?? Promise.resolve()).then(async () => {
            await _;
            const nextLen = payload.issues.length;
            if (nextLen === currLen)
              return;
            attachSchema(payload.issues, currLen, inst);
            if (!isAborted)
              isAborted = aborted(payload, currLen);
          });
        } else {
          const nextLen = payload.issues.length;
          if (nextLen === currLen)
            continue;
          attachSchema(payload.issues, currLen, inst);
          if (!isAborted)
            isAborted = aborted(payload, currLen);
        }
      }
      if (asyncResult) {
        return asyncResult.then(() => {
          return payload;
        });
      }
      return payload;
    };
    const handleCanaryResult = (canary, payload, ctx) => {
      if (aborted(canary)) {
        canary.aborted = true;
        return canary;
      }
      const checkResult = runChecks(payload, checks, ctx);
      if (checkResult instanceof Promise) {
        if (ctx.async === false)
          throw new $ZodAsyncError();
        return checkResult.then((checkResult2) => inst._zod.parse(checkResult2, ctx));
      }
      return inst._zod.parse(checkResult, ctx);
    };
    inst._zod.run = (payload, ctx) => {
      if (ctx.skipChecks) {
        return inst._zod.parse(payload, ctx);
      }
      if (ctx.direction === "backward") {
        const canary = inst._zod.parse({ value: payload.value, issues: [] }, { ...ctx, skipChecks: true });
        if (canary instanceof Promise) {
          return canary.then((canary2) => {
            return handleCanaryResult(canary2, payload, ctx);
          });
        }
        return handleCanaryResult(canary, payload, ctx);
      }
      const result = inst._zod.parse(payload, ctx);
      if (result instanceof Promise) {
        if (ctx.async === false)
          throw new $ZodAsyncError();
        return result.then((result2) => runChecks(result2, checks, ctx));
      }
      return runChecks(result, checks, ctx);
    };
  }
}, {
  // Wrappers extend this by installing a richer factory over it; reading it eagerly would defeat the laziness.
  get "~standard"() {
    return hide(this, "~standard", standardProps(this));
  },
  set "~standard"(value) {
    own(this, "~standard", value);
  }
});
var toStandardResult = (r, ctx) => r.issues.length ? { issues: r.issues.map((iss) => finalizeIssue(iss, ctx, config())) } : { value: r.value };
async function validateAsync2(inst, value) {
  const ctx = { async: true };
  return toStandardResult(await inst._zod.run({ value, issues: [] }, ctx), ctx);
}
function standardProps(inst) {
  return {
    validate: (value) => {
      const ctx = { async: false };
      try {
        const r = inst._zod.run({ value, issues: [] }, ctx);
        if (!(r instanceof Promise))
          return toStandardResult(r, ctx);
      } catch (_) {
      }
      return validateAsync2(inst, value);
    },
    vendor: "zod",
    version: 1
  };
}
var $ZodString = /* @__PURE__ */ $constructor("$ZodString", (inst, def) => {
  $ZodType.init(inst, def);
  inst._zod.pattern = def.pattern ?? anyString;
  inst._zod.parse = (payload, _) => {
    if (def.coerce)
      try {
        payload.value = String(payload.value);
      } catch (_2) {
      }
    if (typeof payload.value === "string")
      return payload;
    payload.issues.push({
      expected: "string",
      code: "invalid_type",
      input: payload.value,
      inst
    });
    return payload;
  };
});
var $ZodStringFormat = /* @__PURE__ */ $constructor("$ZodStringFormat", (inst, def) => {
  $ZodCheckStringFormat.init(inst, def);
  $ZodString.init(inst, def);
});
var $ZodGUID = /* @__PURE__ */ $constructor("$ZodGUID", (inst, def) => {
  def.pattern ?? (def.pattern = guid);
  $ZodStringFormat.init(inst, def);
});
var $ZodUUID = /* @__PURE__ */ $constructor("$ZodUUID", (inst, def) => {
  if (def.version) {
    const versionMap = {
      v1: 1,
      v2: 2,
      v3: 3,
      v4: 4,
      v5: 5,
      v6: 6,
      v7: 7,
      v8: 8
    };
    const v = versionMap[def.version];
    if (v === void 0)
      throw new Error(`Invalid UUID version: "${def.version}"`);
    def.pattern ?? (def.pattern = uuid(v));
  } else
    def.pattern ?? (def.pattern = uuid());
  $ZodStringFormat.init(inst, def);
});
var $ZodEmail = /* @__PURE__ */ $constructor("$ZodEmail", (inst, def) => {
  def.pattern ?? (def.pattern = email);
  $ZodStringFormat.init(inst, def);
});
var URL_BAD_FORMAT = 1;
var URL_UNPARSEABLE = 2;
function canParseURL(input) {
  try {
    if (typeof URL !== "undefined" && typeof URL.canParse === "function")
      return URL.canParse(input);
    new URL(input);
    return true;
  } catch {
    return false;
  }
}
function validateURL(trimmed, def) {
  if (!("normalize" in def) && !("hostname" in def) && !("protocol" in def)) {
    return canParseURL(trimmed) || URL_UNPARSEABLE;
  }
  return parseURLObject(trimmed, def);
}
function parseURLObject(trimmed, def) {
  if (!def.normalize && def.protocol?.source === httpProtocol.source && !/^https?:\/\//i.test(trimmed)) {
    return URL_BAD_FORMAT;
  }
  try {
    if (typeof URL !== "undefined") {
      const URLStatic = URL;
      if (typeof URLStatic.parse === "function")
        return URLStatic.parse(trimmed) ?? URL_UNPARSEABLE;
    }
    return new URL(trimmed);
  } catch {
    return URL_UNPARSEABLE;
  }
}
var asciiTabOrNewline = /[\t\n\r]/g;
function stripTabAndNewline(value) {
  return value.replace(asciiTabOrNewline, "");
}
function urlHostnameOk(url, hostname) {
  hostname.lastIndex = 0;
  return hostname.test(url.hostname);
}
function urlProtocolOk(url, protocol) {
  protocol.lastIndex = 0;
  return protocol.test(url.protocol.endsWith(":") ? url.protocol.slice(0, -1) : url.protocol);
}
var $ZodURL = /* @__PURE__ */ $constructor("$ZodURL", (inst, def) => {
  $ZodStringFormat.init(inst, def);
  inst._zod.check = (payload) => {
    try {
      const trimmed = payload.value.trim();
      const url = validateURL(trimmed, def);
      if (url === URL_BAD_FORMAT) {
        payload.issues.push({
          code: "invalid_format",
          format: "url",
          note: "Invalid URL format",
          input: payload.value,
          inst,
          continue: !def.abort
        });
        return;
      }
      if (url === URL_UNPARSEABLE) {
        payload.issues.push({
          code: "invalid_format",
          format: "url",
          input: payload.value,
          inst,
          continue: !def.abort
        });
        return;
      }
      if (url === true) {
        payload.value = stripTabAndNewline(trimmed);
        return;
      }
      if (def.hostname && !urlHostnameOk(url, def.hostname)) {
        payload.issues.push({
          code: "invalid_format",
          format: "url",
          note: "Invalid hostname",
          pattern: def.hostname.source,
          input: payload.value,
          inst,
          continue: !def.abort
        });
      }
      if (def.protocol && !urlProtocolOk(url, def.protocol)) {
        payload.issues.push({
          code: "invalid_format",
          format: "url",
          note: "Invalid protocol",
          pattern: def.protocol.source,
          input: payload.value,
          inst,
          continue: !def.abort
        });
      }
      payload.value = def.normalize ? url.href : stripTabAndNewline(trimmed);
      return;
    } catch (_) {
      payload.issues.push({
        code: "invalid_format",
        format: "url",
        input: payload.value,
        inst,
        continue: !def.abort
      });
    }
  };
});
var $ZodEmoji = /* @__PURE__ */ $constructor("$ZodEmoji", (inst, def) => {
  def.pattern ?? (def.pattern = emoji());
  $ZodStringFormat.init(inst, def);
});
var $ZodNanoID = /* @__PURE__ */ $constructor("$ZodNanoID", (inst, def) => {
  if (def.length !== void 0 && (!Number.isInteger(def.length) || def.length < 1))
    throw new Error(`Invalid nanoid length: ${def.length}`);
  def.pattern ?? (def.pattern = def.length === void 0 ? nanoid : nanoidOfLength(def.length));
  $ZodStringFormat.init(inst, def);
});
var $ZodCUID = /* @__PURE__ */ $constructor("$ZodCUID", (inst, def) => {
  def.pattern ?? (def.pattern = cuid);
  $ZodStringFormat.init(inst, def);
});
var $ZodCUID2 = /* @__PURE__ */ $constructor("$ZodCUID2", (inst, def) => {
  def.pattern ?? (def.pattern = cuid2);
  $ZodStringFormat.init(inst, def);
});
var $ZodULID = /* @__PURE__ */ $constructor("$ZodULID", (inst, def) => {
  def.pattern ?? (def.pattern = ulid);
  $ZodStringFormat.init(inst, def);
});
var $ZodXID = /* @__PURE__ */ $constructor("$ZodXID", (inst, def) => {
  def.pattern ?? (def.pattern = xid);
  $ZodStringFormat.init(inst, def);
});
var $ZodKSUID = /* @__PURE__ */ $constructor("$ZodKSUID", (inst, def) => {
  def.pattern ?? (def.pattern = ksuid);
  $ZodStringFormat.init(inst, def);
});
var $ZodISODateTime = /* @__PURE__ */ $constructor("$ZodISODateTime", (inst, def) => {
  def.pattern ?? (def.pattern = datetime(def));
  $ZodStringFormat.init(inst, def);
});
var $ZodISODate = /* @__PURE__ */ $constructor("$ZodISODate", (inst, def) => {
  def.pattern ?? (def.pattern = date);
  $ZodStringFormat.init(inst, def);
});
var $ZodISOTime = /* @__PURE__ */ $constructor("$ZodISOTime", (inst, def) => {
  def.pattern ?? (def.pattern = time(def));
  $ZodStringFormat.init(inst, def);
});
var $ZodISODuration = /* @__PURE__ */ $constructor("$ZodISODuration", (inst, def) => {
  def.pattern ?? (def.pattern = duration);
  $ZodStringFormat.init(inst, def);
});
var $ZodIPv4 = /* @__PURE__ */ $constructor("$ZodIPv4", (inst, def) => {
  def.pattern ?? (def.pattern = ipv4);
  $ZodStringFormat.init(inst, def);
});
var ipv6Alphabet = /^[0-9a-fA-F:.]+$/;
function isValidIPv6(value) {
  if (!ipv6Alphabet.test(value))
    return false;
  return canParseURL(`http://[${value}]`);
}
var $ZodIPv6 = /* @__PURE__ */ $constructor("$ZodIPv6", (inst, def) => {
  def.pattern ?? (def.pattern = ipv6);
  $ZodStringFormat.init(inst, def);
  inst._zod.check = (payload) => {
    if (!isValidIPv6(payload.value)) {
      payload.issues.push({
        code: "invalid_format",
        format: "ipv6",
        input: payload.value,
        inst,
        continue: !def.abort
      });
    }
  };
});
var $ZodCIDRv4 = /* @__PURE__ */ $constructor("$ZodCIDRv4", (inst, def) => {
  def.pattern ?? (def.pattern = cidrv4);
  $ZodStringFormat.init(inst, def);
});
function isValidCIDRv6(value) {
  const parts = value.split("/");
  if (parts.length !== 2)
    return false;
  const [address, prefix] = parts;
  if (!prefix)
    return false;
  const prefixNum = Number(prefix);
  if (`${prefixNum}` !== prefix)
    return false;
  if (prefixNum < 0 || prefixNum > 128)
    return false;
  return isValidIPv6(address);
}
var $ZodCIDRv6 = /* @__PURE__ */ $constructor("$ZodCIDRv6", (inst, def) => {
  def.pattern ?? (def.pattern = cidrv6);
  $ZodStringFormat.init(inst, def);
  inst._zod.check = (payload) => {
    if (!isValidCIDRv6(payload.value)) {
      payload.issues.push({
        code: "invalid_format",
        format: "cidrv6",
        input: payload.value,
        inst,
        continue: !def.abort
      });
    }
  };
});
function isValidBase64(data) {
  if (data === "")
    return true;
  if (/\s/.test(data))
    return false;
  if (data.length % 4 !== 0)
    return false;
  try {
    atob(data);
    return true;
  } catch {
    return false;
  }
}
var base64Charset = /^[0-9a-zA-Z+/]*={0,2}$/;
var $ZodBase64 = /* @__PURE__ */ $constructor("$ZodBase64", (inst, def) => {
  def.pattern ?? (def.pattern = base64Charset);
  $ZodStringFormat.init(inst, def);
  inst._zod.check = (payload) => {
    if (isValidBase64(payload.value))
      return;
    payload.issues.push({
      code: "invalid_format",
      format: "base64",
      input: payload.value,
      inst,
      continue: !def.abort
    });
  };
});
var base64urlCharset = /^[A-Za-z0-9_-]*$/;
function isValidBase64URL(data) {
  if (!base64urlCharset.test(data))
    return false;
  const base642 = data.replace(/[-_]/g, (c) => c === "-" ? "+" : "/");
  const padded = base642.padEnd(Math.ceil(base642.length / 4) * 4, "=");
  return isValidBase64(padded);
}
var $ZodBase64URL = /* @__PURE__ */ $constructor("$ZodBase64URL", (inst, def) => {
  def.pattern ?? (def.pattern = base64urlCharset);
  $ZodStringFormat.init(inst, def);
  inst._zod.check = (payload) => {
    if (isValidBase64URL(payload.value))
      return;
    payload.issues.push({
      code: "invalid_format",
      format: "base64url",
      input: payload.value,
      inst,
      continue: !def.abort
    });
  };
});
var $ZodE164 = /* @__PURE__ */ $constructor("$ZodE164", (inst, def) => {
  def.pattern ?? (def.pattern = e164);
  $ZodStringFormat.init(inst, def);
});
function isValidJWT(token, algorithm = null) {
  try {
    const tokensParts = token.split(".");
    if (tokensParts.length !== 3)
      return false;
    const [header] = tokensParts;
    if (!header)
      return false;
    const parsedHeader = JSON.parse(atob(header));
    if ("typ" in parsedHeader && parsedHeader?.typ !== "JWT")
      return false;
    if (!parsedHeader.alg)
      return false;
    if (algorithm && (!("alg" in parsedHeader) || parsedHeader.alg !== algorithm))
      return false;
    return true;
  } catch {
    return false;
  }
}
var $ZodJWT = /* @__PURE__ */ $constructor("$ZodJWT", (inst, def) => {
  $ZodStringFormat.init(inst, def);
  inst._zod.check = (payload) => {
    if (isValidJWT(payload.value, def.alg))
      return;
    payload.issues.push({
      code: "invalid_format",
      format: "jwt",
      input: payload.value,
      inst,
      continue: !def.abort
    });
  };
});
var $ZodNumber = /* @__PURE__ */ $constructor("$ZodNumber", (inst, def) => {
  $ZodType.init(inst, def);
  inst._zod.pattern = number;
  inst._zod.parse = (payload, _ctx) => {
    if (def.coerce)
      try {
        payload.value = Number(payload.value);
      } catch (_) {
      }
    const input = payload.value;
    if (typeof input === "number" && !Number.isNaN(input) && Number.isFinite(input)) {
      return payload;
    }
    const received = typeof input === "number" ? Number.isNaN(input) ? "NaN" : !Number.isFinite(input) ? String(input) : void 0 : void 0;
    payload.issues.push({
      expected: "number",
      code: "invalid_type",
      input,
      inst,
      ...received ? { received } : {}
    });
    return payload;
  };
});
var $ZodNumberFormat = /* @__PURE__ */ $constructor("$ZodNumberFormat", (inst, def) => {
  $ZodCheckNumberFormat.init(inst, def);
  $ZodNumber.init(inst, def);
});
var $ZodBoolean = /* @__PURE__ */ $constructor("$ZodBoolean", (inst, def) => {
  $ZodType.init(inst, def);
  inst._zod.pattern = boolean;
  inst._zod.parse = (payload, _ctx) => {
    if (def.coerce)
      try {
        payload.value = Boolean(payload.value);
      } catch (_) {
      }
    const input = payload.value;
    if (typeof input === "boolean")
      return payload;
    payload.issues.push({
      expected: "boolean",
      code: "invalid_type",
      input,
      inst
    });
    return payload;
  };
});
var $ZodUnknown = /* @__PURE__ */ $constructor("$ZodUnknown", (inst, def) => {
  $ZodType.init(inst, def);
  inst._zod.parse = (payload) => payload;
});
var $ZodNever = /* @__PURE__ */ $constructor("$ZodNever", (inst, def) => {
  $ZodType.init(inst, def);
  inst._zod.parse = (payload, _ctx) => {
    payload.issues.push({
      expected: "never",
      code: "invalid_type",
      input: payload.value,
      inst
    });
    return payload;
  };
});
function capSize(inst, size) {
  const caps = sizeCaps(inst._zod.def.checks);
  if (!caps.length)
    return;
  const cap = Math.min(...caps.map((c) => c[0]));
  const parse2 = inst._zod.parse;
  inst._zod.parse = (payload, ctx) => {
    const n = size(payload.value);
    if (n > cap && !ctx?.skipChecks && ctx?.direction !== "backward") {
      for (const [max, ch] of sizeCaps(inst._zod.def.checks)) {
        if (n > max && ch._zod.def.when(payload)) {
          const start = payload.issues.length;
          ch._zod.check(payload);
          payload.issues[start].continue = false;
          attachSchema(payload.issues, start, inst);
          return payload;
        }
      }
    }
    return parse2(payload, ctx);
  };
}
var arraySize = (input) => Array.isArray(input) ? input.length : -1;
function handleArrayResult(result, final, index) {
  if (result.issues.length) {
    final.issues.push(...prefixIssues(index, result.issues));
  }
  final.value[index] = result.value;
}
var $ZodArray = /* @__PURE__ */ $constructor("$ZodArray", (inst, def) => {
  $ZodType.init(inst, def);
  const memo2 = globalConfig.memoizer;
  memo2?.attach(inst);
  inst._zod.parse = (payload, ctx) => {
    const input = payload.value;
    if (!Array.isArray(input)) {
      payload.issues.push({
        expected: "array",
        code: "invalid_type",
        input,
        inst
      });
      return payload;
    }
    payload.value = memo2 ? memo2.alloc(inst, payload, Array(input.length), ctx) : Array(input.length);
    const proms = [];
    const abortEarly = ctx?.abortEarly;
    for (let i = 0; i < input.length; i++) {
      const item = input[i];
      const result = def.element._zod.run({
        value: item,
        issues: []
      }, ctx);
      if (result instanceof Promise) {
        proms.push(result.then((result2) => handleArrayResult(result2, payload, i)));
      } else {
        handleArrayResult(result, payload, i);
        if (abortEarly && result.issues.length !== 0 && aborted(result))
          break;
      }
    }
    if (proms.length) {
      return Promise.all(proms).then(() => payload);
    }
    return payload;
  };
  capSize(inst, arraySize);
});
function handlePropertyResult(result, final, key, input, optin, optout) {
  const isPresent = key in input;
  const isOptionalOut = optout === "optional";
  if (!isPresent && isOptionalOut && optin === "optional") {
    return;
  }
  if (result.issues.length) {
    if (optin !== void 0 && isOptionalOut && !isPresent) {
      return;
    }
    final.issues.push(...prefixIssues(key, result.issues));
  }
  if (!isPresent && optin === void 0) {
    if (!result.issues.length) {
      final.issues.push({
        code: "invalid_type",
        expected: "nonoptional",
        input: void 0,
        path: [key]
      });
    }
    return;
  }
  if (result.value === void 0) {
    if (isPresent || optin === "defaulted" && !isOptionalOut) {
      final.value[key] = void 0;
    }
  } else {
    final.value[key] = result.value;
  }
}
var NO_SYMBOL_KEYS = [];
function normalizeDef(def) {
  const keys = Object.keys(def.shape);
  const ownSymbols = Object.getOwnPropertySymbols(def.shape);
  const symbolKeys = ownSymbols.length ? ownSymbols : NO_SYMBOL_KEYS;
  const allKeys = symbolKeys.length ? [...keys, ...symbolKeys] : keys;
  for (const k of allKeys) {
    if (!def.shape?.[k]?._zod?.traits?.has("$ZodType")) {
      throw new Error(`Invalid element at key "${String(k)}": expected a Zod schema`);
    }
  }
  const okeys = optionalKeys(def.shape);
  return {
    ...def,
    allKeys,
    symbolKeys,
    // string-only: handleCatchall matches it against `for...in`, which never yields a symbol
    keySet: new Set(keys),
    numKeys: keys.length,
    optionalKeys: new Set(okeys)
  };
}
function handleCatchall(proms, input, payload, ctx, def, inst, abortEarly) {
  const unrecognized = [];
  const keySet = def.keySet;
  const _catchall = def.catchall._zod;
  const t = _catchall.def.type;
  const optin = _catchall.optin;
  const optout = _catchall.optout;
  let seen = 0;
  for (const key in input) {
    if (abortEarly && payload.issues.length !== seen) {
      if (aborted(payload, seen))
        break;
      seen = payload.issues.length;
    }
    if (keySet.has(key))
      continue;
    if (key === "__proto__") {
      if (t === "never")
        unrecognized.push(key);
      continue;
    }
    if (t === "never") {
      unrecognized.push(key);
      continue;
    }
    const r = _catchall.run({ value: input[key], issues: [] }, ctx);
    if (r instanceof Promise) {
      proms.push(r.then((r2) => handlePropertyResult(r2, payload, key, input, optin, optout)));
    } else {
      handlePropertyResult(r, payload, key, input, optin, optout);
    }
  }
  if (unrecognized.length) {
    payload.issues.push({
      code: "unrecognized_keys",
      keys: unrecognized,
      input,
      inst,
      // Describes the shape of the input, not the validity of the parsed value, so it never aborts. The parse still fails; the schema's own checks just get to run first, and an enclosing intersection can reconcile the key against a sibling operand.
      continue: true
    });
  }
  if (!proms.length)
    return payload;
  return Promise.all(proms).then(() => {
    return payload;
  });
}
var $ZodObject = /* @__PURE__ */ $constructor("$ZodObject", (inst, def) => {
  $ZodType.init(inst, def);
  const desc = Object.getOwnPropertyDescriptor(def, "shape");
  const sh = desc?.get ? desc.get.raw : def.shape ?? {};
  if (sh) {
    const get = () => {
      const newSh = { ...sh };
      Object.defineProperty(def, "shape", { value: newSh });
      get.raw = newSh;
      return newSh;
    };
    get.raw = sh;
    Object.defineProperty(def, "shape", { get });
  }
  const _normalized = cached(() => normalizeDef(def));
  defineLazyInternal(inst, "propValues", (zod) => {
    const shape = zod.def.shape;
    const propValues = {};
    for (const key in shape) {
      const field = shape[key]._zod;
      if (field.values) {
        if (!Object.prototype.hasOwnProperty.call(propValues, key)) {
          assignProp(propValues, key, /* @__PURE__ */ new Set());
        }
        for (const v of field.values)
          propValues[key].add(v);
        if (field.optin !== void 0)
          propValues[key].add(void 0);
      }
    }
    return propValues;
  });
  const isObject2 = isObject;
  const catchall = def.catchall;
  let value;
  const memo2 = globalConfig.memoizer;
  memo2?.attach(inst);
  inst._zod.parse = (payload, ctx) => {
    value ?? (value = _normalized.value);
    const input = payload.value;
    if (!isObject2(input)) {
      payload.issues.push({
        expected: "object",
        code: "invalid_type",
        input,
        inst
      });
      return payload;
    }
    payload.value = memo2 ? memo2.alloc(inst, payload, {}, ctx) : {};
    const proms = [];
    const shape = value.shape;
    const abortEarly = ctx?.abortEarly;
    let seen = payload.issues.length;
    for (const key of value.allKeys) {
      if (abortEarly && payload.issues.length !== seen) {
        if (aborted(payload, seen))
          break;
        seen = payload.issues.length;
      }
      if (key === "__proto__")
        continue;
      const el = shape[key];
      const optin = el._zod.optin;
      const optout = el._zod.optout;
      const r = el._zod.run({ value: input[key], issues: [] }, ctx);
      if (r instanceof Promise) {
        proms.push(r.then((r2) => handlePropertyResult(r2, payload, key, input, optin, optout)));
      } else {
        handlePropertyResult(r, payload, key, input, optin, optout);
      }
    }
    if (!catchall) {
      return proms.length ? Promise.all(proms).then(() => payload) : payload;
    }
    return handleCatchall(proms, input, payload, ctx, _normalized.value, inst, abortEarly === true);
  };
});
var $ZodObjectJIT = /* @__PURE__ */ $constructor("$ZodObjectJIT", (inst, def) => {
  $ZodObject.init(inst, def);
  const superParse = inst._zod.parse;
  const _normalized = cached(() => normalizeDef(def));
  const memo2 = globalConfig.memoizer;
  const generateFastpass = (shape) => {
    const normalized = _normalized.value;
    const syms = normalized.symbolKeys;
    const doc = new Doc(["payload", "ctx"], { shape, inst, memo: memo2, syms });
    const parseStr = (k) => `shape[${k}]._zod.run({ value: input[${k}], issues: [] }, ctx)`;
    const prefixStr = (id, k) => `
          let ${id}_ab = false;
          for (let i = 0; i < ${id}.issues.length; i++) {
            const iss = ${id}.issues[i];
            iss.path = iss.path ? [${k}, ...iss.path] : [${k}];
            payload.issues.push(iss);
            if (iss.continue !== true) ${id}_ab = true;
          }
          if (${id}_ab && ctx && ctx.abortEarly) {
            payload.value = newResult;
            return payload;
          }`;
    doc.write(`const input = payload.value;`);
    const ids = /* @__PURE__ */ Object.create(null);
    let counter = 0;
    for (const key of normalized.allKeys) {
      ids[key] = `key_${counter++}`;
    }
    doc.write(memo2 ? `const newResult = memo.alloc(inst, payload, {}, ctx);` : `const newResult = {};`);
    for (const key of normalized.allKeys) {
      if (key === "__proto__")
        continue;
      const id = ids[key];
      const k = typeof key === "symbol" ? `syms[${syms.indexOf(key)}]` : esc(key);
      const isPresent = `${k} in input`;
      const schema = shape[key];
      const optin = schema?._zod?.optin;
      const isOptionalIn = optin !== void 0;
      const isOptionalOut = schema?._zod?.optout === "optional";
      doc.write(`const ${id} = ${parseStr(k)};`);
      if (isOptionalIn && isOptionalOut) {
        const assign = optin === "optional" ? `${id}_present` : `${id}.value !== undefined || ${id}_present`;
        doc.write(`
        const ${id}_present = ${isPresent};
        if (!${id}.issues.length || ${id}_present) {
          if (${id}.issues.length) {${prefixStr(id, k)}
          }

          if (${assign}) {
            newResult[${k}] = ${id}.value;
          }
        }

      `);
      } else if (!isOptionalIn) {
        doc.write(`
        const ${id}_present = ${isPresent};
        if (${id}.issues.length) {${prefixStr(id, k)}
        }
        if (!${id}_present && !${id}.issues.length) {
          payload.issues.push({
            code: "invalid_type",
            expected: "nonoptional",
            input: undefined,
            path: [${k}]
          });
          if (ctx && ctx.abortEarly) {
            payload.value = newResult;
            return payload;
          }
        }

        if (${id}_present) {
          newResult[${k}] = ${id}.value;
        }

      `);
      } else {
        doc.write(`
        if (${id}.issues.length) {${prefixStr(id, k)}
        }
      `);
        if (optin === "defaulted") {
          doc.write(`newResult[${k}] = ${id}.value;`);
        } else {
          doc.write(`
        if (${id}.value !== undefined || ${isPresent}) {
          newResult[${k}] = ${id}.value;
        }
      `);
        }
      }
    }
    doc.write(`payload.value = newResult;`);
    doc.write(`return payload;`);
    return doc.compile();
  };
  let fastpass;
  const isObject2 = isObject;
  const jit = !globalConfig.jitless;
  const allowsEval2 = allowsEval;
  const fastEnabled = jit && allowsEval2.value;
  const catchall = def.catchall;
  let value;
  inst._zod.parse = (payload, ctx) => {
    value ?? (value = _normalized.value);
    const input = payload.value;
    if (!isObject2(input)) {
      payload.issues.push({
        expected: "object",
        code: "invalid_type",
        input,
        inst
      });
      return payload;
    }
    if (jit && fastEnabled && ctx?.async === false && ctx.jitless !== true) {
      if (!fastpass)
        fastpass = generateFastpass(def.shape);
      payload = fastpass(payload, ctx);
      if (!catchall)
        return payload;
      return handleCatchall([], input, payload, ctx, value, inst, ctx?.abortEarly === true);
    }
    return superParse(payload, ctx);
  };
});
function handleUnionResults(results, final, inst, ctx) {
  for (const result of results) {
    if (result.issues.length === 0) {
      final.value = result.value;
      return final;
    }
  }
  const nonaborted = results.filter((r) => !aborted(r));
  if (nonaborted.length === 1) {
    final.value = nonaborted[0].value;
    return nonaborted[0];
  }
  final.issues.push({
    code: "invalid_union",
    input: final.value,
    inst,
    errors: results.map((result) => result.issues.map((iss) => finalizeIssue(iss, ctx, config())))
  });
  return final;
}
var $ZodUnion = /* @__PURE__ */ $constructor("$ZodUnion", (inst, def) => {
  $ZodType.init(inst, def);
  defineLazyInternal(inst, "optin", (zod) => zod.def.options.some((o) => o._zod.optin === "defaulted") ? "defaulted" : zod.def.options.some((o) => o._zod.optin !== void 0) ? "optional" : void 0);
  defineLazyInternal(inst, "optout", (zod) => zod.def.options.some((o) => o._zod.optout === "optional") ? "optional" : void 0);
  defineLazyInternal(inst, "values", (zod) => {
    if (zod.def.options.every((o) => o._zod.values)) {
      return new Set(zod.def.options.flatMap((option) => Array.from(option._zod.values)));
    }
    return void 0;
  });
  defineLazyInternal(inst, "pattern", (zod) => {
    if (zod.def.options.every((o) => o._zod.pattern)) {
      const patterns = zod.def.options.map((o) => o._zod.pattern);
      return new RegExp(`^(${patterns.map((p) => cleanRegex(p.source)).join("|")})$`);
    }
    return void 0;
  });
  const first = def.options.length === 1 ? def.options[0]._zod.run : null;
  inst._zod.parse = (payload, ctx) => {
    if (first) {
      return first(payload, ctx);
    }
    let async = false;
    const results = [];
    for (const option of def.options) {
      const result = option._zod.run({
        value: payload.value,
        issues: []
      }, ctx);
      if (result instanceof Promise) {
        results.push(result);
        async = true;
      } else {
        if (result.issues.length === 0)
          return result;
        results.push(result);
      }
    }
    if (!async)
      return handleUnionResults(results, payload, inst, ctx);
    return Promise.all(results).then((results2) => {
      return handleUnionResults(results2, payload, inst, ctx);
    });
  };
});
function discriminatorMap(def) {
  const map = /* @__PURE__ */ new Map();
  for (const option of def.options) {
    const values = option._zod.propValues?.[def.discriminator];
    if (!values || values.size === 0)
      throw new Error(`Invalid discriminated union option at index "${def.options.indexOf(option)}"`);
    for (const value of values) {
      if (map.has(value)) {
        if (value !== void 0)
          throw new Error(`Duplicate discriminator value "${String(value)}"`);
        map.set(value, null);
      } else {
        map.set(value, option);
      }
    }
  }
  return map;
}
var $ZodDiscriminatedUnion = /* @__PURE__ */ $constructor("$ZodDiscriminatedUnion", (inst, def) => {
  def.inclusive = false;
  $ZodUnion.init(inst, def);
  const _super = inst._zod.parse;
  defineLazyInternal(inst, "propValues", (zod) => {
    const propValues = {};
    let undefinedCount = 0;
    for (const option of zod.def.options) {
      const pv = option._zod.propValues;
      if (!pv || Object.keys(pv).length === 0)
        throw new Error(`Invalid discriminated union option at index "${zod.def.options.indexOf(option)}"`);
      if (pv[zod.def.discriminator]?.has(void 0))
        undefinedCount++;
      for (const [k, v] of Object.entries(pv)) {
        if (!Object.prototype.hasOwnProperty.call(propValues, k)) {
          assignProp(propValues, k, /* @__PURE__ */ new Set());
        }
        for (const val of v) {
          propValues[k].add(val);
        }
      }
    }
    if (!zod.def.unionFallback && undefinedCount > 1)
      propValues[zod.def.discriminator]?.delete(void 0);
    return propValues;
  });
  def.options.forEach((option, i) => {
    const propShape = rawShape(option._zod.def);
    if (propShape && !Object.prototype.hasOwnProperty.call(propShape, def.discriminator)) {
      throw new Error(`Invalid discriminated union option at index "${i}"`);
    }
  });
  const disc = cached(() => discriminatorMap(def));
  inst._zod.parse = (payload, ctx) => {
    const input = payload.value;
    if (!isObject(input)) {
      payload.issues.push({
        code: "invalid_type",
        expected: "object",
        input,
        inst
      });
      return payload;
    }
    const value = input?.[def.discriminator];
    const opt = disc.value.get(value);
    if (opt && (value !== void 0 || ctx.direction !== "backward")) {
      return opt._zod.run(payload, ctx);
    }
    if (def.unionFallback || ctx.direction === "backward") {
      return _super(payload, ctx);
    }
    payload.issues.push({
      code: "invalid_union",
      errors: [],
      note: "No matching discriminator",
      discriminator: def.discriminator,
      options: Array.from(disc.value.keys()).filter((value2) => disc.value.get(value2) !== null),
      input,
      path: [def.discriminator],
      inst
    });
    return payload;
  };
});
var $ZodIntersection = /* @__PURE__ */ $constructor("$ZodIntersection", (inst, def) => {
  $ZodType.init(inst, def);
  inst._zod.parse = (payload, ctx) => {
    const input = payload.value;
    const left = def.left._zod.run({ value: input, issues: [] }, ctx);
    const right = def.right._zod.run({ value: input, issues: [] }, ctx);
    const async = left instanceof Promise || right instanceof Promise;
    if (async) {
      return Promise.all([left, right]).then(([left2, right2]) => {
        return handleIntersectionResults(payload, left2, right2);
      });
    }
    return handleIntersectionResults(payload, left, right);
  };
});
function mergeValues(a, b) {
  if (a === b) {
    return { valid: true, data: a };
  }
  if (a instanceof Date && b instanceof Date && +a === +b) {
    return { valid: true, data: a };
  }
  if (isPlainObject(a) && isPlainObject(b)) {
    const bKeys = Object.keys(b);
    const sharedKeys = Object.keys(a).filter((key) => bKeys.indexOf(key) !== -1);
    const newObj = { ...a, ...b };
    if (Object.prototype.hasOwnProperty.call(newObj, "__proto__"))
      delete newObj.__proto__;
    for (const key of sharedKeys) {
      if (key === "__proto__")
        continue;
      const sharedValue = mergeValues(a[key], b[key]);
      if (!sharedValue.valid) {
        return {
          valid: false,
          mergeErrorPath: [key, ...sharedValue.mergeErrorPath]
        };
      }
      newObj[key] = sharedValue.data;
    }
    return { valid: true, data: newObj };
  }
  if (Array.isArray(a) && Array.isArray(b)) {
    if (a.length !== b.length) {
      return { valid: false, mergeErrorPath: [] };
    }
    const newArray = [];
    for (let index = 0; index < a.length; index++) {
      const itemA = a[index];
      const itemB = b[index];
      const sharedValue = mergeValues(itemA, itemB);
      if (!sharedValue.valid) {
        return {
          valid: false,
          mergeErrorPath: [index, ...sharedValue.mergeErrorPath]
        };
      }
      newArray.push(sharedValue.data);
    }
    return { valid: true, data: newArray };
  }
  return { valid: false, mergeErrorPath: [] };
}
function handleIntersectionResults(result, left, right) {
  const unrecKeys = /* @__PURE__ */ new Map();
  let unrecIssue;
  const keyIssues = /* @__PURE__ */ new Map();
  const collect = (iss, side) => {
    let keys;
    if (iss.code === "unrecognized_keys" && !iss.path?.length) {
      unrecIssue ?? (unrecIssue = iss);
      keys = iss.keys;
    } else if (iss.code === "invalid_key" && iss.origin === "record" && iss.path?.length === 1) {
      const k = String(iss.path[0]);
      if (!keyIssues.has(k))
        keyIssues.set(k, iss);
      keys = [k];
    } else {
      return false;
    }
    for (const k of keys) {
      if (!unrecKeys.has(k))
        unrecKeys.set(k, {});
      unrecKeys.get(k)[side] = true;
    }
    return true;
  };
  for (const iss of left.issues) {
    if (!collect(iss, "l"))
      result.issues.push(iss);
  }
  for (const iss of right.issues) {
    if (!collect(iss, "r"))
      result.issues.push(iss);
  }
  const bothKeys = [...unrecKeys].filter(([, f]) => f.l && f.r).map(([k]) => k);
  if (bothKeys.length) {
    const aggregated = unrecIssue ? bothKeys.filter((k) => unrecIssue.keys.includes(k)) : [];
    if (aggregated.length)
      result.issues.push({ ...unrecIssue, keys: aggregated });
    for (const k of bothKeys) {
      if (!aggregated.includes(k) && keyIssues.has(k))
        result.issues.push(keyIssues.get(k));
    }
  }
  const merged = mergeValues(left.value, right.value);
  if (!merged.valid) {
    if (aborted(result))
      return result;
    throw new Error(`Unmergable intersection. Error path: ${JSON.stringify(merged.mergeErrorPath)}`);
  }
  result.value = merged.data;
  return result;
}
var $ZodTuple = /* @__PURE__ */ $constructor("$ZodTuple", (inst, def) => {
  $ZodType.init(inst, def);
  const items = def.items;
  const memo2 = globalConfig.memoizer;
  memo2?.attach(inst);
  inst._zod.parse = (payload, ctx) => {
    const input = payload.value;
    if (!Array.isArray(input)) {
      payload.issues.push({
        input,
        inst,
        expected: "tuple",
        code: "invalid_type"
      });
      return payload;
    }
    payload.value = memo2 ? memo2.alloc(inst, payload, [], ctx) : [];
    const proms = [];
    const optinStart = getTupleOptStart(items, "optin");
    const optoutStart = getTupleOptStart(items, "optout");
    if (!def.rest) {
      if (input.length < optinStart) {
        payload.issues.push({
          code: "too_small",
          minimum: optinStart,
          inclusive: true,
          input,
          inst,
          origin: "array"
        });
        return payload;
      }
      if (input.length > items.length) {
        payload.issues.push({
          code: "too_big",
          maximum: items.length,
          inclusive: true,
          input,
          inst,
          origin: "array"
        });
      }
    }
    const itemResults = new Array(items.length);
    const abortEarly = def.rest ? ctx?.abortEarly : void 0;
    let itemAborted = false;
    for (let i = 0; i < items.length; i++) {
      const r = items[i]._zod.run({ value: input[i], issues: [] }, ctx);
      if (r instanceof Promise) {
        proms.push(r.then((rr) => {
          itemResults[i] = rr;
        }));
      } else {
        itemResults[i] = r;
        if (abortEarly && !itemAborted && r.issues.length)
          itemAborted = aborted(r);
      }
    }
    if (def.rest && !itemAborted) {
      let i = items.length - 1;
      const rest = input.slice(items.length);
      let seen = payload.issues.length;
      for (const el of rest) {
        if (abortEarly && payload.issues.length !== seen) {
          if (aborted(payload, seen))
            break;
          seen = payload.issues.length;
        }
        i++;
        const result = def.rest._zod.run({ value: el, issues: [] }, ctx);
        if (result instanceof Promise) {
          proms.push(result.then((r) => handleTupleResult(r, payload, i)));
        } else {
          handleTupleResult(result, payload, i);
        }
      }
    }
    if (proms.length) {
      return Promise.all(proms).then(() => handleTupleResults(itemResults, payload, items, input, optoutStart));
    }
    return handleTupleResults(itemResults, payload, items, input, optoutStart);
  };
});
function getTupleOptStart(items, key) {
  for (let i = items.length - 1; i >= 0; i--) {
    const omittable = key === "optin" ? items[i]._zod.optin !== void 0 : items[i]._zod.optout === "optional";
    if (!omittable)
      return i + 1;
  }
  return 0;
}
function handleTupleResult(result, final, index) {
  if (result.issues.length) {
    final.issues.push(...prefixIssues(index, result.issues));
  }
  final.value[index] = result.value;
}
function handleTupleResults(itemResults, final, items, input, optoutStart) {
  for (let i = 0; i < items.length; i++) {
    const r = itemResults[i];
    const isPresent = i < input.length;
    if (!isPresent && i >= optoutStart && items[i]._zod.optin === "optional") {
      final.value.length = i;
      break;
    }
    if (r.issues.length) {
      if (!isPresent && i >= optoutStart) {
        final.value.length = i;
        break;
      }
      final.issues.push(...prefixIssues(i, r.issues));
    }
    final.value[i] = r.value;
  }
  for (let i = final.value.length - 1; i >= input.length; i--) {
    if (items[i]._zod.optout === "optional" && final.value[i] === void 0) {
      final.value.length = i;
    } else {
      break;
    }
  }
  return final;
}
var $ZodRecord = /* @__PURE__ */ $constructor("$ZodRecord", (inst, def) => {
  $ZodType.init(inst, def);
  const memo2 = globalConfig.memoizer;
  memo2?.attach(inst);
  inst._zod.parse = (payload, ctx) => {
    const input = payload.value;
    if (!isPlainObject(input)) {
      payload.issues.push({
        expected: "record",
        code: "invalid_type",
        input,
        inst
      });
      return payload;
    }
    const proms = [];
    const values = def.keyType._zod.values;
    if (values && !def.partial) {
      payload.value = memo2 ? memo2.alloc(inst, payload, {}, ctx) : {};
      const recordKeys = /* @__PURE__ */ new Set();
      for (const key of values) {
        if (typeof key === "string" || typeof key === "number" || typeof key === "symbol") {
          recordKeys.add(typeof key === "number" ? key.toString() : key);
          if (key === "__proto__")
            continue;
          const keyResult = def.keyType._zod.run({ value: key, issues: [] }, ctx);
          if (keyResult instanceof Promise) {
            throw new Error("Async schemas not supported in object keys currently");
          }
          if (keyResult.issues.length) {
            payload.issues.push({
              code: "invalid_key",
              origin: "record",
              issues: keyResult.issues.map((iss) => finalizeIssue(iss, ctx, config())),
              input: key,
              path: [key],
              inst
            });
            continue;
          }
          const outKey = keyResult.value;
          if (outKey === "__proto__")
            continue;
          const result = def.valueType._zod.run({ value: input[key], issues: [] }, ctx);
          if (result instanceof Promise) {
            proms.push(result.then((result2) => {
              if (result2.issues.length) {
                payload.issues.push(...prefixIssues(key, result2.issues));
              }
              payload.value[outKey] = result2.value;
            }));
          } else {
            if (result.issues.length) {
              payload.issues.push(...prefixIssues(key, result.issues));
            }
            payload.value[outKey] = result.value;
          }
        }
      }
      let unrecognized;
      for (const key in input) {
        if (!recordKeys.has(key)) {
          if (def.mode === "loose") {
            if (key === "__proto__")
              continue;
            payload.value[key] = input[key];
          } else {
            unrecognized = unrecognized ?? [];
            unrecognized.push(key);
          }
        }
      }
      if (unrecognized && unrecognized.length > 0) {
        payload.issues.push({
          code: "unrecognized_keys",
          input,
          inst,
          keys: unrecognized,
          continue: true
        });
      }
    } else {
      payload.value = memo2 ? memo2.alloc(inst, payload, {}, ctx) : {};
      let unrecognized;
      for (const key of Reflect.ownKeys(input)) {
        if (key === "__proto__")
          continue;
        if (!Object.prototype.propertyIsEnumerable.call(input, key))
          continue;
        let keyResult = def.keyType._zod.run({ value: key, issues: [] }, ctx);
        if (keyResult instanceof Promise) {
          throw new Error("Async schemas not supported in object keys currently");
        }
        const checkNumericKey = typeof key === "string" && number.test(key) && keyResult.issues.length;
        if (checkNumericKey) {
          const retryResult = def.keyType._zod.run({ value: Number(key), issues: [] }, ctx);
          if (retryResult instanceof Promise) {
            throw new Error("Async schemas not supported in object keys currently");
          }
          if (retryResult.issues.length === 0) {
            keyResult = retryResult;
          }
        }
        if (keyResult.issues.length) {
          if (def.mode === "loose") {
            payload.value[key] = input[key];
          } else if (values) {
            unrecognized = unrecognized ?? [];
            unrecognized.push(key);
          } else {
            payload.issues.push({
              code: "invalid_key",
              origin: "record",
              issues: keyResult.issues.map((iss) => finalizeIssue(iss, ctx, config())),
              input: key,
              path: [key],
              inst
            });
          }
          continue;
        }
        const outKey = keyResult.value;
        if (outKey === "__proto__")
          continue;
        const result = def.valueType._zod.run({ value: input[key], issues: [] }, ctx);
        if (result instanceof Promise) {
          proms.push(result.then((result2) => {
            if (result2.issues.length) {
              payload.issues.push(...prefixIssues(key, result2.issues));
            }
            payload.value[outKey] = result2.value;
          }));
        } else {
          if (result.issues.length) {
            payload.issues.push(...prefixIssues(key, result.issues));
          }
          payload.value[outKey] = result.value;
        }
      }
      if (unrecognized && unrecognized.length > 0) {
        payload.issues.push({
          code: "unrecognized_keys",
          input,
          inst,
          keys: unrecognized,
          continue: true
        });
      }
    }
    if (proms.length) {
      return Promise.all(proms).then(() => payload);
    }
    return payload;
  };
});
var $ZodEnum = /* @__PURE__ */ $constructor("$ZodEnum", (inst, def) => {
  $ZodType.init(inst, def);
  const values = getEnumValues(def.entries);
  const valuesSet = new Set(values);
  inst._zod.values = valuesSet;
  defineLazyInternal(inst, "pattern", (zod) => {
    const patternValues = getEnumValues(zod.def.entries).filter((k) => propertyKeyTypes.has(typeof k));
    return new RegExp(patternValues.length ? `^(${patternValues.map((o) => escapeRegex(o.toString())).join("|")})$` : "^[^\\s\\S]$");
  });
  inst._zod.parse = (payload, _ctx) => {
    const input = payload.value;
    if (valuesSet.has(input)) {
      return payload;
    }
    payload.issues.push({
      code: "invalid_value",
      values,
      input,
      inst
    });
    return payload;
  };
});
var $ZodLiteral = /* @__PURE__ */ $constructor("$ZodLiteral", (inst, def) => {
  $ZodType.init(inst, def);
  const values = new Set(def.values);
  inst._zod.values = values;
  defineLazyInternal(inst, "pattern", (zod) => {
    const vals = zod.def.values;
    return new RegExp(vals.length ? `^(${vals.map((o) => typeof o === "string" ? escapeRegex(o) : o ? escapeRegex(o.toString()) : String(o)).join("|")})$` : "^[^\\s\\S]$");
  });
  inst._zod.parse = (payload, _ctx) => {
    const input = payload.value;
    if (values.has(input)) {
      return payload;
    }
    payload.issues.push({
      code: "invalid_value",
      values: def.values,
      input,
      inst
    });
    return payload;
  };
});
var $ZodTransform = /* @__PURE__ */ $constructor("$ZodTransform", (inst, def) => {
  $ZodType.init(inst, def);
  inst._zod.optin = "optional";
  globalConfig.memoizer?.guard(inst);
  inst._zod.parse = (payload, ctx) => {
    if (ctx.direction === "backward") {
      throw new $ZodEncodeError(inst.constructor.name);
    }
    const _out = def.transform(payload.value, payload);
    if (ctx.async) {
      const output = _out instanceof Promise ? _out : Promise.resolve(_out);
      return output.then((output2) => {
        payload.value = output2;
        return payload;
      });
    }
    if (_out instanceof Promise) {
      throw new $ZodAsyncError();
    }
    payload.value = _out;
    return payload;
  };
});
function handleOptionalResult(payload, result) {
  payload.value = result.issues.length ? void 0 : result.value;
  return payload;
}
var $ZodOptional = /* @__PURE__ */ $constructor("$ZodOptional", (inst, def) => {
  $ZodType.init(inst, def);
  defineLazyInternal(inst, "optin", (zod) => zod.def.innerType._zod.optin === "defaulted" ? "defaulted" : "optional");
  inst._zod.optout = "optional";
  defineLazyInternal(inst, "values", (zod) => {
    const values = zod.def.innerType._zod.values;
    return values ? /* @__PURE__ */ new Set([...values, void 0]) : void 0;
  });
  defineLazyInternal(inst, "pattern", (zod) => {
    const pattern = zod.def.innerType._zod.pattern;
    return pattern ? new RegExp(`^(${cleanRegex(pattern.source)})?$`) : void 0;
  });
  inst._zod.parse = (payload, ctx) => {
    if (payload.value === void 0) {
      if (def.innerType._zod.optin !== "defaulted")
        return payload;
      const result = def.innerType._zod.run({ value: payload.value, issues: [] }, ctx);
      if (result instanceof Promise)
        return result.then((result2) => handleOptionalResult(payload, result2));
      return handleOptionalResult(payload, result);
    }
    return def.innerType._zod.run(payload, ctx);
  };
});
var $ZodExactOptional = /* @__PURE__ */ $constructor("$ZodExactOptional", (inst, def) => {
  $ZodOptional.init(inst, def);
  defineLazyInternal(inst, "values", (zod) => zod.def.innerType._zod.values);
  defineLazyInternal(inst, "pattern", (zod) => zod.def.innerType._zod.pattern);
  inst._zod.parse = (payload, ctx) => {
    return def.innerType._zod.run(payload, ctx);
  };
});
var $ZodNullable = /* @__PURE__ */ $constructor("$ZodNullable", (inst, def) => {
  $ZodType.init(inst, def);
  defineLazyInternal(inst, "optin", (zod) => zod.def.innerType._zod.optin);
  defineLazyInternal(inst, "optout", (zod) => zod.def.innerType._zod.optout);
  defineLazyInternal(inst, "pattern", (zod) => {
    const pattern = zod.def.innerType._zod.pattern;
    return pattern ? new RegExp(`^(${cleanRegex(pattern.source)}|null)$`) : void 0;
  });
  defineLazyInternal(inst, "values", (zod) => {
    return zod.def.innerType._zod.values ? /* @__PURE__ */ new Set([...zod.def.innerType._zod.values, null]) : void 0;
  });
  inst._zod.parse = (payload, ctx) => {
    if (payload.value === null)
      return payload;
    return def.innerType._zod.run(payload, ctx);
  };
});
var $ZodDefault = /* @__PURE__ */ $constructor("$ZodDefault", (inst, def) => {
  $ZodType.init(inst, def);
  inst._zod.optin = "defaulted";
  defineLazyInternal(inst, "values", (zod) => zod.def.innerType._zod.values);
  inst._zod.parse = (payload, ctx) => {
    if (ctx.direction === "backward") {
      return def.innerType._zod.run(payload, ctx);
    }
    if (payload.value === void 0) {
      payload.value = def.defaultValue;
      return payload;
    }
    const result = def.innerType._zod.run(payload, ctx);
    if (result instanceof Promise) {
      return result.then((result2) => handleDefaultResult(result2, def));
    }
    return handleDefaultResult(result, def);
  };
});
function handleDefaultResult(payload, def) {
  if (payload.value === void 0) {
    payload.value = def.defaultValue;
  }
  return payload;
}
var $ZodPrefault = /* @__PURE__ */ $constructor("$ZodPrefault", (inst, def) => {
  $ZodType.init(inst, def);
  inst._zod.optin = "defaulted";
  defineLazyInternal(inst, "values", (zod) => zod.def.innerType._zod.values);
  inst._zod.parse = (payload, ctx) => {
    if (ctx.direction === "backward") {
      return def.innerType._zod.run(payload, ctx);
    }
    if (payload.value === void 0) {
      payload.value = def.defaultValue;
    }
    return def.innerType._zod.run(payload, ctx);
  };
});
var $ZodNonOptional = /* @__PURE__ */ $constructor("$ZodNonOptional", (inst, def) => {
  $ZodType.init(inst, def);
  defineLazyInternal(inst, "values", (zod) => {
    const v = zod.def.innerType._zod.values;
    return v ? new Set([...v].filter((x) => x !== void 0)) : void 0;
  });
  inst._zod.parse = (payload, ctx) => {
    const result = def.innerType._zod.run(payload, ctx);
    if (result instanceof Promise) {
      return result.then((result2) => handleNonOptionalResult(result2, inst));
    }
    return handleNonOptionalResult(result, inst);
  };
});
function handleNonOptionalResult(payload, inst) {
  if (!payload.issues.length && payload.value === void 0) {
    payload.issues.push({
      code: "invalid_type",
      expected: "nonoptional",
      input: payload.value,
      inst
    });
  }
  return payload;
}
function handleCatchResult(payload, result, def, ctx) {
  if (!result.issues.length) {
    payload.value = result.value;
    if (result.memo)
      payload.memo = true;
    return payload;
  }
  payload.value = def.catchValue({
    ...result,
    value: payload.value,
    error: {
      issues: result.issues.map((iss) => finalizeIssue(iss, ctx, config()))
    },
    input: payload.value
  });
  return payload;
}
var $ZodCatch = /* @__PURE__ */ $constructor("$ZodCatch", (inst, def) => {
  $ZodType.init(inst, def);
  defineLazyInternal(inst, "optin", (zod) => zod.def.innerType._zod.optin === "defaulted" ? "defaulted" : "optional");
  defineLazyInternal(inst, "optout", (zod) => zod.def.innerType._zod.optout);
  defineLazyInternal(inst, "values", (zod) => zod.def.innerType._zod.values);
  inst._zod.parse = (payload, ctx) => {
    if (ctx.direction === "backward") {
      return def.innerType._zod.run(payload, ctx);
    }
    const result = def.innerType._zod.run({ value: payload.value, issues: [] }, ctx);
    if (result instanceof Promise) {
      return result.then((result2) => handleCatchResult(payload, result2, def, ctx));
    }
    return handleCatchResult(payload, result, def, ctx);
  };
});
var $ZodPipe = /* @__PURE__ */ $constructor("$ZodPipe", (inst, def) => {
  $ZodType.init(inst, def);
  defineLazyInternal(inst, "values", (zod) => zod.def.in._zod.values);
  defineLazyInternal(inst, "optin", (zod) => zod.def.in._zod.optin);
  defineLazyInternal(inst, "optout", (zod) => zod.def.out._zod.optout);
  defineLazyInternal(inst, "propValues", (zod) => zod.def.in._zod.propValues);
  inst._zod.parse = (payload, ctx) => {
    if (ctx.direction === "backward") {
      const right = def.out._zod.run(payload, ctx);
      if (right instanceof Promise) {
        return right.then((right2) => handlePipeResult(right2, def.in, ctx));
      }
      return handlePipeResult(right, def.in, ctx);
    }
    const left = def.in._zod.run(payload, ctx);
    if (left instanceof Promise) {
      return left.then((left2) => handlePipeResult(left2, def.out, ctx));
    }
    return handlePipeResult(left, def.out, ctx);
  };
});
function handlePipeResult(left, next2, ctx) {
  if (left.issues.some((iss) => iss.code !== "unrecognized_keys")) {
    left.aborted = true;
    return left;
  }
  return next2._zod.run({ value: left.value, issues: left.issues }, ctx);
}
var $ZodReadonly = /* @__PURE__ */ $constructor("$ZodReadonly", (inst, def) => {
  $ZodType.init(inst, def);
  defineLazyInternal(inst, "propValues", (zod) => zod.def.innerType._zod.propValues);
  defineLazyInternal(inst, "values", (zod) => zod.def.innerType._zod.values);
  defineLazyInternal(inst, "optin", (zod) => zod.def.innerType?._zod?.optin);
  defineLazyInternal(inst, "optout", (zod) => zod.def.innerType?._zod?.optout);
  inst._zod.parse = (payload, ctx) => {
    if (ctx.direction === "backward") {
      return def.innerType._zod.run(payload, ctx);
    }
    const result = def.innerType._zod.run(payload, ctx);
    if (result instanceof Promise) {
      return result.then(handleReadonlyResult);
    }
    return handleReadonlyResult(result);
  };
});
function handleReadonlyResult(payload) {
  if (!payload.memo)
    payload.value = Object.freeze(payload.value);
  return payload;
}
var $ZodCustom = /* @__PURE__ */ $constructor("$ZodCustom", (inst, def) => {
  $ZodCheck.init(inst, def);
  $ZodType.init(inst, def);
  inst._zod.parse = (payload, _) => {
    return payload;
  };
  inst._zod.check = (payload) => {
    const input = payload.value;
    const r = def.fn(input);
    if (r instanceof Promise) {
      return r.then((r2) => handleRefineResult(r2, payload, input, inst));
    }
    handleRefineResult(r, payload, input, inst);
    return;
  };
});
function handleRefineResult(result, payload, input, inst) {
  if (!result) {
    const _iss = {
      code: "custom",
      input,
      inst,
      // incorporates params.error into issue reporting
      path: [...inst._zod.def.path ?? []],
      // incorporates params.error into issue reporting
      continue: !inst._zod.def.abort
      // params: inst._zod.def.params,
    };
    if (inst._zod.def.params)
      _iss.params = inst._zod.def.params;
    payload.issues.push(issue(_iss));
  }
}

// node_modules/.pnpm/zod@4.6.7/node_modules/zod/v4/core/memoizer.js
var $ZodCyclicError = class extends Error {
  constructor() {
    super(`Cannot parse a reference cycle that closes through a transform`);
    this.name = "ZodCyclicError";
  }
};
var STATE = "~memo";
var NO_ISSUES = [];
function isRef(value) {
  return value !== null && typeof value === "object";
}
function cloneIssues(issues) {
  return issues.map((iss) => iss.path ? { ...iss, path: iss.path.slice() } : { ...iss });
}
var recursive = /* @__PURE__ */ new WeakMap();
var NONE = 0;
var ASSUMED = 1;
var PROVEN = 2;
function isRecursive(inst, stack, resolve) {
  const cached2 = recursive.get(inst);
  if (cached2 !== void 0)
    return cached2 ? PROVEN : NONE;
  if (stack.has(inst))
    return PROVEN;
  stack.add(inst);
  let result = NONE;
  const check = (child) => {
    if (result !== PROVEN && child?._zod) {
      const answer = isRecursive(child, stack, resolve);
      if (answer > result)
        result = answer;
    }
  };
  const shape = (sh, spread) => {
    let answer = NONE;
    for (const key of Reflect.ownKeys(sh)) {
      const desc = Object.getOwnPropertyDescriptor(sh, key);
      if (spread && !desc.enumerable)
        continue;
      const child = desc.get ? ASSUMED : desc.value?._zod ? isRecursive(desc.value, stack, resolve) : NONE;
      if (child > answer)
        answer = child;
    }
    return answer;
  };
  const merge2 = (answer) => {
    if (answer > result)
      result = answer;
  };
  const def = inst._zod.def;
  const kind = def.type;
  switch (kind) {
    case "object": {
      const raw = rawShape(def);
      merge2(raw ? shape(raw, true) : ASSUMED);
      check(def.catchall);
      break;
    }
    case "array":
      check(def.element);
      break;
    case "tuple":
      for (const el of def.items)
        check(el);
      check(def.rest);
      break;
    case "record":
    case "map":
      check(def.keyType);
      check(def.valueType);
      break;
    case "set":
      check(def.valueType);
      break;
    case "union":
      for (const el of def.options)
        check(el);
      break;
    case "intersection":
      check(def.left);
      check(def.right);
      break;
    case "optional":
    case "nullable":
    case "default":
    case "prefault":
    case "catch":
    case "readonly":
    case "nonoptional":
    case "promise":
    case "success":
      check(def.innerType);
      break;
    case "pipe":
      check(def.in);
      check(def.out);
      break;
    case "function":
      check(def.input);
      check(def.output);
      break;
    // `$ZodLazy` caches its inner on the def, so a resolved edge is followed exactly
    case "lazy": {
      const inner = def._cachedInner ?? (resolve ? inst._zod.innerType : void 0);
      merge2(inner ? isRecursive(inner, stack, false) : ASSUMED);
      break;
    }
    // a leaf by choice: `parts` are regex fragments, not data positions
    case "template_literal":
    // leaves
    case "string":
    case "number":
    case "int":
    case "boolean":
    case "bigint":
    case "symbol":
    case "undefined":
    case "null":
    case "void":
    case "never":
    case "any":
    case "unknown":
    case "date":
    case "nan":
    case "enum":
    case "literal":
    case "file":
    case "transform":
    case "custom":
      break;
    default: {
      kind;
      for (const key in def) {
        const desc = Object.getOwnPropertyDescriptor(def, key);
        if (!desc || desc.get)
          continue;
        const value = desc.value;
        if (!value || typeof value !== "object")
          continue;
        if (value._zod)
          check(value);
        else if (Array.isArray(value))
          for (const el of value)
            check(el);
      }
    }
  }
  stack.delete(inst);
  return settle(inst, result);
}
function settle(inst, answer) {
  if (answer !== ASSUMED)
    recursive.set(inst, answer === PROVEN);
  return answer;
}
function bucketFor(state, inst) {
  let bucket = state.buckets.get(inst);
  if (!bucket) {
    bucket = /* @__PURE__ */ new WeakMap();
    state.buckets.set(inst, bucket);
  }
  return bucket;
}
var handoff;
var open = [];
var memo = {
  alloc(_inst, payload, empty) {
    const bucket = handoff;
    if (!bucket)
      return empty;
    handoff = void 0;
    const entry = { value: empty, issues: null };
    bucket.set(payload.value, entry);
    open.push(entry);
    return empty;
  },
  guard(inst) {
    var _a3;
    (_a3 = inst._zod).deferred ?? (_a3.deferred = []);
    inst._zod.deferred.push(() => {
      const base = inst._zod.parse;
      const wrapped = (payload, ctx) => {
        if (ctx.direction !== "backward" && isBackEdge(ctx, payload.value))
          throw new $ZodCyclicError();
        return base(payload, ctx);
      };
      inst._zod.parse = wrapped;
      if (inst._zod.run === base)
        inst._zod.run = wrapped;
    });
  },
  attach(inst) {
    var _a3;
    let isRecursiveInst;
    let rechecked = false;
    let lastCtx;
    let lastBucket;
    (_a3 = inst._zod).deferred ?? (_a3.deferred = []);
    inst._zod.deferred.push(() => {
      const base = inst._zod.parse;
      const wrapped = (payload, ctx) => {
        if (isRecursiveInst === void 0) {
          const walked = isRecursive(inst, /* @__PURE__ */ new Set(), false);
          if (walked === NONE) {
            inst._zod.parse = base;
            if (inst._zod.run === wrapped)
              inst._zod.run = base;
            return base(payload, ctx);
          }
          if (walked === PROVEN || rechecked)
            isRecursiveInst = true;
          else
            rechecked = true;
        }
        const input = payload.value;
        if (!isRef(input))
          return base(payload, ctx);
        let state = ctx[STATE];
        if (!state) {
          state = { buckets: /* @__PURE__ */ new WeakMap(), backEdges: void 0 };
          ctx[STATE] = state;
        }
        let bucket;
        if (lastCtx === ctx) {
          bucket = lastBucket;
        } else {
          bucket = bucketFor(state, inst);
          lastCtx = ctx;
          lastBucket = bucket;
        }
        const hit = bucket.get(input);
        if (hit) {
          payload.value = hit.value;
          if (hit.issues) {
            if (hit.issues.length)
              payload.issues.push(...cloneIssues(hit.issues));
          } else {
            payload.memo = true;
            state.backEdges ?? (state.backEdges = /* @__PURE__ */ new WeakSet());
            state.backEdges.add(hit.value);
          }
          return payload;
        }
        handoff = bucket;
        const depth = open.length;
        const result = base(payload, ctx);
        handoff = void 0;
        const entry = open.length > depth ? open.pop() : void 0;
        if (result instanceof Promise) {
          return result.then((r) => {
            if (entry)
              entry.issues = r.issues.length ? cloneIssues(r.issues) : NO_ISSUES;
            return r;
          });
        }
        if (entry)
          entry.issues = result.issues.length ? cloneIssues(result.issues) : NO_ISSUES;
        return result;
      };
      inst._zod.parse = wrapped;
      if (inst._zod.run === base)
        inst._zod.run = wrapped;
    });
  }
};
function memoizer() {
  return memo;
}
function isBackEdge(ctx, value) {
  const backEdges = ctx[STATE]?.backEdges;
  return backEdges !== void 0 && isRef(value) && backEdges.has(value);
}

// node_modules/.pnpm/zod@4.6.7/node_modules/zod/v4/locales/en.js
var error = () => {
  const Sizable = {
    string: { unit: "characters", verb: "to have" },
    file: { unit: "bytes", verb: "to have" },
    array: { unit: "items", verb: "to have" },
    set: { unit: "items", verb: "to have" },
    map: { unit: "entries", verb: "to have" }
  };
  function getSizing(origin) {
    return Sizable[origin] ?? null;
  }
  const FormatDictionary = {
    regex: "input",
    email: "email address",
    url: "URL",
    emoji: "emoji",
    uuid: "UUID",
    uuidv4: "UUIDv4",
    uuidv6: "UUIDv6",
    nanoid: "nanoid",
    guid: "GUID",
    cuid: "cuid",
    cuid2: "cuid2",
    ulid: "ULID",
    xid: "XID",
    ksuid: "KSUID",
    datetime: "ISO datetime",
    date: "ISO date",
    time: "ISO time",
    duration: "ISO duration",
    ipv4: "IPv4 address",
    ipv6: "IPv6 address",
    mac: "MAC address",
    cidrv4: "IPv4 range",
    cidrv6: "IPv6 range",
    base64: "base64-encoded string",
    base64url: "base64url-encoded string",
    json_string: "JSON string",
    e164: "E.164 number",
    currency_code: "currency code",
    credit_card: "credit card number",
    iban: "IBAN",
    jwt: "JWT",
    template_literal: "input"
  };
  const TypeDictionary = {
    // Compatibility: "nan" -> "NaN" for display
    nan: "NaN"
    // All other type names omitted - they fall back to raw values via ?? operator
  };
  function getTypeName(type, input) {
    if (type === "number" && typeof input === "number" && !Number.isFinite(input)) {
      return String(input);
    }
    return TypeDictionary[type] ?? type;
  }
  return (issue2) => {
    switch (issue2.code) {
      case "invalid_type": {
        const expected = getTypeName(issue2.expected);
        const receivedType = parsedType(issue2.input);
        const received = getTypeName(receivedType, issue2.input);
        return `Invalid input: expected ${expected}, received ${received}`;
      }
      case "invalid_value":
        if (issue2.values.length === 1)
          return `Invalid input: expected ${stringifyPrimitive(issue2.values[0])}`;
        return `Invalid option: expected one of ${joinValues(issue2.values, "|")}`;
      case "too_big": {
        const adj = issue2.exact ? "exactly " : issue2.inclusive ? "<=" : "<";
        const sizing = getSizing(issue2.origin);
        if (sizing)
          return `Too big: expected ${issue2.origin ?? "value"} to have ${adj}${issue2.maximum.toString()} ${sizing.unit ?? "elements"}`;
        return `Too big: expected ${issue2.origin ?? "value"} to be ${adj}${issue2.maximum.toString()}`;
      }
      case "too_small": {
        const adj = issue2.exact ? "exactly " : issue2.inclusive ? ">=" : ">";
        const sizing = getSizing(issue2.origin);
        if (sizing) {
          return `Too small: expected ${issue2.origin} to have ${adj}${issue2.minimum.toString()} ${sizing.unit}`;
        }
        return `Too small: expected ${issue2.origin} to be ${adj}${issue2.minimum.toString()}`;
      }
      case "invalid_format": {
        const _issue = issue2;
        if (_issue.format === "starts_with") {
          return `Invalid string: must start with "${_issue.prefix}"`;
        }
        if (_issue.format === "ends_with")
          return `Invalid string: must end with "${_issue.suffix}"`;
        if (_issue.format === "includes")
          return `Invalid string: must include "${_issue.includes}"`;
        if (_issue.format === "regex")
          return `Invalid string: must match pattern ${_issue.pattern}`;
        return `Invalid ${FormatDictionary[_issue.format] ?? issue2.format}`;
      }
      case "not_multiple_of":
        return `Invalid number: must be a multiple of ${issue2.divisor}`;
      case "unrecognized_keys":
        return `Unrecognized key${issue2.keys.length > 1 ? "s" : ""}: ${joinValues(issue2.keys, ", ")}`;
      case "invalid_key":
        return `Invalid key in ${issue2.origin}`;
      case "invalid_union":
        if (issue2.options && Array.isArray(issue2.options) && issue2.options.length > 0) {
          const opts = issue2.options.map((o) => `'${o}'`).join(" | ");
          return `Invalid discriminator value. Expected ${opts}`;
        }
        if (issue2.inclusive === false) {
          return "Invalid input: more than one option matched";
        }
        return "Invalid input";
      case "invalid_element":
        return `Invalid value in ${issue2.origin}`;
      default:
        return `Invalid input`;
    }
  };
};
function en_default() {
  return {
    localeError: error()
  };
}

// node_modules/.pnpm/zod@4.6.7/node_modules/zod/v4/core/registries.js
var _a2;
var $ZodRegistry = class {
  constructor() {
    this._map = /* @__PURE__ */ new WeakMap();
    this._idmap = /* @__PURE__ */ new Map();
  }
  add(schema, ..._meta) {
    const meta2 = _meta[0];
    this._map.set(schema, meta2);
    if (meta2 && typeof meta2 === "object" && "id" in meta2) {
      this._idmap.set(meta2.id, schema);
    }
    return this;
  }
  clear() {
    this._map = /* @__PURE__ */ new WeakMap();
    this._idmap = /* @__PURE__ */ new Map();
    return this;
  }
  remove(schema) {
    const meta2 = this._map.get(schema);
    if (meta2 && typeof meta2 === "object" && "id" in meta2) {
      this._idmap.delete(meta2.id);
    }
    this._map.delete(schema);
    return this;
  }
  get(schema) {
    const p = schema._zod.parent;
    if (p) {
      const pm = { ...this.get(p) ?? {} };
      delete pm.id;
      const f = { ...pm, ...this._map.get(schema) };
      return Object.keys(f).length ? f : void 0;
    }
    return this._map.get(schema);
  }
  has(schema) {
    return this._map.has(schema);
  }
};
function registry() {
  return new $ZodRegistry();
}
(_a2 = globalThis).__zod_globalRegistry ?? (_a2.__zod_globalRegistry = registry());
var globalRegistry = globalThis.__zod_globalRegistry;

// node_modules/.pnpm/zod@4.6.7/node_modules/zod/v4/core/api.js
function snapshotChecks(def) {
  if (def.checks)
    def.checks = [...def.checks];
  return def;
}
// @__NO_SIDE_EFFECTS__
function _string(Class2, params) {
  return new Class2(snapshotChecks({ type: "string", ...normalizeParams(params) }));
}
// @__NO_SIDE_EFFECTS__
function _email(Class2, params) {
  return new Class2({
    type: "string",
    format: "email",
    check: "string_format",
    abort: false,
    ...normalizeParams(params)
  });
}
// @__NO_SIDE_EFFECTS__
function _guid(Class2, params) {
  return new Class2({
    type: "string",
    format: "guid",
    check: "string_format",
    abort: false,
    ...normalizeParams(params)
  });
}
// @__NO_SIDE_EFFECTS__
function _uuid(Class2, params) {
  return new Class2({
    type: "string",
    format: "uuid",
    check: "string_format",
    abort: false,
    ...normalizeParams(params)
  });
}
// @__NO_SIDE_EFFECTS__
function _uuidv4(Class2, params) {
  return new Class2({
    type: "string",
    format: "uuid",
    check: "string_format",
    abort: false,
    version: "v4",
    ...normalizeParams(params)
  });
}
// @__NO_SIDE_EFFECTS__
function _uuidv6(Class2, params) {
  return new Class2({
    type: "string",
    format: "uuid",
    check: "string_format",
    abort: false,
    version: "v6",
    ...normalizeParams(params)
  });
}
// @__NO_SIDE_EFFECTS__
function _uuidv7(Class2, params) {
  return new Class2({
    type: "string",
    format: "uuid",
    check: "string_format",
    abort: false,
    version: "v7",
    ...normalizeParams(params)
  });
}
// @__NO_SIDE_EFFECTS__
function _url(Class2, params) {
  return new Class2({
    type: "string",
    format: "url",
    check: "string_format",
    abort: false,
    ...normalizeParams(params)
  });
}
// @__NO_SIDE_EFFECTS__
function _emoji2(Class2, params) {
  return new Class2({
    type: "string",
    format: "emoji",
    check: "string_format",
    abort: false,
    ...normalizeParams(params)
  });
}
// @__NO_SIDE_EFFECTS__
function _nanoid(Class2, params) {
  return new Class2({
    type: "string",
    format: "nanoid",
    check: "string_format",
    abort: false,
    ...normalizeParams(params)
  });
}
// @__NO_SIDE_EFFECTS__
function _cuid(Class2, params) {
  return new Class2({
    type: "string",
    format: "cuid",
    check: "string_format",
    abort: false,
    ...normalizeParams(params)
  });
}
// @__NO_SIDE_EFFECTS__
function _cuid2(Class2, params) {
  return new Class2({
    type: "string",
    format: "cuid2",
    check: "string_format",
    abort: false,
    ...normalizeParams(params)
  });
}
// @__NO_SIDE_EFFECTS__
function _ulid(Class2, params) {
  return new Class2({
    type: "string",
    format: "ulid",
    check: "string_format",
    abort: false,
    ...normalizeParams(params)
  });
}
// @__NO_SIDE_EFFECTS__
function _xid(Class2, params) {
  return new Class2({
    type: "string",
    format: "xid",
    check: "string_format",
    abort: false,
    ...normalizeParams(params)
  });
}
// @__NO_SIDE_EFFECTS__
function _ksuid(Class2, params) {
  return new Class2({
    type: "string",
    format: "ksuid",
    check: "string_format",
    abort: false,
    ...normalizeParams(params)
  });
}
// @__NO_SIDE_EFFECTS__
function _ipv4(Class2, params) {
  return new Class2({
    type: "string",
    format: "ipv4",
    check: "string_format",
    abort: false,
    ...normalizeParams(params)
  });
}
// @__NO_SIDE_EFFECTS__
function _ipv6(Class2, params) {
  return new Class2({
    type: "string",
    format: "ipv6",
    check: "string_format",
    abort: false,
    ...normalizeParams(params)
  });
}
// @__NO_SIDE_EFFECTS__
function _cidrv4(Class2, params) {
  return new Class2({
    type: "string",
    format: "cidrv4",
    check: "string_format",
    abort: false,
    ...normalizeParams(params)
  });
}
// @__NO_SIDE_EFFECTS__
function _cidrv6(Class2, params) {
  return new Class2({
    type: "string",
    format: "cidrv6",
    check: "string_format",
    abort: false,
    ...normalizeParams(params)
  });
}
// @__NO_SIDE_EFFECTS__
function _base64(Class2, params) {
  return new Class2({
    type: "string",
    format: "base64",
    check: "string_format",
    abort: false,
    ...normalizeParams(params)
  });
}
// @__NO_SIDE_EFFECTS__
function _base64url(Class2, params) {
  return new Class2({
    type: "string",
    format: "base64url",
    check: "string_format",
    abort: false,
    ...normalizeParams(params)
  });
}
// @__NO_SIDE_EFFECTS__
function _e164(Class2, params) {
  return new Class2({
    type: "string",
    format: "e164",
    check: "string_format",
    abort: false,
    ...normalizeParams(params)
  });
}
// @__NO_SIDE_EFFECTS__
function _jwt(Class2, params) {
  return new Class2({
    type: "string",
    format: "jwt",
    check: "string_format",
    abort: false,
    ...normalizeParams(params)
  });
}
// @__NO_SIDE_EFFECTS__
function _isoDateTime(Class2, params) {
  return new Class2({
    type: "string",
    format: "datetime",
    check: "string_format",
    offset: false,
    local: false,
    precision: null,
    ...normalizeParams(params)
  });
}
// @__NO_SIDE_EFFECTS__
function _isoDate(Class2, params) {
  return new Class2({
    type: "string",
    format: "date",
    check: "string_format",
    ...normalizeParams(params)
  });
}
// @__NO_SIDE_EFFECTS__
function _isoTime(Class2, params) {
  return new Class2({
    type: "string",
    format: "time",
    check: "string_format",
    precision: null,
    ...normalizeParams(params)
  });
}
// @__NO_SIDE_EFFECTS__
function _isoDuration(Class2, params) {
  return new Class2({
    type: "string",
    format: "duration",
    check: "string_format",
    ...normalizeParams(params)
  });
}
// @__NO_SIDE_EFFECTS__
function _number(Class2, params) {
  return new Class2(snapshotChecks({ type: "number", checks: [], ...normalizeParams(params) }));
}
// @__NO_SIDE_EFFECTS__
function _int(Class2, params) {
  return new Class2({
    type: "number",
    check: "number_format",
    abort: false,
    format: "safeint",
    ...normalizeParams(params)
  });
}
// @__NO_SIDE_EFFECTS__
function _uint32(Class2, params) {
  return new Class2({
    type: "number",
    check: "number_format",
    abort: false,
    format: "uint32",
    ...normalizeParams(params)
  });
}
// @__NO_SIDE_EFFECTS__
function _boolean(Class2, params) {
  return new Class2({
    type: "boolean",
    ...normalizeParams(params)
  });
}
// @__NO_SIDE_EFFECTS__
function _unknown(Class2) {
  return new Class2({
    type: "unknown"
  });
}
// @__NO_SIDE_EFFECTS__
function _never(Class2, params) {
  return new Class2({
    type: "never",
    ...normalizeParams(params)
  });
}
// @__NO_SIDE_EFFECTS__
function _lt(value, params) {
  return new $ZodCheckLessThan({
    check: "less_than",
    ...normalizeParams(params),
    value,
    inclusive: false
  });
}
// @__NO_SIDE_EFFECTS__
function _lte(value, params) {
  return new $ZodCheckLessThan({
    check: "less_than",
    ...normalizeParams(params),
    value,
    inclusive: true
  });
}
// @__NO_SIDE_EFFECTS__
function _gt(value, params) {
  return new $ZodCheckGreaterThan({
    check: "greater_than",
    ...normalizeParams(params),
    value,
    inclusive: false
  });
}
// @__NO_SIDE_EFFECTS__
function _gte(value, params) {
  return new $ZodCheckGreaterThan({
    check: "greater_than",
    ...normalizeParams(params),
    value,
    inclusive: true
  });
}
// @__NO_SIDE_EFFECTS__
function _multipleOf(value, params) {
  return new $ZodCheckMultipleOf({
    check: "multiple_of",
    ...normalizeParams(params),
    value
  });
}
// @__NO_SIDE_EFFECTS__
function _maxLength(maximum, params) {
  const ch = new $ZodCheckMaxLength({
    check: "max_length",
    ...normalizeParams(params),
    maximum
  });
  return ch;
}
// @__NO_SIDE_EFFECTS__
function _minLength(minimum, params) {
  return new $ZodCheckMinLength({
    check: "min_length",
    ...normalizeParams(params),
    minimum
  });
}
// @__NO_SIDE_EFFECTS__
function _length(length, params) {
  return new $ZodCheckLengthEquals({
    check: "length_equals",
    ...normalizeParams(params),
    length
  });
}
// @__NO_SIDE_EFFECTS__
function _regex(pattern, params) {
  return new $ZodCheckRegex({
    check: "string_format",
    format: "regex",
    ...normalizeParams(params),
    pattern
  });
}
// @__NO_SIDE_EFFECTS__
function _lowercase(params) {
  return new $ZodCheckLowerCase({
    check: "string_format",
    format: "lowercase",
    ...normalizeParams(params)
  });
}
// @__NO_SIDE_EFFECTS__
function _uppercase(params) {
  return new $ZodCheckUpperCase({
    check: "string_format",
    format: "uppercase",
    ...normalizeParams(params)
  });
}
// @__NO_SIDE_EFFECTS__
function _includes(includes, params) {
  return new $ZodCheckIncludes({
    check: "string_format",
    format: "includes",
    ...normalizeParams(params),
    includes
  });
}
// @__NO_SIDE_EFFECTS__
function _startsWith(prefix, params) {
  return new $ZodCheckStartsWith({
    check: "string_format",
    format: "starts_with",
    ...normalizeParams(params),
    prefix
  });
}
// @__NO_SIDE_EFFECTS__
function _endsWith(suffix, params) {
  return new $ZodCheckEndsWith({
    check: "string_format",
    format: "ends_with",
    ...normalizeParams(params),
    suffix
  });
}
// @__NO_SIDE_EFFECTS__
function _overwrite(tx) {
  return new $ZodCheckOverwrite({
    check: "overwrite",
    tx
  });
}
// @__NO_SIDE_EFFECTS__
function _normalize(form) {
  return /* @__PURE__ */ _overwrite((input) => input.normalize(form));
}
// @__NO_SIDE_EFFECTS__
function _trim() {
  return /* @__PURE__ */ _overwrite((input) => input.trim());
}
// @__NO_SIDE_EFFECTS__
function _toLowerCase() {
  return /* @__PURE__ */ _overwrite((input) => input.toLowerCase());
}
// @__NO_SIDE_EFFECTS__
function _toUpperCase() {
  return /* @__PURE__ */ _overwrite((input) => input.toUpperCase());
}
// @__NO_SIDE_EFFECTS__
function _slugify() {
  return /* @__PURE__ */ _overwrite((input) => slugify(input));
}
// @__NO_SIDE_EFFECTS__
function _array(Class2, element, params) {
  return new Class2({
    type: "array",
    element,
    // get element() {
    //   return element;
    // },
    ...normalizeParams(params)
  });
}
// @__NO_SIDE_EFFECTS__
function _custom(Class2, fn, _params) {
  const norm = normalizeParams(_params);
  norm.abort ?? (norm.abort = true);
  const schema = new Class2({
    type: "custom",
    check: "custom",
    fn,
    ...norm
  });
  return schema;
}
// @__NO_SIDE_EFFECTS__
function _refine(Class2, fn, _params) {
  const schema = new Class2({
    type: "custom",
    check: "custom",
    fn,
    ...normalizeParams(_params)
  });
  return schema;
}
// @__NO_SIDE_EFFECTS__
function _superRefine(fn, params) {
  const ch = /* @__PURE__ */ _check((payload) => {
    payload.addIssue = (issue2) => {
      if (typeof issue2 === "string") {
        payload.issues.push(issue(issue2, payload.value, ch._zod.def));
      } else {
        const _issue = issue2;
        if (_issue.fatal)
          _issue.continue = false;
        _issue.code ?? (_issue.code = "custom");
        if (!("input" in _issue))
          _issue.input = payload.value;
        _issue.inst ?? (_issue.inst = ch);
        _issue.continue ?? (_issue.continue = !ch._zod.def.abort);
        payload.issues.push(issue(_issue));
      }
    };
    return fn(payload.value, payload);
  }, params);
  return ch;
}
// @__NO_SIDE_EFFECTS__
function _check(fn, params) {
  const ch = new $ZodCheck({
    check: "custom",
    ...normalizeParams(params)
  });
  ch._zod.check = fn;
  return ch;
}

// node_modules/.pnpm/zod@4.6.7/node_modules/zod/v4/core/to-json-schema.js
function assignProps(target, ...sources) {
  for (const source of sources) {
    for (const key of Reflect.ownKeys(source)) {
      if (Object.prototype.propertyIsEnumerable.call(source, key)) {
        assignProp(target, key, source[key]);
      }
    }
  }
  return target;
}
function initializeContext(params) {
  let target = params?.target ?? "draft-2020-12";
  if (target === "draft-4")
    target = "draft-04";
  if (target === "draft-7")
    target = "draft-07";
  return {
    processors: params.processors ?? {},
    metadataRegistry: params?.metadata ?? globalRegistry,
    target,
    unrepresentable: params?.unrepresentable ?? "throw",
    override: params?.override ?? (() => {
    }),
    io: params?.io ?? "output",
    counter: 0,
    seen: /* @__PURE__ */ new Map(),
    sharedDefsExtractedFor: void 0,
    sharedEmitDoneFor: void 0,
    cycles: params?.cycles ?? "ref",
    reused: params?.reused ?? "inline",
    intersections: [],
    deferred: [],
    external: params?.external ?? void 0
  };
}
function handleUnrepresentable(schema, ctx, json, params, message) {
  const result = typeof ctx.unrepresentable === "function" ? ctx.unrepresentable({ zodSchema: schema, path: params.path, message }) : ctx.unrepresentable;
  if (result === "any")
    return false;
  if (result === void 0 || result === "throw")
    throw new Error(message);
  Object.assign(json, result);
  return true;
}
function processSchema(schema, ctx, _params = { path: [], schemaPath: [] }) {
  var _a3;
  const def = schema._zod.def;
  const seen = ctx.seen.get(schema);
  if (seen) {
    seen.count++;
    const isCycle = _params.schemaPath.includes(schema);
    if (isCycle) {
      seen.cycle = _params.path;
    }
    return seen.schema;
  }
  const result = { schema: {}, count: 1, cycle: void 0, path: _params.path };
  ctx.seen.set(schema, result);
  ctx.sharedDefsExtractedFor = void 0;
  ctx.sharedEmitDoneFor = void 0;
  const overrideSchema = schema._zod.toJSONSchema?.();
  if (overrideSchema) {
    result.schema = overrideSchema;
  } else {
    const params = {
      ..._params,
      schemaPath: [..._params.schemaPath, schema],
      path: _params.path
    };
    if (schema._zod.processJSONSchema) {
      schema._zod.processJSONSchema(ctx, result.schema, params);
    } else {
      const _json = result.schema;
      const processor = ctx.processors[def.type];
      if (!processor) {
        throw new Error(`[toJSONSchema]: Non-representable type encountered: ${def.type}`);
      }
      processor(schema, ctx, _json, params);
    }
    const parent = schema._zod.parent;
    if (parent) {
      if (!result.ref)
        result.ref = parent;
      processSchema(parent, ctx, params);
      ctx.seen.get(parent).isParent = true;
    }
  }
  const meta2 = ctx.metadataRegistry.get(schema);
  if (meta2)
    assignProps(result.schema, meta2);
  if (ctx.io === "input" && isTransforming(schema)) {
    delete result.schema.examples;
    delete result.schema.default;
  }
  if (ctx.io === "input" && "_prefault" in result.schema)
    (_a3 = result.schema).default ?? (_a3.default = result.schema._prefault);
  delete result.schema._prefault;
  const _result = ctx.seen.get(schema);
  return _result.schema;
}
function encodeJSONPointerSegment(segment) {
  return segment.replace(/~/g, "~0").replace(/\//g, "~1");
}
function extractDefs(ctx, schema) {
  const root = ctx.seen.get(schema);
  if (!root)
    throw new Error("Unprocessed schema. This is a bug in Zod.");
  if (ctx.external && ctx.sharedDefsExtractedFor === ctx.external)
    return;
  const idToSchema = /* @__PURE__ */ new Map();
  for (const entry of ctx.seen.entries()) {
    const id = ctx.metadataRegistry.get(entry[0])?.id;
    if (id) {
      const existing = idToSchema.get(id);
      if (existing && existing !== entry[0]) {
        throw new Error(`Duplicate schema id "${id}" detected during JSON Schema conversion. Two different schemas cannot share the same id when converted together.`);
      }
      idToSchema.set(id, entry[0]);
    }
  }
  const makeURI = (entry) => {
    const defsSegment = ctx.target === "draft-2020-12" ? "$defs" : "definitions";
    if (ctx.external) {
      const externalId = ctx.external.registry.get(entry[0])?.id;
      const uriGenerator = ctx.external.uri ?? ((id2) => id2);
      if (externalId) {
        return { ref: uriGenerator(externalId) };
      }
      const id = entry[1].defId ?? entry[1].schema.id ?? `schema${ctx.counter++}`;
      entry[1].defId = id;
      return { defId: id, ref: `${uriGenerator("__shared")}#/${defsSegment}/${encodeJSONPointerSegment(id)}` };
    }
    const uriPrefix = `#`;
    const defUriPrefix = `${uriPrefix}/${defsSegment}/`;
    if (entry[1] === root && !entry[1].schema.id) {
      return { ref: uriPrefix };
    }
    const defId = entry[1].schema.id ?? `__schema${ctx.counter++}`;
    return { defId, ref: defUriPrefix + encodeJSONPointerSegment(defId) };
  };
  const extractToDef = (entry) => {
    if (entry[1].schema.$ref) {
      return;
    }
    const seen = entry[1];
    const { ref, defId } = makeURI(entry);
    seen.def = { ...seen.schema };
    if (defId)
      seen.defId = defId;
    const schema2 = seen.schema;
    for (const key in schema2) {
      delete schema2[key];
    }
    schema2.$ref = ref;
  };
  if (ctx.cycles === "throw") {
    for (const entry of ctx.seen.entries()) {
      const seen = entry[1];
      if (seen.cycle) {
        throw new Error(`Cycle detected: #/${seen.cycle?.join("/")}/<root>

Set the \`cycles\` parameter to \`"ref"\` to resolve cyclical schemas with defs.`);
      }
    }
  }
  for (const entry of ctx.seen.entries()) {
    const seen = entry[1];
    if (schema === entry[0]) {
      extractToDef(entry);
      continue;
    }
    if (ctx.external) {
      const ext = ctx.external.registry.get(entry[0])?.id;
      if (schema !== entry[0] && ext) {
        extractToDef(entry);
        continue;
      }
    }
    const id = ctx.metadataRegistry.get(entry[0])?.id;
    if (id) {
      extractToDef(entry);
      continue;
    }
    if (seen.cycle) {
      extractToDef(entry);
      continue;
    }
    if (seen.count > 1) {
      if (ctx.reused === "ref") {
        extractToDef(entry);
      }
    }
  }
  if (ctx.external)
    ctx.sharedDefsExtractedFor = ctx.external;
}
function compactTypeUnion(schema) {
  const options = schema.anyOf;
  if (!Array.isArray(options) || options.length === 0 || schema.type !== void 0)
    return;
  const types = [];
  for (const option of options) {
    if (!option || typeof option !== "object")
      return;
    compactTypeUnion(option);
    const keys = Object.keys(option);
    if (keys.length !== 1 || keys[0] !== "type")
      return;
    const type = option.type;
    for (const member of Array.isArray(type) ? type : [type]) {
      if (typeof member !== "string")
        return;
      if (!types.includes(member))
        types.push(member);
    }
  }
  delete schema.anyOf;
  schema.type = types.length === 1 ? types[0] : types;
}
var FOLDABLE_KEYS = /* @__PURE__ */ new Set(["type", "properties", "required", "additionalProperties"]);
var UNION_KEYS = ["oneOf", "anyOf"];
function undeclaredConstraint(member) {
  const extra = member.additionalProperties;
  if (extra === void 0 || extra === false || typeof extra !== "object" || extra === null)
    return null;
  return Object.keys(extra).length ? extra : null;
}
function foldObjects(members2) {
  const objects = [];
  for (const member of members2) {
    if (typeof member !== "object" || member.type !== "object")
      return null;
    for (const key in member) {
      if (!FOLDABLE_KEYS.has(key))
        return null;
    }
    objects.push(member);
  }
  const properties = {};
  const required2 = /* @__PURE__ */ new Set();
  for (const object of objects) {
    for (const key in object.properties) {
      if (Object.prototype.hasOwnProperty.call(properties, key))
        continue;
      const parts = [];
      for (const other of objects) {
        const part = other.properties?.[key] ?? undeclaredConstraint(other);
        if (part === null || part === void 0)
          continue;
        if (!parts.some((seen) => JSON.stringify(seen) === JSON.stringify(part)))
          parts.push(part);
      }
      const merged = parts.length === 1 ? parts[0] : foldObjects(parts) ?? { allOf: parts };
      assignProp(properties, key, merged);
    }
    for (const key of object.required ?? [])
      required2.add(key);
  }
  const folded = { type: "object", properties };
  if (required2.size)
    folded.required = [...required2];
  if (objects.every((object) => object.additionalProperties === false)) {
    folded.additionalProperties = false;
  } else {
    const constraints = [];
    for (const object of objects) {
      const constraint = undeclaredConstraint(object);
      if (constraint && !constraints.some((seen) => JSON.stringify(seen) === JSON.stringify(constraint)))
        constraints.push(constraint);
    }
    if (constraints.length === 1)
      folded.additionalProperties = constraints[0];
    else if (constraints.length > 1)
      folded.additionalProperties = { allOf: constraints };
  }
  return folded;
}
function foldIntersection(json) {
  const allOf = json.allOf;
  if (!Array.isArray(allOf) || allOf.length < 2)
    return;
  for (const key of FOLDABLE_KEYS)
    if (key in json)
      return;
  const unions = allOf.filter((m) => UNION_KEYS.some((k) => Array.isArray(m[k])));
  let folded = null;
  if (!unions.length) {
    folded = foldObjects(allOf);
  } else {
    const union2 = unions[0];
    const keyword = UNION_KEYS.find((k) => Array.isArray(union2[k]));
    if (Object.keys(union2).length !== 1)
      return;
    const rest = allOf.filter((m) => m !== union2);
    const branches = union2[keyword].map((branch) => foldObjects([...rest, branch]));
    if (branches.some((b) => !b))
      return;
    folded = { [keyword]: branches };
  }
  if (!folded)
    return;
  delete json.allOf;
  assignProps(json, folded);
}
function finalize(ctx, schema) {
  const root = ctx.seen.get(schema);
  if (!root)
    throw new Error("Unprocessed schema. This is a bug in Zod.");
  const flattenRef = (zodSchema) => {
    const seen = ctx.seen.get(zodSchema);
    if (seen.ref === null)
      return;
    const schema2 = seen.def ?? seen.schema;
    const _cached = { ...schema2 };
    const ref = seen.ref;
    seen.ref = null;
    if (ref) {
      flattenRef(ref);
      const refSeen = ctx.seen.get(ref);
      const refSchema = refSeen.schema;
      if (refSchema.$ref && (ctx.target === "draft-07" || ctx.target === "draft-04" || ctx.target === "openapi-3.0")) {
        schema2.allOf = schema2.allOf ?? [];
        schema2.allOf.push(refSchema);
      } else {
        assignProps(schema2, refSchema);
      }
      assignProps(schema2, _cached);
      const isParentRef = zodSchema._zod.parent === ref;
      if (isParentRef) {
        for (const key in schema2) {
          if (key === "$ref" || key === "allOf")
            continue;
          if (!(key in _cached)) {
            delete schema2[key];
          }
        }
      }
      if (refSchema.$ref && refSeen.def) {
        for (const key in schema2) {
          if (key === "$ref" || key === "allOf")
            continue;
          if (key in refSeen.def && JSON.stringify(schema2[key]) === JSON.stringify(refSeen.def[key])) {
            delete schema2[key];
          }
        }
      }
    }
    const parent = zodSchema._zod.parent;
    if (parent && parent !== ref) {
      flattenRef(parent);
      const parentSeen = ctx.seen.get(parent);
      if (parentSeen?.schema.$ref) {
        schema2.$ref = parentSeen.schema.$ref;
        if (parentSeen.def) {
          for (const key in schema2) {
            if (key === "$ref" || key === "allOf")
              continue;
            if (key in parentSeen.def && JSON.stringify(schema2[key]) === JSON.stringify(parentSeen.def[key])) {
              delete schema2[key];
            }
          }
        }
      }
    }
    ctx.override({
      zodSchema,
      jsonSchema: schema2,
      path: seen.path ?? []
    });
  };
  if (!ctx.external || ctx.sharedEmitDoneFor !== ctx.external) {
    for (const entry of [...ctx.seen.entries()].reverse()) {
      flattenRef(entry[0]);
    }
    if (ctx.target !== "openapi-3.0") {
      for (const entry of ctx.seen.entries()) {
        compactTypeUnion(entry[1].def ?? entry[1].schema);
      }
    }
    for (const rewrite of ctx.deferred)
      rewrite();
    if (ctx.intersections.length) {
      const carriers = /* @__PURE__ */ new Map();
      for (const seen of ctx.seen.values()) {
        for (const json of [seen.schema, seen.def]) {
          const allOf = json?.allOf;
          if (!Array.isArray(allOf))
            continue;
          const existing = carriers.get(allOf);
          if (existing)
            existing.push(json);
          else
            carriers.set(allOf, [json]);
        }
      }
      for (const allOf of ctx.intersections) {
        for (const json of carriers.get(allOf) ?? [])
          foldIntersection(json);
      }
    }
  }
  const result = {};
  if (ctx.target === "draft-2020-12") {
    result.$schema = "https://json-schema.org/draft/2020-12/schema";
  } else if (ctx.target === "draft-07") {
    result.$schema = "http://json-schema.org/draft-07/schema#";
  } else if (ctx.target === "draft-04") {
    result.$schema = "http://json-schema.org/draft-04/schema#";
  } else if (ctx.target === "openapi-3.0") {
  } else {
  }
  if (ctx.external?.uri) {
    const id = ctx.external.registry.get(schema)?.id;
    if (!id)
      throw new Error("Schema is missing an `id` property");
    result.$id = ctx.external.uri(id);
  }
  assignProps(result, root.defId ? root.schema : root.def ?? root.schema);
  const rootMetaId = ctx.metadataRegistry.get(schema)?.id;
  if (rootMetaId !== void 0 && result.id === rootMetaId)
    delete result.id;
  const defs = ctx.external?.defs ?? {};
  if (!ctx.external || ctx.sharedEmitDoneFor !== ctx.external) {
    for (const entry of ctx.seen.entries()) {
      const seen = entry[1];
      if (seen.def && seen.defId) {
        if (seen.def.id === seen.defId)
          delete seen.def.id;
        assignProp(defs, seen.defId, seen.def);
      }
    }
  }
  if (ctx.external)
    ctx.sharedEmitDoneFor = ctx.external;
  if (ctx.external) {
  } else {
    if (Object.keys(defs).length > 0) {
      if (ctx.target === "draft-2020-12") {
        result.$defs = defs;
      } else {
        result.definitions = defs;
      }
    }
  }
  try {
    const finalized = JSON.parse(JSON.stringify(result));
    Object.defineProperty(finalized, "~standard", {
      value: {
        ...schema["~standard"],
        jsonSchema: {
          input: createStandardJSONSchemaMethod(schema, "input", ctx.processors),
          output: createStandardJSONSchemaMethod(schema, "output", ctx.processors)
        }
      },
      enumerable: false,
      writable: false
    });
    return finalized;
  } catch (_err) {
    throw new Error("Error converting schema to JSON.");
  }
}
function isTransforming(_schema, _ctx) {
  const ctx = _ctx ?? { seen: /* @__PURE__ */ new Set() };
  if (ctx.seen.has(_schema))
    return false;
  ctx.seen.add(_schema);
  const def = _schema._zod.def;
  if (def.type === "transform")
    return true;
  if (def.type === "array")
    return isTransforming(def.element, ctx);
  if (def.type === "set")
    return isTransforming(def.valueType, ctx);
  if (def.type === "lazy")
    return isTransforming(def.getter(), ctx);
  if (def.type === "promise" || def.type === "optional" || def.type === "nonoptional" || def.type === "nullable" || def.type === "readonly" || def.type === "default" || def.type === "prefault" || def.type === "catch") {
    return isTransforming(def.innerType, ctx);
  }
  if (def.type === "intersection") {
    return isTransforming(def.left, ctx) || isTransforming(def.right, ctx);
  }
  if (def.type === "record" || def.type === "map") {
    return isTransforming(def.keyType, ctx) || isTransforming(def.valueType, ctx);
  }
  if (def.type === "pipe") {
    if (_schema._zod.traits.has("$ZodCodec"))
      return true;
    return isTransforming(def.in, ctx) || isTransforming(def.out, ctx);
  }
  if (def.type === "object") {
    for (const key in def.shape) {
      if (isTransforming(def.shape[key], ctx))
        return true;
    }
    return false;
  }
  if (def.type === "union") {
    for (const option of def.options) {
      if (isTransforming(option, ctx))
        return true;
    }
    return false;
  }
  if (def.type === "tuple") {
    for (const item of def.items) {
      if (isTransforming(item, ctx))
        return true;
    }
    if (def.rest && isTransforming(def.rest, ctx))
      return true;
    return false;
  }
  return false;
}
var createToJSONSchemaMethod = (schema, processors = {}) => (params) => {
  const ctx = initializeContext({ ...params, processors });
  processSchema(schema, ctx);
  extractDefs(ctx, schema);
  return finalize(ctx, schema);
};
var createStandardJSONSchemaMethod = (schema, io, processors = {}) => (params) => {
  const { libraryOptions, target } = params ?? {};
  const ctx = initializeContext({ ...libraryOptions ?? {}, target, io, processors });
  processSchema(schema, ctx);
  extractDefs(ctx, schema);
  return finalize(ctx, schema);
};

// node_modules/.pnpm/zod@4.6.7/node_modules/zod/v4/core/json-schema-processors.js
var narrowMin = (agg, key, value) => {
  if (agg[key] === void 0 || value > agg[key])
    agg[key] = value;
};
var narrowMax = (agg, key, value) => {
  if (agg[key] === void 0 || value < agg[key])
    agg[key] = value;
};
var narrowBoth = (agg, value) => {
  narrowMin(agg, "minimum", value);
  narrowMax(agg, "maximum", value);
};
var addDivisor = (agg, value) => {
  agg.multipleOf ?? (agg.multipleOf = []);
  if (!agg.multipleOf.includes(value))
    agg.multipleOf.push(value);
};
var addPattern = (agg, pattern) => {
  agg.patterns ?? (agg.patterns = /* @__PURE__ */ new Set());
  agg.patterns.add(pattern);
};
var intersectMime = (agg, mime) => {
  agg.mime = agg.mime ? agg.mime.filter((m) => mime.includes(m)) : [...mime];
};
var setFormat = (agg, format) => {
  agg.format = format;
  if (format.includes("int"))
    agg.isInt = true;
};
var minContributor = (agg, def) => narrowMin(agg, "minimum", def.minimum);
var maxContributor = (agg, def) => narrowMax(agg, "maximum", def.maximum);
var formatContributor = (ranges) => (agg, def) => {
  setFormat(agg, def.format);
  const [minimum, maximum] = ranges[def.format];
  narrowMin(agg, "minimum", minimum);
  narrowMax(agg, "maximum", maximum);
};
var contributors = {
  greater_than: (agg, def) => narrowMin(agg, def.inclusive ? "minimum" : "exclusiveMinimum", def.value),
  less_than: (agg, def) => narrowMax(agg, def.inclusive ? "maximum" : "exclusiveMaximum", def.value),
  multiple_of: (agg, def) => addDivisor(agg, def.value),
  number_format: formatContributor(NUMBER_FORMAT_RANGES),
  bigint_format: formatContributor(BIGINT_FORMAT_RANGES),
  min_length: minContributor,
  max_length: maxContributor,
  length_equals: (agg, def) => narrowBoth(agg, def.length),
  min_size: minContributor,
  max_size: maxContributor,
  size_equals: (agg, def) => narrowBoth(agg, def.size),
  string_format: (agg, def) => {
    setFormat(agg, def.format);
    if (def.pattern)
      addPattern(agg, def.pattern);
    if (def.format === "base64" || def.format === "base64url")
      agg.contentEncoding = def.format;
    if (def.local || def.precision === -1)
      agg.laxFormat = true;
  },
  mime_type: (agg, def) => intersectMime(agg, def.mime)
};
function aggregateChecks(schema) {
  const agg = {};
  const def = schema._zod.def;
  const list = schema._zod.traits.has("$ZodCheck") ? [schema, ...def.checks ?? []] : def.checks ?? [];
  for (const ch of list)
    contributors[ch._zod.def.check]?.(agg, ch._zod.def);
  const bag = schema._zod.bag;
  if (bag.minimum !== void 0)
    narrowMin(agg, "minimum", bag.minimum);
  if (bag.exclusiveMinimum !== void 0)
    narrowMin(agg, "exclusiveMinimum", bag.exclusiveMinimum);
  if (bag.maximum !== void 0)
    narrowMax(agg, "maximum", bag.maximum);
  if (bag.exclusiveMaximum !== void 0)
    narrowMax(agg, "exclusiveMaximum", bag.exclusiveMaximum);
  if (bag.multipleOf !== void 0)
    addDivisor(agg, bag.multipleOf);
  if (bag.format !== void 0) {
    agg.format ?? (agg.format = bag.format);
    if (bag.format.includes("int"))
      agg.isInt = true;
  }
  if (bag.mime)
    intersectMime(agg, bag.mime);
  for (const pattern of bag.patterns ?? [])
    addPattern(agg, pattern);
  return agg;
}
var formatMap = {
  guid: "uuid",
  url: "uri",
  datetime: "date-time",
  json_string: "json-string",
  regex: ""
  // do not set
};
var exactPatterns = /* @__PURE__ */ new Map([
  [base64Charset, base64],
  [base64urlCharset, base64url]
]);
var exactPattern = (p) => exactPatterns.get(p) ?? p;
var stringProcessor = (schema, ctx, _json, _params) => {
  const json = _json;
  json.type = "string";
  const { minimum, maximum, format, patterns, contentEncoding, laxFormat } = aggregateChecks(schema);
  if (typeof minimum === "number")
    json.minLength = minimum;
  if (typeof maximum === "number")
    json.maxLength = maximum;
  if (format) {
    json.format = formatMap[format] ?? format;
    if (json.format === "")
      delete json.format;
    if (format === "time" || laxFormat) {
      delete json.format;
    }
  }
  if (contentEncoding)
    json.contentEncoding = contentEncoding;
  if (patterns && patterns.size > 0) {
    const patternList = [...patterns].map(exactPattern);
    if (patternList.length === 1)
      json.pattern = patternList[0].source;
    else if (patternList.length > 1) {
      json.allOf = [
        ...patternList.map((regex) => ({
          ...ctx.target === "draft-07" || ctx.target === "draft-04" || ctx.target === "openapi-3.0" ? { type: "string" } : {},
          pattern: regex.source
        }))
      ];
    }
  }
};
var numberProcessor = (schema, ctx, _json, params) => {
  const json = _json;
  const { minimum, maximum, multipleOf, exclusiveMaximum, exclusiveMinimum, isInt } = aggregateChecks(schema);
  json.type = isInt ? "integer" : "number";
  const exMin = typeof exclusiveMinimum === "number" && exclusiveMinimum >= (minimum ?? Number.NEGATIVE_INFINITY);
  const exMax = typeof exclusiveMaximum === "number" && exclusiveMaximum <= (maximum ?? Number.POSITIVE_INFINITY);
  const legacy = ctx.target === "draft-04" || ctx.target === "openapi-3.0";
  if (exMin) {
    if (legacy) {
      json.minimum = exclusiveMinimum;
      json.exclusiveMinimum = true;
    } else {
      json.exclusiveMinimum = exclusiveMinimum;
    }
  } else if (typeof minimum === "number") {
    json.minimum = minimum;
  }
  if (exMax) {
    if (legacy) {
      json.maximum = exclusiveMaximum;
      json.exclusiveMaximum = true;
    } else {
      json.exclusiveMaximum = exclusiveMaximum;
    }
  } else if (typeof maximum === "number") {
    json.maximum = maximum;
  }
  if (multipleOf) {
    const divisors2 = /* @__PURE__ */ new Set();
    for (const divisor of multipleOf) {
      if (Number.isFinite(divisor) && divisor !== 0)
        divisors2.add(Math.abs(divisor));
      else
        handleUnrepresentable(schema, ctx, json, params, `A multipleOf divisor of ${divisor} cannot be represented in JSON Schema`);
    }
    const [first, ...rest] = divisors2;
    if (first !== void 0)
      json.multipleOf = first;
    if (rest.length)
      json.allOf = [...json.allOf ?? [], ...rest.map((m) => ({ multipleOf: m }))];
  }
};
var booleanProcessor = (_schema, _ctx, json, _params) => {
  json.type = "boolean";
};
var neverProcessor = (_schema, _ctx, json, _params) => {
  json.not = {};
};
var unknownProcessor = (_schema, _ctx, _json, _params) => {
};
var enumProcessor = (schema, _ctx, json, _params) => {
  const def = schema._zod.def;
  const values = getEnumValues(def.entries);
  if (values.length === 0) {
    json.not = {};
    return;
  }
  if (values.every((v) => typeof v === "number"))
    json.type = "number";
  if (values.every((v) => typeof v === "string"))
    json.type = "string";
  json.enum = values;
};
var literalProcessor = (schema, ctx, json, params) => {
  const def = schema._zod.def;
  if (def.values.length === 0) {
    json.not = {};
    return;
  }
  const vals = [];
  for (const val of def.values) {
    if (val === void 0) {
      if (handleUnrepresentable(schema, ctx, json, params, "Literal `undefined` cannot be represented in JSON Schema"))
        return;
    } else if (typeof val === "bigint") {
      if (handleUnrepresentable(schema, ctx, json, params, "BigInt literals cannot be represented in JSON Schema"))
        return;
      vals.push(Number(val));
    } else {
      vals.push(val);
    }
  }
  if (vals.length === 0) {
  } else if (vals.length === 1) {
    const val = vals[0];
    json.type = val === null ? "null" : typeof val;
    if (ctx.target === "draft-04" || ctx.target === "openapi-3.0") {
      json.enum = [val];
    } else {
      json.const = val;
    }
  } else {
    if (vals.every((v) => typeof v === "number"))
      json.type = "number";
    if (vals.every((v) => typeof v === "string"))
      json.type = "string";
    if (vals.every((v) => typeof v === "boolean"))
      json.type = "boolean";
    if (vals.every((v) => v === null))
      json.type = "null";
    json.enum = vals;
  }
};
var customProcessor = (schema, ctx, json, params) => {
  handleUnrepresentable(schema, ctx, json, params, "Custom types cannot be represented in JSON Schema");
};
var transformProcessor = (schema, ctx, json, params) => {
  handleUnrepresentable(schema, ctx, json, params, "Transforms cannot be represented in JSON Schema");
};
var arrayProcessor = (schema, ctx, _json, params) => {
  const json = _json;
  const def = schema._zod.def;
  const { minimum, maximum } = aggregateChecks(schema);
  if (typeof minimum === "number")
    json.minItems = minimum;
  if (typeof maximum === "number")
    json.maxItems = maximum;
  json.type = "array";
  json.items = processSchema(def.element, ctx, {
    ...params,
    path: [...params.path, "items"]
  });
};
function inputOptin(schema) {
  const def = schema._zod.def;
  if (def.type === "pipe" && def.in._zod.traits.has("$ZodTransform")) {
    return inputOptin(def.out);
  }
  if (def.type === "catch") {
    return inputOptin(def.innerType);
  }
  return schema._zod.optin;
}
var objectProcessor = (schema, ctx, _json, params) => {
  const json = _json;
  const def = schema._zod.def;
  const shape = def.shape;
  const symbolKeys = Object.getOwnPropertySymbols(shape);
  if (symbolKeys.length && handleUnrepresentable(schema, ctx, json, params, "Symbol keys cannot be represented in JSON Schema")) {
    return;
  }
  json.type = "object";
  json.properties = {};
  for (const key in shape) {
    assignProp(json.properties, key, processSchema(shape[key], ctx, {
      ...params,
      path: [...params.path, "properties", key]
    }));
  }
  const requiredKeys = [];
  for (const key of Object.keys(shape)) {
    const field = def.shape[key];
    if (ctx.io === "input" ? inputOptin(field) === void 0 : field._zod.optout === void 0) {
      requiredKeys.push(key);
    }
  }
  if (requiredKeys.length > 0) {
    json.required = requiredKeys;
  }
  if (def.catchall?._zod.def.type === "never") {
    json.additionalProperties = false;
  } else if (!def.catchall) {
    if (ctx.io === "output")
      json.additionalProperties = false;
  } else if (def.catchall) {
    json.additionalProperties = processSchema(def.catchall, ctx, {
      ...params,
      path: [...params.path, "additionalProperties"]
    });
  }
};
var unionProcessor = (schema, ctx, json, params) => {
  const def = schema._zod.def;
  const isExclusive = def.inclusive === false;
  const options = def.options.map((x, i) => processSchema(x, ctx, {
    ...params,
    path: [...params.path, isExclusive ? "oneOf" : "anyOf", i]
  }));
  if (isExclusive) {
    json.oneOf = options;
  } else {
    json.anyOf = options;
  }
};
var intersectionProcessor = (schema, ctx, json, params) => {
  const def = schema._zod.def;
  const a = processSchema(def.left, ctx, {
    ...params,
    path: [...params.path, "allOf", 0]
  });
  const b = processSchema(def.right, ctx, {
    ...params,
    path: [...params.path, "allOf", 1]
  });
  const isSimpleIntersection = (val) => "allOf" in val && Object.keys(val).length === 1;
  const allOf = [
    ...isSimpleIntersection(a) ? a.allOf : [a],
    ...isSimpleIntersection(b) ? b.allOf : [b]
  ];
  json.allOf = allOf;
  ctx.intersections.push(allOf);
};
var tupleProcessor = (schema, ctx, _json, params) => {
  const json = _json;
  const def = schema._zod.def;
  json.type = "array";
  const prefixPath = ctx.target === "draft-2020-12" ? "prefixItems" : "items";
  const restPath = ctx.target === "draft-2020-12" ? "items" : ctx.target === "openapi-3.0" ? "items" : "additionalItems";
  const prefixItems = def.items.map((x, i) => processSchema(x, ctx, {
    ...params,
    path: [...params.path, prefixPath, i]
  }));
  const rest = def.rest ? processSchema(def.rest, ctx, {
    ...params,
    path: [...params.path, restPath, ...ctx.target === "openapi-3.0" ? [def.items.length] : []]
  }) : null;
  let minItems = def.items.length;
  while (minItems > 0) {
    const item = def.items[minItems - 1];
    const optional2 = ctx.io === "input" ? inputOptin(item) !== void 0 : item._zod.optout === "optional";
    if (!optional2)
      break;
    minItems--;
  }
  const maxItems = def.items.length;
  const isClosed = !def.rest;
  if (ctx.target === "draft-2020-12") {
    json.prefixItems = prefixItems;
    if (isClosed) {
      json.items = false;
    } else if (rest) {
      json.items = rest;
    }
    if (minItems > 0)
      json.minItems = minItems;
    if (isClosed)
      json.maxItems = maxItems;
  } else if (ctx.target === "openapi-3.0") {
    json.items = {
      anyOf: prefixItems
    };
    if (rest) {
      json.items.anyOf.push(rest);
    }
    if (minItems > 0)
      json.minItems = minItems;
    if (isClosed)
      json.maxItems = maxItems;
  } else {
    json.items = prefixItems;
    if (isClosed) {
      json.additionalItems = false;
    } else if (rest) {
      json.additionalItems = rest;
    }
    if (minItems > 0)
      json.minItems = minItems;
    if (isClosed)
      json.maxItems = maxItems;
  }
  const { minimum, maximum } = aggregateChecks(schema);
  if (typeof minimum === "number")
    json.minItems = minimum;
  if (typeof maximum === "number")
    json.maxItems = maximum;
};
function stringifyKeyNames(bySchema, json, visited) {
  if (json.$ref) {
    if (visited.has(json))
      return json;
    visited.add(json);
    const def = bySchema.get(json)?.def;
    if (!def)
      return json;
    const inlined = stringifyKeyNames(bySchema, def, visited);
    return inlined === def ? json : inlined;
  }
  for (const keyword of ["anyOf", "oneOf"]) {
    const branches = json[keyword];
    if (!Array.isArray(branches))
      continue;
    const mapped = branches.map((branch) => stringifyKeyNames(bySchema, branch, visited));
    if (mapped.some((branch, i) => branch !== branches[i]))
      json = { ...json, [keyword]: mapped };
  }
  const types = Array.isArray(json.type) ? json.type : [json.type];
  const numericType = !types.includes("string") && types.some((t) => t === "number" || t === "integer");
  const values = json.enum ?? (json.const !== void 0 ? [json.const] : void 0);
  if (!numericType && !values?.some((v) => typeof v === "number"))
    return json;
  const { minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf, format, id, ...rest } = json;
  if (rest.enum)
    rest.enum = rest.enum.map((v) => typeof v === "number" ? String(v) : v);
  else if (typeof rest.const === "number")
    rest.const = String(rest.const);
  if (!numericType)
    return rest;
  rest.type = "string";
  if (!values)
    rest.pattern = (types.includes("number") ? number : integer).source;
  return rest;
}
var pendingRecords = /* @__PURE__ */ new WeakMap();
function rewriteKeyNames(ctx) {
  const bySchema = /* @__PURE__ */ new Map();
  for (const entry of ctx.seen.values()) {
    if (entry.def && !bySchema.has(entry.schema))
      bySchema.set(entry.schema, entry);
  }
  const rewrites = /* @__PURE__ */ new Map();
  for (const record2 of pendingRecords.get(ctx) ?? []) {
    const seen = ctx.seen.get(record2);
    const names = (seen?.def ?? seen?.schema)?.propertyNames;
    if (!names || names === true || rewrites.has(names))
      continue;
    const rewritten = stringifyKeyNames(bySchema, names, /* @__PURE__ */ new Set());
    if (rewritten !== names)
      rewrites.set(names, rewritten);
  }
  if (!rewrites.size)
    return;
  for (const entry of ctx.seen.values()) {
    for (const carrier of [entry.schema, entry.def]) {
      const rewritten = carrier && rewrites.get(carrier.propertyNames);
      if (rewritten)
        carrier.propertyNames = rewritten;
    }
  }
}
var recordProcessor = (schema, ctx, _json, params) => {
  const json = _json;
  const def = schema._zod.def;
  json.type = "object";
  const keyType = def.keyType;
  const patterns = aggregateChecks(keyType).patterns;
  if (def.mode === "loose" && patterns && patterns.size > 0) {
    const valueSchema = processSchema(def.valueType, ctx, {
      ...params,
      path: [...params.path, "patternProperties", "*"]
    });
    json.patternProperties = {};
    for (const pattern of patterns) {
      assignProp(json.patternProperties, exactPattern(pattern).source, valueSchema);
    }
  } else {
    if (ctx.target === "draft-07" || ctx.target === "draft-2020-12") {
      json.propertyNames = processSchema(def.keyType, ctx, {
        ...params,
        path: [...params.path, "propertyNames"]
      });
      let pending = pendingRecords.get(ctx);
      if (!pending) {
        pending = [];
        pendingRecords.set(ctx, pending);
        ctx.deferred.push(() => rewriteKeyNames(ctx));
      }
      pending.push(schema);
    }
    json.additionalProperties = processSchema(def.valueType, ctx, {
      ...params,
      path: [...params.path, "additionalProperties"]
    });
  }
  const keyValues = keyType._zod.values;
  const omittableOnInput = ctx.io === "input" && inputOptin(def.valueType) !== void 0;
  if (keyValues && !def.partial && !omittableOnInput) {
    const validKeyValues = [...keyValues].filter((v) => typeof v === "string" || typeof v === "number");
    if (validKeyValues.length > 0) {
      json.required = validKeyValues.map(String);
    }
  }
};
var nullableProcessor = (schema, ctx, json, params) => {
  const def = schema._zod.def;
  const inner = processSchema(def.innerType, ctx, params);
  const seen = ctx.seen.get(schema);
  if (ctx.target === "openapi-3.0") {
    seen.ref = def.innerType;
    json.nullable = true;
  } else {
    json.anyOf = [inner, { type: "null" }];
  }
};
var nonoptionalProcessor = (schema, ctx, _json, params) => {
  const def = schema._zod.def;
  processSchema(def.innerType, ctx, params);
  const seen = ctx.seen.get(schema);
  seen.ref = def.innerType;
};
var UNREPRESENTABLE_DEFAULT = /* @__PURE__ */ Symbol();
function serializeDefaultValue(value, schema, ctx, json, params) {
  let unrepresentable = false;
  const serialized = JSON.stringify(value, (_, val) => {
    if (typeof val !== "bigint")
      return val;
    unrepresentable = true;
    return null;
  });
  if (!unrepresentable)
    return JSON.parse(serialized);
  handleUnrepresentable(schema, ctx, json, params, "BigInt defaults cannot be represented in JSON Schema");
  return UNREPRESENTABLE_DEFAULT;
}
var defaultProcessor = (schema, ctx, json, params) => {
  const def = schema._zod.def;
  processSchema(def.innerType, ctx, params);
  const seen = ctx.seen.get(schema);
  seen.ref = def.innerType;
  const value = serializeDefaultValue(def.defaultValue, schema, ctx, json, params);
  if (value !== UNREPRESENTABLE_DEFAULT)
    json.default = value;
};
var prefaultProcessor = (schema, ctx, json, params) => {
  const def = schema._zod.def;
  processSchema(def.innerType, ctx, params);
  const seen = ctx.seen.get(schema);
  seen.ref = def.innerType;
  if (ctx.io !== "input")
    return;
  const value = serializeDefaultValue(def.defaultValue, schema, ctx, json, params);
  if (value !== UNREPRESENTABLE_DEFAULT)
    json._prefault = value;
};
var catchProcessor = (schema, ctx, json, params) => {
  const def = schema._zod.def;
  processSchema(def.innerType, ctx, params);
  const seen = ctx.seen.get(schema);
  seen.ref = def.innerType;
  let catchValue;
  try {
    catchValue = def.catchValue(void 0);
  } catch {
    handleUnrepresentable(schema, ctx, json, params, "Dynamic catch values are not supported in JSON Schema");
    return;
  }
  json.default = catchValue;
};
var pipeProcessor = (schema, ctx, _json, params) => {
  const def = schema._zod.def;
  const inIsTransform = def.in._zod.traits.has("$ZodTransform");
  const innerType = ctx.io === "input" ? inIsTransform ? def.out : def.in : def.out;
  processSchema(innerType, ctx, params);
  const seen = ctx.seen.get(schema);
  seen.ref = innerType;
};
var readonlyProcessor = (schema, ctx, json, params) => {
  const def = schema._zod.def;
  processSchema(def.innerType, ctx, params);
  const seen = ctx.seen.get(schema);
  seen.ref = def.innerType;
  json.readOnly = true;
};
var optionalProcessor = (schema, ctx, _json, params) => {
  const def = schema._zod.def;
  processSchema(def.innerType, ctx, params);
  const seen = ctx.seen.get(schema);
  seen.ref = def.innerType;
};

// node_modules/.pnpm/zod@4.6.7/node_modules/zod/v4/classic/errors.js
var _installedErrorProtos = /* @__PURE__ */ new WeakSet([Object.prototype, Error.prototype]);
function _lazyMethod(proto, key, make) {
  Object.defineProperty(proto, key, {
    configurable: true,
    enumerable: false,
    get() {
      const value = make(this);
      Object.defineProperty(this, key, { value, configurable: true, writable: true });
      return value;
    },
    set(value) {
      Object.defineProperty(this, key, { value, configurable: true, writable: true });
    }
  });
}
var initializer2 = (inst, issues) => {
  $ZodError.init(inst, issues);
  inst.name = "ZodError";
  const proto = Object.getPrototypeOf(inst);
  if (_installedErrorProtos.has(proto))
    return;
  _installedErrorProtos.add(proto);
  _lazyMethod(proto, "format", (self) => (mapper) => formatError(self, mapper));
  _lazyMethod(proto, "flatten", (self) => (mapper) => flattenError(self, mapper));
  _lazyMethod(proto, "addIssue", (self) => (issue2) => {
    self.issues.push(issue2);
    self.message = JSON.stringify(self.issues, jsonStringifyReplacer, 2);
  });
  _lazyMethod(proto, "addIssues", (self) => (issues2) => {
    self.issues.push(...issues2);
    self.message = JSON.stringify(self.issues, jsonStringifyReplacer, 2);
  });
  Object.defineProperty(proto, "isEmpty", {
    configurable: true,
    enumerable: false,
    get() {
      return this.issues.length === 0;
    }
  });
};
var ZodRealError = /* @__PURE__ */ $constructor("ZodError", initializer2, void 0, {
  Parent: Error
});

// node_modules/.pnpm/zod@4.6.7/node_modules/zod/v4/classic/parse.js
var parse = /* @__PURE__ */ _parse(ZodRealError);
var parseAsync = /* @__PURE__ */ _parseAsync(ZodRealError);
var safeParse = /* @__PURE__ */ _safeParse(ZodRealError);
var safeParseAsync = /* @__PURE__ */ _safeParseAsync(ZodRealError);
var encode = /* @__PURE__ */ _encode(ZodRealError);
var decode = /* @__PURE__ */ _decode(ZodRealError);
var encodeAsync = /* @__PURE__ */ _encodeAsync(ZodRealError);
var decodeAsync = /* @__PURE__ */ _decodeAsync(ZodRealError);
var safeEncode = /* @__PURE__ */ _safeEncode(ZodRealError);
var safeDecode = /* @__PURE__ */ _safeDecode(ZodRealError);
var safeEncodeAsync = /* @__PURE__ */ _safeEncodeAsync(ZodRealError);
var safeDecodeAsync = /* @__PURE__ */ _safeDecodeAsync(ZodRealError);

// node_modules/.pnpm/zod@4.6.7/node_modules/zod/v4/classic/schemas.js
function _ensureDefaultLocale() {
  if (!globalConfig.localeError)
    config(en_default());
}
function _ensureDefaultMemoizer() {
  if (!globalConfig.memoizer)
    config({ memoizer: memoizer() });
}
var ZodType = /* @__PURE__ */ $constructor("ZodType", (inst, def) => {
  _ensureDefaultLocale();
  $ZodType.init(inst, def);
  inst.def = def;
  inst.type = def.type;
  return inst;
}, {
  check(...chks) {
    const def = this.def;
    return this.clone(util_exports.mergeDefs(def, {
      checks: [
        ...def.checks ?? [],
        ...chks.map((ch) => typeof ch === "function" ? { _zod: { check: ch, def: { check: "custom" }, onattach: [] } } : ch)
      ]
    }), { parent: true });
  },
  with(...chks) {
    return this.check(...chks);
  },
  clone(def, params) {
    return clone(this, def, params);
  },
  brand() {
    return this;
  },
  register(reg, meta2) {
    reg.add(this, meta2);
    return this;
  },
  refine(check, params) {
    return this.check(refine(check, params));
  },
  superRefine(refinement, params) {
    return this.check(superRefine(refinement, params));
  },
  overwrite(fn) {
    return this.check(_overwrite(fn));
  },
  optional() {
    return optional(this);
  },
  exactOptional() {
    return exactOptional(this);
  },
  nullable() {
    return nullable(this);
  },
  nullish() {
    return optional(nullable(this));
  },
  nonoptional(params) {
    return nonoptional(this, params);
  },
  array() {
    return array(this);
  },
  or(arg) {
    return union([this, arg]);
  },
  and(arg) {
    return intersection(this, arg);
  },
  transform(tx) {
    return pipe(this, transform(tx));
  },
  default(d) {
    return _default(this, d);
  },
  prefault(d) {
    return prefault(this, d);
  },
  catch(params) {
    return _catch(this, params);
  },
  pipe(target) {
    return pipe(this, target);
  },
  readonly() {
    return readonly(this);
  },
  describe(description) {
    const cl = this.clone();
    globalRegistry.add(cl, { description });
    return cl;
  },
  meta(...args) {
    if (args.length === 0)
      return globalRegistry.get(this);
    const cl = this.clone();
    globalRegistry.add(cl, args[0]);
    return cl;
  },
  isOptional() {
    return this.safeParse(void 0).success;
  },
  isNullable() {
    return this.safeParse(null).success;
  },
  apply(fn, ...args) {
    return args.length === 0 ? fn(this) : fn(this, ...args);
  },
  // Overrides core's `~standard` to add `jsonSchema`. Must stay a prototype entry: redefining it per instance demotes instances to dictionary mode.
  get "~standard"() {
    return util_exports.hide(this, "~standard", {
      ...standardProps(this),
      jsonSchema: {
        input: createStandardJSONSchemaMethod(this, "input"),
        output: createStandardJSONSchemaMethod(this, "output")
      }
    });
  },
  set "~standard"(value) {
    util_exports.own(this, "~standard", value);
  },
  parse: function _parse2(data, params) {
    return parse(this, data, params, { callee: _parse2 });
  },
  parseAsync: async function _parseAsync2(data, params) {
    return await parseAsync(this, data, params, { callee: _parseAsync2 });
  },
  safeParse(data, params) {
    return safeParse(this, data, params);
  },
  async safeParseAsync(data, params) {
    return safeParseAsync(this, data, params);
  },
  // `spa` is an alias: same function object as `safeParseAsync`, as before.
  get spa() {
    return this?.safeParseAsync;
  },
  set spa(value) {
    util_exports.own(this, "spa", value);
  },
  validate(data, params) {
    return validate(this, data, params);
  },
  validateAsync(data, params) {
    return validateAsync(this, data, params);
  },
  encode: function _encode2(data, params) {
    return encode(this, data, params, { callee: _encode2 });
  },
  decode: function _decode2(data, params) {
    return decode(this, data, params, { callee: _decode2 });
  },
  encodeAsync: async function _encodeAsync2(data, params) {
    return await encodeAsync(this, data, params, { callee: _encodeAsync2 });
  },
  decodeAsync: async function _decodeAsync2(data, params) {
    return await decodeAsync(this, data, params, { callee: _decodeAsync2 });
  },
  safeEncode(data, params) {
    return safeEncode(this, data, params);
  },
  safeDecode(data, params) {
    return safeDecode(this, data, params);
  },
  async safeEncodeAsync(data, params) {
    return safeEncodeAsync(this, data, params);
  },
  async safeDecodeAsync(data, params) {
    return safeDecodeAsync(this, data, params);
  },
  toJSONSchema(params) {
    return createToJSONSchemaMethod(this, {})(params);
  },
  // Reads through to the registry on every access, so it must not cache.
  get description() {
    return globalRegistry.get(this)?.description;
  },
  // No setter: `schema._def = x` throws, as it did when `_def` was a non-writable own property.
  get _def() {
    return this._zod.def;
  }
});
var _ZodString = /* @__PURE__ */ $constructor(
  "_ZodString",
  (inst, def) => {
    $ZodString.init(inst, def);
    ZodType.init(inst, def);
    inst._zod.processJSONSchema = (ctx, json, params) => stringProcessor(inst, ctx, json, params);
  },
  /* @__PURE__ */ util_exports.derived({
    format: (inst) => aggregateChecks(inst).format ?? null,
    minLength: (inst) => aggregateChecks(inst).minimum ?? null,
    maxLength: (inst) => aggregateChecks(inst).maximum ?? null
  }, {
    regex(...args) {
      return this.check(_regex(...args));
    },
    includes(...args) {
      return this.check(_includes(...args));
    },
    startsWith(...args) {
      return this.check(_startsWith(...args));
    },
    endsWith(...args) {
      return this.check(_endsWith(...args));
    },
    min(...args) {
      return this.check(_minLength(...args));
    },
    max(...args) {
      return this.check(_maxLength(...args));
    },
    length(...args) {
      return this.check(_length(...args));
    },
    nonempty(...args) {
      return this.check(_minLength(1, ...args));
    },
    lowercase(params) {
      return this.check(_lowercase(params));
    },
    uppercase(params) {
      return this.check(_uppercase(params));
    },
    trim() {
      return this.check(_trim());
    },
    normalize(...args) {
      return this.check(_normalize(...args));
    },
    toLowerCase() {
      return this.check(_toLowerCase());
    },
    toUpperCase() {
      return this.check(_toUpperCase());
    },
    slugify() {
      return this.check(_slugify());
    }
  })
);
var ZodString = /* @__PURE__ */ $constructor("ZodString", (inst, def) => {
  $ZodString.init(inst, def);
  _ZodString.init(inst, def);
}, {
  email(params) {
    return this.check(_email(ZodEmail, params));
  },
  url(params) {
    return this.check(_url(ZodURL, params));
  },
  jwt(params) {
    return this.check(_jwt(ZodJWT, params));
  },
  emoji(params) {
    return this.check(_emoji2(ZodEmoji, params));
  },
  guid(params) {
    return this.check(_guid(ZodGUID, params));
  },
  uuid(params) {
    return this.check(_uuid(ZodUUID, params));
  },
  uuidv4(params) {
    return this.check(_uuidv4(ZodUUID, params));
  },
  uuidv6(params) {
    return this.check(_uuidv6(ZodUUID, params));
  },
  uuidv7(params) {
    return this.check(_uuidv7(ZodUUID, params));
  },
  nanoid(params) {
    return this.check(_nanoid(ZodNanoID, params));
  },
  cuid(params) {
    return this.check(_cuid(ZodCUID, params));
  },
  cuid2(params) {
    return this.check(_cuid2(ZodCUID2, params));
  },
  ulid(params) {
    return this.check(_ulid(ZodULID, params));
  },
  base64(params) {
    return this.check(_base64(ZodBase64, params));
  },
  base64url(params) {
    return this.check(_base64url(ZodBase64URL, params));
  },
  xid(params) {
    return this.check(_xid(ZodXID, params));
  },
  ksuid(params) {
    return this.check(_ksuid(ZodKSUID, params));
  },
  ipv4(params) {
    return this.check(_ipv4(ZodIPv4, params));
  },
  ipv6(params) {
    return this.check(_ipv6(ZodIPv6, params));
  },
  cidrv4(params) {
    return this.check(_cidrv4(ZodCIDRv4, params));
  },
  cidrv6(params) {
    return this.check(_cidrv6(ZodCIDRv6, params));
  },
  e164(params) {
    return this.check(_e164(ZodE164, params));
  },
  datetime(params) {
    return this.check(_isoDateTime(ZodISODateTime, params));
  },
  date(params) {
    return this.check(_isoDate(ZodISODate, params));
  },
  time(params) {
    return this.check(_isoTime(ZodISOTime, params));
  },
  duration(params) {
    return this.check(_isoDuration(ZodISODuration, params));
  }
});
function string2(params) {
  return _string(ZodString, params);
}
var ZodStringFormat = /* @__PURE__ */ $constructor("ZodStringFormat", (inst, def) => {
  $ZodStringFormat.init(inst, def);
  _ZodString.init(inst, def);
});
var ZodISODateTime = /* @__PURE__ */ $constructor("ZodISODateTime", (inst, def) => {
  $ZodISODateTime.init(inst, def);
  ZodStringFormat.init(inst, def);
});
var ZodISODate = /* @__PURE__ */ $constructor("ZodISODate", (inst, def) => {
  $ZodISODate.init(inst, def);
  ZodStringFormat.init(inst, def);
});
var ZodISOTime = /* @__PURE__ */ $constructor("ZodISOTime", (inst, def) => {
  $ZodISOTime.init(inst, def);
  ZodStringFormat.init(inst, def);
});
var ZodISODuration = /* @__PURE__ */ $constructor("ZodISODuration", (inst, def) => {
  $ZodISODuration.init(inst, def);
  ZodStringFormat.init(inst, def);
});
var ZodEmail = /* @__PURE__ */ $constructor("ZodEmail", (inst, def) => {
  $ZodEmail.init(inst, def);
  ZodStringFormat.init(inst, def);
});
var ZodGUID = /* @__PURE__ */ $constructor("ZodGUID", (inst, def) => {
  $ZodGUID.init(inst, def);
  ZodStringFormat.init(inst, def);
});
var ZodUUID = /* @__PURE__ */ $constructor("ZodUUID", (inst, def) => {
  $ZodUUID.init(inst, def);
  ZodStringFormat.init(inst, def);
});
var ZodURL = /* @__PURE__ */ $constructor("ZodURL", (inst, def) => {
  $ZodURL.init(inst, def);
  ZodStringFormat.init(inst, def);
});
var ZodEmoji = /* @__PURE__ */ $constructor("ZodEmoji", (inst, def) => {
  $ZodEmoji.init(inst, def);
  ZodStringFormat.init(inst, def);
});
var ZodNanoID = /* @__PURE__ */ $constructor("ZodNanoID", (inst, def) => {
  $ZodNanoID.init(inst, def);
  ZodStringFormat.init(inst, def);
});
var ZodCUID = /* @__PURE__ */ $constructor("ZodCUID", (inst, def) => {
  $ZodCUID.init(inst, def);
  ZodStringFormat.init(inst, def);
});
var ZodCUID2 = /* @__PURE__ */ $constructor("ZodCUID2", (inst, def) => {
  $ZodCUID2.init(inst, def);
  ZodStringFormat.init(inst, def);
});
var ZodULID = /* @__PURE__ */ $constructor("ZodULID", (inst, def) => {
  $ZodULID.init(inst, def);
  ZodStringFormat.init(inst, def);
});
var ZodXID = /* @__PURE__ */ $constructor("ZodXID", (inst, def) => {
  $ZodXID.init(inst, def);
  ZodStringFormat.init(inst, def);
});
var ZodKSUID = /* @__PURE__ */ $constructor("ZodKSUID", (inst, def) => {
  $ZodKSUID.init(inst, def);
  ZodStringFormat.init(inst, def);
});
var ZodIPv4 = /* @__PURE__ */ $constructor("ZodIPv4", (inst, def) => {
  $ZodIPv4.init(inst, def);
  ZodStringFormat.init(inst, def);
});
var ZodIPv6 = /* @__PURE__ */ $constructor("ZodIPv6", (inst, def) => {
  $ZodIPv6.init(inst, def);
  ZodStringFormat.init(inst, def);
});
var ZodCIDRv4 = /* @__PURE__ */ $constructor("ZodCIDRv4", (inst, def) => {
  $ZodCIDRv4.init(inst, def);
  ZodStringFormat.init(inst, def);
});
var ZodCIDRv6 = /* @__PURE__ */ $constructor("ZodCIDRv6", (inst, def) => {
  $ZodCIDRv6.init(inst, def);
  ZodStringFormat.init(inst, def);
});
var ZodBase64 = /* @__PURE__ */ $constructor("ZodBase64", (inst, def) => {
  $ZodBase64.init(inst, def);
  ZodStringFormat.init(inst, def);
});
var ZodBase64URL = /* @__PURE__ */ $constructor("ZodBase64URL", (inst, def) => {
  $ZodBase64URL.init(inst, def);
  ZodStringFormat.init(inst, def);
});
var ZodE164 = /* @__PURE__ */ $constructor("ZodE164", (inst, def) => {
  $ZodE164.init(inst, def);
  ZodStringFormat.init(inst, def);
});
var ZodJWT = /* @__PURE__ */ $constructor("ZodJWT", (inst, def) => {
  $ZodJWT.init(inst, def);
  ZodStringFormat.init(inst, def);
});
var ZodNumber = /* @__PURE__ */ $constructor(
  "ZodNumber",
  (inst, def) => {
    $ZodNumber.init(inst, def);
    ZodType.init(inst, def);
    inst._zod.processJSONSchema = (ctx, json, params) => numberProcessor(inst, ctx, json, params);
    inst.isFinite = true;
  },
  /* @__PURE__ */ util_exports.derived({
    minValue: (inst) => {
      const { minimum, exclusiveMinimum } = aggregateChecks(inst);
      return Math.max(minimum ?? Number.NEGATIVE_INFINITY, exclusiveMinimum ?? Number.NEGATIVE_INFINITY);
    },
    maxValue: (inst) => {
      const { maximum, exclusiveMaximum } = aggregateChecks(inst);
      return Math.min(maximum ?? Number.POSITIVE_INFINITY, exclusiveMaximum ?? Number.POSITIVE_INFINITY);
    },
    isInt: (inst) => {
      const { isInt, multipleOf } = aggregateChecks(inst);
      return !!isInt || !!multipleOf?.some(Number.isSafeInteger);
    },
    format: (inst) => aggregateChecks(inst).format ?? null
  }, {
    gt(value, params) {
      return this.check(_gt(value, params));
    },
    gte(value, params) {
      return this.check(_gte(value, params));
    },
    min(value, params) {
      return this.check(_gte(value, params));
    },
    lt(value, params) {
      return this.check(_lt(value, params));
    },
    lte(value, params) {
      return this.check(_lte(value, params));
    },
    max(value, params) {
      return this.check(_lte(value, params));
    },
    int(params) {
      return this.check(int(params));
    },
    safe(params) {
      return this.check(int(params));
    },
    positive(params) {
      return this.check(_gt(0, params));
    },
    nonnegative(params) {
      return this.check(_gte(0, params));
    },
    negative(params) {
      return this.check(_lt(0, params));
    },
    nonpositive(params) {
      return this.check(_lte(0, params));
    },
    multipleOf(value, params) {
      return this.check(_multipleOf(value, params));
    },
    step(value, params) {
      return this.check(_multipleOf(value, params));
    },
    finite() {
      return this;
    }
  })
);
function number2(params) {
  return _number(ZodNumber, params);
}
var ZodNumberFormat = /* @__PURE__ */ $constructor("ZodNumberFormat", (inst, def) => {
  $ZodNumberFormat.init(inst, def);
  ZodNumber.init(inst, def);
});
function int(params) {
  return _int(ZodNumberFormat, params);
}
function uint32(params) {
  return _uint32(ZodNumberFormat, params);
}
var ZodBoolean = /* @__PURE__ */ $constructor("ZodBoolean", (inst, def) => {
  $ZodBoolean.init(inst, def);
  ZodType.init(inst, def);
  inst._zod.processJSONSchema = (ctx, json, params) => booleanProcessor(inst, ctx, json, params);
});
function boolean2(params) {
  return _boolean(ZodBoolean, params);
}
var ZodUnknown = /* @__PURE__ */ $constructor("ZodUnknown", (inst, def) => {
  $ZodUnknown.init(inst, def);
  ZodType.init(inst, def);
  inst._zod.processJSONSchema = (ctx, json, params) => unknownProcessor(inst, ctx, json, params);
});
function unknown() {
  return _unknown(ZodUnknown);
}
var ZodNever = /* @__PURE__ */ $constructor("ZodNever", (inst, def) => {
  $ZodNever.init(inst, def);
  ZodType.init(inst, def);
  inst._zod.processJSONSchema = (ctx, json, params) => neverProcessor(inst, ctx, json, params);
});
function never(params) {
  return _never(ZodNever, params);
}
var ZodArray = /* @__PURE__ */ $constructor("ZodArray", (inst, def) => {
  _ensureDefaultMemoizer();
  $ZodArray.init(inst, def);
  ZodType.init(inst, def);
  inst._zod.processJSONSchema = (ctx, json, params) => arrayProcessor(inst, ctx, json, params);
  inst.element = def.element;
}, {
  min(n, params) {
    return this.check(_minLength(n, params));
  },
  nonempty(params) {
    return this.check(_minLength(1, params));
  },
  max(n, params) {
    return this.check(_maxLength(n, params));
  },
  length(n, params) {
    return this.check(_length(n, params));
  },
  unwrap() {
    return this.element;
  }
});
function array(element, params) {
  return _array(ZodArray, element, params);
}
var ZodObject = /* @__PURE__ */ $constructor("ZodObject", (inst, def) => {
  _ensureDefaultMemoizer();
  $ZodObjectJIT.init(inst, def);
  ZodType.init(inst, def);
  inst._zod.processJSONSchema = (ctx, json, params) => objectProcessor(inst, ctx, json, params);
  util_exports.installLazyProp(inst, "shape", (self) => self._zod.def.shape, false);
}, {
  keyof() {
    return _enum(Object.keys(this._zod.def.shape));
  },
  catchall(catchall) {
    return this.clone(util_exports.mergeDefs(this._zod.def, { catchall }));
  },
  passthrough() {
    return this.clone(util_exports.mergeDefs(this._zod.def, { catchall: unknown() }));
  },
  loose() {
    return this.clone(util_exports.mergeDefs(this._zod.def, { catchall: unknown() }));
  },
  strict() {
    return this.clone(util_exports.mergeDefs(this._zod.def, { catchall: never() }));
  },
  strip() {
    return this.clone(util_exports.mergeDefs(this._zod.def, { catchall: void 0 }));
  },
  extend(incoming) {
    return util_exports.extend(this, incoming);
  },
  safeExtend(incoming) {
    return util_exports.safeExtend(this, incoming);
  },
  merge(other) {
    return util_exports.merge(this, other);
  },
  pick(mask) {
    return util_exports.pick(this, mask);
  },
  omit(mask) {
    return util_exports.omit(this, mask);
  },
  partial(...args) {
    return util_exports.partial(ZodOptional, this, args[0]);
  },
  exactPartial(...args) {
    return util_exports.partial(ZodExactOptional, this, args[0], "exactPartial");
  },
  required(...args) {
    return util_exports.required(ZodNonOptional, this, args[0]);
  }
});
function strictObject(shape, params) {
  return new ZodObject({
    type: "object",
    shape,
    catchall: never(),
    ...util_exports.normalizeParams(params)
  });
}
var ZodUnion = /* @__PURE__ */ $constructor("ZodUnion", (inst, def) => {
  $ZodUnion.init(inst, def);
  ZodType.init(inst, def);
  inst._zod.processJSONSchema = (ctx, json, params) => unionProcessor(inst, ctx, json, params);
  inst.options = def.options;
});
function union(options, params) {
  return new ZodUnion({
    type: "union",
    options,
    ...util_exports.normalizeParams(params)
  });
}
var ZodDiscriminatedUnion = /* @__PURE__ */ $constructor("ZodDiscriminatedUnion", (inst, def) => {
  ZodUnion.init(inst, def);
  $ZodDiscriminatedUnion.init(inst, def);
});
function discriminatedUnion(discriminator, options, params) {
  return new ZodDiscriminatedUnion({
    type: "union",
    options,
    discriminator,
    ...util_exports.normalizeParams(params)
  });
}
var ZodIntersection = /* @__PURE__ */ $constructor("ZodIntersection", (inst, def) => {
  $ZodIntersection.init(inst, def);
  ZodType.init(inst, def);
  inst._zod.processJSONSchema = (ctx, json, params) => intersectionProcessor(inst, ctx, json, params);
});
function intersection(left, right) {
  return new ZodIntersection({
    type: "intersection",
    left,
    right
  });
}
var ZodTuple = /* @__PURE__ */ $constructor("ZodTuple", (inst, def) => {
  _ensureDefaultMemoizer();
  $ZodTuple.init(inst, def);
  ZodType.init(inst, def);
  inst._zod.processJSONSchema = (ctx, json, params) => tupleProcessor(inst, ctx, json, params);
}, {
  rest(rest) {
    return this.clone({
      ...this._zod.def,
      rest
    });
  },
  partial() {
    const def = this._zod.def;
    if (def.checks?.length)
      throw new Error(".partial() cannot be used on tuple schemas containing refinements");
    return this.clone({
      ...def,
      items: def.items.map((item) => new ZodOptional({ type: "optional", innerType: item }))
    });
  }
});
function tuple(items, _paramsOrRest, _params) {
  const hasRest = _paramsOrRest instanceof $ZodType;
  const params = hasRest ? _params : _paramsOrRest;
  const rest = hasRest ? _paramsOrRest : null;
  return new ZodTuple({
    type: "tuple",
    items,
    rest,
    ...util_exports.normalizeParams(params)
  });
}
var ZodRecord = /* @__PURE__ */ $constructor("ZodRecord", (inst, def) => {
  _ensureDefaultMemoizer();
  $ZodRecord.init(inst, def);
  ZodType.init(inst, def);
  inst._zod.processJSONSchema = (ctx, json, params) => recordProcessor(inst, ctx, json, params);
  inst.keyType = def.keyType;
  inst.valueType = def.valueType;
});
function record(keyType, valueType, params) {
  if (!valueType || !valueType._zod) {
    return new ZodRecord({
      type: "record",
      keyType: string2(),
      valueType: keyType,
      ...util_exports.normalizeParams(valueType)
    });
  }
  return new ZodRecord({
    type: "record",
    keyType,
    valueType,
    ...util_exports.normalizeParams(params)
  });
}
var ZodEnum = /* @__PURE__ */ $constructor("ZodEnum", (inst, def) => {
  $ZodEnum.init(inst, def);
  ZodType.init(inst, def);
  inst._zod.processJSONSchema = (ctx, json, params) => enumProcessor(inst, ctx, json, params);
  inst.enum = def.entries;
  inst.options = [...inst._zod.values];
  const keys = new Set(Object.keys(def.entries));
  inst.extract = (values, params) => {
    const newEntries = {};
    for (const value of values) {
      if (keys.has(value)) {
        newEntries[value] = def.entries[value];
      } else
        throw new Error(`Key ${value} not found in enum`);
    }
    return new ZodEnum({
      ...def,
      checks: [],
      ...util_exports.normalizeParams(params),
      entries: newEntries
    });
  };
  inst.exclude = (values, params) => {
    const newEntries = { ...def.entries };
    for (const value of values) {
      if (keys.has(value)) {
        delete newEntries[value];
      } else
        throw new Error(`Key ${value} not found in enum`);
    }
    return new ZodEnum({
      ...def,
      checks: [],
      ...util_exports.normalizeParams(params),
      entries: newEntries
    });
  };
});
function _enum(values, params) {
  const entries = Array.isArray(values) ? Object.fromEntries(values.map((v) => [v, v])) : values;
  return new ZodEnum({
    type: "enum",
    entries,
    ...util_exports.normalizeParams(params)
  });
}
var ZodLiteral = /* @__PURE__ */ $constructor("ZodLiteral", (inst, def) => {
  $ZodLiteral.init(inst, def);
  ZodType.init(inst, def);
  inst._zod.processJSONSchema = (ctx, json, params) => literalProcessor(inst, ctx, json, params);
  inst.values = new Set(def.values);
  Object.defineProperty(inst, "value", {
    get() {
      if (def.values.length > 1) {
        throw new Error("This schema contains multiple valid literal values. Use `.values` instead.");
      }
      return def.values[0];
    }
  });
});
function literal(value, params) {
  return new ZodLiteral({
    type: "literal",
    values: Array.isArray(value) ? value : [value],
    ...util_exports.normalizeParams(params)
  });
}
var ZodTransform = /* @__PURE__ */ $constructor("ZodTransform", (inst, def) => {
  _ensureDefaultMemoizer();
  $ZodTransform.init(inst, def);
  ZodType.init(inst, def);
  inst._zod.processJSONSchema = (ctx, json, params) => transformProcessor(inst, ctx, json, params);
  inst._zod.parse = (payload, _ctx) => {
    if (_ctx.direction === "backward") {
      throw new $ZodEncodeError(inst.constructor.name);
    }
    payload.addIssue = (issue2) => {
      if (typeof issue2 === "string") {
        payload.issues.push(util_exports.issue(issue2, payload.value, def));
      } else {
        const _issue = issue2;
        if (_issue.fatal)
          _issue.continue = false;
        _issue.code ?? (_issue.code = "custom");
        if (!("input" in _issue))
          _issue.input = payload.value;
        _issue.inst ?? (_issue.inst = inst);
        payload.issues.push(util_exports.issue(_issue));
      }
    };
    const output = def.transform(payload.value, payload);
    if (output instanceof Promise) {
      return output.then((output2) => {
        payload.value = output2;
        return payload;
      });
    }
    payload.value = output;
    return payload;
  };
});
function transform(fn) {
  return new ZodTransform({
    type: "transform",
    transform: fn
  });
}
var ZodOptional = /* @__PURE__ */ $constructor("ZodOptional", (inst, def) => {
  $ZodOptional.init(inst, def);
  ZodType.init(inst, def);
  inst._zod.processJSONSchema = (ctx, json, params) => optionalProcessor(inst, ctx, json, params);
  inst.unwrap = () => inst._zod.def.innerType;
});
function optional(innerType) {
  return new ZodOptional({
    type: "optional",
    innerType
  });
}
var ZodExactOptional = /* @__PURE__ */ $constructor("ZodExactOptional", (inst, def) => {
  $ZodExactOptional.init(inst, def);
  ZodType.init(inst, def);
  inst._zod.processJSONSchema = (ctx, json, params) => optionalProcessor(inst, ctx, json, params);
  inst.unwrap = () => inst._zod.def.innerType;
});
function exactOptional(innerType) {
  return new ZodExactOptional({
    type: "optional",
    innerType
  });
}
var ZodNullable = /* @__PURE__ */ $constructor("ZodNullable", (inst, def) => {
  $ZodNullable.init(inst, def);
  ZodType.init(inst, def);
  inst._zod.processJSONSchema = (ctx, json, params) => nullableProcessor(inst, ctx, json, params);
  inst.unwrap = () => inst._zod.def.innerType;
});
function nullable(innerType) {
  return new ZodNullable({
    type: "nullable",
    innerType
  });
}
var ZodDefault = /* @__PURE__ */ $constructor("ZodDefault", (inst, def) => {
  $ZodDefault.init(inst, def);
  ZodType.init(inst, def);
  inst._zod.processJSONSchema = (ctx, json, params) => defaultProcessor(inst, ctx, json, params);
  inst.unwrap = () => inst._zod.def.innerType;
  inst.removeDefault = inst.unwrap;
});
function _default(innerType, defaultValue) {
  return new ZodDefault({
    type: "default",
    innerType,
    get defaultValue() {
      return typeof defaultValue === "function" ? defaultValue() : util_exports.shallowClone(defaultValue);
    }
  });
}
var ZodPrefault = /* @__PURE__ */ $constructor("ZodPrefault", (inst, def) => {
  $ZodPrefault.init(inst, def);
  ZodType.init(inst, def);
  inst._zod.processJSONSchema = (ctx, json, params) => prefaultProcessor(inst, ctx, json, params);
  inst.unwrap = () => inst._zod.def.innerType;
});
function prefault(innerType, defaultValue) {
  return new ZodPrefault({
    type: "prefault",
    innerType,
    get defaultValue() {
      return typeof defaultValue === "function" ? defaultValue() : util_exports.shallowClone(defaultValue);
    }
  });
}
var ZodNonOptional = /* @__PURE__ */ $constructor("ZodNonOptional", (inst, def) => {
  $ZodNonOptional.init(inst, def);
  ZodType.init(inst, def);
  inst._zod.processJSONSchema = (ctx, json, params) => nonoptionalProcessor(inst, ctx, json, params);
  inst.unwrap = () => inst._zod.def.innerType;
});
function nonoptional(innerType, params) {
  return new ZodNonOptional({
    type: "nonoptional",
    innerType,
    ...util_exports.normalizeParams(params)
  });
}
var ZodCatch = /* @__PURE__ */ $constructor("ZodCatch", (inst, def) => {
  $ZodCatch.init(inst, def);
  ZodType.init(inst, def);
  inst._zod.processJSONSchema = (ctx, json, params) => catchProcessor(inst, ctx, json, params);
  inst.unwrap = () => inst._zod.def.innerType;
  inst.removeCatch = inst.unwrap;
});
function _catch(innerType, catchValue) {
  return new ZodCatch({
    type: "catch",
    innerType,
    catchValue: typeof catchValue === "function" ? catchValue : util_exports.constantCatch(catchValue)
  });
}
var ZodPipe = /* @__PURE__ */ $constructor("ZodPipe", (inst, def) => {
  $ZodPipe.init(inst, def);
  ZodType.init(inst, def);
  inst._zod.processJSONSchema = (ctx, json, params) => pipeProcessor(inst, ctx, json, params);
  inst.in = def.in;
  inst.out = def.out;
});
function pipe(in_, out) {
  return new ZodPipe({
    type: "pipe",
    in: in_,
    out
    // ...util.normalizeParams(params),
  });
}
var ZodReadonly = /* @__PURE__ */ $constructor("ZodReadonly", (inst, def) => {
  $ZodReadonly.init(inst, def);
  ZodType.init(inst, def);
  inst._zod.processJSONSchema = (ctx, json, params) => readonlyProcessor(inst, ctx, json, params);
  inst.unwrap = () => inst._zod.def.innerType;
});
function readonly(innerType) {
  return new ZodReadonly({
    type: "readonly",
    innerType
  });
}
var ZodCustom = /* @__PURE__ */ $constructor("ZodCustom", (inst, def) => {
  $ZodCustom.init(inst, def);
  ZodType.init(inst, def);
  inst._zod.processJSONSchema = (ctx, json, params) => customProcessor(inst, ctx, json, params);
});
function custom(fn, _params) {
  return _custom(ZodCustom, fn ?? (() => true), _params);
}
function refine(fn, _params = {}) {
  return _refine(ZodCustom, fn, _params);
}
function superRefine(fn, params) {
  return _superRefine(fn, params);
}

// packages/core/src/validate.ts
function parseOrThrow(schema, value, code, what, next2) {
  const result = schema.safeParse(value);
  if (result.success) return result.data;
  const problem = problemOf(result.error.issues, schema, value, []);
  const path = formatPath(problem.path);
  throw new LowbitKvError(code, {
    message: `${what}: ${path === "" ? "it" : path} ${problem.message}`,
    value: valueAt(value, problem.path),
    valid: problem.valid,
    next: problem.suggestion === void 0 ? next2 : `${problem.suggestion} ${next2}`,
    where: path === "" ? {} : { field: path }
  });
}
function problemOf(issues, schema, root, prefix) {
  const first = issues[0];
  if (first === void 0) return { path: prefix, message: "is not valid", valid: "another value" };
  const missing = valueAt(root, [...prefix, ...first.path]) === void 0;
  const misspelt = missing && issues.find((issue2) => issue2.code === "unrecognized_keys");
  return describe2(misspelt || first, schema, root, prefix);
}
function describe2(issue2, schema, root, prefix) {
  const path = [...prefix, ...issue2.path];
  const value = valueAt(root, path);
  const message = value === void 0 ? "is missing" : "is not valid";
  const oneOf = (values) => ({
    path,
    message,
    valid: values,
    suggestion: suggestion(value, values)
  });
  switch (issue2.code) {
    case "unrecognized_keys": {
      const key = issue2.keys[0];
      const known = fieldsAt(schema, root, path);
      return {
        path: [...path, key],
        message: "is not a known field",
        valid: known,
        suggestion: suggestion(key, known)
      };
    }
    case "invalid_union": {
      const { options } = issue2;
      if (options !== void 0) return oneOf(options);
      return closestBranch(issue2, schema, root, path);
    }
    case "invalid_value":
      return oneOf(issue2.values);
    case "invalid_type":
      return { path, message, valid: typeText(issue2.expected) };
    case "too_small":
      return { path, message, valid: sizeText(issue2, issue2.minimum, "at least", "more than") };
    case "too_big":
      return { path, message, valid: sizeText(issue2, issue2.maximum, "at most", "less than") };
    default:
      return { path, message, valid: issue2.message };
  }
}
function closestBranch(issue2, schema, root, path) {
  const branches = issue2.errors.filter((errors) => errors.length > 0).map((errors) => problemOf(errors, schema, root, path));
  const deepest = branches.reduce(
    (best, branch) => branch.path.length > (best?.path.length ?? path.length) ? branch : best,
    void 0
  );
  if (deepest !== void 0) return deepest;
  const valid = branches.flatMap((branch) => branch.valid);
  return {
    path,
    message: valueAt(root, path) === void 0 ? "is missing" : "is not valid",
    valid,
    suggestion: suggestion(valueAt(root, path), valid)
  };
}
var TYPE_TEXT = {
  int: "an integer",
  array: "an array",
  object: "an object"
};
function typeText(expected) {
  return TYPE_TEXT[expected] ?? `a ${expected}`;
}
function sizeText(issue2, limit, inclusive, exclusive) {
  const text = `${issue2.inclusive === false ? exclusive : inclusive} ${limit}`;
  if (issue2.origin === "string") return `${text} characters`;
  return issue2.origin === "array" ? `${text} entries` : text;
}
function fieldsAt(schema, root, path) {
  let at = optionFor(schema, root);
  let value = root;
  for (const part of path) {
    value = valueAt(value, [part]);
    const { def } = at._zod;
    const inner = def.shape?.[String(part)] ?? def.element ?? def.items?.[Number(part)];
    if (inner === void 0) return [];
    at = optionFor(inner, value);
  }
  return Object.keys(at._zod.def.shape ?? {});
}
function optionFor(schema, value) {
  const { def } = schema._zod;
  if (def.innerType !== void 0) return optionFor(def.innerType, value);
  if (def.options === void 0) return schema;
  const tag = def.discriminator;
  const fits = def.options.find(
    (option) => tag === void 0 ? "shape" in option._zod.def : option._zod.propValues?.[tag]?.has(valueAt(value, [tag]))
  );
  return fits ?? schema;
}
function formatPath(path) {
  return path.map(
    (part, i) => typeof part === "number" ? `[${part}]` : `${i === 0 ? "" : "."}${String(part)}`
  ).join("");
}
function valueAt(value, path) {
  let current = value;
  for (const part of path) {
    if (typeof current !== "object" || current === null) return void 0;
    current = current[part];
  }
  return current;
}

// packages/core/src/codec-rules.ts
var positive = int().min(1);
var isFunction = (value) => typeof value === "function";
var codecSchema = strictObject({
  id: string2().regex(/^[a-z0-9]+(-[a-z0-9]+)*$/, "lower-case words joined by hyphens"),
  version: positive,
  groupSize: positive,
  groupBytes: positive,
  encodeGroup: custom(isFunction, "(values: Float32Array, bytes: Uint8Array) => void"),
  decodeGroup: custom(isFunction, "(bytes: Uint8Array, values: Float32Array) => void"),
  wgsl: string2().min(1).optional(),
  cuda: string2().min(1).optional()
});
function checkedCodecs(...lists) {
  const codecs = lists.flatMap((list) => list === void 0 ? [] : parseCodecs(list));
  const seen = /* @__PURE__ */ new Set();
  for (const codec of codecs) {
    const name = nameOf(codec);
    if (seen.has(name)) {
      throw new LowbitKvError("CODEC_INVALID", {
        message: "two codecs have the same id and version",
        value: name,
        valid: "each id and version once, in the scheme and the options together",
        next: "Leave one out, or raise its version."
      });
    }
    seen.add(name);
  }
  return codecs;
}
function parseCodecs(list) {
  const next2 = "Correct the codec. Functions do not survive JSON: pass the codecs of the scheme package in `codecs`.";
  const parsed = parseOrThrow(array(codecSchema), list, "CODEC_INVALID", "codecs", next2);
  return parsed;
}
function nameOf({ id, version: version2 }) {
  return `${id}, version ${version2}`;
}
function codecOf({ quantizer: quantizer2, groups: groups2 }, groupSize2, codecs, where) {
  if (quantizer2.mode !== "codec") return void 0;
  const { codes, version: version2, groupBytes } = quantizer2;
  const name = nameOf({ id: codes, version: version2 });
  const found = codecs.find((codec) => nameOf(codec) === name);
  if (found === void 0) {
    throw new LowbitKvError("CODEC_MISSING", {
      message: "the scheme names a codec that was not given",
      value: name,
      valid: codecs.map(nameOf),
      next: "Plan the scheme object of its package, or pass `codecs: scheme.codecs` to createPlan.",
      where
    });
  }
  if (found.groupSize !== groupSize2) {
    throw new LowbitKvError(groups2.along === "vector" ? "SHAPE_UNSUPPORTED" : "CODEC_INVALID", {
      message: `the codec ${JSON.stringify(codes)} encodes groups of another size`,
      value: found.groupSize,
      valid: `${groupSize2} elements`,
      next: "Use a scheme whose codec has this group size.",
      where
    });
  }
  if (found.groupBytes === groupBytes) return found;
  throw new LowbitKvError("CODEC_INVALID", {
    message: `the codec ${JSON.stringify(codes)} writes groups of another length`,
    value: found.groupBytes,
    valid: `${groupBytes} bytes, as quantizer.groupBytes says`,
    next: "Correct the scheme, or raise the version of the codec.",
    where
  });
}

// node_modules/.pnpm/@noble+hashes@2.4.0/node_modules/@noble/hashes/_u64.js
var fromNumH = (n) => n / 2 ** 32 | 0;
var fromNumL = (n) => n >>> 0;
function setU64FromNum(view, byteOffset, n, isLE) {
  const h = fromNumH(n);
  const l = fromNumL(n);
  view.setUint32(byteOffset, isLE ? l : h, isLE);
  view.setUint32(byteOffset + 4, isLE ? h : l, isLE);
}

// node_modules/.pnpm/@noble+hashes@2.4.0/node_modules/@noble/hashes/utils.js
function isBytes(a) {
  return a instanceof Uint8Array || ArrayBuffer.isView(a) && a.constructor.name === "Uint8Array" && "BYTES_PER_ELEMENT" in a && a.BYTES_PER_ELEMENT === 1;
}
var atitle = (title) => title ? `"${title}" ` : "";
function anumber(n, title = "") {
  if (typeof n !== "number")
    throw new TypeError(atitle(title) + "expected number, got " + typeof n);
  if (!Number.isSafeInteger(n) || n < 0)
    throw new RangeError(atitle(title) + "expected integer >= 0, got " + n);
  return n;
}
function abytes(value, length, title = "") {
  if (isBytes(value) && (length === void 0 || value.length === length))
    return value;
  if (length !== void 0)
    anumber(length, "length");
  const bytes = isBytes(value);
  const ofLen = length !== void 0 ? ` of length ${length}` : "";
  const got = bytes ? `length=${value.length}` : `type=${typeof value}`;
  const message = atitle(title) + "expected Uint8Array" + ofLen + ", got " + got;
  if (!bytes)
    throw new TypeError(message);
  throw new RangeError(message);
}
var aobject = (value, label) => {
  if (value === null || typeof value !== "object" || Array.isArray(value))
    throw new TypeError((label === "object" ? "" : `"${label}" `) + "expected object, got type=" + typeof value);
};
var aopts = (value, label) => {
  aobject(value, label);
  const proto = Object.getPrototypeOf(value);
  if (proto !== Object.prototype && proto !== null)
    throw new TypeError(`"${label}" expected plain object`);
  if (Object.hasOwn(value, "__proto__"))
    throw new TypeError(`"${label}.__proto__" is not allowed`);
};
function aexists(instance, checkFinished = true) {
  if (instance.destroyed)
    throw new Error("hash was destroyed");
  if (checkFinished && instance.finished)
    throw new Error("digest() was already called");
}
function aoutput(out, instance) {
  abytes(out, void 0, "output");
  const min = instance.outputLen;
  if (!(out.length >= min)) {
    throw new RangeError('"output" expected length >= ' + min);
  }
}
function clean(...arrays) {
  for (let i = 0; i < arrays.length; i++) {
    arrays[i].fill(0);
  }
}
function createView(arr) {
  return new DataView(arr.buffer, arr.byteOffset, arr.byteLength);
}
function rotr(word2, shift) {
  return word2 << 32 - shift | word2 >>> shift;
}
var hasHexBuiltin = /* @__PURE__ */ (() => (
  // @ts-ignore
  typeof Uint8Array.from([]).toHex === "function" && typeof Uint8Array.fromHex === "function"
))();
var hexes = /* @__PURE__ */ Array.from({ length: 256 }, (_, i) => i.toString(16).padStart(2, "0"));
function bytesToHex(bytes) {
  abytes(bytes);
  if (hasHexBuiltin)
    return bytes.toHex();
  let hex = "";
  for (let i = 0; i < bytes.length; i++) {
    hex += hexes[bytes[i]];
  }
  return hex;
}
function checkOpts(defaults, opts, title = "opts") {
  aopts(defaults, "defaults");
  if (opts !== void 0)
    aopts(opts, title);
  const merged = Object.assign(/* @__PURE__ */ Object.create(null), defaults, opts);
  return merged;
}
function createHasher(hashCons, info = {}) {
  if (typeof hashCons !== "function")
    throw new TypeError('"hashCons" expected function, got type=' + typeof hashCons);
  info = checkOpts({}, info, "info");
  const hashC = (msg, opts) => hashCons(opts).update(msg).digest();
  const tmp = hashCons(void 0);
  hashC.outputLen = tmp.outputLen;
  hashC.blockLen = tmp.blockLen;
  hashC.canXOF = tmp.canXOF;
  hashC.create = (opts) => hashCons(opts);
  Object.assign(hashC, info);
  return Object.freeze(hashC);
}
var oidNist = (suffix) => ({
  // Current NIST hashAlgs suffixes used here fit in one DER subidentifier octet.
  // Larger suffix values would need base-128 OID encoding and a different length byte.
  oid: Uint8Array.from([6, 9, 96, 134, 72, 1, 101, 3, 4, 2, suffix])
});

// node_modules/.pnpm/@noble+hashes@2.4.0/node_modules/@noble/hashes/_md.js
function Chi(a, b, c) {
  return a & b ^ ~a & c;
}
function Maj(a, b, c) {
  return a & b ^ a & c ^ b & c;
}
var HashMD = class {
  blockLen;
  outputLen;
  canXOF = false;
  padOffset;
  isLE;
  // For partial updates less than block size
  buffer;
  view;
  finished = false;
  length = 0;
  pos = 0;
  destroyed = false;
  constructor(blockLen, outputLen, padOffset, isLE) {
    this.blockLen = blockLen;
    this.outputLen = outputLen;
    this.padOffset = padOffset;
    this.isLE = isLE;
    this.buffer = new Uint8Array(blockLen);
    this.view = createView(this.buffer);
  }
  update(data) {
    aexists(this);
    abytes(data);
    const { view, buffer, blockLen } = this;
    const len = data.length;
    let processed = false;
    for (let pos = 0; pos < len; ) {
      const take = Math.min(blockLen - this.pos, len - pos);
      if (take === blockLen) {
        const dataView = createView(data);
        for (; blockLen <= len - pos; pos += blockLen)
          this.process(dataView, pos);
        processed = true;
        continue;
      }
      buffer.set(pos === 0 && take === len ? data : data.subarray(pos, pos + take), this.pos);
      this.pos += take;
      pos += take;
      if (this.pos === blockLen) {
        this.process(view, 0);
        this.pos = 0;
        processed = true;
      }
    }
    this.length += data.length;
    if (processed)
      this.roundClean();
    return this;
  }
  digestInto(out) {
    aexists(this);
    aoutput(out, this);
    this.finished = true;
    const { buffer, view, blockLen, isLE } = this;
    let { pos } = this;
    buffer[pos++] = 128;
    buffer.fill(0, pos);
    if (this.padOffset > blockLen - pos) {
      this.process(view, 0);
      buffer.fill(0);
    }
    setU64FromNum(view, blockLen - 8, this.length * 8, isLE);
    this.process(view, 0);
    this.roundClean();
    const oview = out === buffer ? view : createView(out);
    const len = this.outputLen;
    const outLen = len / 4;
    const state = this.get();
    if (len % 4 || outLen > state.length)
      throw new Error("invalid outputLen");
    for (let i = 0; i < outLen; i++)
      oview.setUint32(4 * i, state[i], isLE);
  }
  digest() {
    const { buffer, outputLen } = this;
    this.digestInto(buffer);
    const res = buffer.slice(0, outputLen);
    this.destroy();
    return res;
  }
  _cloneIntoMeta(to) {
    const { buffer, length, finished, destroyed, pos } = this;
    to.destroyed = destroyed;
    to.finished = finished;
    to.length = length;
    to.pos = pos;
    if (pos)
      to.buffer.set(buffer);
    return to;
  }
  clone() {
    return this._cloneInto();
  }
};
var SHA256_IV = /* @__PURE__ */ Uint32Array.from([
  1779033703,
  3144134277,
  1013904242,
  2773480762,
  1359893119,
  2600822924,
  528734635,
  1541459225
]);

// node_modules/.pnpm/@noble+hashes@2.4.0/node_modules/@noble/hashes/sha2.js
var SHA256_K = /* @__PURE__ */ Uint32Array.from([
  1116352408,
  1899447441,
  3049323471,
  3921009573,
  961987163,
  1508970993,
  2453635748,
  2870763221,
  3624381080,
  310598401,
  607225278,
  1426881987,
  1925078388,
  2162078206,
  2614888103,
  3248222580,
  3835390401,
  4022224774,
  264347078,
  604807628,
  770255983,
  1249150122,
  1555081692,
  1996064986,
  2554220882,
  2821834349,
  2952996808,
  3210313671,
  3336571891,
  3584528711,
  113926993,
  338241895,
  666307205,
  773529912,
  1294757372,
  1396182291,
  1695183700,
  1986661051,
  2177026350,
  2456956037,
  2730485921,
  2820302411,
  3259730800,
  3345764771,
  3516065817,
  3600352804,
  4094571909,
  275423344,
  430227734,
  506948616,
  659060556,
  883997877,
  958139571,
  1322822218,
  1537002063,
  1747873779,
  1955562222,
  2024104815,
  2227730452,
  2361852424,
  2428436474,
  2756734187,
  3204031479,
  3329325298
]);
var SHA256_W = /* @__PURE__ */ new Uint32Array(64);
var SHA2_32B = class extends HashMD {
  // We cannot use array here since array allows indexing by variable
  // which means optimizer/compiler cannot use registers.
  // Numeric initializers matter: starting the fields as `undefined` changes
  // V8's field representation and makes sha256 3x slower (measured).
  A = 0;
  B = 0;
  C = 0;
  D = 0;
  E = 0;
  F = 0;
  G = 0;
  H = 0;
  constructor(outputLen, IV) {
    super(64, outputLen, 8, false);
    this.A = IV[0] | 0;
    this.B = IV[1] | 0;
    this.C = IV[2] | 0;
    this.D = IV[3] | 0;
    this.E = IV[4] | 0;
    this.F = IV[5] | 0;
    this.G = IV[6] | 0;
    this.H = IV[7] | 0;
  }
  get() {
    const { A, B, C, D, E, F, G, H } = this;
    return [A, B, C, D, E, F, G, H];
  }
  // prettier-ignore
  set(A, B, C, D, E, F, G, H) {
    this.A = A | 0;
    this.B = B | 0;
    this.C = C | 0;
    this.D = D | 0;
    this.E = E | 0;
    this.F = F | 0;
    this.G = G | 0;
    this.H = H | 0;
  }
  _cloneInto(to) {
    (to ||= new this.constructor()).set(...this.get());
    return this._cloneIntoMeta(to);
  }
  process(view, offset) {
    for (let i = 0; i < 16; i++, offset += 4)
      SHA256_W[i] = view.getUint32(offset, false);
    for (let i = 16; i < 64; i++) {
      const W15 = SHA256_W[i - 15];
      const W2 = SHA256_W[i - 2];
      const s0 = rotr(W15, 7) ^ rotr(W15, 18) ^ W15 >>> 3;
      const s1 = rotr(W2, 17) ^ rotr(W2, 19) ^ W2 >>> 10;
      SHA256_W[i] = s1 + SHA256_W[i - 7] + s0 + SHA256_W[i - 16] | 0;
    }
    let { A, B, C, D, E, F, G, H } = this;
    for (let i = 0; i < 64; i++) {
      const sigma1 = rotr(E, 6) ^ rotr(E, 11) ^ rotr(E, 25);
      const T1 = H + sigma1 + Chi(E, F, G) + SHA256_K[i] + SHA256_W[i] | 0;
      const sigma0 = rotr(A, 2) ^ rotr(A, 13) ^ rotr(A, 22);
      const T2 = sigma0 + Maj(A, B, C) | 0;
      H = G;
      G = F;
      F = E;
      E = D + T1 | 0;
      D = C;
      C = B;
      B = A;
      A = T1 + T2 | 0;
    }
    A = A + this.A | 0;
    B = B + this.B | 0;
    C = C + this.C | 0;
    D = D + this.D | 0;
    E = E + this.E | 0;
    F = F + this.F | 0;
    G = G + this.G | 0;
    H = H + this.H | 0;
    this.set(A, B, C, D, E, F, G, H);
  }
  roundClean() {
    clean(SHA256_W);
  }
  destroy() {
    this.destroyed = true;
    this.set(0, 0, 0, 0, 0, 0, 0, 0);
    clean(this.buffer);
  }
};
var _SHA256 = class extends SHA2_32B {
  constructor() {
    super(32, SHA256_IV);
  }
};
var sha256 = /* @__PURE__ */ createHasher(
  () => new _SHA256(),
  /* @__PURE__ */ oidNist(1)
);

// packages/core/src/fingerprint.ts
function fingerprint(value) {
  return bytesToHex(sha256(new TextEncoder().encode(canonicalJson(value))));
}
function canonicalJson(value) {
  if (Array.isArray(value))
    return `[${value.map((item) => canonicalJson(item ?? null)).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value) ?? "null";
  const entries = Object.entries(value).filter(
    ([, item]) => item !== void 0 && typeof item !== "function"
  );
  entries.sort(([a], [b]) => a < b ? -1 : 1);
  return `{${entries.map(([key, item]) => `${JSON.stringify(key)}:${canonicalJson(item)}`).join(",")}}`;
}

// packages/core/src/geometry.ts
var positive2 = int().min(1);
var DEFAULT_ROTARY_BASE = 1e4;
var next = "Take the numbers from the config.json of the model.";
var slidingWindow = strictObject({ size: positive2, sinks: int().min(0) });
var rotary = strictObject({
  pairs: literal(["halves", "adjacent"]),
  base: number2().positive().optional(),
  dimensions: positive2.optional(),
  frequencies: array(number2()).min(1).optional()
});
var layerFields = {
  queryHeads: positive2,
  kvHeads: positive2,
  keyHeadDim: positive2,
  valueHeadDim: positive2,
  scale: number2().positive(),
  slidingWindow: slidingWindow.nullable(),
  softCap: number2().positive().nullable(),
  rotary: rotary.nullable()
};
var geometrySchema = strictObject({
  layers: positive2,
  ...layerFields,
  scale: layerFields.scale.optional(),
  slidingWindow: layerFields.slidingWindow.optional(),
  softCap: layerFields.softCap.optional(),
  rotary: layerFields.rotary.optional(),
  layerOverrides: array(
    strictObject({
      layers: array(int()).min(1),
      ...strictObject(layerFields).partial().shape
    })
  ).optional()
});
function resolveGeometry(geometry) {
  const parsed = parseOrThrow(geometrySchema, geometry, "GEOMETRY_INVALID", "geometry", next);
  const layers = [];
  for (let layer = 0; layer < parsed.layers; layer++) {
    const merged = { ...parsed };
    for (const override of parsed.layerOverrides ?? []) {
      const { layers: numbers, ...fields } = override;
      if (numbers.map((n) => layerNumber(n, parsed.layers)).includes(layer))
        Object.assign(merged, definedOnly(fields));
    }
    if (merged.queryHeads % merged.kvHeads !== 0) {
      throw new LowbitKvError("GEOMETRY_INVALID", {
        message: "query heads must be a multiple of kv heads",
        value: { queryHeads: merged.queryHeads, kvHeads: merged.kvHeads },
        valid: `queryHeads a multiple of ${merged.kvHeads}`,
        next,
        where: { layer }
      });
    }
    layers.push({
      queryHeads: merged.queryHeads,
      kvHeads: merged.kvHeads,
      keyHeadDim: merged.keyHeadDim,
      valueHeadDim: merged.valueHeadDim,
      scale: merged.scale ?? 1 / Math.sqrt(merged.keyHeadDim),
      slidingWindow: merged.slidingWindow ?? null,
      softCap: merged.softCap ?? null,
      rotary: resolveRotary(merged.rotary ?? null, merged.keyHeadDim, layer)
    });
  }
  return layers;
}
function layerNumber(number3, layers) {
  const layer = number3 < 0 ? number3 + layers : number3;
  if (layer < 0 || layer >= layers) {
    throw new LowbitKvError("GEOMETRY_INVALID", {
      message: "no such layer",
      value: number3,
      valid: `${-layers} to ${layers - 1}`,
      next: "Correct the list of layers."
    });
  }
  return layer;
}
function resolveRotary(given, keyHeadDim, layer) {
  if (given === null) return null;
  const { pairs, base, frequencies } = given;
  const refuse3 = (part, value, valid) => {
    throw new LowbitKvError("GEOMETRY_INVALID", {
      message: `${part} of the rotary embedding does not fit`,
      value,
      valid,
      next,
      where: { layer, field: `rotary.${part}` }
    });
  };
  const dimensions = given.dimensions ?? (frequencies === void 0 ? keyHeadDim : 2 * frequencies.length);
  if (dimensions % 2 !== 0 || dimensions > keyHeadDim)
    refuse3("dimensions", dimensions, `an even number up to the head dim of keys, ${keyHeadDim}`);
  if (frequencies === void 0) {
    const frequency = (pair) => (base ?? DEFAULT_ROTARY_BASE) ** (-2 * pair / dimensions);
    return { pairs, frequencies: Array.from({ length: dimensions / 2 }, (_, i) => frequency(i)) };
  }
  if (base !== void 0) refuse3("base", base, "either a base or frequencies");
  if (frequencies.length !== dimensions / 2)
    refuse3("frequencies", frequencies.length, `${dimensions / 2}, one per pair of channels`);
  return { pairs, frequencies };
}
function definedOnly(fields) {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== void 0));
}

// packages/core/src/level-rules.ts
function levelsFault(levels, { scaledBy }, { bits, quantizer: quantizer2 }) {
  if (levels.length < 2 || levels.length > 2 ** bits)
    return { value: levels.length, valid: `2 to 2^bits = ${2 ** bits} levels` };
  if (quantizer2.mode === "asymmetric" && levels[0] !== 0)
    return { value: levels, valid: "levels that begin with 0, where groups store a zero" };
  const rounded = levels.map(Math.fround);
  const rises = rounded.every((level, i) => i === 0 || level > rounded[i - 1]);
  if (!rises || !rounded.every(Number.isFinite))
    return { value: levels, valid: "finite numbers that rise strictly, also as f32" };
  if (scaledBy === "absoluteMaximum" && rounded.every((level) => level === 0))
    return { value: levels, valid: "a level other than 0" };
  return null;
}

// packages/core/src/scheme-rules.ts
var CALIBRATED_BY = {
  tensorScale: "tensorFactor",
  channelScale: "channelFactors",
  channelMean: "channelMeans",
  channelOrder: "channelOrder"
};
var CLAMP_LOWEST = 2 ** -14;
var CLAMP_HIGHEST = 2 ** 14;
function checkSchemeRules(scheme, label) {
  const quantized = [];
  for (const [field, spec] of tensorsOf(scheme)) {
    if (spec === void 0 || spec.bits === 16) continue;
    const refuse3 = (part, value, valid) => refuseField(label, `${field}.${part}`, value, valid);
    checkGroups(spec, refuse3);
    checkQuantizer(spec, refuse3);
    checkBands(spec, refuse3);
    if (field.endsWith("value") && spec.stage !== void 0)
      refuse3("stage", spec.stage, "absent: values carry no rotary embedding");
    checkTransforms(spec, refuse3);
    quantized.push(spec);
  }
  for (const [i, override] of (scheme.overrides ?? []).entries()) {
    if (override.key === void 0 && override.value === void 0)
      refuseField(label, `overrides[${i}]`, override, "an override of key, value or both");
  }
  checkCalibration(scheme, quantized, label);
}
function checkTransforms({ transforms = [] }, refuse3) {
  const measured = transforms.find((step) => "statisticsTokens" in step);
  for (const [i, step] of transforms.entries()) {
    if (measured !== void 0 && "statisticsTokens" in step) {
      const { statisticsTokens: statisticsTokens2 } = measured;
      if (step.statisticsTokens !== statisticsTokens2)
        refuse3(
          `transforms[${i}].statisticsTokens`,
          step.statisticsTokens,
          `${statisticsTokens2}: all transforms of a tensor are measured on the same tokens`
        );
    }
    const first = transforms.findIndex(
      (other) => other.kind === step.kind && isCalibrated(other) && isCalibrated(step)
    );
    if (first >= 0 && first < i)
      refuse3(`transforms[${i}]`, step, `at most one ${step.kind} from calibration`);
    if ("largest" in step && !(F16_SMALLEST_NORMAL <= step.largest && step.largest <= 2 ** 32))
      refuse3(`transforms[${i}].largest`, step.largest, "from 2^-14 to 2^32");
    if (!("clamp" in step)) continue;
    const [low, high] = step.clamp;
    if (!(CLAMP_LOWEST <= low && low <= high && high <= CLAMP_HIGHEST))
      refuse3(
        `transforms[${i}].clamp`,
        step.clamp,
        `[smallest, largest], from ${CLAMP_LOWEST} to ${CLAMP_HIGHEST}`
      );
  }
}
function tensorsOf(scheme) {
  const tensors = [
    ["key", scheme.key],
    ["value", scheme.value]
  ];
  for (const [i, override] of (scheme.overrides ?? []).entries()) {
    tensors.push([`overrides[${i}].key`, override.key], [`overrides[${i}].value`, override.value]);
  }
  return tensors;
}
function checkGroups({ groups: groups2, window, outliers: outliers2 }, refuse3) {
  if (groups2.along === "vector") {
    if (groups2.scope === "allHeads" && outliers2?.kind !== "bands")
      refuse3("groups.scope", "allHeads", "head (allHeads is for outlier bands)");
    return;
  }
  if (groups2.along === "channels") return;
  if (groups2.size % 8 !== 0) {
    refuse3(
      "groups.size",
      groups2.size,
      "a multiple of 8 for groups along tokens, so that a group fills whole bytes"
    );
  }
  if (window.flush % groups2.size !== 0) {
    refuse3(
      "window.flush",
      window.flush,
      `a multiple of the group size ${groups2.size} (groups run along tokens)`
    );
  }
}
function checkQuantizer(spec, refuse3) {
  const { quantizer: quantizer2, bits, outliers: outliers2 } = spec;
  const { mode, codes } = quantizer2;
  checkParameters(spec, refuse3);
  if (mode === "codec" && outliers2 !== void 0)
    refuse3("outliers", outliers2, "absent: the bytes of a codec are all there is");
  if (mode === "codec") return;
  if (codes === "signmag" && bits < 2) refuse3("bits", bits, "at least 2 for sign and magnitude");
  if (mode === "hybrid" && quantizer2.asymmetricBits > bits)
    refuse3("quantizer.asymmetricBits", quantizer2.asymmetricBits, `at most bits = ${bits}`);
  if (codes === "midRise" && outliers2?.kind !== "bands")
    refuse3("quantizer.codes", "midRise", "only together with outlier bands");
  if (typeof codes === "object") checkLevels(codes, spec, refuse3);
}
function checkParameters({ quantizer: quantizer2, parameters }, refuse3) {
  const { mode, codes } = quantizer2;
  const { scale, zero } = parameters;
  const unscaled = mode === "codec" || typeof codes === "object" && codes.scaledBy === "none";
  if (unscaled && scale !== void 0)
    refuse3("parameters.scale", scale, "absent: these groups store no scale");
  if (!unscaled && scale === void 0)
    refuse3("parameters.scale", scale, "a type, because groups store a scale");
  const hasZero = mode === "asymmetric" || mode === "hybrid";
  if (hasZero && zero === void 0)
    refuse3("parameters.zero", void 0, `a type, because ${mode} groups store a zero`);
  if (!hasZero && zero !== void 0)
    refuse3("parameters.zero", zero, `absent: ${mode} groups store no zero`);
  const signed = mode === "hybrid" || codes === "fullSigned";
  if (signed && (scale === "e4m3" || scale === "e8m0"))
    refuse3("parameters.scale", scale, "f16 or f32: the scale carries a sign");
  if (mode === "asymmetric" && scale === "e8m0")
    refuse3("parameters.scale", scale, "f16, f32 or e4m3, where groups store a zero");
}
function checkLevels(table, spec, refuse3) {
  const { levels, scaledBy } = table;
  if (spec.quantizer.mode === "asymmetric" && scaledBy !== "absoluteMaximum")
    refuse3("quantizer.codes.scaledBy", scaledBy, "absoluteMaximum, where groups store a zero");
  const fault = levels === "calibrated" ? null : levelsFault(levels, table, spec);
  if (fault !== null) refuse3("quantizer.codes.levels", fault.value, fault.valid);
}
function checkBands(spec, refuse3) {
  const { bits, groups: groups2, quantizer: quantizer2, parameters, outliers: outliers2 } = spec;
  if (outliers2?.kind !== "bands") return;
  const { outer, middle, inner } = outliers2.shares;
  if (Math.abs(outer + middle + inner - 1) > 1e-9)
    refuse3("outliers.shares", outliers2.shares, "shares that add up to 1");
  if (groups2.along !== "vector")
    refuse3("groups.along", groups2.along, "vector, when there are outlier bands");
  if (bits !== 4)
    refuse3("bits", bits, "4, when there are outlier bands: the dense slot is a nibble");
  if (quantizer2.codes !== "midRise" && quantizer2.codes !== "uniform") {
    refuse3(
      "quantizer",
      quantizer2,
      "symmetric midRise or asymmetric uniform, when there are outlier bands"
    );
  }
  for (const [name, type] of Object.entries(parameters))
    if (type !== "f16") refuse3(`parameters.${name}`, type, "f16, when there are outlier bands");
}
function checkCalibration({ calibration }, tensors, label) {
  const usesStatistics = tensors.some(takesStatistics);
  const needed = new Set(tensors.flatMap(calibratedValues));
  const measured = calibration.kind === "offline" ? calibration.values : [];
  for (const value of needed) {
    if (!measured.includes(value))
      refuseField(label, "calibration", calibration, `offline with ${[...needed].join(" and ")}`);
  }
  for (const value of measured) {
    if (!needed.has(value))
      refuseField(label, "calibration.values", measured, `no ${value}: nothing uses them`);
  }
  if (calibration.kind !== "offline" && usesStatistics !== (calibration.kind === "prefill")) {
    refuseField(
      label,
      "calibration.kind",
      calibration.kind,
      usesStatistics ? "prefill, because a transform takes statistics from the sequence" : "none or offline: no transform takes statistics from the sequence"
    );
  }
}
function takesStatistics({ transforms = [] }) {
  return transforms.some((step) => "statisticsTokens" in step);
}
function calibratedValues({ outliers: outliers2, transforms, quantizer: quantizer2 }) {
  const values = outliers2?.kind === "bands" ? ["thresholds"] : [];
  if (typeof quantizer2.codes === "object" && quantizer2.codes.levels === "calibrated")
    values.push("levels");
  for (const step of transforms ?? []) {
    if (isCalibrated(step)) values.push(CALIBRATED_BY[step.kind]);
  }
  return values;
}
function isCalibrated(step) {
  return "scope" in step && step.scope === "model";
}
function refuseField(label, field, value, valid) {
  throw new LowbitKvError("SCHEME_INVALID", {
    message: `${label}: ${field} does not fit the rest`,
    value,
    valid,
    next: "Correct the scheme.",
    where: { field }
  });
}

// packages/core/src/scheme-schema.ts
var count = int().min(0);
var positive3 = int().min(1);
var words = /^[a-z0-9]+(-[a-z0-9]+)*$/;
var groups = discriminatedUnion("along", [
  strictObject({ along: literal(["tokens", "channels"]), size: positive3 }),
  strictObject({ along: literal("vector"), scope: literal(["head", "allHeads"]) })
]);
var levelTable = strictObject({
  levels: union([array(number2()).min(2).max(256).readonly(), literal("calibrated")]),
  scaledBy: literal(["absoluteMaximum", "rootMeanSquare", "none"])
});
var quantizer = discriminatedUnion("mode", [
  strictObject({
    mode: literal("asymmetric"),
    codes: union([literal("uniform"), levelTable])
  }),
  strictObject({
    mode: literal("symmetric"),
    codes: union([literal(["signmag", "full", "fullSigned", "midRise"]), levelTable])
  }),
  strictObject({
    mode: literal("hybrid"),
    codes: literal(["signmag", "full"]),
    asymmetricBits: int().min(1).max(8),
    norm: literal("l1"),
    tie: literal(["symmetric", "asymmetric"])
  }),
  strictObject({
    mode: literal("codec"),
    codes: string2().regex(words, "lower-case words joined by hyphens"),
    version: positive3,
    groupBytes: positive3
  })
]);
var parameterType = literal(["f16", "f32", "e4m3", "e8m0"]);
var share = number2().min(0).max(1);
var outliers = discriminatedUnion("kind", [
  strictObject({
    kind: literal("bands"),
    shares: strictObject({ outer: share, middle: share, inner: share }),
    groupShift: boolean2(),
    outlierBits: literal(5),
    storage: strictObject({
      format: literal(["coo64", "bitmap64"]),
      reserve: int().min(0).max(64)
    })
  }),
  strictObject({
    kind: literal("top"),
    count: positive3,
    storage: strictObject({ format: literal("list") })
  })
]);
var transform2 = discriminatedUnion("kind", [
  discriminatedUnion("scope", [
    strictObject({ kind: literal("tensorScale"), scope: literal("model") }),
    strictObject({
      kind: literal("tensorScale"),
      scope: literal("sequence"),
      statisticsTokens: positive3,
      largest: number2().positive()
    })
  ]),
  discriminatedUnion("scope", [
    strictObject({ kind: literal("channelScale"), scope: literal("model") }),
    strictObject({
      kind: literal("channelScale"),
      scope: literal("sequence"),
      statistic: literal("rootAbsoluteMaximum"),
      statisticsTokens: positive3,
      clamp: tuple([number2().positive(), number2().positive()]).readonly(),
      minimumSpread: number2().min(1)
    })
  ]),
  discriminatedUnion("scope", [
    strictObject({ kind: literal("channelMean"), scope: literal("model") }),
    strictObject({
      kind: literal("channelMean"),
      scope: literal("sequence"),
      statisticsTokens: positive3,
      minimumOffset: number2().min(0).optional()
    })
  ]),
  strictObject({ kind: literal("channelOrder"), scope: literal("model") }),
  strictObject({ kind: literal("hadamard"), seed: uint32().optional() })
]);
var quantizedTensor = strictObject({
  bits: literal([1, 2, 3, 4, 8]),
  groups,
  quantizer,
  parameters: strictObject({
    scale: parameterType.optional(),
    zero: literal(["f16", "f32"]).optional()
  }),
  window: strictObject({ recent: count, flush: positive3 }),
  outliers: outliers.optional(),
  transforms: array(transform2).readonly().optional(),
  stage: literal(["post-rope", "pre-rope"]).optional()
});
var tensor = discriminatedUnion("bits", [
  strictObject({ bits: literal(16) }),
  quantizedTensor
]);
var calibrationNeed = discriminatedUnion("kind", [
  strictObject({ kind: literal("none") }),
  strictObject({ kind: literal("prefill") }),
  strictObject({
    kind: literal("offline"),
    values: array(
      literal([
        "thresholds",
        "levels",
        "tensorFactor",
        "channelFactors",
        "channelMeans",
        "channelOrder"
      ])
    ).min(1).readonly()
  })
]);
var schemeData = strictObject({
  specVersion: literal(1),
  id: string2().max(64).regex(words, "lower-case words joined by hyphens"),
  title: string2().min(1),
  references: array(string2()).readonly().optional(),
  compat: string2().min(1).optional(),
  sinks: count,
  packing: literal(["before-attention", "after-attention"]),
  key: tensor,
  value: tensor,
  overrides: array(
    strictObject({
      layers: array(int()).min(1).readonly(),
      heads: array(count).min(1).readonly().optional(),
      key: tensor.optional(),
      value: tensor.optional()
    })
  ).readonly().optional(),
  calibration: calibrationNeed
});
var calibrationSchema = strictObject({
  specVersion: literal(1),
  scheme: string2(),
  provenance: record(string2(), string2()),
  layers: array(
    strictObject({
      key: tensorCalibration().optional(),
      value: tensorCalibration().optional()
    })
  ).readonly()
});
function tensorCalibration() {
  const perChannel = array(array(number2()).readonly()).readonly();
  return strictObject({
    thresholds: strictObject({
      outerLow: number2(),
      outerHigh: number2(),
      innerLow: number2(),
      innerHigh: number2()
    }).optional(),
    levels: array(number2()).readonly().optional(),
    tensorFactor: number2().optional(),
    channelFactors: perChannel.optional(),
    channelMeans: perChannel.optional(),
    channelOrder: perChannel.optional()
  });
}
function schemeDataOf(scheme) {
  if (typeof scheme !== "object" || scheme === null) {
    throw new LowbitKvError("SCHEME_INVALID", {
      message: "a scheme must be an object",
      value: scheme,
      valid: "an object that satisfies the Scheme interface",
      next: "Pass the scheme itself, not the module that exports it."
    });
  }
  const { calibrate, codecs: _, ...data } = scheme;
  if (data.specVersion !== 1) {
    throw new LowbitKvError("SPEC_VERSION_UNSUPPORTED", {
      message: `scheme ${formatValue(data.id)} has another specVersion`,
      value: data.specVersion,
      valid: [1],
      next: "Install the version of the scheme package that matches this core, or update core."
    });
  }
  if (calibrate !== void 0 && typeof calibrate !== "function") {
    throw new LowbitKvError("SCHEME_INVALID", {
      message: "calibrate must be a function",
      value: calibrate,
      valid: "(samples) => Promise<LayerCalibration[]>, or leave it out",
      next: "Correct the scheme."
    });
  }
  const label = typeof data.id === "string" ? `scheme ${JSON.stringify(data.id)}` : "scheme";
  const parsed = parseOrThrow(
    schemeData,
    data,
    "SCHEME_INVALID",
    label,
    "Correct the field; the contract is the type Scheme of @lowbit-kv/core."
  );
  const checked = parsed;
  checkSchemeRules(checked, label);
  return checked;
}
function parseCalibration(value) {
  return parseOrThrow(
    calibrationSchema,
    value,
    "CALIBRATION_INVALID",
    "calibration",
    "Make it again with the scheme it is for."
  );
}
function deepFreeze(value) {
  if (typeof value === "object" && value !== null && !Object.isFrozen(value)) {
    Object.freeze(value);
    for (const part of Object.values(value)) deepFreeze(part);
  }
  return value;
}

// packages/core/src/plan/calibrated-transforms.ts
var LARGEST = 2 ** 32;
var FACTORS = "numbers from 2^-32 to 2^32";
var MEANS = "numbers from -2^32 to 2^32";
function checkTransformValues(spec, values, shape, refuse3) {
  for (const needed of calibratedValues(spec)) {
    switch (needed) {
      case "tensorFactor":
        if (values.tensorFactor === void 0 || !isFactor(values.tensorFactor))
          refuse3("tensorFactor is missing or out of range", values.tensorFactor, FACTORS);
        break;
      case "channelFactors":
        checkChannels(needed, values[needed], shape, isFactor, FACTORS, refuse3);
        break;
      case "channelMeans":
        checkChannels(needed, values[needed], shape, isMean, MEANS, refuse3);
        break;
      case "channelOrder":
        checkOrder(values[needed], shape, refuse3);
    }
  }
}
function isFactor(value) {
  return 1 / LARGEST <= value && value <= LARGEST;
}
function isMean(value) {
  return Math.abs(value) <= LARGEST;
}
function checkChannels(name, values, { kvHeads, headDim }, isValid, valid, refuse3) {
  if (values?.length !== kvHeads)
    refuse3(
      `${name} have another number of heads`,
      values?.length,
      `${kvHeads} lists, one per head`
    );
  for (const [head, channels] of (values ?? []).entries()) {
    if (channels.length !== headDim)
      refuse3(`${name} have another head dim`, channels.length, `${headDim} numbers`, { head });
    const channel = channels.findIndex((value) => !isValid(value));
    if (channel >= 0)
      refuse3(`${name} are out of range`, channels[channel], valid, { head, channel });
  }
}
function checkOrder(order, shape, refuse3) {
  const valid = `each of 0 to ${shape.headDim - 1} once`;
  const isChannel = (value) => Number.isInteger(value) && 0 <= value && value < shape.headDim;
  checkChannels("channelOrder", order, shape, isChannel, valid, refuse3);
  for (const [head, channels] of order.entries()) {
    const channel = channels.findIndex((value, i) => channels.indexOf(value) !== i);
    if (channel >= 0)
      refuse3("channelOrder is no permutation", channels[channel], valid, { head, channel });
  }
}

// packages/core/src/plan/calibration.ts
function resolveCalibration(scheme, given, target) {
  if (scheme.calibration.kind !== "offline") {
    if (given === void 0) return null;
    throw new LowbitKvError("CALIBRATION_INVALID", {
      message: `scheme ${JSON.stringify(scheme.id)} takes no calibration`,
      value: scheme.calibration.kind,
      valid: "no calibration option",
      next: "Leave `calibration` out, or plan the scheme it was made for."
    });
  }
  if (given === void 0) {
    throw new LowbitKvError("CALIBRATION_MISSING", {
      message: `scheme ${JSON.stringify(scheme.id)} needs offline calibration`,
      value: void 0,
      valid: `a Calibration with ${scheme.calibration.values.join(" and ")} for every layer`,
      next: "Make one with the `calibrate` function of the scheme and pass it as `calibration`."
    });
  }
  const calibration = structuredClone(parseCalibration(given));
  const layers = target.geometry.length;
  if (calibration.scheme !== target.fingerprint)
    refuse("the calibration was made for another scheme", calibration.scheme, target.fingerprint);
  if (calibration.layers.length !== layers)
    refuse(
      "the calibration has another number of layers",
      calibration.layers.length,
      `${layers} layers`
    );
  for (const [layer, values] of calibration.layers.entries()) {
    for (const [tensor3, spec] of tensorsOf2(target.units[layer] ?? [])) {
      const refuseHere = (part, value, valid, at = {}) => refuse(`${tensor3} ${part}`, value, valid, { layer, tensor: tensor3, ...at });
      if (spec.outliers?.kind === "bands") checkThresholds(values[tensor3]?.thresholds, refuseHere);
      const table = calibratedTable(spec);
      if (table !== null) checkLevels2(values[tensor3]?.levels, table, spec, refuseHere);
      const { kvHeads, keyHeadDim, valueHeadDim } = target.geometry[layer];
      const headDim = tensor3 === "key" ? keyHeadDim : valueHeadDim;
      checkTransformValues(spec, values[tensor3] ?? {}, { kvHeads, headDim }, refuseHere);
    }
  }
  return calibration;
}
function tensorsOf2(units) {
  return units.flatMap(
    (unit) => ["key", "value"].flatMap((tensor3) => {
      const spec = unit[tensor3];
      return spec.bits === 16 ? [] : [[tensor3, spec]];
    })
  );
}
function checkThresholds(bands, refuseHere) {
  if (bands === void 0) refuseHere("thresholds are missing", bands, "four thresholds");
  const { outerLow, innerLow, innerHigh, outerHigh } = bands;
  if (!(outerLow <= innerLow && innerLow <= innerHigh && innerHigh <= outerHigh))
    refuseHere(
      "thresholds are out of order",
      bands,
      "outerLow <= innerLow <= innerHigh <= outerHigh"
    );
  if (Object.values(bands).some((edge) => roundToF16(edge) !== edge))
    refuseHere("thresholds are not f16 values", bands, "f16 values");
}
function calibratedTable(spec) {
  const { codes } = spec.quantizer;
  return typeof codes === "object" && codes.levels === "calibrated" ? codes : null;
}
function checkLevels2(levels, table, spec, refuseHere) {
  if (levels === void 0) refuseHere("levels are missing", levels, "the levels of its codes");
  const fault = levelsFault(levels, table, spec);
  if (fault !== null) refuseHere("levels are out of range", fault.value, fault.valid);
}
function withCalibratedLevels(spec, calibration) {
  const table = spec.bits === 16 ? null : calibratedTable(spec);
  if (spec.bits === 16 || table === null || calibration?.levels === void 0) return spec;
  const codes = { ...table, levels: calibration.levels };
  return { ...spec, quantizer: { ...spec.quantizer, codes } };
}
function refuse(message, value, valid, where) {
  throw new LowbitKvError("CALIBRATION_INVALID", {
    message,
    value,
    valid,
    next: "Calibrate again for this scheme and model.",
    ...where === void 0 ? {} : { where: { ...where } }
  });
}

// packages/core/src/plan/units.ts
function unitsOfLayers(scheme, geometry) {
  const overrides = (scheme.overrides ?? []).map((override) => ({
    ...override,
    layers: override.layers.map((number3) => layerNumber(number3, geometry.length))
  }));
  const texts = /* @__PURE__ */ new Map();
  const textOf2 = (spec) => {
    const text = texts.get(spec) ?? canonicalJson(spec);
    texts.set(spec, text);
    return text;
  };
  return geometry.map(({ kvHeads }, layer) => {
    const here = overrides.filter(({ layers }) => layers.includes(layer));
    const units = /* @__PURE__ */ new Map();
    for (let head = 0; head < kvHeads; head++) {
      let { key, value } = scheme;
      for (const override of here) {
        if (override.heads !== void 0 && !override.heads.includes(head)) continue;
        key = override.key ?? key;
        value = override.value ?? value;
      }
      const identity = `${textOf2(key)} ${textOf2(value)}`;
      const unit = units.get(identity);
      if (unit === void 0) units.set(identity, { heads: [head], key, value });
      else unit.heads.push(head);
    }
    for (const { heads = [] } of here) checkHeads(heads, kvHeads, layer);
    const list = [...units.values()];
    if (list.length > 1) checkApart(list, layer);
    return list;
  });
}
function checkHeads(heads, kvHeads, layer) {
  const missing = heads.find((head) => head >= kvHeads);
  if (missing === void 0) return;
  throw new LowbitKvError("GEOMETRY_INVALID", {
    message: "an override names a kv head that the layer does not have",
    value: missing,
    valid: `0 to ${kvHeads - 1}`,
    next: "Correct the override.",
    where: { layer }
  });
}
function checkApart(units, layer) {
  const refuse3 = (tensor3, what, { heads }, valid) => {
    throw new LowbitKvError("PLAN_REFUSED", {
      message: `a layer with overrides of single heads cannot ${what}`,
      value: heads,
      valid,
      next: "Override the whole layer, or choose a scheme for it that keeps heads apart.",
      where: { tensor: tensor3, layer }
    });
  };
  for (const unit of units) {
    for (const tensor3 of ["key", "value"]) {
      const spec = unit[tensor3];
      const shared = spec.bits === 16 ? void 0 : sharedByAllHeads(spec);
      if (shared !== void 0)
        refuse3(
          tensor3,
          `share ${shared} over all heads`,
          unit,
          "groups of one head, and no tensor scale measured on the sequence"
        );
    }
    if (stageOf(unit.key) !== stageOf(units[0].key))
      refuse3("key", "take keys of two stages", unit, "one stage for the keys of all heads");
  }
}
function stageOf(key) {
  return key.bits === 16 ? "post-rope" : key.stage ?? "post-rope";
}
function sharedByAllHeads({ groups: groups2, transforms = [] }) {
  if (groups2.along === "vector" && groups2.scope === "allHeads") return "parameters";
  const scaled = transforms.some(
    (step) => step.kind === "tensorScale" && step.scope === "sequence"
  );
  return scaled ? "a tensor scale" : void 0;
}
function calibrationOfHeads(values, heads) {
  const pick2 = (list) => heads.map((head) => list[head]);
  const { channelFactors, channelMeans, channelOrder } = values;
  return {
    ...values,
    ...channelFactors === void 0 ? {} : { channelFactors: pick2(channelFactors) },
    ...channelMeans === void 0 ? {} : { channelMeans: pick2(channelMeans) },
    ...channelOrder === void 0 ? {} : { channelOrder: pick2(channelOrder) }
  };
}

// packages/core/src/plan/plan.ts
var WINDOW_PAGE_TOKENS = 32;
var DEFAULT_BLOCK_TOKENS = 128;
var SLIDING_BLOCK_TOKENS = 32;
function createPlan(scheme, geometry, options = {}) {
  const data = structuredClone(schemeDataOf(scheme));
  checkOptions("createPlan", options, ["calibration", "codecs", "blockTokens"]);
  if (options.blockTokens !== void 0) checkCount("blockTokens", options.blockTokens, 1);
  const layerGeometry = resolveGeometry(geometry);
  const codecs = checkedCodecs(scheme.codecs, options.codecs);
  const units = unitsOfLayers(data, layerGeometry);
  const calibration = resolveCalibration(data, options.calibration, {
    fingerprint: schemeFingerprint(data),
    geometry: layerGeometry,
    units
  });
  const classes = [];
  const planTensor = (tensor3, layer, unit) => {
    const shape = layerGeometry[layer];
    const heads = unit.heads.length;
    const calibrated = calibration?.layers[layer]?.[tensor3];
    const spec = withCalibratedLevels(unit[tensor3], calibrated);
    const headDim = tensor3 === "key" ? shape.keyHeadDim : shape.valueHeadDim;
    const pageClass = classOf(data, tensor3, spec, shape, options.blockTokens);
    const identity2 = JSON.stringify(pageClass);
    let index = classes.findIndex((entry) => entry.key === identity2);
    if (index < 0) index = classes.push({ key: identity2, value: { ...pageClass, layers: [] } }) - 1;
    const members2 = classes[index]?.value.layers;
    if (members2.at(-1) !== layer) members2.push(layer);
    const layout = spec.bits === 16 ? null : layoutBlock(spec, { heads, headDim, blockTokens: pageClass.blockTokens, tensor: tensor3 });
    const codec = spec.bits === 16 || layout === null ? void 0 : codecOf(spec, layout.tokensPerGroup * layout.channelsPerGroup, codecs, {
      tensor: tensor3,
      layer
    });
    return {
      tensor: tensor3,
      heads,
      ...heads < shape.kvHeads ? { headNumbers: unit.heads } : {},
      headDim,
      class: index,
      scheme: spec,
      layout,
      calibration: calibrated === void 0 ? null : calibrationOfHeads(calibrated, unit.heads),
      ...codec === void 0 ? {} : { codec },
      windowPageBytes: heads * WINDOW_PAGE_TOKENS * headDim * 2,
      statisticsPageBytes: measuredTransforms(spec) * heads * headDim * 2
    };
  };
  const layers = layerGeometry.flatMap(
    (shape, layer) => units[layer].map((unit) => {
      const key = planTensor("key", layer, unit);
      const rotary2 = rotaryOf(key.scheme, shape, layer);
      return {
        layer,
        heads: unit.heads,
        geometry: { ...geometryOfHeads(shape, unit.heads.length), rotary: rotary2 },
        key,
        value: planTensor("value", layer, unit)
      };
    })
  );
  for (const { layer, key, value } of layers) {
    checkSizes(key, layer);
    checkSizes(value, layer);
  }
  const body = {
    planVersion: 1,
    scheme: data,
    layers,
    classes: classes.map((entry) => entry.value),
    calibration
  };
  const identity = {
    ...body,
    scheme: meaningOf(data),
    // The heads of a whole layer are no news (those of a unit its tensors name), and plans without an embedding keep the
    // fingerprints they had before there was one.
    layers: layers.map(({ heads, ...layer }) => ({
      ...layer,
      geometry: { ...layer.geometry, rotary: layer.geometry.rotary ?? void 0 }
    }))
  };
  return deepFreeze({ ...body, fingerprint: fingerprint(identity) });
}
function geometryOfHeads(shape, kvHeads) {
  return { ...shape, kvHeads, queryHeads: shape.queryHeads / shape.kvHeads * kvHeads };
}
function rotaryOf(key, { rotary: rotary2 }, layer) {
  if (key.bits === 16 || key.stage !== "pre-rope") return null;
  if (rotary2 !== null) return rotary2;
  throw new LowbitKvError("GEOMETRY_INVALID", {
    message: "keys cached before the rotary embedding need to know the embedding",
    value: rotary2,
    valid: "`rotary` with its pairs and its base or frequencies",
    next: "Add `rotary` to the geometry, or use a scheme that caches keys after the rotary embedding.",
    where: { layer, field: "rotary" }
  });
}
function checkSizes({ tensor: tensor3, layout, windowPageBytes }, layer) {
  const largest = Math.max(layout?.pageBytes ?? 0, windowPageBytes);
  if (Number.isSafeInteger(largest)) return;
  throw new LowbitKvError("SHAPE_UNSUPPORTED", {
    message: "a page is too large to count its bytes",
    value: largest,
    valid: `at most ${Number.MAX_SAFE_INTEGER} bytes`,
    next: "Use fewer tokens per block, or correct the geometry.",
    where: { tensor: tensor3, layer }
  });
}
function schemeFingerprint(scheme) {
  return fingerprint(meaningOf(schemeDataOf(scheme)));
}
function meaningOf(scheme) {
  const { id, title, references, ...meaning } = scheme;
  return meaning;
}
function classOf(scheme, tensor3, spec, shape, blockOption) {
  const base = {
    tensor: tensor3,
    sinks: scheme.sinks,
    packing: scheme.packing,
    slidingWindow: shape.slidingWindow
  };
  if (spec.bits === 16) {
    return {
      ...base,
      sinks: 0,
      recent: 0,
      flush: 0,
      blockTokens: 0,
      tokensPerGroup: 1,
      statisticsTokens: 0
    };
  }
  refuseUnplanned(spec);
  const { recent, flush } = spec.window;
  const wanted = blockOption ?? (shape.slidingWindow === null ? DEFAULT_BLOCK_TOKENS : SLIDING_BLOCK_TOKENS);
  return {
    ...base,
    recent,
    flush,
    blockTokens: Math.ceil(wanted / flush) * flush,
    tokensPerGroup: spec.groups.along === "tokens" ? spec.groups.size : 1,
    statisticsTokens: statisticsTokens(spec, shape)
  };
}
function measuredTransforms(spec) {
  if (spec.bits === 16) return 0;
  return (spec.transforms ?? []).filter((step) => "statisticsTokens" in step).length;
}
function statisticsTokens(spec, shape) {
  const wanted = (spec.transforms ?? []).map(
    (step) => "statisticsTokens" in step ? step.statisticsTokens : 0
  );
  return Math.min(Math.max(0, ...wanted), shape.slidingWindow?.size ?? Number.POSITIVE_INFINITY);
}
function refuseUnplanned(spec) {
  const format = spec.outliers?.storage.format;
  if (format !== "bitmap64") return;
  throw new LowbitKvError("PLAN_REFUSED", {
    message: "this outlier storage has no block layout yet",
    value: format,
    valid: ["coo64"],
    next: "Use outlier bands stored as coo64, or leave `outliers` out."
  });
}

// packages/core/src/tensor.ts
function isHostTensor(tensor3) {
  return "data" in tensor3;
}

// packages/backend-webgpu/src/device/buffer-pool.ts
var SMALLEST = 256;
var BufferPool = class {
  #device;
  #label;
  #usage;
  #free = /* @__PURE__ */ new Map();
  constructor(device2, label, usage) {
    this.#device = device2;
    this.#label = label;
    this.#usage = usage;
  }
  /** A buffer of at least so many bytes; its contents are what the last user left. */
  take(bytes) {
    const size = 2 ** Math.ceil(Math.log2(Math.max(SMALLEST, bytes)));
    return this.#list(size).pop() ?? this.#device.createBuffer({ label: this.#label, size, usage: this.#usage });
  }
  give(buffer) {
    this.#list(buffer.size).push(buffer);
  }
  dispose() {
    for (const buffers of this.#free.values()) for (const buffer of buffers) buffer.destroy();
    this.#free.clear();
  }
  #list(size) {
    let list = this.#free.get(size);
    if (list === void 0) {
      list = [];
      this.#free.set(size, list);
    }
    return list;
  }
};

// packages/backend-webgpu/src/device/growing-buffer.ts
var GrowingBuffer = class {
  #device;
  #recorder;
  #label;
  #buffer = null;
  constructor(device2, recorder2, label) {
    this.#device = device2;
    this.#recorder = recorder2;
    this.#label = label;
  }
  atLeast(bytes) {
    const old = this.#buffer;
    if (old !== null && old.size >= bytes) return old;
    if (old !== null) {
      this.#recorder.whenSubmitted(() => {
        this.#recorder.release(old);
        old.destroy();
      });
    }
    this.#buffer = this.#device.createBuffer({
      label: this.#label,
      size: 2 ** Math.ceil(Math.log2(Math.max(4096, bytes))),
      usage: 128
      // STORAGE
    });
    return this.#buffer;
  }
  dispose() {
    this.#buffer?.destroy();
    this.#buffer = null;
  }
};

// packages/backend-webgpu/src/device/pipelines.ts
var JOB_BYTES = 16;
var Pipelines = class {
  #device;
  #kernels = /* @__PURE__ */ new Map();
  #layouts = /* @__PURE__ */ new Map();
  #modules = /* @__PURE__ */ new Map();
  constructor(device2) {
    this.#device = device2;
  }
  kernel(program2) {
    const key = `${program2.entryPoint}
${program2.code}`;
    let kernel = this.#kernels.get(key);
    if (kernel === void 0) {
      kernel = this.#create(program2);
      this.#kernels.set(key, kernel);
    }
    return kernel;
  }
  async #create({ name, code, entryPoint, bindings }) {
    const layout = this.#layout(bindings);
    let module = this.#modules.get(code);
    if (module === void 0) {
      module = this.#device.createShaderModule({ label: name, code });
      this.#modules.set(code, module);
    }
    try {
      const pipeline = await this.#device.createComputePipelineAsync({
        label: name,
        layout: this.#device.createPipelineLayout({ bindGroupLayouts: [layout] }),
        compute: { module, entryPoint }
      });
      return { pipeline, layout };
    } catch (cause) {
      throw new Error(`shader ${name}: ${await messagesOf(module)}`, { cause });
    }
  }
  #layout(bindings) {
    const key = bindings.join();
    let layout = this.#layouts.get(key);
    if (layout === void 0) {
      const buffer = (type, binding) => ({
        binding,
        visibility: 4,
        // GPUShaderStage.COMPUTE
        buffer: {
          type,
          ...type === "uniform" && { hasDynamicOffset: true, minBindingSize: JOB_BYTES }
        }
      });
      layout = this.#device.createBindGroupLayout({
        entries: [
          buffer("uniform", 0),
          buffer("read-only-storage", 1),
          ...bindings.map(
            (access, i) => buffer(access === "read" ? "read-only-storage" : "storage", i + 2)
          )
        ]
      });
      this.#layouts.set(key, layout);
    }
    return layout;
  }
};
async function messagesOf(module) {
  const { messages } = await module.getCompilationInfo();
  const lines = messages.map(({ lineNum, linePos, message }) => `${lineNum}:${linePos} ${message}`);
  return lines.join("; ") || "the pipeline cannot be made";
}

// packages/backend-webgpu/src/device/recorder.ts
var JOB_STRIDE = 256;
var JOBS = 1024;
var COMMAND_WORDS = 1 << 18;
var MOST_BIND_GROUPS = 4096;
var LONGEST_X = 32768;
var Submission = class {
  #checks = Promise.resolve(null);
  /** The first error the device found in it so far. */
  error() {
    return this.#checks;
  }
  /** @internal */
  add(check) {
    const before = this.#checks;
    this.#checks = before.then(async (error2) => error2 ?? await check);
  }
};
var Recorder = class {
  #device;
  #own;
  #free = [];
  #ring;
  #encoder = null;
  #pass = null;
  /** The recording whose function runs. */
  #recording = null;
  /** Recordings that the caller has not submitted yet, in order. */
  #unsubmitted = [];
  #bindGroups = /* @__PURE__ */ new Map();
  #ids = /* @__PURE__ */ new WeakMap();
  #nextId = 0;
  #submission = new Submission();
  /** Where the job that is being recorded keeps the submissions it is part of. */
  #job = null;
  constructor(device2) {
    this.#device = device2;
    this.#own = this.#newRing();
    this.#ring = this.#own;
  }
  /** The recording whose function runs, if any. */
  get recording() {
    return this.#recording;
  }
  /** Records a job; the submissions that it becomes part of are added to `submissions`. */
  job(submissions, work) {
    this.#job = submissions;
    try {
      return work();
    } finally {
      this.#job = null;
    }
  }
  /**
   * Everything that `work` records goes into `encoder`, in passes of its own. When `work` throws, the encoder cannot be
   * submitted any more.
   */
  record(encoder, work) {
    if (this.#recording !== null) {
      throw new LowbitKvError("STEP_STATE", {
        message: "a recording is open already",
        value: "record() inside record()",
        valid: "one recording at a time",
        next: "Let the function of the first end before the next begins."
      });
    }
    this.submit();
    const recording = {
      rings: [],
      after: [],
      submitted: () => this.#submitted(recording)
    };
    this.#recording = recording;
    this.#submission = new Submission();
    this.#encoder = encoder;
    this.#ring = this.#free.pop() ?? this.#newRing();
    try {
      work();
      this.#unsubmitted.push(recording);
    } catch (error2) {
      recording.after.push(() => {
        for (const ring of recording.rings) this.#destroy(ring);
      });
      throw error2;
    } finally {
      this.#endPass();
      this.#closeRing(recording);
      this.#ring = this.#own;
      this.#encoder = null;
      this.#recording = null;
      this.#submission = new Submission();
      if (!this.#unsubmitted.includes(recording)) for (const action of recording.after) action();
    }
    return recording;
  }
  /** Makes rings for so many recordings that are open at once. */
  prepare(recordings) {
    while (this.#free.length < recordings) this.#free.push(this.#newRing());
  }
  /** Runs when everything recorded so far is submitted. */
  whenSubmitted(action) {
    const last = this.#recording ?? this.#unsubmitted.at(-1);
    if (last !== void 0) last.after.push(action);
    else {
      this.submit();
      action();
    }
  }
  /**
   * Makes room for a job of so many dispatches and table words. Indices that `table` gave before may be void then, so call
   * it before the first `table` of a job.
   */
  reserve(dispatches, words2) {
    if (this.#ring.jobCount + dispatches > JOBS || this.#ring.commandCount + words2 > this.#ring.commandWords.length) {
      if (this.#recording === null) this.submit();
      else {
        this.#closeRing(this.#recording);
        this.#ring = this.#free.pop() ?? this.#newRing();
      }
    }
    const ring = this.#ring;
    if (words2 <= ring.commandWords.length) return;
    const size = 2 ** Math.ceil(Math.log2(words2));
    this.release(ring.commands);
    ring.commands.destroy();
    ring.commandWords = new Uint32Array(size);
    ring.commands = this.#commandBuffer(size);
  }
  /** Puts words into the commands; returns the index of the first. */
  table(words2) {
    const ring = this.#ring;
    const first = ring.commandCount;
    ring.commandWords.set(words2, first);
    ring.commandCount += words2.length;
    return first;
  }
  dispatch({ kernel, buffers, table, entries = 0, first = 0, groups: groups2 }) {
    if (groups2.includes(0)) return;
    this.#job?.add(this.#submission);
    const ring = this.#ring;
    const at = ring.jobCount++ * (JOB_STRIDE / 4);
    ring.jobWords.set([table, entries, 0, first], at);
    const pass = this.#computePass();
    pass.setPipeline(kernel.pipeline);
    pass.setBindGroup(0, this.#bindGroup(kernel, buffers), [at * 4]);
    pass.dispatchWorkgroups(...groups2);
  }
  /** Submits what is recorded in its own encoder; nothing while a caller's encoder is recorded into. */
  submit() {
    if (this.#recording !== null || this.#encoder === null) return;
    this.#endPass();
    this.#writeRing(this.#own);
    const encoder = this.#encoder;
    this.#encoder = null;
    this.#checked(() => this.#device.queue.submit([encoder.finish()]));
    this.#submission = new Submission();
  }
  /** Forgets bind groups of a buffer that is about to be destroyed. */
  release(buffer) {
    const id = String(this.#idOf(buffer));
    for (const key of this.#bindGroups.keys())
      if (key.split(",").some((part) => part.split("+")[0] === id)) this.#bindGroups.delete(key);
  }
  /** Opens a pass that writes the time of its begin and end to two queries. */
  timedPass(querySet, first) {
    this.#endPass();
    this.#pass = this.#openEncoder().beginComputePass({
      timestampWrites: {
        querySet,
        beginningOfPassWriteIndex: first,
        endOfPassWriteIndex: first + 1
      }
    });
  }
  dispose() {
    this.#encoder = null;
    this.#pass = null;
    this.#bindGroups.clear();
    for (const ring of [this.#own, ...this.#free, ...this.#unsubmitted.flatMap((r) => r.rings)])
      this.#destroy(ring);
    this.#free.length = 0;
    this.#unsubmitted.length = 0;
  }
  #destroy({ jobs, commands }) {
    for (const buffer of [jobs, commands]) {
      this.release(buffer);
      buffer.destroy();
    }
  }
  #submitted(recording) {
    const at = this.#unsubmitted.indexOf(recording);
    if (at < 0) return;
    this.#unsubmitted.splice(at, 1);
    this.#free.push(...recording.rings);
    for (const action of recording.after) action();
  }
  #closeRing(recording) {
    this.#writeRing(this.#ring);
    recording.rings.push(this.#ring);
  }
  #writeRing(ring) {
    const { queue } = this.#device;
    if (ring.jobCount > 0)
      queue.writeBuffer(ring.jobs, 0, ring.jobWords, 0, ring.jobCount * JOB_STRIDE / 4);
    if (ring.commandCount > 0)
      queue.writeBuffer(ring.commands, 0, ring.commandWords, 0, ring.commandCount);
    ring.jobCount = 0;
    ring.commandCount = 0;
  }
  #newRing() {
    return {
      jobs: this.#device.createBuffer({
        label: "lowbit-kv jobs",
        size: JOBS * JOB_STRIDE,
        usage: 72
        // UNIFORM | COPY_DST
      }),
      jobWords: new Uint32Array(JOBS * JOB_STRIDE / 4),
      commands: this.#commandBuffer(COMMAND_WORDS),
      commandWords: new Uint32Array(COMMAND_WORDS),
      jobCount: 0,
      commandCount: 0
    };
  }
  #commandBuffer(words2) {
    const usage = 136;
    return this.#device.createBuffer({ label: "lowbit-kv commands", size: words2 * 4, usage });
  }
  #bindGroup(kernel, buffers) {
    const { jobs, commands } = this.#ring;
    const bound = buffers.map(boundPart);
    const key = [
      ...[kernel.layout, jobs, commands].map((object) => this.#idOf(object)),
      ...bound.map(({ buffer, offset }) => `${this.#idOf(buffer)}+${offset}`)
    ].join();
    let group = this.#bindGroups.get(key);
    if (group === void 0) {
      this.#checked(() => {
        group = this.#device.createBindGroup({
          layout: kernel.layout,
          entries: [
            { binding: 0, resource: { buffer: jobs, size: JOB_BYTES } },
            { binding: 1, resource: { buffer: commands } },
            ...bound.map((resource, i) => ({ binding: i + 2, resource }))
          ]
        });
      });
      if (this.#bindGroups.size >= MOST_BIND_GROUPS) this.#bindGroups.clear();
      this.#bindGroups.set(key, group);
    }
    return group;
  }
  /** What the device says of `work` belongs to the submission. */
  #checked(work) {
    this.#device.pushErrorScope("validation");
    this.#device.pushErrorScope("out-of-memory");
    work();
    const found = Promise.all([this.#device.popErrorScope(), this.#device.popErrorScope()]);
    this.#submission.add(
      found.then(
        (errors) => errors.find((error2) => error2 !== null) ?? null,
        // Scopes of a lost device say nothing: `GpuContext.check` reports the loss.
        () => null
      )
    );
  }
  #idOf(object) {
    let id = this.#ids.get(object);
    if (id === void 0) {
      id = this.#nextId++;
      this.#ids.set(object, id);
    }
    return id;
  }
  #computePass() {
    this.#pass ??= this.#openEncoder().beginComputePass();
    return this.#pass;
  }
  #endPass() {
    this.#pass?.end();
    this.#pass = null;
  }
  #openEncoder() {
    this.#encoder ??= this.#device.createCommandEncoder();
    return this.#encoder;
  }
};
function boundPart(bound) {
  return "buffer" in bound ? bound : { buffer: bound, offset: 0 };
}

// packages/backend-webgpu/src/device/context.ts
var GpuContext = class {
  device;
  pipelines;
  recorder;
  /** Keys, values and queries on their way in. */
  inputs;
  results;
  staging;
  /** Rows that packing goes through. */
  scratch;
  prepared;
  partials;
  nothing;
  #lost = null;
  #disposed = false;
  constructor(device2) {
    this.device = device2;
    this.pipelines = new Pipelines(device2);
    this.recorder = new Recorder(device2);
    this.inputs = new BufferPool(device2, "lowbit-kv input", 136);
    this.results = new BufferPool(device2, "lowbit-kv result", 132);
    this.staging = new BufferPool(device2, "lowbit-kv read-back", 9);
    this.scratch = new GrowingBuffer(device2, this.recorder, "lowbit-kv scratch");
    this.prepared = new GrowingBuffer(device2, this.recorder, "lowbit-kv queries");
    this.partials = new GrowingBuffer(device2, this.recorder, "lowbit-kv partial results");
    this.nothing = device2.createBuffer({ label: "lowbit-kv nothing", size: 16, usage: 128 });
    void device2.lost.then((info) => {
      this.#lost = info;
    });
  }
  /** Throws BACKEND_FAILED when the device is gone. */
  check() {
    if (this.#lost === null && !this.#disposed) return;
    throw new LowbitKvError("BACKEND_FAILED", {
      message: this.#disposed ? "the backend was disposed" : "the GPU device was lost",
      value: this.#lost?.message || this.#lost?.reason,
      valid: "a device that works",
      next: "Request a new device, make a backend on it, and restore the cache from its last snapshot."
    });
  }
  /** Throws BACKEND_FAILED when the device is gone, or found an error in one of these submissions. */
  async checkErrors(submissions) {
    this.check();
    const errors = await Promise.all([...submissions].map((submission) => submission.error()));
    this.check();
    const error2 = errors.find((found) => found !== null);
    if (error2 === void 0) return;
    throw new LowbitKvError("BACKEND_FAILED", {
      message: "the GPU refused work",
      value: error2.message,
      valid: "buffers that live until their work is submitted, and memory for it",
      next: "Check that no buffer was destroyed or mapped too early; nothing of this step is stored, nor of steps that were submitted with it."
    });
  }
  /** Bytes of a buffer, once what is recorded has run. `ranges` are multiples of 4. */
  async read(buffer, ranges) {
    const total = ranges.reduce((sum, { size }) => sum + size, 0);
    if (total === 0) return new Uint8Array(0);
    this.check();
    this.recorder.submit();
    const staging = this.staging.take(total);
    const encoder = this.device.createCommandEncoder();
    let at = 0;
    for (const { offset, size } of ranges) {
      encoder.copyBufferToBuffer(buffer, offset, staging, at, size);
      at += size;
    }
    this.device.queue.submit([encoder.finish()]);
    try {
      await staging.mapAsync(1, 0, total);
      return new Uint8Array(staging.getMappedRange(0, total)).slice();
    } catch (cause) {
      this.check();
      throw new LowbitKvError("BACKEND_FAILED", {
        message: "results could not be read back",
        value: cause instanceof Error ? cause.message : cause,
        valid: "a device that works",
        next: "Look at the error of the device; request a new device if it is lost.",
        cause
      });
    } finally {
      staging.unmap();
      if (this.#disposed) staging.destroy();
      else this.staging.give(staging);
    }
  }
  dispose() {
    if (this.#disposed) return;
    this.#disposed = true;
    for (const part of [
      this.inputs,
      this.results,
      this.staging,
      this.scratch,
      this.prepared,
      this.partials,
      this.recorder
    ])
      part.dispose();
    this.nothing.destroy();
  }
};

// packages/backend-webgpu/src/gpu-tensor.ts
var BYTES = { f32: 4, f16: 2, bf16: 2 };
var STORAGE = 128;
function gpuTensor(buffer, { type, shape, offset = 0, strides }) {
  if (!(type in BYTES)) refuse2("unknown tensor type", type, Object.keys(BYTES));
  const sizes = [...shape];
  if (sizes.length < 2 || sizes.length > 4 || !sizes.every(isCount))
    refuse2("not a shape", shape, "[tokens, heads, headDim] or [batch, tokens, heads, headDim]");
  const steps = strides === void 0 ? denseStrides(sizes) : [...strides];
  if (steps.length !== sizes.length - 1 || !steps.every(isCount))
    refuse2("not strides", strides, `${sizes.length - 1} whole numbers of elements`);
  if (!isCount(offset)) refuse2("not an offset", offset, "a whole number of elements");
  if ((buffer.usage & STORAGE) === 0)
    refuse2(
      "the buffer cannot be bound",
      `usage 0x${buffer.usage.toString(16)}`,
      "GPUBufferUsage.STORAGE"
    );
  const isEmpty = sizes.includes(0);
  const last = sizes.reduce((sum, size, axis) => sum + (size - 1) * (steps[axis] ?? 1), offset);
  if (!isEmpty && (last + 1) * BYTES[type] > buffer.size) {
    refuse2(
      "the tensor ends behind its buffer",
      { bytes: (last + 1) * BYTES[type] },
      `at most ${buffer.size} bytes`
    );
  }
  const [batch, ...rest] = sizes.length === 4 ? sizes : [1, ...sizes];
  const [batchStride, ...inner] = sizes.length === 4 ? steps : [0, ...steps];
  const layout = {
    buffer,
    offset,
    tokensPerBatch: rest[0],
    batchStride,
    tokenStride: inner[0],
    headStride: inner[1] ?? 1,
    dense: steps.every((step, axis) => step === denseStrides(sizes)[axis])
  };
  const ragged = [batch * rest[0], ...rest.slice(1)];
  return { type, shape: ragged, device: "webgpu", handle: layout };
}
function layoutOf(tensor3) {
  const { device: device2, handle } = tensor3;
  if (device2 === "webgpu" && typeof handle === "object" && handle !== null && "tokenStride" in handle)
    return handle;
  return refuse2("a tensor of another device", device2, "what gpuTensor(buffer, ...) gives");
}
function bytesOf(type) {
  return BYTES[type];
}
function elementsIn(shape) {
  return shape.reduce((product, size) => product * size, 1);
}
function denseStrides(sizes) {
  const strides = [];
  let step = 1;
  for (let axis = sizes.length - 1; axis > 0; axis--) {
    step *= sizes[axis];
    strides.unshift(step);
  }
  return strides;
}
function isCount(value) {
  return Number.isSafeInteger(value) && value >= 0;
}
function refuse2(message, value, valid) {
  throw new LowbitKvError("TENSOR_INVALID", {
    message,
    value,
    valid,
    next: "Describe the buffer as it is: gpuTensor(buffer, { type, shape, offset, strides })."
  });
}

// packages/backend-webgpu/src/shaders/code-order.ts
var PAGE_TOKENS = 128;
var HEAD_DIM = 128;
var GROUP_SIZES = [32, 64, 128];
function codeOrder({ key, value }) {
  return isReducible(key) && isReducible(value) ? "reduction" : "canonical";
}
function wordsHoldSlots({ tensor: tensor3, layout }, order) {
  return order === "reduction" ? tensor3 === "value" : layout?.codes.rows === "channels";
}
function isReducible({ scheme, layout, headDim }) {
  if (layout === null || scheme.bits === 16 || headDim !== HEAD_DIM) return false;
  if (layout.blockTokens !== PAGE_TOKENS || ![2, 4, 8].includes(layout.bits)) return false;
  if (scheme.outliers !== void 0 || scheme.stage === "pre-rope") return false;
  if (Object.values(scheme.parameters).some((type) => type !== "f16")) return false;
  const { mode, codes } = scheme.quantizer;
  const linear = mode === "asymmetric" ? codes === "uniform" : mode === "symmetric";
  if (!linear || typeof codes === "object") return false;
  const size = layout.codes.rows === "channels" ? layout.tokensPerGroup : layout.channelsPerGroup;
  return GROUP_SIZES.includes(size);
}
function linearCodes({ scheme }) {
  if (scheme.bits === 16) throw new TypeError("an f16 tensor has no codes");
  if (scheme.quantizer.mode === "symmetric") return { flip: 0, slope: 1, offset: 0 };
  const half = 2 ** (scheme.bits - 1);
  return { flip: half, slope: 1, offset: half };
}

// packages/backend-webgpu/src/shaders/group-size.ts
function groupSize({ layout }) {
  return layout === null ? 0 : layout.tokensPerGroup * layout.channelsPerGroup;
}

// packages/backend-webgpu/src/shaders/tensor-numbers.ts
var ALIGNMENT = 256;
function tensorNumbers(plan, rotary2 = null) {
  const words2 = [];
  const put = (numbers) => {
    const first = words2.length;
    words2.push(...new Uint32Array(numbers.buffer, numbers.byteOffset, numbers.length));
    return first;
  };
  const transforms = transformsOf(plan).map((transform3) => placeOf(transform3, plan, put));
  const table = tableOf(plan);
  const levels = table === null ? new Float32Array(0) : levelsOf(table);
  const counts = table?.scaledBy === "rootMeanSquare" ? groupSize(plan) + 1 : 0;
  const places = {
    levels: put(levels),
    middles: put(middlesOf(levels)),
    shares: put(Float32Array.from({ length: counts }, (_, count2) => count2 === 0 ? 0 : 1 / count2)),
    edges: put(edgesOf(plan)),
    frequencies: put(frequencyWords(rotary2?.frequencies ?? []))
  };
  const size = Math.ceil(words2.length * 4 / ALIGNMENT) * (ALIGNMENT / 4);
  const aligned = new Uint32Array(size);
  aligned.set(words2);
  return { words: aligned, transforms, ...places };
}
function transformsOf({ scheme }) {
  return scheme.bits === 16 ? [] : scheme.transforms ?? [];
}
function tableOf({ scheme }) {
  if (scheme.bits === 16 || typeof scheme.quantizer.codes === "string") return null;
  return scheme.quantizer.codes;
}
function levelsOf(table) {
  return Float32Array.from(table.levels);
}
function middlesOf(levels) {
  return levels.subarray(1).map((level, i) => (levels[i] + level) / 2);
}
function edgesOf({ calibration }) {
  const edges = calibration?.thresholds;
  if (edges === void 0) return new Float32Array(0);
  return Float32Array.of(edges.outerLow, edges.innerLow, edges.innerHigh, edges.outerHigh);
}
function frequencyWords(frequencies) {
  return Uint32Array.from(
    frequencies.flatMap((frequency) => {
      const turns = frequency / (2 * Math.PI);
      const high = (turns - Math.floor(turns)) * 2 ** 32;
      return [Math.floor(high), (high - Math.floor(high)) * 2 ** 32];
    })
  );
}
function placeOf(transform3, { heads, headDim, calibration }, put) {
  if (!("scope" in transform3) || transform3.scope !== "model") return null;
  const same = (numbers) => {
    const first = put(numbers);
    return { packing: first, attention: first };
  };
  const scale = (factors) => ({
    packing: put(factors.map((factor) => 1 / factor)),
    attention: put(factors)
  });
  const channels = (values) => (values ?? []).flat();
  switch (transform3.kind) {
    case "tensorScale":
      return scale(new Float32Array(heads * headDim).fill(calibration?.tensorFactor));
    case "channelScale":
      return scale(Float32Array.from(channels(calibration?.channelFactors)));
    case "channelMean":
      return same(Float32Array.from(channels(calibration?.channelMeans)));
    case "channelOrder":
      return same(Uint32Array.from(channels(calibration?.channelOrder)));
  }
}

// packages/backend-webgpu/src/shaders/pack-tile.ts
var LANES = 128;
var LEAST_LANES = 32;
var WORKGROUP_BYTES = 12288;
var PATCH = 16;
function tileShape(plan, order) {
  for (let lanes = LANES; lanes >= LEAST_LANES; lanes /= 2) {
    const shape = shapeOf(plan, order, lanes);
    if (shape === null || workgroupBytes(plan, shape) <= WORKGROUP_BYTES) return shape;
  }
  return null;
}
function shapeOf(plan, order, lanes) {
  const { scheme, layout } = plan;
  if (layout === null || scheme.bits === 16 || !isPlain(plan, scheme)) return null;
  const downwards = wordsHoldSlots(plan, order);
  const { patchSlots, patchQuads } = patchOf(scheme.bits, downwards);
  const columns = plan.headDim / (4 * patchQuads);
  if (!Number.isInteger(columns) || patchSlots * patchQuads > 2 * PATCH) return null;
  if (layout.tokensPerGroup === 1) {
    if (columns > lanes || layout.channelsPerGroup % (4 * patchQuads) !== 0) return null;
    return { patchSlots, patchQuads, columns, rows: Math.floor(lanes / columns) };
  }
  const groupRows = layout.tokensPerGroup / patchSlots;
  if (!Number.isInteger(groupRows) || groupRows > lanes) return null;
  const narrowed = largestDivisor(columns, lanes / groupRows);
  const groups2 = Math.min(
    Math.floor(lanes / (groupRows * narrowed)),
    layout.blockTokens / layout.tokensPerGroup
  );
  return { patchSlots, patchQuads, columns: narrowed, rows: groupRows * groups2 };
}
function workgroupBytes(plan, { patchSlots, patchQuads, rows, columns }) {
  const { tokensPerGroup, channelsPerGroup } = plan.layout;
  const slots = rows * patchSlots;
  const channels = columns * patchQuads * 4;
  const measured = tokensPerGroup > 1 ? rows * channels : slots * (columns + 1);
  const entries = slots * channels / (tokensPerGroup * channelsPerGroup);
  return 8 * measured + 4 * slots + 24 * entries;
}
function patchOf(bits, downwards) {
  const codes = bits === 3 ? 32 : 32 / bits;
  if (downwards) return { patchSlots: Math.max(8, codes), patchQuads: 1 };
  const patchQuads = Math.max(2, codes / 4);
  return { patchSlots: Math.max(2, PATCH / patchQuads), patchQuads };
}
function largestDivisor(value, most) {
  let divisor = Math.min(value, Math.floor(most));
  while (value % divisor !== 0) divisor--;
  return divisor;
}
function isPlain(plan, { quantizer: quantizer2, parameters, ...scheme }) {
  const { mode, codes } = quantizer2;
  return [2, 3, 4, 8].includes(scheme.bits) && plan.codec === void 0 && scheme.outliers === void 0 && plan.layout.parametersShared === false && plan.headDim % 8 === 0 && Object.values(parameters).every((type) => type === "f16") && typeof codes === "string" && (mode === "asymmetric" || mode === "symmetric") && transformsOf(plan).length === 0;
}
function tileConstants({ patchSlots, patchQuads, rows, columns }, { quantizer: quantizer2 }) {
  return {
    PATCH_SLOTS: patchSlots,
    PATCH_QUADS: patchQuads,
    PATCH_ROWS: rows,
    PATCH_COLUMNS: columns,
    // Other codes reach both ends of their groups.
    LIMITED: quantizer2.codes === "full" || quantizer2.codes === "fullSigned"
  };
}
function tilePieces(plan, scheme, order) {
  const alongTokens = plan.layout.tokensPerGroup > 1;
  return [
    "pack-tile",
    "tile-halves",
    "tile-nearest",
    scheme.quantizer.mode === "asymmetric" ? "tile-range" : "tile-extreme",
    alongTokens ? "tile-tokens" : "tile-channels",
    order === "reduction" ? "code-places-reduction" : "code-places-canonical",
    wordsHoldSlots(plan, order) ? "words-down" : "words-across"
  ];
}

// packages/backend-webgpu/src/shaders/codec-text.ts
var GIVEN = ["GROUP_SIZE", "GROUP_BYTES", "GROUP_WORDS", "codecByte"];
var DECLARATION = /^\s*(?:@\w+(?:\([^)]*\))?\s*)*(?:fn|const|struct|alias|override|var(?:\s*<[^>]*>)?)\s+(\w+)/;
function codecText(codec, prefix, wordAt) {
  const { groupSize: groupSize2, groupBytes, wgsl = "" } = codec;
  const text = [
    `const GROUP_SIZE = ${groupSize2}u;`,
    `const GROUP_BYTES = ${groupBytes}u;`,
    `const GROUP_WORDS = ${Math.ceil(groupBytes / 4)}u;`,
    "fn codecByte(offset: u32) -> u32 {",
    "  let index = offset / 4u;",
    `  return extractBits(${wordAt}, offset % 4u * 8u, 8u);`,
    "}",
    withoutComments(wgsl)
  ].join("\n");
  return { text: renamed(text, [...GIVEN, ...declaredNames(withoutComments(wgsl))], prefix) };
}
function renamed(text, names, prefix) {
  const known = new Set(names);
  return text.replace(
    /(?<![\w.])[A-Za-z_]\w*/g,
    (name) => known.has(name) ? `${prefix}${name}` : name
  );
}
function declaredNames(text) {
  const names = [];
  let depth = 0;
  let statement = "";
  for (const character of text) {
    if (depth === 0) statement += character;
    if (character === "{") depth++;
    if (character === "}") depth--;
    if (depth > 0 || character !== ";" && character !== "}") continue;
    const name = DECLARATION.exec(statement)?.[1];
    if (name !== void 0) names.push(name);
    statement = "";
  }
  return names;
}
function withoutComments(text) {
  return text.replace(/\/\/[^\n]*|\/\*[\s\S]*?\*\//g, " ");
}

// packages/backend-webgpu/src/shaders/parts.generated.ts
var SHADER_PARTS = {
  "attention-dots": "// Logits with keys that meet the queries as they are stored: one token to a lane.\n\nfn tileLogits(segment: Segment, start: u32, tokens: u32, head: u32, statisticsPage: u32, lane: u32) {\n  if (lane >= tokens) {\n    return;\n  }\n  let transformed = KEY_TRANSFORMED && segment.key_source == SOURCE_PACKED;\n  let offset = select(0u, key_headDim, transformed);\n  let slot = segment.key_slot + start + lane;\n  var dots = vec4<f32>(0.0);\n  for (var channel = 0u; channel < key_headDim; channel += 1u) {\n    dots += query_tile[offset + channel] * key_element(segment.key_source, segment.key_page, head, slot, channel);\n  }\n  if (transformed) {\n    dots += query_tile[QUERY_WORDS - 1u];\n  }\n  tile_logits[lane] = logitsOf(dots);\n}\n",
  "attention-integer": `// The packing kernel on whole pages of 128 tokens, head dim 128: codes stay in the words they are stored in and meet 8-bit
// parts of queries and of probabilities in dot4I8Packed. One workgroup: the segments of one split of one sequence, one kv
// head, four query rows.
//
// Keys: a lane owns four tokens of the page. Values: a lane owns four channels. Scales along the reduction are folded into
// the query (keys) or the probabilities (values), once per page and group ("outer"); scales across it multiply sums of
// dot products ("inner"). docs/kernels-webgpu.md.

const LANES = 32u;
const PAGE = 128u;
const DIM = 128u;
const LOG2_E = 1.44269504088896340736f;
const LN_2 = 0.69314718055994530942f;

@group(0) @binding(2) var<storage, read> key_memory: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read> value_memory: array<vec4<u32>>;
@group(0) @binding(4) var<storage, read> inputs: array<u32>;
@group(0) @binding(5) var<storage, read> queries: array<f32>;
@group(0) @binding(6) var<storage, read_write> partials: array<f32>;

// Parts of the folded query by [part and set, lane]: four channels of the lane in a word, four rows in a vector. A set is a
// vector longer than it must be: lanes that read the same place of different sets meet different banks.
var<workgroup> key_parts: array<array<vec4<u32>, LANES + 1u>, PARTS * KEY_SETS>;
// Parts of the folded probabilities by [part and set, lane]: four tokens of the lane in a word.
var<workgroup> value_parts: array<array<vec4<u32>, LANES + 1u>, PARTS * VALUE_SETS>;
// By token of the tile, and one for tokens outside.
var<workgroup> weights: array<vec4<f32>, PAGE + 1u>;
// Queries as they came, by channel, for tokens in f16.
var<workgroup> plain_query: array<vec4<f32>, DIM>;
// Queries as packed keys meet them, where that is something else.
const PACKED_DIM = select(1u, DIM, KEY_TRANSFORMED);
var<workgroup> packed_query: array<vec4<f32>, PACKED_DIM>;

struct Rows {
  a: vec4<f32>,
  b: vec4<f32>,
  c: vec4<f32>,
  d: vec4<f32>,
}

fn transposed(rows: Rows) -> Rows {
  return Rows(
    vec4<f32>(rows.a.x, rows.b.x, rows.c.x, rows.d.x),
    vec4<f32>(rows.a.y, rows.b.y, rows.c.y, rows.d.y),
    vec4<f32>(rows.a.z, rows.b.z, rows.c.z, rows.d.z),
    vec4<f32>(rows.a.w, rows.b.w, rows.c.w, rows.d.w),
  );
}

// One word of codes against the words of four rows.
fn dots(word: u32, parts: vec4<u32>) -> vec4<i32> {
  return vec4<i32>(
    dot4I8Packed(word, parts.x), dot4I8Packed(word, parts.y), dot4I8Packed(word, parts.z), dot4I8Packed(word, parts.w),
  );
}

fn largestOf(v: vec4<f32>) -> f32 {
  let w = abs(v);
  return max(max(w.x, w.y), max(w.z, w.w));
}

// Number \`which\` of the four f16 pairs: four halves that begin on an 8-byte boundary.
fn fourHalves(words: vec4<u32>, upper: bool) -> vec4<f32> {
  let pair = select(words.xy, words.zw, upper);
  return vec4<f32>(unpack2x16float(pair.x), unpack2x16float(pair.y));
}

// A logit to base 2: the scale is in the query already.
fn capped(dot: vec4<f32>) -> vec4<f32> {
  if (SOFT_CAP > 0.0) {
    return SOFT_CAP * LOG2_E * tanh(dot / SOFT_CAP);
  }
  return dot * LOG2_E;
}

@compute @workgroup_size(LANES)
fn attend(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let work = workOf(group);
  if (work.firstRow >= work.rows) {
    return;
  }
  let head = work.head;
  let known = work.known;
  let position = work.position;
  let query = work.query;

  for (var channel = lane; channel < DIM; channel += LANES) {
    plain_query[channel] = LOGIT_SCALE * vec4<f32>(
      queries[query.x + channel], queries[query.y + channel], queries[query.z + channel], queries[query.w + channel],
    );
    if (KEY_TRANSFORMED) {
      packed_query[min(channel, PACKED_DIM - 1u)] = LOGIT_SCALE * vec4<f32>(
        queries[query.x + DIM + channel], queries[query.y + DIM + channel],
        queries[query.z + DIM + channel], queries[query.w + DIM + channel],
      );
    }
  }
  var added = vec4<f32>(0.0);
  if (KEY_TRANSFORMED) {
    added = LOGIT_SCALE * vec4<f32>(
      queries[query.x + 2u * DIM], queries[query.y + 2u * DIM], queries[query.z + 2u * DIM], queries[query.w + 2u * DIM],
    );
  }
  workgroupBarrier();
  prepareKeys(packedQuery(lane), lane);
  workgroupBarrier();

  var maximum = vec4<f32>(NOTHING);
  // Of this lane's tokens alone; added up at the end.
  var sum = vec4<f32>(0.0);
  var packedSum = vec4<f32>(0.0);
  var plain = Rows();
  var packed = Rows();
  // What all channels of a set share, by set: zeros and offsets of values, of this lane's tokens alone.
  var constants = Rows();

  for (var s = 0u; s < work.segments; s += 1u) {
    let segment = segmentAt(work.firstSegment + s);
    let whole = segment.key_source == SOURCE_PACKED && segment.value_source == SOURCE_PACKED;
    let step = select(LANES, PAGE, whole);
    for (var start = 0u; start < segment.count; start += step) {
      let count = min(step, segment.count - start);
      let firstToken = segment.position + start;
      // A whole page that every row sees whole, in the same slots of both tensors: nothing is masked, nothing moves.
      let full = whole && count == PAGE && WINDOW_SIZE == 0u && firstToken + PAGE <= position.x + 1u;

      // Logits of the tile, at most four tokens a lane.
      var logits = Rows(vec4<f32>(NOTHING), vec4<f32>(NOTHING), vec4<f32>(NOTHING), vec4<f32>(NOTHING));
      var offset = 0u;
      if (segment.key_source == SOURCE_PACKED) {
        let page = segment.key_page / 4u + head * key_headWords / 4u;
        let slot = segment.key_slot + start;
        let dotted = keyDots(page, lane);
        // Wraps for tokens before the tile, which are then not below its count.
        offset = 4u * lane - slot;
        if (full) {
          logits = Rows(
            capped(dotted.a + added), capped(dotted.b + added), capped(dotted.c + added), capped(dotted.d + added),
          );
        } else {
        logits.a = select(logits.a, capped(dotted.a + added), seen(offset, count, firstToken, position));
        logits.b = select(logits.b, capped(dotted.b + added), seen(offset + 1u, count, firstToken, position));
        logits.c = select(logits.c, capped(dotted.c + added), seen(offset + 2u, count, firstToken, position));
        logits.d = select(logits.d, capped(dotted.d + added), seen(offset + 3u, count, firstToken, position));
        }
      } else {
        // Lanes past the last token repeat it unseen: lanes that part ways may not meet again before the next reduction.
        let token = min(lane, count - 1u);
        let dotted = plainDots(segment.key_source, segment.key_page, segment.key_slot + start + token, head);
        logits.a = select(logits.a, capped(dotted), seen(lane, count, firstToken, position));
      }

      let tile = max(max(logits.a, logits.b), max(logits.c, logits.d));
      let raised = max(maximum, largestOfLanes(tile, lane));
      let grown = any(raised > maximum);
      let rescale = exp2(maximum - raised);
      maximum = raised;
      let shown = Rows(
        weightsOf(logits.a, maximum), weightsOf(logits.b, maximum), weightsOf(logits.c, maximum), weightsOf(logits.d, maximum),
      );
      let shares = shown.a + shown.b + shown.c + shown.d;
      if (grown) {
        sum *= rescale;
        plain = rescaled(plain, rescale);
        if (VALUE_TRANSFORMED) {
          packed = rescaled(packed, rescale);
          packedSum *= rescale;
        }
        constants = Rows(constants.a * rescale, constants.b * rescale, constants.c * rescale, constants.d * rescale);
      }
      sum += shares;

      if (full) {
        // A lane's tokens keep to the lane.
      } else if (segment.key_source == SOURCE_PACKED) {
        weights[min(offset, PAGE)] = shown.a;
        weights[min(offset + 1u, PAGE)] = shown.b;
        weights[min(offset + 2u, PAGE)] = shown.c;
        weights[min(offset + 3u, PAGE)] = shown.d;
      } else {
        weights[lane] = shown.a;
      }
      workgroupBarrier();

      if (segment.value_source == SOURCE_PACKED) {
        let begin = 4u * lane - (segment.value_slot + start);
        var shares = shown;
        if (!full) {
          shares = Rows(
            weightAt(begin, count), weightAt(begin + 1u, count), weightAt(begin + 2u, count), weightAt(begin + 3u, count),
          );
        }
        let valuePage = segment.value_page / 4u + head * value_headWords / 4u;
        let added_values = valueDots(valuePage, shares, &constants, lane);
        if (VALUE_TRANSFORMED) {
          packed = summed(packed, added_values);
          packedSum += shares.a + shares.b + shares.c + shares.d;
        } else {
          plain = summed(plain, added_values);
        }
      } else {
        plain = plainValues(plain, segment.value_source, segment.value_page, segment.value_slot + start, count, head, lane);
      }
      workgroupBarrier();
    }
  }

  let total = sumOfLanes(sum, lane);
  let packedTotal = sumOfLanes(packedSum, lane);
  let constant = constantsOf(constants, lane);
  let shared_part = Rows(vec4<f32>(constant.x), vec4<f32>(constant.y), vec4<f32>(constant.z), vec4<f32>(constant.w));
  if (VALUE_TRANSFORMED) {
    packed = summed(packed, shared_part);
  } else {
    plain = summed(plain, shared_part);
  }
  let natural = select(maximum * LN_2, vec4<f32>(NOTHING), maximum <= vec4<f32>(NOTHING));
  let partial = work.partial;
  if (known.x) { writePartial(partial.x, natural.x, total.x, packedTotal.x, plain.a, packed.a, lane); }
  if (known.y) { writePartial(partial.y, natural.y, total.y, packedTotal.y, plain.b, packed.b, lane); }
  if (known.z) { writePartial(partial.z, natural.z, total.z, packedTotal.z, plain.c, packed.c, lane); }
  if (known.w) { writePartial(partial.w, natural.w, total.w, packedTotal.w, plain.d, packed.d, lane); }
}

// Four channels of the lane, as packed keys meet them.
fn packedQuery(lane: u32) -> Rows {
  let at = 4u * lane;
  if (KEY_TRANSFORMED) {
    let last = PACKED_DIM - 1u;
    return transposed(
      Rows(packed_query[min(at, last)], packed_query[min(at + 1u, last)], packed_query[min(at + 2u, last)], packed_query[min(at + 3u, last)]),
    );
  }
  return transposed(Rows(plain_query[at], plain_query[at + 1u], plain_query[at + 2u], plain_query[at + 3u]));
}

fn seen(offset: u32, count: u32, firstToken: u32, position: vec4<u32>) -> vec4<bool> {
  return select(vec4<bool>(false), visible(firstToken + offset, position), offset < count);
}

fn weightsOf(logits: vec4<f32>, maximum: vec4<f32>) -> vec4<f32> {
  return select(exp2(logits - maximum), vec4<f32>(0.0), logits <= vec4<f32>(NOTHING));
}

fn weightAt(offset: u32, count: u32) -> vec4<f32> {
  return select(vec4<f32>(0.0), weights[min(offset, PAGE)], offset < count);
}

fn rescaled(rows: Rows, by: vec4<f32>) -> Rows {
  return Rows(rows.a * by.x, rows.b * by.y, rows.c * by.z, rows.d * by.w);
}

fn summed(first: Rows, second: Rows) -> Rows {
  return Rows(first.a + second.a, first.b + second.b, first.c + second.c, first.d + second.d);
}

fn writePartial(at: u32, maximum: f32, sum: f32, packedSum: f32, plain: vec4<f32>, packed: vec4<f32>, lane: u32) {
  if (lane == 0u) {
    partials[at] = maximum;
    partials[at + 1u] = sum;
    partials[at + 2u] = packedSum;
  }
  for (var i = 0u; i < 4u; i += 1u) {
    partials[at + 3u + 4u * lane + i] = plain[i];
    if (VALUE_TRANSFORMED) {
      partials[at + 3u + DIM + 4u * lane + i] = packed[i];
    }
  }
}

// Dot products of four rows with one f16 token.
fn plainDots(source: u32, page: u32, slot: u32, head: u32) -> vec4<f32> {
  var dot = vec4<f32>(0.0);
  if (source == SOURCE_WINDOW) {
    let at = page / 8u + (head * WINDOW_TOKENS + slot) * (DIM / 8u);
    for (var i = 0u; i < DIM / 8u; i += 1u) {
      let words = key_memory[at + i];
      let low = fourHalves(words, false);
      let high = fourHalves(words, true);
      dot += plain_query[8u * i] * low.x + plain_query[8u * i + 1u] * low.y;
      dot += plain_query[8u * i + 2u] * low.z + plain_query[8u * i + 3u] * low.w;
      dot += plain_query[8u * i + 4u] * high.x + plain_query[8u * i + 5u] * high.y;
      dot += plain_query[8u * i + 6u] * high.z + plain_query[8u * i + 7u] * high.w;
    }
    return dot;
  }
  let at = (page + (slot * key_heads + head) * DIM) / 2u;
  for (var i = 0u; i < DIM / 2u; i += 1u) {
    let pair = unpack2x16float(inputs[at + i]);
    dot += plain_query[2u * i] * pair.x + plain_query[2u * i + 1u] * pair.y;
  }
  return dot;
}

// Adds f16 values, weighted; a lane owns four channels.
fn plainValues(rows: Rows, source: u32, page: u32, slot: u32, count: u32, head: u32, lane: u32) -> Rows {
  var result = rows;
  for (var t = 0u; t < count; t += 1u) {
    var value = vec4<f32>(0.0);
    if (source == SOURCE_WINDOW) {
      let at = page / 8u + (head * WINDOW_TOKENS + slot + t) * (DIM / 8u) + lane / 2u;
      value = fourHalves(value_memory[at], (lane & 1u) != 0u);
    } else {
      let at = (page + ((slot + t) * value_heads + head) * DIM) / 2u + 2u * lane;
      value = vec4<f32>(unpack2x16float(inputs[at]), unpack2x16float(inputs[at + 1u]));
    }
    let weight = weights[t];
    result.a += weight.x * value;
    result.b += weight.y * value;
    result.c += weight.z * value;
    result.d += weight.w * value;
  }
  return result;
}
`,
  "attention-staged": "// Logits with keys that all lanes decode together into workgroup memory, a few at a time.\n\nconst LANES_PER_KEY = ATTENTION_SIZE / STAGED;\n\nvar<workgroup> lane_dots: array<vec4<f32>, ATTENTION_SIZE>;\n\nfn tileLogits(segment: Segment, start: u32, tokens: u32, head: u32, statisticsPage: u32, lane: u32) {\n  let transformed = KEY_TRANSFORMED && segment.key_source == SOURCE_PACKED;\n  let offset = select(0u, key_headDim, transformed);\n  for (var first = 0u; first < tokens; first += STAGED) {\n    let count = min(STAGED, tokens - first);\n    stageKeys(segment, start + first, count, head, statisticsPage, lane);\n    workgroupBarrier();\n    let key = lane / LANES_PER_KEY * key_headDim;\n    var dots = vec4<f32>(0.0);\n    for (var channel = lane % LANES_PER_KEY; channel < key_headDim; channel += LANES_PER_KEY) {\n      dots += query_tile[offset + channel] * staged[key + channel];\n    }\n    lane_dots[lane] = dots;\n    workgroupBarrier();\n    if (lane < count) {\n      var sum = vec4<f32>(0.0);\n      for (var part = 0u; part < LANES_PER_KEY; part += 1u) {\n        sum += lane_dots[lane * LANES_PER_KEY + part];\n      }\n      if (transformed) {\n        sum += query_tile[QUERY_WORDS - 1u];\n      }\n      tile_logits[first + lane] = logitsOf(sum);\n    }\n  }\n  workgroupBarrier();\n}\n",
  "attention-work": "// What one workgroup of attention does, as its tables say: the segments of one split of one sequence, one kv head, up to four\n// of its query rows, as components of vectors.\n\nconst SEGMENT_WORDS = 8u;\nconst ITEM_WORDS = 4u;\n// Below every logit.\nconst NOTHING = -3.0e38;\n\n// Tokens that lie side by side in both tensors.\nstruct Segment {\n  position: u32,\n  count: u32,\n  key_source: u32,\n  key_page: u32,\n  key_slot: u32,\n  value_source: u32,\n  value_page: u32,\n  value_slot: u32,\n}\n\nstruct Work {\n  firstSegment: u32,\n  segments: u32,\n  statisticsPage: u32,\n  head: u32,\n  firstRow: u32,\n  // Of the sequence on this head; a workgroup whose first row is none of them has nothing to do.\n  rows: u32,\n  firstPosition: u32,\n  // By row: whether it is one, its position, where its query and its partial result begin. Rows past the last repeat its query.\n  known: vec4<bool>,\n  position: vec4<u32>,\n  query: vec4<u32>,\n  partial: vec4<u32>,\n}\n\nfn workOf(group: vec3<u32>) -> Work {\n  let item = job.table + group.x * ITEM_WORDS;\n  let sequence = commands[item];\n  let firstQuery = commands[sequence];\n  let queries = commands[sequence + 1u];\n  let head = group.y;\n  let rows = queries * GROUP_HEADS;\n  let firstRow = group.z * ROWS;\n  let firstPosition = commands[sequence + 2u] - queries;\n  let row = vec4<u32>(firstRow) + vec4<u32>(0u, 1u, 2u, 3u);\n  let held = min(row, vec4<u32>(rows - 1u));\n  return Work(\n    commands[item + 1u],\n    commands[item + 2u],\n    commands[sequence + 3u],\n    head,\n    firstRow,\n    rows,\n    firstPosition,\n    row < vec4<u32>(rows),\n    vec4<u32>(firstPosition) + row / GROUP_HEADS,\n    ((vec4<u32>(firstQuery) + held / GROUP_HEADS) * QUERY_HEADS + head * GROUP_HEADS + held % GROUP_HEADS) * QUERY_WORDS,\n    (vec4<u32>(commands[item + 3u] + head * rows) + row) * PARTIAL_WORDS,\n  );\n}\n\nfn segmentAt(number: u32) -> Segment {\n  let at = job.first + number * SEGMENT_WORDS;\n  return Segment(\n    commands[at], commands[at + 1u], commands[at + 2u], commands[at + 3u],\n    commands[at + 4u], commands[at + 5u], commands[at + 6u], commands[at + 7u],\n  );\n}\n\n// Which queries at `position` see the token at `token`.\nfn visible(token: u32, position: vec4<u32>) -> vec4<bool> {\n  let causal = vec4<u32>(token) <= position;\n  if (WINDOW_SIZE == 0u) {\n    return causal;\n  }\n  let inWindow = vec4<u32>(token + WINDOW_SIZE) > position;\n  return causal & (inWindow | vec4<bool>(token < WINDOW_SINKS));\n}\n",
  attention: "// The packing kernel in its general form: exact f32 arithmetic on every layout. One workgroup: the segments of one split\n// of one sequence, one kv head, up to four of its query rows.\n\nconst ATTENTION_SIZE = 64u;\nconst TILE = 64u;\nconst CHANNELS = (value_headDim + ATTENTION_SIZE - 1u) / ATTENTION_SIZE;\n\n@group(0) @binding(2) var<storage, read> key_memory: array<u32>;\n@group(0) @binding(3) var<storage, read> value_memory: array<u32>;\n@group(0) @binding(4) var<storage, read> inputs: array<u32>;\n@group(0) @binding(5) var<storage, read> queries: array<f32>;\n@group(0) @binding(6) var<storage, read_write> partials: array<f32>;\n\n// Query rows are the components of vectors. Queries by word; logits, and then weights, by token of the tile.\nvar<workgroup> query_tile: array<vec4<f32>, QUERY_WORDS>;\nvar<workgroup> tile_logits: array<vec4<f32>, TILE>;\nvar<workgroup> tile_weights: array<vec4<f32>, TILE>;\n\n// Whether no query from `position` on sees any of these tokens, because all have left the window.\nfn outsideWindow(first: u32, tokens: u32, position: u32) -> bool {\n  return WINDOW_SIZE > 0u && first >= WINDOW_SINKS && first + tokens - 1u + WINDOW_SIZE <= position;\n}\n\n@compute @workgroup_size(ATTENTION_SIZE)\nfn attend(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {\n  let work = workOf(group);\n  if (work.firstRow >= work.rows) {\n    return;\n  }\n  let head = work.head;\n  let known = work.known;\n  let position = work.position;\n  let query = work.query;\n  for (var i = lane; i < QUERY_WORDS; i += ATTENTION_SIZE) {\n    query_tile[i] = vec4<f32>(queries[query.x + i], queries[query.y + i], queries[query.z + i], queries[query.w + i]);\n  }\n  workgroupBarrier();\n\n  // Every lane keeps these for itself: a lane that did it for all would be waited for.\n  var maximum = vec4<f32>(NOTHING);\n  var sum = vec4<f32>(0.0);\n  var packedSum = vec4<f32>(0.0);\n  var plain: array<vec4<f32>, CHANNELS>;\n  var packed: array<vec4<f32>, CHANNELS>;\n  // Tokens from here on are seen by no row.\n  let end = work.firstPosition + (min(work.firstRow + ROWS, work.rows) - 1u) / GROUP_HEADS + 1u;\n  for (var s = 0u; s < work.segments; s += 1u) {\n    let segment = segmentAt(work.firstSegment + s);\n    let isPacked = VALUE_TRANSFORMED && segment.value_source == SOURCE_PACKED;\n    let seen = min(segment.count, end - min(end, segment.position));\n    for (var start = 0u; start < seen; start += TILE) {\n      let tokens = min(TILE, seen - start);\n      if (outsideWindow(segment.position + start, tokens, position.x)) {\n        continue;\n      }\n      tileLogits(segment, start, tokens, head, work.statisticsPage, lane);\n      var logits = vec4<f32>(NOTHING);\n      if (lane < tokens) {\n        let seesIt = known & visible(segment.position + start + lane, position);\n        logits = select(logits, tile_logits[lane], seesIt);\n      }\n      tile_logits[lane] = logits;\n      // Nobody still reads weights of the last tile, and everybody sees these logits.\n      workgroupBarrier();\n      let old = maximum;\n      for (var t = 0u; t < tokens; t += 1u) {\n        maximum = max(maximum, tile_logits[t]);\n      }\n      let rescale = select(exp(old - maximum), vec4<f32>(1.0), old == maximum);\n      tile_weights[lane] = select(exp(logits - maximum), vec4<f32>(0.0), logits <= vec4<f32>(NOTHING));\n      workgroupBarrier();\n      // Zeros are written out: not every driver clears a bare declaration again in each trip of a loop.\n      var sums = array<vec4<f32>, CHANNELS>();\n      let total = addValues(segment, start, tokens, head, lane, &sums);\n      for (var c = 0u; c < CHANNELS; c += 1u) {\n        let weightedSum = sums[c];\n        if (VALUE_TRANSFORMED) {\n          packed[c] = packed[c] * rescale + select(vec4<f32>(0.0), weightedSum, isPacked);\n          plain[c] = plain[c] * rescale + select(weightedSum, vec4<f32>(0.0), isPacked);\n        } else {\n          plain[c] = plain[c] * rescale + weightedSum;\n        }\n      }\n      sum = sum * rescale + total;\n      packedSum = packedSum * rescale + select(vec4<f32>(0.0), total, isPacked);\n    }\n  }\n\n  let partial = work.partial;\n  for (var i = 0u; i < ROWS; i += 1u) {\n    if (!known[i]) {\n      break;\n    }\n    let at = partial[i];\n    if (lane == 0u) {\n      partials[at] = maximum[i];\n      partials[at + 1u] = sum[i];\n      partials[at + 2u] = packedSum[i];\n    }\n    for (var c = 0u; c < CHANNELS; c += 1u) {\n      let channel = c * ATTENTION_SIZE + lane;\n      if (channel < value_headDim) {\n        partials[at + 3u + channel] = plain[c][i];\n        if (VALUE_TRANSFORMED) {\n          partials[at + 3u + value_headDim + channel] = packed[c][i];\n        }\n      }\n    }\n  }\n}\n\n// A weight of zero hides its value, whatever it is.\nfn weighted(weight: vec4<f32>, value: f32) -> vec4<f32> {\n  return select(weight * value, vec4<f32>(0.0), weight == vec4<f32>(0.0));\n}\n\nfn logitsOf(dots: vec4<f32>) -> vec4<f32> {\n  let logits = dots * LOGIT_SCALE;\n  if (SOFT_CAP > 0.0) {\n    return SOFT_CAP * tanh(logits / SOFT_CAP);\n  }\n  return logits;\n}\n",
  bands: "// Outlier bands, docs/law.md 6: which band a value is in, what its shift leaves, and its code.\n\nconst MIDDLE = 0u;\nconst OUTER = 1u;\nconst INNER = 2u;\nconst SMALLEST_LOW = -0.00006103515625;\n\nstruct Edges {\n  outerLow: f32,\n  innerLow: f32,\n  innerHigh: f32,\n  outerHigh: f32,\n}\n\n// Bits of f16 numbers; a band without members has zeros.\nstruct Parameters {\n  // `middleMaximum`, or `middleMinimum`.\n  middle: u32,\n  middleStep: u32,\n  outerMinimum: u32,\n  outerStep: u32,\n  innerMinimum: u32,\n  innerStep: u32,\n}\n\nfn edgesOf() -> Edges {\n  let at = tensor_edgesWord;\n  return Edges(\n    bitcast<f32>(wordAt(at)),\n    bitcast<f32>(wordAt(at + 1u)),\n    bitcast<f32>(wordAt(at + 2u)),\n    bitcast<f32>(wordAt(at + 3u)),\n  );\n}\n\nfn bandOf(value: f32, edges: Edges) -> u32 {\n  if (!isMember(value)) {\n    return MIDDLE;\n  }\n  if (value <= edges.outerLow || value >= edges.outerHigh) {\n    return OUTER;\n  }\n  return select(MIDDLE, INNER, value > edges.innerLow && value < edges.innerHigh);\n}\n\nfn outerMagnitude(value: f32, edges: Edges) -> f32 {\n  return exactly(select(edges.outerLow - value, value - edges.outerHigh, value >= edges.outerHigh));\n}\n\nfn middleShift(value: f32, edges: Edges) -> f32 {\n  return exactly(value - select(edges.innerLow, edges.innerHigh, value >= edges.innerHigh));\n}\n\nfn affineCode(difference: f32, step: f32, highest: f32) -> u32 {\n  if (step == 0.0) {\n    return 0u;\n  }\n  return u32(nearestCodeOfHalf(difference, step, 0.0, highest));\n}\n\n// Codes below this one decode to the low side of a uniform middle band.\nfn lowCodes(minimum: f32, step: f32) -> u32 {\n  var codes = 0u;\n  while (codes < 16u && minimum + f32(codes) * step < 0.0) {\n    codes += 1u;\n  }\n  return codes;\n}\n\nfn middleCode(value: f32, parameters: Parameters, edges: Edges) -> u32 {\n  let high = value >= edges.innerHigh;\n  let shift = middleShift(value, edges);\n  if (tensor_midRise) {\n    let maximum = f16Value(parameters.middle);\n    let scaled = 8.0 * abs(shift);\n    var cell = 0u;\n    while (cell < 7u && maximum != 0.0 && scaled >= f32(cell + 1u) * maximum) {\n      cell += 1u;\n    }\n    return select(8u, 0u, high) | cell;\n  }\n  let minimum = f16Value(parameters.middle);\n  let step = f16Value(parameters.middleStep);\n  let code = affineCode(exactly(shift - minimum), step, 15.0);\n  let low = lowCodes(minimum, step);\n  return select(min(code, max(low, 1u) - 1u), max(code, low), high);\n}\n\n// Four bits in the codes plane; an inner code has a fifth.\nfn bandCode(value: f32, band: u32, parameters: Parameters, edges: Edges) -> u32 {\n  if (band == OUTER) {\n    let difference = exactly(outerMagnitude(value, edges) - f16Value(parameters.outerMinimum));\n    return affineCode(difference, f16Value(parameters.outerStep), 15.0);\n  }\n  if (band == INNER) {\n    let difference = exactly(value - f16Value(parameters.innerMinimum));\n    return affineCode(difference, f16Value(parameters.innerStep), 31.0);\n  }\n  return middleCode(value, parameters, edges);\n}\n\n// The planes lie in the head block, or behind all of them where heads share parameters.\nfn parameterBase(page: u32, head: u32) -> u32 {\n  return page + select(head, tensor_heads, tensor_sharedParameters) * tensor_headWords;\n}\n\nfn vectorParametersAt(page: u32, head: u32, slot: u32) -> Parameters {\n  let base = parameterBase(page, head);\n  var parameters: Parameters;\n  parameters.middle = fieldAt(base + tensor_middleWord, slot, 16u);\n  if (!tensor_midRise) {\n    parameters.middleStep = fieldAt(base + tensor_middleStepWord, slot, 16u);\n  }\n  parameters.outerMinimum = fieldAt(base + tensor_outerMinimumWord, slot, 16u);\n  parameters.outerStep = fieldAt(base + tensor_outerStepWord, slot, 16u);\n  parameters.innerMinimum = fieldAt(base + tensor_innerMinimumWord, slot, 16u);\n  parameters.innerStep = fieldAt(base + tensor_innerStepWord, slot, 16u);\n  return parameters;\n}\n",
  "code-places-canonical": "// Where canonical order keeps codes: code `number` of a row at bit `tensor_bits * number`.\n\nconst CODE_FLIP = 0u;\n\n// Word and lowest bit of a code.\nfn codePlace(number: u32) -> vec2<u32> {\n  let bit = number * tensor_bits;\n  return vec2<u32>(bit / 32u, bit % 32u);\n}\n\n// Word `word` of row `other` in the codes of a head.\nfn codeWord(word: u32, other: u32) -> u32 {\n  return other * tensor_rowWords + word;\n}\n",
  "code-places-reduction": "// Where the order of the reduction keeps codes: attention reduces over channels of keys and tokens of values. A word holds\n// 32 / bits codes of the reduction; byte k, field f is number 4 f + k of them. Words lie [word of the reduction, other index].\n// Unsigned codes are stored less half their range, so that a field in the high bits of a byte is a signed number.\n\nconst CODE_FLIP = tensor_codeFlip;\n\n// Word and lowest bit of code `number` of the reduction.\nfn codePlace(number: u32) -> vec2<u32> {\n  let codes = 32u / tensor_bits;\n  let i = number % codes;\n  return vec2<u32>(number / codes, 8u * (i % 4u) + tensor_bits * (i / 4u));\n}\n\n// Word `word` of the reduction of slot or channel `other` in the codes of a head.\nfn codeWord(word: u32, other: u32) -> u32 {\n  return word * select(tensor_blockTokens, tensor_headDim, tensor_reducesTokens) + other;\n}\n",
  copy: "// Copies whole pages within a memory.\n\nconst COPY_SIZE = 64u;\n\n@group(0) @binding(2) var<storage, read_write> memory: array<u32>;\n\n// A copy: first word of the source, first word of the target, words.\n@compute @workgroup_size(COPY_SIZE)\nfn copyPages(@builtin(global_invocation_id) id: vec3<u32>) {\n  let at = job.table + id.y * 3u;\n  if (id.x < commands[at + 2u]) {\n    memory[commands[at + 1u] + id.x] = memory[commands[at] + id.x];\n  }\n}\n",
  "element-asymmetric": "// value = code * scale + zero.\n\nfn tensor_value(base: u32, entry: u32, code: u32) -> f32 {\n  return f32(code) * tensor_scaleValue(tensor_scaleBits(base, entry)) + tensor_zero(base, entry);\n}\n",
  "element-bands": "// An element of a vector with outlier bands: its byte among the sparse ones, if it has one, says that it is no middle one.\n\nconst tensor_NO_OUTLIER = 0xffffffffu;\nconst tensor_CHUNKS = (tensor_headDim + 63u) / 64u;\n\nfn tensor_packed(page: u32, head: u32, slot: u32, channel: u32) -> f32 {\n  let base = page + head * tensor_headWords;\n  let bytes = tensor_outliersOf(base, slot, channel);\n  let outlier = tensor_outlierAt(base, bytes, tensor_findOutlier(base, bytes, channel % 64u), channel % 64u);\n  return tensor_bandValue(tensor_parameterBase(page, head), slot, tensor_code(base, slot, channel), outlier);\n}\n\n// First byte, and end, of the outliers in the chunk of a channel.\nfn tensor_outliersOf(base: u32, slot: u32, channel: u32) -> vec2<u32> {\n  let chunk = slot * tensor_CHUNKS + channel / 64u;\n  let ends = base + tensor_endsWord;\n  // There is nothing before the very first.\n  let first = select(tensor_field(ends, max(chunk, 1u) - 1u, tensor_endWidth), 0u, chunk == 0u);\n  return vec2<u32>(first, tensor_field(ends, chunk, tensor_endWidth));\n}\n\n// The first byte whose index is not below this one: bytes of a chunk are in the order of their channels.\nfn tensor_findOutlier(base: u32, bytes: vec2<u32>, index: u32) -> u32 {\n  var low = bytes.x;\n  var high = bytes.y;\n  while (low < high) {\n    let middle = (low + high) / 2u;\n    if ((tensor_field(base + tensor_outliersWord, middle, 8u) & 63u) < index) {\n      low = middle + 1u;\n    } else {\n      high = middle;\n    }\n  }\n  return low;\n}\n\n// Byte number `at`, when it belongs to this index.\nfn tensor_outlierAt(base: u32, bytes: vec2<u32>, at: u32, index: u32) -> u32 {\n  if (at >= bytes.y) {\n    return tensor_NO_OUTLIER;\n  }\n  let byte = tensor_field(base + tensor_outliersWord, at, 8u);\n  return select(tensor_NO_OUTLIER, byte, (byte & 63u) == index);\n}\n\n// The planes lie in the head block, or behind all of them where heads share parameters.\nfn tensor_parameterBase(page: u32, head: u32) -> u32 {\n  return page + select(head, tensor_heads, tensor_sharedParameters) * tensor_headWords;\n}\n\nfn tensor_parameter(plane: u32, slot: u32) -> f32 {\n  return f16Value(tensor_field(plane, slot, 16u));\n}\n\nfn tensor_edge(number: u32) -> f32 {\n  return bitcast<f32>(tensor_memory[tensor_edgesWord + number]);\n}\n\nfn tensor_bandValue(parameters: u32, slot: u32, code: u32, outlier: u32) -> f32 {\n  if (outlier == tensor_NO_OUTLIER) {\n    return tensor_middle(parameters, slot, code);\n  }\n  if ((outlier & 64u) != 0u) {\n    let magnitude = f32(code) * tensor_parameter(parameters + tensor_outerStepWord, slot) +\n      tensor_parameter(parameters + tensor_outerMinimumWord, slot);\n    return select(tensor_edge(3u) + magnitude, tensor_edge(0u) - magnitude, (outlier & 128u) != 0u);\n  }\n  return f32(code | ((outlier >> 7u) << 4u)) * tensor_parameter(parameters + tensor_innerStepWord, slot) +\n    tensor_parameter(parameters + tensor_innerMinimumWord, slot);\n}\n\nfn tensor_middle(parameters: u32, slot: u32, code: u32) -> f32 {\n  let first = tensor_parameter(parameters + tensor_middleWord, slot);\n  if (tensor_midRise) {\n    let magnitude = f32((code & 7u) * 2u + 1u) * (first / 16.0);\n    return select(tensor_edge(2u) + magnitude, tensor_edge(1u) - magnitude, (code & 8u) != 0u);\n  }\n  let shift = f32(code) * tensor_parameter(parameters + tensor_middleStepWord, slot) + first;\n  return select(tensor_edge(2u), tensor_edge(1u), shift < 0.0) + shift;\n}\n",
  "element-canonical": "// The code of an element in a page in canonical order. `base` is the first word of the head.\n\nfn tensor_code(base: u32, slot: u32, channel: u32) -> u32 {\n  let row = select(slot, channel, tensor_alongTokens);\n  let bit = select(channel, slot, tensor_alongTokens) * tensor_bits;\n  let at = base + row * tensor_rowWords + bit / 32u;\n  let shift = bit % 32u;\n  var bits = tensor_memory[at] >> shift;\n  if (shift + tensor_bits > 32u) {\n    bits |= tensor_memory[at + 1u] << (32u - shift);\n  }\n  return bits & tensor_codeMask;\n}\n",
  "element-codec": "// An element of a group that a codec decodes as a whole. The group decoded last is kept.\n\nvar<private> tensor_decodedByte: u32 = 0xffffffffu;\nvar<private> tensor_decoded: array<f32, tensor_groupSize>;\n\nfn tensor_packed(page: u32, head: u32, slot: u32, channel: u32) -> f32 {\n  var entry = 0u;\n  if (tensor_alongTokens) {\n    entry = slot / tensor_groupSize * tensor_headDim + channel;\n  } else {\n    entry = slot * tensor_groupsPerRow + channel / tensor_groupSize;\n  }\n  let byte = (page + head * tensor_headWords) * 4u + entry * tensor_groupBytes;\n  if (byte != tensor_decodedByte) {\n    tensor_decodedByte = byte;\n    tensor_decoded = tensor_codec_decodeGroup(byte);\n  }\n  return tensor_decoded[select(channel, slot, tensor_alongTokens) % tensor_groupSize];\n}\n",
  "element-groups": "// An element by the parameters and codes of its group, along tokens or channels.\n\nfn tensor_grouped(page: u32, head: u32, slot: u32, channel: u32) -> f32 {\n  let base = page + head * tensor_headWords;\n  var entry = 0u;\n  if (tensor_alongTokens) {\n    entry = slot / tensor_groupSize * tensor_headDim + channel;\n  } else {\n    entry = slot * tensor_groupsPerRow + channel / tensor_groupSize;\n  }\n  return tensor_value(base, entry, tensor_code(base, slot, channel));\n}\n",
  "element-hybrid": "// The sign bit of the scale says whether a group is asymmetric.\n\nfn tensor_value(base: u32, entry: u32, code: u32) -> f32 {\n  let bits = tensor_scaleBits(base, entry);\n  let scale = tensor_scaleValue(bits & tensor_scaleMagnitude);\n  if ((bits & tensor_scaleSign) != 0u) {\n    return f32(code) * scale + tensor_zero(base, entry);\n  }\n  return tensor_signed(code) * scale;\n}\n",
  "element-levels": "// value = level of the code * scale + zero, as far as there are a scale and a zero.\n\nfn tensor_value(base: u32, entry: u32, code: u32) -> f32 {\n  var value = bitcast<f32>(tensor_memory[tensor_levelsWord + code]);\n  if (tensor_hasScale) {\n    value *= tensor_scaleValue(tensor_scaleBits(base, entry));\n  }\n  if (tensor_hasZero) {\n    value += tensor_zero(base, entry);\n  }\n  return value;\n}\n",
  "element-parameters": "// Codes and parameters as numbers. Composed once for keys and once for values.\n\nfn tensor_signed(code: u32) -> f32 {\n  return f32(i32(code << (32u - tensor_bits)) >> (32u - tensor_bits));\n}\n\n// Entry `entry` of a plane of entries of `width` bits.\nfn tensor_field(plane: u32, entry: u32, width: u32) -> u32 {\n  let bit = entry * width;\n  return extractBits(tensor_memory[plane + bit / 32u], bit % 32u, width);\n}\n\nfn tensor_scaleBits(base: u32, entry: u32) -> u32 {\n  return tensor_field(base + tensor_scaleWord, entry, tensor_scaleWidth);\n}\n\nfn tensor_zero(base: u32, entry: u32) -> f32 {\n  return tensor_zeroValue(tensor_field(base + tensor_zeroWord, entry, tensor_zeroWidth));\n}\n",
  "element-plain": "// A packed element where nothing lies beside the codes.\n\nfn tensor_packed(page: u32, head: u32, slot: u32, channel: u32) -> f32 {\n  return tensor_grouped(page, head, slot, channel);\n}\n",
  "element-symmetric": "// value = signed code * scale.\n\nfn tensor_value(base: u32, entry: u32, code: u32) -> f32 {\n  return tensor_signed(code) * tensor_scaleValue(tensor_scaleBits(base, entry));\n}\n",
  "element-top": "// A packed element beside top outliers, whose channels rise inside a token.\n\nfn tensor_packed(page: u32, head: u32, slot: u32, channel: u32) -> f32 {\n  let base = page + head * tensor_headWords;\n  for (var entry = slot * tensor_topCount; entry < (slot + 1u) * tensor_topCount; entry += 1u) {\n    if (tensor_field(base + tensor_topChannelsWord, entry, tensor_topChannelWidth) == channel) {\n      return f16Value(tensor_field(base + tensor_topValuesWord, entry, 16u));\n    }\n  }\n  return tensor_grouped(page, head, slot, channel);\n}\n",
  "element-window": "// A tensor that stays f16 has no packed pages.\n\nfn tensor_packed(page: u32, head: u32, slot: u32, channel: u32) -> f32 {\n  return 0.0;\n}\n",
  element: "// One element of a tensor, wherever its token is: a packed page, a window page, or the input of the step. Composed once\n// for keys and once for values. docs/block-format.md.\n\n// `page` is the first word of a packed page, or the first half of a window page or of the input.\nfn tensor_element(source: u32, page: u32, head: u32, slot: u32, channel: u32) -> f32 {\n  if (source == SOURCE_PACKED) {\n    return tensor_packed(page, head, slot, channel);\n  }\n  if (source == SOURCE_WINDOW) {\n    let index = page + (head * WINDOW_TOKENS + slot) * tensor_headDim + channel;\n    return f16Value(halfAt(tensor_memory[index / 2u], index));\n  }\n  let index = page + (slot * tensor_heads + head) * tensor_headDim + channel;\n  return f16Value(halfAt(inputs[index / 2u], index));\n}\n",
  gather: "// Gathers f16 tokens from window pages and from the input of the step, transforms them, and leaves bits of f32 rows\n// in the scratch, [row, head, channel]. One workgroup: one row of one head.\n\nconst ROW_SIZE = 64u;\nconst SPAN_WORDS = 6u;\n\n@group(0) @binding(2) var<storage, read> tensor_memory: array<u32>;\n@group(0) @binding(3) var<storage, read> inputs: array<u32>;\n@group(0) @binding(4) var<storage, read_write> scratch: array<u32>;\n\n// The last span that begins at or before the row. A span: first row, source (1 window, 2 input), first half of the page or\n// of the input, slot, first half of the statistics page.\nfn spanOf(row: u32) -> u32 {\n  var low = 0u;\n  var high = job.entries;\n  while (high - low > 1u) {\n    let middle = (low + high) / 2u;\n    if (commands[job.table + middle * SPAN_WORDS] <= row) {\n      low = middle;\n    } else {\n      high = middle;\n    }\n  }\n  return job.table + low * SPAN_WORDS;\n}\n\n@compute @workgroup_size(ROW_SIZE)\nfn gather(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {\n  let row = group.x + group.z * 32768u + job.first;\n  let head = group.y;\n  let span = spanOf(row);\n  let token = row - commands[span] + commands[span + 3u];\n  let page = commands[span + 2u];\n  let statisticsPage = commands[span + 4u];\n  for (var channel = lane; channel < tensor_headDim; channel += ROW_SIZE) {\n    var bits = 0u;\n    if (commands[span + 1u] == SOURCE_WINDOW) {\n      let index = page + (head * WINDOW_TOKENS + token) * tensor_headDim + channel;\n      bits = halfAt(tensor_memory[index / 2u], index);\n    } else {\n      let index = page + (token * tensor_heads + head) * tensor_headDim + channel;\n      bits = halfAt(inputs[index / 2u], index);\n    }\n    row_values[channel] = f16Value(bits);\n  }\n  workgroupBarrier();\n  transformRow(head, statisticsPage, lane);\n  for (var channel = lane; channel < tensor_headDim; channel += ROW_SIZE) {\n    scratch[((row - job.first) * tensor_heads + head) * tensor_headDim + channel] = bitcast<u32>(row_values[channel]);\n  }\n}\n",
  "group-parameters": "// Parameters of a group, as bits of their types, from what was measured of it. docs/law.md 3 and 4.\n\nstruct Parameters {\n  scale: u32,\n  zero: u32,\n}\n\nfn rangeBetween(minimum: f32, maximum: f32) -> Parameters {\n  let zero = storeZero(minimum);\n  let range = max(exactly(maximum - zeroValue(zero)), 0.0);\n  return Parameters(storeScale(range, tensor_rangeStep), zero);\n}\n\n// `extreme`: the first element of largest magnitude.\nfn parametersAround(extreme: f32) -> Parameters {\n  return Parameters(storeScale(select(abs(extreme), -extreme, tensor_signedScale), tensor_symmetricStep), 0u);\n}\n",
  group: "// A group: a run of scratch values, `stride` apart.\n\nstruct Group {\n  first: u32,\n  stride: u32,\n}\n\nfn groupValue(group: Group, i: u32) -> f32 {\n  return scratchValue(group.first + i * group.stride);\n}\n\nfn signedCode(code: u32) -> f32 {\n  return f32(i32(code << (32u - tensor_bits)) >> (32u - tensor_bits));\n}\n",
  "import-aligned": "// Takes a tensor whose rows are made of aligned runs of eight elements out of a buffer of the caller, into dense f16. One\n// invocation: one run.\n\n@group(0) @binding(2) var<storage, read> source: array<vec4<u32>>;\n@group(0) @binding(3) var<storage, read_write> result: array<vec4<u32>>;\n@group(0) @binding(4) var<storage, read_write> flags: array<atomic<u32>>;\n\nfn halvesOf(low: u32, high: u32) -> u32 {\n  return f16Bits(bitcast<f32>(low)) | (f16Bits(bitcast<f32>(high)) << 16u);\n}\n\n@compute @workgroup_size(IMPORT_SIZE)\nfn takeRuns(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {\n  let run = (group.x + group.z * 32768u) * IMPORT_SIZE + lane;\n  let element = 8u * run;\n  if (element >= commands[job.table + 5u]) {\n    return;\n  }\n  let place = placeOf(element);\n  let kind = commands[job.table + 4u];\n  var bits: vec4<u32>;\n  if (kind == KIND_F32) {\n    let low = source[place / 4u];\n    let high = source[place / 4u + 1u];\n    bits = vec4<u32>(halvesOf(low.x, low.y), halvesOf(low.z, low.w), halvesOf(high.x, high.y), halvesOf(high.z, high.w));\n  } else {\n    bits = source[place / 8u];\n    if (kind == KIND_BF16) {\n      for (var i = 0u; i < 4u; i += 1u) {\n        bits[i] = halvesOf(bits[i] << 16u, bits[i] & 0xffff0000u);\n      }\n    }\n  }\n  result[commands[job.table + 1u] / 4u + run] = bits;\n  // Exponents of ones carry into the sign.\n  let tops = (bits & vec4<u32>(0x7c007c00u)) + vec4<u32>(0x04000400u);\n  if (((tops.x | tops.y | tops.z | tops.w) & 0x80008000u) != 0u) {\n    for (var i = 0u; i < 4u; i += 1u) {\n      reportWord(bits[i], element + 2u * i);\n    }\n  }\n}\n",
  "import-table": "// What the kernels that take tensors in are told. The table: first element of the source, first word of the result, heads, head\n// dim, element type, elements, tokens of a batch, strides of batch, token and head, flag, 1 where all elements follow one\n// another.\n\nconst IMPORT_SIZE = 64u;\nconst NO_FLAG = 0xffffffffu;\nconst KIND_F32 = 0u;\nconst KIND_BF16 = 2u;\n\n// Where an element of the tensor lies in the source.\nfn placeOf(element: u32) -> u32 {\n  let table = job.table;\n  let first = commands[table];\n  if (commands[table + 11u] != 0u) {\n    return first + element;\n  }\n  let dim = commands[table + 3u];\n  let heads = commands[table + 2u];\n  let row = element / dim;\n  let token = row / heads;\n  let perBatch = commands[table + 6u];\n  return first + (token / perBatch) * commands[table + 7u] + (token % perBatch) * commands[table + 8u] +\n    (row % heads) * commands[table + 9u] + element % dim;\n}\n\n// The flag keeps the first element that f16 cannot hold.\nfn reportWord(bits: u32, element: u32) {\n  let flag = commands[job.table + 10u];\n  if (flag == NO_FLAG) {\n    return;\n  }\n  if ((bits & 0x7c00u) == 0x7c00u) {\n    atomicMin(&flags[flag], element);\n  } else if ((bits & 0x7c000000u) == 0x7c000000u) {\n    atomicMin(&flags[flag], element + 1u);\n  }\n}\n",
  import: "// Takes a tensor out of a buffer of the caller: f32, f16 or bf16, with strides, into dense f16 or f32. One invocation: one\n// word of the result.\n\n@group(0) @binding(2) var<storage, read> source: array<u32>;\n@group(0) @binding(3) var<storage, read_write> result: array<u32>;\n@group(0) @binding(4) var<storage, read_write> flags: array<atomic<u32>>;\n\nfn elementAt(element: u32) -> f32 {\n  let place = placeOf(element);\n  let kind = commands[job.table + 4u];\n  if (kind == KIND_F32) {\n    return bitcast<f32>(source[place]);\n  }\n  let bits = halfAt(source[place / 2u], place);\n  return select(f16Value(bits), bitcast<f32>(bits << 16u), kind == KIND_BF16);\n}\n\n@compute @workgroup_size(IMPORT_SIZE)\nfn takeTensor(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {\n  let word = (group.x + group.z * 32768u) * IMPORT_SIZE + lane;\n  let elements = commands[job.table + 5u];\n  let at = commands[job.table + 1u] + word;\n  if (WIDE) {\n    if (word < elements) {\n      result[at] = bitcast<u32>(elementAt(word));\n    }\n    return;\n  }\n  let element = 2u * word;\n  if (element >= elements) {\n    return;\n  }\n  let low = f16Bits(elementAt(element));\n  var high = 0u;\n  if (element + 1u < elements) {\n    high = f16Bits(elementAt(element + 1u));\n  }\n  let bits = low | (high << 16u);\n  result[at] = bits;\n  reportWord(bits, element);\n}\n",
  "integer-codes": "// How code words of a page meet parts. Composed once for keys and once for values.\n\n// Field f of every byte of a word, moved to the high bits.\nfn tensor_field(words: vec4<u32>, f: u32) -> vec4<u32> {\n  return (words << vec4<u32>(8u - tensor_bits * (f + 1u))) & vec4<u32>(tensor_fieldMask);\n}\n\n// Two words of codes against vectors `at` and `at + 1` of set number `own` of parts. Two dot products and a sum are added in\n// one instruction.\nfn tensor_meet(sums: ptr<function, Sums>, first: vec4<u32>, second: vec4<u32>, at: u32, own: u32) {\n  let high = tensor_parts[own][at];\n  let nextHigh = tensor_parts[own][at + 1u];\n  (*sums).highA += dots(first.x, high) + dots(second.x, nextHigh);\n  (*sums).highB += dots(first.y, high) + dots(second.y, nextHigh);\n  (*sums).highC += dots(first.z, high) + dots(second.z, nextHigh);\n  (*sums).highD += dots(first.w, high) + dots(second.w, nextHigh);\n  if (PARTS == 2u) {\n    let low = tensor_parts[tensor_sets + own][at];\n    let nextLow = tensor_parts[tensor_sets + own][at + 1u];\n    (*sums).lowA += dots(first.x, low) + dots(second.x, nextLow);\n    (*sums).lowB += dots(first.y, low) + dots(second.y, nextLow);\n    (*sums).lowC += dots(first.z, low) + dots(second.z, nextLow);\n    (*sums).lowD += dots(first.w, low) + dots(second.w, nextLow);\n  }\n}\n\n// f16 parameters of the lane's four channels in group number `group` along tokens.\nfn tensor_channelParameters(plane: u32, group: u32, lane: u32) -> vec4<f32> {\n  return fourHalves(tensor_memory[plane + group * (DIM / 8u) + lane / 2u], (lane & 1u) != 0u);\n}\n\n// f16 parameters of the lane's four tokens: for each the groups along channels.\nfn tensor_tokenParameters(plane: u32, lane: u32) -> Rows {\n  if (tensor_groupsPerRow == 1u) {\n    let tokens = fourHalves(tensor_memory[plane + lane / 2u], (lane & 1u) != 0u);\n    return Rows(vec4<f32>(tokens.x), vec4<f32>(tokens.y), vec4<f32>(tokens.z), vec4<f32>(tokens.w));\n  }\n  if (tensor_groupsPerRow == 2u) {\n    let words = tensor_memory[plane + lane];\n    let low = fourHalves(words, false);\n    let high = fourHalves(words, true);\n    return Rows(low.xyxy, low.zwzw, high.xyxy, high.zwzw);\n  }\n  let first = tensor_memory[plane + 2u * lane];\n  let second = tensor_memory[plane + 2u * lane + 1u];\n  return Rows(fourHalves(first, false), fourHalves(first, true), fourHalves(second, false), fourHalves(second, true));\n}\n",
  "integer-keys-inner": "// Keys with groups along channels: the query becomes integers once, scales of tokens multiply sums over a group.\n\n// By group of channels: what its sums are worth, and the sum of its query.\nvar<workgroup> key_factors: array<vec4<f32>, KEY_GROUPS>;\nvar<workgroup> key_totals: array<vec4<f32>, KEY_GROUPS>;\n\nstruct KeyRun {\n  result: Rows,\n  scales: Rows,\n  zeros: Rows,\n}\n\nfn prepareKeys(query: Rows, lane: u32) {\n  let own = lane * KEY_GROUPS / LANES;\n  var factor = vec4<f32>(0.0);\n  let ones = vec4<f32>(1.0);\n  for (var group = 0u; group < KEY_GROUPS; group += 1u) {\n    let mine = own == group;\n    let largest = largestOfLanes(\n      select(\n        vec4<f32>(0.0),\n        vec4<f32>(largestOf(query.a), largestOf(query.b), largestOf(query.c), largestOf(query.d)),\n        mine,\n      ),\n      lane,\n    );\n    let total = sumOfLanes(\n      select(\n        vec4<f32>(0.0),\n        vec4<f32>(dot(query.a, ones), dot(query.b, ones), dot(query.c, ones), dot(query.d, ones)),\n        mine,\n      ),\n      lane,\n    );\n    if (lane == 0u) {\n      key_factors[group] = largest * (key_slope / LARGEST_PART);\n      key_totals[group] = total;\n    }\n    factor = select(factor, factorsOf(largest), mine);\n  }\n  let parts = partsOf(query, factor);\n  key_parts[0][lane] = parts.high;\n  if (PARTS == 2u) {\n    key_parts[PARTS - 1u][lane] = parts.low;\n  }\n}\n\nfn keyDots(page: u32, lane: u32) -> Rows {\n  var run: KeyRun;\n  run.scales = key_tokenParameters(page + key_scaleWord / 4u, lane);\n  if (key_hasZero) {\n    run.zeros = key_tokenParameters(page + key_zeroWord / 4u, lane);\n  }\n  key_run(&run, page, 0u, lane);\n  return run.result;\n}\n\nfn key_group(run: ptr<function, KeyRun>, sums: Sums, group: u32) {\n  let numbers = numbersOf(sums);\n  let factor = key_factors[group];\n  let total = key_totals[group];\n  let scales = (*run).scales;\n  (*run).result.a += scales.a[group] * (numbers.a * factor + key_offset * total);\n  (*run).result.b += scales.b[group] * (numbers.b * factor + key_offset * total);\n  (*run).result.c += scales.c[group] * (numbers.c * factor + key_offset * total);\n  (*run).result.d += scales.d[group] * (numbers.d * factor + key_offset * total);\n  if (key_hasZero) {\n    let zeros = (*run).zeros;\n    (*run).result.a += zeros.a[group] * total;\n    (*run).result.b += zeros.b[group] * total;\n    (*run).result.c += zeros.c[group] * total;\n    (*run).result.d += zeros.d[group] * total;\n  }\n}\n",
  "integer-keys-outer": "// Keys with groups along tokens: a scale per channel and set of tokens is folded into the query, page by page.\n\nstruct KeyRun {\n  result: Rows,\n}\n\nfn prepareKeys(query: Rows, lane: u32) {}\n\n// The query with the scales of one set of tokens, and its products with what decoding adds.\nstruct Folded {\n  rows: Rows,\n  added: vec4<f32>,\n  largest: vec4<f32>,\n}\n\nfn foldKeys(page: u32, group: u32, lane: u32) -> Folded {\n  // Read again for every page: held, it would cost the registers of four more workgroups.\n  let query = packedQuery(lane);\n  let scale = key_channelParameters(page + key_scaleWord / 4u, group, lane);\n  var offsets = key_offset * scale;\n  if (key_hasZero) {\n    offsets += key_channelParameters(page + key_zeroWord / 4u, group, lane);\n  }\n  let rows = Rows(query.a * scale, query.b * scale, query.c * scale, query.d * scale);\n  return Folded(\n    rows,\n    vec4<f32>(dot(query.a, offsets), dot(query.b, offsets), dot(query.c, offsets), dot(query.d, offsets)),\n    vec4<f32>(largestOf(rows.a), largestOf(rows.b), largestOf(rows.c), largestOf(rows.d)),\n  );\n}\n\nfn storeKeyParts(folded: Folded, factors: vec4<f32>, group: u32, lane: u32) {\n  let parts = partsOf(folded.rows, factors);\n  key_parts[group][lane] = parts.high;\n  if (PARTS == 2u) {\n    key_parts[KEY_SETS + group][lane] = parts.low;\n  }\n}\n\n// All sets of a page share one factor: one reduction, and no more of the 15 bits than their scales differ by.\nfn keyDots(page: u32, lane: u32) -> Rows {\n  let own = lane * KEY_SETS / LANES;\n  var bias = vec4<f32>(0.0);\n  var largest = vec4<f32>(0.0);\n  let a = foldKeys(page, 0u, lane);\n  if (KEY_SETS == 1u) {\n    largest = largestOfLanes(a.largest, lane);\n    bias = sumOfLanes(a.added, lane);\n    storeKeyParts(a, factorsOf(largest), 0u, lane);\n  } else if (KEY_SETS == 2u) {\n    let b = foldKeys(page, 1u, lane);\n    largest = largestOfLanes(max(a.largest, b.largest), lane);\n    bias = sumsByQuarter(a.added, a.added, b.added, b.added, lane);\n    let factors = factorsOf(largest);\n    storeKeyParts(a, factors, 0u, lane);\n    storeKeyParts(b, factors, 1u, lane);\n  } else {\n    let b = foldKeys(page, 1u, lane);\n    let c = foldKeys(page, 2u, lane);\n    let d = foldKeys(page, 3u, lane);\n    largest = largestOfLanes(max(max(a.largest, b.largest), max(c.largest, d.largest)), lane);\n    bias = sumsByQuarter(a.added, b.added, c.added, d.added, lane);\n    let factors = factorsOf(largest);\n    storeKeyParts(a, factors, 0u, lane);\n    storeKeyParts(b, factors, 1u, lane);\n    storeKeyParts(c, factors, 2u, lane);\n    storeKeyParts(d, factors, 3u, lane);\n  }\n  workgroupBarrier();\n  var run: KeyRun;\n  key_run(&run, page, own, lane);\n  let factor = largest * (key_slope / LARGEST_PART);\n  let numbers = run.result;\n  return Rows(\n    numbers.a * factor + bias, numbers.b * factor + bias, numbers.c * factor + bias, numbers.d * factor + bias,\n  );\n}\n\nfn key_group(run: ptr<function, KeyRun>, sums: Sums, group: u32) {\n  (*run).result = numbersOf(sums);\n}\n",
  "integer-parts": "// Numbers as 8-bit integers: one part of 8 bits, or a high and a low one of 15 bits together.\n\nconst LARGEST_PART = select(32512.0, 127.0, PARTS == 1u);\n\nstruct Parts {\n  high: vec4<u32>,\n  low: vec4<u32>,\n}\n\n// Adding this rounds to an integer, half to even, and leaves it in the low bits.\nconst ROUNDER = 12582912.0;\n\n// Packs four numbers of each row, times `factors`, into words.\nfn partsOf(rows: Rows, factors: vec4<f32>) -> Parts {\n  let a = bitcast<vec4<u32>>(rows.a * factors.x + ROUNDER);\n  let b = bitcast<vec4<u32>>(rows.b * factors.y + ROUNDER);\n  let c = bitcast<vec4<u32>>(rows.c * factors.z + ROUNDER);\n  let d = bitcast<vec4<u32>>(rows.d * factors.w + ROUNDER);\n  let low = vec4<u32>(lowBytes(a), lowBytes(b), lowBytes(c), lowBytes(d));\n  if (PARTS == 1u) {\n    return Parts(low, low);\n  }\n  // The low part is signed: what it takes away is added to the high one.\n  let carry = vec4<u32>(128u);\n  return Parts(\n    vec4<u32>(highBytes(a + carry), highBytes(b + carry), highBytes(c + carry), highBytes(d + carry)),\n    low,\n  );\n}\n\nfn lowBytes(v: vec4<u32>) -> u32 {\n  return (v.x & 0xffu) | ((v.y & 0xffu) << 8u) | ((v.z & 0xffu) << 16u) | (v.w << 24u);\n}\n\nfn highBytes(v: vec4<u32>) -> u32 {\n  return ((v.x >> 8u) & 0xffu) | (v.y & 0xff00u) | ((v.z & 0xff00u) << 8u) | ((v.w & 0xff00u) << 16u);\n}\n\n// The factor that makes the largest number the largest integer. Numbers too small to have one are nothing beside the rest.\nfn factorsOf(largest: vec4<f32>) -> vec4<f32> {\n  return select(LARGEST_PART / largest, vec4<f32>(0.0), largest < vec4<f32>(1.0e-30));\n}\n\n// Sums begin at the bits of the rounder, so that they are floating-point numbers when they end: 128 products of 7 and 8 bits\n// stay below 2^22.\nconst SUM_ZERO = 0x4b400000i;\n\nstruct Sums {\n  highA: vec4<i32>,\n  highB: vec4<i32>,\n  highC: vec4<i32>,\n  highD: vec4<i32>,\n  lowA: vec4<i32>,\n  lowB: vec4<i32>,\n  lowC: vec4<i32>,\n  lowD: vec4<i32>,\n}\n\nfn zeroSums() -> Sums {\n  let zero = vec4<i32>(SUM_ZERO);\n  return Sums(zero, zero, zero, zero, zero, zero, zero, zero);\n}\n\nfn numberOf(sum: vec4<i32>) -> vec4<f32> {\n  return bitcast<vec4<f32>>(sum) - ROUNDER;\n}\n\nfn numbersOf(sums: Sums) -> Rows {\n  let high = Rows(numberOf(sums.highA), numberOf(sums.highB), numberOf(sums.highC), numberOf(sums.highD));\n  if (PARTS == 1u) {\n    return high;\n  }\n  return Rows(\n    256.0 * high.a + numberOf(sums.lowA), 256.0 * high.b + numberOf(sums.lowB),\n    256.0 * high.c + numberOf(sums.lowC), 256.0 * high.d + numberOf(sums.lowD),\n  );\n}\n",
  "integer-values-inner": "// Values with groups along tokens: probabilities become integers once a page, scales of channels multiply sums over a group.\n\nstruct ValueRun {\n  // By channel of the lane, a vector over rows.\n  result: Rows,\n  added: Rows,\n  // Probabilities of the lane's tokens together.\n  shares: vec4<f32>,\n  page: u32,\n  lane: u32,\n}\n\nfn valueDots(\n  page: u32, shares: Rows, constants: ptr<function, Rows>, lane: u32,\n) -> Rows {\n  let largest = largestOfLanes(max(max(shares.a, shares.b), max(shares.c, shares.d)), lane);\n  let parts = partsOf(transposed(shares), factorsOf(largest));\n  value_parts[0][lane] = parts.high;\n  if (PARTS == 2u) {\n    value_parts[PARTS - 1u][lane] = parts.low;\n  }\n  workgroupBarrier();\n  var run: ValueRun;\n  run.shares = shares.a + shares.b + shares.c + shares.d;\n  run.page = page;\n  run.lane = lane;\n  value_run(&run, page, 0u, lane);\n  let factor = largest * (value_slope / LARGEST_PART);\n  let numbers = run.result;\n  let added = run.added;\n  return transposed(\n    Rows(\n      numbers.a * factor + added.a, numbers.b * factor + added.b,\n      numbers.c * factor + added.c, numbers.d * factor + added.d,\n    ),\n  );\n}\n\n// Everything is in the sums already.\nfn constantsOf(constants: Rows, lane: u32) -> vec4<f32> {\n  return vec4<f32>(0.0);\n}\n\nfn value_group(run: ptr<function, ValueRun>, sums: Sums, group: u32) {\n  let lane = (*run).lane;\n  let scale = value_channelParameters((*run).page + value_scaleWord / 4u, group, lane);\n  let numbers = numbersOf(sums);\n  (*run).result.a += hiddenBy(numbers.a, scale.x);\n  (*run).result.b += hiddenBy(numbers.b, scale.y);\n  (*run).result.c += hiddenBy(numbers.c, scale.z);\n  (*run).result.d += hiddenBy(numbers.d, scale.w);\n  if (value_hasZero || value_offset != 0.0) {\n    addConstants(run, scale, group);\n  }\n}\n\nfn addConstants(run: ptr<function, ValueRun>, scale: vec4<f32>, group: u32) {\n  let lane = (*run).lane;\n  var offsets = value_offset * scale;\n  if (value_hasZero) {\n    offsets += value_channelParameters((*run).page + value_zeroWord / 4u, group, lane);\n  }\n  let mine = lane * VALUE_GROUPS / LANES == group;\n  let total = sumOfLanes(select(vec4<f32>(0.0), (*run).shares, mine), lane);\n  (*run).added.a += hiddenBy(total, offsets.x);\n  (*run).added.b += hiddenBy(total, offsets.y);\n  (*run).added.c += hiddenBy(total, offsets.z);\n  (*run).added.d += hiddenBy(total, offsets.w);\n}\n\n// A group without tokens in sight may hold any parameters.\nfn hiddenBy(numbers: vec4<f32>, scale: f32) -> vec4<f32> {\n  return select(numbers * scale, vec4<f32>(0.0), numbers == vec4<f32>(0.0));\n}\n",
  "integer-values-outer": "// Values with groups along channels: a scale per token and set of channels is folded into the probabilities, page by page.\n\nstruct ValueRun {\n  result: Rows,\n}\n\n// Probabilities with the scales of one set of channels; what decoding adds goes into `added`.\nfn foldValues(shares: Rows, scales: vec4<f32>, zeros: vec4<f32>, added: ptr<function, vec4<f32>>) -> Rows {\n  // A slot that holds no token may hold any scale.\n  let folded = Rows(\n    hidden(shares.a, scales.x), hidden(shares.b, scales.y), hidden(shares.c, scales.z), hidden(shares.d, scales.w),\n  );\n  *added += value_offset * (folded.a + folded.b + folded.c + folded.d);\n  if (value_hasZero) {\n    *added += hidden(shares.a, zeros.x) + hidden(shares.b, zeros.y) + hidden(shares.c, zeros.z) + hidden(shares.d, zeros.w);\n  }\n  return folded;\n}\n\nfn largestRows(rows: Rows) -> vec4<f32> {\n  return max(max(abs(rows.a), abs(rows.b)), max(abs(rows.c), abs(rows.d)));\n}\n\nfn storeValueParts(folded: Rows, factors: vec4<f32>, group: u32, lane: u32) {\n  let parts = partsOf(transposed(folded), factors);\n  value_parts[group][lane] = parts.high;\n  if (PARTS == 2u) {\n    value_parts[VALUE_SETS + group][lane] = parts.low;\n  }\n}\n\nfn valueDots(page: u32, shares: Rows, constants: ptr<function, Rows>, lane: u32) -> Rows {\n  // By set of channels, a vector over the tokens of the lane.\n  let scales = transposed(value_tokenParameters(page + value_scaleWord / 4u, lane));\n  var zeros = Rows();\n  if (value_hasZero) {\n    zeros = transposed(value_tokenParameters(page + value_zeroWord / 4u, lane));\n  }\n  let a = foldValues(shares, scales.a, zeros.a, &(*constants).a);\n  var largest = largestRows(a);\n  if (VALUE_SETS == 1u) {\n    largest = largestOfLanes(largest, lane);\n    storeValueParts(a, factorsOf(largest), 0u, lane);\n  } else if (VALUE_SETS == 2u) {\n    let b = foldValues(shares, scales.b, zeros.b, &(*constants).b);\n    largest = largestOfLanes(max(largest, largestRows(b)), lane);\n    let factors = factorsOf(largest);\n    storeValueParts(a, factors, 0u, lane);\n    storeValueParts(b, factors, 1u, lane);\n  } else {\n    let b = foldValues(shares, scales.b, zeros.b, &(*constants).b);\n    let c = foldValues(shares, scales.c, zeros.c, &(*constants).c);\n    let d = foldValues(shares, scales.d, zeros.d, &(*constants).d);\n    largest = largestOfLanes(max(max(largest, largestRows(b)), max(largestRows(c), largestRows(d))), lane);\n    let factors = factorsOf(largest);\n    storeValueParts(a, factors, 0u, lane);\n    storeValueParts(b, factors, 1u, lane);\n    storeValueParts(c, factors, 2u, lane);\n    storeValueParts(d, factors, 3u, lane);\n  }\n  workgroupBarrier();\n  var run: ValueRun;\n  value_run(&run, page, lane * VALUE_SETS / LANES, lane);\n  let factor = largest * (value_slope / LARGEST_PART);\n  let numbers = run.result;\n  return transposed(Rows(numbers.a * factor, numbers.b * factor, numbers.c * factor, numbers.d * factor));\n}\n\n// What the channels of this lane share, by row, once all lanes have added theirs.\nfn constantsOf(constants: Rows, lane: u32) -> vec4<f32> {\n  if (VALUE_SETS == 1u) {\n    return sumOfLanes(constants.a, lane);\n  }\n  if (VALUE_SETS == 2u) {\n    return sumsByQuarter(constants.a, constants.a, constants.b, constants.b, lane);\n  }\n  return sumsByQuarter(constants.a, constants.b, constants.c, constants.d, lane);\n}\n\nfn value_group(run: ptr<function, ValueRun>, sums: Sums, group: u32) {\n  (*run).result = numbersOf(sums);\n}\n\nfn hidden(share: vec4<f32>, parameter: f32) -> vec4<f32> {\n  return select(share * parameter, vec4<f32>(0.0), share == vec4<f32>(0.0));\n}\n",
  job: "// What a dispatch is told: numbers of its own, and where its table begins in the ring of commands.\n\nstruct Job {\n  // Index into commands.\n  table: u32,\n  entries: u32,\n  // Always 0, which the compiler cannot know.\n  zero: u32,\n  first: u32,\n}\n\n@group(0) @binding(0) var<uniform> job: Job;\n@group(0) @binding(1) var<storage, read> commands: array<u32>;\n\nconst SOURCE_PACKED = 0u;\nconst SOURCE_WINDOW = 1u;\nconst SOURCE_INPUT = 2u;\nconst WINDOW_TOKENS = 32u;\n\n// One of the two 16-bit halves of a word.\nfn halfAt(word: u32, index: u32) -> u32 {\n  return select(word & 0xffffu, word >> 16u, (index & 1u) != 0u);\n}\n",
  "keys-decoded": "// Keys as they are stored.\n\nfn stageKeys(segment: Segment, token: u32, count: u32, head: u32, statisticsPage: u32, lane: u32) {\n  key_stage(segment.key_source, segment.key_page, head, segment.key_slot + token, count, lane);\n}\n",
  "keys-turned": "// Keys that are held before the rotary embedding: transforms do not commute with it, so each key is decoded, its transforms are\n// undone, and it is turned to its position before it meets the queries. All lanes work on one key at a time.\n\nconst ROW_SIZE = ATTENTION_SIZE;\n\nfn stageKeys(segment: Segment, token: u32, count: u32, head: u32, statisticsPage: u32, lane: u32) {\n  for (var i = 0u; i < count; i += 1u) {\n    let slot = segment.key_slot + token + i;\n    for (var channel = lane; channel < key_headDim; channel += ATTENTION_SIZE) {\n      row_values[channel] = key_element(segment.key_source, segment.key_page, head, slot, channel);\n    }\n    workgroupBarrier();\n    if (segment.key_source == SOURCE_PACKED) {\n      invertRow(head, statisticsPage, 1.0, lane);\n    }\n    turnKey(i * key_headDim, segment.position + token + i, lane);\n    workgroupBarrier();\n  }\n}\n\n// Pairs of channels turn; channels that have no pair stay.\nfn turnKey(to: u32, position: u32, lane: u32) {\n  for (var pair = lane; pair < ROTARY_PAIRS; pair += ATTENTION_SIZE) {\n    let first = select(pair, 2u * pair, ROTARY_ADJACENT);\n    let second = first + select(ROTARY_PAIRS, 1u, ROTARY_ADJACENT);\n    let at = key_frequenciesWord + 2u * pair;\n    let turn = cosineAndSine(turnOf(position, key_memory[at], key_memory[at + 1u]));\n    let a = row_values[first];\n    let b = row_values[second];\n    staged[to + first] = a * turn.x - b * turn.y;\n    staged[to + second] = a * turn.y + b * turn.x;\n  }\n  for (var channel = 2u * ROTARY_PAIRS + lane; channel < key_headDim; channel += ATTENTION_SIZE) {\n    staged[to + channel] = row_values[channel];\n  }\n}\n",
  "lanes-subgroup": "// Reductions over the 32 lanes of a workgroup that is one subgroup.\n\nfn largestOfLanes(value: vec4<f32>, lane: u32) -> vec4<f32> {\n  return subgroupMax(value);\n}\n\nfn sumOfLanes(value: vec4<f32>, lane: u32) -> vec4<f32> {\n  return subgroupAdd(value);\n}\n\n// Sums over all lanes of four vectors; a lane gets the one of its quarter of the lanes.\nfn sumsByQuarter(a: vec4<f32>, b: vec4<f32>, c: vec4<f32>, d: vec4<f32>, lane: u32) -> vec4<f32> {\n  let upperHalf = (lane & 16u) != 0u;\n  let upperQuarter = (lane & 8u) != 0u;\n  let first = select(a, c, upperHalf) + subgroupShuffleXor(select(c, a, upperHalf), 16u);\n  let second = select(b, d, upperHalf) + subgroupShuffleXor(select(d, b, upperHalf), 16u);\n  var sum = select(first, second, upperQuarter) + subgroupShuffleXor(select(second, first, upperQuarter), 8u);\n  sum += subgroupShuffleXor(sum, 4u);\n  sum += subgroupShuffleXor(sum, 2u);\n  sum += subgroupShuffleXor(sum, 1u);\n  return sum;\n}\n",
  "lanes-workgroup": "// Reductions over the 32 lanes of a workgroup through its memory.\n\nvar<workgroup> lane_values: array<vec4<f32>, 32>;\n\nfn largestOfLanes(value: vec4<f32>, lane: u32) -> vec4<f32> {\n  workgroupBarrier();\n  lane_values[lane] = value;\n  for (var stride = 16u; stride > 0u; stride /= 2u) {\n    workgroupBarrier();\n    if (lane < stride) {\n      lane_values[lane] = max(lane_values[lane], lane_values[lane + stride]);\n    }\n  }\n  workgroupBarrier();\n  return lane_values[0];\n}\n\nfn sumOfLanes(value: vec4<f32>, lane: u32) -> vec4<f32> {\n  workgroupBarrier();\n  lane_values[lane] = value;\n  for (var stride = 16u; stride > 0u; stride /= 2u) {\n    workgroupBarrier();\n    if (lane < stride) {\n      lane_values[lane] += lane_values[lane + stride];\n    }\n  }\n  workgroupBarrier();\n  return lane_values[0];\n}\n\n// Sums over all lanes of four vectors; a lane gets the one of its quarter of the lanes.\nfn sumsByQuarter(a: vec4<f32>, b: vec4<f32>, c: vec4<f32>, d: vec4<f32>, lane: u32) -> vec4<f32> {\n  let sumA = sumOfLanes(a, lane);\n  let sumB = sumOfLanes(b, lane);\n  let sumC = sumOfLanes(c, lane);\n  let sumD = sumOfLanes(d, lane);\n  return select(\n    select(sumA, sumB, (lane & 8u) != 0u), select(sumC, sumD, (lane & 8u) != 0u), (lane & 16u) != 0u,\n  );\n}\n",
  merge: "// Combines the splits of a sequence, undoes the transforms of packed values, writes output and log-sum-exp. One workgroup:\n// one query of one query head.\n\nconst ROW_SIZE = MERGE_SIZE;\n// Splits whose factors are held at once.\nconst HELD = 256u;\nconst NOTHING = -3.0e38;\n\n@group(0) @binding(2) var<storage, read> value_memory: array<u32>;\n@group(0) @binding(3) var<storage, read> partials: array<f32>;\n@group(0) @binding(4) var<storage, read_write> outputs: array<f32>;\n@group(0) @binding(5) var<storage, read_write> log_sum_exp: array<u32>;\n\nvar<workgroup> lane_values: array<f32, ROW_SIZE>;\nvar<workgroup> plain_values: array<f32, value_headDim>;\nvar<workgroup> factors: array<f32, HELD>;\nvar<workgroup> lane_packed: array<f32, ROW_SIZE>;\n\n// A row of the table: sequence, query of the sequence. A sequence: first query, queries, length, key statistics,\n// value statistics, first item, items.\n@compute @workgroup_size(ROW_SIZE)\nfn merge(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {\n  let at = job.table + (group.x + group.z * 32768u) * 2u;\n  let sequence = commands[at];\n  let query = commands[at + 1u];\n  let head = group.y / GROUP_HEADS;\n  let row = query * GROUP_HEADS + group.y % GROUP_HEADS;\n  let rows = commands[sequence + 1u] * GROUP_HEADS;\n  let statisticsPage = commands[sequence + 4u];\n  let firstItem = commands[sequence + 5u];\n  let items = commands[sequence + 6u];\n\n  // Partials of the splits lie one block of rows apart.\n  let stride = rows * KV_HEADS * PARTIAL_WORDS;\n  let first = (commands[job.first + firstItem * 4u + 3u] + head * rows + row) * PARTIAL_WORDS;\n  // Lanes that hold a split.\n  let holders = min(items, ROW_SIZE);\n  var maximum = NOTHING;\n  for (var i = lane; i < items; i += ROW_SIZE) {\n    maximum = max(maximum, partials[first + i * stride]);\n  }\n  lane_values[lane] = maximum;\n  workgroupBarrier();\n  for (var i = 0u; i < holders; i += 1u) {\n    maximum = max(maximum, lane_values[i]);\n  }\n  workgroupBarrier();\n  var sum = 0.0;\n  var packedSum = 0.0;\n  for (var i = lane; i < items; i += ROW_SIZE) {\n    let at = first + i * stride;\n    let factor = select(exp(partials[at] - maximum), 0.0, partials[at] <= NOTHING);\n    sum += partials[at + 1u] * factor;\n    packedSum += partials[at + 2u] * factor;\n  }\n  lane_values[lane] = sum;\n  lane_packed[lane] = packedSum;\n  workgroupBarrier();\n  sum = 0.0;\n  packedSum = 0.0;\n  for (var i = 0u; i < holders; i += 1u) {\n    sum += lane_values[i];\n    packedSum += lane_packed[i];\n  }\n  workgroupBarrier();\n  let result = (commands[sequence] + query) * QUERY_HEADS + group.y;\n  let seen = maximum > NOTHING;\n  if (lane == 0u) {\n    // Minus infinity where nothing is visible.\n    log_sum_exp[result] = select(0xff800000u, bitcast<u32>(maximum + log(sum)), seen);\n  }\n  // Sums over splits, one channel to a lane; heads wider than the workgroup take rounds.\n  for (var start = 0u; start < value_headDim; start += ROW_SIZE) {\n    let channel = start + lane;\n    var value = 0.0;\n    var transformed = 0.0;\n    for (var held = 0u; held < items; held += HELD) {\n      let count = min(HELD, items - held);\n      workgroupBarrier();\n      for (var i = lane; i < count; i += ROW_SIZE) {\n        let weight = partials[first + (held + i) * stride];\n        factors[i] = select(exp(weight - maximum), 0.0, weight <= NOTHING);\n      }\n      workgroupBarrier();\n      if (channel < value_headDim) {\n        let at = first + 3u + channel + held * stride;\n        value += weighted(at, stride, count);\n        if (VALUE_TRANSFORMED) {\n          transformed += weighted(at + value_headDim, stride, count);\n        }\n      }\n    }\n    if (channel < value_headDim) {\n      row_values[channel] = transformed;\n      plain_values[channel] = value;\n    }\n  }\n  workgroupBarrier();\n  // Nothing is packed before statistics exist.\n  if (VALUE_TRANSFORMED && (statisticsPage != NO_STATISTICS || !VALUE_MEASURED)) {\n    invertRow(head, statisticsPage, packedSum, lane);\n  }\n  for (var channel = lane; channel < value_headDim; channel += ROW_SIZE) {\n    var value = plain_values[channel];\n    if (VALUE_TRANSFORMED) {\n      value += row_values[channel];\n    }\n    outputs[result * value_headDim + channel] = select(0.0, value / sum, seen);\n  }\n}\n\n// One channel of some splits; eight loads are on their way at once. A split that saw nothing may have left anything.\nfn weighted(at: u32, stride: u32, count: u32) -> f32 {\n  var value = 0.0;\n  var i = 0u;\n  for (; i + 8u <= count; i += 8u) {\n    let a = partials[at + i * stride];\n    let b = partials[at + (i + 1u) * stride];\n    let c = partials[at + (i + 2u) * stride];\n    let d = partials[at + (i + 3u) * stride];\n    let e = partials[at + (i + 4u) * stride];\n    let f = partials[at + (i + 5u) * stride];\n    let g = partials[at + (i + 6u) * stride];\n    let h = partials[at + (i + 7u) * stride];\n    value += shown(a, i) + shown(b, i + 1u) + shown(c, i + 2u) + shown(d, i + 3u);\n    value += shown(e, i + 4u) + shown(f, i + 5u) + shown(g, i + 6u) + shown(h, i + 7u);\n  }\n  for (; i < count; i += 1u) {\n    value += shown(partials[at + i * stride], i);\n  }\n  return value;\n}\n\nfn shown(value: f32, split: u32) -> f32 {\n  return select(value * factors[split], 0.0, factors[split] == 0.0);\n}\n",
  numbers: "// Exact f16 and f32 arithmetic by integers, where WGSL leaves rounding, subnormals or fusing open. docs/law.md 1 and 2.\n\nconst F16_SMALLEST_NORMAL = 0x0400u;\nconst F16_LARGEST = 0x7bffu;\n\n// Hides a value from the optimiser, so that a product and the sum it goes into are rounded one after the other.\nfn exactly(value: f32) -> f32 {\n  return bitcast<f32>(bitcast<u32>(value) ^ job.zero);\n}\n\nfn f16Value(bits: u32) -> f32 {\n  let magnitude = bits & 0x7fffu;\n  let normal = (magnitude << 13u) + 0x38000000u;\n  let special = 0x7f800000u | ((magnitude & 0x3ffu) << 13u);\n  let subnormal = bitcast<u32>(f32(magnitude) * 5.9604644775390625e-8);\n  let large = select(normal, special, magnitude > F16_LARGEST);\n  return bitcast<f32>(select(large, subnormal, magnitude < F16_SMALLEST_NORMAL) | ((bits & 0x8000u) << 16u));\n}\n\n// Nearest f16, ties to even; subnormals, infinity and NaN included.\nfn f16Bits(value: f32) -> u32 {\n  let bits = bitcast<u32>(value);\n  let sign = (bits >> 16u) & 0x8000u;\n  let magnitude = bits & 0x7fffffffu;\n  if (magnitude > 0x7f800000u) {\n    return sign | 0x7e00u;\n  }\n  if (magnitude >= 0x47800000u) {\n    return sign | 0x7c00u;\n  }\n  if (magnitude < 0x38800000u) {\n    let exponent = magnitude >> 23u;\n    if (exponent < 102u) {\n      return sign;\n    }\n    let shift = 126u - exponent;\n    let mantissa = (magnitude & 0x7fffffu) | 0x800000u;\n    let half = (1u << (shift - 1u)) - 1u;\n    return sign | ((mantissa + half + ((mantissa >> shift) & 1u)) >> shift);\n  }\n  let rounded = magnitude + 0xfffu + ((magnitude >> 13u) & 1u);\n  return sign | min((rounded - 0x38000000u) >> 13u, 0x7c00u);\n}\n\n// f16 bits of a scale: raised to the smallest normal number, saturated, sign kept.\nfn scaleBits(value: f32) -> u32 {\n  let bits = f16Bits(value);\n  let magnitude = bits & 0x7fffu;\n  if (magnitude == 0u) {\n    return 0u;\n  }\n  return (bits & 0x8000u) | clamp(magnitude, F16_SMALLEST_NORMAL, F16_LARGEST);\n}\n\n// f16 bits of an offset: saturated, never -0.\nfn offsetBits(value: f32) -> u32 {\n  let bits = f16Bits(value);\n  let magnitude = bits & 0x7fffu;\n  if (magnitude == 0u) {\n    return 0u;\n  }\n  return (bits & 0x8000u) | min(magnitude, F16_LARGEST);\n}\n\n// A guess that is off by at most one, by what it leaves of the difference and half a step.\nfn settledCode(guess: f32, error: f32, half: f32, lowest: f32, highest: f32) -> i32 {\n  var code = guess;\n  if (error > half) {\n    code = guess + 1.0;\n  } else if (error < -half) {\n    code = guess - 1.0;\n  } else if (abs(error) == half && (i32(guess) & 1) != 0) {\n    code = guess + sign(error);\n  }\n  return i32(clamp(code, lowest, highest));\n}\n\n// The integer nearest to difference / scale within [lowest, highest], ties to even, decided by comparing products. scale is\n// a positive f16 number: a product with an integer of at most nine bits is exact.\nfn nearestCodeOfHalf(difference: f32, scale: f32, lowest: f32, highest: f32) -> i32 {\n  let guess = clamp(round(difference / scale), lowest - 1.0, highest + 1.0);\n  let error = difference - exactly(guess * scale);\n  return settledCode(guess, error, 0.5 * scale, lowest, highest);\n}\n\n// The same for an f32 scale: its two halves of twelve bits meet the integer one after the other, each exactly.\nfn nearestCodeOfFloat(difference: f32, scale: f32, lowest: f32, highest: f32) -> i32 {\n  let guess = clamp(round(difference / scale), lowest - 1.0, highest + 1.0);\n  let high = bitcast<f32>(bitcast<u32>(scale) & 0xfffff000u);\n  let low = exactly(scale - high);\n  let error = exactly(exactly(difference - exactly(guess * high)) - exactly(guess * low));\n  return settledCode(guess, error, 0.5 * scale, lowest, highest);\n}\n\n// The 48-bit product of two 24-bit numbers: (high, low).\nfn wideProduct(a: u32, b: u32) -> vec2<u32> {\n  let low = (a & 0xfffu) * (b & 0xfffu);\n  let middle = (a >> 12u) * (b & 0xfffu) + (a & 0xfffu) * (b >> 12u);\n  let high = (a >> 12u) * (b >> 12u);\n  let sum = low + (middle << 12u);\n  let carry = select(0u, 1u, sum < low);\n  return vec2<u32>((middle >> 20u) + (high >> 8u) + carry, sum + (high << 24u)) +\n    vec2<u32>(select(0u, 1u, sum + (high << 24u) < sum), 0u);\n}\n\n// The sign of a b - c, exactly, for positive normal numbers.\nfn compareProduct(a: f32, b: f32, c: f32) -> i32 {\n  let x = bitcast<u32>(a);\n  let y = bitcast<u32>(b);\n  let z = bitcast<u32>(c);\n  let product = wideProduct((x & 0x7fffffu) | 0x800000u, (y & 0x7fffffu) | 0x800000u);\n  // a b = product 2^(ex + ey - 300), c = mantissa 2^(ez - 150): c is moved to the exponent of the product.\n  let shift = i32(z >> 23u) + 150 - i32(x >> 23u) - i32(y >> 23u);\n  let mantissa = (z & 0x7fffffu) | 0x800000u;\n  if (shift < 0) {\n    return 1;\n  }\n  if (shift > 39) {\n    return -1;\n  }\n  var moved = vec2<u32>(0u, 0u);\n  let by = u32(shift);\n  if (by >= 32u) {\n    moved = vec2<u32>(mantissa << (by - 32u), 0u);\n  } else if (by > 0u) {\n    moved = vec2<u32>(mantissa >> (32u - by), mantissa << by);\n  } else {\n    moved = vec2<u32>(0u, mantissa);\n  }\n  if (product.x != moved.x) {\n    return select(-1, 1, product.x > moved.x);\n  }\n  if (product.y != moved.y) {\n    return select(-1, 1, product.y > moved.y);\n  }\n  return 0;\n}\n",
  "pack-atomic": "// Pages whose words are shared by invocations that write different fields of them.\n\n@group(0) @binding(2) var<storage, read_write> scratch: array<u32>;\n@group(0) @binding(3) var<storage, read_write> memory: array<atomic<u32>>;\n\nfn wordAt(index: u32) -> u32 {\n  return atomicLoad(&memory[index]);\n}\n\nfn putField(plane: u32, entry: u32, width: u32, bits: u32) {\n  let bit = entry * width;\n  let at = plane + bit / 32u;\n  atomicAnd(&memory[at], ~insertBits(0u, 0xffffffffu, bit % 32u, width));\n  atomicOr(&memory[at], insertBits(0u, bits, bit % 32u, width));\n}\n",
  "pack-bands": "// Parameters and dense codes of vectors with outlier bands.\n\nstruct Range {\n  minimum: f32,\n  maximum: f32,\n  some: bool,\n}\n\nfn widen(range: ptr<function, Range>, value: f32) {\n  (*range).minimum = select(value, min((*range).minimum, value), (*range).some);\n  (*range).maximum = select(value, max((*range).maximum, value), (*range).some);\n  (*range).some = true;\n}\n\n// Minimum and step; `part` is the reciprocal of the largest code.\nfn affineParameters(range: Range, part: f32) -> vec2<u32> {\n  if (!range.some) {\n    return vec2<u32>(0u, 0u);\n  }\n  let minimum = offsetBits(range.minimum);\n  let width = max(exactly(range.maximum - f16Value(minimum)), 0.0);\n  return vec2<u32>(minimum, scaleBits(exactly(width * part)));\n}\n\n// `first`: index of the first of the elements in the scratch.\nfn vectorParameters(first: u32) -> Parameters {\n  let edges = edgesOf();\n  var outer: Range;\n  var inner: Range;\n  var middle: Range;\n  var largest = 0.0;\n  var anyLow = false;\n  var anyHigh = false;\n  for (var i = 0u; i < tensor_vectorSize; i += 1u) {\n    let value = scratchValue(first + i);\n    let band = bandOf(value, edges);\n    if (band == OUTER) {\n      widen(&outer, outerMagnitude(value, edges));\n    } else if (band == INNER) {\n      widen(&inner, value);\n    } else if (isMember(value)) {\n      let shift = middleShift(value, edges);\n      widen(&middle, shift);\n      largest = max(largest, abs(shift));\n      anyHigh = anyHigh || value >= edges.innerHigh;\n      anyLow = anyLow || value < edges.innerHigh;\n    } else {\n      anyLow = true;\n    }\n  }\n  let outerBits = affineParameters(outer, 1.0 / 15.0);\n  let innerBits = affineParameters(inner, 1.0 / 31.0);\n  var middleBits = vec2<u32>(scaleBits(largest), 0u);\n  if (!tensor_midRise) {\n    // A low side needs a code that decodes below zero.\n    if (middle.some && anyLow) {\n      middle.minimum = min(middle.minimum, SMALLEST_LOW);\n    }\n    middleBits = affineParameters(middle, 1.0 / 15.0);\n    // A high side needs one that does not: the rounded step may fall short of it.\n    if (anyHigh && f16Value(middleBits.x) + 15.0 * f16Value(middleBits.y) < 0.0) {\n      middleBits.y += 1u;\n    }\n  }\n  return Parameters(middleBits.x, middleBits.y, outerBits.x, outerBits.y, innerBits.x, innerBits.y);\n}\n\n@compute @workgroup_size(PACK_SIZE)\nfn packParameters(@builtin(global_invocation_id) id: vec3<u32>) {\n  let pack = packOf(id.z);\n  let run = (pack.slot / RUN + id.x) * RUN;\n  let base = parameterBase(pack.page, id.y);\n  for (var slot = max(run, pack.slot); slot < min(run + RUN, pack.slot + pack.count); slot += 1u) {\n    let parameters = vectorParameters(elementIndex(pack, slot, id.y, 0u));\n    putField(base + tensor_middleWord, slot, 16u, parameters.middle);\n    if (!tensor_midRise) {\n      putField(base + tensor_middleStepWord, slot, 16u, parameters.middleStep);\n    }\n    putField(base + tensor_outerMinimumWord, slot, 16u, parameters.outerMinimum);\n    putField(base + tensor_outerStepWord, slot, 16u, parameters.outerStep);\n    putField(base + tensor_innerMinimumWord, slot, 16u, parameters.innerMinimum);\n    putField(base + tensor_innerStepWord, slot, 16u, parameters.innerStep);\n  }\n}\n\nfn parametersAt(page: u32, head: u32, slot: u32, channel: u32) -> Parameters {\n  return vectorParametersAt(page, head, slot);\n}\n\nfn storedCode(value: f32, parameters: Parameters) -> u32 {\n  let edges = edgesOf();\n  return bandCode(value, bandOf(value, edges), parameters, edges) & 15u;\n}\n",
  "pack-canonical": "// Codes in canonical order: rows of consecutive codes, a code at bit `bits * i` of its row.\n\n@compute @workgroup_size(PACK_SIZE)\nfn packCodes(@builtin(global_invocation_id) id: vec3<u32>) {\n  let pack = packOf(id.z);\n  let head = id.y;\n  // The run of codes that is new: of a channel the packed slots, of a token all channels.\n  var row = 0u;\n  var word = 0u;\n  var first = 0u;\n  var end = tensor_headDim;\n  if (tensor_alongTokens) {\n    first = pack.slot;\n    end = pack.slot + pack.count;\n    let firstWord = first * tensor_bits / 32u;\n    let words = (end * tensor_bits + 31u) / 32u - firstWord;\n    row = id.x / words;\n    word = firstWord + id.x % words;\n    if (row >= tensor_headDim) {\n      return;\n    }\n  } else {\n    row = id.x / tensor_rowWords;\n    word = id.x % tensor_rowWords;\n    if (row >= pack.count) {\n      return;\n    }\n    row += pack.slot;\n  }\n  let headBase = pack.page + head * tensor_headWords;\n  let at = headBase + row * tensor_rowWords + word;\n  var bits = memory[at];\n  let firstBit = word * 32u;\n  let begin = max(first, firstBit / tensor_bits);\n  let until = min(end, (firstBit + 31u) / tensor_bits + 1u);\n  for (var i = begin; i < until; i += 1u) {\n    let slot = select(row, i, tensor_alongTokens);\n    let channel = select(i, row, tensor_alongTokens);\n    let value = scratchValue(elementIndex(pack, slot, head, channel));\n    let code = storedCode(value, parametersAt(pack.page, head, slot, channel));\n    // A 3-bit code may begin in the word before.\n    let position = i32(i * tensor_bits) - i32(firstBit);\n    if (position < 0) {\n      let by = u32(-position);\n      bits = (bits & ~(tensor_codeMask >> by)) | (code >> by);\n    } else {\n      let by = u32(position);\n      bits = (bits & ~(tensor_codeMask << by)) | (code << by);\n    }\n  }\n  memory[at] = bits;\n}\n",
  "pack-codec": "// Groups as a codec encodes them, one after another.\n\n@compute @workgroup_size(PACK_SIZE)\nfn packCodes(@builtin(global_invocation_id) id: vec3<u32>) {\n  let pack = packOf(id.z);\n  let firstEntry = entriesOf(pack.slot);\n  let endEntry = entriesOf(pack.slot + pack.count);\n  let run = (firstEntry / RUN + id.x) * RUN;\n  let base = pack.page + id.y * tensor_headWords;\n  for (var entry = max(run, firstEntry); entry < min(run + RUN, endEntry); entry += 1u) {\n    let group = groupOf(pack, entry, id.y);\n    var values: array<f32, tensor_groupSize>;\n    for (var i = 0u; i < tensor_groupSize; i += 1u) {\n      values[i] = groupValue(group, i);\n    }\n    var words = tensor_codec_encodeGroup(values);\n    for (var i = 0u; i < tensor_groupBytes; i += 1u) {\n      putField(base, entry * tensor_groupBytes + i, 8u, extractBits(words[i / 4u], i % 4u * 8u, 8u));\n    }\n  }\n}\n",
  "pack-groups": "// Groups along tokens or channels, as the rows of the scratch hold them.\n\n// Group number `entry` of a head: [group, channel] along tokens, [slot, group] along channels.\nfn groupOf(pack: Pack, entry: u32, head: u32) -> Group {\n  if (tensor_alongTokens) {\n    let slot = entry / tensor_headDim * tensor_groupSize;\n    return Group(elementIndex(pack, slot, head, entry % tensor_headDim), tensor_heads * tensor_headDim);\n  }\n  let slot = entry / tensor_groupsPerRow;\n  return Group(elementIndex(pack, slot, head, entry % tensor_groupsPerRow * tensor_groupSize), 1u);\n}\n\nfn entriesOf(slots: u32) -> u32 {\n  return select(slots * tensor_groupsPerRow, slots / tensor_groupSize * tensor_headDim, tensor_alongTokens);\n}\n",
  "pack-outliers": "// The sparse bytes of outlier bands, docs/block-format.md 5: in the order of slots, chunks and channels. One workgroup: the\n// new slots of one head of one page, one chunk to a lane. A head that overflows its room is named in `faults`.\n\nconst CHUNK = 64u;\nconst CHUNKS = (tensor_headDim + CHUNK - 1u) / CHUNK;\n\n@group(0) @binding(4) var<storage, read_write> faults: array<atomic<u32>>;\n\nvar<workgroup> counts: array<u32, PACK_SIZE>;\n\n@compute @workgroup_size(PACK_SIZE)\nfn packOutliers(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {\n  let pack = packOf(group.z);\n  let head = group.y;\n  let base = pack.page + head * tensor_headWords;\n  let edges = edgesOf();\n  let items = pack.count * CHUNKS;\n  var end = 0u;\n  if (pack.slot > 0u) {\n    end = fieldAt(base + tensor_endsWord, pack.slot * CHUNKS - 1u, tensor_endWidth);\n  }\n  for (var first = 0u; first < items; first += PACK_SIZE) {\n    let item = first + lane;\n    let slot = pack.slot + min(item, items - 1u) / CHUNKS;\n    let channel = item % CHUNKS * CHUNK;\n    let width = select(0u, min(CHUNK, tensor_headDim - channel), item < items);\n    let element = elementIndex(pack, slot, head, channel);\n    var count = 0u;\n    for (var i = 0u; i < width; i += 1u) {\n      count += select(1u, 0u, bandOf(scratchValue(element + i), edges) == MIDDLE);\n    }\n    counts[lane] = count;\n    workgroupBarrier();\n    var at = end;\n    for (var i = 0u; i < PACK_SIZE; i += 1u) {\n      at += select(0u, counts[i], i < lane);\n      end += counts[i];\n    }\n    workgroupBarrier();\n    if (width > 0u) {\n      putOutliers(base, element, width, at, vectorParametersAt(pack.page, head, slot), edges);\n      let ends = slot * CHUNKS + item % CHUNKS;\n      putField(base + tensor_endsWord, ends, tensor_endWidth, min(at + count, tensor_capacity));\n    }\n  }\n  if (lane == 0u && end > tensor_capacity) {\n    atomicMin(&faults[0], job.entries * 65536u + head);\n  }\n}\n\n// Bytes of one chunk of one slot, from byte `first` on.\nfn putOutliers(base: u32, element: u32, width: u32, first: u32, parameters: Parameters, edges: Edges) {\n  var at = first;\n  for (var i = 0u; i < width; i += 1u) {\n    let value = scratchValue(element + i);\n    let band = bandOf(value, edges);\n    if (band == MIDDLE) {\n      continue;\n    }\n    if (at < tensor_capacity) {\n      putField(base + tensor_outliersWord, at, 8u, i | outlierBits(value, band, parameters, edges));\n    }\n    at += 1u;\n  }\n}\n\n// Bit 6 is set for the outer band; bit 7 for its low side, or the fifth bit of an inner code.\nfn outlierBits(value: f32, band: u32, parameters: Parameters, edges: Edges) -> u32 {\n  if (band == OUTER) {\n    return select(0xc0u, 0x40u, value >= edges.outerHigh);\n  }\n  return (bandCode(value, band, parameters, edges) >> 4u) << 7u;\n}\n",
  "pack-parameters": "// Parameters of groups, and codes from them.\n\n@compute @workgroup_size(PACK_SIZE)\nfn packParameters(@builtin(global_invocation_id) id: vec3<u32>) {\n  let pack = packOf(id.z);\n  let firstEntry = entriesOf(pack.slot);\n  let endEntry = entriesOf(pack.slot + pack.count);\n  let run = (firstEntry / RUN + id.x) * RUN;\n  let base = pack.page + id.y * tensor_headWords;\n  for (var entry = max(run, firstEntry); entry < min(run + RUN, endEntry); entry += 1u) {\n    let parameters = parametersOf(groupOf(pack, entry, id.y));\n    putField(base + tensor_scaleWord, entry, tensor_scaleWidth, parameters.scale);\n    if (tensor_hasZero) {\n      putField(base + tensor_zeroWord, entry, tensor_zeroWidth, parameters.zero);\n    }\n  }\n}\n\nfn parametersAt(page: u32, head: u32, slot: u32, channel: u32) -> Parameters {\n  let base = page + head * tensor_headWords;\n  var entry = 0u;\n  if (tensor_alongTokens) {\n    entry = slot / GROUP_SIZE * tensor_headDim + channel;\n  } else {\n    entry = slot * tensor_groupsPerRow + channel / GROUP_SIZE;\n  }\n  var parameters: Parameters;\n  if (tensor_hasScale) {\n    parameters.scale = fieldAt(base + tensor_scaleWord, entry, tensor_scaleWidth);\n  }\n  if (tensor_hasZero) {\n    parameters.zero = fieldAt(base + tensor_zeroWord, entry, tensor_zeroWidth);\n  }\n  return parameters;\n}\n\n// What is no member of its group has code 0.\nfn storedCode(value: f32, parameters: Parameters) -> u32 {\n  return select(0u, codeOf(value, parameters) & tensor_codeMask, isMember(value));\n}\n",
  "pack-reduction": "// Codes in the order of the reduction, code-places-reduction.wgsl.\n\n@compute @workgroup_size(PACK_SIZE)\nfn packCodes(@builtin(global_invocation_id) id: vec3<u32>) {\n  let pack = packOf(id.z);\n  let head = id.y;\n  let codes = 32u / tensor_bits;\n  // Values: (word of tokens, channel). Keys: (slot, word of channels).\n  var word = 0u;\n  var other = 0u;\n  var first = 0u;\n  var end = tensor_headDim;\n  if (tensor_reducesTokens) {\n    first = pack.slot;\n    end = pack.slot + pack.count;\n    word = first / codes + id.x / tensor_headDim;\n    other = id.x % tensor_headDim;\n    if (word * codes >= end) {\n      return;\n    }\n  } else {\n    let words = tensor_headDim / codes;\n    word = id.x % words;\n    other = pack.slot + id.x / words;\n    if (other >= pack.slot + pack.count) {\n      return;\n    }\n  }\n  let at = pack.page + head * tensor_headWords + codeWord(word, other);\n  var bits = memory[at];\n  for (var i = 0u; i < codes; i += 1u) {\n    let number = word * codes + i;\n    if (number < first || number >= end) {\n      continue;\n    }\n    let slot = select(other, number, tensor_reducesTokens);\n    let channel = select(number, other, tensor_reducesTokens);\n    let value = scratchValue(elementIndex(pack, slot, head, channel));\n    let code = storedCode(value, parametersAt(pack.page, head, slot, channel)) ^ CODE_FLIP;\n    let shift = codePlace(i).y;\n    bits = (bits & ~(tensor_codeMask << shift)) | (code << shift);\n  }\n  memory[at] = bits;\n}\n",
  "pack-tile": "// The residual kernel in one pass: a workgroup takes a tile of one head, slots by channels, out of window pages and the\n// input, measures its groups, and writes their parameters and whole words of codes. A lane keeps a patch of the tile in\n// registers: PATCH_SLOTS slots of PATCH_QUADS times four neighbour channels.\n\nconst TILE_LANES = PATCH_ROWS * PATCH_COLUMNS;\nconst TILE_SLOTS = PATCH_ROWS * PATCH_SLOTS;\nconst PATCH_CHANNELS = 4u * PATCH_QUADS;\nconst TILE_CHANNELS = PATCH_COLUMNS * PATCH_CHANNELS;\nconst TILES_ACROSS = tensor_headDim / TILE_CHANNELS;\nconst TILE_ENTRIES = TILE_SLOTS * TILE_CHANNELS / tensor_groupSize;\nconst PACK_WORDS = 6u;\nconst SPAN_WORDS = 4u;\nconst NO_ROW = 0xffffffffu;\nconst WINDOW_ROW = 0x80000000u;\n\n@group(0) @binding(2) var<storage, read> inputs: array<vec2<u32>>;\n@group(0) @binding(3) var<storage, read_write> memory: array<vec2<u32>>;\n\n// First quad of the tile in every slot: of the input, or of the pages when it is marked.\nvar<workgroup> tile_rows: array<u32, TILE_SLOTS>;\nvar<workgroup> tile_parameters: array<Parameters, TILE_ENTRIES>;\nvar<workgroup> tile_steps: array<vec4<f32>, TILE_ENTRIES>;\n\nstruct Pack {\n  // First word of the page.\n  page: u32,\n  slot: u32,\n  count: u32,\n  // First of the spans it is made of, from the table on, and how many they are.\n  span: u32,\n  spans: u32,\n  // First half of the statistics page.\n  statistics: u32,\n}\n\nfn packOf(number: u32) -> Pack {\n  let at = job.table + number * PACK_WORDS;\n  return Pack(commands[at], commands[at + 1u], commands[at + 2u], commands[at + 3u], commands[at + 4u], commands[at + 5u]);\n}\n\nfn wordAt(index: u32) -> u32 {\n  return memory[index / 2u][index % 2u];\n}\n\nfn putWord(index: u32, word: u32) {\n  memory[index / 2u][index % 2u] = word;\n}\n\n// Bits of a word that are not in the mask stay as they are.\nfn putBits(index: u32, word: u32, mask: u32) {\n  if (mask == 0xffffffffu) {\n    putWord(index, word);\n  } else if (mask != 0u) {\n    putWord(index, (wordAt(index) & ~mask) | (word & mask));\n  }\n}\n\nfn isPacked(pack: Pack, slot: u32) -> bool {\n  return slot - pack.slot < pack.count;\n}\n\n// First quad of a slot of a head. A span: rows of the pack before it, source (1 window, 2 input), first half of the page or of\n// the input, slot.\nfn rowOf(pack: Pack, slot: u32, head: u32) -> u32 {\n  if (!isPacked(pack, slot)) {\n    return NO_ROW;\n  }\n  let row = slot - pack.slot;\n  var span = job.table + pack.span;\n  for (var i = 1u; i < pack.spans; i += 1u) {\n    if (commands[span + SPAN_WORDS] > row) {\n      break;\n    }\n    span += SPAN_WORDS;\n  }\n  let first = commands[span + 2u];\n  let token = row - commands[span] + commands[span + 3u];\n  if (commands[span + 1u] == SOURCE_WINDOW) {\n    return ((first + (head * WINDOW_TOKENS + token) * tensor_headDim) / 4u) | WINDOW_ROW;\n  }\n  return (first + (token * tensor_heads + head) * tensor_headDim) / 4u;\n}\n\nfn quadAt(row: u32, quad: u32) -> vec2<u32> {\n  if (row == NO_ROW) {\n    return vec2<u32>();\n  }\n  if ((row & WINDOW_ROW) != 0u) {\n    return memory[(row & ~WINDOW_ROW) + quad];\n  }\n  return inputs[row + quad];\n}\n\n@compute @workgroup_size(TILE_LANES)\nfn packTile(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {\n  let pack = packOf(group.z);\n  let head = group.y;\n  let firstSlot = (pack.slot / TILE_SLOTS + group.x / TILES_ACROSS) * TILE_SLOTS;\n  let firstChannel = group.x % TILES_ACROSS * TILE_CHANNELS;\n  if (firstSlot >= pack.slot + pack.count) {\n    return;\n  }\n  for (var i = lane; i < TILE_SLOTS; i += TILE_LANES) {\n    tile_rows[i] = rowOf(pack, firstSlot + i, head);\n  }\n  workgroupBarrier();\n  let row = lane / PATCH_COLUMNS;\n  let column = lane % PATCH_COLUMNS;\n  let firstQuad = firstChannel / 4u + column * PATCH_QUADS;\n  var quads: array<vec2<u32>, PATCH_SLOTS * PATCH_QUADS>;\n  for (var s = 0u; s < PATCH_SLOTS; s += 1u) {\n    let at = tile_rows[row * PATCH_SLOTS + s];\n    for (var q = 0u; q < PATCH_QUADS; q += 1u) {\n      quads[s * PATCH_QUADS + q] = quadAt(at, firstQuad + q);\n    }\n  }\n  var values: Patch;\n  for (var i = 0u; i < PATCH_SLOTS * PATCH_QUADS; i += 1u) {\n    values[i] = fourValues(quads[i]);\n  }\n  measurePatch(&values, row, column);\n  workgroupBarrier();\n  for (var entry = lane; entry < TILE_ENTRIES; entry += TILE_LANES) {\n    let parameters = measuredParameters(entry);\n    tile_parameters[entry] = parameters;\n    tile_steps[entry] = stepOf(parameters);\n  }\n  workgroupBarrier();\n  let page = pack.page + head * tensor_headWords;\n  for (var pair = lane; pair < TILE_ENTRIES / 2u; pair += TILE_LANES) {\n    putParameters(pack, page, firstSlot, firstChannel, 2u * pair);\n  }\n  putCodes(&values, pack, page, firstSlot, firstChannel, row, column);\n}\n\n// Two neighbour entries of the tile are a word of each plane.\nfn putParameters(pack: Pack, page: u32, firstSlot: u32, firstChannel: u32, entry: u32) {\n  let low = tile_parameters[entry];\n  let high = tile_parameters[entry + 1u];\n  let mask = select(0u, 0xffffu, isPacked(pack, firstSlot + slotOfEntry(entry))) |\n    select(0u, 0xffff0000u, isPacked(pack, firstSlot + slotOfEntry(entry + 1u)));\n  let word = entryOfTile(firstSlot, firstChannel, entry) / 2u;\n  putBits(page + tensor_scaleWord + word, low.scale | (high.scale << 16u), mask);\n  if (tensor_hasZero) {\n    putBits(page + tensor_zeroWord + word, low.zero | (high.zero << 16u), mask);\n  }\n}\n",
  "pack-top": "// Takes the top outliers out of rows of the scratch, docs/law.md 6, and puts them into their planes. What stays is NaN: no\n// member of any group. One workgroup: one token of one head.\n\nvar<workgroup> ranks: array<u32, tensor_headDim>;\nvar<workgroup> taken: array<u32, tensor_headDim>;\n\n@compute @workgroup_size(PACK_SIZE)\nfn takeOutliers(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {\n  let pack = packOf(group.z);\n  let head = group.y;\n  if (group.x >= pack.count) {\n    return;\n  }\n  let slot = pack.slot + group.x;\n  let first = elementIndex(pack, slot, head, 0u);\n  for (var channel = lane; channel < tensor_headDim; channel += PACK_SIZE) {\n    let value = scratchValue(first + channel);\n    // What is not finite comes last.\n    ranks[channel] = select(0u, magnitudeOf(value) + 1u, isFinite(value));\n  }\n  workgroupBarrier();\n  for (var channel = lane; channel < tensor_headDim; channel += PACK_SIZE) {\n    let rank = ranks[channel];\n    var before = 0u;\n    for (var other = 0u; other < tensor_headDim; other += 1u) {\n      let comesFirst = ranks[other] > rank || (ranks[other] == rank && other < channel);\n      before += select(0u, 1u, comesFirst);\n    }\n    taken[channel] = select(0u, 1u, before < tensor_topCount);\n  }\n  workgroupBarrier();\n  let base = pack.page + head * tensor_headWords;\n  for (var channel = lane; channel < tensor_headDim; channel += PACK_SIZE) {\n    if (taken[channel] == 0u) {\n      continue;\n    }\n    var entry = slot * tensor_topCount;\n    for (var other = 0u; other < channel; other += 1u) {\n      entry += taken[other];\n    }\n    let value = scratchValue(first + channel);\n    putField(base + tensor_topValuesWord, entry, 16u, select(0u, offsetBits(value), isMember(value)));\n    putField(base + tensor_topChannelsWord, entry, tensor_topChannelWidth, channel);\n    scratch[first + channel] = 0x7fc00000u;\n  }\n}\n",
  "pack-words": "// Pages as words: every invocation owns one, or several, and keeps the bits in it that belong to other slots.\n\n@group(0) @binding(2) var<storage, read> scratch: array<u32>;\n@group(0) @binding(3) var<storage, read_write> memory: array<u32>;\n\nfn wordAt(index: u32) -> u32 {\n  return memory[index];\n}\n\nfn putField(plane: u32, entry: u32, width: u32, bits: u32) {\n  let bit = entry * width;\n  let at = plane + bit / 32u;\n  memory[at] = insertBits(memory[at], bits, bit % 32u, width);\n}\n",
  pack: "// The residual kernel: rows of the scratch become parameters and codes of packed pages. What packs runs on, in whatever\n// order the kernels of a quantizer use it.\n\nconst PACK_SIZE = 64u;\nconst PACK_WORDS = 4u;\n// An invocation that owns entries of planes owns four: whole words of every type of parameter.\nconst RUN = 4u;\n\nstruct Pack {\n  // First word of the page.\n  page: u32,\n  slot: u32,\n  count: u32,\n  // Row of the scratch.\n  row: u32,\n}\n\nfn packOf(number: u32) -> Pack {\n  let at = job.table + number * PACK_WORDS;\n  return Pack(commands[at], commands[at + 1u], commands[at + 2u], commands[at + 3u]);\n}\n\nfn elementIndex(pack: Pack, slot: u32, head: u32, channel: u32) -> u32 {\n  return ((slot - pack.slot + pack.row) * tensor_heads + head) * tensor_headDim + channel;\n}\n\nfn scratchValue(index: u32) -> f32 {\n  return bitcast<f32>(scratch[index]);\n}\n\n// Entry `entry` of a plane of entries of `width` bits.\nfn fieldAt(plane: u32, entry: u32, width: u32) -> u32 {\n  let bit = entry * width;\n  return extractBits(wordAt(plane + bit / 32u), bit % 32u, width);\n}\n",
  parameters: "// Parameters of every type, docs/law.md 2: bits of f32 numbers, and f32 numbers of bits. Decoded by integers, because a device\n// may flush subnormal numbers.\n\nconst FLOAT_SMALLEST_NORMAL = 0x00800000u;\nconst FLOAT_LARGEST = 0x7f7fffffu;\nconst E4M3_LARGEST = 0x7eu;\n\nfn magnitudeOf(value: f32) -> u32 {\n  return bitcast<u32>(value) & 0x7fffffffu;\n}\n\n// NaN is no member of a group.\nfn isMember(value: f32) -> bool {\n  return magnitudeOf(value) <= 0x7f800000u;\n}\n\nfn isFinite(value: f32) -> bool {\n  return magnitudeOf(value) < 0x7f800000u;\n}\n\nfn floatValue(bits: u32) -> f32 {\n  return bitcast<f32>(bits);\n}\n\n// Steps of 2^-9 below 2^-6; scales have no sign.\nfn e4m3Value(bits: u32) -> f32 {\n  let field = bits >> 3u;\n  let units = (bits & 7u) + select(8u, 0u, field == 0u);\n  return f32(units) * bitcast<f32>((max(field, 1u) + 117u) << 23u);\n}\n\n// Byte 0 stands for 0.\nfn e8m0Value(bits: u32) -> f32 {\n  return bitcast<f32>(bits << 23u);\n}\n\n// floor(log2 |value|); 128 for an infinite one.\nfn exponentOf(value: f32) -> i32 {\n  let magnitude = magnitudeOf(value);\n  let field = magnitude >> 23u;\n  return select(i32(field) - 127, -118 - i32(countLeadingZeros(magnitude)), field == 0u);\n}\n\nfn powerBits(exponent: i32) -> u32 {\n  return u32(clamp(exponent + 127, 1, 254));\n}\n\n// Bits of scales: `product` is the extent times the reciprocal of the largest code's level, rounded once.\n\nfn floatScaleBits(extent: f32, product: f32) -> u32 {\n  if (magnitudeOf(extent) == 0u) {\n    return 0u;\n  }\n  return (bitcast<u32>(extent) & 0x80000000u) | clamp(magnitudeOf(product), FLOAT_SMALLEST_NORMAL, FLOAT_LARGEST);\n}\n\nfn e4m3ScaleBits(extent: f32, product: f32) -> u32 {\n  if (magnitudeOf(extent) == 0u) {\n    return 0u;\n  }\n  if (product >= 448.0) {\n    return E4M3_LARGEST;\n  }\n  if (product <= 0.001953125) {\n    return 1u;\n  }\n  let bits = bitcast<u32>(product);\n  let own = i32(bits >> 23u) - 127;\n  let exponent = max(own, -6);\n  let mantissa = (bits & 0x7fffffu) | 0x800000u;\n  let shift = u32(20 + exponent - own);\n  let half = (1u << (shift - 1u)) - 1u;\n  // A carry moves into the exponent.\n  return u32((exponent + 6) * 8) + ((mantissa + half + ((mantissa >> shift) & 1u)) >> shift);\n}\n\nfn powerScaleBits(extent: f32, topExponent: i32) -> u32 {\n  return select(powerBits(exponentOf(extent) - topExponent), 0u, magnitudeOf(extent) == 0u);\n}\n\nfn floatOffsetBits(value: f32) -> u32 {\n  let bits = bitcast<u32>(value);\n  let magnitude = bits & 0x7fffffffu;\n  return select((bits & 0x80000000u) | min(magnitude, FLOAT_LARGEST), 0u, magnitude == 0u);\n}\n",
  "quantize-extent": "// A scale of the largest magnitude of a group over the largest level of its table, docs/law.md 4.\n\nfn extentParameters(group: Group) -> Parameters {\n  var largest = 0.0;\n  for (var i = 0u; i < GROUP_SIZE; i += 1u) {\n    let value = groupValue(group, i);\n    if (isMember(value)) {\n      largest = max(largest, abs(value));\n    }\n  }\n  return Parameters(storeScale(largest, tensor_levelStep), 0u);\n}\n",
  "quantize-hybrid": "// Symmetric or asymmetric by the smaller sum of errors, docs/law.md 5; the sign bit of the scale says which.\n\nfn hybridParameters(group: Group) -> Parameters {\n  let symmetric = symmetricParameters(group);\n  let asymmetric = rangeParameters(group);\n  let symmetricScale = scaleValue(symmetric.scale);\n  let asymmetricScale = scaleValue(asymmetric.scale);\n  let zero = zeroValue(asymmetric.zero);\n  var symmetricErrors: Tree;\n  var asymmetricErrors: Tree;\n  for (var i = 0u; i < GROUP_SIZE; i += 1u) {\n    let value = groupValue(group, i);\n    let first = exactly(signedCode(symmetricCode(value, symmetric)) * symmetricScale);\n    let second = exactly(exactly(f32(uniformCode(value, asymmetric)) * asymmetricScale) + zero);\n    treeAdd(&symmetricErrors, select(0.0, abs(exactly(first - value)), isMember(value)));\n    treeAdd(&asymmetricErrors, select(0.0, abs(exactly(second - value)), isMember(value)));\n  }\n  let first = treeSum(&symmetricErrors);\n  let second = treeSum(&asymmetricErrors);\n  if (second < first || (second == first && tensor_tieAsymmetric)) {\n    return Parameters(asymmetric.scale | tensor_scaleSign, asymmetric.zero);\n  }\n  return symmetric;\n}\n\nfn hybridCode(value: f32, parameters: Parameters) -> u32 {\n  if ((parameters.scale & tensor_scaleSign) != 0u) {\n    return uniformCode(value, parameters);\n  }\n  return symmetricCode(value, parameters);\n}\n",
  "quantize-levels": "// Codes of level tables, docs/law.md 4: how many scaled middles between neighbouring levels lie below a value.\n\nfn levelCode(value: f32, scale: f32) -> u32 {\n  if (scale <= 0.0) {\n    return 0u;\n  }\n  var code = 0u;\n  for (var step = tensor_firstStep; step > 0u; step >>= 1u) {\n    let middle = code + step - 1u;\n    if (middle < tensor_middleCount && value > exactly(bitcast<f32>(memory[tensor_middlesWord + middle]) * scale)) {\n      code += step;\n    }\n  }\n  return code;\n}\n",
  "quantize-range": "// Parameters of groups over their minimum, docs/law.md 3: a zero, and a scale of the range.\n\nfn rangeParameters(group: Group) -> Parameters {\n  var minimum = 0.0;\n  var maximum = 0.0;\n  var some = false;\n  for (var i = 0u; i < GROUP_SIZE; i += 1u) {\n    let value = groupValue(group, i);\n    if (!isMember(value)) {\n      continue;\n    }\n    minimum = select(value, min(minimum, value), some);\n    maximum = select(value, max(maximum, value), some);\n    some = true;\n  }\n  return rangeBetween(minimum, maximum);\n}\n\nfn uniformCode(value: f32, parameters: Parameters) -> u32 {\n  let scale = scaleValue(parameters.scale & tensor_scaleMagnitude);\n  if (scale == 0.0) {\n    return 0u;\n  }\n  return u32(nearestCode(exactly(value - zeroValue(parameters.zero)), scale, 0.0, tensor_rangeTop));\n}\n",
  "quantize-roots": "// A scale that is the root mean square of its group, docs/law.md 4.\n\nfn rootParameters(group: Group) -> Parameters {\n  var squares: Tree;\n  var members = 0u;\n  for (var i = 0u; i < GROUP_SIZE; i += 1u) {\n    let value = groupValue(group, i);\n    if (isMember(value)) {\n      members += 1u;\n      treeAdd(&squares, exactly(value * value));\n    } else {\n      treeAdd(&squares, 0.0);\n    }\n  }\n  // Reciprocals of counts; that of none is 0.\n  let share = bitcast<f32>(memory[tensor_sharesWord + members]);\n  return Parameters(storeRoot(exactly(treeSum(&squares) * share)), 0u);\n}\n",
  "quantize-symmetric": "// Parameters and codes of groups around zero, docs/law.md 4.\n\nfn symmetricParameters(group: Group) -> Parameters {\n  var extreme = 0.0;\n  for (var i = 0u; i < GROUP_SIZE; i += 1u) {\n    let value = groupValue(group, i);\n    if (isMember(value) && abs(value) > abs(extreme)) {\n      extreme = value;\n    }\n  }\n  return parametersAround(extreme);\n}\n\nfn symmetricCode(value: f32, parameters: Parameters) -> u32 {\n  let scale = scaleValue(parameters.scale);\n  if (scale == 0.0) {\n    return 0u;\n  }\n  let numerator = select(value, -value, scale < 0.0);\n  return u32(nearestCode(numerator, abs(scale), tensor_lowestCode, tensor_highestCode)) & tensor_codeMask;\n}\n",
  "query-mean": "// A mean taken from the keys comes back as a constant of the query: the lanes add up their terms.\n\nfn addConstant(term: f32, lane: u32) {\n  terms[lane] = term;\n  workgroupBarrier();\n  if (lane == 0u) {\n    var total = 0.0;\n    for (var i = 0u; i < ROW_SIZE; i += 1u) {\n      total += terms[i];\n    }\n    added += total;\n  }\n  workgroupBarrier();\n}\n",
  query: "// Turns queries into what attention reads: f32 as they are, then what meets packed keys, then what is added to each dot\n// product with one. One workgroup: one query of one query head.\n\nconst ROW_SIZE = 64u;\n\n@group(0) @binding(2) var<storage, read> key_memory: array<u32>;\n@group(0) @binding(3) var<storage, read> source: array<u32>;\n@group(0) @binding(4) var<storage, read_write> queries: array<f32>;\n\nvar<workgroup> terms: array<f32, ROW_SIZE>;\nvar<workgroup> added: f32;\n\n// The element type of the source: 0 f32, 1 f16, 2 bf16.\nfn sourceValue(index: u32) -> f32 {\n  if (job.entries == 0u) {\n    return bitcast<f32>(source[index]);\n  }\n  let bits = halfAt(source[index / 2u], index);\n  return select(f16Value(bits), bitcast<f32>(bits << 16u), job.entries == 2u);\n}\n\n// A row of the table: sequence, query of the sequence.\n@compute @workgroup_size(ROW_SIZE)\nfn prepareQuery(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {\n  let at = job.table + (group.x + group.z * 32768u) * 2u;\n  let sequence = commands[at];\n  let query = (commands[sequence] + commands[at + 1u]) * QUERY_HEADS + group.y;\n  let statisticsPage = commands[sequence + 3u];\n  let head = group.y / GROUP_HEADS;\n  for (var channel = lane; channel < key_headDim; channel += ROW_SIZE) {\n    let value = sourceValue(job.first + query * key_headDim + channel);\n    queries[query * QUERY_WORDS + channel] = value;\n    row_values[channel] = value;\n  }\n  // Nothing is packed before statistics exist.\n  if (KEY_TRANSFORMED && (statisticsPage != NO_STATISTICS || !KEY_MEASURED)) {\n    if (lane == 0u) {\n      added = 0.0;\n    }\n    workgroupBarrier();\n    transformQuery(head, statisticsPage, lane);\n    for (var channel = lane; channel < key_headDim; channel += ROW_SIZE) {\n      queries[query * QUERY_WORDS + key_headDim + channel] = row_values[channel];\n    }\n    if (lane == 0u) {\n      queries[query * QUERY_WORDS + 2u * key_headDim] = added;\n    }\n  }\n}\n",
  roots: "// Bits of scales that are the root of a mean of squares, docs/law.md 4: the number of the type nearest to the square root, ties\n// to even, decided by comparing squares exactly.\n\nfn halfRootBits(square: f32) -> u32 {\n  var bits = f16Bits(sqrt(square));\n  loop {\n    let middle = squareOf(0.5 * (f16Value(bits) + f16Value(max(bits, 1u) - 1u)));\n    if (bits == 0u || !(middle > square || (middle == square && (bits & 1u) != 0u))) {\n      break;\n    }\n    bits -= 1u;\n  }\n  loop {\n    let middle = squareOf(0.5 * (f16Value(bits) + f16Value(bits + 1u)));\n    if (bits >= F16_LARGEST || !(middle < square || (middle == square && (bits & 1u) != 0u))) {\n      break;\n    }\n    bits += 1u;\n  }\n  return scaleBits(f16Value(bits));\n}\n\nfn e4m3RootBits(square: f32) -> u32 {\n  let root = sqrt(square);\n  var bits = e4m3ScaleBits(square, root);\n  loop {\n    let middle = squareOf(0.5 * (e4m3Value(bits) + e4m3Value(max(bits, 1u) - 1u)));\n    if (bits <= 1u || !(middle > square || (middle == square && (bits & 1u) != 0u))) {\n      break;\n    }\n    bits -= 1u;\n  }\n  loop {\n    let middle = squareOf(0.5 * (e4m3Value(bits) + e4m3Value(bits + 1u)));\n    if (bits == 0u || bits >= E4M3_LARGEST || !(middle < square || (middle == square && (bits & 1u) != 0u))) {\n      break;\n    }\n    bits += 1u;\n  }\n  return bits;\n}\n\n// s is the f32 number nearest to the root when s prev(s) < square <= s next(s).\nfn floatRootBits(square: f32) -> u32 {\n  if (magnitudeOf(square) == 0u) {\n    return 0u;\n  }\n  var bits = bitcast<u32>(sqrt(square));\n  while (compareProduct(bitcast<f32>(bits), bitcast<f32>(bits - 1u), square) >= 0) {\n    bits -= 1u;\n  }\n  while (compareProduct(bitcast<f32>(bits), bitcast<f32>(bits + 1u), square) < 0) {\n    bits += 1u;\n  }\n  return floatScaleBits(square, bitcast<f32>(bits));\n}\n\nfn powerRootBits(square: f32) -> u32 {\n  // An arithmetic shift rounds down.\n  return select(powerBits(exponentOf(square) >> 1u), 0u, magnitudeOf(square) == 0u);\n}\n\n// Exact: middles of f16 numbers have twelve bits.\nfn squareOf(middle: f32) -> f32 {\n  return exactly(middle * middle);\n}\n",
  rotary: "// The cosine and sine of position * frequency, docs/law.md 9. A frequency is a number of turns in units of 2^-64, so that whole\n// turns vanish in integer products at any position; what is left has 32 bits.\n\n// The low 64 bits of position * frequency are a part of a turn; these are the high 32 of them.\nfn turnOf(position: u32, high: u32, low: u32) -> u32 {\n  let a = position & 0xffffu;\n  let b = position >> 16u;\n  let c = low & 0xffffu;\n  let d = low >> 16u;\n  let middle = a * d + ((a * c) >> 16u);\n  let carry = b * c + (middle & 0xffffu);\n  return position * high + b * d + (middle >> 16u) + (carry >> 16u);\n}\n\n// Cosine and sine of a turn. Within an eighth of a turn of a quarter, series are exact to the last bit but one of f32.\nfn cosineAndSine(turn: u32) -> vec2<f32> {\n  let quarter = (turn + 0x20000000u) >> 30u;\n  let angle = f32(i32(turn - (quarter << 30u))) * 1.4629180792671596e-9;\n  let square = angle * angle;\n  let sine = angle + angle * square * (-1.0 / 6.0 + square * (1.0 / 120.0 + square * (-1.0 / 5040.0 + square / 362880.0)));\n  let cosine = 1.0 - 0.5 * square +\n    square * square * (1.0 / 24.0 + square * (-1.0 / 720.0 + square * (1.0 / 40320.0 - square / 3628800.0)));\n  let swapped = select(vec2<f32>(cosine, sine), vec2<f32>(sine, cosine), (quarter & 1u) != 0u);\n  let negative = vec2<bool>(((quarter + 1u) & 2u) != 0u, (quarter & 2u) != 0u);\n  return select(swapped, -swapped, negative);\n}\n",
  "row-order": "// A permutation of the channels of a row: channel c becomes what was channel order[c].\n\nfn tensor_order(first: u32, head: u32, channel: u32) -> u32 {\n  return tensor_memory[first + head * tensor_headDim + channel];\n}\n\nfn orderRow(first: u32, head: u32, lane: u32) {\n  var kept: array<f32, (tensor_headDim + ROW_SIZE - 1u) / ROW_SIZE>;\n  for (var i = 0u; i * ROW_SIZE + lane < tensor_headDim; i += 1u) {\n    kept[i] = row_values[tensor_order(first, head, i * ROW_SIZE + lane)];\n  }\n  workgroupBarrier();\n  for (var i = 0u; i * ROW_SIZE + lane < tensor_headDim; i += 1u) {\n    row_values[i * ROW_SIZE + lane] = kept[i];\n  }\n  workgroupBarrier();\n}\n\nfn disorderRow(first: u32, head: u32, lane: u32) {\n  var kept: array<f32, (tensor_headDim + ROW_SIZE - 1u) / ROW_SIZE>;\n  for (var i = 0u; i * ROW_SIZE + lane < tensor_headDim; i += 1u) {\n    kept[i] = row_values[i * ROW_SIZE + lane];\n  }\n  workgroupBarrier();\n  for (var i = 0u; i * ROW_SIZE + lane < tensor_headDim; i += 1u) {\n    row_values[tensor_order(first, head, i * ROW_SIZE + lane)] = kept[i];\n  }\n  workgroupBarrier();\n}\n",
  row: "// Steps of transforms on one row of one head in workgroup memory, docs/law.md 7. `tensor_memory` begins with the numbers of the\n// calibration and holds the statistics pages. Composed with a kernel that has ROW_SIZE lanes.\n\nvar<workgroup> row_values: array<f32, tensor_headDim>;\n\n// A statistic of the sequence: [measured transform, head, channel] from half `page` on.\nfn tensor_statistic(page: u32, plane: u32, head: u32, channel: u32) -> f32 {\n  let index = page + (plane * tensor_heads + head) * tensor_headDim + channel;\n  return f16Value(halfAt(tensor_memory[index / 2u], index));\n}\n\n// A number of the calibration: [head, channel] from word `first` on.\nfn tensor_calibrated(first: u32, head: u32, channel: u32) -> f32 {\n  return bitcast<f32>(tensor_memory[first + head * tensor_headDim + channel]);\n}\n\n// 1 or -1: the top bit of a hash of seed and channel.\nfn signOf(seed: u32, channel: u32) -> f32 {\n  var hash = seed + channel * 0x9e3779b9u;\n  hash = (hash ^ (hash >> 16u)) * 0x85ebca6bu;\n  hash = (hash ^ (hash >> 13u)) * 0xc2b2ae35u;\n  hash ^= hash >> 16u;\n  return select(1.0, -1.0, (hash & 0x80000000u) != 0u);\n}\n\n// The butterfly of strides 1, 2, 4, ... and one multiply.\nfn rotateRow(lane: u32) {\n  for (var stride = 1u; stride < tensor_headDim; stride *= 2u) {\n    for (var pair = lane; pair < tensor_headDim / 2u; pair += ROW_SIZE) {\n      let first = (pair / stride) * 2u * stride + pair % stride;\n      let a = row_values[first];\n      let b = row_values[first + stride];\n      row_values[first] = exactly(a + b);\n      row_values[first + stride] = exactly(a - b);\n    }\n    workgroupBarrier();\n  }\n  for (var channel = lane; channel < tensor_headDim; channel += ROW_SIZE) {\n    row_values[channel] = exactly(row_values[channel] * tensor_rotationFactor);\n  }\n  workgroupBarrier();\n}\n",
  "stage-bands": "// Vectors with outlier bands, eight channels to a lane: one word of codes, and the bytes of its outliers in their order.\n\nfn tensor_stagePacked(page: u32, head: u32, slot: u32, count: u32, lane: u32) {\n  let base = page + head * tensor_headWords;\n  let parameters = tensor_parameterBase(page, head);\n  for (var i = lane; i < count * tensor_rowWords; i += ATTENTION_SIZE) {\n    let at = slot + i / tensor_rowWords;\n    let first = i % tensor_rowWords * 8u;\n    let codes = tensor_memory[base + slot * tensor_rowWords + i];\n    let bytes = tensor_outliersOf(base, at, first);\n    var next = tensor_findOutlier(base, bytes, first % 64u);\n    for (var channel = first; channel < min(first + 8u, tensor_headDim); channel += 1u) {\n      let code = (codes >> (4u * (channel - first))) & 15u;\n      let outlier = tensor_outlierAt(base, bytes, next, channel % 64u);\n      staged[(at - slot) * tensor_headDim + channel] = tensor_bandValue(parameters, at, code, outlier);\n      next += select(1u, 0u, outlier == tensor_NO_OUTLIER);\n    }\n  }\n}\n",
  "stage-codec": "// Groups of a codec are decoded as wholes, one to a lane.\n\nfn tensor_stagePacked(page: u32, head: u32, slot: u32, count: u32, lane: u32) {\n  let base = (page + head * tensor_headWords) * 4u;\n  if (!tensor_alongTokens) {\n    for (var i = lane; i < count * tensor_groupsPerRow; i += ATTENTION_SIZE) {\n      var values = tensor_codec_decodeGroup(base + (slot * tensor_groupsPerRow + i) * tensor_groupBytes);\n      for (var element = 0u; element < tensor_groupSize; element += 1u) {\n        staged[i * tensor_groupSize + element] = values[element];\n      }\n    }\n    return;\n  }\n  let firstRow = slot / tensor_groupSize;\n  let rows = (slot + count - 1u) / tensor_groupSize + 1u - firstRow;\n  for (var i = lane; i < rows * tensor_headDim; i += ATTENTION_SIZE) {\n    var values = tensor_codec_decodeGroup(base + (firstRow * tensor_headDim + i) * tensor_groupBytes);\n    let start = (firstRow + i / tensor_headDim) * tensor_groupSize;\n    for (var at = max(slot, start); at < min(slot + count, start + tensor_groupSize); at += 1u) {\n      staged[(at - slot) * tensor_headDim + i % tensor_headDim] = values[at - start];\n    }\n  }\n}\n",
  stage: "// Decodes tokens that lie in one page, or in the input, into workgroup memory.\n\nfn tensor_stage(source: u32, page: u32, head: u32, slot: u32, count: u32, lane: u32) {\n  if (source == SOURCE_PACKED) {\n    tensor_stagePacked(page, head, slot, count, lane);\n    return;\n  }\n  for (var i = lane; i < count * tensor_headDim; i += ATTENTION_SIZE) {\n    staged[i] = tensor_element(source, page, head, slot + i / tensor_headDim, i % tensor_headDim);\n  }\n}\n",
  staged: "// Decoded tokens, [token, channel].\n\nvar<workgroup> staged: array<f32, STAGED * STAGED_CHANNELS>;\n",
  "statistics-mean": "// The mean of a channel: a sum over the pairwise tree of tokens and one multiply. 0 where it is small beside the mean absolute\n// deviation. What is not finite counts as 0.\n\nfn statisticBits(head: u32, channel: u32, tokens: u32, share: f32) -> u32 {\n  var tree: Tree;\n  for (var t = 0u; t < tokens; t += 1u) {\n    let value = rowValue(t, head, channel);\n    treeAdd(&tree, select(0.0, value, isFinite(value)));\n  }\n  let bits = offsetBits(exactly(treeSum(&tree) * share));\n  if (MINIMUM_OFFSET == 0.0) {\n    return bits;\n  }\n  let mean = f16Value(bits);\n  var deviations: Tree;\n  for (var t = 0u; t < tokens; t += 1u) {\n    let term = abs(exactly(rowValue(t, head, channel) - mean));\n    treeAdd(&deviations, select(0.0, term, isFinite(term)));\n  }\n  let deviation = exactly(treeSum(&deviations) * share);\n  return select(0u, bits, abs(mean) >= exactly(MINIMUM_OFFSET * deviation));\n}\n\nfn sharedBits() -> u32 {\n  return NONE;\n}\n",
  "statistics-scale": "// The reciprocal of n = sqrt(max |x|), nearest in f16, decided by comparing products exactly.\n\nfn statisticBits(head: u32, channel: u32, tokens: u32, share: f32) -> u32 {\n  var largest = 0.0;\n  for (var t = 0u; t < tokens; t += 1u) {\n    let value = abs(rowValue(t, head, channel));\n    largest = select(largest, max(largest, value), isFinite(value));\n  }\n  if (largest == 0.0) {\n    return ONE;\n  }\n  let maximum = clamp(largest, CLAMP_LOW_SQUARE, CLAMP_HIGH_SQUARE);\n  var bits = f16Bits(1.0 / sqrt(maximum));\n  while (bits > 1u && compareProduct(squareOfMiddle(bits), maximum, 1.0) > 0) {\n    bits -= 1u;\n  }\n  while (bits < F16_LARGEST && compareProduct(squareOfMiddle(bits + 1u), maximum, 1.0) < 0) {\n    bits += 1u;\n  }\n  return bits;\n}\n\n// Middles of neighbouring f16 numbers have twelve bits, their squares 24.\nfn squareOfMiddle(upper: u32) -> f32 {\n  let middle = 0.5 * (f16Value(upper) + f16Value(upper - 1u));\n  return exactly(middle * middle);\n}\n\n// All factors of the head are 1 where median r < min r * minimumSpread. Positive f16 numbers order as their bits do.\nfn sharedBits() -> u32 {\n  var smallest = 0x7fffu;\n  for (var c = 0u; c < tensor_headDim; c += 1u) {\n    smallest = min(smallest, statistic_bits[c]);\n  }\n  var median = 0u;\n  for (var c = 0u; c < tensor_headDim; c += 1u) {\n    var below = 0u;\n    var equal = 0u;\n    for (var other = 0u; other < tensor_headDim; other += 1u) {\n      below += select(0u, 1u, statistic_bits[other] < statistic_bits[c]);\n      equal += select(0u, 1u, statistic_bits[other] == statistic_bits[c]);\n    }\n    if (below <= tensor_headDim / 2u && tensor_headDim / 2u < below + equal) {\n      median = statistic_bits[c];\n    }\n  }\n  let below = f16Value(median) < exactly(f16Value(smallest) * MINIMUM_SPREAD);\n  return select(NONE, ONE, below);\n}\n",
  "statistics-tensor": "// One factor for all heads and channels: LARGEST over the largest finite magnitude, nearest in f16, ties to even, decided by\n// comparing products exactly. Every head finds the same one.\n\n// Bits of the largest magnitude of a channel over tokens and heads: they order as their numbers do.\nfn statisticBits(head: u32, channel: u32, tokens: u32, share: f32) -> u32 {\n  var largest = 0u;\n  for (var token = 0u; token < tokens; token += 1u) {\n    for (var other = 0u; other < tensor_heads; other += 1u) {\n      let value = rowValue(token, other, channel);\n      largest = select(largest, max(largest, magnitudeOf(value)), isFinite(value));\n    }\n  }\n  return largest;\n}\n\nfn sharedBits() -> u32 {\n  var largest = 0u;\n  for (var c = 0u; c < tensor_headDim; c += 1u) {\n    largest = max(largest, statistic_bits[c]);\n  }\n  if (largest == 0u) {\n    return ONE;\n  }\n  let maximum = bitcast<f32>(largest);\n  // 2^-14 and below it, 65504 and above it.\n  if (compareProduct(0.00006103515625, maximum, LARGEST) >= 0) {\n    return F16_SMALLEST_NORMAL;\n  }\n  if (compareProduct(65504.0, maximum, LARGEST) <= 0) {\n    return F16_LARGEST;\n  }\n  var bits = clamp(f16Bits(LARGEST / maximum), F16_SMALLEST_NORMAL, F16_LARGEST);\n  while (bits > F16_SMALLEST_NORMAL && isBelow(bits, maximum)) {\n    bits -= 1u;\n  }\n  while (bits < F16_LARGEST && isAbove(bits, maximum)) {\n    bits += 1u;\n  }\n  return bits;\n}\n\n// Whether the quotient lies below what rounds to these bits.\nfn isBelow(bits: u32, maximum: f32) -> bool {\n  let side = compareProduct(0.5 * (f16Value(bits) + f16Value(bits - 1u)), maximum, LARGEST);\n  return side > 0 || (side == 0 && (bits & 1u) != 0u);\n}\n\nfn isAbove(bits: u32, maximum: f32) -> bool {\n  let side = compareProduct(0.5 * (f16Value(bits) + f16Value(bits + 1u)), maximum, LARGEST);\n  return side < 0 || (side == 0 && (bits & 1u) != 0u);\n}\n",
  statistics: "// Statistics that a transform takes from the sequence itself, docs/law.md 7: f16 numbers per head and channel, from rows of\n// the scratch to which the transforms before it have been applied. One workgroup: one head of one sequence.\n\nconst STATISTICS_SIZE = 64u;\n\n@group(0) @binding(2) var<storage, read> scratch: array<u32>;\n@group(0) @binding(3) var<storage, read_write> memory: array<u32>;\n\nvar<workgroup> statistic_bits: array<u32, tensor_headDim>;\nvar<workgroup> shared_bits: u32;\n\nconst ONE = 0x3c00u;\n// No number that all channels of the head take.\nconst NONE = 0xffffffffu;\n\n// An entry of the table: first half of the plane of this transform, tokens, the f32 number nearest to 1 / tokens.\n@compute @workgroup_size(STATISTICS_SIZE)\nfn measure(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {\n  let at = job.table + group.x * 3u;\n  let head = group.y;\n  let tokens = commands[at + 1u];\n  let share = bitcast<f32>(commands[at + 2u]);\n  for (var channel = lane; channel < tensor_headDim; channel += STATISTICS_SIZE) {\n    statistic_bits[channel] = statisticBits(head, channel, tokens, share);\n  }\n  workgroupBarrier();\n  if (lane == 0u) {\n    shared_bits = sharedBits();\n  }\n  workgroupBarrier();\n  let plane = (commands[at] + head * tensor_headDim) / 2u;\n  for (var pair = lane; pair < tensor_headDim / 2u; pair += STATISTICS_SIZE) {\n    let bits = statistic_bits[2u * pair] | (statistic_bits[2u * pair + 1u] << 16u);\n    memory[plane + pair] = select(shared_bits * 0x10001u, bits, shared_bits == NONE);\n  }\n}\n\nfn rowValue(row: u32, head: u32, channel: u32) -> f32 {\n  return bitcast<f32>(scratch[(row * tensor_heads + head) * tensor_headDim + channel]);\n}\n",
  "tile-channels": "// Groups along channels of a tile, which is as wide as the head: entry (slot, group). Several columns of lanes have a group.\n\nconst TILE_GROUPS = TILE_CHANNELS / tensor_groupSize;\nconst GROUP_COLUMNS = tensor_groupSize / PATCH_CHANNELS;\n// One more than a slot has columns: lanes that read one column of several slots meet different banks.\nconst COLUMN_STRIDE = PATCH_COLUMNS + 1u;\n\nvar<workgroup> tile_first: array<f32, TILE_SLOTS * COLUMN_STRIDE>;\nvar<workgroup> tile_second: array<f32, TILE_SLOTS * COLUMN_STRIDE>;\n\nfn measurePatch(values: ptr<function, Patch>, row: u32, column: u32) {\n  for (var s = 0u; s < PATCH_SLOTS; s += 1u) {\n    var part = across((*values)[s * PATCH_QUADS]);\n    for (var q = 1u; q < PATCH_QUADS; q += 1u) {\n      part = joined(part, across((*values)[s * PATCH_QUADS + q]));\n    }\n    let at = (row * PATCH_SLOTS + s) * COLUMN_STRIDE + column;\n    tile_first[at] = part.x;\n    tile_second[at] = part.y;\n  }\n}\n\nfn measuredParameters(entry: u32) -> Parameters {\n  let at = entry / TILE_GROUPS * COLUMN_STRIDE + entry % TILE_GROUPS * GROUP_COLUMNS;\n  var part = vec2<f32>(tile_first[at], tile_second[at]);\n  for (var i = 1u; i < GROUP_COLUMNS; i += 1u) {\n    part = joined(part, vec2<f32>(tile_first[at + i], tile_second[at + i]));\n  }\n  return parametersOf(part);\n}\n\nfn slotOfEntry(entry: u32) -> u32 {\n  return entry / TILE_GROUPS;\n}\n\n// Number of an entry of the tile in its plane.\nfn entryOfTile(firstSlot: u32, firstChannel: u32, entry: u32) -> u32 {\n  return firstSlot * TILE_GROUPS + entry;\n}\n\nfn quadSteps(row: u32, column: u32, q: u32) -> Steps {\n  return Steps();\n}\n\n// Of a slot of the lane, the same for its channels.\nfn slotSteps(steps: Steps, row: u32, column: u32, s: u32) -> Steps {\n  let step = tile_steps[(row * PATCH_SLOTS + s) * TILE_GROUPS + column / GROUP_COLUMNS];\n  return Steps(step.xxxx, step.yyyy, step.zzzz, step.wwww);\n}\n",
  "tile-extreme": "// What tiles measure for groups around zero: the first element of largest magnitude.\n\nstruct Seen {\n  first: vec4<f32>,\n  second: vec4<f32>,\n}\n\nfn nothingSeen() -> Seen {\n  return Seen();\n}\n\nfn see(seen: Seen, values: vec4<f32>) -> Seen {\n  return Seen(select(seen.first, values, abs(values) > abs(seen.first)), vec4<f32>());\n}\n\nfn joined(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {\n  return select(a, b, abs(b.x) > abs(a.x));\n}\n\nfn across(values: vec4<f32>) -> vec2<f32> {\n  var extreme = 0.0;\n  for (var i = 0u; i < 4u; i += 1u) {\n    extreme = select(extreme, values[i], abs(values[i]) > abs(extreme));\n  }\n  return vec2<f32>(extreme, 0.0);\n}\n\nfn parametersOf(part: vec2<f32>) -> Parameters {\n  return parametersAround(part.x);\n}\n\n// A scale below zero turns the group round.\nfn stepOf(parameters: Parameters) -> vec4<f32> {\n  let scale = scaleValue(parameters.scale);\n  return stepOver(abs(scale), select(1.0, -1.0, scale < 0.0));\n}\n\nfn differences(values: vec4<f32>, signs: vec4<f32>) -> vec4<f32> {\n  return values * signs;\n}\n\nconst FIRST_CODE = tensor_lowestCode;\nconst LAST_CODE = tensor_highestCode;\n",
  "tile-halves": "// f16 numbers of a tile as f32, four at a time.\n\nalias Patch = array<vec4<f32>, PATCH_SLOTS * PATCH_QUADS>;\n\n// f16Value without conversions: numbers are read 2^112 too large, subnormal ones less the bit that they do not have.\nfn fourValues(quad: vec2<u32>) -> vec4<f32> {\n  let halves = vec4<u32>(quad.x << 16u, quad.x, quad.y << 16u, quad.y);\n  let magnitudes = (halves >> vec4<u32>(3u)) & vec4<u32>(0x0fffe000u);\n  let small = magnitudes < vec4<u32>(0x00800000u);\n  let large = bitcast<vec4<f32>>(magnitudes + select(vec4<u32>(0x70000000u), vec4<u32>(0x70800000u), small));\n  let values = large * 1.925929944387236e-34 - select(vec4<f32>(0.0), vec4<f32>(6.103515625e-5), small);\n  return bitcast<vec4<f32>>(bitcast<vec4<u32>>(values) | (halves & vec4<u32>(0x80000000u)));\n}\n",
  "tile-nearest": "// Codes of four elements at once: nearestCodeOfHalf, with a product by the reciprocal for the quotient.\n\n// How a group becomes codes. `offset` is what `differences` makes of it.\nstruct Steps {\n  scale: vec4<f32>,\n  offset: vec4<f32>,\n  inverse: vec4<f32>,\n  // Half the scale; more than any error where the scale is 0, and the only code with it.\n  half: vec4<f32>,\n}\n\n// 1.5 2^23. The sum with a number is rounded to an integer, which is in its low bits then.\nconst ROUNDER = 12582912.0;\n\nfn stepOver(scale: f32, offset: f32) -> vec4<f32> {\n  if (scale == 0.0) {\n    return vec4<f32>(0.0, offset, 0.0, 3.4028234663852886e38);\n  }\n  return vec4<f32>(scale, offset, 1.0 / scale, 0.5 * scale);\n}\n\nfn exactlyFour(values: vec4<f32>) -> vec4<f32> {\n  return bitcast<vec4<f32>>(bitcast<vec4<u32>>(values) ^ vec4<u32>(job.zero));\n}\n\nfn fourCodes(values: vec4<f32>, steps: Steps) -> vec4<u32> {\n  var difference = exactlyFour(differences(values, steps.offset));\n  if (LIMITED) {\n    difference = clamp(difference, FIRST_CODE * steps.scale, LAST_CODE * steps.scale);\n  }\n  var sum = exactlyFour(difference * steps.inverse + ROUNDER);\n  let error = difference - (sum - ROUNDER) * steps.scale;\n  // Rare: the product was off, or the element lies half-way.\n  if (!all(abs(error) < steps.half)) {\n    sum = settledSum(sum, error, steps.half);\n  }\n  return bitcast<vec4<u32>>(sum) & vec4<u32>(tensor_codeMask);\n}\n\n// See settledCode.\nfn settledSum(sum: vec4<f32>, error: vec4<f32>, half: vec4<f32>) -> vec4<f32> {\n  let odd = (bitcast<vec4<u32>>(sum) & vec4<u32>(1u)) != vec4<u32>(0u);\n  let above = (error > half) | ((error == half) & odd);\n  let below = (error < -half) | ((error == -half) & odd);\n  return sum + select(vec4<f32>(0.0), vec4<f32>(1.0), above) - select(vec4<f32>(0.0), vec4<f32>(1.0), below);\n}\n",
  "tile-range": "// What tiles measure for groups over their minimum: minima and maxima.\n\nconst LARGEST = 3.4028234663852886e38;\n\nstruct Seen {\n  first: vec4<f32>,\n  second: vec4<f32>,\n}\n\nfn nothingSeen() -> Seen {\n  return Seen(vec4<f32>(LARGEST), vec4<f32>(-LARGEST));\n}\n\nfn see(seen: Seen, values: vec4<f32>) -> Seen {\n  return Seen(min(seen.first, values), max(seen.second, values));\n}\n\nfn joined(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {\n  return vec2<f32>(min(a.x, b.x), max(a.y, b.y));\n}\n\nfn across(values: vec4<f32>) -> vec2<f32> {\n  return vec2<f32>(min(min(values.x, values.y), min(values.z, values.w)), max(max(values.x, values.y), max(values.z, values.w)));\n}\n\n// A group of nothing but NaN has seen no range.\nfn parametersOf(part: vec2<f32>) -> Parameters {\n  if (part.x > part.y) {\n    return Parameters(0u, 0u);\n  }\n  return rangeBetween(part.x, part.y);\n}\n\nfn stepOf(parameters: Parameters) -> vec4<f32> {\n  return stepOver(scaleValue(parameters.scale), zeroValue(parameters.zero));\n}\n\nfn differences(values: vec4<f32>, zeros: vec4<f32>) -> vec4<f32> {\n  return values - zeros;\n}\n\nconst FIRST_CODE = 0.0;\nconst LAST_CODE = tensor_rangeTop;\n",
  "tile-tokens": "// Groups along tokens of a tile: entry (group, channel). Every row of lanes has a part of a group.\n\nconst GROUP_ROWS = tensor_groupSize / PATCH_SLOTS;\nconst STEPS = PATCH_QUADS;\n\nvar<workgroup> tile_first: array<f32, PATCH_ROWS * TILE_CHANNELS>;\nvar<workgroup> tile_second: array<f32, PATCH_ROWS * TILE_CHANNELS>;\n\nfn measurePatch(values: ptr<function, Patch>, row: u32, column: u32) {\n  for (var q = 0u; q < PATCH_QUADS; q += 1u) {\n    var seen = nothingSeen();\n    for (var s = 0u; s < PATCH_SLOTS; s += 1u) {\n      seen = see(seen, (*values)[s * PATCH_QUADS + q]);\n    }\n    let at = row * TILE_CHANNELS + column * PATCH_CHANNELS + 4u * q;\n    for (var i = 0u; i < 4u; i += 1u) {\n      tile_first[at + i] = seen.first[i];\n      tile_second[at + i] = seen.second[i];\n    }\n  }\n}\n\nfn measuredParameters(entry: u32) -> Parameters {\n  let at = entry / TILE_CHANNELS * GROUP_ROWS * TILE_CHANNELS + entry % TILE_CHANNELS;\n  var part = vec2<f32>(tile_first[at], tile_second[at]);\n  for (var i = 1u; i < GROUP_ROWS; i += 1u) {\n    part = joined(part, vec2<f32>(tile_first[at + i * TILE_CHANNELS], tile_second[at + i * TILE_CHANNELS]));\n  }\n  return parametersOf(part);\n}\n\nfn slotOfEntry(entry: u32) -> u32 {\n  return entry / TILE_CHANNELS * tensor_groupSize;\n}\n\n// Number of an entry of the tile in its plane.\nfn entryOfTile(firstSlot: u32, firstChannel: u32, entry: u32) -> u32 {\n  return (firstSlot / tensor_groupSize + entry / TILE_CHANNELS) * tensor_headDim + firstChannel + entry % TILE_CHANNELS;\n}\n\n// Of quad q of the lane, whatever the slot.\nfn quadSteps(row: u32, column: u32, q: u32) -> Steps {\n  let at = row / GROUP_ROWS * TILE_CHANNELS + column * PATCH_CHANNELS + 4u * q;\n  let steps = transpose(mat4x4<f32>(tile_steps[at], tile_steps[at + 1u], tile_steps[at + 2u], tile_steps[at + 3u]));\n  return Steps(steps[0], steps[1], steps[2], steps[3]);\n}\n\nfn slotSteps(steps: Steps, row: u32, column: u32, s: u32) -> Steps {\n  return steps;\n}\n",
  tree: "// Sums over the fixed pairwise tree, docs/law.md 5.\n\n// Sums f32 terms over the fixed pairwise tree, one after the other as they come.\nstruct Tree {\n  levels: array<f32, 12>,\n  count: u32,\n}\n\nfn treeAdd(tree: ptr<function, Tree>, term: f32) {\n  var sum = term;\n  var level = 0u;\n  var full = (*tree).count;\n  while ((full & 1u) != 0u) {\n    sum = exactly((*tree).levels[level] + sum);\n    full >>= 1u;\n    level += 1u;\n  }\n  (*tree).levels[level] = sum;\n  (*tree).count += 1u;\n}\n\n// The last of an odd number of terms moves up unchanged: what is left over is added from the smallest subtree on.\nfn treeSum(tree: ptr<function, Tree>) -> f32 {\n  var sum = 0.0;\n  var some = false;\n  var full = (*tree).count;\n  for (var level = 0u; full != 0u; level += 1u) {\n    if ((full & 1u) != 0u) {\n      sum = select((*tree).levels[level], exactly((*tree).levels[level] + sum), some);\n      some = true;\n    }\n    full >>= 1u;\n  }\n  return sum;\n}\n",
  "values-plain": "// Weighted sums of values that are decoded one by one, one channel to a lane, and the sum of the weights.\n\nfn addValues(segment: Segment, start: u32, tokens: u32, head: u32, lane: u32, sums: ptr<function, array<vec4<f32>, CHANNELS>>) -> vec4<f32> {\n  // Of a lane without a channel nobody asks it.\n  var total = vec4<f32>(0.0);\n  for (var c = 0u; c < CHANNELS; c += 1u) {\n    let channel = c * ATTENTION_SIZE + lane;\n    if (channel >= value_headDim) {\n      break;\n    }\n    var sum = vec4<f32>(0.0);\n    total = vec4<f32>(0.0);\n    for (var t = 0u; t < tokens; t += 1u) {\n      let slot = segment.value_slot + start + t;\n      let weight = tile_weights[t];\n      total += weight;\n      sum += weighted(weight, value_element(segment.value_source, segment.value_page, head, slot, channel));\n    }\n    (*sums)[c] = sum;\n  }\n  return total;\n}\n",
  "values-staged": "// Weighted sums of values that all lanes decode together into workgroup memory, a few tokens at a time, and the sum of the\n// weights.\n\nfn addValues(segment: Segment, start: u32, tokens: u32, head: u32, lane: u32, sums: ptr<function, array<vec4<f32>, CHANNELS>>) -> vec4<f32> {\n  var total = vec4<f32>(0.0);\n  for (var first = 0u; first < tokens; first += STAGED) {\n    let count = min(STAGED, tokens - first);\n    let slot = segment.value_slot + start + first;\n    value_stage(segment.value_source, segment.value_page, head, slot, count, lane);\n    workgroupBarrier();\n    for (var t = 0u; t < count; t += 1u) {\n      total += tile_weights[first + t];\n    }\n    for (var c = 0u; c < CHANNELS; c += 1u) {\n      let channel = c * ATTENTION_SIZE + lane;\n      if (channel >= value_headDim) {\n        break;\n      }\n      var sum = (*sums)[c];\n      for (var t = 0u; t < count; t += 1u) {\n        sum += weighted(tile_weights[first + t], staged[t * value_headDim + channel]);\n      }\n      (*sums)[c] = sum;\n    }\n    workgroupBarrier();\n  }\n  return total;\n}\n",
  "words-across": "// Code words of a patch that hold neighbour channels of one slot.\n\nconst SLOT_WORDS = PATCH_CHANNELS * tensor_bits / 32u;\n\nfn putCodes(values: ptr<function, Patch>, pack: Pack, page: u32, firstSlot: u32, firstChannel: u32, row: u32, column: u32) {\n  var words: array<u32, PATCH_SLOTS * SLOT_WORDS>;\n  for (var w = 0u; w < PATCH_SLOTS * SLOT_WORDS; w += 1u) {\n    words[w] = 0u;\n  }\n  for (var q = 0u; q < PATCH_QUADS; q += 1u) {\n    let steps = quadSteps(row, column, q);\n    for (var s = 0u; s < PATCH_SLOTS; s += 1u) {\n      let codes = fourCodes((*values)[s * PATCH_QUADS + q], slotSteps(steps, row, column, s)) ^ vec4<u32>(CODE_FLIP);\n      for (var i = 0u; i < 4u; i += 1u) {\n        let place = codePlace(4u * q + i);\n        let at = s * SLOT_WORDS + place.x;\n        words[at] |= codes[i] << place.y;\n        if (place.y + tensor_bits > 32u) {\n          words[at + 1u] |= codes[i] >> (32u - place.y);\n        }\n      }\n    }\n  }\n  let word = (firstChannel + column * PATCH_CHANNELS) * tensor_bits / 32u;\n  for (var s = 0u; s < PATCH_SLOTS; s += 1u) {\n    let slot = firstSlot + row * PATCH_SLOTS + s;\n    if (isPacked(pack, slot)) {\n      for (var w = 0u; w < SLOT_WORDS; w += 1u) {\n        putWord(page + codeWord(word + w, slot), words[s * SLOT_WORDS + w]);\n      }\n    }\n  }\n}\n",
  "words-down": "// Code words of a patch that hold neighbour slots of one channel.\n\nconst PATCH_WORDS = PATCH_SLOTS * tensor_bits / 32u;\n\nfn putCodes(values: ptr<function, Patch>, pack: Pack, page: u32, firstSlot: u32, firstChannel: u32, row: u32, column: u32) {\n  let slot = firstSlot + row * PATCH_SLOTS;\n  for (var q = 0u; q < PATCH_QUADS; q += 1u) {\n    let steps = quadSteps(row, column, q);\n    var words: array<vec4<u32>, PATCH_WORDS>;\n    for (var w = 0u; w < PATCH_WORDS; w += 1u) {\n      words[w] = vec4<u32>(0u);\n    }\n    for (var s = 0u; s < PATCH_SLOTS; s += 1u) {\n      let codes = fourCodes((*values)[s * PATCH_QUADS + q], slotSteps(steps, row, column, s)) ^ vec4<u32>(CODE_FLIP);\n      let place = codePlace(s);\n      words[place.x] |= codes << vec4<u32>(place.y);\n      if (place.y + tensor_bits > 32u) {\n        words[place.x + 1u] |= codes >> vec4<u32>(32u - place.y);\n      }\n    }\n    let channel = firstChannel + column * PATCH_CHANNELS + 4u * q;\n    let isWhole = isPacked(pack, slot) && isPacked(pack, slot + PATCH_SLOTS - 1u);\n    for (var w = 0u; w < PATCH_WORDS; w += 1u) {\n      var mask = 0xffffffffu;\n      if (!isWhole) {\n        mask = packedBits(pack, slot, w);\n      }\n      for (var i = 0u; i < 4u; i += 1u) {\n        putBits(page + codeWord(slot * tensor_bits / 32u + w, channel + i), words[w][i], mask);\n      }\n    }\n  }\n}\n\n// Bits of word w of the patch whose slots are packed now. Codes that lie across two words are in patches that are whole.\nfn packedBits(pack: Pack, slot: u32, w: u32) -> u32 {\n  var mask = 0u;\n  for (var s = 0u; s < PATCH_SLOTS; s += 1u) {\n    let place = codePlace(s);\n    if (place.x == w && isPacked(pack, slot + s)) {\n      mask |= tensor_codeMask << place.y;\n    }\n  }\n  return mask;\n}\n",
  write: "// Copies runs of rows of the input into slots of window pages, WRITE_HALVES channels at a time. One workgroup: one run of one\n// head.\n\nconst WRITE_SIZE = 128u;\n\n@group(0) @binding(2) var<storage, read> inputs: array<Piece>;\n@group(0) @binding(3) var<storage, read_write> memory: array<Piece>;\n\n// A row of the table: first half of the window page, slot, first half of the first input row, rows.\n@compute @workgroup_size(WRITE_SIZE)\nfn write(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {\n  let at = job.table + (group.x + group.z * 32768u) * 4u;\n  let head = group.y;\n  let pieces = tensor_headDim / WRITE_HALVES;\n  let source = commands[at + 2u] / WRITE_HALVES + head * pieces;\n  let destination = commands[at] / WRITE_HALVES + (head * WINDOW_TOKENS + commands[at + 1u]) * pieces;\n  for (var i = lane; i < commands[at + 3u] * pieces; i += WRITE_SIZE) {\n    memory[destination + i] = inputs[source + i / pieces * tensor_heads * pieces + i % pieces];\n  }\n}\n"
};

// packages/backend-webgpu/src/shaders/compose.ts
function composeShader(constants, pieces, features = []) {
  const enabled = features.map((feature) => `enable ${feature};`);
  const body = pieces.map(textOf).join("\n");
  const names = new Set(body.match(/\w+/g));
  const lines = Object.entries(constants).filter(([name]) => names.has(name)).map(([name, value]) => `const ${name} = ${literal2(value)};`);
  return [...enabled, ...lines, body].join("\n");
}
function textOf(piece) {
  if (typeof piece === "string") return SHADER_PARTS[piece];
  if ("text" in piece) return piece.text;
  return SHADER_PARTS[piece.part].replace(/\btensor_/g, piece.prefix);
}
function literal2(value) {
  if (typeof value === "boolean") return String(value);
  if (typeof value === "number") return `${value}u`;
  return "f32" in value ? float2(value.f32) : `${value.i32}i`;
}
function float2(value) {
  return `${Math.fround(value)}f`;
}

// packages/backend-webgpu/src/shaders/programs.ts
function program(entryPoint, code, bindings) {
  return { name: entryPoint, code, entryPoint, bindings };
}
function functionText(signature, lines) {
  return `fn ${signature} {
${lines.map((line) => `  ${line}
`).join("")}}
`;
}

// packages/backend-webgpu/src/shaders/quantizer-pieces.ts
var VALUE = {
  f16: "f16Value(bits)",
  f32: "floatValue(bits)",
  e4m3: "e4m3Value(bits)",
  e8m0: "e8m0Value(bits)"
};
var STORED_SCALE = {
  f16: "scaleBits(exactly(extent * step))",
  f32: "floatScaleBits(extent, exactly(extent * step))",
  e4m3: "e4m3ScaleBits(extent, exactly(extent * step))",
  e8m0: "powerScaleBits(extent, tensor_topExponent)"
};
var STORED_ROOT = {
  f16: "halfRootBits(square)",
  f32: "floatRootBits(square)",
  e4m3: "e4m3RootBits(square)",
  e8m0: "powerRootBits(square)"
};
function parameterText({ parameters }, prefix = "") {
  const { scale = "f16", zero = "f16" } = parameters;
  const text = [
    oneLine(`${prefix}scaleValue(bits: u32) -> f32`, VALUE[scale]),
    oneLine(`${prefix}zeroValue(bits: u32) -> f32`, VALUE[zero])
  ];
  return { text: text.join("") };
}
function groupParameterPieces(scheme) {
  const { scale = "f16", zero = "f16" } = scheme.parameters;
  const stored = [
    oneLine("storeScale(extent: f32, step: f32) -> u32", STORED_SCALE[scale]),
    oneLine(
      "storeZero(value: f32) -> u32",
      `${zero === "f32" ? "floatOffsetBits" : "offsetBits"}(value)`
    )
  ].join("");
  return ["group-parameters", parameterText(scheme), { text: stored }];
}
function quantizerPieces(scheme) {
  const { quantizer: quantizer2, parameters } = scheme;
  const { scale = "f16" } = parameters;
  const nearest = scale === "f32" ? "nearestCodeOfFloat" : "nearestCodeOfHalf";
  const nearestText = [
    "const GROUP_SIZE = tensor_groupSize;\n",
    oneLine(
      "nearestCode(difference: f32, scale: f32, lowest: f32, highest: f32) -> i32",
      `${nearest}(difference, scale, lowest, highest)`
    )
  ].join("");
  const common = ["group", ...groupParameterPieces(scheme), { text: nearestText }];
  const { mode, codes } = quantizer2;
  if (typeof codes === "object") {
    if (mode === "asymmetric")
      return [
        ...common,
        "quantize-range",
        "quantize-levels",
        calls("rangeParameters(group)", {
          value: "exactly(value - zeroValue(parameters.zero))",
          scale: "scaleValue(parameters.scale)"
        })
      ];
    if (codes.scaledBy === "none")
      return [
        ...common,
        "quantize-levels",
        calls("Parameters()", { value: "value", scale: "1.0" })
      ];
    const levels = { value: "value", scale: "scaleValue(parameters.scale)" };
    if (codes.scaledBy === "absoluteMaximum")
      return [
        ...common,
        "quantize-extent",
        "quantize-levels",
        calls("extentParameters(group)", levels)
      ];
    const root = oneLine("storeRoot(square: f32) -> u32", STORED_ROOT[scale]);
    return [
      ...common,
      "tree",
      "roots",
      { text: root },
      "quantize-roots",
      "quantize-levels",
      calls("rootParameters(group)", levels)
    ];
  }
  if (mode === "asymmetric")
    return [
      ...common,
      "quantize-range",
      functions("rangeParameters(group)", "uniformCode(value, parameters)")
    ];
  if (mode === "symmetric")
    return [
      ...common,
      "quantize-symmetric",
      functions("symmetricParameters(group)", "symmetricCode(value, parameters)")
    ];
  return [
    ...common,
    "tree",
    "quantize-range",
    "quantize-symmetric",
    "quantize-hybrid",
    functions("hybridParameters(group)", "hybridCode(value, parameters)")
  ];
}
function calls(parameters, code) {
  return functions(parameters, `levelCode(${code.value}, ${code.scale})`);
}
function functions(parameters, code) {
  const text = [
    oneLine("parametersOf(group: Group) -> Parameters", parameters),
    oneLine("codeOf(value: f32, parameters: Parameters) -> u32", code)
  ];
  return { text: text.join("") };
}
function oneLine(signature, result) {
  return `fn ${signature} { return ${result}; }
`;
}

// packages/backend-webgpu/src/shaders/tensor-constants.ts
var WIDTH = { f16: 16, f32: 32, e4m3: 8, e8m0: 8 };
var SIGN = {
  f16: 32768,
  f32: 2147483648,
  e4m3: 0,
  e8m0: 0
};
function tensorConstants(plan, numbers, order, prefix) {
  const { layout, scheme, heads, headDim } = plan;
  const constants = {
    heads,
    headDim,
    rotationFactor: { f32: 1 / Math.sqrt(headDim) }
  };
  if (layout !== null && scheme.bits !== 16) {
    Object.assign(constants, layoutConstants(plan, layout), parameterConstants(scheme, layout));
    Object.assign(constants, outlierConstants(plan, layout, numbers));
    if (order === "reduction") Object.assign(constants, reductionConstants(plan, layout));
    Object.assign(constants, quantizerConstants(scheme), levelConstants(plan, numbers));
  }
  return Object.fromEntries(
    Object.entries(constants).map(([name, value]) => [prefix + name, value])
  );
}
function layoutConstants(plan, layout) {
  return {
    bits: layout.bits,
    codeMask: 2 ** layout.bits - 1,
    alongTokens: layout.tokensPerGroup > 1,
    groupSize: groupSize(plan),
    groupBytes: layout.codes.rowBytes,
    groupsPerRow: layout.headDim / layout.channelsPerGroup,
    rowWords: layout.codes.rowBytes / 4,
    headWords: layout.headBytes / 4
  };
}
function parameterConstants({ parameters }, layout) {
  const planeOf = (name) => layout.parameters.find((plane) => plane.name === name);
  const [scale, zero] = [planeOf("scale"), planeOf("zero")];
  const type = parameters.scale ?? "f16";
  const width = WIDTH[type];
  return {
    hasScale: scale !== void 0,
    scaleWord: (scale?.offset ?? 0) / 4,
    scaleWidth: width,
    scaleSign: SIGN[type],
    scaleMagnitude: 2 ** width - 1 - SIGN[type],
    hasZero: zero !== void 0,
    zeroWord: (zero?.offset ?? 0) / 4,
    zeroWidth: WIDTH[parameters.zero ?? "f16"]
  };
}
function outlierConstants({ scheme }, layout, numbers) {
  const { sparse, top, parametersShared, heads, headDim } = layout;
  if (top !== void 0) {
    return {
      topCount: top.count,
      topValuesWord: top.values.offset / 4,
      topChannelsWord: top.channels.offset / 4,
      topChannelWidth: 8 * top.channels.entryBytes
    };
  }
  if (sparse === null || scheme.bits === 16) return {};
  const planes = Object.fromEntries(
    layout.parameters.map(({ name, offset }) => [`${name}Word`, offset / 4])
  );
  return {
    ...planes,
    middleWord: planes.middleMaximumWord ?? planes.middleMinimumWord,
    middleStepWord: planes.middleStepWord ?? 0,
    midRise: scheme.quantizer.codes === "midRise",
    sharedParameters: parametersShared,
    vectorSize: parametersShared ? heads * headDim : headDim,
    edgesWord: numbers.edges,
    endsWord: sparse.endOffsets.offset / 4,
    endWidth: 8 * sparse.endOffsets.entryBytes,
    outliersWord: sparse.entries.offset / 4,
    capacity: sparse.entries.capacity
  };
}
function quantizerConstants({ bits, quantizer: quantizer2 }) {
  const hybrid = quantizer2.mode === "hybrid";
  const half = 2 ** (bits - 1);
  const top = quantizer2.codes === "signmag" ? half - 1 : half;
  const rangeTop = 2 ** (hybrid ? quantizer2.asymmetricBits : bits) - 1;
  return {
    rangeTop: { f32: rangeTop },
    rangeStep: { f32: 1 / rangeTop },
    symmetricStep: { f32: 1 / top },
    lowestCode: { f32: quantizer2.codes === "signmag" ? 1 - half : -half },
    highestCode: { f32: half - 1 },
    signedScale: quantizer2.codes === "fullSigned",
    tieAsymmetric: hybrid && quantizer2.tie === "asymmetric",
    topExponent: { i32: exponentOf(top) }
  };
}
function levelConstants(plan, numbers) {
  const table = tableOf(plan);
  if (table === null) return {};
  const levels = levelsOf(table);
  const last = levels.at(-1);
  const top = Math.max(-levels[0], last);
  return {
    levelsWord: numbers.levels,
    middlesWord: numbers.middles,
    sharesWord: numbers.shares,
    middleCount: levels.length - 1,
    firstStep: 2 ** (Math.ceil(Math.log2(levels.length)) - 1),
    levelStep: { f32: 1 / top },
    rangeStep: { f32: 1 / last },
    topExponent: { i32: exponentOf(top) }
  };
}
function exponentOf(value) {
  const [bits] = new Uint32Array(Float32Array.of(value).buffer);
  return bits >>> 23 === 0 ? -118 - Math.clz32(bits) : (bits >>> 23) - 127;
}
function reductionConstants(plan, layout) {
  const { flip, slope, offset } = linearCodes(plan);
  const field = 2 ** 8 - 2 ** (8 - layout.bits);
  const alongTokens = layout.codes.rows === "channels";
  const sets = alongTokens === (plan.tensor === "key") ? alongTokens ? layout.blockTokens / layout.tokensPerGroup : layout.headDim / layout.channelsPerGroup : 1;
  return {
    blockTokens: layout.blockTokens,
    reducesTokens: plan.tensor === "value",
    codeFlip: flip,
    fieldMask: field * 16843009,
    // A field in the high bits of a byte is too large by the bits below it.
    slope: { f32: slope / 2 ** (8 - layout.bits) },
    offset: { f32: offset },
    sets
  };
}

// packages/backend-webgpu/src/shaders/transform-steps.ts
function packingPieces(plan, numbers, count2 = transformsOf(plan).length) {
  const lines = stepsOf(plan, numbers, "tensor_").slice(0, count2).flatMap(packingLines);
  return [
    ...rowParts(plan, "tensor_"),
    { text: functionText("transformRow(head: u32, page: u32, lane: u32)", lines) }
  ];
}
function rowParts(plan, prefix) {
  const parts = [{ part: "row", prefix }];
  if (hasKind(plan, "channelOrder")) parts.push({ part: "row-order", prefix });
  return parts;
}
function hasKind(plan, kind) {
  return transformsOf(plan).some((transform3) => transform3.kind === kind);
}
function stepsOf(plan, numbers, prefix) {
  let plane = 0;
  return transformsOf(plan).map((transform3, i) => {
    const place = numbers.transforms[i] ?? null;
    if ("statisticsTokens" in transform3) {
      const statistic = `${prefix}statistic(page, ${plane++}u, head, channel)`;
      const attention = transform3.kind === "channelMean" ? statistic : `(1.0 / ${statistic})`;
      return { transform: transform3, place, packing: statistic, attention };
    }
    const calibrated = (first) => `${prefix}calibrated(${first ?? 0}u, head, channel)`;
    return {
      transform: transform3,
      place,
      packing: calibrated(place?.packing),
      attention: calibrated(place?.attention)
    };
  });
}
var packingLines = ({ transform: transform3, place, packing }) => {
  switch (transform3.kind) {
    case "hadamard":
      return [...signLines(transform3.seed), "rotateRow(lane);"];
    case "channelOrder":
      return [`orderRow(${place?.packing}u, head, lane);`];
    case "channelMean":
      return eachChannel(`row_values[channel] = exactly(row_values[channel] - ${packing});`);
    default:
      return eachChannel(`row_values[channel] = exactly(row_values[channel] * ${packing});`);
  }
};
function signLines(seed) {
  if (seed === void 0) return [];
  return eachChannel(`row_values[channel] *= signOf(${seed}u, channel);`);
}
function eachChannel(line) {
  return [
    "for (var channel = lane; channel < ROW_CHANNELS; channel += ROW_SIZE) {",
    `  ${line}`,
    "}",
    "workgroupBarrier();"
  ];
}

// packages/backend-webgpu/src/shaders/tensor-programs.ts
function tensorPrograms(plan, numbers, order, shape = tileShape(plan, order)) {
  const constants = {
    ...tensorConstants(plan, numbers, order, "tensor_"),
    ROW_CHANNELS: plan.headDim
  };
  return {
    write: writeProgram(plan.headDim, constants),
    copy: program("copyPages", composeShader({}, ["job", "copy"]), ["write"]),
    pack: plan.scheme.bits === 16 ? null : packPrograms(plan, plan.scheme, numbers, order, constants, shape)
  };
}
function writeProgram(headDim, constants) {
  const [halves, type] = [
    [8, "vec4<u32>"],
    [4, "vec2<u32>"],
    [2, "u32"]
  ].find(([count2]) => headDim % count2 === 0) ?? [2, "u32"];
  const own2 = { ...constants, WRITE_HALVES: halves };
  const code = composeShader(own2, ["job", { text: `alias Piece = ${type};
` }, "write"]);
  return program("write", code, ["read", "write"]);
}
function packPrograms(plan, scheme, numbers, order, constants, shape) {
  const statistics = (scheme.transforms ?? []).flatMap((transform3, i) => {
    if (!("statisticsTokens" in transform3)) return [];
    const gather = gatherProgram(plan, numbers, constants, i);
    return [{ gather, measure: measureProgram(transform3, constants) }];
  });
  if (shape === null)
    return { tile: null, rows: rowPrograms(plan, scheme, numbers, order, constants), statistics };
  const code = composeShader({ ...constants, ...tileConstants(shape, scheme) }, [
    "job",
    "numbers",
    "parameters",
    ...groupParameterPieces(scheme),
    ...tilePieces(plan, scheme, order)
  ]);
  const tile = { program: program("packTile", code, ["read", "write"]), shape };
  return { tile, rows: null, statistics };
}
function gatherProgram(plan, numbers, constants, count2) {
  const code = composeShader(constants, [
    "job",
    "numbers",
    "gather",
    ...packingPieces(plan, numbers, count2)
  ]);
  return program("gather", code, ["read", "read", "write"]);
}
function rowPrograms(plan, scheme, numbers, order, constants) {
  const packing = (...pieces) => composeShader(constants, ["job", "numbers", "parameters", "pack", ...pieces]);
  const pack = packing("pack-words", ...codePieces(plan, scheme, order));
  const top = packing("pack-atomic", "pack-top");
  const outliers2 = packing("pack-atomic", "bands", "pack-outliers");
  return {
    gather: gatherProgram(plan, numbers, constants),
    parameters: scheme.parameters.scale === void 0 ? null : program("packParameters", pack, ["read", "write"]),
    codes: program("packCodes", pack, ["read", "write"]),
    top: scheme.outliers?.kind === "top" ? program("takeOutliers", top, ["write", "write"]) : null,
    outliers: scheme.outliers?.kind === "bands" ? program("packOutliers", outliers2, ["write", "write", "write"]) : null
  };
}
function codePieces({ codec }, scheme, order) {
  if (codec !== void 0) {
    const text = codecText(codec, "tensor_codec_", "wordAt(index)");
    return ["group", "pack-groups", "pack-codec", text];
  }
  if (scheme.outliers?.kind === "bands") return ["bands", "pack-bands", "pack-canonical"];
  return [
    "pack-groups",
    "pack-parameters",
    ...order === "reduction" ? ["code-places-reduction", "pack-reduction"] : ["pack-canonical"],
    ...quantizerPieces(scheme)
  ];
}
function measureProgram(transform3, constants) {
  const own2 = {};
  const parts = [];
  switch (transform3.kind) {
    case "channelMean":
      parts.push("tree", "statistics-mean");
      own2.MINIMUM_OFFSET = { f32: transform3.minimumOffset ?? 0 };
      break;
    case "channelScale":
      parts.push("statistics-scale");
      own2.CLAMP_LOW_SQUARE = { f32: transform3.clamp[0] ** 2 };
      own2.CLAMP_HIGH_SQUARE = { f32: transform3.clamp[1] ** 2 };
      own2.MINIMUM_SPREAD = { f32: transform3.minimumSpread };
      break;
    case "tensorScale":
      parts.push("statistics-tensor");
      own2.LARGEST = { f32: transform3.largest };
  }
  const code = composeShader({ ...constants, ...own2 }, [
    "job",
    "numbers",
    "parameters",
    "statistics",
    ...parts
  ]);
  return program("measure", code, ["read", "write"]);
}

// packages/backend-webgpu/src/store/pack-tiles.ts
var PACK_WORDS = 6;
var MOST_PACKS = 1 << 15;
function packTiles({ recorder: recorder2, memory, inputs: inputs2, inputHalf }, { kernel, shape }, packs) {
  const { heads, headDim } = memory.plan.layout;
  const slots = shape.rows * shape.patchSlots;
  const across = headDim / (shape.columns * shape.patchQuads * 4);
  for (let begin = 0; begin < packs.length; begin += MOST_PACKS) {
    const some = packs.slice(begin, begin + MOST_PACKS);
    const table = [];
    const spans = [];
    let tiles = 0;
    for (const { page, slot, count: count2, sources, statistics } of some) {
      const first = some.length * PACK_WORDS + spans.length;
      table.push(memory.wordOf("packed", page), slot, count2, first, sources.length);
      table.push(statisticsHalf(memory, statistics));
      let rows = 0;
      for (const span of sources) {
        const place = span.source === "window" ? [1, memory.halfOf("window", span.page)] : [2, inputHalf];
        spans.push(rows, ...place, span.slot);
        rows += span.count;
      }
      tiles = Math.max(tiles, Math.ceil((slot + count2) / slots) - Math.floor(slot / slots));
    }
    recorder2.reserve(1, table.length + spans.length);
    recorder2.dispatch({
      kernel,
      buffers: [inputs2, memory.buffer],
      table: recorder2.table([...table, ...spans]),
      groups: [tiles * across, heads, some.length]
    });
  }
}

// packages/backend-webgpu/src/store/append.ts
var LANES2 = 64;
var RUN = 4;
var NO_STATISTICS = 4294967295;
function writeRows(context2, writes) {
  const { recorder: recorder2, kernels, memory, inputs: inputs2, inputHalf } = context2;
  const { heads, headDim } = memory.plan;
  const words2 = [];
  for (const { row, page, slot, count: count2 } of writes)
    words2.push(memory.halfOf("window", page), slot, inputHalf + row * heads * headDim, count2);
  if (words2.length === 0) return;
  recorder2.reserve(Math.ceil(writes.length / LONGEST_X), words2.length);
  const table = recorder2.table(words2);
  for (let first = 0; first < writes.length; first += LONGEST_X) {
    recorder2.dispatch({
      kernel: kernels.write,
      buffers: [inputs2, memory.buffer],
      table: table + first * 4,
      groups: [Math.min(LONGEST_X, writes.length - first), heads, 1]
    });
  }
}
function spanWords({ memory, inputHalf }, spans, row, statistics) {
  const words2 = [];
  let first = row;
  for (const { source, page, slot, count: count2 } of spans) {
    const place = source === "window" ? [1, memory.halfOf("window", page)] : [2, inputHalf];
    words2.push(first, ...place, slot, statisticsHalf(memory, statistics), 0);
    first += count2;
  }
  return words2;
}
function statisticsHalf(memory, page) {
  return page < 0 ? NO_STATISTICS : memory.halfOf("statistics", page);
}
function packRows(context2, kernels, packs) {
  const { recorder: recorder2, memory, scratch, inputs: inputs2 } = context2;
  const layout = memory.plan.layout;
  const spans = [];
  const table = [];
  let rows = 0;
  let parameterRuns = 0;
  let codeWords = 0;
  let tokens = 0;
  for (const { page, slot, count: count2, sources, statistics } of packs) {
    spans.push(...spanWords(context2, sources, rows, statistics));
    table.push(memory.wordOf("packed", page), slot, count2, rows);
    rows += count2;
    parameterRuns = Math.max(parameterRuns, runsOfParameters(layout, slot, count2));
    tokens = Math.max(tokens, count2);
    codeWords = Math.max(codeWords, wordsOfCodes(memory, context2.order, slot, count2));
  }
  recorder2.reserve(5, spans.length + table.length);
  recorder2.dispatch({
    kernel: kernels.gather,
    buffers: [memory.buffer, inputs2, scratch],
    table: recorder2.table(spans),
    entries: spans.length / 6,
    groups: [rows, layout.heads, 1]
  });
  const first = recorder2.table(table);
  if (kernels.top !== null)
    recorder2.dispatch({
      kernel: kernels.top,
      buffers: [scratch, memory.buffer],
      table: first,
      groups: [tokens, layout.heads, packs.length]
    });
  const vectors = layout.parametersShared ? 1 : layout.heads;
  for (const [kernel, invocations, heads] of [
    [kernels.parameters, parameterRuns, vectors],
    [kernels.codes, layout.codes.rows === "groups" ? parameterRuns : codeWords, layout.heads]
  ]) {
    if (kernel === null) continue;
    recorder2.dispatch({
      kernel,
      buffers: [scratch, memory.buffer],
      table: first,
      groups: [Math.ceil(invocations / LANES2), heads, packs.length]
    });
  }
  if (kernels.outliers === null) return;
  const fault = context2.fault();
  recorder2.dispatch({
    kernel: kernels.outliers,
    buffers: [scratch, memory.buffer, fault.buffer],
    table: first,
    entries: fault.number,
    groups: [1, layout.heads, packs.length]
  });
}
function runsOfParameters(layout, slot, count2) {
  const entries = (slots) => slots / layout.tokensPerGroup * (layout.headDim / layout.channelsPerGroup);
  return Math.ceil(entries(slot + count2) / RUN) - Math.floor(entries(slot) / RUN);
}
function wordsOfCodes(memory, order, slot, count2) {
  const { codes, bits, headDim } = memory.plan.layout;
  const alongSlots = order === "reduction" ? memory.plan.tensor === "value" : codes.rows === "channels";
  if (!alongSlots)
    return order === "reduction" ? count2 * headDim * bits / 32 : count2 * codes.rowBytes / 4;
  const words2 = Math.ceil((slot + count2) * bits / 32) - Math.floor(slot * bits / 32);
  return headDim * words2;
}

// packages/backend-webgpu/src/shaders/import-programs.ts
var RUN_ELEMENTS = 8;
function importPrograms() {
  const parts = ["job", "numbers", "import-table"];
  const bindings = ["read", "write", "write"];
  const each = (isWide) => program("takeTensor", composeShader({ WIDE: isWide }, [...parts, "import"]), bindings);
  return {
    half: each(false),
    float: each(true),
    aligned: program("takeRuns", composeShader({}, [...parts, "import-aligned"]), bindings)
  };
}

// packages/backend-webgpu/src/store/input-pool.ts
var LANES3 = 64;
var FLAGS = 4096;
var NO_FLAG = 4294967295;
var TYPES = ["f32", "f16", "bf16"];
var InputPool = class {
  #context;
  #kernels;
  #checksFinite;
  #used = /* @__PURE__ */ new Map();
  /** By step and layer: a tensor may name a buffer whose contents change from layer to layer. */
  #inputs = /* @__PURE__ */ new Map();
  #flagged = /* @__PURE__ */ new Map();
  #freeFlags = [];
  #flags = null;
  constructor(context2, kernels, nonFinite2) {
    this.#context = context2;
    this.#kernels = kernels;
    this.#checksFinite = nonFinite2 === "error";
  }
  /** Keys and values of a layer of a step in one buffer, taken in when they are appended. */
  put(step, layer, key, value, place) {
    const valueHalf = align2(elementsIn(key.shape), 8);
    const buffer = this.#context.inputs.take((valueHalf + elementsIn(value.shape)) * 2);
    this.#keep(step, buffer);
    this.#put(step, buffer, 0, key, { ...place, tensor: "key" });
    this.#put(step, buffer, valueHalf, value, { ...place, tensor: "value" });
    const input = { buffer, key: 0, value: valueHalf };
    const inputs2 = this.#inputs.get(step) ?? /* @__PURE__ */ new Map();
    this.#inputs.set(step, inputs2.set(layer, input));
    return input;
  }
  /** What was put for a layer of a step. */
  get(step, layer) {
    const input = step === null ? void 0 : this.#inputs.get(step)?.get(layer);
    if (input === void 0) throw new TypeError(`layer ${layer} of step ${step} has no input`);
    return input;
  }
  /** Queries where shaders can read them densely; `done` once the job is recorded. */
  queryInput(query) {
    const { inputs: inputs2, recorder: recorder2, device: device2 } = this.#context;
    if (!isHostTensor(query)) {
      const layout = layoutOf(query);
      const offset = layout.offset * bytesOf(query.type);
      const bindable = offset % device2.limits.minStorageBufferOffsetAlignment === 0;
      if (layout.dense && bindable)
        return {
          source: { buffer: layout.buffer, offset },
          type: query.type,
          done: () => void 0
        };
    }
    const type = isHostTensor(query) ? query.type : "f32";
    const buffer = inputs2.take(elementsIn(query.shape) * bytesOf(type));
    if (isHostTensor(query)) this.#write(buffer, 0, query);
    else this.#take(query, buffer, 0, this.#kernels.float, NO_FLAG);
    return {
      source: buffer,
      type,
      done: () => recorder2.whenSubmitted(() => inputs2.give(buffer))
    };
  }
  /** Whether tensors of the step are looked at on the device. */
  isChecked(step) {
    return this.#flagged.has(step);
  }
  /** Throws NON_FINITE when a tensor of the step holds what f16 cannot. */
  async checkFinite(step) {
    const flagged = this.#flagged.get(step);
    if (flagged === void 0 || this.#flags === null) return;
    const bytes = await this.#context.read(this.#flags, [{ offset: 0, size: FLAGS * 4 }]);
    const first = new Uint32Array(bytes.buffer, bytes.byteOffset, FLAGS);
    for (const entry of flagged) {
      const element = first[entry.flag];
      if (element !== NO_FLAG) throw nonFinite(entry, element);
    }
  }
  /** The step is over. */
  release(step) {
    const buffers = this.#used.get(step) ?? [];
    const flagged = this.#flagged.get(step) ?? [];
    this.#used.delete(step);
    this.#flagged.delete(step);
    this.#inputs.delete(step);
    if (buffers.length === 0 && flagged.length === 0) return;
    const { recorder: recorder2, inputs: inputs2, device: device2 } = this.#context;
    recorder2.whenSubmitted(() => {
      for (const buffer of buffers) inputs2.give(buffer);
      for (const { flag } of flagged) {
        if (this.#flags === null) return;
        device2.queue.writeBuffer(this.#flags, flag * 4, new Uint32Array([NO_FLAG]));
        this.#freeFlags.push(flag);
      }
    });
  }
  dispose() {
    for (const step of [...this.#used.keys(), ...this.#flagged.keys()]) this.release(step);
    this.#flags?.destroy();
    this.#flags = null;
  }
  #put(step, buffer, half, tensor3, place) {
    if (isHostTensor(tensor3)) {
      this.#write(buffer, half * 2, tensor3);
      return;
    }
    let flag = NO_FLAG;
    if (this.#checksFinite) {
      flag = this.#flag();
      const flagged = this.#flagged.get(step) ?? [];
      flagged.push({ ...place, flag, shape: tensor3.shape });
      this.#flagged.set(step, flagged);
    }
    const { half: each, aligned } = this.#kernels;
    this.#take(tensor3, buffer, half / 2, isAligned(tensor3) ? aligned : each, flag);
  }
  #write(buffer, byte, { data }) {
    this.#context.device.queue.writeBuffer(buffer, byte, wholeWords(data));
  }
  #take(tensor3, buffer, word2, kernel, flag) {
    const { recorder: recorder2, nothing } = this.#context;
    const layout = layoutOf(tensor3);
    const [, heads = 1, dim = 1] = tensor3.shape;
    const elements = elementsIn(tensor3.shape);
    const { float: float3, aligned } = this.#kernels;
    const perLane = kernel === float3 ? 1 : kernel === aligned ? RUN_ELEMENTS : 2;
    const groups2 = Math.ceil(elements / (perLane * LANES3));
    recorder2.reserve(1, 12);
    recorder2.dispatch({
      kernel,
      buffers: [layout.buffer, buffer, flag === NO_FLAG ? nothing : this.#flags],
      table: recorder2.table([
        layout.offset,
        word2,
        heads,
        dim,
        TYPES.indexOf(tensor3.type),
        elements,
        Math.max(1, layout.tokensPerBatch),
        layout.batchStride,
        layout.tokenStride,
        layout.headStride,
        flag,
        layout.dense ? 1 : 0
      ]),
      groups: [Math.min(LONGEST_X, groups2), 1, Math.ceil(groups2 / LONGEST_X)]
    });
  }
  #flag() {
    if (this.#flags === null) {
      this.#flags = this.#context.device.createBuffer({
        label: "lowbit-kv flags",
        size: FLAGS * 4,
        usage: 140
        // STORAGE | COPY_SRC | COPY_DST
      });
      this.#context.device.queue.writeBuffer(this.#flags, 0, new Uint32Array(FLAGS).fill(NO_FLAG));
      for (let flag2 = FLAGS - 1; flag2 >= 0; flag2--) this.#freeFlags.push(flag2);
    }
    const flag = this.#freeFlags.pop();
    if (flag !== void 0) return flag;
    throw new LowbitKvError("STEP_STATE", {
      message: "too many tensors wait to be checked for non-finite values",
      value: FLAGS,
      valid: `${FLAGS / 2} layers of open steps`,
      next: "Commit or abandon steps before new ones are opened."
    });
  }
  #keep(step, buffer) {
    const used = this.#used.get(step) ?? [];
    used.push(buffer);
    this.#used.set(step, used);
  }
};
function isAligned(tensor3) {
  const { offset, batchStride, tokenStride, headStride } = layoutOf(tensor3);
  const dim = tensor3.shape[2] ?? 1;
  return [offset, dim, batchStride, tokenStride, headStride].every(
    (count2) => count2 % RUN_ELEMENTS === 0
  );
}
function nonFinite({ tensor: tensor3, layer, rows, shape }, element) {
  const [, heads = 1, dim = 1] = shape;
  let row = Math.floor(element / (heads * dim));
  const run = rows.find(({ count: count2 }) => {
    if (row < count2) return true;
    row -= count2;
    return false;
  });
  return new LowbitKvError("NON_FINITE", {
    message: "a value is not finite in f16",
    value: `element ${element}`,
    valid: "finite numbers up to 65504 in magnitude",
    next: "Look for an overflow upstream; nonFinite: 'mask' stores the rest and leaves this value undefined.",
    where: {
      tensor: tensor3,
      layer,
      sequence: run?.sequence ?? 0,
      head: Math.floor(element / dim) % heads,
      token: (run?.position ?? 0) + row,
      channel: element % dim
    }
  });
}
function wholeWords(data) {
  const bytes = new Uint8Array(data.buffer, data.byteOffset, data.byteLength);
  if (bytes.length % 4 === 0) return bytes;
  const padded = new Uint8Array(align2(bytes.length, 4));
  padded.set(bytes);
  return padded;
}
function align2(value, multiple) {
  return Math.ceil(value / multiple) * multiple;
}

// packages/backend-webgpu/src/store/kernels.ts
async function importKernels(pipelines2) {
  const { half, float: float3, aligned } = importPrograms();
  return {
    half: await pipelines2.kernel(half),
    float: await pipelines2.kernel(float3),
    aligned: await pipelines2.kernel(aligned)
  };
}

// packages/backend-webgpu/src/store/tensor-memory.ts
var TensorMemory = class {
  plan;
  buffer;
  /** Bytes of the pages; an empty memory still needs a buffer. */
  pageBytes;
  #firstByte;
  #bytes;
  /** `numbers`: a multiple of 64 words. */
  constructor(device2, plan, counts, numbers) {
    this.plan = plan;
    const bytes = { ...pageSizes(plan) };
    this.#bytes = bytes;
    const statistics = numbers.byteLength;
    const window = statistics + counts.statistics * bytes.statistics;
    const packed = window + counts.window * bytes.window;
    this.#firstByte = { statistics, window, packed };
    const end = packed + counts.packed * bytes.packed;
    this.pageBytes = end - statistics;
    this.buffer = device2.createBuffer({
      label: `lowbit-kv ${plan.tensor} pages`,
      size: Math.max(16, end),
      usage: 140
      // STORAGE | COPY_SRC | COPY_DST
    });
    device2.queue.writeBuffer(this.buffer, 0, numbers);
  }
  /** First byte of a page. */
  byteOf(kind, page) {
    return this.#firstByte[kind] + page * this.#bytes[kind];
  }
  wordOf(kind, page) {
    return this.byteOf(kind, page) / 4;
  }
  /** First 16-bit half of a page. */
  halfOf(kind, page) {
    return this.byteOf(kind, page) / 2;
  }
  sizeOf(kind) {
    return this.#bytes[kind];
  }
};
function pageSizes(plan) {
  return {
    packed: plan.layout?.pageBytes ?? 0,
    window: plan.windowPageBytes,
    statistics: plan.statisticsPageBytes
  };
}

// packages/backend-webgpu/bench/device.ts
async function openDevice(toggles = []) {
  const { create, globals } = await import("webgpu");
  Object.assign(globalThis, globals);
  const gpu = create([
    `enable-dawn-features=${["vulkan_enable_f16_on_nvidia", "allow_unsafe_apis", ...toggles].join()}`,
    "disable-dawn-features=timestamp_quantization"
  ]);
  Object.assign(globalThis, { lowbitKvGpu: gpu });
  const adapter = await gpu.requestAdapter({ powerPreference: "high-performance" });
  if (adapter === null) throw new Error("dawn finds no adapter");
  const wanted = ["subgroups", "shader-f16", "timestamp-query"];
  const device2 = await adapter.requestDevice({
    requiredFeatures: wanted.filter((feature) => adapter.features.has(feature)),
    requiredLimits: {
      maxBufferSize: adapter.limits.maxBufferSize,
      maxStorageBufferBindingSize: adapter.limits.maxStorageBufferBindingSize,
      maxComputeWorkgroupStorageSize: adapter.limits.maxComputeWorkgroupStorageSize
    }
  });
  const { vendor, architecture, description, subgroupMinSize, subgroupMaxSize } = device2.adapterInfo;
  console.log(
    `adapter: ${vendor} ${architecture} ${description}, subgroups ${subgroupMinSize} to ${subgroupMaxSize}, features ${[...device2.features].join(" ")}`
  );
  return { device: device2, languageFeatures: gpu.wgslLanguageFeatures };
}

// packages/backend-webgpu/bench/pack.ts
var HEADS = 8;
var DIM = 128;
var TOKENS = Number(process.argv.find((a) => a.startsWith("--tokens="))?.slice(9) ?? 32768);
var RAGGED = 8 * 128 + 77;
var f16 = { scale: "f16" };
var tensor2 = (along, bits, size, symmetric = false) => ({
  bits,
  groups: { along, size },
  quantizer: symmetric ? { mode: "symmetric", codes: "fullSigned" } : { mode: "asymmetric", codes: "uniform" },
  parameters: symmetric ? f16 : { scale: "f16", zero: "f16" },
  window: { recent: 0, flush: 128 }
});
var PLANS = [
  ["4 bit g128", tensor2("tokens", 4, 128), tensor2("channels", 4, 128)],
  ["4 bit g32", tensor2("tokens", 4, 32), tensor2("channels", 4, 32)],
  ["2 bit g128", tensor2("tokens", 2, 128), tensor2("channels", 2, 128)],
  ["2 bit g32", tensor2("tokens", 2, 32), tensor2("channels", 2, 32)],
  ["InnerQ axes 4 bit", tensor2("channels", 4, 32, true), tensor2("tokens", 4, 32, true)],
  ["InnerQ axes 3 bit", tensor2("channels", 3, 32, true), tensor2("tokens", 3, 32, true)],
  ["8 bit g64", tensor2("tokens", 8, 64), tensor2("channels", 8, 64)]
];
var { device } = await openDevice(
  process.argv.includes("--no-robustness") ? ["disable_robustness"] : []
);
device.addEventListener(
  "uncapturederror",
  (event) => console.log(`GPU error: ${event.error.message.slice(0, 2e3)}`)
);
var timed = device.features.has("timestamp-query") && !process.argv.includes("--bytes-only");
var context = new GpuContext(device);
var { recorder, pipelines } = context;
var inputs = device.createBuffer({ size: TOKENS * HEADS * DIM * 2, usage: 140 });
fillInput();
var copyGigabytes = await copyBandwidth();
console.log(`copy: ${copyGigabytes.toFixed(0)} GB/s read and written`);
for (const [name, key, value] of PLANS) await benchPlan(name, key, value);
await benchWrites();
for (const type of ["f32", "f16", "bf16"]) await benchImport(type);
process.exit(0);
async function benchPlan(name, key, value) {
  const layer = createPlan(schemeOf(key, value), {
    layers: 1,
    queryHeads: HEADS,
    kvHeads: HEADS,
    keyHeadDim: DIM,
    valueHeadDim: DIM
  }).layers[0];
  if (layer === void 0) throw new Error("a plan has a layer");
  for (const order of /* @__PURE__ */ new Set([codeOrder(layer), "canonical"])) {
    const totals = [];
    let bytes = 0;
    for (const plan of [layer.key, layer.value]) {
      const cells = [];
      const moved = movedBytes(plan);
      bytes += moved;
      let best = Number.POSITIVE_INFINITY;
      const expected = await bytesOfRows(plan, order);
      for (const [label, shape] of shapesOf(plan, order)) {
        const { microseconds, equal } = await benchTile(plan, order, shape, expected);
        best = Math.min(best, microseconds);
        cells.push(`${label} ${microseconds.toFixed(1)}${equal ? "" : " WRONG BYTES"}`);
      }
      totals.push(best);
      console.log(`  ${plan.tensor} ${order}: ${cells.join("  ")} us`);
    }
    const us = totals.reduce((sum, part) => sum + part, 0);
    console.log(`${name} ${order}: keys and values ${figures(us, bytes)}`);
  }
}
function shapesOf(plan, order) {
  const chosen = tileShape(plan, order);
  if (chosen === null) throw new Error("a plan of this benchmark has tiles");
  const named = (shape) => {
    const { rows, columns, patchSlots, patchQuads } = shape;
    return [`${rows}x${columns} lanes of ${patchSlots}x${4 * patchQuads}`, shape];
  };
  const all = [chosen, ...[64, 128, 256].map((lanes) => shapeOf(plan, order, lanes))];
  return [...new Map(all.flatMap((shape) => shape === null ? [] : [named(shape)]))];
}
async function benchTile(plan, order, shape, expected) {
  const numbers = tensorNumbers(plan);
  const pages = Math.ceil(TOKENS / 128);
  const memory = new TensorMemory(
    device,
    plan,
    { packed: pages, window: 1, statistics: 0 },
    numbers.words
  );
  const programs = tensorPrograms(plan, numbers, order, shape).pack?.tile;
  if (programs === void 0 || programs === null) throw new Error("no tile");
  const tile = { kernel: await pipelines.kernel(programs.program), shape };
  const target = { recorder, memory, order, inputs, inputHalf: 0 };
  packTiles(target, tile, packsOf(RAGGED, plan));
  const packed = await pagesOf(memory);
  const equal = packed.some((byte) => byte !== 0) && Buffer.compare(packed, expected) === 0;
  const packs = packsOf(TOKENS, plan);
  const microseconds = await time2(() => packTiles(target, tile, packs));
  memory.buffer.destroy();
  return { microseconds, equal };
}
async function bytesOfRows(plan, order) {
  const numbers = tensorNumbers(plan);
  const programs = tensorPrograms(plan, numbers, order, null).pack?.rows;
  if (programs === void 0 || programs === null) throw new Error("no rows");
  const kernel = (program2) => pipelines.kernel(program2);
  const kernels = {
    gather: await kernel(programs.gather),
    parameters: programs.parameters && await kernel(programs.parameters),
    codes: await kernel(programs.codes),
    top: null,
    outliers: null
  };
  const pages = Math.ceil(TOKENS / 128);
  const memory = new TensorMemory(
    device,
    plan,
    { packed: pages, window: 1, statistics: 0 },
    numbers.words
  );
  const scratch = context.scratch.atLeast(8 * 1024 * 1024);
  const fault = () => ({ buffer: context.nothing, number: 0 });
  for (const pack of packsOf(RAGGED, plan))
    packRows({ recorder, memory, order, inputs, inputHalf: 0, scratch, fault }, kernels, [pack]);
  const bytes = await pagesOf(memory);
  memory.buffer.destroy();
  return bytes;
}
async function pagesOf(memory) {
  const pages = packsOf(RAGGED, memory.plan).map(({ page }) => page);
  const ranges = pages.map((page) => ({
    offset: memory.byteOf("packed", page),
    size: memory.sizeOf("packed")
  }));
  return context.read(memory.buffer, ranges);
}
function packsOf(tokens, { layout }) {
  const order = shuffled(Math.ceil(TOKENS / 128));
  const group = layout?.tokensPerGroup ?? 1;
  const packed = Math.floor(Math.min(tokens, TOKENS) / group) * group;
  return Array.from({ length: Math.ceil(packed / 128) }, (_, i) => {
    const position = i * 128;
    const count2 = Math.min(128, packed - position);
    const span = { source: "input", page: -1, slot: position, count: count2, position };
    return { page: order[i], slot: 0, count: count2, sources: [span], statistics: -1 };
  });
}
async function benchWrites() {
  const key = { bits: 16 };
  const layer = createPlan(schemeOf(key, key), {
    layers: 1,
    queryHeads: HEADS,
    kvHeads: HEADS,
    keyHeadDim: DIM,
    valueHeadDim: DIM
  }).layers[0];
  if (layer === void 0) throw new Error("a plan has a layer");
  const numbers = tensorNumbers(layer.key);
  const pages = Math.ceil(TOKENS / 32);
  const memory = new TensorMemory(
    device,
    layer.key,
    { packed: 0, window: pages, statistics: 0 },
    numbers.words
  );
  const { write, copy } = tensorPrograms(layer.key, numbers, "canonical");
  const kernels = {
    write: await pipelines.kernel(write),
    copy: await pipelines.kernel(copy),
    pack: null
  };
  const order = shuffled(pages);
  const writes = order.map((page, i) => ({ row: 32 * i, page, slot: 0, count: 32 }));
  const scratch = context.nothing;
  const fault = () => ({ buffer: context.nothing, number: 0 });
  const us = await time2(
    () => writeRows(
      { recorder, kernels, memory, order: "canonical", scratch, inputs, inputHalf: 0, fault },
      writes
    )
  );
  memory.buffer.destroy();
  console.log(`window writes of one tensor: ${figures(us, TOKENS * HEADS * DIM * 4)}`);
}
async function benchImport(type) {
  const pool = new InputPool(context, await importKernels(pipelines), "error");
  const bytes = type === "f32" ? 4 : 2;
  const elements = TOKENS * HEADS * DIM;
  const source = device.createBuffer({ size: elements * bytes, usage: 140 });
  const piece = new Uint32Array(1 << 20);
  for (let i = 0; i < piece.length; i++)
    piece[i] = type === "f32" ? 1065353216 + (i * 2654435761 >>> 9) : 1006648320 + (i & 1023);
  for (let at = 0; at < elements * bytes; at += piece.byteLength)
    device.queue.writeBuffer(
      source,
      at,
      piece,
      0,
      Math.min(piece.length, (elements * bytes - at) / 4)
    );
  const whole = gpuTensor(source, { type, shape: [TOKENS, HEADS, DIM] });
  const half = TOKENS / 2;
  const strided = gpuTensor(source, {
    type,
    shape: [half, HEADS, DIM],
    strides: [2 * HEADS * DIM, DIM]
  });
  const shifted = gpuTensor(source, { type, shape: [half, HEADS, DIM], offset: 2 });
  const nothing = gpuTensor(source, { type, shape: [0, HEADS, DIM] });
  const cells = [];
  for (const [name, tensor3, count2] of [
    ["dense", whole, elements],
    ["half the rows", strided, elements / 2],
    ["not aligned, half", shifted, elements / 2]
  ]) {
    let step = 0;
    const later = [];
    const us = await time2(
      () => {
        pool.put(step, 0, tensor3, nothing, { layer: 0, rows: [] });
        later.push(step++);
      },
      () => {
        for (const used of later.splice(0)) pool.release(used);
      }
    );
    cells.push(`${name} ${figures(us, count2 * (bytes + 2))}`);
  }
  source.destroy();
  console.log(`import of one tensor from ${type}: ${cells.join("; ")}`);
}
async function copyBandwidth() {
  const bytes = timed ? 1 << 27 : 1 << 20;
  const [from, to] = [0, 1].map(() => device.createBuffer({ size: bytes, usage: 140 }));
  const code = `
struct Job { table: u32, entries: u32, zero: u32, first: u32 }
@group(0) @binding(0) var<uniform> job: Job;
@group(0) @binding(1) var<storage, read> commands: array<u32>;
@group(0) @binding(2) var<storage, read> source: array<vec4<u32>>;
@group(0) @binding(3) var<storage, read_write> result: array<vec4<u32>>;
@compute @workgroup_size(256)
fn copyAll(@builtin(workgroup_id) group: vec3<u32>, @builtin(local_invocation_index) lane: u32) {
  let at = group.x * 1024u + lane;
  let a = source[at];
  let b = source[at + 256u];
  let c = source[at + 512u];
  let d = source[at + 768u];
  result[at] = a;
  result[at + 256u] = b;
  result[at + 512u] = c;
  result[at + 768u] = d;
}`;
  const kernel = await pipelines.kernel({
    name: "copyAll",
    code,
    entryPoint: "copyAll",
    bindings: ["read", "write"]
  });
  const us = await time2(() => {
    recorder.reserve(1, 0);
    recorder.dispatch({
      kernel,
      buffers: [from, to],
      table: 0,
      groups: [bytes / (16 * 1024), 1, 1]
    });
  });
  for (const buffer of [from, to]) buffer.destroy();
  return 2 * bytes / us / 1e3;
}
async function time2(work, after = () => void 0) {
  const [warm, counted, repeats] = timed ? [20, 10, 5] : [1, 1, 1];
  const times = [];
  for (let repeat = 0; repeat < repeats; repeat++) {
    recorder.submit();
    for (let i = 0; i < warm; i++) work();
    let us = 0;
    if (timed) {
      const querySet = device.createQuerySet({ type: "timestamp", count: 2 });
      const resolve = device.createBuffer({ size: 16, usage: 516 });
      recorder.timedPass(querySet, 0);
      for (let i = 0; i < counted; i++) work();
      recorder.submit();
      const encoder = device.createCommandEncoder();
      encoder.resolveQuerySet(querySet, 0, 2, resolve, 0);
      const staging = device.createBuffer({ size: 16, usage: 9 });
      encoder.copyBufferToBuffer(resolve, 0, staging, 0, 16);
      device.queue.submit([encoder.finish()]);
      await staging.mapAsync(1);
      const [begin, end] = new BigUint64Array(staging.getMappedRange());
      us = Number(end - begin) / 1e3 / counted;
      for (const buffer of [staging, resolve]) buffer.destroy();
      querySet.destroy();
    } else {
      recorder.submit();
      await device.queue.onSubmittedWorkDone();
    }
    after();
    times.push(us);
  }
  return times.sort((a, b) => a - b)[times.length >> 1];
}
function figures(us, bytes) {
  const gigabytes = bytes / us / 1e3;
  return `${us.toFixed(1)} us, ${(bytes / 1e6).toFixed(0)} MB, ${gigabytes.toFixed(0)} GB/s, ${(100 * gigabytes / copyGigabytes).toFixed(0)} % of copy`;
}
function movedBytes({ layout }) {
  return TOKENS * HEADS * DIM * 2 + Math.ceil(TOKENS / 128) * (layout?.pageBytes ?? 0);
}
function schemeOf(key, value) {
  return {
    specVersion: 1,
    id: "bench",
    title: "bench",
    sinks: 0,
    packing: "before-attention",
    key,
    value,
    calibration: { kind: "none" }
  };
}
function fillInput() {
  const halves = new Uint16Array(1 << 21);
  let seed = 1;
  const draw = () => {
    seed = Math.imul(seed, 1664525) + 1013904223 | 0;
    return (seed >>> 8) / 2 ** 24 - 0.5;
  };
  for (let i = 0; i < halves.length; i++)
    halves[i] = halfOf(1.2 * (draw() + draw() + draw() + draw()));
  const bytes = TOKENS * HEADS * DIM * 2;
  for (let at = 0; at < bytes; at += halves.byteLength)
    device.queue.writeBuffer(inputs, at, halves, 0, Math.min(halves.length, (bytes - at) / 2));
}
function halfOf(value) {
  const bits = new Uint32Array(Float32Array.of(value).buffer)[0];
  const exponent = (bits >>> 23 & 255) - 112;
  const sign = bits >>> 16 & 32768;
  return exponent < 1 ? sign : sign | exponent << 10 | bits >>> 13 & 1023;
}
function shuffled(count2) {
  const order = Array.from({ length: count2 }, (_, i) => i);
  let seed = 7;
  for (let i = count2 - 1; i > 0; i--) {
    seed = Math.imul(seed, 1103515245) + 12345 & 2147483647;
    const j = seed % (i + 1);
    [order[i], order[j]] = [order[j], order[i]];
  }
  return order;
}
