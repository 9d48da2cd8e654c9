// Tests read workspace sources through the first condition, so they need no build.
export const conditions = ['@lowbit-kv/source', 'module', 'node', 'import', 'default'];
