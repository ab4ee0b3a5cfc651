// Node alone: readline and JSON.parse over the file, nothing else.
import { createReadStream } from 'node:fs';
import { createInterface } from 'node:readline';

const startMs = performance.now();
let events = 0;
let text = 0;
const lines = createInterface({
  input: createReadStream(process.argv[2], { highWaterMark: 1 << 18 }),
});
lines.on('line', (line) => {
  const frame = JSON.parse(line);
  events += 1;
  if (frame.type === 'message_delta') text += frame.delta.length;
});
lines.on('close', () => {
  const seconds = (performance.now() - startMs) / 1_000;
  const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
  const used = { cpu_seconds: (userCPUTime + systemCPUTime) / 1e6, rss_bytes: maxRSS * 1_024 };
  console.log(JSON.stringify({ events, text, seconds, ...used }));
});
