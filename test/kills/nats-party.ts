import { setTimeout as delay } from 'node:timers/promises';
import { startNats } from '../support/nats.js';
import { type Absences, createAbsences } from './absences.js';
import { freePort } from './free-port.js';

/** The nats-server, to be killed and stopped. */
export interface NatsParty {
  readonly url: string;
  readonly absences: Absences;
  readonly isBusy: boolean;
  kill(restartMs: number): Promise<void>;
  stall(ms: number): Promise<void>;
  close(): Promise<void>;
}

export async function startNatsParty(): Promise<NatsParty> {
  const nats = await startNats({ port: await freePort() });
  const absences = createAbsences();
  let isBusy = false;

  async function away(act: () => Promise<void>): Promise<void> {
    isBusy = true;
    const back = absences.begin();
    try {
      await act();
    } finally {
      back();
      isBusy = false;
    }
  }

  return {
    url: nats.url,
    absences,
    get isBusy() {
      return isBusy;
    },
    kill: (restartMs) =>
      away(async () => {
        await nats.kill9();
        await delay(restartMs);
        await nats.restart();
      }),
    stall: (ms) =>
      away(async () => {
        nats.signal('SIGSTOP');
        await delay(ms);
        nats.signal('SIGCONT');
      }),
    close: () => nats.stop(),
  };
}
