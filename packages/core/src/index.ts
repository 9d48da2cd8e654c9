// Public entry of @lowbit-kv/core.
export {};
