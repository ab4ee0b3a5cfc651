import { durationMs } from '@bufbuild/protobuf/wkt';
import type { IngestCancel } from '#gen/hep/bridge/v1/ingest_service_pb.js';
import type { Ingest } from '../client/ingest-with-resume.js';
import { escalate } from '../ingest/child/escalation.js';
import { memoryMarks } from '../ingest/child/signal-marks.js';
import type { LocalAgent } from './local-agent.js';

/** Ends an agent that this process runs. */
export interface AgentStop {
  /** In order: SIGINT, grace, SIGTERM, grace, SIGKILL to the group. The first call counts. */
  inOrder(requestId: string, graces: AgentGraces): void;
  /** SIGTERM now, SIGKILL to the group `killAfterMs` later. */
  now(): void;
}

export interface AgentGraces {
  readonly interruptGraceMs?: number;
  readonly terminateGraceMs?: number;
}

const killAfterMs = 1_000;

export function createAgentStop(agent: LocalAgent, ingest: Ingest): AgentStop {
  const ended = new AbortController();
  void agent.ended.then(() => ended.abort());
  let servedId: string | undefined;
  let isForced = false;
  const report = (signal: string, processGroup: boolean, error = ''): void =>
    ingest.signalled({ requestId: servedId ?? '', signal, processGroup, error });
  return {
    inOrder(requestId, graces) {
      if (servedId !== undefined) return;
      servedId = requestId;
      void escalate({
        ...graces,
        signaller: { send: async (signal, group) => agent.signal(signal, group) },
        marks: memoryMarks(),
        ended: ended.signal,
        onSignal: ({ signal, processGroup, error }) => report(signal, processGroup, error),
      });
    },
    now() {
      if (isForced || ended.signal.aborted) return;
      isForced = true;
      report('SIGTERM', false, agent.signal('SIGTERM', false).error);
      const timer = setTimeout(() => {
        report('SIGKILL', true, agent.signal('SIGKILL', true).error);
      }, killAfterMs);
      ended.signal.addEventListener('abort', () => clearTimeout(timer));
    },
  };
}

/** The graces that a cancel of the bridge names. */
export function gracesOf({ interruptGrace, terminateGrace }: IngestCancel): AgentGraces {
  return {
    ...(interruptGrace === undefined ? {} : { interruptGraceMs: durationMs(interruptGrace) }),
    ...(terminateGrace === undefined ? {} : { terminateGraceMs: durationMs(terminateGrace) }),
  };
}
