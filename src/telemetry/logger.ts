import { type Logger, pino } from 'pino';
import pretty from 'pino-pretty';

export interface LoggerOptions {
  /** The least severe level that is written; `silent` = none. */
  readonly level: string;
  /** Lines for a person in place of JSON. */
  readonly pretty: boolean;
}

/** The bridge's log, on stderr, written at once so that a crash loses no line. */
export function createLogger({ level, pretty: isPretty }: LoggerOptions): Logger {
  const options = { level, base: {}, timestamp: pino.stdTimeFunctions.isoTime };
  if (!isPretty) return pino(options, pino.destination({ dest: 2, sync: true }));
  const translateTime = 'SYS:HH:MM:ss.l';
  return pino(options, pretty({ destination: 2, sync: true, translateTime }));
}
