/** Recognises files that people open as safetensors by mistake, to say what to do instead. */

const SIGNATURES: readonly (readonly [start: string, next: string])[] = [
  ['PK\x03\x04', 'It is a zip archive (a PyTorch .pt or a .npz): convert it to safetensors.'],
  ['GGUF', 'It is a GGUF file: convert it to safetensors.'],
  ['\x93NUMPY', 'It is a .npy file: convert it to safetensors.'],
  ['\x89HDF', 'It is an HDF5 file: convert it to safetensors.'],
  ['\x1f\x8b', 'It is a gzip file: decompress it first.'],
  ['version ', 'It looks like a Git LFS pointer: run `git lfs pull` to fetch the file itself.'],
  ['<', 'It looks like a web page: download the file itself.'],
  ['{', 'It looks like JSON text (an index file?): name the .safetensors file itself.'],
];

/** The next step for a known foreign format, judged by its first bytes. */
export function foreignFormat(start: Uint8Array): string | undefined {
  const text = String.fromCharCode(...start.subarray(0, 16));
  const [protocolMark, protocol] = start;
  if (protocolMark === 0x80 && protocol !== undefined && protocol >= 2 && protocol <= 5) {
    return 'It looks like a Python pickle (a PyTorch .bin or .pt): convert it to safetensors.';
  }
  return SIGNATURES.find(([signature]) => text.startsWith(signature))?.[1];
}
