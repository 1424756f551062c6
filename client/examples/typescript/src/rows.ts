/** The logits rows of a safetensors file: an engine has them on its device. */

import {readFileSync} from 'node:fs';

/** Rows of one length, each as little-endian float32. */
export interface Rows {
  vocabSize: number;
  rows: Buffer[];
}

interface Header {
  logits: {shape: [number, number]; data_offsets: [number, number]};
}

/**
 * Reads the BF16 tensor `logits`, [rows, vocab]: the length of a JSON header,
 * the header, the data.
 */
export function readRows(path: string): Rows {
  const file = readFileSync(path);
  const start = 8 + Number(file.readBigUInt64LE(0));
  const header = JSON.parse(file.toString('utf8', 8, start)) as Header;
  const [count, vocabSize] = header.logits.shape;
  const begin = start + header.logits.data_offsets[0];
  const rows = Array.from({length: count}, (_, i) => {
    const wide = Buffer.alloc(4 * vocabSize);
    for (let j = 0; j < vocabSize; ++j) {
      // BF16 is the upper half of a float32.
      wide.writeUInt16LE(file.readUInt16LE(begin + 2 * (i * vocabSize + j)), 4 * j + 2);
    }
    return wide;
  });
  return {vocabSize, rows};
}
