/**
 * A strict JSON tokenizer over the bytes of a safetensors header.
 * JSON.parse would keep the last of two equal names, round large integers, and build whatever a
 * hostile header nests; here the caller names the token it expects and everything else is refused.
 */

/** A byte of the header that cannot be there. `offset` counts from the start of the header. */
export class HeaderSyntaxError extends Error {
  readonly offset: number;
  constructor(reason: string, offset: number) {
    super(reason);
    this.offset = offset;
  }
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const DIGIT_ZERO = 0x30;
const DIGIT_NINE = 0x39;

export class HeaderScanner {
  readonly #bytes: Uint8Array;
  readonly #utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  #offset = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = bytes;
  }

  fail(reason: string, offset = this.#offset): never {
    throw new HeaderSyntaxError(reason, offset);
  }

  /** Takes one punctuation character, after white space. */
  expect(character: string, context: string): void {
    if (!this.take(character)) this.#unexpected(`"${character}" ${context}`);
  }

  /** Takes the character if it comes next, after white space. */
  take(character: string): boolean {
    this.#skipWhiteSpace();
    if (this.#bytes[this.#offset] !== character.charCodeAt(0)) return false;
    this.#offset++;
    return true;
  }

  expectEnd(): void {
    this.#skipWhiteSpace();
    if (this.#offset < this.#bytes.length) this.#unexpected('the end of the header');
  }

  /**
   * The members of an object: for each, its name is read, checked to be new, and given to `member`,
   * which reads the value. `has` answers whether a name was seen before.
   */
  object(context: string, has: (name: string) => boolean, member: (name: string) => void): void {
    this.expect('{', context);
    if (this.take('}')) return;
    do {
      this.#skipWhiteSpace();
      const start = this.#offset;
      const name = this.string('a name in quotes');
      if (has(name)) this.fail(`duplicate name ${quoteShort(name)}`, start);
      this.expect(':', 'after a name');
      member(name);
    } while (this.take(','));
    this.expect('}', `or "," ${context}`);
  }

  /** An array of unsigned integers, of at most `limit` entries. */
  unsignedArray(context: string, limit: number): number[] {
    this.expect('[', context);
    const values: number[] = [];
    if (this.take(']')) return values;
    do {
      if (values.length === limit) this.fail(`more than ${limit} entries ${context}`);
      values.push(this.unsigned(context));
    } while (this.take(','));
    this.expect(']', `or "," ${context}`);
    return values;
  }

  /** A JSON number that is an unsigned integer below 2^53, written without fraction or exponent. */
  unsigned(context: string): number {
    this.#skipWhiteSpace();
    const start = this.#offset;
    let value = 0;
    for (; this.#isDigit(); this.#offset++) {
      value = value * 10 + ((this.#bytes[this.#offset] as number) - DIGIT_ZERO);
    }
    const digits = this.#offset - start;
    const next = String.fromCharCode(this.#bytes[this.#offset] ?? 0);
    if (digits === 0 || '.eE+-'.includes(next)) {
      this.#offset = start;
      this.#unexpected(`an unsigned integer ${context}`);
    }
    if (digits > 1 && this.#bytes[start] === DIGIT_ZERO) {
      this.fail(`a number with a leading zero ${context}`, start);
    }
    if (value > Number.MAX_SAFE_INTEGER) this.fail(`an integer above 2^53 - 1 ${context}`, start);
    return value;
  }

  /** A JSON string: strict UTF-8, no bare control characters, no lone surrogates. */
  string(what: string): string {
    this.#skipWhiteSpace();
    if (this.#bytes[this.#offset] !== QUOTE) this.#unexpected(what);
    const bytes = this.#bytes;
    const start = this.#offset + 1;
    let offset = start;
    let escaped = false;
    for (; bytes[offset] !== QUOTE; offset++) {
      const byte = bytes[offset];
      if (byte === undefined) return this.fail('the header ends inside a string', start - 1);
      if (byte < 0x20) this.fail('a bare control character in a string', offset);
      if (byte === BACKSLASH) {
        escaped = true;
        const next = bytes[offset + 1];
        if (next === QUOTE || next === BACKSLASH) offset++;
      }
    }
    this.#offset = offset + 1;
    const raw = this.#decodeUtf8(start, offset);
    return escaped ? this.#unescape(raw, start - 1) : raw;
  }

  #decodeUtf8(start: number, end: number): string {
    try {
      return this.#utf8.decode(this.#bytes.subarray(start, end));
    } catch {
      return this.fail('bytes that are not UTF-8 in a string', start);
    }
  }

  /** JSON.parse of one string literal: builds nothing but the string. */
  #unescape(raw: string, start: number): string {
    let text: string;
    try {
      text = JSON.parse(`"${raw}"`);
    } catch {
      return this.fail('a malformed escape in a string', start);
    }
    if (/\p{Surrogate}/u.test(text)) this.fail('a lone surrogate in a string', start);
    return text;
  }

  #isDigit(): boolean {
    const byte = this.#bytes[this.#offset];
    return byte !== undefined && byte >= DIGIT_ZERO && byte <= DIGIT_NINE;
  }

  #skipWhiteSpace(): void {
    // Locals: a header may be 100 MB of padding, and private fields are not kept in registers.
    const bytes = this.#bytes;
    let offset = this.#offset;
    let byte = bytes[offset];
    while (byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09) byte = bytes[++offset];
    this.#offset = offset;
  }

  #unexpected(wanted: string): never {
    const byte = this.#bytes[this.#offset];
    if (byte === undefined) return this.fail(`the header ends where ${wanted} should be`);
    const found = String.fromCharCode(...this.#bytes.subarray(this.#offset, this.#offset + 12));
    return this.fail(`found ${quoteShort(found)} where ${wanted} should be`);
  }
}

/** A name for a message: quoted, escaped, at most 60 characters. */
export function quoteShort(text: string): string {
  return JSON.stringify(text.length > 60 ? `${text.slice(0, 57)}...` : text);
}
