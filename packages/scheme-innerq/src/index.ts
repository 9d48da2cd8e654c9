// Public entry of @lowbit-kv/scheme-innerq.
export {};
