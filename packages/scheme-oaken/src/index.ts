// Public entry of @lowbit-kv/scheme-oaken.
export {};
