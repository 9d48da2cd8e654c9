// Public entry of @lowbit-kv/backend-onnx.
export {};
