import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fromBinary, toBinary } from '@bufbuild/protobuf';
import { describe, expect, test } from 'vitest';
import { EventSchema } from '#gen/hep/event/v1/event_pb.js';
import { isBlank } from '../../src/hep/is-blank.js';
import { originalLine } from '../../src/hep/original-line.js';
import { decodedEvent } from './decoded-event.js';

const folder = new URL('../golden/streams/', import.meta.url);
const streams = readdirSync(folder).filter((name) => name.endsWith('.jsonl'));

interface Counts {
  frames: number;
  malformed: number;
  lossy: number;
  violations: number;
}

/** Frames, malformed lines, lossy frames and field violations that the expectations name. */
const expected: Readonly<Record<string, Counts>> = {
  '01-happy': { frames: 7, malformed: 0, lossy: 0, violations: 0 },
  '02-multi-round': { frames: 8, malformed: 0, lossy: 0, violations: 0 },
  '03-postturn-compaction': { frames: 7, malformed: 0, lossy: 0, violations: 0 },
  '05-unicode-separators': { frames: 4, malformed: 0, lossy: 0, violations: 0 },
  '07-crlf-and-blank': { frames: 4, malformed: 0, lossy: 0, violations: 0 },
  '08-bom': { frames: 3, malformed: 0, lossy: 0, violations: 0 },
  '09-no-final-newline': { frames: 3, malformed: 0, lossy: 0, violations: 0 },
  '10-cut-mid-frame': { frames: 2, malformed: 1, lossy: 0, violations: 0 },
  '11-noise': { frames: 4, malformed: 4, lossy: 0, violations: 0 },
  '12-json-not-frame': { frames: 3, malformed: 11, lossy: 0, violations: 0 },
  '15-unknown-types-and-fields': { frames: 6, malformed: 0, lossy: 0, violations: 0 },
  '16a-v2': { frames: 3, malformed: 0, lossy: 0, violations: 0 },
  '16b-v10': { frames: 3, malformed: 0, lossy: 0, violations: 0 },
  '16g-header-missing': { frames: 3, malformed: 0, lossy: 0, violations: 0 },
  '16i-header-twice': { frames: 5, malformed: 0, lossy: 0, violations: 0 },
  '18-big-integers': { frames: 4, malformed: 0, lossy: 0, violations: 1 },
  '19-number-forms': { frames: 17, malformed: 0, lossy: 0, violations: 3 },
  '23-lone-surrogates': { frames: 8, malformed: 0, lossy: 5, violations: 0 },
  '24-invalid-utf8': { frames: 7, malformed: 0, lossy: 4, violations: 0 },
  '29-byte-exact': { frames: 6, malformed: 0, lossy: 0, violations: 0 },
  '31b-late-frames-after-cancelled': { frames: 5, malformed: 0, lossy: 0, violations: 0 },
  '32-no-terminal-exit0': { frames: 4, malformed: 0, lossy: 0, violations: 0 },
  '34-split-everywhere': { frames: 3, malformed: 0, lossy: 0, violations: 0 },
  '35-identical-frames': { frames: 6, malformed: 0, lossy: 0, violations: 0 },
  '38-cap-cuts-emoji': { frames: 3, malformed: 0, lossy: 1, violations: 0 },
  '40-cancelled-then-next-round': { frames: 6, malformed: 0, lossy: 0, violations: 0 },
  '41a-run1-same-session': { frames: 4, malformed: 0, lossy: 0, violations: 0 },
  '41b-run2-same-session': { frames: 4, malformed: 0, lossy: 0, violations: 0 },
};

/** The file cut at 0x0A alone; what follows the last one is a line only if it is not empty. */
function linesOf(file: Buffer): Buffer[] {
  const lines: Buffer[] = [];
  let start = 0;
  for (let end = file.indexOf(0x0a); end >= 0; end = file.indexOf(0x0a, start)) {
    lines.push(file.subarray(start, end));
    start = end + 1;
  }
  if (start < file.length) lines.push(file.subarray(start));
  return lines;
}

describe('streams', () => {
  test.each(streams)('%s comes back line by line through binary events, as expected', (name) => {
    const counts: Counts = { frames: 0, malformed: 0, lossy: 0, violations: 0 };
    for (const [index, line] of linesOf(readFileSync(new URL(name, folder))).entries()) {
      if (isBlank(line, 0, line.length)) continue;
      const bytes = toBinary(EventSchema, decodedEvent(line, index === 0));
      const event = fromBinary(EventSchema, bytes);
      expect(Buffer.from(originalLine(event, 1) ?? []).equals(line)).toBe(true);
      if (event.payload.case === 'malformedLine') counts.malformed++;
      else counts.frames++;
      if (event.lossyText) counts.lossy++;
      counts.violations += event.violations.length;
    }
    expect(counts).toEqual(expected[name.replace('.jsonl', '')]);
  });

  test('U+2028, U+2029 and U+0085 are text of one line', () => {
    const lines = linesOf(readFileSync(new URL('05-unicode-separators.jsonl', folder)));
    const { payload } = decodedEvent(lines[2] ?? new Uint8Array());
    expect(payload.value).toMatchObject({ delta: 'a\u2028b\u2029c\u0085d' });
  });

  test('there is an expectation for each, and a stream for each expectation', () => {
    expect(streams.map((name) => name.replace('.jsonl', '')).sort()).toEqual(
      Object.keys(expected).sort(),
    );
    for (const name of streams) {
      expect(existsSync(new URL(name.replace('.jsonl', '.expect.md'), folder))).toBe(true);
    }
  });
});
