"""fp16 decode attention of torch on the card of this machine, in CUDA graphs over tensors rotated past the L2 cache:
microseconds a layer, median of 25 replays. Needs torch; run by benchmarks/cuda.sh."""
import statistics
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

CASES = [(8, 131072, 32, 8), (8, 32768, 32, 8), (1, 131072, 32, 8), (1, 8192, 32, 8), (8, 131072, 32, 32)]
BACKENDS = [("cuDNN", SDPBackend.CUDNN_ATTENTION), ("flash", SDPBackend.FLASH_ATTENTION)]


def measure(batch, tokens, heads, kv_heads, backend):
    bytes_each = 2 * 2 * batch * tokens * kv_heads * 128
    copies = max(1, min(24, -(-256_000_000 // bytes_each)))
    tensors = [
        [torch.randn(batch, kv_heads, tokens, 128, device="cuda", dtype=torch.float16) for _ in range(2)]
        for _ in range(copies)
    ]
    query = torch.randn(batch, heads, 1, 128, device="cuda", dtype=torch.float16)

    def attend():
        with sdpa_kernel(backend):
            for key, value in tensors:
                torch.nn.functional.scaled_dot_product_attention(query, key, value, enable_gqa=heads != kv_heads)

    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(3):
            attend()
    side.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        attend()
    times = []
    for _ in range(28):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        graph.replay()
        end.record()
        end.synchronize()
        times.append(start.elapsed_time(end) * 1000 / copies)
    return statistics.median(times[3:])


print(f"torch {torch.__version__}, {torch.cuda.get_device_name()}; fp16, microseconds a layer")
for batch, tokens, heads, kv_heads in CASES:
    cells = []
    for name, backend in BACKENDS:
        try:
            cells.append(f"{name} {measure(batch, tokens, heads, kv_heads, backend):.1f}")
        except RuntimeError as error:
            cells.append(f"{name} failed ({str(error).splitlines()[0][:60]})")
        torch.cuda.empty_cache()
    print(f"B={batch}, {tokens // 1024}K, {heads}/{kv_heads} heads: {', '.join(cells)}", flush=True)
