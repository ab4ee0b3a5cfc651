import { durationMs } from '@bufbuild/protobuf/wkt';
import type { IngestCancel } from '#gen/hep/bridge/v1/ingest_service_pb.js';
import type { Ingest } from '../client/ingest-with-resume.js';
import { escalate } from '../ingest/child/escalation.js';
import { memoryMarks } from '../ingest/child/signal-marks.js';
import type { LocalAgent } from './local-agent.js';

/** Ends an agent that this process runs. */
export interface AgentStop {
  /**
   * SIGINT, grace, SIGTERM, grace, SIGKILL to the group. Each signal is sent once, and the bridge is told;
   * a later call with shorter graces cuts what is left of the waits, and serves its own request.
   */
  end(requestId: string, graces: AgentGraces): void;
}

export interface AgentGraces {
  readonly interruptGraceMs: number;
  readonly terminateGraceMs: number;
}

/** What a bridge has that was not configured otherwise. */
export const IN_ORDER: AgentGraces = { interruptGraceMs: 12_000, terminateGraceMs: 5_000 };
/** Of someone who asked twice. */
export const AT_ONCE: AgentGraces = { interruptGraceMs: 0, terminateGraceMs: 1_000 };

export function createAgentStop(agent: LocalAgent, ingest: Ingest): AgentStop {
  const ended = new AbortController();
  void agent.ended.then(() => ended.abort());
  const marks = memoryMarks();
  let current: { readonly graces: AgentGraces; readonly over: AbortController } | undefined;
  return {
    end(requestId, asked) {
      const graces = current === undefined ? asked : shortest(current.graces, asked);
      if (current !== undefined && isSame(current.graces, graces)) return;
      current?.over.abort();
      const over = new AbortController();
      current = { graces, over };
      void escalate({
        ...graces,
        signaller: { send: async (signal, group) => agent.signal(signal, group) },
        marks,
        ended: AbortSignal.any([ended.signal, over.signal]),
        onSignal: ({ signal, processGroup, error = '' }) =>
          ingest.signalled({ requestId, signal, processGroup, error }),
      });
    },
  };
}

/** The graces that a cancel of the bridge names. */
export function gracesOf({ interruptGrace, terminateGrace }: IngestCancel): AgentGraces {
  return {
    interruptGraceMs:
      interruptGrace === undefined ? IN_ORDER.interruptGraceMs : durationMs(interruptGrace),
    terminateGraceMs:
      terminateGrace === undefined ? IN_ORDER.terminateGraceMs : durationMs(terminateGrace),
  };
}

function shortest(a: AgentGraces, b: AgentGraces): AgentGraces {
  return {
    interruptGraceMs: Math.min(a.interruptGraceMs, b.interruptGraceMs),
    terminateGraceMs: Math.min(a.terminateGraceMs, b.terminateGraceMs),
  };
}

function isSame(a: AgentGraces, b: AgentGraces): boolean {
  return a.interruptGraceMs === b.interruptGraceMs && a.terminateGraceMs === b.terminateGraceMs;
}
