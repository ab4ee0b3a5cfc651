import { connect, type NatsConnection } from '@nats-io/transport-node';
import { v7 as uuidv7 } from 'uuid';
import type { Commit } from '../../src/ingest/run-log.js';
import { type Log, openLog } from '../../src/log/open-log.js';
import type { RunWriter } from '../../src/log/run-writer.js';
import { DEFAULT_STREAM_OPTIONS } from '../../src/log/stream.js';
import { runSubjectPrefix } from '../../src/log/subject.js';
import { startNats, type TestNats } from '../support/nats.js';

export const never: AbortSignal = new AbortController().signal;

/** A log on a server of its own. */
export interface LogFixture extends AsyncDisposable {
  readonly nats: TestNats;
  readonly connection: NatsConnection;
  readonly log: Log;
}

export async function openFixture(): Promise<LogFixture> {
  const nats = await startNats();
  const { connection, log } = await openAnother(nats.url);
  return {
    nats,
    connection,
    log,
    async [Symbol.asyncDispose]() {
      await connection.close();
      await nats.stop();
    },
  };
}

/** Another gateway's view of a log; the caller closes the connection. */
export async function openAnother(url: string): Promise<Pick<LogFixture, 'connection' | 'log'>> {
  const connection = await connect({
    servers: url,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 50,
  });
  return { connection, log: await openLog(connection, DEFAULT_STREAM_OPTIONS) };
}

/** Of a run that nobody wrote yet. */
export function newPrefix(): string {
  return runSubjectPrefix({ tenant: 'default', partition: 7, runId: uuidv7() });
}

export interface WriterExtras {
  readonly lastStreamSequence?: number;
  readonly signal?: AbortSignal;
  readonly onWaiting?: (why: string) => void;
}

export function writerOf(log: Log, subjectPrefix: string, extras: WriterExtras = {}): RunWriter {
  return log.writer({
    subjectPrefix,
    writerId: 'w',
    lastStreamSequence: 0,
    requestHash: 'h',
    signal: never,
    ...extras,
  });
}

export function commitOf(sequence: number, body = `event ${sequence}`): Commit {
  return {
    class: 'step',
    firstSequence: sequence,
    lastSequence: sequence,
    body: new TextEncoder().encode(body),
  };
}

/** Bodies of all messages of a run, as text. */
export async function stored(log: Log, subjectPrefix: string): Promise<string[]> {
  const found: string[] = [];
  for await (const messages of log.reader.read(`${subjectPrefix}.*`, 1, never)) {
    for (const { body } of messages) found.push(new TextDecoder().decode(body));
  }
  return found;
}

/** `event 1` to `event <count>`. */
export function eventsTo(count: number): string[] {
  return Array.from({ length: count }, (_, index) => `event ${index + 1}`);
}
