import { expect, it } from 'vitest';
import { randomKills } from './random-kills.js';

/** `make kills SEED=… RUNS=…` sets them. */
const seed = Number(process.env.HEP_KILL_SEED || 20_261_201);
const runs = Number(process.env.HEP_KILL_RUNS || 220);

it(
  'ends every run exactly once, whatever dies',
  async () => {
    const report = await randomKills({ seed, runs, keep: process.env.HEP_KILL_KEEP === '1' });
    console.log(report.text);
    expect(report.violations).toEqual([]);
    expect(report.runs).toBeGreaterThanOrEqual(Math.min(200, runs * 0.9));
  },
  120_000 + runs * 1_000,
);
