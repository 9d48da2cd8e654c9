// Public entry of @lowbit-kv/core/testing.
export {};
