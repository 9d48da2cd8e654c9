/** JSON as records: what a schema describes. */
import type * as z from 'zod';
import type { RecordCodec } from './records.js';

export function jsonCodec<T>(schema: z.ZodType<T>): RecordCodec<T> {
  return {
    encode: (value) => new TextEncoder().encode(JSON.stringify(value)),
    decode(payload) {
      const { success, data, error } = schema.safeParse(
        JSON.parse(new TextDecoder().decode(payload)),
      );
      return success ? { value: data } : `it is of another form: ${error.issues[0]?.message}`;
    },
  };
}
