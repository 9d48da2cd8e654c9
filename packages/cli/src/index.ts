// Public entry of lowbit-kv.
export {};
