// Public entry of @lowbit-kv/harness.
export {};
