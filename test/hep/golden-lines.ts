import { catalogueLines, keyLines } from './golden-frame-lines.js';
import { delta, emptyUsage, type GoldenLine, turnDone } from './golden-line.js';
import { malformedLines } from './golden-malformed-lines.js';
import { costLines, integerLines } from './golden-number-lines.js';
import { byteLines, textLines } from './golden-text-lines.js';
import { unknownLines, violationLines } from './golden-violation-lines.js';

/** Lines that both languages must read alike; new ones are added at the end of their group. */
export function goldenLines(): GoldenLine[] {
  return [
    ...catalogueLines(),
    ...keyLines(),
    ...integerLines(),
    ...costLines(),
    ...textLines(),
    ...byteLines(),
    ...violationLines(),
    ...unknownLines(),
    ...malformedLines(),
    ...largeLines(),
  ];
}

function largeLines(): GoldenLine[] {
  return [
    ...[126, 127, 128, 129, 130, 16380, 16384].map((count) => ({
      name: `delta of ${count} bytes`,
      line: delta('x'.repeat(count)),
    })),
    { name: 'delta of 4000 newlines', line: delta('\\n'.repeat(4000)) },
    { name: 'delta of 3000 emoji', line: delta('😀'.repeat(3000)) },
    {
      name: 'turn_done with 40 results',
      line: turnDone(
        `"tool_results":[${Array.from({ length: 40 }, (_, index) => `{"id":"call_${index}","name":"bash","ok":${index % 3 !== 0},"text":"line ${index}\\nend"}`).join(',')}],${emptyUsage}`,
      ),
    },
  ];
}
