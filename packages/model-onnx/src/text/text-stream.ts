/**
 * Text of token ids that come one by one: only what later tokens cannot change.
 */

/** What a decoder writes for bytes that are not, or not yet, a character. */
const REPLACEMENT = '\uFFFD';

/** Made by `Tokenizer.createTextStream`. What all pushes and the flush give, joined, is the text of all ids. */
export class TextStream {
  readonly #decode: (ids: readonly number[]) => string;
  /** Tokens whose text is out, kept because decoders treat the first token of a text differently; then open ones. */
  #ids: number[] = [];
  /** Of `#ids`, those that are only context. */
  #context = 0;
  /** Characters that are out, of the text of `#ids`. */
  #emitted = 0;

  /** @internal */
  constructor(decode: (ids: readonly number[]) => string) {
    this.#decode = decode;
  }

  /** The text that has become final with this token, often empty; never a part of a character. */
  push(id: number): string {
    this.#ids.push(id);
    const text = this.#decode(this.#ids);
    // Bytes at the end that are no character yet are written as one replacement; what is before it is final.
    const open = text.endsWith(REPLACEMENT);
    const end = Math.max(this.#emitted, open ? text.length - 1 : text.length);
    const final = text.slice(this.#emitted, end);
    this.#emitted = end;
    if (!open && final !== '') this.#forget();
    return final;
  }

  /** The rest: bytes that never became a character are U+FFFD. The stream is empty afterwards and can be used again. */
  flush(): string {
    const rest = this.#decode(this.#ids).slice(this.#emitted);
    this.#ids = [];
    this.#context = 0;
    this.#emitted = 0;
    return rest;
  }

  /** Drops the old context; what is complete now becomes the new one. */
  #forget(): void {
    this.#ids = this.#ids.slice(this.#context);
    this.#context = this.#ids.length;
    this.#emitted = this.#decode(this.#ids).length;
  }
}
