import type { LogReader } from '../log/log-reader.js';
import type { LiveWindow } from './live-window.js';
import type { LookupRun } from './run-lookup.js';

/** What subscriptions stand on. */
export interface SubscriptionRoom {
  readonly reader: LogReader;
  readonly window: LiveWindow;
  readonly lookupRun: LookupRun;
  /** See `createCursorBook`. */
  readonly cursorKey: Uint8Array;
}
