// Public entry of @lowbit-kv/scheme-kivi.
export {};
