import { readFileSync, writeFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { createOrderRules } from '../../src/hep/order-rules.js';
import { printVectors } from './golden-vectors.js';
import { orderVectors } from './order-vectors.js';

const file = new URL('../golden/order.json', import.meta.url);
const vectors = orderVectors();
if (process.env.UPDATE_GOLDEN === '1') writeFileSync(file, printVectors(vectors));

function found(name: string): unknown[] {
  const vector = vectors.find((candidate) => candidate.name === name);
  return (vector?.violations ?? []).flatMap((violation, index) =>
    violation === null ? [] : [[index, violation]],
  );
}

function order(field: string, detail: string): unknown {
  return { rule: 'RULE_ORDER', ...(field === '' ? {} : { field }), detail };
}

describe('order rules', () => {
  test('give the golden vectors, byte for byte', () => {
    expect(printVectors(vectors)).toBe(readFileSync(file, 'utf8'));
  });

  test.each([
    'several rounds',
    'several message_start in a turn',
    'post-turn compaction without agent_start and terminal',
    'compaction before agent_start',
    'compaction without end, and again with the same turn',
    'compaction_end after its turn ended',
    'round after cancelled',
    'round after a fatal turn_error',
    'gaps between turns',
    'first turn is not 1',
    'no agent_start',
    'tool frames without tool_start',
    'unknown frames',
    'turn_id absent or not fitting',
  ])('%s: nothing is flagged', (name) => {
    expect(vectors.map((vector) => vector.name)).toContain(name);
    expect(found(name)).toEqual([]);
  });

  test('a second hep_header is flagged and resets nothing', () => {
    expect(found('second header')).toEqual([[2, order('', 'second hep_header')]]);
    expect(found('second header resets nothing')).toEqual([
      [3, order('', 'second hep_header')],
      [4, order('', 'second agent_start')],
      [5, order('turn_id', 'message_start after turn 1 ended')],
      [6, order('', 'second hep_header')],
    ]);
  });

  test('a second agent_start is flagged once, whatever else it breaks', () => {
    expect(found('second agent_start')).toEqual([[3, order('', 'second agent_start')]]);
    expect(found('second agent_start of an earlier turn is one violation')).toEqual([
      [4, order('', 'second agent_start')],
    ]);
  });

  test('a turn_id below the highest is flagged', () => {
    expect(found('turn_id falls')).toEqual([[3, order('turn_id', 'turn_id 2 after 3')]]);
    expect(found('compaction_end of an earlier turn')).toEqual([
      [3, order('turn_id', 'turn_id 1 after 2')],
    ]);
  });

  test('a frame after its turn ended is flagged, but for compaction_end', () => {
    expect(found('delta and terminal after cancelled')).toEqual([
      [3, order('turn_id', 'message_delta after turn 1 ended')],
      [4, order('turn_id', 'turn_done after turn 1 ended')],
    ]);
    expect(found('every type after its turn ended')).toHaveLength(9);
  });

  test('turn 0 is no turn that could have ended', () => {
    expect(found('turn_id 0 counts as none, but falls')).toEqual([
      [6, order('turn_id', 'turn_id 0 after 1')],
    ]);
  });

  test('compare turn ids exactly, as numbers and bigints mixed', () => {
    const rules = createOrderRules();
    expect(rules.check('messageStart', 5)).toBeUndefined();
    expect(rules.check('turnDone', 5n)).toBeUndefined();
    expect(rules.check('messageDelta', 5)?.detail).toBe('message_delta after turn 5 ended');
    expect(rules.check('messageStart', 9007199254740993n)).toBeUndefined();
    expect(rules.check('messageDelta', 9007199254740992n)?.detail).toBe(
      'turn_id 9007199254740992 after 9007199254740993',
    );
  });
});
